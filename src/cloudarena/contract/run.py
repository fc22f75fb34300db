"""A run: it moves time, asks, and measures. It never knows who decides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cloudarena.base.errors import InvalidAction
from cloudarena.contract.result import RecordLevel, Result
from cloudarena.policies.blame import asked
from cloudarena.policies.policy import Policy
from cloudarena.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

    from cloudarena.contract.candidates import Candidates
    from cloudarena.contract.scenario import Scenario

DecisionT = TypeVar("DecisionT")


class Anyone:
    """The policy for which a decision is shown: one that needs nothing and orders no queue."""

    name = "anyone"
    needs = ""
    order = None
    early = False


ANYONE: Any = Anyone()


class Run(ABC, Generic[DecisionT]):
    """What the runs of all kinds share.

    A kind says ``now``, ``is_deciding``, ``show`` and ``take``. A decision is built once, when it
    is first asked for, and kept until the next action.
    """

    def __init__(self, scenario: Scenario, seed: int, record: RecordLevel) -> None:
        self.scenario = scenario
        self.seed = seed
        self.record = record
        self.parts: dict[Any, Any] = {}
        """What several metrics share, for as long as nothing happens."""
        self._decision: DecisionT | None = None

    @property
    @abstractmethod
    def now(self) -> float:
        """The time in seconds since the run began."""

    @property
    @abstractmethod
    def is_deciding(self) -> bool:
        """Whether something is to be decided; moves to the first decision if need be."""

    @abstractmethod
    def show(self) -> DecisionT:
        """What must be decided now, as a policy sees it."""

    @abstractmethod
    def take(self, action: Any) -> None:
        """Takes an action and advances; raises InvalidAction, and changes nothing, if it may not.

        It is called only while something is to be decided.
        """

    @property
    def decision(self) -> DecisionT | None:
        """What must be decided now; None when the run has ended."""
        if self._decision is None and self.is_deciding:
            self._decision = self.show()
        return self._decision

    def apply(self, action: Any) -> None:
        """Takes the action and advances to the next decision or to the end.

        Raises InvalidAction, and changes nothing, when the action is not allowed.
        """
        if not self.is_deciding:
            raise InvalidAction("the run has ended: there is nothing to decide")
        self.take(action)
        self._moved()

    def _moved(self) -> None:
        """Forgets what was true before time moved."""
        self._decision = None
        self.parts.clear()

    @property
    def asks(self) -> str:
        """Which kind of decision is to be taken now, such as ``place``."""
        decision: Any = self.decision
        return str(decision.kind)

    def fill(self, candidates: Candidates, features: Any, context: Any, actions: Any) -> int:
        """Writes the candidates of the decision that the run is at, and returns their number."""
        decision: Any = self.decision
        return int(candidates.compiled(*decision.arguments(ANYONE), features, context, actions))

    def apply_numbers(self, numbers: list[int]) -> bool:
        """Applies a candidate; returns whether something is to be decided then."""
        self.apply(numbers[0] if len(numbers) == 1 else tuple(numbers))
        return self.is_deciding

    def totals(self) -> Any:
        """A copy of the sums that the run keeps, one record; None if it keeps none."""
        return None

    def risen(self, before: Any, after: Any) -> dict[str, Any]:
        """How much each total rose by, of those that did."""
        if after is None:
            return {}
        rises = {name: (after[name] - before[name]).item() for name in after.dtype.names}
        return {name: rise for name, rise in rises.items() if rise}

    def play(self, policy: Policy) -> None:
        """Lets the policy decide until the run ends; compiled, where the kind can do that."""
        while (decision := self.decision) is not None:
            self.apply(asked(policy, decision))

    def metrics(self) -> dict[str, float]:
        """The metrics so far; final once ``decision`` is None."""
        return {metric.name: metric(self) for metric in self.scenario.kind.metrics}

    def tables(self) -> dict[str, pa.Table]:
        """What was recorded, by name; nobody asks when ``record`` is none."""
        return self.scenario.kind.make_tables(self)

    def result(self) -> Result:
        """The metrics and, as far as they were recorded, the tables of a run that has ended."""
        return Result(
            metrics=self.metrics(),
            tables={} if self.record == "none" else self.tables(),
            scenario=self.scenario.name,
            seed=self.seed,
            version=__version__,
            tick_seconds=getattr(self.scenario, "tick_seconds", None),
            spec=self.scenario,
        )
