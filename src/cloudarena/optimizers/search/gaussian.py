"""A Gaussian process through the means of replications (stochastic kriging).

The loss at a point is a smooth function and noise: ``y_i = m + f(x_i) + e_i``, where f has Matérn's
covariance (5/2) with a length for each axis, and the mean over n_i replications has the variance
``v / n_i`` (Ankenman, Nelson and Staum, "Stochastic kriging for simulation metamodeling",
Operations Research 58(2), 2010). An axis without an order counts as 0 where levels are equal and 1
where they are not. Lengths and variances are those that are most likely, with a weak prior that
keeps them in reach; with common random numbers the noise that all points share goes into m.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints

ROOT = 5.0**0.5
LENGTH = -0.5
"""The most likely logarithm of a length before anything is seen, on axes from 0 to 1."""
NOISE = -3.0
"""Likewise of the variance of a replication, of losses with variance 1."""
BOUNDS = {"length": (-4.0, 3.0), "signal": (-3.0, 3.0), "noise": (-12.0, 3.0)}


class Gaussian(NamedTuple):
    """A fitted process; losses are standardised by ``mean`` and ``scale``."""

    points: Floats
    is_ordered: Flags
    parameters: Floats
    """Logarithms: a length for each axis, the variance of f, that of a replication."""
    mean: float
    scale: float
    values: Floats
    """The standardised losses."""
    counts: Ints
    lower: Floats
    """The Cholesky factor of the covariance of what was measured."""
    weights: Floats

    @property
    def noise(self) -> float:
        """The standard deviation of a replication."""
        return self.scale * float(np.exp(0.5 * self.parameters[-1]))

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of the loss at some points, without noise."""
        from scipy.linalg import solve_triangular

        cross = _between(points, self.points, self.is_ordered, self.parameters)
        mean = self.mean + self.scale * (cross @ self.weights)
        part = solve_triangular(self.lower, cross.T, lower=True, check_finite=False)
        variance = np.exp(self.parameters[-2]) - (part * part).sum(axis=0)
        return mean, self.scale * np.sqrt(np.maximum(variance, 1e-12))


def fit(
    points: Floats,
    is_ordered: Flags,
    losses: Floats,
    counts: Ints,
    start: Floats | None = None,
    steps: int = 25,
) -> Gaussian:
    """The most likely process.

    Args:
        points: as ``Region.scaled`` gives them.
        is_ordered: which axes have an order.
        losses: the mean of each point.
        counts: the replications of each.
        start: parameters to begin with, such as those of the last fit.
        steps: iterations of the likelihood's maximisation; with 0 the parameters are ``start``.
    """
    from scipy.optimize import minimize

    mean = float(losses.mean())
    scale = float(losses.std()) or 1.0
    values = (losses - mean) / scale
    squared = _squared(points, points, is_ordered)
    axes = points.shape[1]
    if start is None:
        start = np.append(np.full(axes, LENGTH), [0.0, NOISE])
    if steps:
        bounds = [BOUNDS["length"]] * axes + [BOUNDS["signal"], BOUNDS["noise"]]
        found = minimize(
            _unlikely,
            start,
            args=(squared, values, counts),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": steps},
        )
        start = np.asarray(found.x, np.float64)
    lower, weights = _solved(_covariance(squared, start), start, values, counts)
    return Gaussian(points, is_ordered, start, mean, scale, values, counts, lower, weights)


def extended(process: Gaussian, points: Floats, losses: Floats) -> Gaussian:
    """The process as if the losses at further points were known; its parameters stay."""
    every = np.concatenate((process.points, points))
    values = np.append(process.values, (losses - process.mean) / process.scale)
    counts = np.append(process.counts, np.full(len(points), int(process.counts.max())))
    covariance = _between(every, every, process.is_ordered, process.parameters)
    lower, weights = _solved(covariance, process.parameters, values, counts)
    return process._replace(
        points=every, values=values, counts=counts, lower=lower, weights=weights
    )


