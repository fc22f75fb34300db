"""What a method is: a name, a line about it, the options that it declares, and how it selects.

A method is one function under ``@method(name, Options)``. Users give options by keyword, in Python
and on the command line; they are checked against the method's ``Options`` before anything is
evaluated, and the function gets them as one object. Options that several methods have are declared
once, below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Generic, TypeVar, cast

import numpy as np
from pydantic import ConfigDict, Field, PlainValidator, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError, explain, nearest
from cloudarena.contract.spec import Spec
from cloudarena.optimizers.budget.meter import Watcher
from cloudarena.optimizers.ordinal.final_rules import FINAL_RULES, FinalRule
from cloudarena.optimizers.ordinal.within import Margin
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection


class Options(Spec):
    """What a method is told besides the problem; the docstring of a field is its help."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _no_booleans(cls, data: Any) -> Any:
        """Refuses booleans, which no option takes, and makes plain numbers of NumPy's."""
        if not isinstance(data, Mapping):
            return data
        for key, value in data.items():
            if isinstance(value, (bool, np.bool_)):
                raise PydanticCustomError(
                    "not_allowed", f"{key}: {bool(value)} is not allowed: neither true nor false"
                )
        return {k: v.item() if isinstance(v, np.generic) else v for k, v in data.items()}


class Budget(Options):
    """How much may be spent, of methods that know themselves how much they need."""

    evaluations: int | None = Field(None, ge=1)
    """The most evaluations in all, each one replication of one design; no limit by default."""


class FixedBudget(Options):
    """How much is spent, of methods that share out what they are given."""

    evaluations: int = Field(ge=1)
    """The evaluations in all, each one replication of one design."""


class Claim(Options):
    """How sure the method shall be of what it says."""

    confidence: float = Field(0.95, gt=0.0, lt=1.0)
    """The probability with which a claim shall hold, and the level of the intervals."""


class MarginClaim(Claim):
    """A claim that may be about what is good enough."""

    within: Margin = None
    """What is good enough: what the best design may be better by, such as 1%."""


class SeveralClaim(Claim):
    """A claim about several good designs."""

    at_least: int = Field(1, ge=1)
    """How many good designs shall be among the selected."""


class LayersClaim(MarginClaim, SeveralClaim):
    """A claim about designs of the first true layers."""

    good_layers: int = Field(1, ge=1)
    """How many of the first true layers count as good."""


def _read_rule(rule: Any) -> FinalRule | None:
    if rule is not None and rule not in FINAL_RULES:
        raise PydanticCustomError(
            "not_allowed",
            f"{rule!r} is not allowed: one of {', '.join(FINAL_RULES)}."
            + nearest(str(rule), FINAL_RULES),
        )
    return cast("FinalRule | None", rule)


class FinalChoice(Options):
    """How one design is chosen of a front."""

    final_rule: Annotated[FinalRule | None, PlainValidator(_read_rule)] = None
    """How one of the front is chosen: knee, first_objective, max_throughput or random; by default
    the knee, or the best by a single objective."""
    seed: int = 0
    """Decides what the method draws, and the final rule random."""


OptionsT = TypeVar("OptionsT", bound=Options)


class Method(Generic[OptionsT]):
    """A way to choose among designs; call it with a problem and options by keyword."""

    def __init__(
        self,
        name: str,
        options: type[OptionsT],
        select: Callable[[Problem, OptionsT, Watcher | None], Selection],
        limits: bool = False,
        searches: bool = False,
    ) -> None:
        self.name = name
        self.options = options
        self.select = select
        self.takes_limits = limits
        self.searches = searches
        self.__doc__ = select.__doc__

    def __call__(
        self, problem: Problem, *, watcher: Watcher | None = None, **options: Any
    ) -> Selection:
        """Chooses among the designs of a problem.

        Args:
            problem: what is optimised.
            watcher: is called again and again with the progress.
            options: as the method declares them.
        """
        if problem.limits and not self.takes_limits:
            raise SpecError(
                f"where: {problem.limits[0]} is not allowed for method {self.name}, which knows no "
                "limits"
            )
        if problem.is_continuous and not self.searches:
            raise SpecError(
                f"designs: a range without steps is not allowed for method {self.name}, which "
                "tries each design: say steps, or in the study sample: 1000, or search"
            )
        return self.select(problem, self.read(options), watcher)

    def __repr__(self) -> str:
        return f"<method {self.name}>"

    @property
    def description(self) -> str:
        """What the method does, on one line."""
        return (self.__doc__ or "").partition("\n")[0]

    @property
    def option_names(self) -> tuple[str, ...]:
        """The options that the method has."""
        return tuple(self.options.model_fields)

    @property
    def required(self) -> tuple[str, ...]:
        """The options that have no default."""
        return tuple(name for name, info in self.options.model_fields.items() if info.is_required())

    def read(self, given: Mapping[str, Any]) -> OptionsT:
        """The options, if all are known and allowed, and none is missing."""
        for name in given:
            if name not in self.option_names:
                raise SpecError(
                    f"{name}: is not allowed for method {self.name}: it has "
                    f"{', '.join(self.option_names)}.{nearest(name, self.option_names)}"
                )
        for name in self.required:
            if name not in given:
                raise SpecError(f"{name}: is required for method {self.name}")
        try:
            return self.options.model_validate(dict(given))
        except ValidationError as error:
            raise SpecError(explain(error.errors(include_url=False))) from None


def method(
    name: str, options: type[OptionsT], limits: bool = False, searches: bool = False
) -> Callable[[Callable[[Problem, OptionsT, Watcher | None], Selection]], Method[OptionsT]]:
    """Makes a method of a function.

    Args:
        name: what users write, such as ``los``.
        options: what the method is told; the function's second argument.
        limits: whether it knows what to do with limits.
        searches: whether it looks at some designs only, so that keys may be continuous.
    """
    return lambda select: Method(name, options, select, limits, searches)
