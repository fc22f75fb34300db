"""A space of designs as a user writes it: policies, their parameters, keys of the spec.

A design is a mapping: ``policy`` is the policy, ``NAME.parameter`` a parameter of the policy NAME,
which only designs with that policy have, and every other key one of the spec, as for ``--set``.
Designs are numbered, not stored: policy by policy, the last key running fastest.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.errors import SpecError, nearest
from cloudarena.contract import Spec
from cloudarena.engine.streams import stream
from cloudarena.optimizers import Encoding, Grid
from cloudarena.optimizers.spaces.regions import Region, united

MOST_CHECKED = 2_000_000
"""Combinations that are tried against the rules one by one; of more, a sample must be taken."""
FINE_STEPS = 1001
"""Levels of a range without steps."""
TRIES = 1000
"""Combinations that are drawn, at most, for each design of a sample."""
_ORDERS: dict[str, Callable[[Any, Any], Any]] = {"<": operator.lt, "<=": operator.le}

Design = dict[str, Any]


class Range(Spec):
    """Levels between two numbers: so many ``steps``, or each ``step``; else a fine grid."""

    first: float = Field(alias="from")
    to: float
    steps: int | None = Field(None, ge=1, le=1_000_000)
    step: float | None = Field(None, gt=0)

    @model_validator(mode="after")
    def _is_a_range(self) -> Range:
        if self.to < self.first:
            raise PydanticCustomError(
                "not_allowed", f"to: {self.to:g} is not allowed: at least from, {self.first:g}"
            )
        if self.steps is not None and self.step is not None:
            raise PydanticCustomError("not_allowed", "steps and step are not allowed together")
        return self

    def levels(self) -> list[float]:
        """The numbers, whole where they are, without the dust of adding up decimals."""
        if self.step is not None:
            count = math.floor((self.to - self.first) / self.step + 1e-9) + 1
            numbers = self.first + self.step * np.arange(count)
        else:
            numbers = np.linspace(self.first, self.to, self.steps or FINE_STEPS)
        rounded = [float(f"{number:.12g}") for number in numbers]
        whole = self.step is not None and all(number.is_integer() for number in rounded)
        return [int(number) for number in rounded] if whole else rounded


class _Block(NamedTuple):
    """The designs of one policy."""

    grid: Grid
    kept: Ints | None
    """The indices of the designs that keep the rules; None if all do, or if nobody has looked."""
    unchecked: bool = False
    """Whether nobody has looked, since they are too many."""

    @property
    def size(self) -> int:
        return len(self.grid) if self.kept is None else len(self.kept)

    def grid_index(self, number: Ints) -> Ints:
        """The indices in the grid of some designs."""
        return number if self.kept is None else self.kept[number]


class DesignSpace(Sequence[Design]):
    """All designs, or a sample of them.

    Args:
        levels: for each key its levels; ``policy`` is among them.
        rules: such as ``["low < high"]``; each holds for the designs that have all its keys.
        sample: how many designs are drawn, uniformly; all by default.
        seed: of the sample.
        continuous: keys whose levels stand for all numbers between.
    """

    def __init__(
        self,
        levels: Mapping[str, Iterable[Any]],
        rules: Sequence[str] = (),
        sample: int | None = None,
        seed: int = 0,
        continuous: Iterable[str] = (),
    ) -> None:
        self.continuous = frozenset(continuous)
        self.is_sampled = sample is not None
        self.levels = {key: tuple(values) for key, values in levels.items()}
        self._rules = [_Rule(text, self.levels) for text in rules]
        grids = [self._grid_of(policy) for policy in self.levels["policy"]]
        self.combinations = sum(map(len, grids))
        """How many designs there are before rules and sample."""
        if sample is None:
            self._blocks = [self._block_of(grid) for grid in grids]
        else:
            self._blocks = self._sampled(grids, sample, seed)
        self._ends = np.cumsum([block.size for block in self._blocks])
        if not len(self):
            raise SpecError(f"where: {list(rules)} is not allowed: no design keeps all rules")

    def __len__(self) -> int:
        return int(self._ends[-1])

    @overload
    def __getitem__(self, number: int) -> Design: ...
    @overload
    def __getitem__(self, number: slice) -> list[Design]: ...
    def __getitem__(self, number: int | slice) -> Design | list[Design]:
        if isinstance(number, slice):
            return [self[index] for index in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(f"{number} of {len(self)} designs")
        number = number % len(self)
        index = int(np.searchsorted(self._ends, number, side="right"))
        block = self._blocks[index]
        within = number - (int(self._ends[index - 1]) if index else 0)
        return block.grid[int(block.grid_index(np.array([within]))[0])]

    @property
    def encoding(self) -> Encoding | None:
        """A gene for each key; genes that break a rule stand for the next design that does not."""
        if len(self._blocks) != 1:
            return None
        self.check_each()
        grid, kept, _ = self._blocks[0]
        if kept is None:
            return grid.encoding

        def decode(genes: Ints) -> Ints:
            indices = grid.encoding.decode(genes)
            return np.minimum(np.searchsorted(kept, indices), len(kept) - 1)

        return Encoding(grid.encoding.levels, decode)

    @property
    def regions(self) -> tuple[Region, ...] | None:
        """The designs as points, a region for policies with the same keys; None of a sample."""
        if self.is_sampled:
            return None
        starts = [0, *self._ends[:-1].tolist()]
        alike: dict[tuple[str, ...], list[Region]] = {}
        for block, start in zip(self._blocks, starts, strict=True):
            alike.setdefault(tuple(block.grid.levels), []).append(self._region(block, start))
        return tuple(
            united(regions, keys.index("policy")) if len(regions) > 1 else regions[0]
            for keys, regions in alike.items()
        )

    def _region(self, block: _Block, start: int) -> Region:
        whole = block.grid.region(self.continuous)
        if block.unchecked:
            rules = self._rules_of(block.grid)
            return whole._replace(
                numbers=lambda points: start + whole.numbers(points),
                allowed=lambda points: _keep(rules, block.grid, whole.numbers(points)),
            )
        kept = block.kept
        if kept is None:
            return whole._replace(numbers=lambda points: start + whole.numbers(points))

        def place(points: Ints) -> Ints:
            return np.minimum(np.searchsorted(kept, whole.numbers(points)), len(kept) - 1)

        return whole._replace(
            numbers=lambda points: start + place(points),
            allowed=lambda points: kept[place(points)] == whole.numbers(points),
        )

    def some(self, count: int) -> Ints:
        """About so many designs that keep the rules, from all over the space."""
        if not any(block.unchecked for block in self._blocks):
            return np.unique(np.linspace(0, len(self) - 1, count).astype(np.int64))
        rng = stream(0, "some designs")
        regions = self.regions or ()
        each = -(-count // len(regions))
        return np.unique(
            np.concatenate([region.numbers(region.draw(each, rng)) for region in regions])
        )

    def check_each(self) -> None:
        """Raises if the designs are too many to try each against the rules."""
        for block in self._blocks:
            if block.unchecked:
                raise SpecError(
                    f"where: {len(block.grid):,} designs are too many to try each: at most "
                    f"{MOST_CHECKED:,}; take fewer steps, or a sample: in the study, sample: 1000"
                )

    def _rules_of(self, grid: Grid) -> list[_Rule]:
        return [rule for rule in self._rules if rule.applies(grid)]

    def _grid_of(self, policy: str) -> Grid:
        """The keys of the designs with a policy: its own parameters, not those of others."""
        others = [f"{name}." for name in self.levels["policy"] if name != policy]
        return Grid(
            {
                key: (policy,) if key == "policy" else values
                for key, values in self.levels.items()
                if not any(key.startswith(other) for other in others)
            }
        )

    def _block_of(self, grid: Grid) -> _Block:
        rules = self._rules_of(grid)
        if not rules:
            return _Block(grid, None)
        if len(grid) > MOST_CHECKED:
            return _Block(grid, None, unchecked=True)
        indices = np.arange(len(grid))
        return _Block(grid, indices[_keep(rules, grid, indices)])

    def _sampled(self, grids: list[Grid], sample: int, seed: int) -> list[_Block]:
        """Blocks with designs drawn uniformly from those that keep the rules, each once."""
        ends = np.cumsum([len(grid) for grid in grids])
        rng = stream(seed, "sample of designs")
        drawn = np.empty(0, np.int64)
        tried = 0
        while len(drawn) < sample and tried < TRIES * sample:
            fresh = rng.integers(0, ends[-1], sample)
            tried += sample
            good = np.ones(sample, np.bool_)
            for number, grid in enumerate(grids):
                start = ends[number] - len(grid)
                within = np.flatnonzero((fresh >= start) & (fresh < ends[number]))
                rules = self._rules_of(grid)
                good[within] = _keep(rules, grid, fresh[within] - start)
            both = np.concatenate((drawn, fresh[good]))
            drawn = both[np.sort(np.unique(both, return_index=True)[1])]  # in the order drawn
        chosen = np.sort(drawn[:sample])
        blocks = []
        for number, grid in enumerate(grids):
            start = ends[number] - len(grid)
            inside = chosen[(chosen >= start) & (chosen < ends[number])]
            blocks.append(_Block(grid, inside - start))
        return blocks


class _Rule:
    """A chain such as ``low < lowered <= 0.6 < high``, of keys and numbers."""

    def __init__(self, text: str, levels: Mapping[str, Sequence[Any]]) -> None:
        parts = [part.strip() for part in re.split(r"(<=|<)", text)]
        self._orders = [_ORDERS[sign] for sign in parts[1::2]]
        self._terms: list[str | float] = []
        if not self._orders:
            raise SpecError(
                f"where: {text!r} is not allowed: keys and numbers with < or <= between"
            )
        for part in parts[::2]:
            if part in levels:
                for value in levels[part]:
                    if isinstance(value, bool) or not isinstance(value, int | float):
                        raise SpecError(
                            f"where: {text!r} is not allowed: {part} has the level {value!r}, "
                            "which is no number"
                        )
                self._terms.append(part)
                continue
            try:
                self._terms.append(float(part))
            except ValueError:
                raise SpecError(
                    f"where: {text!r} is not allowed: {part!r} is neither a key of designs nor a "
                    f"number.{nearest(part, levels)}"
                ) from None

    def applies(self, grid: Grid) -> bool:
        """Whether designs of the grid have all keys of the rule."""
        return all(isinstance(term, float) or term in grid.levels for term in self._terms)

    def holds(self, values: Mapping[str, Floats]) -> Flags:
        """Whether designs with these values keep the rule."""
        terms = [values[term] if isinstance(term, str) else term for term in self._terms]
        kept = [
            order(first, second)
            for order, first, second in zip(self._orders, terms, terms[1:], strict=False)
        ]
        return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*kept)))

    @property
    def keys(self) -> list[str]:
        """The keys in it."""
        return [term for term in self._terms if isinstance(term, str)]


def _keep(rules: Sequence[_Rule], grid: Grid, indices: Ints) -> Flags:
    """Whether the designs at some indices of a grid keep all rules."""
    good = np.ones(len(indices), np.bool_)
    axes = dict(zip(grid.levels, np.unravel_index(indices, grid.shape), strict=True))
    for rule in rules:
        values = {key: np.array(grid.levels[key], np.float64)[axes[key]] for key in rule.keys}
        good &= rule.holds(values)
    return good


def policy_text(design: Design) -> str:
    """The policy of a design with its parameters, such as ``utilisation:high=0.9``."""
    name = design["policy"]
    start = f"{name}."
    settings = [
        f"{key.removeprefix(start)}={_written(value)}"
        for key, value in design.items()
        if key.startswith(start)
    ]
    return ":".join([name, *settings])


def spec_changes(design: Design) -> dict[str, Any]:
    """The keys of the spec that a design sets."""
    start = f"{design['policy']}."
    return {
        key: value for key, value in design.items() if key != "policy" and not key.startswith(start)
    }


def design_text(design: Any) -> str:
    """A design in a line: its policy, then what it changes of the spec."""
    if not isinstance(design, Mapping):
        return str(design)
    changes = [f"{key}={_written(value)}" for key, value in spec_changes(dict(design)).items()]
    return " ".join([policy_text(dict(design)), *changes])


def _written(value: Any) -> str:
    """A value as the command line takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
