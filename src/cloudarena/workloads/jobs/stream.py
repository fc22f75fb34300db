"""Jobs that come into memory as they arrive, so that a run holds the unfinished ones only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from cloudarena.base.arrow import pa
from cloudarena.base.numpy import np
from cloudarena.workloads.jobs.columns import JobWorkload, pick_jobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

OF_JOBS, OF_TASKS = ("submit", "user"), ("instances", "demand", "duration", "estimate", "gang")


class JobStream(NamedTuple):
    """Jobs a part at a time, and what is known of all of them beforehand."""

    parts: Iterator[JobWorkload]
    """Yields them in order of submission, with times from the first job of all.

    No two parts have jobs of one instant, so that all of it are in memory when the first of them
    arrives."""
    jobs: int
    tasks: int
    users: NDArray[np.int64]
    """The numbers of all users, rising."""
    has_estimates: bool
    """Whether each task has an estimate."""


def kept_jobs(workload: JobWorkload, rows: NDArray[np.int64]) -> JobWorkload:
    """Some jobs of a workload, in order, at the times at which they were submitted."""
    picked = pick_jobs(workload, rows, workload.submit[rows])
    return picked._replace(submit=workload.submit[rows], begin_s=workload.begin_s)


def joined(parts: list[JobWorkload]) -> JobWorkload:
    """Parts that follow each other, as one."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in (*OF_JOBS, *OF_TASKS)
    }
    tasks = np.cumsum([0, *(len(part.instances) for part in parts)])
    links = np.cumsum([0, *(len(part.parents) for part in parts)])
    return parts[0]._replace(
        job_ids=_concatenated([part.job_ids for part in parts]),
        task_ids=_concatenated([part.task_ids for part in parts]),
        first_task=_shifted([part.first_task for part in parts], tasks),
        first_parent=_shifted([part.first_parent for part in parts], links),
        parents=np.concatenate(
            [part.parents + first for part, first in zip(parts, tasks, strict=False)]
        ),
        gpu_models=_models(parts),
        **columns,
    )


def _models(parts: list[JobWorkload]) -> NDArray[np.str_] | None:
    """The models of GPUs that the tasks of parts allow; None where none asks for one."""
    if all(part.gpu_models is None for part in parts):
        return None
    return np.concatenate(
        [
            np.full(len(part.instances), "") if part.gpu_models is None else part.gpu_models
            for part in parts
        ]
    )


def _shifted(bounds: list[NDArray[np.int64]], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bounds of lists that follow each other."""
    firsts = [one[:-1] + offset for one, offset in zip(bounds, offsets, strict=False)]
    return np.concatenate([*firsts, offsets[-1:]])


def _concatenated(names: list[Any]) -> Any:
    """Names as numbers where all are, else as text."""
    if len({str(one.type) for one in names}) > 1:
        names = [one.cast(pa.string()) for one in names]
    return pa.concat_arrays(names)


def next_part(stream: JobStream, at_least: int) -> JobWorkload | None:
    """The next jobs, if there are as many about ``at_least``; None if there are none."""
    parts: list[JobWorkload] = []
    found = 0
    for part in stream.parts:
        parts.append(part)
        found += len(part.submit)
        if found >= at_least:
            break
    return joined(parts) if parts else None
