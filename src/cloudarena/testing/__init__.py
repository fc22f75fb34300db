"""Checks that every kind, scenario and policy must pass, yours too.

Each check is a function named after what it checks; it raises AssertionError with a sentence
that says what is wrong and what the likely cause is.
"""

from cloudarena.contract import Policy, Scenario
from cloudarena.testing.kind import Check, small, yield_checks
from cloudarena.testing.policy import POLICY_CHECKS
from cloudarena.testing.scenario import SCENARIO_CHECKS

__all__ = ["Check", "check_policy", "check_scenario", "small", "yield_checks"]


def check_scenario(scenario: Scenario, seed: int = 0) -> list[str]:
    """Checks a scenario under its default policy; returns the names of the checks."""
    for check in SCENARIO_CHECKS:
        check(scenario, seed)
    return [check.__name__ for check in SCENARIO_CHECKS]


def check_policy(policy: str | Policy, scenario: Scenario, seed: int = 0) -> list[str]:
    """Checks a policy on a scenario; returns the names of the checks."""
    for check in POLICY_CHECKS:
        check(policy, scenario, seed)
    return [check.__name__ for check in POLICY_CHECKS]
