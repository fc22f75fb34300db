"""Methods compared over macro-replications: whole optimisations, each on work of its own.

One optimisation tells little of a method: it may have been lucky. So each method is played again
and again; in macro-replication m all methods see the same work, which no other macro-replication
sees. The curves and areas are those of SimOpt (Eckman, Henderson and Shashaani, "Diagnostic tools
for evaluating and comparing simulation-optimization algorithms", INFORMS Journal on Computing,
2023): the gap of a design is 0 for the best that anybody recommended and 1 for one that is drawn
blindly, by means over replications that no method has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import Estimate, interval
from cloudarena.engine.streams import stream
from cloudarena.experiments.conclusion import plain_estimate
from cloudarena.optimizers import Problem, Progress, Selection
from cloudarena.optimizers.budget.meter import Watcher
from cloudarena.optimizers.problem import Fresh

STRIDE = 100_000
"""Replications that belong to a macro-replication, at most."""
JUDGED_FROM = 50_000_000
"""The first of the replications by which recommended designs are judged."""
BLIND = 10
"""Designs that are drawn blindly, whose mean is the gap 1."""
POINTS = 20
"""Numbers of evaluations, equally far from each other, at which curves are given."""
SOLVED = 0.1
"""The gap at which a macro-replication counts as solved."""

Play = Callable[[Problem, int, Watcher], Selection]
"""What plays a method: on a problem, with a seed, for somebody who watches."""


class Progression(NamedTuple):
    """What one method recommended in all macro-replications."""

    method: str
    gaps: Floats  # (macro-replications, points)
    values: Floats  # (macro-replications, columns)
    """The true means of what was chosen at the end: objectives, then the metrics of limits."""

    @property
    def areas(self) -> Floats:
        """The area under the progress curve of each macro-replication: the mean gap."""
        return np.asarray(self.gaps.mean(axis=1))

    def solvability(self, gap: float = SOLVED) -> Floats:
        """The share of macro-replications that were solved by each number of evaluations."""
        return np.asarray((np.minimum.accumulate(self.gaps, axis=1) <= gap).mean(axis=0))


class MacroComparison(NamedTuple):
    """Methods over macro-replications."""

    budgets: tuple[int, ...]
    """The numbers of evaluations at which curves are given."""
    post_replications: int
    """Replications that a recommended design is judged by, which no method has seen."""
    methods: tuple[Progression, ...]

    def curve(self, index: int) -> list[Estimate]:
        """The progress curve of a method: the mean gap at each number of evaluations."""
        return [interval(column) for column in self.methods[index].gaps.T]

    def lead(self, index: int) -> Estimate:
        """What the area of a method is larger by than that of the first, pair by pair."""
        return interval(self.methods[index].areas - self.methods[0].areas)

    def sentence(self) -> str:
        """Who is ahead by the area under the progress curve, and whether that is sure."""
        first, others = self.methods[0].method, range(1, len(self.methods))
        words = []
        for index in others:
            lead = self.lead(index)
            name = self.methods[index].method
            if not lead.low <= 0.0 <= lead.high and np.isfinite(lead.low):
                better, worse = (first, name) if lead.mean > 0.0 else (name, first)
                words.append(f"{better} is ahead of {worse}")
            else:
                words.append(f"{first} and {name} cannot be told apart")
        runs = len(self.methods[0].gaps)
        each = f"{self.budgets[-1]:,} evaluations"
        return f"Over {runs} macro-replications of {each}, by the area: {'; '.join(words)}."

    def plain(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain values for JSON.

        Args:
            names: of the columns of the true means.
        """
        return {
            "macro_replications": len(self.methods[0].gaps),
            "post_replications": self.post_replications,
            "solved_gap": SOLVED,
            "budgets": list(self.budgets),
            "methods": [
                {
                    "method": one.method,
                    "area": plain_estimate(interval(one.areas)),
                    "area_beyond_the_first": plain_estimate(self.lead(index)),
                    "final_gap": plain_estimate(interval(one.gaps[:, -1])),
                    "solved_share": float(one.solvability()[-1]),
                    "progress": [plain_estimate(each) for each in self.curve(index)],
                    "solvability": one.solvability().tolist(),
                    "final": {
                        name: plain_estimate(interval(one.values[:, k]))
                        for k, name in enumerate(names)
                    },
                }
                for index, one in enumerate(self.methods)
            ],
            "conclusion": self.sentence(),
        }


