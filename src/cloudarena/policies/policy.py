"""What a policy is, to those who only call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Policy = Callable[[Any], Any]
"""Any callable from a decision to an action.

A policy object may also have ``start(scenario, seed)``, called once before each run; only
policies with ``oracle`` in their name may use it to look at the future.
"""

Parameters = Any
"""What a policy is tuned by: a tuple of floats with the names that the policy declares."""
