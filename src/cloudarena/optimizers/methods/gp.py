"""Bayesian optimisation on replicated means, and ranking and selection among what it visited."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.streams import stream
from cloudarena.optimizers.budget.meter import Watcher
from cloudarena.optimizers.methods.method import method
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.search.begin import begin, far_points
from cloudarena.optimizers.search.finish import EASE, Search, SearchOptions
from cloudarena.optimizers.search.improve import Ease, Improver
from cloudarena.optimizers.selection import Selection

FIRST = 0.3
"""The share of the visits that is spread out before a model is asked, at most."""
FEWEST = 2
"""Designs that are spread out for each free axis, and as many more."""
STEPS = 100
"""How often a model is asked, at most; more points are visited at a time instead."""
LAST = 4
"""Visits at the end that go where the model predicts the best, whatever is not known."""
LAST_LIMITED = 8
"""Likewise with limits: two where the best is predicted that keeps them by each margin."""


class GpOptions(SearchOptions):
    """The options of the search by a Gaussian process."""


@method("gp", GpOptions, limits=True, searches=True)
def gp(problem: Problem, options: GpOptions, watcher: Watcher | None) -> Selection:
    """Searches where a Gaussian process expects most improvement, then selects among the visited.

    Keys may be continuous, whole numbers or words, and some may belong to one policy only. Designs
    share a few replications, whose luck the model tells from what is theirs.
    """
    search = Search(problem, options, watcher, takes_turns=True)
    rng = stream(options.seed, "gp")
    axes = sum(1 + region.free for region in search.regions)
    first = min(FEWEST * axes, max(2, int(FIRST * search.visits)))
    begin(search.visited, min(first, search.visits), rng)
    improver = Improver(search.visited, len(problem.objectives), rng)
    batch = max(1, -(-search.left // STEPS))
    last = min(LAST_LIMITED, search.visits // 4) if problem.limits else LAST
    while search.left > 0:
        search.watch()
        is_last = search.left <= last
        done = len(search.visited) / search.visits
        ease = Ease(EASE[search.left % len(EASE)], search.check) if problem.limits else None
        proposals = improver.propose(min(batch, search.left), done, not is_last, ease)
        by_region: dict[int, list[np.ndarray]] = {}
        for one in proposals:
            by_region.setdefault(one.region, []).append(one.point)
        if not by_region:
            by_region = _anywhere(search, rng)
        if not by_region:
            break  # all designs that there are have been visited
        for region, points in by_region.items():
            search.visited.visit(region, np.array(points)[: search.left])
    return search.finish("gp")


def _anywhere(search: Search, rng: np.random.Generator) -> dict[int, list[np.ndarray]]:
    """A point of any region that was not visited, where models have none to propose."""
    for index, region in enumerate(search.regions):
        taken, _ = search.visited.of(index)
        fresh = search.visited.fresh(index, far_points(region, taken, search.left, rng))
        if len(fresh):
            return {index: list(fresh)}
    return {}
