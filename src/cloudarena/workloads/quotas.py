"""Drawing by quota: each sample has the wanted mix, in another order.

Members of a group (the VMs of a deployment) can be made alike without touching the mix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cloudarena.base.numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def quota_counts(
    count: int, shares: Sequence[float] | NDArray[np.float64] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many of ``count`` each share is, in whole numbers (largest remainder)."""
    exact = np.asarray(shares) / np.sum(shares) * count
    counts = np.floor(exact).astype(np.int64)
    for code in np.argsort(counts - exact, kind="stable")[: count - counts.sum()]:
        counts[code] += 1
    return counts


def part_of_quota(
    quota: NDArray[np.int64], count: int, shares: Sequence[float]
) -> NDArray[np.int64]:
    """The quota of ``count`` members that shall have a mix of their own.

    What the whole quota has not got of a code is made up for by what is left of the others.
    """
    counts = np.minimum(quota_counts(count, shares), quota)
    missing = count - int(counts.sum())
    return counts + quota_counts(missing, quota - counts) if missing else counts


def draw_by_quota(
    rng: np.random.Generator, count: int, shares: Sequence[float]
) -> NDArray[np.int64]:
    """Codes 0, 1, ... in random order, each as often as its share says (largest remainder)."""
    return rng.permutation(np.repeat(np.arange(len(shares)), quota_counts(count, shares)))


def deal_to_groups(
    rng: np.random.Generator, group: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Codes 0, 1, ..., each as often as ``counts`` says; members of a group have the same code.

    A group at the border of two codes has both: there are fewer such groups than codes.
    """
    turn = rng.random(int(group.max(initial=-1)) + 1)
    codes = np.empty(len(group), np.int64)
    codes[np.argsort(turn[group], kind="stable")] = np.repeat(np.arange(len(counts)), counts)
    return codes


def strata(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Uniform numbers, one in each of ``count`` equal strata, in random order."""
    return (rng.permutation(count) + rng.random(count)) / max(count, 1)


def strata_by_group(
    rng: np.random.Generator, group: NDArray[np.int64], correlation: float
) -> NDArray[np.float64]:
    """Uniform numbers, one in each stratum; those of a group lie near each other.

    ``correlation`` is that between two members, of normal numbers in the same order.
    """
    common = rng.standard_normal(int(group.max(initial=-1)) + 1)[group]
    own = rng.standard_normal(len(group))
    rank = np.empty(len(group), np.int64)
    mixed = np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own
    rank[np.argsort(mixed, kind="stable")] = np.arange(len(group))
    return (rank + rng.random(len(group))) / max(len(group), 1)
