"""Limits: what a metric must keep, as people write it, such as ``sla_minutes_ok >= 0.97``.

A limit is on a metric as it is measured, in its own unit. What does not exist (NaN) keeps none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, cast

import numpy as np

from cloudarena.base.arrays import Flags, Floats
from cloudarena.base.errors import SpecError, nearest

Order = Literal["<=", "<", ">=", ">"]
_RISK = r"@(?:p\([<>]=?[^<>=()\s]+\)|[^<>=\s@(]+)"
"""What may follow a metric: what is taken of it over replications, such as ``@q90``."""
_LIMIT = re.compile(rf"\s*([^<>=\s@]+(?:{_RISK})?)\s*(<=|>=|<|>)\s*([^<>=\s%]+)\s*(%?)\s*")


class Limit(NamedTuple):
    """A bound that the mean of a metric must keep."""

    metric: str
    order: Order
    bound: float

    @property
    def sign(self) -> float:
        """1 for a bound from above, -1 for one from below."""
        return 1.0 if self.order in ("<=", "<") else -1.0

    def excess(self, values: Floats) -> Floats:
        """The amounts by which values break the limit; negative where they keep it."""
        return np.asarray(self.sign * (values - self.bound))

    def holds(self, values: Floats) -> Flags:
        """Whether values keep the limit."""
        excess = self.excess(values)
        return np.asarray(excess < 0.0 if self.order in ("<", ">") else excess <= 0.0)

    def __str__(self) -> str:
        return f"{self.metric} {self.order} {self.bound:g}"


def parse_limit(text: str, field: str = "where") -> Limit:
    """A limit from text: a metric, one of ``<= < >= >``, and a number or a share such as ``97%``.

    Args:
        text: such as ``unserved_share <= 0.1%``.
        field: what the text was given as, for the message of the error.
    """
    found = _LIMIT.fullmatch(text)
    try:
        bound = float(found[3]) if found else math.nan
    except ValueError:
        bound = math.nan
    if found is None or not math.isfinite(bound):
        raise SpecError(
            f"{field}: {text!r} is not allowed: a metric, <=, <, >= or >, and a number, such as "
            "unserved_share <= 0.001"
        )
    return Limit(found[1], cast("Order", found[2]), bound / 100.0 if found[4] else bound)


def read_limits(
    texts: Sequence[str], metrics: Iterable[str], field: str = "where"
) -> tuple[Limit, ...]:
    """Limits on metrics that there are.

    Args:
        texts: such as ``["sla_minutes_ok >= 0.97"]``.
        metrics: the names that are allowed.
        field: what the texts were given as.
    """
    known = tuple(metrics)
    limits = []
    for text in texts:
        limit = parse_limit(text, field)
        if limit.metric not in known:
            raise SpecError(
                f"{field}: {text!r} is not allowed: {limit.metric!r} is no metric: one of "
                f"{', '.join(known)}.{nearest(limit.metric, known)}"
            )
        limits.append(limit)
    return tuple(limits)
