"""Rigid parallel jobs by the model of Lublin and Feitelson.

Uri Lublin, Dror Feitelson: The workload on parallel supercomputers: modeling the characteristics
of rigid jobs, J. Parallel and Distributed Computing 63 (2003); first published in 1999 with the
program ``m_lublin99.c``, whose parameters and details these are:

- Size: a share of the jobs is serial. Others have ``2^u`` processors, ``u`` two-stage uniform: in
  [low, medium] with probability ``prob``, else in [medium, high]; a share of all jobs has ``u``
  rounded, so that the size is a power of two. High is the log2 of the machine's size, medium
  a fixed distance below.
- Run time: ``exp(g)`` seconds, ``g`` hyper-gamma: gamma(a1, b1) with probability
  ``p = pa * size + pb`` kept in [0, 1], else gamma(a2, b2); drawn again above 12 (two days).
- Arrival: ``exp(g)`` seconds of a clock, ``g`` gamma(aarr * arar, barr), drawn again above 13.
  The clock runs as fast as jobs arrive in the half-hour of the day: slow by night, fast by day, in
  proportion to gamma(anum, bnum) over half-hours 11 to 58. It starts at midnight.

As in the program, times are whole seconds. A job is a gang of as many instances of one cpu as it
has processors; it holds no memory. There are no users; estimates are
drawn apart (see ``estimates``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from cloudarena.base.errors import SpecError, check_choice
from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import JobWorkload
from cloudarena.workloads.jobs.draws import check_parameters, gamma_below, single_task_jobs
from cloudarena.workloads.jobs.estimates import EstimateModel
from cloudarena.workloads.jobs.source import Generator, Rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_LOG_RUN, LONGEST_LOG_GAP = 12.0, 13.0
HALF_HOURS, HALF_HOUR = 48, 1800.0
FIRST_HALF_HOUR = 11
PUBLISHED_HIGH = 7.0
"""The log2 of the size of the machine in the published parameters: 128 processors."""


class ModelParameters(NamedTuple):
    """The parameters of one kind of jobs, by their names in the program."""

    serial_prob: float
    pow2_prob: float
    low: float
    medium: float
    high: float
    prob: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    anum: float
    bnum: float
    arar: float


MODELS = {
    "all": ModelParameters(
        *(0.244, 0.576, 0.8, 4.5, 7.0, 0.86),
        *(4.2, 0.94, 312.0, 0.03, -0.0054, 0.78),
        *(10.2303, 0.4871, 8.1737, 3.9631, 1.0225),
    ),
    "batch": ModelParameters(
        *(0.2927, 0.6686, 1.2, 5.0, 7.0, 0.875),
        *(6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986),
        *(6.0415, 0.8531, 6.1271, 5.2740, 1.0519),
    ),
    "interactive": ModelParameters(
        *(0.1541, 0.625, 1.0, 3.0, 5.5, 0.705),
        *(3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156),
        *(6.5510, 0.6621, 8.9186, 3.6680, 0.9797),
    ),
}
"""Jobs without distinction, as the program draws them when it is not told types; the two types."""


class LublinFeitelson(Generator):
    """Rigid parallel jobs by the model of Lublin and Feitelson (2003)."""

    example = "--jobs 5000 --out lublin"

    source: Literal["lublin-feitelson"]
    processors: int = Field(128, ge=32, le=2**20)
    """The size of the machine."""
    kind: Literal["all", "batch", "interactive"] = "all"
    """Which jobs: all, batch or interactive."""
    rate: Rate = 1.0
    """How many times as fast as published they arrive."""
    estimates: EstimateModel = "modal"
    """What is said about run times beforehand: exact, modal or factor."""

    def draw(self, seed: int) -> JobWorkload:
        """Draws the jobs of a seed."""
        return lublin_feitelson(self.jobs, seed, self.processors, self.kind, self.rate)


def lublin_feitelson(
    jobs: int,
    seed: int,
    processors: int = 128,
    kind: str = "all",
    rate: float = 1.0,
) -> JobWorkload:
    """Draws jobs for a machine of ``processors`` processors.

    Args:
        jobs: how many.
        seed: decides everything that is random.
        processors: the size of the machine, and of the largest job (interactive: 35 % of it).
        kind: ``all``, ``batch`` or ``interactive``.
        rate: how many times as fast as published jobs arrive.
    """
    check_parameters(jobs, rate=rate)
    if not 32 <= processors <= 2**20:
        raise SpecError(f"processors: {processors} is not allowed: from 32 to {2**20}")
    check_choice("kind", kind, MODELS)
    model = MODELS[kind]
    rng = stream(seed, "workload")
    submit = _arrivals(rng, jobs, model)
    size = _sizes(rng, jobs, model, processors)
    return single_task_jobs(
        submit=np.floor(submit / rate),
        instances=size,
        cpu=np.ones(jobs),
        memory=np.zeros(jobs),
        duration=_run_times(rng, size, model),
        gang=size > 1,
    )


def _sizes(
    rng: np.random.Generator, jobs: int, model: ModelParameters, processors: int
) -> NDArray[np.int64]:
    """Processors of each job."""
    shift = np.log2(processors) - PUBLISHED_HIGH
    medium, high = model.medium + shift, model.high + shift
    kind = rng.random(jobs)
    lower = rng.random(jobs) < model.prob
    uniform = rng.random(jobs)
    log_size = np.where(
        lower, model.low + uniform * (medium - model.low), medium + uniform * (high - medium)
    )
    rounded = kind <= model.serial_prob + model.pow2_prob
    log_size = np.where(rounded, np.floor(log_size + 0.5), log_size)
    size = np.floor(2.0**log_size + 0.5).astype(np.int64)
    # Rounding up may pass the size of a machine that is no power of two.
    return np.where(kind <= model.serial_prob, 1, np.minimum(size, processors))


def _run_times(
    rng: np.random.Generator, size: NDArray[np.int64], model: ModelParameters
) -> NDArray[np.float64]:
    """Run times in seconds; whether the first or the second gamma is drawn again with them."""
    first = np.clip(model.pa * size + model.pb, 0.0, 1.0)
    logs = np.full(len(size), np.inf)
    while (above := np.flatnonzero(logs > LONGEST_LOG_RUN)).size:
        chosen = rng.random(len(above)) <= first[above]
        shape, scale = np.where(chosen, model.a1, model.a2), np.where(chosen, model.b1, model.b2)
        logs[above] = rng.gamma(shape, scale)
    return np.maximum(np.floor(np.exp(logs)), 1.0)


def _arrivals(rng: np.random.Generator, jobs: int, model: ModelParameters) -> NDArray[np.float64]:
    """Times of arrival in seconds since midnight."""
    shape = np.full(jobs, model.aarr * model.arar)
    gaps = np.exp(gamma_below(rng, shape, np.full(jobs, model.barr), LONGEST_LOG_GAP))
    clock = np.cumsum(gaps) / HALF_HOUR
    # The clock at the end of each half-hour of a day, in which it makes 48 half-hours in all.
    reached = np.concatenate(([0.0], np.cumsum(day_weights(model))))
    days, within = np.divmod(clock, reached[-1])
    half_hours = np.interp(within, reached, np.arange(HALF_HOURS + 1))
    return (days * HALF_HOURS + half_hours) * HALF_HOUR


def day_weights(model: ModelParameters) -> NDArray[np.float64]:
    """How busy each half-hour from midnight on is; 1 on average."""
    from scipy.special import gammainc

    half_hour = np.arange(FIRST_HALF_HOUR, FIRST_HALF_HOUR + HALF_HOURS)
    share = gammainc(model.anum, (half_hour + 0.5) / model.bnum)
    share -= gammainc(model.anum, (half_hour - 0.5) / model.bnum)
    weights = np.empty(HALF_HOURS)
    weights[(half_hour - 1) % HALF_HOURS] = share / share.mean()
    return weights
