"""Designs on a grid: every combination of the levels of some parameters."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from cloudarena.base.arrays import Ints
from cloudarena.base.errors import SpecError
from cloudarena.optimizers.spaces.encoding import Encoding
from cloudarena.optimizers.spaces.regions import Axis, Region, all_allowed


class Grid(Sequence[dict[str, Any]]):
    """All combinations, the last parameter running fastest; each is made when it is asked for.

    ``Grid({"threshold": [0.6, 0.8], "policy": ["best-fit", "random"]})[1]`` is
    ``{"threshold": 0.6, "policy": "random"}``.
    """

    def __init__(self, levels: Mapping[str, Iterable[Any]]) -> None:
        self.levels = {name: tuple(values) for name, values in levels.items()}
        if not self.levels:
            raise SpecError("levels: an empty grid is not allowed: at least one parameter")
        for name, values in self.levels.items():
            if not values:
                raise SpecError(f"levels.{name}: an empty list is not allowed: at least one level")
        self.shape = tuple(map(len, self.levels.values()))
        if math.prod(self.shape) >= 2**63:
            raise SpecError(f"levels: {math.prod(self.shape):.3g} combinations are too many: 2^63")

    def __len__(self) -> int:
        return math.prod(self.shape)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[level] for level in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"{index} of {len(self)} designs")
        levels = np.unravel_index(index % len(self), self.shape)
        return {
            name: values[int(level)]
            for (name, values), level in zip(self.levels.items(), levels, strict=True)
        }

    @property
    def encoding(self) -> Encoding:
        """A gene for each parameter: the index of its level."""
        return Encoding(self.shape, self._decode)

    def region(self, continuous: Container[str] = ()) -> Region:
        """The designs as points; axes whose levels are numbers are ordered.

        Args:
            continuous: names of parameters whose levels stand for all numbers between.
        """
        axes = tuple(
            Axis(len(values), all(map(_is_number, values)), name in continuous)
            for name, values in self.levels.items()
        )
        return Region(axes, self._decode, all_allowed)

    @property
    def regions(self) -> tuple[Region, ...]:
        """The one region that there is."""
        return (self.region(),)

    def _decode(self, genes: Ints) -> Ints:
        return np.asarray(np.ravel_multi_index(tuple(genes.T), self.shape), np.int64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
