"""Settings for all tests."""

from __future__ import annotations

import sys

import pytest
from hypothesis import settings

from cloudarena import cli

# Derandomised: a failure in CI is the same failure on every machine. To look further, run with
# --hypothesis-profile=explore.
settings.register_profile("default", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("explore", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("default")


@pytest.fixture
def cloudarena(monkeypatch, capsys):
    """Runs a command line and returns its exit code, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["cloudarena", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return call
