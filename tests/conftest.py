"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# Derandomised: a failure in CI is the same failure on every machine. To look further, run with
# --hypothesis-profile=explore.
settings.register_profile("default", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("explore", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("default")
