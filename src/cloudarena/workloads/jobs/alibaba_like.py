"""Jobs like those of CloudSimPy's list of Alibaba's batch jobs of 2017, at any size, from a seed.

The list has 5,216 jobs, 31,756 tasks and 2,551,075 instances over 16.6 hours. Of 52,160 drawn
jobs, with the figures of the list in brackets (tests hold them within a tolerance):

- Tasks in a job 6.1 (6.1), instances of a task 80 (80), half of them 1, duration 43.5 s (42.7),
  cpu 0.648 (0.647): 69 % of tasks hold 0.5 (70), 29 % hold 1.0 (29); memory 0.0069 (0.0067).
- Over instances, not tasks: duration 75 s (74), cpu 0.66 (0.65), memory 0.0100 (0.0092).
- Work of a job, in cpu-seconds: mean 23,400 (21,600), quartiles 430 (410), 3,250 (3,840) and
  15,000 (15,000), 95th percentile 84,000 (67,000), 99th 350,000 (309,000).
- Rank correlations of instances with duration 0.45 (0.47) and memory 0.55 (0.54), of duration with
  memory 0.48 (0.51), of the tasks in a job with instances -0.24 (-0.28) and cpu 0.15 (0.17). That
  of instances with cpu, 0.02 (0.15), is low so that cpu over instances is right.
- How alike the tasks of a job are, as the share of variance between jobs: log instances 0.39
  (0.45), log duration 0.53 (0.56), log memory 0.44 (0.48), cpu 1 (0.99).
- Seconds between jobs: mean 11.5 (11.5), coefficient of variation 1.8 (1.9), 10 % are 0 (7 %).

Not kept are the weak similarity of jobs that follow each other (correlation of log work 0.1, of
gaps 0.2), trends over the hours other than that of arrivals, and the task numbers.

How it is drawn: the number of tasks of a job by its distribution; then normal scores for
instances, duration, memory and cpu that have a part from the job's size, one from the job and one
from the task; the instances by the distribution of instances, the duration and memory by their
distributions among tasks of about as many instances. The scores for instances within a job are
spread evenly (one in each of as many strata as it has tasks): jobs have large and small tasks. A
duration is a mean of whole seconds over the instances, as in the list. There are no parents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import JobWorkload, assemble
from cloudarena.workloads.jobs.draws import check_parameters
from cloudarena.workloads.jobs.source import Generator, Rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

TASKS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 20, 25, 30, 33, 40, 55, 156)
TASKS_SHARE = (
    *(0.0, 0.1237, 0.2839, 0.38, 0.4826, 0.6139, 0.6685, 0.7266, 0.7533, 0.792, 0.8307, 0.9202),
    *(0.9434, 0.9503, 0.9628, 0.9768, 0.9847, 0.9887, 0.99, 0.9918, 0.9988, 1.0),
)
"""The share of jobs that have at most so many tasks."""
INSTANCES = (
    *(1, 2, 3, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 499, 500, 600, 800, 1000, 1500),
    *(2000, 3000, 5000, 10000, 20000, 30000, 36326),
)
INSTANCES_SHARE = (
    *(0.48007, 0.53234, 0.58184, 0.61683, 0.65965, 0.71432, 0.75611, 0.81074, 0.84623, 0.86721),
    *(0.89637, 0.91422, 0.94124, 0.95314, 0.95963, 0.9756, 0.98347, 0.98797, 0.99018, 0.99647),
    *(0.99754, 0.99814, 0.99865, 0.99912, 0.99953, 0.99997, 1.0),
)
"""The share of tasks that have at most so many instances."""
CPU = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 1.0, 2.0, 3.0)
CPU_SHARE = (0.0048, 0.6998, 0.7013, 0.7020, 0.7033, 0.7042, 0.7074, 0.9999, 0.99994, 1.0)
"""The share of tasks that hold at most so much."""

CLASSES = (2, 10, 100, 1000, 10000)
"""Tasks of 1, of 2 to 9, ... instances: durations and memory differ among these classes."""
DURATION_SHARE = (
    *(0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0),
)
DURATION = (
    (1, 1, 2, 3, 3, 4, 4, 7, 11, 21, 67.6, 135, 204, 273, 515, 596),
    (1, 3, 5, 9, 11, 13, 16, 23.5, 39.6, 63.2, 110, 162, 391, 436, 488, 582),
    (1, 2, 3.09, 7.09, 13, 21.2, 33.2, 46.7, 64.7, 93.8, 142, 195, 279, 344, 502, 578),
    (1, 3.02, 8.51, 20.1, 29.2, 40.1, 54.2, 70.4, 94.8, 129, 189, 247, 346, 417, 589, 3629),
    (1, 1, 1.28, 2, 2.5, 3.02, 7.75, 26, 106, 192, 311, 410, 616, 664, 1174, 1309),
    (1.58, 6.3, 15.5, 20.9, 24.1, 27, 29.8, 32.9, 56.2, 81.7, 96, 102, 103, 103, 103, 103),
)
"""Quantiles in seconds, a row for each class."""
MEMORY_SHARE = (*(0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0),)
MEMORY = (
    (3.82, 4.03, 4.06, 4.08, 4.1, 4.11, 5.4, 5.4, 5.4, 5.4, 8.06, 8.33, 16, 16.3, 57.6),
    (3.83, 4.11, 4.16, 5.4, 5.4, 5.4, 5.4, 8.02, 8.06, 8.92, 10.7, 13.4, 16, 18.7, 74.3),
    (2.75, 5.4, 5.4, 5.4, 5.4, 5.4, 5.74, 8.02, 8.4, 10.7, 16, 16, 16.3, 19.6, 53.1),
    (2.75, 4.47, 5.4, 5.4, 5.74, 8.06, 8.33, 9.11, 10.7, 13.4, 16, 16, 16, 21.3, 57.6),
    (2.75, 4.12, 4.2, 5.4, 5.4, 5.4, 5.4, 8.22, 8.81, 16, 16, 16, 21.3, 21.3, 21.3),
    (4.24, 4.64, 5.4, 5.4, 5.4, 5.74, 5.74, 8.1, 10.6, 13.9, 16, 25.5, 39.3, 42.2, 42.5),
)
"""Quantiles in thousandths of a machine, a row for each class."""

LOG_TASKS_MEAN, LOG_TASKS_DEVIATION = 2.1639, 0.8708
"""Mean and deviation of the log of a job's number of tasks, over tasks."""
SIZE_PART = (-0.276, 0.0, -0.076, 0.21)
"""What the job's number of tasks does to the scores of instances, duration, memory, cpu."""
JOB_PART = (
    (0.34, 0.0, 0.07, 0.09),
    (0.0, 0.52, 0.17, -0.15),
    (0.07, 0.17, 0.33, -0.1),
    (0.09, -0.15, -0.1, 0.956),
)
"""The covariance of the part that all tasks of a job share; cpu has no other."""
TASK_PART = ((0.48, 0.15), (0.15, 0.665))
"""The covariance of each task's own part of duration and memory."""
INSTANCES_TASK_PART = 0.584
"""The variance of each task's own part of instances."""

