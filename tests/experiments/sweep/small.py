"""Experiments of runs that take a millisecond, and what their stores hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cloudarena.base.parallel import SerialExecutor
from cloudarena.experiments.sweep.run import SweepOutcome, sweep

SPEC: dict[str, Any] = {
    "scenario": "clusters",
    "vms": 4,
    "classes": [
        {
            "name": "a",
            "seconds": {"kind": "gamma", "mean": 2, "cv": 0.5},
            "memory_mb": {"kind": "gamma", "mean": 10, "cv": 0},
        },
        {
            "name": "b",
            "seconds": {"kind": "gamma", "mean": 1, "cv": 0.5},
            "memory_mb": {"kind": "gamma", "mean": 30, "cv": 0},
        },
    ],
    "workload": {
        "source": "inline",
        "batches": [{"time_s": 0, "tasks": [9, 6]}, {"time_s": 6, "tasks": [3, 18]}],
    },
    "stage_s": 6,
}


def experiment(replications: int = 10, **more: Any) -> dict[str, Any]:
    """A grid of the small scenario."""
    return {
        "spec": SPEC,
        "policies": ["equal", "proportional"],
        "set": {"vms": [3, 4]},
        "replications": replications,
        **more,
    }


def rows(store: Path) -> dict[str, bytes]:
    """The files of a store that hold rows, and what is in them."""
    return {file.name: file.read_bytes() for file in sorted((store / "runs").iterdir())}


def run_here(source: Any, store: Path, **options: Any) -> SweepOutcome:
    """A sweep in this process."""
    return sweep(source, store, executor=SerialExecutor(), **options)
