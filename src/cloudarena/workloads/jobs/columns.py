"""Jobs, their tasks and the order among tasks as columns: what every source of jobs ends as."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from cloudarena.base.arrow import arrow_column
from cloudarena.base.errors import SpecError, TraceError
from cloudarena.base.numpy import np
from cloudarena.engine.dag import circle, parent_lists, task_levels

if TYPE_CHECKING:
    from numpy.typing import NDArray

if TYPE_CHECKING:  # specs are validated without Arrow
    import pyarrow as pa

RESOURCES = ("cpu", "memory", "disk", "gpu")
"""What an instance holds while it runs, in the order of the demand's columns."""

LARGEST_DEMAND = 1e6
"""The most of any resource for one instance: demands are counted in millionths."""
SHORTEST_TIME = 1e-6
"""No task runs shorter, in seconds: less could not be divided by."""
LONGEST_TIME = 1e10
"""No task runs and no trace lasts longer, in seconds: 300 years. More is a mistake of unit."""
MOST_INSTANCES = 10**10
"""The instances of a whole workload: more would run for hours, however fast."""
MOST_JOBS = 10**7
"""The jobs that a generator draws: more need hundreds of gigabytes."""
TERMINATED = "Terminated"
"""The status of tasks that ran to their end, in Alibaba's trace of 2018."""


class JobWorkload(NamedTuple):
    """Jobs in order of submission; their tasks job by job, each job's as the trace has them.

    A task is ``instances`` identical instances. The tasks of job ``j`` are numbered
    ``first_task[j]`` to ``first_task[j + 1] - 1``; the parents of task ``t`` are
    ``parents[first_parent[t] : first_parent[t + 1]]``, tasks of the same job that must have
    finished before it is ready. Times are seconds from the first submission, which was at
    ``begin_s`` of the source's own clock.
    """

    job_ids: pa.Array
    submit: NDArray[np.float64]  # (jobs,)
    user: NDArray[np.int64]  # (jobs,)
    first_task: NDArray[np.int64]  # (jobs + 1,)
    task_ids: pa.Array
    instances: NDArray[np.int64]  # (tasks,)
    demand: NDArray[np.float64]  # (tasks, 4): RESOURCES, of one instance
    duration: NDArray[np.float64]  # (tasks,): seconds at speed 1
    estimate: NDArray[np.float64]  # (tasks,): what was said beforehand; NaN if nothing was
    gang: NDArray[np.bool_]  # (tasks,): all instances must start at once
    first_parent: NDArray[np.int64]  # (tasks + 1,)
    parents: NDArray[np.int64]
    begin_s: float = 0.0
    gpu_models: NDArray[np.str_] | None = None
    """The models of GPUs that each task allows, with | between them; nothing: any. None where no
    task asks for a model."""


class Rule(NamedTuple):
    """What a column of tasks must be: which of its values are good, and what is allowed."""

    name: str
    values: NDArray[Any]
    good: NDArray[np.bool_]
    allowed: str


