"""Ranking and selection among what a search has visited, so that a claim can be stated.

Who was looked for where luck was looks better than it is. So a smooth model of all that was
measured names a few finalists that are not too near each other, and these get new replications,
which are allocated by OCBA, by MOCBA with several objectives, or by OCBA-CO with limits. What that
claims is of the finalists, and says so.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from pydantic import Field

from cloudarena.base.arrays import Ints
from cloudarena.base.errors import SpecError
from cloudarena.optimizers.budget.memoized import MemoizedProblem
from cloudarena.optimizers.budget.meter import Meter, Progress, Watcher
from cloudarena.optimizers.methods.method import FinalChoice, FixedBudget, MarginClaim
from cloudarena.optimizers.methods.mocba import mocba
from cloudarena.optimizers.methods.monte_carlo import monte_carlo
from cloudarena.optimizers.methods.ocba import ocba
from cloudarena.optimizers.methods.ocba_co import CHECKED, ocba_co
from cloudarena.optimizers.ordinal.layers import first_in_order
from cloudarena.optimizers.problem import Fresh, Problem, Subset
from cloudarena.optimizers.search.improve import Ease, nearest
from cloudarena.optimizers.search.smooth import can_model, smoothed
from cloudarena.optimizers.search.visited import Visited
from cloudarena.optimizers.selection import Selection

SEARCHED = 0.85
"""The share of the evaluations that a search may take; the others go to who is ahead."""
SEARCHED_LIMITED = 0.6
"""Likewise where there are limits, since whether they are kept is told by the others alone."""
MOST_VISITED = 300
"""Designs that are visited, at most."""
EACH_AXIS = 25
"""Designs for each free axis, and as many more, before further evaluations are replications."""
SCARCE = 8
"""Designs for each free axis, and as many more, below which there is one replication of each."""
MOST_EACH = 10
FINALISTS = 5
SEVERAL_FINALISTS = 30
"""Finalists with several objectives, whose front is longer."""
PESSIMISM = 1.0
"""Standard errors of the model by which a finalist may be worse than it is predicted."""
LEAST_EACH = 4
"""Evaluations for each finalist, at least, on average."""
LEAST_LEFT = 4
"""Evaluations for finalists, at least: two for each of two."""
LEAST_LIMITED = 8
"""Likewise with limits, of which three tenths are the check."""
EASE = (0.0, 2.5, 4.5, 7.0)
"""The margins, in standard errors of the model and the check, by which finalists should keep
limits: what is cheap may not be sure, and what is sure not cheap."""
EACH_TURN = 18
"""Designs that are visited in the same replications, at least, before others are used as well."""
MOST_TURNS = 4
"""How many different replications, or sets of them, visited designs have, at most."""
NEAR = 0.02
"""Finalists differ by at least this part of the length of an axis."""
LEAST = 4
"""Designs that must be visited for a search to make sense."""


class SearchOptions(FixedBudget, MarginClaim, FinalChoice):
    """The options of all methods that search."""

    replications: int | None = Field(None, ge=1)
    """Replications of each design that is visited; by default 1 to 10, by the evaluations."""


class Search:
    """What a search needs: a problem that remembers, a meter, and who was visited.

    Args:
        problem: what is searched.
        options: of the search.
        watcher: is told the progress.
        takes_turns: whether the search has a model that can tell the luck of a replication, so that
            designs need not all have the same.
    """

    def __init__(
        self,
        problem: Problem,
        options: SearchOptions,
        watcher: Watcher | None,
        takes_turns: bool = False,
    ) -> None:
        self.options = options
        self.watcher = watcher
        self.problem = MemoizedProblem(problem)
        self.regions = problem.regions
        evaluations = options.evaluations
        axes = sum(region.free for region in self.regions)
        wanted = min(MOST_VISITED, EACH_AXIS * (1 + axes))
        each = options.replications
        if each is None:
            each = _each(problem, evaluations, wanted)
        searched = min(int(_share(problem) * evaluations), evaluations - LEAST_LEFT)
        self.visits = min(searched // each, MOST_VISITED, problem.size)
        left = evaluations - self.visits * each
        self.check = max(2.0, CHECKED * left / FINALISTS)
        """Replications of a finalist that its limits are checked by, about."""
        if self.visits < min(LEAST, problem.size):
            least = each * LEAST
            needed = max(math.ceil(least / _share(problem)), least + LEAST_LEFT)
            raise SpecError(
                f"evaluations: {evaluations:,} are not enough to search: at least {needed:,}, "
                f"{each} for each of {LEAST} designs and the others for the best of them"
            )
        self.meter = Meter(self.problem, evaluations, self.visits * each, watcher)
        turns = 1
        if takes_turns and problem.common_random_numbers and all(map(can_model, self.regions)):
            turns = int(np.clip(self.visits // EACH_TURN, 1, MOST_TURNS))
        self.visited = Visited(self.meter, self.regions, each, turns)

    @property
    def left(self) -> int:
        """How many more designs may be visited."""
        return self.visits - len(self.visited)

    def watch(self) -> None:
        """Tells who watches which design looks best."""
        losses = self.visited.all_losses()
        if len(losses):
            self.meter.best = self.visited.numbers[int(np.argmin(losses[:, 0]))]

    def _later(self, finalists: Ints) -> Watcher | None:
        """Tells who watches of the finalists: by their numbers, with what the search has spent."""
        watcher, spent = self.watcher, self.meter.spent
        if watcher is None:
            return None

        def watch(progress: Progress) -> None:
            best = None if progress.best is None else int(finalists[progress.best])
            watcher(Progress(spent + progress.evaluations, spent + progress.expected, best))

        return watch

    def finish(self, name: str, why: str = "") -> Selection:
        """The selection among the finalists."""
        numbers = np.array(self.visited.numbers, np.int64)
        left = self.options.evaluations - self.meter.spent
        several = len(self.problem.objectives) > 1
        least_each = LEAST_LIMITED if self.problem.limits else LEAST_EACH
        most = min(SEVERAL_FINALISTS if several else FINALISTS, max(2, left // least_each))
        finalists = np.sort(numbers[finalists_of(self.visited, most, self.check)])
        among = Fresh(Subset(self.problem, finalists), self.visited.used)
        options = self.options
        first = int(np.clip(left // (2 * len(finalists)), 2, MOST_EACH))
        shared: dict[str, Any] = {
            "evaluations": left,
            "confidence": options.confidence,
            "watcher": self._later(finalists),
        }
        allocated: dict[str, Any] = {"first": first, "step": max(5, left // 20)}
        if len(finalists) == 1:
            found = monte_carlo(among, replications=left, **shared)
        elif among.limits:
            found = ocba_co(among, **shared, **allocated)
        elif several:
            rule: dict[str, Any] = {"final_rule": options.final_rule, "seed": options.seed}
            found = mocba(among, **shared, **allocated, **rule)
        else:
            found = ocba(among, **shared, **allocated, within=options.within)
        words = f"the {len(finalists):,} finalists of {len(numbers):,} designs that were visited"
        spent = self.meter.spent + found.evaluations
        found = dataclasses.replace(
            found, method=name, designs=self.problem.size, evaluations=spent, visited=len(numbers)
        )
        remark = f"{why} {len(numbers):,} of {self.problem.size:,} designs were visited."
        return _of_the_finalists(found, finalists, words, remark)


def _share(problem: Problem) -> float:
    return SEARCHED_LIMITED if problem.limits else SEARCHED


def _each(problem: Problem, evaluations: int, wanted: int) -> int:
    """Replications of a visited design: many designs first, then more of each.

    With common random numbers a single replication is one and the same luck for all designs, so
    there are two, unless that leaves too few designs to learn from.
    """
    share = _share(problem) * evaluations
    is_scarce = share / 2.0 < wanted * SCARCE / EACH_AXIS
    least = 1 if is_scarce or not problem.common_random_numbers else 2
    return int(np.clip(share / wanted, least, MOST_EACH))


def finalists_of(visited: Visited, most: int, check: float) -> Ints:
    """The visited designs that may be the best, by a smooth model of what was measured.

    With limits, the best that seems to keep them, and the best that seem to by some margin.
    """
    problem = visited.meter.problem
    objectives = len(problem.objectives)
    smooth = smoothed(visited)
    if problem.limits:
        excess, deviation, noise = (part[:, objectives:] for part in smooth)
        chosen: list[int] = []
        for errors in EASE:
            fit = np.flatnonzero(
                (excess <= -Ease(errors, check).margin(deviation, noise)).all(axis=1)
            )
            if len(fit):
                chosen.append(int(fit[np.argmin(smooth.mean[fit, 0])]))
        scale = np.sqrt(deviation**2 + noise**2)
        surest = np.argsort((excess / np.where(scale > 0.0, scale, 1.0)).max(axis=1), kind="stable")
        taken = list(dict.fromkeys([*chosen[: most - 1], *surest[:2].tolist()]))
        return np.array(taken[: max(most, 2)], np.int64)
    if objectives > 1:
        return first_in_order(smooth.mean[:, :objectives], min(most, len(visited)))
    at_worst = smooth.mean[:, 0] + PESSIMISM * smooth.deviation[:, 0]
    return _spread(visited, np.argsort(at_worst, kind="stable"), most)


def _spread(visited: Visited, order: Ints, most: int) -> Ints:
    """The first in an order, without those that are very near to one that is taken before."""
    where = {row: index for index in range(len(visited.regions)) for row in visited.rows(index)}
    points = {
        row: point
        for index in range(len(visited.regions))
        for row, point in zip(visited.rows(index), visited.of(index)[0], strict=True)
    }
    taken: list[int] = []
    for row in order.tolist():
        region = where[row]
        others = [points[other] for other in taken if where[other] == region]
        there = visited.regions[region]
        if not others or nearest(there, points[row][None, :], np.array(others))[0] >= NEAR:
            taken.append(row)
        if len(taken) == most:
            break
    return np.array(taken, np.int64)


def _of_the_finalists(found: Selection, numbers: Ints, words: str, remark: str) -> Selection:
    """The selection with the numbers of the whole problem, and claims of the finalists."""
    kept = found.feasibility
    if kept is not None:
        metrics = kept.metrics._replace(designs=numbers[kept.metrics.designs])
        sure = None if kept.sure is None else int(numbers[kept.sure])
        kept = kept._replace(metrics=metrics, sure=sure)
    alignment = found.alignment
    if alignment.good:
        alignment = alignment._replace(good=f"{alignment.good} of {words}")
    return dataclasses.replace(
        found,
        selected=numbers[found.selected],
        estimates=found.estimates._replace(designs=numbers[found.estimates.designs]),
        front=found.front._replace(designs=numbers[found.front.designs]),
        chosen=numbers[found.chosen],
        feasibility=kept,
        alignment=alignment,
        rounds=None,
        remark=" ".join(f"{remark} {found.remark}".split()),
    )
