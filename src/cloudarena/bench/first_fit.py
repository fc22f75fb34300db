"""First-fit of VMs here and in two small C programs of the same placement model."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cloudarena.catalogue import load
from cloudarena.experiments.simulate import simulate

SOURCE = Path(__file__).with_name("first_fit.c")

PROGRAMS = ("linear", "indexed")
"""How the C program looks for a machine."""

CORES, GB, LOAD, LIFETIME = 64, 256.0, 0.8, 3600
"""A machine, the share of cores that is wanted on average, and the mean life in ticks of 1 s."""

MEAN_CORES = 3.35
"""Mean cores of the VMs that the source ``poisson-vms`` draws."""


def spec(machines: int, vms: int, **workload: Any) -> dict[str, Any]:
    """A cloud with so many machines at ticks of a second, up to its last arrival."""
    per_tick = LOAD * machines * CORES / (MEAN_CORES * LIFETIME)
    source = {"source": "poisson-vms", "vms": vms, "per_tick": per_tick, "lifetime_ticks": LIFETIME}
    return {
        "scenario": "vm",
        "tick_seconds": 1,
        "ticks": int(vms / per_tick) + 1,
        "record": "none",
        "machines": [{"count": machines, "cores": CORES, "memory_gb": GB}],
        "workload": {**source, **workload},
    }


def ours(machines: int, vms: int, policy: str, repeats: int) -> dict[str, Any]:
    """A run of cloudarena in this process."""
    scenario: Any = load(spec(machines, vms))
    scenario.load_workload(0)
    simulate(load(spec(300, 1000)), policy)  # compiles
    best, metrics = np.inf, {}
    for _ in range(repeats):
        begin = time.process_time()
        metrics = simulate(scenario, policy, 0, record="none").metrics
        best = min(best, time.process_time() - begin)
    return {"s": best, "placed": metrics["allocated"], "failed": metrics["failed"]}


def theirs(
    machines: int, vms: int, repeats: int, programs: Sequence[str] = PROGRAMS
) -> dict[str, Any]:
    """The C programs on the same VMs."""
    scenario: Any = load(spec(machines, vms))
    work = scenario.load_workload(0)
    here = work.created < scenario.ticks
    rows = np.stack((work.created, work.lifetime, work.cores.astype(np.int64)), axis=1)[here]
    with tempfile.TemporaryDirectory() as folder:
        program, file = Path(folder) / "first_fit", Path(folder) / "vms.bin"
        subprocess.run(["cc", "-O2", "-o", program, SOURCE], check=True)
        rows.astype(np.int64).tofile(file)
        found = {}
        for name in programs:
            command: list[str | Path] = [
                program,
                name,
                str(machines),
                str(CORES),
                str(scenario.ticks),
                file,
            ]
            runs = [
                json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                for _ in range(repeats)
            ]
            found[name] = min(runs, key=lambda run: run["s"])
    return found
