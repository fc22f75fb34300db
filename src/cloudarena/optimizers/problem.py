"""What is optimised: designs, and a random experiment that measures objectives of a design.

A design is known to the optimisers by its index only. An evaluation is one replication of one
design. Replications are numbered as well: replication r has the same random numbers for all
designs (common random numbers), unless the problem says otherwise, and what a replication of a
design gives never depends on what else is evaluated, in which order or by how many workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.base.limits import Limit, parse_limit
from cloudarena.base.parallel import in_parallel, worker_count
from cloudarena.engine.streams import stream
from cloudarena.optimizers.budget.moments import Moments, moments_of, no_moments
from cloudarena.optimizers.spaces.encoding import Encoding
from cloudarena.optimizers.spaces.regions import Axis, Region, all_allowed

Direction = Literal["minimise", "maximise"]
Function: TypeAlias = Callable[[Any, np.random.Generator], float | Sequence[float] | Floats]
Objectives: TypeAlias = str | Sequence[str] | Mapping[str, Direction]

MOST_DESIGNS = 50_000_000
"""The designs that can be held in memory with estimates; larger spaces must be sampled."""
BLOCK_VALUES = 2**20
"""Values that are in memory at a time when only their moments are wanted."""


class Objective(NamedTuple):
    """What is measured, and which way is better."""

    name: str
    direction: Direction = "minimise"

    @property
    def sign(self) -> float:
        """Turns a value into a loss, which is always minimised."""
        return 1.0 if self.direction == "minimise" else -1.0


class Problem(ABC):
    """Designs 0 to ``size - 1`` and their stochastic evaluator.

    A kind of problem defines ``simulate``, and ``summarise`` as well if it knows a faster way to
    means and variances than through all values.
    """

    size: int
    """The number of designs. It may be far too large to enumerate."""
    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...] = ()
    """What the means of some metrics must keep; they are measured after the objectives."""
    common_random_numbers: bool = True
    """Whether replication r is the same randomness for all designs."""
    how_to_sample: str = "in a study, sample: 1000"
    """What a user writes to look at some of the designs only."""
    sampled_of: int | None = None
    """How many designs there are, if the problem is a sample of them; None if it has all."""

    @abstractmethod
    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """The values of the objectives, an array of (designs, replications, objectives).

        With limits, the metrics that they are on are further columns, in their order.
        """

    @property
    def columns(self) -> tuple[str, ...]:
        """What is measured: the objectives, then the metrics of the limits."""
        return (*(one.name for one in self.objectives), *(one.metric for one in self.limits))

    def summarise(self, designs: Ints, replications: Ints) -> Moments:
        """Means and squared deviations over the replications, for each design and objective."""
        if not len(designs):
            return no_moments(0, len(self.columns))
        block = max(1, BLOCK_VALUES // (len(replications) * len(self.columns)))
        parts = [
            moments_of(self._checked(designs[start : start + block], replications))
            for start in range(0, len(designs), block)
        ]
        return Moments(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def design(self, index: int) -> Any:
        """The design of a number, as people know it."""
        return int(index)

    @property
    def encoding(self) -> Encoding:
        """The encoding of designs; by default a single gene, the index of the design."""
        return Encoding((self.size,), lambda genes: genes[:, 0])

    @property
    def regions(self) -> tuple[Region, ...]:
        """The designs as points, for methods that search; by default of one axis without order."""
        axis = Axis(self.size, is_ordered=False)
        return (Region((axis,), lambda points: points[:, 0], all_allowed),)

    @property
    def is_continuous(self) -> bool:
        """Whether a key is continuous, so that to try each design makes no sense."""
        return any(axis.is_continuous for region in self.regions for axis in region.axes)

    @property
    def signs(self) -> Floats:
        """1 for each objective that is minimised, -1 for each that is maximised."""
        return np.array([objective.sign for objective in self.objectives])

    def losses(self, values: Floats) -> Floats:
        """What is minimised, of values along the last axis; of limits, by how much they break."""
        signs = [*self.signs, *(limit.sign for limit in self.limits)]
        bounds = [0.0] * len(self.objectives) + [one.sign * one.bound for one in self.limits]
        return np.asarray(values * np.array(signs) - np.array(bounds))

    def evaluate(self, designs: Sequence[int] | Ints, replications: Sequence[int] | Ints) -> Floats:
        """Evaluates each of the designs once in each of the replications.

        Args:
            designs: indices of designs.
            replications: indices of replications, such as ``range(10)``.

        Returns:
            An array of (designs, replications, objectives).
        """
        return self._checked(self._designs(designs), _numbers("replications", replications))

    def estimate(
        self, designs: Sequence[int] | Ints, replications: Sequence[int] | Ints
    ) -> Moments:
        """Evaluates, but keeps only means and squared deviations: less memory and time."""
        indices = self._designs(designs)
        moments = self.summarise(indices, _numbers("replications", replications))
        good = np.isfinite(moments.mean) & np.isfinite(moments.squares)
        if not good.all():
            design, objective = np.unravel_index(int(np.argmin(good)), good.shape)
            raise SpecError(
                f"{self.columns[objective]} of design {indices[design]}: its mean or "
                "variance is too large for a number"
            )
        return moments

    def all_designs(self) -> Ints:
        """The indices of all designs, if there are not too many."""
        if self.size > MOST_DESIGNS:
            raise SpecError(
                f"designs: {self.size:,} are too many to try each: at most {MOST_DESIGNS:,}; "
                f"take a sample of them: {self.how_to_sample}"
            )
        return np.arange(self.size)

    def _designs(self, designs: Sequence[int] | Ints) -> Ints:
        indices = _numbers("designs", designs)
        if len(indices) and indices.max() >= self.size:
            position = int(np.argmax(indices >= self.size))
            raise SpecError(
                f"designs[{position}]: {indices[position]} is not allowed: at most {self.size - 1}"
            )
        return indices

    def _checked(self, designs: Ints, replications: Ints) -> Floats:
        values = np.asarray(self.simulate(designs, replications), np.float64)
        shape = (len(designs), len(replications), len(self.columns))
        if values.shape != shape:
            raise SpecError(f"simulate: the shape {values.shape} is not allowed: {shape}")
        good = np.isfinite(values)
        if not good.all():
            design, replication, objective = np.unravel_index(int(np.argmin(good)), shape)
            raise SpecError(
                f"{self.columns[objective]} of design {designs[design]} "
                f"in replication {replications[replication]}: "
                f"{float(values[design, replication, objective])!r} is not allowed: "
                "a finite number"
            )
        return values


class FunctionProblem(Problem):
    """Any Python function as a problem.

    Args:
        function: takes a design and a random generator and returns a number for each objective.
        designs: any sequence; it may make its items only when they are asked for.
        objectives: the name of what is minimised, several names, or names with directions, such
            as ``{"cost": "minimise", "throughput": "maximise"}``.
        seed: decides all random numbers.
        common_random_numbers: whether all designs get the same generator in a replication.
        workers: processes; -1 is one for each core. The result does not depend on it.
        limits: what means must keep, such as ``["latency_s <= 2"]``; the function returns a number
            for each, after those of the objectives.
    """

    def __init__(
        self,
        function: Function,
        designs: Sequence[Any],
        objectives: Objectives = "loss",
        seed: int = 0,
        common_random_numbers: bool = True,
        workers: int = 1,
        limits: Sequence[str] = (),
    ) -> None:
        if not len(designs):
            raise SpecError("designs: an empty sequence is not allowed: at least one design")
        if workers != -1:
            check_whole("workers", workers, 1, why="or -1 for all cores")
        self.function = function
        self.designs = designs
        self.size = len(designs)
        self.objectives = read_objectives(objectives)
        self.limits = tuple(parse_limit(text, "limits") for text in limits)
        self.seed = seed
        self.common_random_numbers = common_random_numbers
        self.workers = workers

    def design(self, index: int) -> Any:
        """The item of the sequence."""
        return self.designs[int(index)]

    @property
    def encoding(self) -> Encoding:
        """The encoding of the sequence, if it has one."""
        encoding = getattr(self.designs, "encoding", None)
        return encoding if isinstance(encoding, Encoding) else super().encoding

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions of the sequence, if it has some."""
        regions = getattr(self.designs, "regions", None)
        return super().regions if regions is None else tuple(regions)

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """Calls the function for each design and replication."""
        pairs = [(int(d), int(r)) for d in designs for r in replications]
        if self.workers == 1 or len(pairs) < 2:
            values = self._call(pairs)
        else:
            size = max(1, -(-len(pairs) // (4 * worker_count(self.workers))))
            begins = range(0, len(pairs), size)
            parts = [(begin, pairs[begin : begin + size]) for begin in begins]
            found = dict(in_parallel(self._part, parts, self.workers))
            values = [row for begin in begins for row in found[begin]]
        shape = (len(designs), len(replications), len(self.columns))
        return np.array(values, np.float64).reshape(shape)

    def _part(self, begin: int, pairs: list[tuple[int, int]]) -> tuple[int, list[Floats]]:
        """The values of some pairs, with the index of the first: parts come in any order."""
        return begin, self._call(pairs)

    def _call(self, pairs: list[tuple[int, int]]) -> list[Floats]:
        return [self._values(design, replication) for design, replication in pairs]

    def _values(self, design: int, replication: int) -> Floats:
        purpose = f"replication {replication}"
        if not self.common_random_numbers:
            purpose += f" of design {design}"
        result = self.function(self.design(design), stream(self.seed, purpose))
        try:
            values = np.asarray(result, np.float64).reshape(-1)
        except (TypeError, ValueError):
            values = np.empty(0)
        if len(values) != len(self.columns):
            each = "each objective and limit" if self.limits else "each objective"
            raise SpecError(
                f"function: {result!r} is not allowed: a number for {each} "
                f"({', '.join(self.columns)})"
            )
        return values


class WrappedProblem(Problem):
    """The designs of another problem, evaluated in another way."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.size = problem.size
        self.objectives = problem.objectives
        self.limits = problem.limits
        self.common_random_numbers = problem.common_random_numbers
        self.how_to_sample = problem.how_to_sample
        self.sampled_of = problem.sampled_of

    def design(self, index: int) -> Any:
        """Returns the design of the problem."""
        return self.problem.design(index)

    @property
    def encoding(self) -> Encoding:
        """The encoding of the problem."""
        return self.problem.encoding

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions of the problem."""
        return self.problem.regions

    def all_designs(self) -> Ints:
        """The indices of all designs, if the problem has not too many."""
        return self.problem.all_designs()


class Fresh(WrappedProblem):
    """A problem whose first replications are those after the first few of another."""

    def __init__(self, problem: Problem, after: int) -> None:
        super().__init__(problem)
        self.after = after

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """The values in later replications."""
        return self.problem.simulate(designs, replications + self.after)


class Subset(Problem):
    """Some of the designs of a problem, numbered again in the order given."""

    def __init__(self, problem: Problem, designs: Sequence[int] | Ints) -> None:
        self.problem = problem
        self.indices = problem._designs(designs)
        if not len(self.indices):
            raise SpecError("designs: an empty subset is not allowed: at least one design")
        self.size = len(self.indices)
        self.objectives = problem.objectives
        self.limits = problem.limits
        self.common_random_numbers = problem.common_random_numbers
        self.how_to_sample = problem.how_to_sample
        self.sampled_of = problem.sampled_of

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """The values in the whole problem."""
        return self.problem.simulate(self.indices[designs], replications)

    def summarise(self, designs: Ints, replications: Ints) -> Moments:
        """The moments in the whole problem."""
        return self.problem.summarise(self.indices[designs], replications)

    def design(self, index: int) -> Any:
        """The design of the whole problem."""
        return self.problem.design(int(self.indices[index]))


class SomeObjectives(Problem):
    """A problem by some of its objectives, in the order given, and with limits on some."""

    def __init__(
        self, problem: Problem, objectives: Sequence[Objective], limits: Sequence[Limit] = ()
    ) -> None:
        self.problem = problem
        self.size = problem.size
        self.objectives = tuple(objectives)
        self.limits = tuple(limits)
        self.common_random_numbers = problem.common_random_numbers
        self.how_to_sample = problem.how_to_sample
        self.sampled_of = problem.sampled_of
        names = [objective.name for objective in problem.objectives]
        self._columns = [names.index(column) for column in self.columns]

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """The values of these objectives."""
        return self.problem.simulate(designs, replications)[:, :, self._columns]

    def summarise(self, designs: Ints, replications: Ints) -> Moments:
        """The moments of these objectives."""
        counts, mean, squares = self.problem.summarise(designs, replications)
        return Moments(counts, mean[:, self._columns], squares[:, self._columns])

    def design(self, index: int) -> Any:
        """The design of the problem."""
        return self.problem.design(index)

    @property
    def encoding(self) -> Encoding:
        """The encoding of the problem."""
        return self.problem.encoding

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions of the problem."""
        return self.problem.regions


def read_objectives(objectives: Objectives) -> tuple[Objective, ...]:
    """Objectives from a name, names, or names with directions."""
    if isinstance(objectives, str):
        objectives = [objectives]
    if not isinstance(objectives, Mapping):
        names = list(objectives)
        for name in names:
            if names.count(name) > 1:
                raise SpecError(f"objectives: {name!r} is a duplicate")
        objectives = dict.fromkeys(names, "minimise")
    if not objectives:
        raise SpecError("objectives: none is not allowed: at least one name")
    for name, direction in objectives.items():
        check_choice(f"objectives.{name}", direction, ("minimise", "maximise"))
    return tuple(Objective(name, direction) for name, direction in objectives.items())


def _numbers(name: str, indices: Sequence[int] | Ints) -> Ints:
    array = np.asarray(indices)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise SpecError(f"{name}: {indices!r} is not allowed: a sequence of whole numbers")
    if array.size and array.min() < 0:
        position = int(np.argmin(array))
        raise SpecError(f"{name}[{position}]: {array[position]} is not allowed: at least 0")
    if name == "replications" and not array.size:
        raise SpecError("replications: an empty sequence is not allowed: at least one")
    return array.astype(np.int64)
