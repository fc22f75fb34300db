"""What the screening stage tells: how good designs are spread, and how large the noise is."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_table
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.ordinal.layers import layers_of

Shape = Literal["steep", "bell", "neutral", "u-shaped", "flat"]

STEEP, FLAT = 0.60, 0.45
"""Areas under the order-performance curve from which on, and below which, it is called so."""
BELL, U_SHAPED = 0.65, 0.35
"""Shares of the designs in the middle half of the layers; a straight curve has 0.5."""
TOO_NOISY = 0.5
"""The noise beyond which all curves look alike."""


class OrderCurve(NamedTuple):
    """The order-performance curve: what share of the designs is in the best part of the order."""

    part: Floats
    """The part of the range, from 0 to 1."""
    share: Floats
    """The share of the designs in that part, from 0 to 1."""

    @property
    def area(self) -> float:
        """The area under the curve; 0.5 if it is straight."""
        return float(np.trapezoid(self.share, self.part))


class Omega(NamedTuple):
    """How good designs are spread, by the shape of the order-performance curve.

    ``steep``: many designs are good, ``flat``: few are; ``neutral`` is in between. Of the curves
    in between, ``bell`` has most designs in the middle and ``u-shaped`` few.
    """

    shape: Shape
    area: float
    reliable: bool
    """Whether the noise is low enough to see the shape."""

    def __str__(self) -> str:
        return self.shape if self.reliable else f"{self.shape} (unreliable)"


def order_curve(losses: Floats, layer: Ints) -> OrderCurve:
    """The curve of designs that lie in layers.

    With several objectives a part is the first x of L layers. A single objective has a layer for
    each value, so there a part is the best x of the range of the values.
    """
    if losses.shape[1] > 1:
        share = np.cumsum(np.bincount(layer)) / len(layer)
        return OrderCurve(np.linspace(0.0, 1.0, len(share) + 1), np.concatenate(([0.0], share)))
    values = np.sort(losses[:, 0])
    span = values[-1] - values[0]
    if span == 0.0:
        return OrderCurve(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    part = np.linspace(0.0, 1.0, 101)
    share = np.searchsorted(values, values[0] + part * span, side="right") / len(values)
    share[0], share[-1] = 0.0, 1.0
    return OrderCurve(part, share)


def omega_of(curve: OrderCurve, noise: float) -> Omega:
    """The shape of a curve; with much noise every curve tends to an area of 0.56 to 0.59."""
    area = curve.area
    middle = np.interp(0.75, curve.part, curve.share) - np.interp(0.25, curve.part, curve.share)
    shape: Shape = "neutral"
    if area >= STEEP:
        shape = "steep"
    elif area < FLAT:
        shape = "flat"
    elif middle >= BELL:
        shape = "bell"
    elif middle <= U_SHAPED:
        shape = "u-shaped"
    return Omega(shape, area, noise < TOO_NOISY)


def noise_level(means: Floats, errors: Floats) -> float:
    """The mean standard error over half the range of the true losses, the largest over objectives.

    0 without noise; from 0.5 on a screening stage hardly orders the designs; infinite if the means
    are spread no wider than their errors explain. The range of the observed means is wider than the
    true one by the noise itself, so that the errors would never be more than a third of it: it is
    multiplied by the root of the share of the variance that is not noise.

    Args:
        means: an array of (designs, objectives).
        errors: their standard errors.
    """
    error = errors.mean(axis=0)
    variance = means.var(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(1.0 - (errors * errors).mean(axis=0) / variance, 0.0, 1.0)
        half_range = np.where(variance > 0.0, np.ptp(means, axis=0) / 2.0 * np.sqrt(share), 0.0)
        levels = np.where(error == 0.0, 0.0, error / half_range)
    return float(levels.max())


def noise_level_411(observations: ArrayLike) -> Floats:
    """Equation 4.11 of the thesis, for each objective: for display only.

    The standard deviation of the observed means after they are stretched to [-1, 1]. This is how
    far the designs are spread, not how noisy they are: it is 0.4 to 0.7 with no noise at all.
    """
    means = check_table("observations", observations, "designs", "objectives")
    low, span = means.min(axis=0), np.ptp(means, axis=0)
    stretched = 2.0 * (means - low) / np.where(span > 0.0, span, 1.0) - 1.0
    return np.asarray(stretched.std(axis=0))


class Screening(NamedTuple):
    """The screening stage over all designs."""

    moments: Moments
    layer: Ints
    """The layer of each design, by its mean losses."""
    curve: OrderCurve
    omega: Omega
    noise: float


def screen(moments: Moments, own: Moments | None = None) -> Screening:
    """Layers, order-performance curve and noise of designs that were all evaluated.

    Args:
        moments: of the losses of all designs.
        own: the same without what designs have in common, if that is known: the noise is theirs.
    """
    layer = layers_of(moments.mean, len(moments.mean))
    curve = order_curve(moments.mean, layer)
    noise = noise_level(moments.mean, (own or moments).standard_error)
    return Screening(moments, layer, curve, omega_of(curve, noise), noise)
