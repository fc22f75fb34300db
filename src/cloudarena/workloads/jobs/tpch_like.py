"""Jobs that are DAGs of stages, like TPC-H queries on Spark in Decima (Mao et al., SIGCOMM 2019).

Decima's workload is 22 queries at seven sizes of data, drawn uniformly, that arrive by a Poisson
process, 25 s apart on average. Its measured DAGs are not published as numbers to embed, so here
the 22 templates are drawn by the seed:

- A template has 2 to 18 stages in levels: 2 to 8 of them, the last with a single stage, which
  yields the result. A stage waits for one stage of the level before and, with probability 0.25
  each, for up to two other earlier ones. Every other stage is waited for by a later one.
- A stage is a task. At 100 GB it has a log-normal number of instances (median 30, sigma 1.2, at
  most 400) that each run a log-normal time (median 2 s, sigma 0.8).
- At a smaller size, stages of the first level, which read the data, have instances in proportion
  to it. The other stages have instances and durations in proportion to its square root. So
  work grows about as the data does.
- An instance holds 1 cpu and 0.25, 0.5, 0.75 or 1 of memory, in units of a core's share.
- All durations of a seed are scaled so that a job is 2,000 cpu-seconds of work on average over
  templates and sizes. At 25 s between jobs 80 cores are busy on average.

Two jobs of a template and a size are equal. Of 10,000 jobs the largest 23 % have about 70 % of
the work. The job's id is its number; a task's id is that of the stage, from 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import JobWorkload, assemble
from cloudarena.workloads.jobs.draws import check_parameters
from cloudarena.workloads.jobs.source import Generator, Seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEMPLATES = 22
SIZES_GB = (2.0, 5.0, 10.0, 20.0, 50.0, 80.0, 100.0)
FULL_SIZE_GB = 100.0
MEAN_GAP = 25.0
WORK = 2000.0
"""The mean work of a job in cpu-seconds."""

STAGES, LEVELS = (2, 18), (2, 8)
OTHER_PARENTS, OTHER_PARENT_PROBABILITY = 2, 0.25
INSTANCES_MEDIAN, INSTANCES_SIGMA, MOST_INSTANCES = 30.0, 1.2, 400.0
DURATION_MEDIAN, DURATION_SIGMA = 2.0, 0.8
SHORTEST_DURATION = 0.01
MEMORY = (0.25, 0.5, 0.75, 1.0)


class Template(NamedTuple):
    """The stages of a query at full size, in an order in which parents come first."""

    level: NDArray[np.int64]
    edges: NDArray[np.int64]  # rows of (stage, parent)
    instances: NDArray[np.float64]
    duration: NDArray[np.float64]
    memory: NDArray[np.float64]


class TpchLike(Generator):
    """Stage DAGs like those of TPC-H queries on Spark, of several sizes."""

    bytes_per_job: ClassVar[float] = 4000.0
    example = "--jobs 200 --out tpch"

    source: Literal["tpch-like"]
    mean_gap: Seconds = MEAN_GAP
    """Seconds between jobs on average."""

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        return tpch_like(self.jobs, seed, self.mean_gap)


def tpch_like(jobs: int, seed: int, mean_gap: float = MEAN_GAP) -> JobWorkload:
    """Draws ``jobs`` jobs that arrive ``mean_gap`` seconds apart on average."""
    from cloudarena.base.arrow import arrow_column

    check_parameters(jobs, mean_gap=mean_gap)
    rng = stream(seed, "workload")
    templates = [_template(rng) for _ in range(TEMPLATES)]
    submit = np.cumsum(rng.exponential(mean_gap, jobs))
    query = rng.integers(0, TEMPLATES, jobs)
    size = rng.integers(0, len(SIZES_GB), jobs)

    sized = [_at_size(template, size_gb) for template in templates for size_gb in SIZES_GB]
    scale = WORK * len(sized) / sum((instances * duration).sum() for instances, duration in sized)
    stages = np.array([len(template.level) for template in templates])
    chosen = query * len(SIZES_GB) + size
    job = np.repeat(np.arange(jobs), stages[query])
    first = np.cumsum(stages[query]) - stages[query]
    edges = [templates[kind].edges + begin for kind, begin in zip(query, first, strict=True)]
    instances = np.concatenate([sized[kind][0] for kind in chosen])
    duration = np.concatenate([sized[kind][1] for kind in chosen]) * scale
    memory = np.concatenate([templates[kind].memory for kind in query])
    none = np.zeros(len(job))
    return assemble(
        job_ids=arrow_column(np.arange(1, jobs + 1)),
        submit=submit - submit[0],
        job=job,
        task_ids=arrow_column(np.arange(len(job)) - first[job] + 1),
        instances=instances.astype(np.int64),
        demand=np.column_stack((np.ones(len(job)), memory, none, none)),
        duration=np.maximum(duration, SHORTEST_DURATION),
        edges=np.concatenate(edges),
    )


def _template(rng: np.random.Generator) -> Template:
    stages = int(rng.integers(STAGES[0], STAGES[1] + 1))
    levels = int(rng.integers(LEVELS[0], min(LEVELS[1], stages) + 1))
    # One stage in each level, the others in any but the last.
    free = rng.integers(0, levels - 1, stages - levels)
    level = np.sort(np.concatenate((np.arange(levels), free)))
    edges = []
    for stage in range(stages):
        before = np.flatnonzero(level == level[stage] - 1)
        if len(before):
            edges.append((stage, rng.choice(before)))
            others = rng.choice(np.flatnonzero(level < level[stage]), OTHER_PARENTS)
            asked = rng.random(OTHER_PARENTS) < OTHER_PARENT_PROBABILITY
            edges += [(stage, parent) for parent in others[asked]]
    awaited = {parent for _, parent in edges}
    for stage in range(stages - 1):
        if stage not in awaited:
            edges.append((rng.choice(np.flatnonzero(level > level[stage])), stage))
    count = INSTANCES_MEDIAN * np.exp(INSTANCES_SIGMA * rng.standard_normal(stages))
    return Template(
        level=level,
        edges=np.array(edges, np.int64),
        instances=np.minimum(count, MOST_INSTANCES),
        duration=DURATION_MEDIAN * np.exp(DURATION_SIGMA * rng.standard_normal(stages)),
        memory=rng.choice(MEMORY, stages),
    )


def _at_size(template: Template, size_gb: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The instances and the duration of each stage, at a size of data."""
    share = size_gb / FULL_SIZE_GB
    reading = template.level == 0
    instances = template.instances * np.where(reading, share, np.sqrt(share))
    duration = template.duration * np.where(reading, 1.0, np.sqrt(share))
    return np.maximum(np.rint(instances), 1.0), duration
