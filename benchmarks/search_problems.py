"""Problems that searches are developed on: ``python -m benchmarks.search_problems [--claims]``.

None of them is one of ``benchmarks.optimizers``. A family is a kind of truth
(``search_truths.py``). A seed draws one of a family, so that no truth is met twice; the size of the
noise and its shape go by the seed too. Seeds begin at 5,000, where no other benchmark has any.

What is told is the regret, (the mean of what was chosen less the least) over (the median of the
designs less the least): 0 is the best design, 1 one that was drawn blindly; beside other methods,
the mean difference to the first with half of its 95 % interval. ``--claims`` tells instead how
often what ``gp`` claims of its finalists comes true. Other seeds are ``--first-seed``.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from benchmarks.mapping import markdown
from benchmarks.optimizers import BUDGETS, METHODS, searched
from benchmarks.search_truths import FAMILIES
from cloudarena.base.statistics import student_quantile
from cloudarena.engine.streams import stream
from cloudarena.optimizers import gp
from cloudarena.optimizers.problem import Problem, read_objectives
from cloudarena.optimizers.spaces.grid import Grid
from cloudarena.optimizers.spaces.regions import Region

FIRST_SEED = 5_000
SIZES = (0.05, 0.3, 1.0)
"""Standard deviations of a replication, of the median less the least."""
SAMPLE = 4_000
"""Designs that are drawn for the median and to begin the search for the least with."""


class Made(Problem):
    """A problem of a family, with noise.

    Args:
        family: its name.
        seed: draws the truth, and says how large noise is and of which shape.
    """

    def __init__(self, family: str, seed: int) -> None:
        rng = stream(seed, f"search problem {family}")
        self.drawn = FAMILIES[family](rng)
        self.grids = [
            Grid({f"x{k}": range(levels) for k, levels in enumerate(axes)})
            for axes in self.drawn.levels
        ]
        self.offsets = np.cumsum([0, *map(len, self.grids)])
        self.size = int(self.offsets[-1])
        self.objectives = read_objectives("loss")
        self.seed = seed
        sample = np.concatenate([self._all(index) for index in range(len(self.grids))])
        self.middle = float(np.median(sample))
        self.least = self._least(rng)
        self.noise = SIZES[seed % 3] * (self.middle - self.least)
        self.is_skewed = bool(rng.random() < 0.4)
        self.is_uneven = bool(rng.random() < 0.4)
        self.common_random_numbers = bool(rng.random() < 0.6)
        share = rng.dirichlet([1.0, 1.0, 1.0])
        self.share = share if self.common_random_numbers else np.array([0.0, 0.0, 1.0])

    def _points(self, index: int, rng: np.random.Generator) -> np.ndarray:
        levels = np.array(self.drawn.levels[index])
        return rng.integers(0, levels, (SAMPLE, len(levels))) / np.maximum(levels - 1, 1)

    def _all(self, index: int) -> np.ndarray:
        return self.drawn.truth(index, self._points(index, stream(self.seed, f"sample {index}")))

    def _least(self, rng: np.random.Generator) -> float:
        """The least mean that a long local search finds."""
        least = np.inf
        for index, axes in enumerate(self.drawn.levels):
            levels = np.array(axes)
            span = np.maximum(levels - 1, 1)
            points = self._points(index, rng)
            for reach in np.geomspace(0.3, 0.002, 25):
                values = self.drawn.truth(index, points)
                best = points[np.argsort(values)[:20]]
                moved = np.repeat(best, 40, axis=0)
                moved = moved + rng.normal(0.0, reach, moved.shape) * (
                    rng.random(moved.shape) < 0.6
                )
                moved = np.round(np.clip(moved, 0.0, 1.0) * span) / span
                points = np.concatenate((best, moved))
            least = min(least, float(self.drawn.truth(index, points).min()))
        return least

    @property
    def regions(self) -> tuple[Region, ...]:
        """One for each policy."""
        found = []
        for grid, offset in zip(self.grids, self.offsets, strict=False):
            found.append(_after(grid.region(), int(offset)))
        return tuple(found)

    def where(self, design: int) -> tuple[int, np.ndarray]:
        """The region of a design and its point, from 0 to 1."""
        index = int(np.searchsorted(self.offsets, design, side="right")) - 1
        levels = np.array(self.drawn.levels[index])
        point = np.array(np.unravel_index(int(design - self.offsets[index]), levels))
        return index, point / np.maximum(levels - 1, 1)

    def mean(self, design: int) -> float:
        """The truth."""
        index, point = self.where(design)
        return float(self.drawn.truth(index, point[None, :])[0])

    def regret(self, design: int) -> float:
        """How much worse a design is than the best, in parts of what a blind one is."""
        return (self.mean(design) - self.least) / (self.middle - self.least)

    def simulate(self, designs: np.ndarray, replications: np.ndarray) -> np.ndarray:
        """Truth and noise: what all have in common, what changes with the design, and its own."""
        values = np.empty((len(designs), len(replications), 1))
        for row, design in enumerate(designs.tolist()):
            index, point = self.where(design)
            mean = self.mean(design)
            uneven = 1.0
            if self.is_uneven:
                high = (mean - self.least) / (self.middle - self.least)
                uneven = 0.5 + 0.5 * min(high, 3.0)
            for column, replication in enumerate(replications.tolist()):
                common = np.random.default_rng([self.seed, 1, replication])
                own = np.random.default_rng([self.seed, 2, replication, design % 2**32, index])
                wave = common.normal(0.0, 2.0, len(point)) @ point + common.uniform(0.0, 6.3)
                parts = np.array(
                    [self._one(common), 2.0**0.5 * np.cos(wave), self._one(own)], float
                )
                luck = float(np.sqrt(self.share) @ parts)
                values[row, column, 0] = mean + self.noise * uneven * luck
        return values

    def _one(self, rng: np.random.Generator) -> float:
        """Noise of variance 1."""
        return float(rng.exponential() - 1.0 if self.is_skewed else rng.standard_normal())


def _after(region: Region, offset: int) -> Region:
    """A region whose designs have numbers from an offset on."""
    return region._replace(numbers=lambda points: region.numbers(points) + offset)


class Watched(Made):
    """A problem that knows how often each design was simulated."""

    def __init__(self, family: str, seed: int) -> None:
        super().__init__(family, seed)
        self.simulated: Counter[int] = Counter()

    def simulate(self, designs: np.ndarray, replications: np.ndarray) -> np.ndarray:
        """Counts, and simulates."""
        for design in designs.tolist():
            self.simulated[design] += len(replications)
        return super().simulate(designs, replications)


def regrets(methods: list[str], seeds: range) -> dict[str, np.ndarray]:
    """The regret of each method, arrays of (families and seeds, budgets)."""
    found: dict[str, list[list[float]]] = {method: [] for method in methods}
    for seed in seeds:
        for family in FAMILIES:
            for method in methods:
                problem = Made(family, seed)
                chosen = searched(problem, method, seed)
                found[method].append([problem.regret(design) for design in chosen])
    return {method: np.array(rows) for method, rows in found.items()}


def regret_rows(methods: list[str], seeds: range) -> list[list[str]]:
    """A row for each size of the noise and each budget."""
    found = regrets(methods, seeds)
    size = np.repeat([SIZES[seed % len(SIZES)] for seed in seeds], len(FAMILIES))
    rows = []
    for label, some in [*((f"{one:g}", size == one) for one in SIZES), ("all", size > 0.0)]:
        runs = int(some.sum())
        if runs < 2:
            continue
        reach = float(student_quantile(np.array(runs - 1.0), np.array(0.025))) / runs**0.5
        for k, budget in enumerate(BUDGETS):
            row = [label, f"{runs}", f"{budget}"]
            mine = found[methods[0]][some, k]
            for method in methods:
                theirs = found[method][some, k]
                cell = f"{theirs.mean():.3f}"
                if method != methods[0]:
                    gap = mine - theirs
                    cell += f" ({gap.mean():+.3f} ± {reach * gap.std(ddof=1):.3f})"
                row.append(cell)
            rows.append(row)
    return rows


def claim_rows(seeds: range) -> list[list[str]]:
    """What ``gp`` claims of its finalists, and how often it comes true, by evaluations."""
    rows = []
    for budget in BUDGETS:
        claims: dict[str, list[tuple[float, bool]]] = {"best": [], "shortfall": [], "interval": []}
        for seed in seeds:
            for family in FAMILIES:
                problem = Watched(family, seed)
                found = gp(problem, evaluations=budget, replications=1, seed=seed)
                finalists = [one for one, times in problem.simulated.items() if times > 1]
                mean = problem.mean(found.best)
                best = min(problem.mean(one) for one in finalists)
                claim = float(np.nan_to_num(found.alignment.probability))
                claims["best"].append((claim, mean <= best))
                if found.shortfall is not None:
                    claims["shortfall"].append((0.95, mean <= best + found.shortfall))
                row = found.row(found.best)
                low, high = found.estimates.low[row, 0], found.estimates.high[row, 0]
                claims["interval"].append((0.95, bool(low <= mean <= high)))
        for name, pairs in claims.items():
            claimed, true = np.array(pairs, float).mean(axis=0)
            error = max(claimed * (1.0 - claimed) / len(pairs), 0.25 / len(pairs) ** 2) ** 0.5
            below = f"{(claimed - true) / error:+.1f}"
            rows.append(
                [f"{budget}", name, f"{len(pairs)}", f"{claimed:.3f}", f"{true:.3f}", below]
            )
    return rows


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6, help="of each of the families")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--claims", action="store_true", help="what gp claims, instead")
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    if arguments.claims:
        header = ["evaluations", "claim", "runs", "claimed", "came true", "standard errors below"]
        print(markdown(header, claim_rows(seeds)), end="")
        return
    methods = arguments.methods.split(",")
    first, *others = methods
    header = [
        "noise",
        "runs",
        "evaluations",
        first,
        *(f"{one} ({first} less it)" for one in others),
    ]
    print(markdown(header, regret_rows(methods, seeds)), end="")


if __name__ == "__main__":
    main()
