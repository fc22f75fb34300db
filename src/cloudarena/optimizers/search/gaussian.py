"""A Gaussian process through the means of replications (stochastic kriging).

The loss at a point is a smooth function and noise: ``y_i = m + f(x_i) + e_i``, where f has Matérn's
covariance (5/2) with a length for each axis, and the mean over n_i replications has the variance
``v / n_i`` (Ankenman, Nelson and Staum, "Stochastic kriging for simulation metamodeling",
Operations Research 58(2), 2010). An axis without an order counts as 0 where levels are equal and 1
where they are not. Lengths and variances are those that are most likely, with a weak prior that
keeps them in reach.

With common random numbers a replication moves all points that were measured in it: means over
replications of which some are the same have the covariance ``c s_ij``, where s_ij says how many
(``Measured.shared``). What all have in common goes into m.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints

ROOT = 5.0**0.5
LENGTH = -0.8
"""The most likely logarithm of a length before anything is seen, on axes from 0 to 1."""
NOISE = -3.0
"""Likewise of the variance of a replication, of losses with variance 1."""
COMMON = -1.0
"""The most likely logarithm of the variance of what a replication does to all points."""
BOUNDS = {"length": (-4.0, 3.0), "signal": (-3.0, 3.0), "noise": (-12.0, 3.0)}
SPREAD = {"length": 0.5, "signal": 1.0, "noise": 2.0}
"""Standard deviations of the logarithms before anything is seen."""


class Measured(NamedTuple):
    """Means of replications at some points."""

    points: Floats
    """What ``Region.scaled`` gives."""
    losses: Floats
    counts: Ints
    """The replications of each."""
    shared: Floats | None = None
    """The covariance of two means, where a replication moves all points by a variance of 1: of n
    replications, and of m others of which k are the same, ``k / (n m)``; None if none does."""


class Gaussian(NamedTuple):
    """A fitted process; losses are standardised by ``mean`` and ``scale``."""

    measured: Measured
    """What was measured, with standardised losses."""
    is_ordered: Flags
    parameters: Floats
    """Logarithms: a length for each axis, the variances of f, of a replication at a point and, if
    there are shared ones, of a replication at all points."""
    mean: float
    scale: float
    lower: Floats
    """The Cholesky factor of the covariance of what was measured."""
    weights: Floats

    @property
    def noise(self) -> float:
        """The standard deviation of a replication."""
        return self.scale * float(np.exp(0.5 * self.parameters[self.axes + 1]))

    @property
    def axes(self) -> int:
        """How many axes there are."""
        return len(self.is_ordered)

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of the loss at some points, without noise."""
        from scipy.linalg import solve_triangular

        cross = _between(points, self.measured.points, self.is_ordered, self.parameters)
        mean = self.mean + self.scale * (cross @ self.weights)
        part = solve_triangular(self.lower, cross.T, lower=True, check_finite=False)
        variance = np.exp(self.parameters[self.axes]) - (part * part).sum(axis=0)
        return mean, self.scale * np.sqrt(np.maximum(variance, 1e-12))


def fit(
    measured: Measured, is_ordered: Flags, start: Floats | None = None, steps: int = 25
) -> Gaussian:
    """The most likely process.

    Args:
        measured: points and what was measured there.
        is_ordered: which axes have an order.
        start: parameters to begin with, such as those of the last fit.
        steps: iterations of the likelihood's maximisation; with 0 the parameters are ``start``.
    """
    from scipy.optimize import minimize

    mean = float(measured.losses.mean())
    scale = float(measured.losses.std()) or 1.0
    measured = measured._replace(losses=(measured.losses - mean) / scale)
    squared = _squared(measured.points, measured.points, is_ordered)
    axes = len(is_ordered)
    if start is None:
        start = _usual(axes, measured.shared is not None)[0]
    if steps:
        noises = len(start) - axes - 1
        bounds = [BOUNDS["length"]] * axes + [BOUNDS["signal"]] + [BOUNDS["noise"]] * noises
        found = minimize(
            _unlikely,
            start,
            args=(squared, measured),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": steps},
        )
        start = np.asarray(found.x, np.float64)
    lower, weights = _solved(_covariance(squared, start), start, measured)
    return Gaussian(measured, is_ordered, start, mean, scale, lower, weights)


def extended(process: Gaussian, points: Floats, losses: Floats) -> Gaussian:
    """The process as if the losses at further points were known; its parameters stay."""
    known = process.measured
    every = np.concatenate((known.points, points))
    values = np.append(known.losses, (losses - process.mean) / process.scale)
    counts = np.append(known.counts, np.full(len(points), int(known.counts.max())))
    shared = known.shared
    if shared is not None:
        shared = np.pad(shared, (0, len(points)))
    measured = Measured(every, values, counts, shared)
    covariance = _between(every, every, process.is_ordered, process.parameters)
    lower, weights = _solved(covariance, process.parameters, measured)
    return process._replace(measured=measured, lower=lower, weights=weights)


