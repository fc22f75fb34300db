"""What LOS saves, in evaluations.

With T designs, N replications of a proper and n of a rough evaluation, S selected designs and G
good ones of which k are wanted:

    Monte Carlo T N        blind pick k T / G * N        LOS T n + S N
"""

from __future__ import annotations

from typing import NamedTuple

from cloudarena.base.checks import check_whole


class SpeedUp(NamedTuple):
    """How many times as many evaluations others need."""

    over_monte_carlo: float
    """The speed-up ``N / (n + S N / T)``."""
    over_blind_pick: float
    """The speed-up ``k T / (G (T n / N + S))``."""
    over_monte_carlo_thesis: float
    """The speed-up ``T / S``, as if screening, most of the cost if T n > S N, cost nothing."""
    over_blind_pick_thesis: float
    """The speed-up ``k T / (G S)``, as if screening cost nothing."""

    @property
    def is_worthwhile(self) -> bool:
        """Whether LOS is cheaper than both: ``n / N + S / T < min(1, k / G)``."""
        return self.over_monte_carlo > 1.0 and self.over_blind_pick > 1.0


def speed_up(
    designs: int, selected: int, rough: int, replications: int, good: int, at_least: int = 1
) -> SpeedUp:
    """What LOS saves over Monte Carlo, and over a blind pick sized for the mean.

    Args:
        designs: T.
        selected: S.
        rough: n.
        replications: N.
        good: G.
        at_least: k.
    """
    check_whole("designs", designs, 1)
    check_whole("selected", selected, 1, designs)
    check_whole("rough", rough, 1)
    check_whole("replications", replications, 1)
    check_whole("good", good, 1, designs)
    check_whole("at_least", at_least, 1, good)
    cost = designs * rough + selected * replications
    picked = at_least * designs / good
    return SpeedUp(
        designs * replications / cost,
        picked * replications / cost,
        designs / selected,
        picked / selected,
    )
