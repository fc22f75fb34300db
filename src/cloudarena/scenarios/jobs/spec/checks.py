"""What is refused before a run: tasks that fit nowhere, machines that fail all the time."""

from __future__ import annotations

from collections.abc import Sequence

from cloudarena.base.arrays import MICRO, Floats, Ints, whole_millionths
from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.engine.gpu_models import ANY_MODEL, bits_of, models_in
from cloudarena.scenarios.jobs.spec.machines import Failures, MachineType
from cloudarena.workloads.jobs.columns import RESOURCES, JobWorkload, job_of, name_in

GPU = RESOURCES.index("gpu")
MOST_LOSSES = 1e8
"""Instances that may be lost on average; more would take a run for ever, or all memory."""
MOST_OUTAGES = 1e8
"""The most random outages while jobs arrive: more would take a run hours."""


def check_fits(
    machines: Sequence[MachineType],
    failures: Failures | None,
    interval: float,
    workload: JobWorkload,
) -> None:
    """Refuses a task that no machine has room for, or a gang that all together have not.

    Args:
        machines: the types of machines, each with its number.
        failures: when machines fail, so often that a run would not end.
        interval: seconds between instants of scheduling.
        workload: the jobs.
    """
    demand = whole_millionths(workload.demand)
    models = models_in(kind.gpu_model for kind in machines)
    allowed = allowed_models(workload, models)
    fits = np.zeros(len(demand), bool)
    copies = np.zeros(len(demand))
    shortest = np.full(len(demand), np.inf)
    for kind in machines:
        size = kind.sizes
        fits_here = (demand <= size).all(axis=1) & (allowed >> models.index(kind.gpu_model) & 1 > 0)
        fits |= fits_here
        shortest[fits_here] = np.minimum(shortest, workload.duration / kind.speed)[fits_here]
        ratio = np.where(demand > 0, size // np.maximum(demand, 1), np.iinfo(np.int64).max)
        for row in np.flatnonzero(workload.gang & (demand[:, GPU] % MICRO > 0)):
            ratio[row, GPU] = copies_on_gpus(int(size[GPU]), int(demand[row, GPU]))
        copies += kind.count * np.where(fits_here, ratio.min(axis=1), 0).astype(float)
    bad = ~fits | (workload.gang & (copies < workload.instances))
    if not bad.any():
        if failures is not None and failures.mtbf_s is not None:
            if failures.scale_s > 0:
                _check_survival(failures, workload, shortest)
            count = sum(kind.count for kind in machines)
            _check_failures(failures, count, max(float(workload.submit[-1]), interval))
        return
    task = int(np.argmax(bad))
    wanted = ", ".join(
        f"{name} {size:.13g}"
        for name, size in zip(RESOURCES, workload.demand[task], strict=True)
        if size > 0
    )
    if workload.gpu_models is not None and allowed[task] != ANY_MODEL:
        wanted += f" of the model {workload.gpu_models[task].replace('|', ' or ')}"
    many = int(workload.instances[task])
    if fits[task]:
        reason = f"{many} instances at once ({wanted} each): the machines together have no room"
    else:
        reason = f"{wanted}: no machine has room for it"
    raise SpecError(f"workload: {_named(workload, task)}: is not allowed: {reason}")


def allowed_models(workload: JobWorkload, models: Sequence[str]) -> Ints:
    """The models of GPUs that each task may run on, a bit each; any if it asks for no GPU."""
    if workload.gpu_models is None:
        return np.full(len(workload.instances), ANY_MODEL, np.int64)
    words, which = np.unique(workload.gpu_models, return_inverse=True)
    bits = bits_of(words.tolist(), models)[which]
    asks = whole_millionths(workload.demand[:, GPU]) > 0
    return np.where(asks, bits, ANY_MODEL)


def copies_on_gpus(size: int, wanted: int) -> int:
    """How many instances that ask for a share of a GPU an empty machine has devices for."""
    whole, share = divmod(wanted, MICRO)
    full, part = divmod(size, MICRO)
    copies = full // whole if whole else size // share
    while copies > 0 and part // share + (full - copies * whole) * (MICRO // share) < copies:
        copies -= 1
    return copies


def _check_survival(failures: Failures, workload: JobWorkload, shortest: Floats) -> None:
    """Refuses machines that fail so often that a run would go on for ever.

    A machine stays up for the time that an instance needs with a chance of at most
    exp(-(time / scale)^shape); one over that, less 1, are its losses on average, or more.
    """
    times = np.minimum((shortest / failures.scale_s) ** failures.shape, 700.0)  # e^700 is a number
    losses = workload.instances * np.expm1(times)
    if losses.sum() > MOST_LOSSES:
        task = int(np.argmax(losses))
        raise SpecError(
            f"failures.mtbf_s: {failures.mtbf_s:g} is not allowed: {_named(workload, task)} needs "
            f"machines for {shortest[task]:g} s, and would lose {losses[task]:.0e} instances "
            "before it is done"
        )


def _check_failures(failures: Failures, machines: int, span: float) -> None:
    """Refuses machines that fail so often while jobs arrive that a run would take hours."""
    outages = machines * span / ((failures.mtbf_s or 0.0) + (failures.mttr_s or 0.0))
    if outages > MOST_OUTAGES:
        raise SpecError(
            f"failures.mtbf_s: {failures.mtbf_s:g} is not allowed: {machines} machines would fail "
            f"about {outages:.0e} times in {span:g} s, until the last job has arrived"
        )


def _named(workload: JobWorkload, task: int) -> str:
    """A task as messages name it."""
    job = name_in(workload.job_ids, job_of(workload, task))
    return f"job {job!r}, task {name_in(workload.task_ids, task)!r}"
