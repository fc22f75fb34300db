"""Random search, and ranking and selection among what it visited."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.streams import stream
from cloudarena.optimizers.budget.meter import Watcher
from cloudarena.optimizers.methods.method import method
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.search.finish import Search, SearchOptions
from cloudarena.optimizers.selection import Selection

TRIES = 20
"""How often points are drawn again, where those that come up were visited."""


class RandomSearchOptions(SearchOptions):
    """The options of random search."""


@method("random-search", RandomSearchOptions, limits=True, searches=True)
def random_search(
    problem: Problem, options: RandomSearchOptions, watcher: Watcher | None
) -> Selection:
    """Visits designs drawn at random, then selects among them; to measure searches by."""
    search = Search(problem, options, watcher)
    rng = stream(options.seed, "random search")
    sizes = np.array([np.prod(region.levels.astype(np.float64)) for region in search.regions])
    for _ in range(TRIES):
        if search.left <= 0:
            break
        counts = rng.multinomial(search.left, sizes / sizes.sum())
        for index, count in enumerate(counts.tolist()):
            drawn = search.regions[index].draw(count, rng)
            search.visited.visit(index, search.visited.fresh(index, drawn)[: search.left])
    return search.finish("random-search")
