"""A closed-form model of a kind, which a study may search instead of simulating."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from cloudarena.contract.spec import Spec

if TYPE_CHECKING:
    from cloudarena.optimizers.problem import Objective, Problem


class Model(Spec):
    """What a user writes in a study under the name that the kind gives the model.

    A kind lists its models in ``Kind.models``. The optimisers search the model's ``problem``, and
    what they choose becomes a scenario of the kind, to be run as it was computed.
    """

    objectives: ClassVar[tuple[Objective, ...]]
    """What the model computes; all of it is searched for by default."""
    hint: ClassVar[str] = ""
    """How to search the model: told to who optimises a scenario without naming designs."""

    @abstractmethod
    def problem(self, seed: int) -> Problem:
        """The designs and their evaluator."""

    @abstractmethod
    def spec_of(self, design: Any) -> dict[str, Any]:
        """The spec, its policy included, whose run is a replication of a design in the model."""

    @abstractmethod
    def plain(self, design: Any) -> dict[str, Any]:
        """A design under a name, as plain values for JSON."""
