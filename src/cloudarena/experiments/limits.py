"""Limits that every replication of a policy must keep, and how sure that is for other runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.limits import Limit, read_limits
from cloudarena.base.statistics import CONFIDENCE

if TYPE_CHECKING:
    from cloudarena.contract import Kind


def is_upper(limit: Limit) -> bool:
    """Whether the metric must not be higher."""
    return limit.sign > 0


def kept(
    limit: Limit, values: NDArray[np.float64], is_at_least: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Which values keep a limit. No value does not; a lower bound cannot show that it is low."""
    with np.errstate(invalid="ignore"):
        found = limit.holds(values) & ~np.isnan(values)
    return found & ~is_at_least if is_at_least is not None and is_upper(limit) else found


def limits_on(kind: Kind, texts: Iterable[str]) -> tuple[Limit, ...]:
    """The limits of ``unserved_share<=0.001``; several may stand in one text, with commas."""
    parts = [one.strip() for text in texts for one in text.split(",") if one.strip()]
    return read_limits(parts, kind.metric, "--where")


def least_probability(kept: int, runs: int, among: int = 1) -> float:
    """The probability of keeping a limit that is sure at 95 % (Clopper and Pearson, one-sided).

    Args:
        kept: runs that kept it.
        runs: all runs.
        among: of how many this one was chosen for keeping it in these very runs; of many, one may
            have kept it by luck, so each is tested at its part of the 5 % (Bonferroni).
    """
    from scipy.special import betaincinv

    if kept == 0:
        return 0.0
    return float(betaincinv(kept, runs - kept + 1, (1 - CONFIDENCE) / among))
