"""What a method claims of its selection: an event, a probability, and what that rests on."""

from __future__ import annotations

import math
from typing import NamedTuple

NORMAL = "replications are independent and their means are normal"
"""What every claim that rests on tests assumes, and nothing of the truth."""
NOTHING = "nothing"
"""What a blind pick's claim assumes."""
SAYS_NOTHING = 0.005
"""Claims below this are not worth a number."""


class Alignment(NamedTuple):
    """A claim: among the selected are at least so many good designs, with this probability."""

    probability: float
    """NaN if the method claims nothing."""
    at_least: int
    good: str
    """Which designs count as good."""
    exactly: bool = False
    """Whether the claim is about the very designs that are selected, not some of them."""
    assumes: str = NORMAL
    why_none: str = ""
    """Where nothing is claimed, the reason."""
    equals: int = 0
    """Other designs that count as equal to the chosen one, since they never differed from it."""

    @property
    def says_something(self) -> bool:
        """Whether there is a claim that is worth a number."""
        return not math.isnan(self.probability) and self.probability >= SAYS_NOTHING

    def __str__(self) -> str:
        if math.isnan(self.probability):
            return f"no claim, since {self.why_none}"
        what = self.good
        if not self.exactly and self.at_least == 1 and self.good.startswith("the best design "):
            what = f"{what} is among the selected"
        elif not self.exactly:
            fewer = " (all, if it has fewer)" if self.at_least > 1 and "true" in self.good else ""
            what = f"at least {self.at_least:,} of {what}{fewer}"
        if not self.says_something:
            return f"no claim, since too little is known to say {what}"
        if self.equals:
            others = "another that" if self.equals == 1 else f"{self.equals:,} others that"
            what += f" ({others} never differed from it in any replication count as equal)"
        return f"{what} with probability {self.probability:.3g}"


def no_claim(why: str) -> Alignment:
    """The empty claim of a method that cannot state an honest probability."""
    return Alignment(math.nan, 0, "", assumes="", why_none=why)
