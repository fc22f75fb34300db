"""Where to look next: the points at which a model expects most improvement.

Expected improvement (Jones, Schonlau and Welch, 1998) over the least predicted loss of what was
visited, since measured means err. With limits it is multiplied by the probability that they are
kept (Gardner et al., "Bayesian optimization with inequality constraints", 2014). With several
objectives each step takes a weighted sum at random (Knowles, "ParEGO", 2006), so that the whole
front is looked at. Regions have models of their own, and compete by what they expect.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.optimizers.search.gaussian import Gaussian, Measured, doubted, extended, fit
from cloudarena.optimizers.search.smooth import pressed
from cloudarena.optimizers.search.visited import Visited
from cloudarena.optimizers.spaces.regions import Region

DRAWN = 300
"""Points that are tried anywhere in a region, and as many near the best."""
NEAR = 5
"""Designs near which points are tried."""
REACH = (0.01, 0.03, 0.1, 0.3)
"""How far from these, of the length of an axis."""
ROUNDS = 2
"""How often the best points are tried again with their neighbours."""
TRADE = 0.05
"""The weight of the sum of the objectives beside the largest, so that no point is dominated."""


APART = (0.05, 0.01)
"""How far apart, of the length of an axis, visited points are at least: at first, and in the end.

What lies nearer tells no more than another replication would, and a model that is too sure of
itself would go on looking at one place."""
DOUBT = 0.7
"""What is taken from the logarithms of the lengths in every other step, for the same reason."""


class Model(NamedTuple):
    """The processes of a region: the loss to be minimised, and the excess of each limit."""

    loss: Gaussian
    excess: tuple[Gaussian, ...]


class Ease(NamedTuple):
    """How far from its limits a design should be for a check to say that it keeps them."""

    errors: float
    """How many standard errors of the check, and of the model."""
    replications: float
    """Replications of the check."""

    def margin(self, deviation: Floats, noise: Floats | float) -> Floats:
        """Returns the distance in the unit of the excess."""
        return np.asarray(
            self.errors * np.sqrt(deviation**2 + np.square(noise) / self.replications)
        )


class Proposal(NamedTuple):
    """A point, where it is, and what is expected of it."""

    region: int
    point: Ints
    worth: float


class Improver:
    """Proposes points; remembers the parameters of each region's models, to begin fits with."""

    def __init__(self, visited: Visited, objectives: int, rng: np.random.Generator) -> None:
        self.visited = visited
        self.objectives = objectives
        self.rng = rng
        self._start: dict[tuple[int, int], Floats] = {}
        self._step = 0
        self._apart = APART[0]
        self._ease: Ease | None = None

    def propose(
        self, count: int, done: float, explore: bool = True, ease: Ease | None = None
    ) -> list[Proposal]:
        """Points that are worth looking at, the best first, not near each other.

        Args:
            count: how many, at most.
            done: the share of the search that is done.
            explore: whether what is not known is worth something, or only what is predicted.
            ease: with limits, how far from them points must be that are not to explore.
        """
        self._ease = ease
        self._step += 1
        self._apart = APART[0] + done * (APART[1] - APART[0])
        weights = self._weights()
        models = {
            region: self._model(region, weights)
            for region in range(len(self.visited.regions))
            if len(self.visited.of(region)[0]) >= 2
        }
        least = self._least(models)
        proposals = [
            one
            for region, model in models.items()
            for one in self._proposals(region, model, least if explore else -np.inf, count)
        ]
        proposals.sort(key=lambda one: -one.worth)
        return proposals[:count]

    def _weights(self) -> Floats:
        if self.objectives == 1:
            return np.ones(1)
        drawn = self.rng.exponential(1.0, self.objectives)
        return np.asarray(drawn / drawn.sum())

    def _scalars(self, losses: Floats, weights: Floats) -> Floats:
        """One loss of several, each stretched from 0 to 1 over what was visited."""
        objectives = losses[:, : self.objectives]
        if self.objectives == 1:
            return np.asarray(objectives[:, 0])
        everything = self.visited.all_losses()[:, : self.objectives]
        low, high = everything.min(axis=0), everything.max(axis=0)
        weighed = weights * (objectives - low) / np.where(high > low, high - low, 1.0)
        return np.asarray(weighed.max(axis=1) + TRADE * weighed.sum(axis=1))

    def _model(self, region: int, weights: Floats) -> Model:
        there = self.visited.regions[region]
        points, losses = self.visited.of(region)
        counts = np.full(len(points), self.visited.replications)
        shared = self.visited.shared(region)
        targets = [pressed(self._scalars(losses, weights)), *losses[:, self.objectives :].T]
        fitted = []
        for column, target in enumerate(targets):
            measured = Measured(there.scaled(points), target, counts, shared)
            process = fit(measured, there.is_ordered, self._start.get((region, column)))
            self._start[region, column] = process.parameters
            if self._step % 2 == 0:
                process = doubted(process, DOUBT)
            fitted.append(process)
        return Model(fitted[0], tuple(fitted[1:]))

    def _least(self, models: dict[int, Model]) -> float | None:
        """The least predicted loss of what was visited and seems to keep the limits."""
        least = None
        for region, model in models.items():
            scaled = self.visited.regions[region].scaled(self.visited.of(region)[0])
            mean, _ = model.loss.predict(scaled)
            keeps = _feasible(model, scaled) >= 0.5
            if keeps.any():
                found = float(mean[keeps].min())
                least = found if least is None else min(least, found)
        return least

    def _proposals(
        self, region: int, model: Model, least: float | None, count: int
    ) -> list[Proposal]:
        """The best points of a region; ``least`` of minus infinity is not to explore."""
        there = self.visited.regions[region]
        points, _ = self.visited.of(region)
        mean, _ = model.loss.predict(there.scaled(points))
        order = np.lexsort((mean, _feasible(model, there.scaled(points)) < 0.5))
        tried = [there.draw(DRAWN, self.rng), self._neighbours(there, points[order[:NEAR]])]
        taken: list[Proposal] = []
        for _ in range(count):
            known = points if not taken else np.array([*points, *(one.point for one in taken)])
            candidates = self._away(there, self.visited.fresh(region, np.concatenate(tried)), known)
            for _ in range(ROUNDS):
                if not len(candidates):
                    return taken
                worth = _worth(model, there.scaled(candidates), least, self._ease)
                top = candidates[np.argsort(-worth)[:NEAR]]
                near = self.visited.fresh(region, self._neighbours(there, top))
                near = self._away(there, near, known)
                candidates = np.unique(np.concatenate((candidates, near)), axis=0)
            worth = _worth(model, there.scaled(candidates), least, self._ease)
            best = int(np.argmax(worth))
            taken.append(Proposal(region, candidates[best], float(worth[best])))
            model = _believing(model, there, candidates[best])
        return taken

    def _away(self, region: Region, candidates: Ints, known: Ints) -> Ints:
        """The candidates that are not too near to what is known."""
        if not len(candidates) or not len(known):
            return candidates
        return candidates[nearest(region, candidates, known) >= self._apart]

    def _neighbours(self, region: Region, centres: Ints) -> Ints:
        """Points near some, each moved along some of the axes."""
        if not len(centres):
            return centres
        each = -(-DRAWN // len(centres))
        points = np.repeat(centres, each, axis=0)
        shape = points.shape
        levels = region.levels
        reach = self.rng.choice(REACH, (shape[0], 1))
        moved = self.rng.random(shape) < max(0.3, 1.0 / max(region.free, 1))
        step = self.rng.normal(0.0, 1.0, shape) * reach * (levels - 1)
        step = np.where(np.abs(step) < 1.0, np.sign(step), np.round(step))
        along = np.clip(points + step, 0, levels - 1)
        other = self.rng.integers(0, levels, shape)
        fresh = np.where(region.is_ordered, along, other)
        return np.where(moved, fresh, points).astype(np.int64)


def nearest(region: Region, points: Ints, others: Ints) -> Floats:
    """How far each point is from the nearest of others: the most by which it differs on an axis."""
    gap = np.zeros((len(points), len(others)))
    first, second = region.scaled(points), region.scaled(others)
    for axis in range(len(region.axes)):
        np.maximum(gap, np.abs(first[:, axis, None] - second[:, axis]), out=gap)
    return np.asarray(gap.min(axis=1))


def _feasible(model: Model, scaled: Floats) -> Floats:
    """The probability that all limits are kept at some points, as the models have it."""
    from scipy.special import ndtr

    kept = np.ones(len(scaled))
    for process in model.excess:
        mean, deviation = process.predict(scaled)
        kept = kept * ndtr(-mean / deviation)
    return kept


def _worth(model: Model, scaled: Floats, least: float | None, ease: Ease | None = None) -> Floats:
    """The expected improvement, times the probability that limits are kept."""
    from scipy.special import ndtr

    kept = _feasible(model, scaled)
    if least is None:
        return kept
    mean, deviation = model.loss.predict(scaled)
    if least == -np.inf:
        keeps = kept >= 0.5
        if ease is not None:
            for process in model.excess:
                excess, error = process.predict(scaled)
                keeps &= excess <= -ease.margin(error, process.noise)
        return np.where(keeps, -mean, -np.finfo(np.float64).max * (1.0 - kept))
    score = (least - mean) / deviation
    density = np.exp(-0.5 * score * score) / (2.0 * np.pi) ** 0.5
    return np.asarray(np.maximum(deviation * (score * ndtr(score) + density), 0.0) * kept)


def _believing(model: Model, region: Region, point: Ints) -> Model:
    """The model as if the loss at a point were known to be what is predicted."""
    scaled = region.scaled(point[None, :])

    def with_point(process: Gaussian) -> Gaussian:
        mean, _ = process.predict(scaled)
        return extended(process, scaled, mean)

    return Model(with_point(model.loss), tuple(map(with_point, model.excess)))
