"""The commands that give the same results again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from cloudarena.base.errors import CloudarenaError
from cloudarena.catalogue import load
from cloudarena.contract import Result, Scenario
from cloudarena.experiments.compare import Comparison

SPEC_FILE = "spec.yaml"
_LONGEST = 400
"""Characters of changes beyond which a spec file is easier to read than the command."""


class Reproduction(NamedTuple):
    """A command, and what must be there before it can run."""

    command: str
    notes: tuple[str, ...]


def compare_again(comparison: Comparison) -> Reproduction:
    """The command line for a comparison."""
    words, notes = _scenario_words(comparison.scenario)
    words += ["--policies", ",".join(comparison.policies)]
    words += ["--replications", str(comparison.replications), "--seed", str(comparison.seed)]
    if comparison.ignore_service:
        words.append("--ignore-service")
    if comparison.service_margin:
        words += ["--service-margin", repr(comparison.service_margin)]
    words += ["--by", comparison.by] if comparison.by else []
    words += [word for limit in comparison.limits for word in ("--where", str(limit))]
    words += ["--baseline", comparison.baseline] if comparison.baseline else []
    notes += _own_policies(comparison.scenario, comparison.policies, "compare")
    return Reproduction(f"cloudarena compare {shlex.join(words)}", tuple(notes))


def run_again(result: Result, scenario: Scenario) -> Reproduction:
    """The command line for a run of a scenario."""
    words, notes = _scenario_words(scenario)
    words += ["--policy", result.policy, "--seed", str(result.seed)]
    notes += _own_policies(scenario, [result.policy], "simulate")
    return Reproduction(f"cloudarena run {shlex.join(words)}", tuple(notes))


def _scenario_words(scenario: Scenario) -> tuple[list[str], list[str]]:
    """The spec and its changes, as words of a command, and what must be there first.

    Changes of the spec are found by loading it again; where that cannot give the same scenario,
    the command takes the spec from a file.
    """
    changes = _changes(scenario)
    if changes is None:
        return [SPEC_FILE], [f"Save the scenario below as {SPEC_FILE} first."]
    return [scenario.name, *(word for change in changes for word in ("--set", change))], []


def _own_policies(scenario: Scenario, policies: Sequence[str], function: str) -> list[str]:
    """What to do about policies that have no name on the command line."""
    known = set(scenario.kind.policies)
    own = [name for name in policies if name not in known and ":" not in name]
    if not own:
        return []
    return [
        f"{', '.join(own)}: given as Python objects. Write FILE.py:NAME for each of them, or "
        f"call cloudarena.{function} with the objects."
    ]


def _plain(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(mode="json")


def _changes(scenario: Scenario) -> list[str] | None:
    """The overrides that make the scenario of this name into this one; None if there are none."""
    try:
        stored = load(scenario.name)
        changes = [
            f"{key}={json.dumps(value, ensure_ascii=False)}"
            for key, value in _differences(_plain(stored), _plain(scenario))
        ]
        again = load(scenario.name, changes)
    except CloudarenaError:
        return None
    short = sum(map(len, changes)) <= _LONGEST
    return changes if short and _plain(again) == _plain(scenario) else None


def _differences(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves that changed, with their paths; a list of another length as a whole."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in after:
            yield from _differences(before[key], after[key], f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences(old, new, f"{path}[{index}]")
    else:
        yield path, after
