"""Shares of VMs over classes of tasks: every way to give each class at least one.

A share is a vector of whole numbers, at least 1 each, that sum to the number of VMs m: a
composition of m into C parts, of which there are ``C(m - 1, C - 1)``. If VMs may stay idle, the
sum is at most m and there are ``C(m, C)``. Shares are numbered in lexicographic order, so that a
space of billions needs no memory.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError
from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.streams import stream
from cloudarena.optimizers.spaces.encoding import Encoding

MOST_NUMBERED = 2**63 - 1
BLOCK_DRAWS = 2**22
"""Random numbers that are in memory at a time when shares are drawn."""


class ShareSpace(Sequence[tuple[int, ...]]):
    """Shares of VMs over classes, numbered; those of one cluster or of several."""

    classes: int
    vms: int
    allow_idle: bool
    size: int
    """How many shares there are."""

    @abstractmethod
    def unrank(self, indices: ArrayLike) -> Ints:
        """The shares of some numbers, a row each."""

    @abstractmethod
    def check(self, shares: ArrayLike) -> Ints:
        """The shares as an array, if each belongs to this space."""

    @abstractmethod
    def draw(self, count: int, seed: int, purpose: str = "uniform shares") -> Ints:
        """Shares drawn uniformly and independently, from a space of any size."""

    @abstractmethod
    def neighbours(self, shares: ArrayLike) -> Ints:
        """All shares that are one move of a VM away from one of those given, each once."""

    @property
    @abstractmethod
    def encoding(self) -> Encoding:
        """A gene for each class: its weight."""

    def __len__(self) -> int:
        self._check_numbered()
        return self.size

    @overload
    def __getitem__(self, index: int) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[int, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, ...] | list[tuple[int, ...]]:
        if isinstance(index, slice):
            shares = self.unrank(np.arange(*index.indices(len(self))))
            return [tuple(share) for share in shares.tolist()]
        if not -len(self) <= index < len(self):
            raise IndexError(f"{index} of {len(self)} shares")
        return tuple(self.unrank(np.array([index % len(self)]))[0].tolist())

    def all(self) -> Ints:
        """Every share, a row each."""
        return self.unrank(np.arange(len(self)))

    def _numbers(self, indices: ArrayLike) -> Ints:
        """Numbers of shares, if all are allowed."""
        self._check_numbered()
        ranks = np.asarray(indices, np.int64).reshape(-1)
        if len(ranks) and not 0 <= ranks.min() <= ranks.max() < self.size:
            raise SpecError(f"numbers: not all are allowed: 0 to {self.size - 1:,}")
        return ranks

    def _rows(self, shares: ArrayLike) -> Ints:
        """Shares as an array of rows."""
        rows = np.ascontiguousarray(shares, np.int64)
        if rows.ndim != 2 or rows.shape[1] != self.classes:
            raise SpecError(
                f"shares: the shape {rows.shape} is not allowed: shares x {self.classes} classes"
            )
        return rows

    def _check_numbered(self) -> None:
        if self.size > MOST_NUMBERED:
            raise SpecError(
                f"vms: the {self.size:.3g} shares of {self.vms} VMs over {self.classes} classes "
                "are too many to number: draw from them"
            )


class Compositions(ShareSpace):
    """All shares of ``vms`` VMs over ``classes`` classes."""

    def __init__(self, vms: int, classes: int, allow_idle: bool = False) -> None:
        self.classes = check_whole("classes", classes, 1)
        self.vms = check_whole("vms", vms, self.classes, why="one for each class")
        self.allow_idle = allow_idle
        # Idle VMs are a class of their own that, unlike the others, may be empty.
        self._total = self.vms + 1 if allow_idle else self.vms
        self._parts = self.classes + 1 if allow_idle else self.classes
        self.size = math.comb(self._total - 1, self._parts - 1)

    def unrank(self, indices: ArrayLike) -> Ints:
        """The shares of some numbers, a row each."""
        ranks = self._numbers(indices)
        shares = np.empty((len(ranks), self._parts), np.int64)
        _unrank(ranks, self._total, self._completions(), shares)
        return shares[:, : self.classes]

    def rank(self, shares: ArrayLike) -> Ints:
        """The indices of some shares."""
        self._check_numbered()
        checked = self.check(shares)
        ranks = np.empty(len(checked), np.int64)
        _rank(checked, self._total, self._completions(), ranks)
        return ranks

    def check(self, shares: ArrayLike) -> Ints:
        """The shares as an array, if each belongs to this space."""
        rows = self._rows(shares)
        total = rows.sum(axis=1)
        right = total <= self.vms if self.allow_idle else total == self.vms
        good = right & (rows >= 1).all(axis=1)
        if not good.all():
            row = int(np.argmin(good))
            bound = "at most" if self.allow_idle else "exactly"
            raise SpecError(
                f"shares[{row}]: {tuple(rows[row].tolist())} is not allowed: "
                f"at least 1 each, {bound} {self.vms} in all"
            )
        return rows

    def draw(self, count: int, seed: int, purpose: str = "uniform shares") -> Ints:
        """Shares drawn uniformly and independently, from a space of any size.

        Stars and bars: the ends of the parts are a uniform subset of the ``m - 1`` positions.
        """
        rng = stream(seed, purpose)
        positions, bars = self._total - 1, self._parts - 1
        block = max(1, BLOCK_DRAWS // max(1, positions))
        parts = []
        for start in range(0, check_whole("count", count, 0), block):
            keys = rng.random((min(block, count - start), positions))
            ends = np.zeros((len(keys), bars + 2), np.int64)
            ends[:, -1] = self._total
            if bars:
                ends[:, 1:-1] = np.sort(np.argpartition(keys, bars - 1)[:, :bars] + 1, axis=1)
            parts.append(np.diff(ends)[:, : self.classes])
        return np.concatenate(parts) if parts else np.empty((0, self.classes), np.int64)

    def neighbours(self, shares: ArrayLike) -> Ints:
        """All shares that are one move of a VM away from one of those given, each once.

        A VM moves from a class with more than one to another; where VMs may stay idle, also from
        a class to idleness and back.
        """
        rows = self.check(shares)
        if self.allow_idle:
            rows = np.column_stack((rows, self._total - rows.sum(axis=1)))
        moved = []
        for giver in range(self._parts):
            able = rows[rows[:, giver] > 1]
            for taker in range(self._parts):
                if taker != giver:
                    move = able.copy()
                    move[:, giver] -= 1
                    move[:, taker] += 1
                    moved.append(move)
        if not moved:
            return np.empty((0, self.classes), np.int64)
        return np.unique(np.concatenate(moved), axis=0)[:, : self.classes]

    @property
    def encoding(self) -> Encoding:
        """A gene for each class: its weight, from 1 to m.

        Each class gets one VM, and of the others a part in proportion to its weight, by largest
        remainders.
        """
        return Encoding((self._total,) * self._parts, self._decode)

    def _decode(self, genes: Ints) -> Ints:
        shares = 1 + largest_remainders(1.0 + genes.astype(np.float64), self._total - self._parts)
        return self.rank(shares[:, : self.classes])

    def _completions(self) -> Ints:
        """``[n, k]``: the compositions of n into k parts, none of which overflows."""
        table = np.zeros((self._total + 1, self._parts + 1), np.int64)
        for total in range(1, self._total + 1):
            for parts in range(1, min(total, self._parts) + 1):
                table[total, parts] = min(math.comb(total - 1, parts - 1), MOST_NUMBERED)
        return table


def largest_remainders(weights: Floats, total: int) -> Ints:
    """Whole numbers that sum to ``total``, in proportion to the weights of each row.

    Rounded down, and what is missing goes where rounding took most; ties to the first.
    """
    exact = total * weights / weights.sum(axis=1, keepdims=True)
    shares = np.floor(exact).astype(np.int64)
    missing = total - shares.sum(axis=1)
    by_remainder = np.argsort(shares - exact, axis=1, kind="stable")
    rank = np.argsort(by_remainder, axis=1, kind="stable")
    return np.asarray(shares + (rank < missing[:, None]))


@jit_uncounted
def _unrank(ranks: Ints, vms: int, completions: Ints, shares: Ints) -> None:
    parts = shares.shape[1]
    for row in range(len(ranks)):
        rank, left = ranks[row], vms
        for part in range(parts - 1):
            share = 1
            while rank >= completions[left - share, parts - part - 1]:
                rank -= completions[left - share, parts - part - 1]
                share += 1
            shares[row, part] = share
            left -= share
        shares[row, parts - 1] = left


@jit_uncounted
def _rank(shares: Ints, vms: int, completions: Ints, ranks: Ints) -> None:
    parts = completions.shape[1] - 1
    for row in range(len(shares)):
        rank, left = 0, vms
        for part in range(parts - 1):
            for share in range(1, shares[row, part]):
                rank += completions[left - share, parts - part - 1]
            left -= shares[row, part]
        ranks[row] = rank