def assemble(
    *,
    job_ids: pa.Array,
    submit: NDArray[np.float64],
    job: NDArray[np.int64],
    task_ids: pa.Array,
    instances: NDArray[np.int64],
    demand: NDArray[np.float64],
    duration: NDArray[np.float64],
    estimate: NDArray[np.float64] | None = None,
    gang: NDArray[np.bool_] | None = None,
    user: NDArray[np.int64] | None = None,
    edges: NDArray[np.int64] | None = None,
    gpu_models: NDArray[np.str_] | None = None,
    source: str = "",
    begin: float | None = None,
) -> JobWorkload:
    """Makes a checked workload of jobs and of tasks that stand in any order.

    Jobs are sorted by their submission, those at the same time stay as they stand; the tasks of
    a job stay in the order of their rows; times are counted from the first submission. Where some
    tasks have an estimate and others have none, these get the longest: who must assume something
    assumes the worst.

    Args:
        job_ids: the names of the jobs.
        submit: when each job is submitted, in seconds from any origin.
        job: for each task, the row of its job.
        task_ids: the names of the tasks.
        instances: how many instances each task has.
        demand: what one instance holds of each of ``RESOURCES``.
        duration: how long an instance runs at speed 1, in seconds.
        estimate: how long it was said to run, in seconds; NaN, and by default, where nobody did.
        gang: whether all instances of a task must start at once; no by default.
        user: the number of each job's user; 0 by default.
        edges: rows of (task, parent), both as rows of tasks of the same job.
        gpu_models: the models of GPUs that each task allows, with | between them; any by default.
        source: what an error begins with, such as the path of the trace.
        begin: when the first job was submitted, if these are not the first.
    """
    jobs, tasks = len(submit), len(job)
    by_submission = np.argsort(submit, kind="stable")
    position = np.empty(jobs, np.int64)
    position[by_submission] = np.arange(jobs)
    by_job = np.argsort(position[job], kind="stable")
    new_index = np.empty(tasks, np.int64)
    new_index[by_job] = np.arange(tasks)
    first_task = np.zeros(jobs + 1, np.int64)
    np.cumsum(np.bincount(position[job], minlength=jobs), out=first_task[1:])
    links = np.empty((0, 2), np.int64) if edges is None else new_index[edges]
    first_parent, parents = parent_lists(tasks, links)
    if begin is None:
        begin = submit[by_submission[0]] if jobs else 0.0
    duration = np.asarray(duration, np.float64)
    estimate = _filled(np.full(tasks, np.nan) if estimate is None else estimate)
    gang = np.zeros(tasks, np.bool_) if gang is None else gang
    user = np.zeros(jobs, np.int64) if user is None else user
    workload = JobWorkload(
        job_ids=_taken(job_ids, by_submission),
        submit=np.asarray(submit, np.float64)[by_submission] - begin,
        user=np.asarray(user, np.int64)[by_submission],
        first_task=first_task,
        task_ids=_taken(task_ids, by_job),
        instances=np.asarray(instances, np.int64)[by_job],
        demand=np.asarray(demand, np.float64)[by_job],
        duration=duration[by_job],
        estimate=estimate[by_job],
        gang=np.asarray(gang, np.bool_)[by_job],
        first_parent=first_parent,
        parents=parents,
        begin_s=float(begin),
        gpu_models=gpu_models[by_job] if gpu_models is not None and gpu_models.any() else None,
    )
    check_workload(workload, source)
    return workload


