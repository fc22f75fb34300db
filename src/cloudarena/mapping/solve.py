"""One way to call all heuristics, by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.base.errors import CloudarenaError, check_choice
from cloudarena.engine.streams import stream

HEURISTICS = {
    "olb": "Each task to the machine that is free first.",
    "met": "Each task to the machine that runs it fastest, however busy.",
    "mct": "Each task to the machine on which it ends first.",
    "min-min": "Again and again the task that can end first.",
    "max-min": "Again and again the task whose earliest end is the latest.",
    "duplex": "The better of min-min and max-min.",
    "sufferage": "Each machine takes the task that would lose most elsewhere.",
    "ga": "Genetic algorithm that begins with min-min.",
    "sa": "Simulated annealing of a random mapping.",
    "gsa": "Genetic simulated annealing of random mappings.",
    "tabu": "Tabu search: descents from random mappings far from each other.",
    "a-star": "A* over partial mappings, with at most 1024 live nodes.",
}
"""What each heuristic does, by its name."""


@dataclass(frozen=True, eq=False)
class Mapping:
    """Tasks on machines, as a heuristic has put them; times are in seconds."""

    heuristic: str
    assignment: NDArray[np.int64]
    """The machine of each task."""
    finish: NDArray[np.float64]
    """When each machine ends: its ready time plus the times of its tasks, in task order."""
    completion: NDArray[np.float64]
    """When each task ends if each machine runs its tasks shortest first."""

    @property
    def makespan(self) -> float:
        """When the last machine ends, one without tasks at its ready time: ``max_j finish[j]``."""
        return float(self.finish.max())

    @property
    def flowtime(self) -> float:
        """The sum of the completion times of all tasks."""
        return float(self.completion.sum())

    @property
    def mean_finish(self) -> float:
        """The mean of the completion times of all tasks."""
        return float(self.completion.mean())


def map_tasks(
    etc: ArrayLike, heuristic: str, seed: int = 0, ready: ArrayLike | None = None
) -> Mapping:
    """Maps independent tasks onto machines so that the last machine ends early.

    Args:
        etc: seconds that each task (row) takes on each machine (column).
        heuristic: a name in ``HEURISTICS``.
        seed: decides everything that is random; each heuristic has a stream of its own.
        ready: when each machine becomes free, in seconds; 0 by default.
    """
    function = _function(heuristic)
    times, free = _checked(etc, ready)
    from cloudarena.mapping.loads import completion_times, finish_times

    assignment = function(times, free, stream(seed, f"mapping {heuristic}"))
    finish = finish_times(times, assignment, free)
    return Mapping(heuristic, assignment, finish, completion_times(times, assignment, free))


def lower_bound(etc: ArrayLike, ready: ArrayLike | None = None) -> float:
    """Seconds below which no makespan can be, up to the rounding of sums.

    The largest of: the latest ready time; the largest earliest completion time of a task alone,
    ``max_i min_j (ready[j] + etc[i, j])``; and all work, each task on its fastest machine, spread
    evenly, ``(sum_j ready[j] + sum_i min_j etc[i, j]) / machines``.
    """
    times, free = _checked(etc, ready)
    longest = (times + free).min(axis=1).max()
    share = (free.sum() + times.min(axis=1).sum()) / len(free)
    return float(max(free.max(), longest, share))


def _function(name: str) -> Callable[..., Any]:
    """The function of a heuristic, of matrix, ready times and random generator.

    The imports wait until here, since compiled code takes a while to load.
    """
    check_choice("heuristic", name, HEURISTICS)
    from cloudarena.mapping import a_star, annealing, genetic, heuristics, tabu

    searches = {
        "ga": genetic.genetic_algorithm,
        "gsa": genetic.genetic_annealing,
        "sa": annealing.simulated_annealing,
        "tabu": tabu.tabu_search,
    }
    if name in searches:
        return searches[name]
    function = a_star.a_star if name == "a-star" else getattr(heuristics, name.replace("-", "_"))
    return lambda etc, ready, rng: function(etc, ready)


def _checked(
    etc: ArrayLike, ready: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The matrix and the ready times as arrays, or an error that names the first bad value."""
    times = _numbers(etc, "etc")
    if times.ndim != 2 or 0 in times.shape:
        raise CloudarenaError(
            f"etc: the shape {times.shape} is not allowed: tasks x machines, at least one of each"
        )
    _check_values(times, times > 0.0, "etc", "more than 0")
    machines = times.shape[1]
    free = np.zeros(machines) if ready is None else _numbers(ready, "ready")
    if free.shape != (machines,):
        raise CloudarenaError(
            f"ready: shape {free.shape} is not allowed: a number for each of {machines} machines"
        )
    _check_values(free, free >= 0.0, "ready", "at least 0")
    with np.errstate(over="ignore"):
        total = times.max(axis=1).sum() + free.sum()
    if not np.isfinite(total):
        raise CloudarenaError("etc: the times are too large: their sum is not finite")
    return times, free


def _numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        return np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError):
        raise CloudarenaError(f"{name}: is not allowed: numbers only") from None


def _check_values(
    values: NDArray[np.float64], good: NDArray[np.bool_], name: str, allowed: str
) -> None:
    good = good & np.isfinite(values)
    if not good.all():
        index = np.unravel_index(int(np.argmin(good)), good.shape)
        where = ", ".join(map(str, index))
        raise CloudarenaError(
            f"{name}[{where}]: {float(values[index])!r} is not allowed: a finite number, {allowed}"
        )
