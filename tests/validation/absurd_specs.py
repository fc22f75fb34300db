"""Tries specs with absurd values and prints what came of each: one JSON object a line.

A program of its own, since what it looks for may take all memory, never end, or kill it:
``python tests/validation/absurd_specs.py NAME SEED COUNT FIRST``.
"""

from __future__ import annotations

import json
import math
import random
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import cloudarena
from cloudarena.base.errors import CloudarenaError

SMALLER = {
    "vm": {"ticks": 50, "workload.vms": 60, "workload.concurrent": 20, "machines[0].count": 3},
    "jobs": {"workload.jobs": 3},
    "workflow": {"workload.workflows": 2, "workload.functions": 30},
    "tiers": {"duration_s": 120},
    "clusters": {"vms": 9, "workload.batches": 5, "workload.horizon_s": 100},
    "faas": {"duration_s": 20},
}
VALUES: tuple[Any, ...] = (
    0, -1, 1, 1e-300, 1e-9, 0.5, 2**31, 2**62, 2**63, 10**12, 1e15, 1e30, 1e300, 1.7e308, -1e308,
    math.nan, math.inf, "", "x", "x" * 4000, None, [], {}, [1], True, 10**400,
)  # fmt: skip
MEMORY_BYTES = 6 * 10**9


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a spec, mappings and lists too."""
    if path:
        yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, (list, tuple)):
        for place, value in enumerate(data):
            yield from leaves(value, (*path, place))


def changed(data: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy of a spec with another value in one place."""
    copy = json.loads(json.dumps(data))
    here = copy
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value
    return copy


def outcome(data: dict[str, Any]) -> str:
    """What came of a spec: ``ran``, ``refused``, or what is wrong with how it ended."""
    try:
        result = cloudarena.simulate(data, seed=0, record="summary")
    except CloudarenaError as error:
        lines = str(error).splitlines()
        return "long message" if max(map(len, lines)) > 600 else "refused"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:100]} ({where.filename[-40:]}:{where.lineno})"
    infinite = [name for name, value in result.metrics.items() if math.isinf(value)]
    return f"infinite {infinite}" if infinite else "ran"


def main() -> None:
    """Tries ``count`` changes of a scenario, from the one with number ``first`` on."""
    name, seed, count, first = sys.argv[1], *map(int, sys.argv[2:5])
    warnings.simplefilter("ignore")
    base = cloudarena.load(name)
    if base.model_dump().get("workload", {}).get("source") != "inline":
        smaller = dict(SMALLER.get(base.kind.name, base.kind.small))
        if getattr(base, "clusters", ()):
            del smaller["vms"]  # the sum of those of virtual clusters
        base = cloudarena.load(name, smaller)
    data = base.model_dump(mode="json")
    cloudarena.simulate(data, seed=0)  # compiles
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    places = sorted(leaves(data), key=repr)
    rng = random.Random(seed)
    for number in range(count):
        path, value = rng.choice(places), rng.choice(VALUES)
        if number < first or path == ("scenario",):
            continue
        tried = {"number": number, "path": ".".join(map(str, path)), "value": repr(value)[:40]}
        print(json.dumps({**tried, "outcome": "began"}), flush=True)
        began = time.process_time()
        came = outcome(changed(data, path, value))
        seconds = time.process_time() - began
        print(json.dumps({**tried, "outcome": came, "cpu_s": round(seconds, 2)}), flush=True)


if __name__ == "__main__":
    main()