HOURLY = (364, 242, 233, 233, 239, 169, 215, 238, 198, 193, 263, 434, 381, 572, 575, 480, 187)
"""Jobs in each hour of the list; the last is not whole. Longer workloads begin again."""
SPAN = 59_829.0
GAP_SHARE = (
    *(0.0, 0.074, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999),
    1.0,
)
GAP = (
    *(0.0, 0.0, 0.066, 0.141, 0.241, 0.336, 0.483, 0.717, 1.01, 1.46, 2.4, 3.51, 5.5, 7.01, 9.54),
    *(16.3, 33.8),
)
"""Quantiles of the gaps between jobs, in units of the mean gap of the hour."""


class AlibabaLike(Generator):
    """Jobs like Alibaba's batch jobs of 2017, at any size."""

    bytes_per_job: ClassVar[float] = 2600.0
    example = "--jobs 1000 --out alibaba-like-1000"

    source: Literal["alibaba-like"]
    rate: Rate = 1.0
    """How many times as fast as in the trace they arrive."""

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        return alibaba_like(self.jobs, seed, self.rate)


def alibaba_like(jobs: int, seed: int, rate: float = 1.0) -> JobWorkload:
    """Draws ``jobs`` jobs that arrive ``rate`` times as fast as those of the list.

    Memory is a share of a machine; cpus are cores, of which the list's machines have 64.
    """
    from scipy.special import ndtr

    from cloudarena.base.arrow import arrow_column

    check_parameters(jobs, rate=rate)
    rng = stream(seed, "workload")
    submit = np.floor(_arrivals(rng, jobs) / rate)
    tasks = np.maximum(np.ceil(np.interp(rng.random(jobs), TASKS_SHARE, TASKS)), 1).astype(np.int64)
    job = np.repeat(np.arange(jobs), tasks)
    instances_score, duration_score, memory_score, cpu_score = _scores(rng, tasks, job)
    share = ndtr(instances_score)
    instances = np.ceil(np.exp(np.interp(share, INSTANCES_SHARE, np.log(INSTANCES))) - 1e-9)
    group = np.searchsorted(CLASSES, instances, "right")
    duration, memory = np.empty(len(job)), np.empty(len(job))
    for code, (times, sizes) in enumerate(zip(DURATION, MEMORY, strict=True)):
        members = np.flatnonzero(group == code)
        share = ndtr(duration_score[members])
        duration[members] = np.exp(np.interp(share, DURATION_SHARE, np.log(times)))
        memory[members] = np.interp(ndtr(memory_score[members]), MEMORY_SHARE, sizes) / 1000.0
    duration = np.maximum(np.rint(duration * instances) / instances, 1.0)
    cpu = np.asarray(CPU)[np.searchsorted(CPU_SHARE[:-1], ndtr(cpu_score))]
    none = np.zeros(len(job))
    first = np.cumsum(tasks) - tasks
    return assemble(
        job_ids=arrow_column(np.arange(1, jobs + 1)),
        submit=submit - submit[0],
        job=job,
        task_ids=arrow_column(np.arange(len(job)) - first[job] + 1),
        instances=instances.astype(np.int64),
        demand=np.column_stack((cpu[job], memory, none, none)),
        duration=duration,
    )


