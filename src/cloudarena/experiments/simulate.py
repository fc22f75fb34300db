"""One run of one policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloudarena.base.errors import InvalidAction
from cloudarena.base.memory import check_memory
from cloudarena.catalogue import load
from cloudarena.contract import Policy, RecordLevel, Result, Run, Scenario
from cloudarena.policies import begin, policy_name


def simulate(
    scenario: Scenario | str | Path | Mapping[str, Any],
    policy: str | Policy | None = None,
    seed: int = 0,
    record: RecordLevel | None = None,
) -> Result:
    """Runs a scenario to its end under a policy.

    Args:
        scenario: a scenario, a name of the catalogue, a YAML file or a dict.
        policy: a name, ``replay:FILE``, ``learned:FOLDER``, ``FILE.py:FUNCTION`` or any callable;
            by default the one that the spec names, else that of its kind.
        seed: decides everything that is random.
        record: how much to keep; as the scenario says by default.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    named = scenario.policy or scenario.kind.default_policy if policy is None else policy
    run = played(scenario, named, seed, record)
    return dataclasses.replace(run.result(), policy=policy_name(named))


def played(
    scenario: Scenario, policy: str | Policy, seed: int, record: RecordLevel | None
) -> Run[Any]:
    """A run that a policy has brought to its end."""
    chosen = scenario.kind.policies.resolve(policy)
    begin(chosen, scenario, seed)
    check_memory(*scenario.memory_needs(record or scenario.record))
    run = scenario.start(seed, record)
    try:
        run.play(chosen)
    except InvalidAction as error:
        raise InvalidAction(f"policy {policy_name(policy)}: {error}") from error
    return run
