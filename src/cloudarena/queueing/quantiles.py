"""Quantiles, from the tail of a distribution of times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cloudarena.base.arrays import Floats, Ints

SMALLEST_TAIL = 1e-300
MOST_STEPS = 200
NARROWEST = 1e-15
"""The width of a bracket, relative to the time, at which it is as narrow as numbers allow."""


def quantile_of_tail(
    tail: Callable[[Floats, Ints], Floats], level: Floats, guess: Floats, accuracy: float
) -> Floats:
    """The seconds t with ``tail(t) = P(T > t) = 1 - level``, for several distributions at once.

    By Chandrupatla's method (Advances in Engineering Software 28(3), 1997), a bracket shrunk by
    inverse quadratic interpolation where that is safe and halved where not, on the logarithm of the
    tail, which for most response times is nearly a straight line. ``accuracy`` is that of the tail,
    relative. ``tail(seconds, distributions)`` is for the distributions with these indices; each is
    1 at 0 and falls. ``level`` and ``guess`` have one axis.
    """
    distributions = np.arange(len(guess))
    target = np.log1p(-level)

    def distance(seconds: Floats, which: Ints) -> Floats:
        return np.log(np.maximum(tail(seconds, which), SMALLEST_TAIL)) - target[which]

    far, far_distance = np.zeros(len(guess)), -target
    near = guess.astype(np.float64)
    near_distance = distance(near, distributions)
    while (short := np.flatnonzero(near_distance > 0.0)).size:
        far[short], far_distance[short] = near[short], near_distance[short]
        near[short] *= 2.0
        near_distance[short] = distance(near[short], short)
    # The root lies between `near`, the newest point, and `far`; `old` is the one before.
    quantile = near.copy()
    old, old_distance = far, far_distance
    portion = np.full(len(distributions), 0.5)
    for _ in range(MOST_STEPS):
        width = np.abs(far - near)
        is_open = (np.abs(near_distance) > accuracy) & (width > NARROWEST * near)
        quantile[distributions] = near
        if not is_open.any():
            break
        distributions, portion = distributions[is_open], portion[is_open]
        near, near_distance = near[is_open], near_distance[is_open]
        far, far_distance = far[is_open], far_distance[is_open]
        point = near + portion * (far - near)
        here = distance(point, distributions)
        on_near_side = (here > 0.0) == (near_distance > 0.0)
        old = np.where(on_near_side, near, far)
        old_distance = np.where(on_near_side, near_distance, far_distance)
        far = np.where(on_near_side, far, near)
        far_distance = np.where(on_near_side, far_distance, near_distance)
        near, near_distance = point, here
        portion = _portion(near, far, old, near_distance, far_distance, old_distance)
    return quantile


def _portion(
    near: Floats, far: Floats, old: Floats, at_near: Floats, at_far: Floats, at_old: Floats
) -> Floats:
    """How far from ``near`` towards ``far`` to look next: a half, or by interpolation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = (near - far) / (old - far)
        height = (at_near - at_far) / (at_old - at_far)
        is_safe = (height**2 < fraction) & ((1.0 - height) ** 2 < 1.0 - fraction)
        step = at_near / (at_far - at_near) * at_old / (at_far - at_old) + (old - near) / (
            far - near
        ) * at_near / (at_old - at_near) * at_far / (at_old - at_far)
    least = np.minimum(NARROWEST * near / np.abs(far - near), 0.5)
    portion = np.where(is_safe & np.isfinite(step), step, 0.5)
    return np.clip(portion, least, 1.0 - least)
