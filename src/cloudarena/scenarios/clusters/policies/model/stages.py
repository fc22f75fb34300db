"""Where stages begin and end: stretches of time in which what arrives is alike.

A mix is a vector of amounts, none negative, such as tasks of each class; the similarity of two
mixes is the cosine of the angle between them. A grid of stages is made finer where the mixes in a
stage differ (``partition``), and coarser where neighbours are alike (``merge``), as chapter 6 of
Zhang's thesis on elastic clouds does (Tsinghua, 2011).

The text of the thesis splits a stage when the *most* alike pair is not alike enough, which keeps
stages whole that hold a pair of twins; what it says of the outcome, that all pairs of a stage are
alike, is had by looking at the *least* alike pair, the default here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_number, check_whole
from cloudarena.base.errors import check_choice
from cloudarena.engine.streams import stream

SplitRule = Literal["min", "max"]

DEPTH = 3
"""How often a stage is halved at most: the error of what is simulated in it grows with 1/sqrt."""
PAIRS = 10_000
SPLIT_QUANTILE, MERGE_QUANTILE = 0.33, 0.67
SPLIT_FLOOR, MERGE_FLOOR = 0.90, 0.95
"""Quantiles alone would split calm workloads and merge wild ones."""


class Thresholds(NamedTuple):
    """A stage is split below ``split``; two are merged from ``merge`` on."""

    split: float
    merge: float


class Timeline(NamedTuple):
    """Mixes at times that do not fall."""

    times: Floats
    mixes: NDArray[np.float64]  # (times, parts)

    def between(self, begin: float, end: float) -> Floats:
        """The mixes from begin on, before end."""
        first, last = np.searchsorted(self.times, (begin, end))
        return self.mixes[first:last]


def similarities(first: ArrayLike, second: ArrayLike, intensity_weight: float = 0.0) -> Floats:
    """The similarity, from 0 to 1, of mixes with those in the same rows.

    ``cos * (smaller sum / larger sum) ** intensity_weight``: the cosine alone does not see how
    large the mixes are. One without any amounts is like another of that kind only.

    Args:
        first: mixes, along the last axis.
        second: mixes of the same shape, or of one that broadcasts to it.
        intensity_weight: how much sizes count; 0 is the cosine alone.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    lengths = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = (a * b).sum(axis=-1) / lengths
        similarity = np.where(lengths > 0.0, np.minimum(cosine, 1.0), 0.0)
        if intensity_weight > 0.0:
            sums = a.sum(axis=-1), b.sum(axis=-1)
            ratio = np.minimum(*sums) / np.maximum(*sums)
            similarity = similarity * np.where(lengths > 0.0, ratio, 0.0) ** intensity_weight
    both_empty = ~a.any(axis=-1) & ~b.any(axis=-1)
    return np.asarray(np.where(both_empty, 1.0, similarity))


def least_similarity(mixes: ArrayLike, intensity_weight: float = 0.0) -> float:
    """The similarity of the least alike pair; 1 if there is no pair."""
    return _extreme(np.asarray(mixes, np.float64), "min", intensity_weight)


def thresholds(
    mixes: ArrayLike,
    seed: int = 0,
    pairs: int = PAIRS,
    split_floor: float = SPLIT_FLOOR,
    merge_floor: float = MERGE_FLOOR,
    intensity_weight: float = 0.0,
) -> Thresholds:
    """Thresholds from how alike pairs of mixes are that are drawn at random.

    ``split = min(Q33, split_floor)`` and ``merge = max(Q67, merge_floor)``; of fewer than two
    mixes the floors.

    Args:
        mixes: a row each.
        seed: of the pairs.
        pairs: how many are drawn.
        split_floor: what is more alike than this is never split.
        merge_floor: what is less alike than this is never merged.
        intensity_weight: see ``similarities``.
    """
    table = np.asarray(mixes, np.float64)
    if len(table) < 2:
        return Thresholds(split_floor, merge_floor)
    rng = stream(seed, "pairs of mixes")
    first = rng.integers(len(table), size=check_whole("pairs", pairs, 1))
    second = (first + rng.integers(1, len(table), size=pairs)) % len(table)
    similarity = similarities(table[first], table[second], intensity_weight)
    low, high = np.quantile(similarity, (SPLIT_QUANTILE, MERGE_QUANTILE))
    return Thresholds(min(float(low), split_floor), max(float(high), merge_floor))


def partition(
    timeline: Timeline,
    begin: float,
    end: float,
    split: float,
    narrowest: float = 0.0,
    depth: int = DEPTH,
    split_rule: SplitRule = "min",
    intensity_weight: float = 0.0,
) -> list[float]:
    """Returns when the stages begin into which a stage falls.

    It is halved if its least alike pair of mixes is less alike than ``split``, and so are the
    halves, until a half would be narrower than ``narrowest`` or has been halved ``depth`` times.

    Args:
        timeline: what arrives.
        begin: of the stage.
        end: of the stage.
        split: the similarity below which it is halved.
        narrowest: length of the shortest stage.
        depth: how often to halve at most.
        split_rule: ``min`` looks at the least alike pair, ``max`` at the most alike one.
        intensity_weight: see ``similarities``.
    """
    check_choice("split_rule", split_rule, ("min", "max"))
    check_number("narrowest", narrowest, 0.0)
    mixes = timeline.between(begin, end)
    if depth == 0 or (end - begin) / 2.0 < narrowest or len(mixes) < 2:
        return [begin]
    if _extreme(mixes, split_rule, intensity_weight) >= split:
        return [begin]
    middle = begin + (end - begin) / 2.0
    halves = ((begin, middle), (middle, end))
    return [
        edge
        for a, b in halves
        for edge in partition(
            timeline, a, b, split, narrowest, depth - 1, split_rule, intensity_weight
        )
    ]


def merge(
    timeline: Timeline,
    begins: Sequence[float],
    end: float,
    threshold: float,
    longest: float = np.inf,
    intensity_weight: float = 0.0,
) -> list[float]:
    """Returns when the stages begin that are left when neighbours that are alike are merged.

    From left to right: the next stage joins the current one if every mix of the one is at least
    ``threshold`` alike to every mix of the other, and both together are not longer than
    ``longest``.

    Args:
        timeline: what arrives.
        begins: of the stages, rising.
        end: of the last stage.
        threshold: the similarity from which on neighbours are merged.
        longest: length of the longest stage that may be made by merging.
        intensity_weight: see ``similarities``.
    """
    kept = list(begins[:1])
    for index in range(1, len(begins)):
        here = begins[index]
        after = begins[index + 1] if index + 1 < len(begins) else end
        current = timeline.between(kept[-1], here)
        following = timeline.between(here, after)
        similarity = similarities(current[:, None], following[None, :], intensity_weight)
        alike = bool((similarity >= threshold).all())
        if not (alike and after - kept[-1] <= longest * (1.0 + 1e-12)):
            kept.append(here)
    return kept


def _extreme(mixes: Floats, rule: SplitRule, intensity_weight: float) -> float:
    """The similarity of the least or the most alike pair; 1 if there is no pair."""
    if len(mixes) < 2:
        return 1.0
    # Row by row, since all pairs at once may not fit into memory.
    rows = (
        similarities(mixes[row], mixes[row + 1 :], intensity_weight)
        for row in range(len(mixes) - 1)
    )
    if rule == "min":
        return min(float(row.min()) for row in rows)
    return max(float(row.max()) for row in rows)