def _scores(
    rng: np.random.Generator, tasks: NDArray[np.int64], job: NDArray[np.int64]
) -> tuple[NDArray[np.float64], ...]:
    """Normal scores of instances, duration and memory of each task, and of cpu of each job."""
    from scipy.special import ndtri

    size = (np.log(tasks) - LOG_TASKS_MEAN) / LOG_TASKS_DEVIATION
    of_job = _correlated(rng, len(tasks), JOB_PART) + size[:, None] * SIZE_PART
    of_task = _correlated(rng, len(job), TASK_PART)
    # The tasks of each job in random order, numbered from 0: the stratum of each.
    order = np.lexsort((rng.random(len(job)), job))
    stratum = np.empty(len(job))
    stratum[order] = np.arange(len(job)) - (np.cumsum(tasks) - tasks)[job]
    spread = ndtri((stratum + rng.random(len(job))) / tasks[job])
    return (
        of_job[job, 0] + np.sqrt(INSTANCES_TASK_PART) * spread,
        of_job[job, 1] + of_task[:, 0],
        of_job[job, 2] + of_task[:, 1],
        of_job[:, 3],
    )


def _correlated(
    rng: np.random.Generator, count: int, covariance: tuple[tuple[float, ...], ...]
) -> NDArray[np.float64]:
    """Normal vectors with a covariance."""
    factor = np.linalg.cholesky(covariance)
    # Not by BLAS, whose sums differ from machine to machine.
    return np.einsum("ij,kj->ik", rng.standard_normal((count, len(factor))), factor)


def _arrivals(rng: np.random.Generator, jobs: int) -> NDArray[np.float64]:
    """Times in seconds from the start of the first hour."""
    mean = np.trapezoid(GAP, GAP_SHARE)
    gaps = np.interp(rng.random(jobs), GAP_SHARE, GAP) / mean
    arrived = np.cumsum(gaps) - gaps[0]
    total = np.concatenate(([0], np.cumsum(HOURLY)))
    hours = np.append(np.arange(len(HOURLY)) * 3600.0, SPAN)
    rounds, within = np.divmod(arrived, total[-1])
    return rounds * SPAN + np.interp(within, total, hours)
