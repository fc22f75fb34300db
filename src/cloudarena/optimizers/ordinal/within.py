"""What is good enough: designs that the best one betters by no more than a margin.

A margin is a share of the better design's own loss (``"1%"``) or a number in the unit of the
objective. Design b is within it of design i if ``loss_b <= loss_i + margin``; with several
objectives, if that holds in at least one of them, so that i does not beat b in every objective by
more than the margin.

A share is taken of the loss of i itself, ``loss_i (1 + share)``, or ``loss_i (1 - share)`` where it
is negative, as that of what is maximised. Which of the two is told by the observed mean; where that
has the wrong sign, the margin is smaller than it may be, never larger.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from pydantic import PlainValidator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrays import Floats
from cloudarena.base.errors import SpecError

GoodEnough: TypeAlias = str | float | None
"""A margin as users write it: ``"1%"``, a number, or None for none."""


class Within(NamedTuple):
    """A margin; none by default."""

    share: float = 0.0
    amount: float = 0.0

    @property
    def is_open(self) -> bool:
        """Whether there is a margin at all."""
        return self.share > 0.0 or self.amount > 0.0

    def factor(self, means: Floats) -> Floats:
        """The factor by which losses with these means are multiplied."""
        return np.asarray(1.0 + self.share * np.sign(means))

    def __str__(self) -> str:
        return f"{100.0 * self.share:g} %" if self.share > 0.0 else f"{self.amount:g}"


def read_within(within: GoodEnough, objectives: int) -> Within:
    """The margin that somebody asks for.

    Args:
        within: such as ``"1%"``, or a number in the unit of the objective.
        objectives: how many there are; with several only shares are allowed.
    """
    if within is None:
        return Within()
    is_share = isinstance(within, str) and within.strip().endswith("%")
    number = _number(within.strip().removesuffix("%") if isinstance(within, str) else within)
    if number is None or number < 0.0 or (is_share and number >= 100.0):
        raise SpecError(
            f"within: {within!r} is not allowed: a share such as 1%, less than 100%, or a number "
            "in the unit of the objective, at least 0"
        )
    if is_share:
        return Within(share=number / 100.0)
    if objectives > 1 and number > 0.0:
        raise SpecError(
            f"within: {within!r} is not allowed with {objectives} objectives, which have units of "
            "their own: a share such as 1%"
        )
    return Within(amount=number)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _good_enough(within: Any) -> GoodEnough:
    try:
        read_within(within, 1)
    except SpecError as error:
        raise PydanticCustomError("not_allowed", str(error).removeprefix("within: ")) from None
    return within


Margin = Annotated[GoodEnough, PlainValidator(_good_enough)]
"""The field of a spec that holds a margin."""
