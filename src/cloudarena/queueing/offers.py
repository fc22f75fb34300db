"""What may be rented, and what must be met: prices, limits, bounds on response times."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import (
    check_level,
    check_not_negative,
    check_one,
    check_positive,
    check_shape,
    check_wholes,
    keep,
)
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.queueing.response import HIGHEST_LEVEL

METRICS = ("mean", "quantile")
MOST_PER_SIZE = 10_000
MOST_OPTIONS = 10**6
"""The most options of a tier."""
MOST_CONFIGURATIONS = 10**6
PRICE_DIGITS = 12


@dataclass(frozen=True)
class Sla:
    """A bound on the response time: its mean, or a quantile, is at most so many seconds."""

    seconds: float
    metric: str = "mean"
    level: float = 0.95
    """The share of requests that must be within the bound, for a quantile."""

    def __post_init__(self) -> None:
        check_choice("sla.metric", self.metric, METRICS)
        check_one("sla.seconds", check_positive("sla.seconds", self.seconds))
        check_one("sla.level", check_level("sla.level", self.level, HIGHEST_LEVEL))


@dataclass(frozen=True, eq=False, init=False)
class Offer:
    """What may be rented."""

    prices: Floats
    """The price of a VM of each size, in any unit of money for any unit of time."""
    most: Ints
    """VMs at most, (tier, size)."""
    limits: Ints
    """The limits in total that can bind."""
    counted: Ints
    """How much a VM of a size counts against each of these, (size, limit)."""

    def __init__(
        self,
        prices: ArrayLike,
        most: ArrayLike,
        most_in_total: ArrayLike | None = None,
        most_vms: int | None = None,
    ) -> None:
        """Checks and keeps an offer.

        Args:
            prices: for each size.
            most: a row for each tier, a column for each size.
            most_in_total: VMs at most of each size, over all tiers.
            most_vms: VMs at most, of all sizes and tiers.
        """
        cost = check_not_negative("prices", prices)
        vms = check_wholes("most", most, 0, MOST_PER_SIZE)
        if vms.ndim != 2 or 0 in vms.shape:
            raise SpecError(f"most: the shape {vms.shape} is not allowed: tiers x sizes")
        tiers, sizes = vms.shape
        check_shape("prices", cost, (sizes,), f"{sizes} prices, one for each size")
        for tier in range(tiers):
            if not vms[tier].any():
                raise SpecError(
                    f"most[{tier}]: {vms[tier].tolist()} is not allowed: at least one VM"
                )
        available = vms.sum(axis=0)
        limits, counted = np.zeros(0, np.int64), np.zeros((sizes, 0), np.int64)
        if most_in_total is not None:
            total = check_wholes("most_in_total", most_in_total, 0)
            check_shape("most_in_total", total, (sizes,), f"{sizes} numbers, one for each size")
            binds = total < available
            limits, counted = total[binds], np.eye(sizes, dtype=np.int64)[:, binds]
        if most_vms is not None:
            number = int(check_one("most_vms", check_wholes("most_vms", most_vms, tiers)))
            if number < available.sum():
                limits = np.append(limits, number)
                counted = np.column_stack((counted, np.ones(sizes, np.int64)))
        keep(self, prices=cost, most=vms, limits=limits, counted=counted)


def configurations(offer: Offer) -> Ints:
    """All configurations within the limits, with the axes (configuration, tier, size)."""
    tiers = [tier_counts(most) for most in offer.most]
    number = math.prod(len(tier) for tier in tiers)
    if number > MOST_CONFIGURATIONS:
        raise SpecError(
            f"most: {number:,} configurations are not allowed: at most {MOST_CONFIGURATIONS:,}"
        )
    indices = np.indices([len(tier) for tier in tiers]).reshape(len(tiers), -1)
    counts = np.stack([tier[index] for tier, index in zip(tiers, indices, strict=True)], axis=1)
    used = counts.sum(axis=1) @ offer.counted
    return counts[(used <= offer.limits).all(axis=1)]


def price_units(prices: Floats) -> Ints:
    """Prices as whole numbers, to 12 digits of the largest: sums of them are exact.

    In floating point 3 x 0.1 is not 0.3, and the cheaper of two equally cheap configurations
    would be a matter of rounding.
    """
    largest = float(prices.max())
    if largest == 0.0:
        return np.zeros(len(prices), np.int64)
    magnitude = 10.0 ** math.floor(math.log10(largest))
    return np.rint(prices / magnitude * 10.0 ** (PRICE_DIGITS - 1)).astype(np.int64)


def tier_counts(most: Ints) -> Ints:
    """All numbers of VMs of a tier, at least one: (option, size)."""
    numbers = [int(each) + 1 for each in most]
    number = math.prod(numbers)
    if number > MOST_OPTIONS:
        raise SpecError(
            f"most: {most.tolist()} is not allowed: {number:,} options for a tier, "
            f"at most {MOST_OPTIONS:,}"
        )
    return np.indices(numbers).reshape(len(numbers), -1).T[1:]
