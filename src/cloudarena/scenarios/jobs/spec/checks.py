"""What is refused before a run: tasks that fit nowhere, numbers that no run could hold."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import whole_millionths
from cloudarena.base.errors import SpecError
from cloudarena.contract import RecordLevel
from cloudarena.scenarios.jobs.spec import Failures, JobsScenario
from cloudarena.workloads.jobs import RESOURCES, JobWorkload, job_of

MOST_LOSSES = 1e8
"""Instances that may be lost on average; more would take a run for ever, or all memory."""
MOST_RECORDED = 200_000_000
"""Instances in a table: 48 bytes each."""
MOST_OUTAGES = 1e8
"""By a law, while jobs arrive: more would take a run hours."""


def kind_sizes(scenario: JobsScenario) -> NDArray[np.int64]:
    """What a machine of each kind has, in millionths: (kinds, 4)."""
    kinds = scenario.machines
    return whole_millionths(
        np.array([[kind.cpu, kind.memory, kind.disk, kind.gpu] for kind in kinds])
    )


def check_fits(scenario: JobsScenario, workload: JobWorkload) -> None:
    """Refuses a task that no machine has room for, or a gang that all together have not."""
    demand = whole_millionths(workload.demand)
    fits = np.zeros(len(demand), bool)
    copies = np.zeros(len(demand))
    shortest = np.full(len(demand), np.inf)
    for kind, size in zip(scenario.machines, kind_sizes(scenario), strict=True):
        fits_here = (demand <= size).all(axis=1)
        fits |= fits_here
        shortest[fits_here] = np.minimum(shortest, workload.duration / kind.speed)[fits_here]
        ratio = np.where(demand > 0, size // np.maximum(demand, 1), np.iinfo(np.int64).max)
        copies += kind.count * ratio.min(axis=1).astype(float)
    bad = ~fits | (workload.gang & (copies < workload.instances))
    if not bad.any():
        _check_survival(scenario.failures, workload, shortest)
        _check_failures(scenario, workload)
        return
    task = int(np.argmax(bad))
    wanted = ", ".join(
        f"{name} {size:.13g}"
        for name, size in zip(RESOURCES, workload.demand[task], strict=True)
        if size > 0
    )
    many = int(workload.instances[task])
    if fits[task]:
        reason = f"{many} instances at once ({wanted} each): the machines together have no room"
    else:
        reason = f"{wanted}: no machine has room for it"
    job = workload.job_ids[job_of(workload, task)].as_py()
    raise SpecError(
        f"workload: job {job!r}, task {workload.task_ids[task].as_py()!r}: is not allowed: {reason}"
    )


def check_record(workload: JobWorkload, record: RecordLevel) -> None:
    """Refuses tables that no memory would hold."""
    instances = int(workload.instances.sum())
    if record != "none" and instances > MOST_RECORDED:
        raise SpecError(
            f"record: {record!r} is not allowed: a table of {instances:,} instances would need "
            f"about {instances * 48 / 1e9:,.0f} GB; at most {MOST_RECORDED:,} are recorded: none"
        )


def _check_survival(
    failures: Failures | None, workload: JobWorkload, shortest: NDArray[np.float64]
) -> None:
    """Refuses machines that fail so often that a run would go on for ever.

    A machine stays up for the time that an instance needs with a chance of at most
    exp(-(time / scale)^shape); one over that, less 1, are its losses on average, or more.
    """
    scale = weibull_scale(failures)
    if failures is None or scale == 0:
        return
    times = np.minimum((shortest / scale) ** failures.shape, 700.0)  # e^700 is still a number
    losses = workload.instances * np.expm1(times)
    if losses.sum() > MOST_LOSSES:
        task = int(np.argmax(losses))
        job = workload.job_ids[job_of(workload, task)].as_py()
        raise SpecError(
            f"failures.mtbf_s: {failures.mtbf_s:g} is not allowed: job {job!r}, task "
            f"{workload.task_ids[task].as_py()!r} needs machines for {shortest[task]:g} s, and "
            f"would lose {losses[task]:.0e} instances before it is done"
        )


def _check_failures(scenario: JobsScenario, workload: JobWorkload) -> None:
    """Refuses machines that fail so often while jobs arrive that a run would take hours."""
    failures = scenario.failures
    if failures is None or failures.mtbf_s is None or failures.mttr_s is None:
        return
    span = max(float(workload.submit[-1]), scenario.scheduling_interval)
    outages = scenario.machine_count * span / (failures.mtbf_s + failures.mttr_s)
    if outages > MOST_OUTAGES:
        raise SpecError(
            f"failures.mtbf_s: {failures.mtbf_s:g} is not allowed: {scenario.machine_count} "
            f"machines would fail about {outages:.0e} times in {span:g} s, until the last job has "
            "arrived"
        )


def weibull_scale(failures: Failures | None) -> float:
    """The scale of the law of the time to failure, in seconds; 0 if there is no law."""
    if failures is None or failures.mtbf_s is None:
        return 0.0
    return failures.mtbf_s / math.gamma(1.0 + 1.0 / failures.shape)
