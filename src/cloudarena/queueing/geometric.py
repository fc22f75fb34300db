"""The geometric distribution cut off at both ends: the number of requests where room is limited.

``p[n] = ratio^n / (1 + ratio + ... + ratio^last)`` for n from 0 to ``last``. The ratio comes as its
logarithm: powers are taken in log space and sums of them by ``expm1``, so that nothing overflows,
and nothing cancels at ratio 1, where all n are equally likely. A rising distribution (ratio above
1) is a falling one seen from its other end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats

STEEPEST = 700.0
"""Bound of the logarithm of a ratio: exp(700) is still finite, exp(-700) as good as 0."""
FLAT = 0.5
BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)
"""Coefficients of ``1 / expm1(v) - 1 / v + 1 / 2`` at v, v^3, v^5, ..."""


class Ends(NamedTuple):
    """The probabilities of the ends of a distribution."""

    first: Floats
    """The first probability, ``p[0]``."""
    last: Floats
    """The last probability, ``p[last]``."""
    before_last: Floats
    """The others together, ``1 - p[last]``, to all digits."""


def log_ratio(arrival_rate: Floats, service_rate: Floats) -> Floats:
    """``log(arrival_rate / service_rate)``, exact near 0, and never infinite."""
    with np.errstate(divide="ignore", over="ignore"):
        ratio = arrival_rate / service_rate
        excess = (arrival_rate - service_rate) / service_rate
        logarithm = np.where(np.abs(excess) < 0.5, np.log1p(excess), np.log(ratio))
    return np.clip(logarithm, -STEEPEST, STEEPEST)


def ends(logarithm: Floats, last: Floats) -> Ends:
    """The probabilities of 0 and of ``last``."""
    steepness = np.abs(logarithm)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = np.expm1(-steepness) / np.expm1(-(last + 1.0) * steepness)
    top = np.where(steepness > 0.0, top, 1.0 / (last + 1.0))
    bottom = np.exp(-last * steepness) * top
    is_rising = logarithm > 0.0
    return Ends(
        first=np.where(is_rising, bottom, top),
        last=np.where(is_rising, top, bottom),
        before_last=(1.0 - bottom) * np.exp(-np.maximum(logarithm, 0.0)),
    )


def mean(logarithm: Floats, last: Floats) -> Floats:
    """The mean: ``1 / expm1(v) - (last + 1) / expm1((last + 1) v)``, v = -logarithm."""
    steepness = np.abs(logarithm)
    span = (last + 1.0) * steepness
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        falling = 1.0 / np.expm1(steepness) - (last + 1.0) / np.expm1(span)
    is_flat = span <= FLAT
    if is_flat.any():
        # The two terms are nearly equal: what is left of 1 / v in both is taken away.
        nearly = 0.5 * last + _remainder(steepness) - (last + 1.0) * _remainder(span)
        falling = np.where(is_flat, nearly, falling)
    return np.where(logarithm > 0.0, last - falling, falling)


def reaches(logarithm: Floats, last: Floats, least: Floats) -> Floats:
    """The probability of at least ``least``, from 0 on; nothing is above ``last``."""
    left = np.maximum(last + 1.0 - least, 0.0)
    steepness = np.abs(logarithm)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.expm1(-left * steepness) / np.expm1(-(last + 1.0) * steepness)
    share = np.exp(least * np.minimum(logarithm, 0.0)) * share
    return np.where(steepness > 0.0, share, left / (last + 1.0))


def _remainder(v: Floats) -> Floats:
    """``1 / expm1(v) - 1 / v + 1 / 2`` for small v."""
    small = np.minimum(v, FLAT)
    square = small * small
    total = np.zeros_like(small)
    for coefficient in reversed(BERNOULLI):
        total = total * square + coefficient
    return total * small
