"""The jobs scenario under CloudSimPy's rules: ``python -m benchmarks.cloudsimpy_rules FILE``.

FILE is the list of Alibaba's jobs of 2017 that comes with CloudSimPy. Its rules, where they differ
from ours:

- it schedules each second; the first job is seen a second late, and so is the second of two jobs
  that arrive together, and whoever comes a second after one that was late;
- what takes exactly one second holds its machine for two;
- first-fit fills the last machine first, with each task in turn, then the one before it;
- Tetris adds free cores times cores and free memory times memory as they are.

Memory is counted a million times finer than usual, since CloudSimPy does not round it.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import cloudarena
from cloudarena.scenarios.jobs import NOTHING
from cloudarena.workloads.jobs.cloudsimpy import load_cloudsimpy
from cloudarena.workloads.jobs.columns import JobWorkload, slice_jobs

FINER = 1_000_000
"""A machine has so many units of memory."""


def last_machine_first(tasks, machines, rng):  # type: ignore[no-untyped-def]
    """CloudSimPy's first-fit."""
    for m in range(len(machines.up) - 1, -1, -1):
        for task in tasks.ready:
            copies = tasks.waiting[task]
            for r in range(4):
                if tasks.demand[task, r] > 0:
                    copies = min(copies, machines.free[m, r] // tasks.demand[task, r])
            if copies > 0:
                return task, m, copies
    return NOTHING


def unnormalised_tetris(tasks, machines, rng):  # type: ignore[no-untyped-def]
    """CloudSimPy's Tetris."""
    best, best_task, best_machine = -1.0, -1, -1
    for m in range(len(machines.up)):
        for task in tasks.ready:
            if (machines.free[m] >= tasks.demand[task]).all():
                cores = (machines.free[m, 0] / 1e6) * (tasks.demand[task, 0] / 1e6)
                memory = (machines.free[m, 1] / 1e12) * (tasks.demand[task, 1] / 1e12)
                if cores + memory > best:
                    best, best_task, best_machine = cores + memory, task, m
    return (best_task, best_machine, 1) if best_task >= 0 else NOTHING


class Measured(NamedTuple):
    """A run of CloudSimPy, commit c103672, itself."""

    jobs: int
    machines: int
    policy: Any
    makespan: int
    average_completion: float
    average_slowdown: float


MEASURED = (
    Measured(10, 5, last_machine_first, 680, 62.05685685072286, 1.4292964198242561),
    Measured(10, 5, unnormalised_tetris, 689, 85.23965254964759, 1.9756679489967561),
    Measured(500, 100, last_machine_first, 7280, 53.27404125695417, 1.0),
)


def seen_at(submit: list[float]) -> list[float]:
    """The second at which CloudSimPy's scheduler sees each job."""
    late, seen = False, []
    for k, time in enumerate(submit):
        gap = time - submit[k - 1] if k > 0 else time
        late = gap == 0 or (gap == 1 and late)
        seen.append(time + late)
    return seen


def inline_jobs(workload: JobWorkload) -> list[dict[str, Any]]:
    """The jobs as CloudSimPy takes them, written out."""
    jobs = []
    for job, submit in enumerate(seen_at(workload.submit.tolist())):
        tasks = []
        for task in range(workload.first_task[job], workload.first_task[job + 1]):
            cpu, memory = workload.demand[task, :2].tolist()
            duration = float(workload.duration[task])
            tasks.append(
                {
                    "instances": int(workload.instances[task]),
                    "cpu": cpu,
                    "memory": memory * FINER,
                    # A moment more than a second holds the machine for two ticks.
                    "duration": 1.0 + 1e-9 if duration == 1.0 else duration,
                }
            )
        jobs.append({"submit": submit, "tasks": tasks})
    return jobs


def main() -> None:
    """Runs what CloudSimPy was measured with, and prints both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path, help="CloudSimPy's list of Alibaba's jobs of 2017")
    workload = load_cloudsimpy(parser.parse_args().trace)
    table = Table(title="CloudSimPy, and the same rules here")
    for name in ("jobs", "machines", "policy", "makespan", "completion", "slowdown"):
        table.add_column(name)
    for row in MEASURED:
        jobs = inline_jobs(slice_jobs(workload, 0, row.jobs))
        spec = {
            "scenario": "jobs",
            "machines": [{"count": row.machines, "cpu": 64, "memory": FINER}],
            "scheduling_interval": 1,
            "workload": {"source": "inline", "jobs": jobs},
        }
        ours = cloudarena.simulate(cloudarena.load(spec), row.policy).metrics
        # CloudSimPy counts from the submission of the first job, and ends at a full second.
        makespan = math.ceil(ours["makespan_s"] + jobs[0]["submit"] - 1e-6)
        completion = ours["task_completion_from_first_start_s"]
        slowdown = ours["task_slowdown_from_first_start"]
        table.add_row(
            str(row.jobs), str(row.machines), row.policy.__name__,
            f"{row.makespan} | {makespan}",
            f"{row.average_completion:.9f} | {completion:.9f}",
            f"{row.average_slowdown:.9f} | {slowdown:.9f}",
        )  # fmt: skip
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
