"""Records what every built-in policy does on every scenario of the catalogue, or compares with it.

``python tests/validation/golden.py record FILE`` writes metrics and hashes of tables to a JSON
file (.gz); ``check FILE`` runs everything again and prints each difference. A refactoring must not
change a bit. The figures are those of one platform: another one's mathematics library may differ
in the last bit.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudarena
from cloudarena import catalogue
from cloudarena.base.errors import CloudarenaError
from cloudarena.base.parallel import in_parallel
from cloudarena.contract import Result, Scenario
from cloudarena.scenarios import kind_named

SEEDS = (0, 1, 2)
SMALLER = {
    "vm": {"ticks": 300, "workload.vms": 600, "workload.concurrent": 100, "machines[0].count": 12},
    "jobs": {"workload.jobs": 4},
    "workflow": {"workload.workflows": 4, "workload.functions": 30},
    "tiers": {"duration_s": 300},
    "clusters": {"vms": 9, "workload.batches": 10, "workload.horizon_s": 300},
    "faas": {"duration_s": 90},
}
"""Settings that keep each run short."""


def small(name: str) -> Scenario:
    """A scenario of the catalogue with settings that keep its runs short."""
    scenario = cloudarena.load(name)
    if scenario.model_dump().get("workload", {}).get("source") == "inline":
        return scenario
    return cloudarena.load(name, SMALLER[scenario.kind])


def digest(data: bytes) -> str:
    """The beginning of a hash."""
    return hashlib.sha256(data).hexdigest()[:16]


def table_digest(table: Any) -> str:
    """A hash of the columns of a table: names, types and values."""
    parts = [str(table.schema.remove_metadata()).encode()]
    for column in table.columns:
        parts.append(json.dumps(column.to_pylist(), default=str).encode())
    return digest(b"\0".join(parts))


def figures(result: Result) -> dict[str, Any]:
    """What is kept of a result."""
    return {
        "metrics": {name: repr(float(value)) for name, value in result.metrics.items()},
        "tables": {name: table_digest(table) for name, table in sorted(result.tables.items())},
    }


def stepped(scenario: Scenario, policy: str, seed: int) -> Result:
    """A run that asks the policy decision by decision."""
    chosen = scenario.kind.policies.resolve(policy)
    if hasattr(chosen, "start"):
        chosen.start(scenario, seed)
    run = scenario.start(seed)
    while (decision := run.decision) is not None:
        run.apply(chosen(decision))
    return run.result()


def measured(name: str, policy: str) -> tuple[str, dict[str, Any]]:
    """Both speeds under all seeds; why not, where a scenario does not allow a policy."""
    warnings.simplefilter("ignore")
    scenario = small(name)
    found: dict[str, Any] = {}
    for seed in SEEDS:
        try:
            found[f"{seed}"] = figures(cloudarena.simulate(scenario, policy, seed))
            found[f"{seed} stepped"] = figures(stepped(scenario, policy, seed))
        except CloudarenaError as error:
            found[f"{seed}"] = {"refused": str(error)}
    return f"{name} {policy}", found


def everything(workers: int = -1) -> dict[str, Any]:
    """All scenarios of the catalogue under all their policies."""
    jobs = [
        (name, policy)
        for name in catalogue.names()
        for policy in kind_named(name.partition("/")[0]).policies
    ]
    return dict(sorted(in_parallel(measured, jobs, workers)))


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """Each figure that is another, with both values."""
    for run in sorted({*before, *after}):
        for seed in sorted({*before.get(run, {}), *after.get(run, {})}):
            old, new = (one.get(run, {}).get(seed, {}) for one in (before, after))
            for part in sorted({*old, *new}):
                first, second = old.get(part), new.get(part)
                if isinstance(first, dict) and isinstance(second, dict):
                    for key in sorted({*first, *second}):
                        if first.get(key) != second.get(key):
                            yield f"{run} {seed}: {key}: {first.get(key)} -> {second.get(key)}"
                elif first != second:
                    yield f"{run} {seed}: {part}: {first} -> {second}"


def main() -> None:
    """Records or checks."""
    command, file = sys.argv[1], Path(sys.argv[2])
    now = everything()
    if command == "record":
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(now, indent=0, sort_keys=True).encode()
        file.write_bytes(gzip.compress(text, mtime=0))
        print(f"wrote {file}: {len(now)} pairs of scenario and policy")
        return
    before = json.loads(gzip.decompress(file.read_bytes()))
    found = list(differences(before, now))
    for line in found:
        print(line)
    print(f"{len(found)} differences in {len(now)} pairs of scenario and policy")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