def doubted(process: Gaussian, less: float) -> Gaussian:
    """The process with shorter lengths, which knows less of what lies between points."""
    parameters = process.parameters.copy()
    parameters[:-2] = np.maximum(parameters[:-2] - less, BOUNDS["length"][0])
    covariance = _between(process.points, process.points, process.is_ordered, parameters)
    lower, weights = _solved(covariance, parameters, process.values, process.counts)
    return process._replace(parameters=parameters, lower=lower, weights=weights)


def _squared(first: Floats, second: Floats, is_ordered: Flags) -> Floats:
    """Squared differences by axis, an array of (axes, first, second)."""
    gap = first.T[:, :, None] - second.T[:, None, :]
    return np.where(is_ordered[:, None, None], gap * gap, (gap != 0.0).astype(np.float64))


def _between(first: Floats, second: Floats, is_ordered: Flags, parameters: Floats) -> Floats:
    """The covariance of f at points and at others; distances by one product of matrices."""
    near, far = (
        part[:, is_ordered] / np.exp(parameters[:-2][is_ordered]) for part in (first, second)
    )
    squared = (near * near).sum(axis=1)[:, None] + (far * far).sum(axis=1) - 2.0 * near @ far.T
    for axis in np.flatnonzero(~is_ordered).tolist():
        squared += (first[:, axis, None] != second[:, axis]) * np.exp(-2.0 * parameters[axis])
    return _matern(np.maximum(squared, 0.0), parameters)


def _covariance(squared: Floats, parameters: Floats) -> Floats:
    return _matern(np.tensordot(np.exp(-2.0 * parameters[:-2]), squared, axes=1), parameters)


def _matern(squared: Floats, parameters: Floats) -> Floats:
    """Matérn's covariance (5/2) by squared distances."""
    part = ROOT * np.sqrt(squared)
    return np.asarray(
        np.exp(parameters[-2]) * (1.0 + part + part * part / 3.0) * np.exp(-part), np.float64
    )


def _solved(
    covariance: Floats, parameters: Floats, values: Floats, counts: Ints
) -> tuple[Floats, Floats]:
    from scipy.linalg import cho_solve, cholesky

    noise = np.exp(parameters[-1]) / counts + 1e-8
    lower = cholesky(covariance + np.diag(noise), lower=True, check_finite=False)
    return lower, cho_solve((lower, True), values, check_finite=False)


def _unlikely(
    parameters: Floats, squared: Floats, values: Floats, counts: Ints
) -> tuple[float, Floats]:
    """The negative logarithm of the likelihood times the prior, and its gradient."""
    from scipy.linalg import cho_solve

    covariance = _covariance(squared, parameters)
    lower, weights = _solved(covariance, parameters, values, counts)
    inverse = cho_solve((lower, True), np.eye(len(values)), check_finite=False)
    inner = np.outer(weights, weights) - inverse
    lengths = np.exp(-2.0 * parameters[:-2])
    part = ROOT * np.sqrt(np.tensordot(lengths, squared, axes=1))
    slope = np.exp(parameters[-2]) * (5.0 / 3.0) * (1.0 + part) * np.exp(-part)
    gradient = np.empty_like(parameters)
    weighted = inner * slope
    gradient[:-2] = -0.5 * lengths * np.tensordot(squared, weighted, axes=2)
    gradient[-2] = -0.5 * (inner * covariance).sum()
    gradient[-1] = -0.5 * (np.diag(inner) * np.exp(parameters[-1]) / counts).sum()
    value = 0.5 * values @ weights + np.log(np.diag(lower)).sum()
    usual = np.append(np.full(len(parameters) - 2, LENGTH), [0.0, NOISE])
    spread = np.append(np.full(len(parameters) - 2, 1.0), [1.0, 2.0])
    away = (parameters - usual) / spread
    return float(value + 0.5 * (away * away).sum()), gradient + away / spread
