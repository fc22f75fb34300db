"""Designs on a grid: every combination of the levels of some parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from cloudarena.base.arrays import Ints
from cloudarena.base.errors import SpecError
from cloudarena.optimizers.spaces.encoding import Encoding


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
    def __getitem__(self, number: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, number: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, number: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(f"{number} of {len(self)} designs")
        places = np.unravel_index(number % len(self), self.shape)
        return {
            name: values[int(place)]
            for (name, values), place in zip(self.levels.items(), places, strict=True)
        }

    @property
    def encoding(self) -> Encoding:
        """A gene for each parameter: the number of its level."""
        return Encoding(self.shape, self._decode)

    def _decode(self, genes: Ints) -> Ints:
        return np.asarray(np.ravel_multi_index(tuple(genes.T), self.shape), np.int64)