def compare_methods(
    problem: Problem,
    plays: Mapping[str, Play],
    evaluations: int,
    macro_replications: int,
    post_replications: int,
    seed: int,
) -> tuple[MacroComparison | None, dict[str, str]]:
    """Plays methods again and again, and judges what they recommend on the way.

    Args:
        problem: what is optimised.
        plays: the methods by name, the first of which the others are compared with.
        evaluations: of each, in each macro-replication.
        macro_replications: how often each is played.
        post_replications: replications for the true mean of a design that was recommended.
        seed: of the first macro-replication.

    Returns:
        the comparison, or None if no method could be played; and why methods could not.
    """
    if evaluations > STRIDE:
        raise SpecError(
            f"evaluations: {evaluations:,} is not allowed with macro-replications: at most "
            f"{STRIDE:,}"
        )
    paths: dict[str, list[list[tuple[int, int]]]] = {}
    failures: dict[str, str] = {}
    for name, play in plays.items():
        try:
            paths[name] = [
                _path(play, Fresh(problem, (macro + 1) * STRIDE), seed + macro, evaluations)
                for macro in range(macro_replications)
            ]
        except SpecError as error:
            failures[name] = str(error)
    if not paths:
        return None, failures
    points = min(POINTS, evaluations)
    budgets = tuple(evaluations * (k + 1) // points for k in range(points))
    judge = _Judge(problem, paths, post_replications, seed)
    methods = tuple(
        Progression(
            name,
            np.array([judge.gaps(path, budgets) for path in some]),
            np.array([judge.means[path[-1][1]] for path in some]),
        )
        for name, some in paths.items()
    )
    return MacroComparison(budgets, post_replications, methods), failures


def _path(play: Play, problem: Problem, seed: int, evaluations: int) -> list[tuple[int, int]]:
    """The evaluations at which each design was first recommended; the last is the choice."""
    path: list[tuple[int, int]] = []

    def watch(progress: Progress) -> None:
        if progress.best is not None and (not path or path[-1][1] != progress.best):
            path.append((progress.evaluations, progress.best))

    chosen = play(problem, seed, watch).best
    return [*((spent, best) for spent, best in path if spent < evaluations), (evaluations, chosen)]


class _Judge:
    """The true means and gaps of all designs that somebody recommended."""

    def __init__(
        self,
        problem: Problem,
        paths: Mapping[str, list[list[tuple[int, int]]]],
        post_replications: int,
        seed: int,
    ) -> None:
        rng = stream(seed, "blind designs")
        blind = _blind(problem, rng)
        named = {best for some in paths.values() for path in some for _, best in path}
        designs = np.array(sorted({*named, *blind.tolist()}), np.int64)
        moments = Fresh(problem, JUDGED_FROM).estimate(designs, range(post_replications))
        self.means = dict(zip(designs.tolist(), moments.mean, strict=True))
        losses = problem.losses(moments.mean)
        objectives = len(problem.objectives)
        kept = (losses[:, objectives:] <= 0.0).all(axis=1)
        at = {design: row for row, design in enumerate(designs.tolist())}
        some = losses[:, :objectives]
        fit = some[kept] if kept.any() else some
        best = fit.min(axis=0)
        worst = some[[at[design] for design in blind.tolist()]].mean(axis=0)
        width = np.where(worst > best, worst - best, 1.0)
        score = ((some - best) / width).mean(axis=1)
        least = float(score[kept].min()) if kept.any() else 0.0
        gap = (score - least) / (1.0 - least if least < 1.0 else 1.0)
        gap[~kept] = np.maximum(gap[~kept], 1.0)  # who breaks a limit has solved nothing
        self._gap = dict(zip(designs.tolist(), gap.tolist(), strict=True))

    def gaps(self, path: list[tuple[int, int]], budgets: Sequence[int]) -> list[float]:
        """The gap of what was recommended at each number of evaluations; 1 before the first."""
        found = []
        for budget in budgets:
            there = [best for spent, best in path if spent <= budget]
            found.append(self._gap[there[-1]] if there else 1.0)
        return found


def _blind(problem: Problem, rng: np.random.Generator) -> Ints:
    """Designs that are drawn from all over the space, and keep its rules."""
    regions = problem.regions
    drawn = [
        int(regions[k].numbers(regions[k].draw(1, rng))[0])
        for k in rng.integers(len(regions), size=BLIND).tolist()
    ]
    return np.unique(np.array(drawn, np.int64))
