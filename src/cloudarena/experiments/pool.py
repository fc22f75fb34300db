"""Getting policies ready for many processes."""

from __future__ import annotations

from cloudarena.contract import Policy, Scenario
from cloudarena.policies import ArrayPolicy


def compile_once(scenario: Scenario, policy: str | Policy) -> None:
    """Finds, checks and compiles a policy before the workers start, so that they need not."""
    resolved = scenario.kind.policies.resolve(policy)
    if isinstance(resolved, ArrayPolicy):
        resolved.compile()
