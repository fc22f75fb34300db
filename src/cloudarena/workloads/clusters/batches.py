"""Batches of tasks of several classes, generated or given.

Four kinds of workload go by two letters each: how often batches arrive (LF low, HF high frequency)
and how much their mix of classes varies (LC low, HC high covariance). The thesis that names them
(Zhang, Tsinghua, 2011, chapter 6) gives no numbers; those here are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Variance = Literal["low", "high"]

VOLUME_SHAPE = 4.0
"""The shape of the gamma distribution of a batch's volume: a coefficient of variation of 0.5."""
STEADINESS = 200.0
"""The sum of the parameters of the Dirichlet distribution of a batch's mix around its regime's."""
MOST_SECONDS = 1e9
"""The latest time at which a batch may arrive."""
MOST_TASKS = 10**12
"""The most tasks of a class in a batch."""


class Batches(NamedTuple):
    """What arrives: rows of batches, columns of classes."""

    times: NDArray[np.float64]  # (batches,), not falling
    tasks: NDArray[np.int64]  # (batches, classes)
    names: tuple[str, ...] = ()
    """The classes, where the source names them."""


class Group(NamedTuple):
    """A virtual cluster: VMs that only its own classes share."""

    name: str
    """The name; empty for that of all VMs, where the spec names none."""
    vms: int
    classes: tuple[int, ...]
    """The indices of the classes, rising."""


def generate_batches(
    count: int,
    horizon_s: float,
    work_s: float,
    seconds: ArrayLike,
    variance: Variance,
    regime_s: float,
    concentration: float,
    seed: int,
    whose: str = "",
) -> Batches:
    """Batches at equal distances from 0 on, whose tasks are so much work in all.

    With low variance the mix of a batch, as shares of its work, is Dirichlet around equal parts.
    With high variance it is Dirichlet around the mix of a regime; regimes last exponentially long
    and their mixes are far from each other. Each batch has a task of every class.

    Args:
        count: how many batches.
        horizon_s: when the next batch after the last one would arrive.
        work_s: mean seconds of work on one VM of all tasks together.
        seconds: the mean time of a task of each class.
        variance: of the mixes.
        regime_s: mean length of a regime.
        concentration: parameter of the Dirichlet distribution of the mix of a regime; the smaller,
            the more one class outweighs the others.
        seed: decides everything.
        whose: the virtual cluster that they are of; each has random numbers of its own.
    """
    of = f" of {whose}" if whose else ""
    rng = stream(seed, f"batches{of}")
    mean = np.asarray(seconds, np.float64)
    classes = len(mean)
    times = np.arange(count, dtype=np.float64) * (horizon_s / count)
    volumes = rng.gamma(VOLUME_SHAPE, 1.0, count)
    if variance == "low":
        regimes = np.full((count, classes), 1.0 / classes)
    else:
        regimes = _regimes(times, classes, regime_s, concentration, stream(seed, f"regimes{of}"))
    mixes = rng.gamma(np.maximum(STEADINESS * regimes, 1e-3), 1.0)
    mixes /= mixes.sum(axis=1, keepdims=True)
    work = mixes * volumes[:, None]
    work *= work_s / work.sum()
    tasks = np.maximum(np.round(work / mean), 1.0)
    if tasks.max() > MOST_TASKS:
        raise SpecError(
            f"workload.load: {tasks.max():.3g} tasks of a class in a batch are not allowed: at "
            f"most {MOST_TASKS:,}"
        )
    return Batches(times, tasks.astype(np.int64))


def side_by_side(parts: Sequence[Batches], groups: Sequence[Group]) -> Batches:
    """The batches of all virtual clusters, which arrive at the same times."""
    tasks = np.zeros((len(parts[0].times), sum(len(one.classes) for one in groups)), np.int64)
    for part, one in zip(parts, groups, strict=True):
        tasks[:, one.classes] = part.tasks
    return Batches(parts[0].times, tasks)


def _regimes(
    times: NDArray[np.float64],
    classes: int,
    regime_s: float,
    concentration: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """The mix of the regime at each time."""
    mixes = np.empty((len(times), classes))
    begin = 0.0
    while begin <= times[-1]:
        end = begin + rng.exponential(regime_s)
        mixes[(times >= begin) & (times < end)] = rng.dirichlet(np.full(classes, concentration))
        begin = end
    return mixes


def check_batches(times: ArrayLike, tasks: ArrayLike) -> Batches:
    """Batches from a spec, if they are in order and none is empty."""
    batches = Batches(np.asarray(times, np.float64), np.asarray(tasks, np.int64))
    if (np.diff(batches.times) < 0).any():
        late = int(np.argmax(np.diff(batches.times) < 0)) + 1
        raise SpecError(f"batches[{late}].time_s: {batches.times[late]:g} is before the one before")
    if (batches.tasks.sum(axis=1) == 0).any():
        empty = int(np.argmax(batches.tasks.sum(axis=1) == 0))
        raise SpecError(f"batches[{empty}].tasks: none is not allowed: at least one task")
    return batches
