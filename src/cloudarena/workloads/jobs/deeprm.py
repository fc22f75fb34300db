"""The jobs of DeepRM (Mao et al., HotNets 2016): short and long ones, each hungry for one thing.

In every step a job arrives with the probability ``rate``. It is short with probability 0.8, of 1
to 3 steps, else long, of 10 to 15 steps. Of cpu and memory one, by a fair coin, is dominant: the
job holds 5 to 10 slots of it, and 1 or 2 slots of the other. All whole numbers of a range are
equally likely. DeepRM's cluster is one machine of 10 slots of each, its episode 50 steps: 35 jobs
on average. A step is a second, unless the caller says otherwise.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import JobWorkload
from cloudarena.workloads.jobs.draws import check_parameters, single_task_jobs
from cloudarena.workloads.jobs.source import Generator, Seconds

RATE = 0.7
SHORT_SHARE = 0.8
SHORT, LONG = (1, 3), (10, 15)
DOMINANT, OTHER = (5, 10), (1, 2)


class DeepRm(Generator):
    """DeepRM's Bernoulli mix of short and long jobs, each hungry for cpu or for memory."""

    example = "--jobs 35 --out deeprm"

    source: Literal["deeprm"]
    rate: float = Field(RATE, ge=1e-6, le=1)
    """The probability of a job in a step."""
    short_share: float = Field(SHORT_SHARE, ge=0, le=1)
    """The share of short jobs."""
    step_seconds: Seconds = 1.0
    """The length of a step."""

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        return deeprm(self.jobs, seed, self.rate, self.short_share, self.step_seconds)


def deeprm(
    jobs: int,
    seed: int,
    rate: float = RATE,
    short_share: float = SHORT_SHARE,
    step_seconds: float = 1.0,
) -> JobWorkload:
    """Draws ``jobs`` jobs of one instance each; cpu and memory are counted in slots."""
    check_parameters(jobs, rate=rate, step_seconds=step_seconds)
    if rate > 1:
        raise SpecError(f"rate: {rate:g} is not allowed: at most 1")
    if not 0 <= short_share <= 1:
        raise SpecError(f"short_share: {short_share:g} is not allowed: from 0 to 1")
    rng = stream(seed, "workload")
    # Steps between jobs that come with a probability in every step are geometric.
    step = np.cumsum(rng.geometric(rate, jobs)).astype(np.float64)
    short = rng.random(jobs) < short_share
    steps = np.where(short, _between(rng, jobs, SHORT), _between(rng, jobs, LONG))
    dominant, other = _between(rng, jobs, DOMINANT), _between(rng, jobs, OTHER)
    hungry_for_cpu = rng.random(jobs) < 0.5
    return single_task_jobs(
        submit=step * step_seconds,
        instances=np.ones(jobs, np.int64),
        cpu=np.where(hungry_for_cpu, dominant, other).astype(np.float64),
        memory=np.where(hungry_for_cpu, other, dominant).astype(np.float64),
        duration=steps * np.float64(step_seconds),
    )


def _between(rng: np.random.Generator, count: int, ends: tuple[int, int]) -> np.ndarray:
    """Whole numbers of a range, both ends included."""
    return rng.integers(ends[0], ends[1] + 1, count)