def _filled(estimate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimates with the longest of them where there is none; all NaN if there are none at all."""
    missing = np.isnan(estimate)
    if missing.all() or not missing.any():
        return np.asarray(estimate, np.float64)
    return np.where(missing, np.nanmax(estimate), estimate)


def task_rules(
    instances: NDArray[Any],
    demand: NDArray[np.float64],
    duration: NDArray[np.float64],
    estimate: NDArray[np.float64],
) -> Iterator[Rule]:
    """What tasks must be, column by column; a reader gives the columns its own names."""
    most = f"from 1 to {MOST_INSTANCES:,}"
    yield Rule("instances", instances, (instances >= 1) & (instances <= MOST_INSTANCES), most)
    for k, name in enumerate(RESOURCES):
        good = (demand[:, k] >= 0) & (demand[:, k] <= LARGEST_DEMAND)
        yield Rule(name, demand[:, k], good, f"from 0 to {LARGEST_DEMAND:,.0f}")
    for name, times in (("duration", duration), ("estimate", estimate)):
        good = (times >= SHORTEST_TIME) & (times <= LONGEST_TIME)
        if name == "estimate":
            good |= np.isnan(times)
        yield Rule(name, times, good, f"from {SHORTEST_TIME:g} s to {LONGEST_TIME:g} s")


def check_workload(workload: JobWorkload, source: str = "") -> None:
    """Raises for the first job or task that cannot be; the error names it."""
    prefix = f"{source}: " if source else ""
    if len(workload.submit) == 0:
        raise TraceError(f"{prefix}has no jobs")

    def job_name(job: int) -> str:
        return f"{prefix}job {name_in(workload.job_ids, job)!r}"

    def task_name(task: int) -> str:
        return f"{job_name(job_of(workload, task))}, task {name_in(workload.task_ids, task)!r}"

    # NaN would be sorted last, infinity first or last: the span tells.
    good = (workload.submit >= 0) & (workload.submit <= LONGEST_TIME)
    if not good.all():
        job = int(np.argmin(good))
        raise TraceError(
            f"{job_name(job)}: submit: {workload.submit[job]} s after the first job is not "
            f"allowed: at most {LONGEST_TIME:g} s"
        )
    empty = np.diff(workload.first_task) == 0
    if empty.any():
        raise TraceError(f"{job_name(int(np.argmax(empty)))}: has no tasks")
    columns = (workload.instances, workload.demand, workload.duration, workload.estimate)
    for rule in task_rules(*columns):
        if not rule.good.all():
            task = int(np.argmin(rule.good))
            raise TraceError(
                f"{task_name(task)}: {rule.name}: {rule.values[task].item()!r} is not allowed: "
                f"{rule.allowed}"
            )
    if workload.instances.sum(dtype=np.float64) > MOST_INSTANCES:
        raise TraceError(f"{prefix}has more than {MOST_INSTANCES:,} instances")
    _check_order(workload, job_name, task_name)


def name_in(ids: Any, row: int) -> str | int:
    """One of the names of jobs or tasks, which may be an array of Arrow or of NumPy."""
    name: str | int = ids[row].item() if isinstance(ids, np.ndarray) else ids[row].as_py()
    return name


def job_of(workload: JobWorkload, task: int) -> int:
    """The job of a task."""
    return int(np.searchsorted(workload.first_task, task, side="right")) - 1


def jobs_of_tasks(workload: JobWorkload) -> NDArray[np.int64]:
    """The job of each task."""
    return np.repeat(np.arange(len(workload.submit)), np.diff(workload.first_task))


def _check_order(workload: JobWorkload, job_name: Any, task_name: Any) -> None:
    """Raises when a task waits for one of another job, or for itself through others."""
    if len(workload.parents) == 0:
        return
    owner = jobs_of_tasks(workload)
    child = np.repeat(np.arange(len(owner)), np.diff(workload.first_parent))
    foreign = owner[child] != owner[workload.parents]
    if foreign.any():
        raise TraceError(
            f"{task_name(int(child[np.argmax(foreign)]))}: waits for a task of another job"
        )
    levels = task_levels(workload.first_parent, workload.parents)
    members = circle(workload.first_parent, workload.parents, levels)
    if members:
        names = [str(name_in(workload.task_ids, task)) for task in members[:5]]
        shown = ", ".join([*names, "..."] if len(members) > 5 else [*names, names[0]])
        raise TraceError(
            f"{job_name(int(owner[members[0]]))}: its tasks wait for each other in a circle: "
            f"{shown}"
        )


def slice_jobs(workload: JobWorkload, offset: int = 0, jobs: int | None = None) -> JobWorkload:
    """The ``jobs`` jobs from number ``offset`` on, with times from the first of them.

    The workload itself stays as it is. Where fewer jobs are left, there are fewer.
    """
    total = len(workload.submit)
    if not 0 <= offset < total:
        raise SpecError(
            f"workload.offset: {offset} is not allowed: from 0 to {total - 1}, since there are "
            f"{total} jobs"
        )
    if jobs is not None and jobs < 1:
        raise SpecError(f"workload.jobs: {jobs} is not allowed: at least 1")
    end = total if jobs is None else min(total, offset + jobs)
    if (offset, end) == (0, total):
        return workload
    first, last = (int(workload.first_task[job]) for job in (offset, end))
    begin, stop = (int(workload.first_parent[task]) for task in (first, last))
    return JobWorkload(
        job_ids=workload.job_ids.slice(offset, end - offset),
        submit=workload.submit[offset:end] - workload.submit[offset],
        user=workload.user[offset:end].copy(),
        first_task=workload.first_task[offset : end + 1] - first,
        task_ids=workload.task_ids.slice(first, last - first),
        instances=workload.instances[first:last].copy(),
        demand=workload.demand[first:last].copy(),
        duration=workload.duration[first:last].copy(),
        estimate=workload.estimate[first:last].copy(),
        gang=workload.gang[first:last].copy(),
        first_parent=workload.first_parent[first : last + 1] - begin,
        parents=workload.parents[begin:stop] - first,
        begin_s=workload.begin_s + float(workload.submit[offset]),
        gpu_models=models_at(workload, slice(first, last)),
    )


def _taken(names: Any, rows: NDArray[np.int64]) -> Any:
    """The names of rows. To check a spec they are NumPy's, since that needs no Arrow."""
    return names.take(rows if isinstance(names, np.ndarray) else arrow_column(rows))


def pick_jobs(workload: JobWorkload, rows: NDArray[Any], submit: NDArray[Any]) -> JobWorkload:
    """The jobs of these rows, some perhaps several times, at other times of submission.

    Jobs that come again have the number of the time behind their name.
    """
    if not len(rows):
        raise SpecError("workload: has no jobs left: take a larger scale or other blocks")
    sizes = np.diff(workload.first_task)[rows]
    tasks = np.repeat(workload.first_task[rows] - np.cumsum(sizes) + sizes, sizes) + np.arange(
        int(sizes.sum())
    )
    first_task = np.concatenate(([0], np.cumsum(sizes)))
    links = np.diff(workload.first_parent)[tasks]
    first_parent = np.concatenate(([0], np.cumsum(links)))
    edges = np.repeat(workload.first_parent[tasks] - np.cumsum(links) + links, links) + np.arange(
        int(links.sum())
    )
    # Parents are tasks of the same job: they move as far as the task itself does.
    moved = np.repeat(np.arange(len(tasks)) - tasks, links)
    job_ids = workload.job_ids.take(arrow_column(rows))
    if len(np.unique(rows)) < len(rows):
        seen: dict[int, int] = {}
        names = []
        for row, name in zip(rows.tolist(), job_ids.to_pylist(), strict=True):
            seen[row] = seen.get(row, 0) + 1
            names.append(str(name) if seen[row] == 1 else f"{name}#{seen[row]}")
        job_ids = arrow_column(names)
    return JobWorkload(
        job_ids=job_ids,
        submit=submit - submit[0],
        user=workload.user[rows],
        first_task=first_task,
        task_ids=workload.task_ids.take(arrow_column(tasks)),
        instances=workload.instances[tasks],
        demand=workload.demand[tasks],
        duration=workload.duration[tasks],
        estimate=workload.estimate[tasks],
        gang=workload.gang[tasks],
        first_parent=first_parent,
        parents=workload.parents[edges] + moved,
        begin_s=workload.begin_s + float(submit[0]),
        gpu_models=models_at(workload, tasks),
    )


def models_at(workload: JobWorkload, tasks: Any) -> NDArray[np.str_] | None:
    """The models of GPUs that some tasks allow; None where no task of the workload asks for one."""
    return None if workload.gpu_models is None else workload.gpu_models[tasks]


def describe(workload: JobWorkload) -> dict[str, Any]:
    """The figures by which job traces are known; ``cpu_seconds`` is all work there is."""
    jobs, tasks = len(workload.submit), len(workload.instances)
    work = workload.instances * workload.duration
    figures: dict[str, Any] = {
        "jobs": jobs,
        "tasks": tasks,
        "instances": int(workload.instances.sum()),
        "edges": len(workload.parents),
        "users": len(np.unique(workload.user)),
        "gang_tasks": int(workload.gang.sum()),
        "begin_s": workload.begin_s,
        "span_s": float(workload.submit[-1]),
        "tasks_per_job_mean": tasks / jobs,
        "instances_per_task_mean": float(workload.instances.mean()),
        "instances_per_task_max": int(workload.instances.max()),
        "duration_mean_s": float(workload.duration.mean()),
        "duration_median_s": float(np.median(workload.duration)),
        "cpu_seconds": float(work @ workload.demand[:, RESOURCES.index("cpu")]),
        "tasks_with_estimate": int(np.isfinite(workload.estimate).sum()),
    }
    if figures["tasks_with_estimate"]:
        figures["estimate_median_s"] = float(np.median(workload.estimate))
        accuracy = np.minimum(workload.duration / workload.estimate, 1.0)
        figures["duration_over_estimate_mean"] = float(accuracy.mean())
    if len(workload.parents) == 0:
        return figures
    levels = task_levels(workload.first_parent, workload.parents)
    depth = np.maximum.reduceat(levels, workload.first_task[:-1]) + 1
    first = np.concatenate(([0], np.cumsum(depth)[:-1]))
    together = np.bincount(first[jobs_of_tasks(workload)] + levels)
    width = np.maximum.reduceat(together, first)
    return {
        **figures,
        "jobs_with_edges": int((depth > 1).sum()),
        "levels_mean": float(depth.mean()),
        "levels_max": int(depth.max()),
        "width_mean": float(width.mean()),
        "width_max": int(width.max()),
    }


def tidy_ids(ids: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Ids as whole numbers if all are plainly such (``7``, but not ``007``), else as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_integer(values.type) and values.type != pa.uint64():
        return values.cast(pa.int64())
    values = values.cast(pa.string())
    plainly = pc.match_substring_regex(values, r"^(0|-?[1-9]\d{0,17})$")
    if len(values) and pc.all(plainly).as_py():
        return values.cast(pa.int64())
    return values
