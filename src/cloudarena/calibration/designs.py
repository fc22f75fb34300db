"""Power models as least squares without negative coefficients, and what data says of each.

Every model is a sum of features with coefficients that are not negative, so that power never falls
as load rises:

- linear: ``idle + cpu u + sum of w_r x_r``;
- curve: ``idle + (busy - idle)(2u - u^r) + sum of w_r x_r``, r from 1 to 2 found by search;
- points: ``idle + sum of d_k ramp_k(u) + sum of w_r x_r``: lines between points that never fall.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats

Model = Literal["linear", "curve", "points"]
MODELS: tuple[Model, ...] = ("linear", "curve", "points")
LEAST_R, MOST_R = 1.0, 2.0
STEPS = 40
"""Bisections of the search for r: it ends far below what measurements can tell."""
MOST_KNOTS = 11
"""Points of the points model: as many as SPECpower publishes."""
NEAR = 0.05
"""How near to 0 and 1 measurements must come for a point to stand there."""
LEAST_ROWS = 3
"""Rows between two knots; a segment with fewer is merged with the next."""


class Fit(NamedTuple):
    """A model with its coefficients."""

    model: Model
    keys: tuple[str, ...]
    """The keys of ``others``: all columns but the CPU."""
    idle_w: float
    cpu: Floats
    """The coefficient of the CPU: of linear and curve one, of points one for each segment."""
    others: Floats
    r: float = 1.0
    knots: Floats = np.zeros(0)

    def predict(self, values: Floats) -> Floats:
        """The watts at utilisations, an array of (rows, keys)."""
        features = cpu_features(self.model, values[:, 0], self.r, self.knots)
        watts: Floats = self.idle_w + features @ self.cpu + values[:, 1:] @ self.others
        return watts

    def points(self) -> list[tuple[float, float]]:
        """Pairs of utilisation and watts, from 0 to 1; outer segments are carried on."""
        at = np.unique(np.concatenate(([0.0], self.knots, [1.0])))
        features = cpu_features(self.model, at, self.r, self.knots)
        watts = np.maximum.accumulate(np.maximum(0.0, self.idle_w + features @ self.cpu))
        return list(zip(at.tolist(), watts.tolist(), strict=True))

    def block(self) -> dict[str, object]:
        """The model as a spec has it, to six digits."""
        found: dict[str, object] = {"model": self.model}
        if self.model == "points":
            found["points"] = [[_short(u), _short(watts)] for u, watts in self.points()]
        elif self.model == "curve":
            found["idle_w"] = _short(self.idle_w)
            found["busy_w"] = _short(self.idle_w + float(self.cpu[0]))
            found["r"] = _short(self.r)
        else:
            found["idle_w"], found["cpu_w"] = _short(self.idle_w), _short(float(self.cpu[0]))
        return found | {
            key: _short(float(value))
            for key, value in zip(self.keys, self.others, strict=True)
            if value > 0.0
        }

    def figures(self) -> dict[str, float]:
        """The coefficients by name."""
        if self.model == "points":
            found = {f"watts at {100 * u:.3g} %": watts for u, watts in self.points()}
        elif self.model == "curve":
            found = {"idle_w": self.idle_w, "busy_w": self.idle_w + float(self.cpu[0]), "r": self.r}
        else:
            found = {"idle_w": self.idle_w, "cpu_w": float(self.cpu[0])}
        return found | dict(zip(self.keys, self.others.tolist(), strict=True))


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def cpu_features(model: Model, use: Floats, r: float, knots: Floats) -> Floats:
    """The features of the CPU's utilisation, an array of (rows, features)."""
    if model == "points":
        begin, end = knots[:-1], knots[1:]
        ramps = (use[:, None] - begin) / (end - begin)
        # The first and the last segment go on beyond the data; the others begin and end.
        low = np.where(np.arange(len(begin)) == 0, -np.inf, 0.0)
        high = np.where(np.arange(len(begin)) == len(begin) - 1, np.inf, 1.0)
        return np.clip(ramps, low, high)
    shape = 2.0 * use - use**r if model == "curve" else use
    return np.asarray(shape)[:, None]


def choose_knots(use: Floats) -> Floats:
    """Where the points of a curve are: at the levels that were measured, or every tenth.

    Levels that are few are steps of a benchmark. Else a segment has at least some rows.
    """
    levels = np.unique(np.round(use, 4))
    if len(levels) <= MOST_KNOTS:
        return levels
    # A segment that is nearly all measured is carried on to its end.
    low = 0.0 if levels[0] <= NEAR else float(levels[0])
    high = 1.0 if levels[-1] >= 1.0 - NEAR else float(levels[-1])
    knots = [low]
    for edge in (*np.arange(1, 10) / 10.0, high):
        inside = ((use >= knots[-1]) & (use <= edge)).sum()
        if knots[-1] < edge < high and inside >= LEAST_ROWS:
            knots.append(float(edge))
    while len(knots) > 1 and ((use >= knots[-1]) & (use <= high)).sum() < LEAST_ROWS:
        knots.pop()
    return np.array([*knots, high])


def fit_model(
    model: Model,
    keys: tuple[str, ...],
    values: Floats,
    watts: Floats,
    weights: Floats | None = None,
    knots: Floats | None = None,
) -> Fit:
    """The least squares of a model; weights count rows, as a bootstrap draws them."""
    rows = np.ones(len(watts)) if weights is None else weights
    if model == "points":
        knots = choose_knots(values[:, 0]) if knots is None else knots
    else:
        knots = np.zeros(0)

    def solved(r: float) -> tuple[float, Fit]:
        features = cpu_features(model, values[:, 0], r, knots)
        matrix = np.column_stack((np.ones(len(watts)), features, values[:, 1:]))
        coefficients = least_squares(matrix, watts, rows)
        error = float(rows @ (watts - matrix @ coefficients) ** 2)
        split = 1 + features.shape[1]
        cpu, others = coefficients[1:split], coefficients[split:]
        return error, Fit(model, keys[1:], float(coefficients[0]), cpu, others, r, knots)

    if model != "curve":
        return solved(1.0)[1]
    return _least(solved)


def _least(solved: Callable[[float], tuple[float, Fit]]) -> Fit:
    """The curve with the least error: golden sections over r."""
    ratio = (np.sqrt(5.0) - 1.0) / 2.0
    low, high = LEAST_R, MOST_R
    tried = [solved(low), solved(high)]
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = solved(a), solved(b)
    for _ in range(STEPS):
        if at_a[0] <= at_b[0]:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = solved(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = solved(b)
    return min([*tried, at_a, at_b], key=lambda pair: pair[0])[1]


def least_squares(matrix: Floats, watts: Floats, rows: Floats) -> Floats:
    """Least squares without negative coefficients (Lawson and Hanson 1974).

    Columns are scaled first, so that MB and shares weigh the same; the triangle of a QR
    decomposition stands for all rows.
    """
    from scipy.optimize import nnls

    root = np.sqrt(rows)
    scale = np.sqrt((rows[:, None] * matrix**2).sum(axis=0))
    scale[scale == 0.0] = 1.0
    weighted = np.column_stack((matrix / scale, watts)) * root[:, None]
    triangle = np.asarray(np.linalg.qr(weighted, mode="r"))
    found: Floats = nnls(triangle[:, :-1], triangle[:, -1])[0] / scale
    return found
