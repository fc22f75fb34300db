"""RLScheduler's protocol (SC 2020) on logs of parallel jobs, and the figures that it published.

Ten windows of 1,024 jobs in a row, the same ten for all logs, on an empty cluster of as many
processors as the machine of the log. WFP3 and UNI are here as published: by mistake with a waiting
time of -1 s less the submission, and with a requested time of -1 s for the one job of the windows
whose run time and requested time are not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.errors import SpecError
from cloudarena.catalogue import load
from cloudarena.experiments.simulate import simulate
from cloudarena.scenarios.jobs import WaitingJob, ranked

FIRST_JOBS = (1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085)
"""The windows that RLScheduler drew under its seed 1."""
JOBS = 1024
METRIC = "bounded_slowdown_mean"
UNKNOWN_S = 10.0
"""How long jobs ran, and are said to run, of which nothing is known."""


class Log(NamedTuple):
    """A log, its file, and the processors of its machine."""

    name: str
    file: str
    processors: int
    unknown_s: float = 0.0
    """The requested time, as we read it, of jobs that had none and no run time; no other has it."""


LOGS = (
    Log("Lublin-1", "lublin_256.swf", 256),
    Log("SDSC-SP2", "SDSC-SP2-1998-4.2-cln.swf", 128, UNKNOWN_S),
    Log("HPC2N", "HPC2N-2002-2.2-cln.swf", 240),
    Log("Lublin-2", "lublin_256_new2.swf", 256),
)


@ranked(unknown=0.0)
def published_wfp3(job: WaitingJob, p: Any) -> float:
    """WFP3 with RLScheduler's waiting time of jobs that wait, and what it takes for unknown."""
    request_s = -1.0 if job.request_s == p.unknown else job.request_s
    ratio = (-1.0 - job.submit_s) / request_s
    return -(ratio * ratio * ratio) * job.processors


@ranked(unknown=0.0)
def published_uni(job: WaitingJob, p: Any) -> float:
    """UNI with RLScheduler's waiting time of jobs that wait, and what it takes for unknown."""
    request_s = -1.0 if job.request_s == p.unknown else job.request_s
    logarithm = math.log2(job.processors + 1e-15)
    return -(-1.0 - job.submit_s + 1e-15) / (logarithm * request_s)


PUBLISHED_POLICIES = {
    "FCFS": "ranked-fcfs",
    "WFP3": f"{__file__}:published_wfp3:unknown={{unknown:g}}",
    "UNI": f"{__file__}:published_uni:unknown={{unknown:g}}",
    "SJF": "ranked-sjf",
    "F1": "f1",
}
PUBLISHED = {
    ("Lublin-1", "none"): (7273.77, 19753.53, 22274.74, 277.35, 258.37),
    ("SDSC-SP2", "none"): (1727.54, 3000.88, 1848.45, 2680.55, 1232.06),
    ("HPC2N", "none"): (297.18, 426.99, 609.77, 157.71, 118.01),
    ("Lublin-2", "none"): (7842.47, 9523.18, 11265.31, 787.89, 698.34),
    ("Lublin-1", "strict"): (235.82, 133.87, 307.23, 73.31, 75.07),
    ("SDSC-SP2", "strict"): (1595.12, 1083.12, 548.01, 2167.84, 1098.22),
    ("HPC2N", "strict"): (127.38, 97.39, 175.12, 122.04, 71.95),
    ("Lublin-2", "strict"): (247.61, 318.35, 379.59, 91.99, 148.25),
}
"""Table 5 and the README of DIR-LAB/deep-batch-scheduler, by log and backfilling."""
RULES = (
    "f1", "ranked-fcfs", "ranked-sjf", "f2", "f3", "f4", "smallest-area", "predicted-area", "wfp3",
    "uni",
)  # fmt: skip
"""All rules, the one that others are compared with first."""


def find_log(folder: Path, log: Log) -> Path:
    """The file of a log, plain or gzipped."""
    for path in (folder / log.file, folder / f"{log.file}.gz"):
        if path.is_file():
            return path
    raise SpecError(f"--data: {folder} is not allowed: it has no {log.file}, plain or .gz")


def spec_of(folder: Path, log: Log, window: dict[str, int] | None, **part: int) -> dict[str, Any]:
    """The scenario of a window of a log."""
    return {
        "scenario": "jobs",
        # What jobs asked of memory is left out of account: there is enough of it.
        "machines": [{"name": log.name, "cpu": log.processors, "memory": 1e6}],
        "simultaneous": "one-by-one",
        "workload": {
            "source": "swf",
            "path": str(find_log(folder, log)),
            "processors": "larger",
            "unknown_run_time_s": UNKNOWN_S,
            "unknown_estimate": "duration",
            **part,
            "window": window,
        },
    }


def measured(scenario: Any, policy: str, seed: int = 0) -> float:
    """The mean bounded slowdown of one run."""
    return float(simulate(scenario, policy, seed, "none").metrics[METRIC])


def ten_windows(folder: Path, policies: tuple[str, ...]) -> Iterator[tuple[Log, str, Floats]]:
    """The logs, each way of backfilling, and the means of the policies over the ten windows."""
    for log in LOGS:
        windows = [
            load(spec_of(folder, log, {"first": first, "jobs": JOBS})) for first in FIRST_JOBS
        ]
        for backfill in ("none", "strict"):
            names = [
                f"{policy.format(unknown=log.unknown_s)}:backfill={backfill}" for policy in policies
            ]
            values = [[measured(window, name) for name in names] for window in windows]
            yield log, backfill, np.array(values)
