"""The command that gives the same comparison again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cloudarena.base.errors import CloudarenaError
from cloudarena.catalogue import load
from cloudarena.contract import Scenario
from cloudarena.experiments.compare import Comparison

SPEC_FILE = "scenario.yaml"
_LONGEST = 400
"""Characters of changes beyond which a spec file is easier to read than the command."""


class Reproduction(NamedTuple):
    """A command, and what must be there before it can run."""

    command: str
    notes: tuple[str, ...]


def reproduction(comparison: Comparison) -> Reproduction:
    """The command line for a comparison.

    Changes of the spec are found by loading it again; where that cannot give the same scenario,
    the command takes the spec from a file.
    """
    notes = []
    changes = _changes(comparison.scenario)
    if changes is None:
        words = [SPEC_FILE]
        notes.append(f"Save the scenario below as {SPEC_FILE} first.")
    else:
        words = [comparison.scenario.name]
        for change in changes:
            words += ["--set", change]
    words += ["--policies", ",".join(comparison.policies)]
    words += ["--replications", str(comparison.replications), "--seed", str(comparison.seed)]
    if comparison.ignore_service:
        words.append("--ignore-service")
    if comparison.service_margin:
        words += ["--service-margin", repr(comparison.service_margin)]
    known = set(comparison.scenario.kind.policies)
    own = [name for name in comparison.policies if name not in known and ":" not in name]
    if own:
        notes.append(
            f"{', '.join(own)}: given as Python objects. Write FILE.py:NAME for each of them, or "
            "call cloudarena.compare with the objects."
        )
    return Reproduction(f"cloudarena compare {shlex.join(words)}", tuple(notes))


def spec_yaml(scenario: Scenario, absolute: bool = False) -> str:
    """The whole spec, defaults included, as a YAML file that loads again.

    Args:
        scenario: what to write.
        absolute: makes paths absolute, so that the file may lie in any folder.
    """
    plain = _absolute(scenario.model_dump()) if absolute else _plain(scenario)
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def _absolute(value: Any) -> Any:
    """Plain values, with absolute paths."""
    if isinstance(value, dict):
        return {key: _absolute(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_absolute(entry) for entry in value]
    return str(value.absolute()) if isinstance(value, Path) else value


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
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences(old, new, f"{path}[{number}]")
    else:
        yield path, after
