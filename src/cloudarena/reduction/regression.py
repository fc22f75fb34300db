"""Which metrics to measure: subsets that leave the least residual of a score.

All columns and the score are centred. ``explained`` is the share of the score's variance, R^2.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError

MOST_SUBSETS = 2_000_000
BATCH = 20_000
"""Subsets that are solved at a time."""
PARTS = 10
"""Of the strategies, for cross-validation."""
DEPENDENT = 1e-10
"""A column of which the others leave less than this share is taken as dependent on them."""


class Fit(NamedTuple):
    """A score as a linear function of some metrics, fitted by least squares."""

    metrics: Ints
    coefficients: Floats
    explained: float
    """R^2"""
    residual_variance: float
    """``e'e / (I - P - 1)``"""
    correlation: float
    """Of score and prediction, ``sqrt(adjusted R^2)``: ``1 - (1 - R^2) (I - 1) / (I - P - 1)``."""
    significance: float
    """The F test that the metrics tell nothing: its p value."""


def fit(metrics: Floats, score: Floats, chosen: Ints) -> Fit:
    """Least squares of a score on some columns; all are centred."""
    from scipy.special import fdtrc

    strategies = len(score)
    columns = metrics[:, chosen]
    basis = _orthonormal(columns)
    predicted = basis @ (basis.T @ score)
    residual = score - predicted
    total, left = float(score @ score), float(residual @ residual)
    explained = 1.0 - left / total if total > 0.0 else 0.0
    freedom = strategies - len(chosen) - 1
    adjusted = 1.0 - (1.0 - explained) * (strategies - 1) / freedom if freedom > 0 else 0.0
    significance = 1.0
    if freedom > 0 and total > 0.0:
        ratio = (explained / len(chosen)) / max((1.0 - explained) / freedom, 1e-300)
        significance = float(fdtrc(len(chosen), freedom, ratio))
    return Fit(
        chosen,
        np.asarray(np.linalg.lstsq(columns, score, rcond=None)[0], np.float64),
        explained,
        left / freedom if freedom > 0 else math.nan,
        math.sqrt(max(adjusted, 0.0)),
        significance,
    )


def cross_validated(metrics: Floats, score: Floats, most: int) -> Floats:
    """The correlation of score and prediction on strategies that had no part in the choice.

    For 1 to ``most`` metrics, at least 0. The strategies are dealt into ten parts; for each part
    the metrics are chosen anew (forward) and fitted on the nine others. A correlation within the
    sample is too high where a few of many metrics are chosen, adjusted or not.
    """
    strategies = len(score)
    predicted = np.zeros((most, strategies))
    for part in range(PARTS):
        unseen = np.arange(strategies) % PARTS == part
        if not unseen.any():
            continue
        centre, level = metrics[~unseen].mean(axis=0), score[~unseen].mean()
        known, target = metrics[~unseen] - centre, score[~unseen] - level
        order = forward(known, target, most)
        for count in range(1, most + 1):
            chosen = order[:count]
            weights = np.linalg.lstsq(known[:, chosen], target, rcond=None)[0]
            predicted[count - 1, unseen] = level + (metrics[unseen] - centre)[:, chosen] @ weights
    return np.array([max(_correlation(score, values), 0.0) for values in predicted])


def forward(metrics: Floats, score: Floats, count: int) -> Ints:
    """Again and again the metric that most lowers the residual: O(count I K)."""
    return _enter(metrics, score, np.empty(0, np.int64), count)[0]


def exchange(metrics: Floats, score: Floats, chosen: Ints) -> Ints:
    """Swaps one chosen metric for another as long as that lowers the residual."""
    current, best = chosen.copy(), unexplained(metrics, score, chosen)
    improved = len(current) > 0
    while improved:
        improved = False
        for place in range(len(current)):
            candidate, left = _enter(metrics, score, np.delete(current, place), 1)
            if len(candidate) == len(current) and left < best * (1.0 - 1e-9):
                current, best, improved = candidate, left, True
    return current


def exhaustive(metrics: Floats, score: Floats, count: int) -> Ints:
    """The very best subset, by trying all."""
    columns = metrics.shape[1]
    check_exhaustive(columns, count)
    gram, products = metrics.T @ metrics, metrics.T @ score
    combinations = itertools.combinations(range(columns), count)
    best, most = np.empty(0, np.int64), -math.inf
    while batch := list(itertools.islice(combinations, BATCH)):
        sets = np.array(batch, np.int64)
        gains = explained_squares(gram, products, sets)
        place = int(np.argmax(gains))
        if gains[place] > most:
            best, most = sets[place], float(gains[place])
    return best


def check_exhaustive(columns: int, count: int) -> None:
    """Raises if there are too many subsets to try all."""
    check_whole("keep", count, 1, columns)
    subsets = math.comb(columns, count)
    if subsets > MOST_SUBSETS:
        raise SpecError(
            f"keep: {count} of {columns} metrics are {subsets:.3g} subsets, too many to try all: "
            f"at most {MOST_SUBSETS:,}; use stepwise or ecga"
        )


def explained_squares(gram: Floats, products: Floats, subsets: Ints) -> Floats:
    """What each subset explains of the score's sum of squares, from the Gram matrix alone."""
    blocks = gram[subsets[:, :, None], subsets[:, None, :]]
    # So little on the diagonal changes nothing but that dependent columns can be solved for.
    ridge = 1e-10 * np.einsum("sii->s", blocks) / subsets.shape[1]
    places = np.arange(subsets.shape[1])
    blocks[:, places, places] += ridge[:, None] + 1e-300
    right = products[subsets]
    solved = np.linalg.solve(blocks, right[:, :, None])[:, :, 0]
    return np.asarray((right * solved).sum(axis=1))


def unexplained(metrics: Floats, score: Floats, chosen: Ints) -> float:
    """The sum of squares that some metrics leave of the score."""
    basis = _orthonormal(metrics[:, chosen])
    residual = score - basis @ (basis.T @ score)
    return float(residual @ residual)


def _enter(metrics: Floats, score: Floats, chosen: Ints, count: int) -> tuple[Ints, float]:
    """The chosen metrics and up to ``count`` more, one by one the best to add (Gram-Schmidt).

    Also the sum of squares that they leave of the score.
    """
    basis = _orthonormal(metrics[:, chosen])
    left = metrics - basis @ (basis.T @ metrics)
    residual = score - basis @ (basis.T @ score)
    size = (metrics * metrics).sum(axis=0)
    entered = list(chosen.tolist())
    for _ in range(count):
        squares = (left * left).sum(axis=0)
        usable = squares > DEPENDENT * np.maximum(size, 1e-300)
        usable[entered] = False
        if not usable.any():
            break
        gains = np.where(usable, (left.T @ residual) ** 2 / np.where(usable, squares, 1.0), -1.0)
        best = int(np.argmax(gains))
        direction = left[:, best] / math.sqrt(squares[best])
        left -= np.outer(direction, direction @ left)
        residual -= direction * (direction @ residual)
        entered.append(best)
    return np.array(entered, np.int64), float(residual @ residual)


def _orthonormal(columns: Floats) -> Floats:
    """An orthonormal basis of what the columns span."""
    if columns.shape[1] == 0:
        return np.zeros((len(columns), 0))
    basis, triangle = np.linalg.qr(columns)
    sizes = np.abs(np.diag(triangle))
    if sizes.min() > DEPENDENT * sizes.max():
        return basis
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)  # some columns are dependent
    return left[:, sizes > DEPENDENT * max(sizes[0], 1e-300)]


def _correlation(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 0.0 else 0.0