def doubted(process: Gaussian, less: float) -> Gaussian:
    """The process with shorter lengths, which knows less of what lies between points."""
    parameters, axes = process.parameters.copy(), process.axes
    parameters[:axes] = np.maximum(parameters[:axes] - less, BOUNDS["length"][0])
    points = process.measured.points
    covariance = _between(points, points, process.is_ordered, parameters)
    lower, weights = _solved(covariance, parameters, process.measured)
    return process._replace(parameters=parameters, lower=lower, weights=weights)


def _squared(first: Floats, second: Floats, is_ordered: Flags) -> Floats:
    """Squared differences by axis, an array of (axes, first, second)."""
    gap = first.T[:, :, None] - second.T[:, None, :]
    return np.where(is_ordered[:, None, None], gap * gap, (gap != 0.0).astype(np.float64))


def _between(first: Floats, second: Floats, is_ordered: Flags, parameters: Floats) -> Floats:
    """The covariance of f at points and at others; distances by one product of matrices."""
    lengths = np.exp(parameters[: len(is_ordered)][is_ordered])
    near, far = (part[:, is_ordered] / lengths for part in (first, second))
    squared = (near * near).sum(axis=1)[:, None] + (far * far).sum(axis=1) - 2.0 * near @ far.T
    for axis in np.flatnonzero(~is_ordered).tolist():
        squared += (first[:, axis, None] != second[:, axis]) * np.exp(-2.0 * parameters[axis])
    return _matern(np.maximum(squared, 0.0), float(parameters[len(is_ordered)]))


def _covariance(squared: Floats, parameters: Floats) -> Floats:
    axes = len(squared)
    near = np.tensordot(np.exp(-2.0 * parameters[:axes]), squared, axes=1)
    return _matern(near, float(parameters[axes]))


def _matern(squared: Floats, signal: float) -> Floats:
    """Matérn's covariance (5/2) by squared distances, with the logarithm of a variance."""
    part = ROOT * np.sqrt(squared)
    return np.asarray(np.exp(signal) * (1.0 + part + part * part / 3.0) * np.exp(-part), np.float64)


def _solved(covariance: Floats, parameters: Floats, measured: Measured) -> tuple[Floats, Floats]:
    from scipy.linalg import cho_solve, cholesky

    if measured.shared is not None:
        covariance = covariance + np.exp(parameters[-1]) * measured.shared
        noise = parameters[-2]
    else:
        noise = parameters[-1]
    own = np.exp(noise) / measured.counts + 1e-8
    lower = cholesky(covariance + np.diag(own), lower=True, check_finite=False)
    return lower, cho_solve((lower, True), measured.losses, check_finite=False)


def _usual(axes: int, is_shared: bool) -> tuple[Floats, Floats]:
    """The most likely parameters before anything is seen, and how far they spread."""
    usual = [*[LENGTH] * axes, 0.0, NOISE, COMMON]
    spread = [*[SPREAD["length"]] * axes, SPREAD["signal"], SPREAD["noise"], SPREAD["noise"]]
    end = axes + 2 + is_shared
    return np.array(usual[:end]), np.array(spread[:end])


def _unlikely(parameters: Floats, squared: Floats, measured: Measured) -> tuple[float, Floats]:
    """The negative logarithm of the likelihood times the prior, and its gradient."""
    from scipy.linalg import cho_solve

    axes, shared = len(squared), measured.shared
    covariance = _covariance(squared, parameters)
    lower, weights = _solved(covariance, parameters, measured)
    inverse = cho_solve((lower, True), np.eye(len(weights)), check_finite=False)
    inner = np.outer(weights, weights) - inverse
    lengths = np.exp(-2.0 * parameters[:axes])
    part = ROOT * np.sqrt(np.tensordot(lengths, squared, axes=1))
    slope = np.exp(parameters[axes]) * (5.0 / 3.0) * (1.0 + part) * np.exp(-part)
    gradient = np.empty_like(parameters)
    weighted = inner * slope
    gradient[:axes] = -0.5 * lengths * np.tensordot(squared, weighted, axes=2)
    gradient[axes] = -0.5 * (inner * covariance).sum()
    own = np.exp(parameters[axes + 1]) / measured.counts
    gradient[axes + 1] = -0.5 * (np.diag(inner) * own).sum()
    if shared is not None:
        gradient[axes + 2] = -0.5 * np.exp(parameters[axes + 2]) * (inner * shared).sum()
    value = 0.5 * measured.losses @ weights + np.log(np.diag(lower)).sum()
    usual, spread = _usual(axes, shared is not None)
    away = (parameters - usual) / spread
    return float(value + 0.5 * (away * away).sum()), gradient + away / spread
