"""Shares of several virtual clusters: a share of each, in every combination.

The VMs of a virtual cluster are shared by its own classes alone, so the space is the product of
those of the clusters. (The thesis adds their sizes up, its equation 4.9: so many shares are
evaluated if each cluster is searched by itself.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Ints
from cloudarena.base.errors import SpecError
from cloudarena.optimizers.spaces.encoding import Encoding
from cloudarena.scenarios.clusters.policies.model.compositions import Compositions, ShareSpace
from cloudarena.workloads.clusters.batches import Group


class JointCompositions(ShareSpace):
    """All shares of virtual clusters; the share of the last one changes from number to number.

    Args:
        groups: the virtual clusters, each with VMs and the indices of its classes.
        allow_idle: whether VMs may be left without a class.
    """

    def __init__(self, groups: Sequence[Group], allow_idle: bool = False) -> None:
        self.groups = tuple(groups)
        self.classes = sum(len(one.classes) for one in self.groups)
        if sorted(c for one in self.groups for c in one.classes) != list(range(self.classes)):
            raise SpecError("clusters: each class is in exactly one")
        self.vms = sum(one.vms for one in self.groups)
        self.allow_idle = allow_idle
        self.spaces = [Compositions(one.vms, len(one.classes), allow_idle) for one in self.groups]
        self.size = math.prod(space.size for space in self.spaces)

    def parts(self, shares: Ints) -> Iterator[tuple[Compositions, Ints]]:
        """The space of each virtual cluster, and the columns of shares that are its."""
        for space, group in zip(self.spaces, self.groups, strict=True):
            yield space, shares[:, list(group.classes)]

    def join(self, parts: Sequence[Ints]) -> Ints:
        """Shares whose columns for each virtual cluster are given, row by row."""
        shares = np.empty((len(parts[0]), self.classes), np.int64)
        for part, group in zip(parts, self.groups, strict=True):
            shares[:, list(group.classes)] = part
        return shares

    def unrank(self, indices: ArrayLike) -> Ints:
        """The shares of some numbers, a row each."""
        left = self._numbers(indices)
        parts = []
        for space in reversed(self.spaces):
            left, own = np.divmod(left, space.size)
            parts.append(space.unrank(own))
        return self.join(parts[::-1])

    def rank(self, shares: ArrayLike) -> Ints:
        """The indices of some shares."""
        self._check_numbered()
        rows = self._rows(shares)
        ranks = np.zeros(len(rows), np.int64)
        for space, own in self.parts(rows):
            ranks = ranks * space.size + space.rank(own)
        return ranks

    def check(self, shares: ArrayLike) -> Ints:
        """The shares as an array, if each belongs to this space."""
        rows = self._rows(shares)
        for (space, own), group in zip(self.parts(rows), self.groups, strict=True):
            try:
                space.check(own)
            except SpecError as error:
                raise SpecError(f"virtual cluster {group.name}: {error}") from None
        return rows

    def draw(self, count: int, seed: int, purpose: str = "uniform shares") -> Ints:
        """Shares drawn uniformly and independently, from a space of any size."""
        return self.join(
            [
                space.draw(count, seed, f"{purpose} of {group.name}")
                for space, group in zip(self.spaces, self.groups, strict=True)
            ]
        )

    def neighbours(self, shares: ArrayLike) -> Ints:
        """All shares that are one move of a VM away from one of those given, each once.

        A VM moves from a class to another of its virtual cluster.
        """
        rows = self.check(shares)
        around = []
        for row in rows:
            for (space, own), group in zip(self.parts(row[None, :]), self.groups, strict=True):
                moved = space.neighbours(own)
                beside = np.repeat(row[None, :], len(moved), axis=0)
                beside[:, list(group.classes)] = moved
                around.append(beside)
        if not around:
            return np.empty((0, self.classes), np.int64)
        return np.unique(np.concatenate(around), axis=0)

    @property
    def encoding(self) -> Encoding:
        """A gene for each class, as in its own virtual cluster: those of the clusters in a row."""
        encodings = [space.encoding for space in self.spaces]
        lengths = [len(one.levels) for one in encodings]

        def decode(genes: Ints) -> Ints:
            ranks, begin = np.zeros(len(genes), np.int64), 0
            for space, one, length in zip(self.spaces, encodings, lengths, strict=True):
                own = np.ascontiguousarray(genes[:, begin : begin + length])
                ranks = ranks * space.size + one.decode(own)
                begin += length
            return ranks

        return Encoding(tuple(level for one in encodings for level in one.levels), decode)
