"""The contract: a simulation is a sequence of decisions.

A run advances until something must be decided, hands the decision to a policy, takes the
action and goes on::

    run = scenario.start(seed=0)
    while (decision := run.decision) is not None:
        run.apply(policy(decision))
    result = run.result()

The command line, the Gymnasium environments, the optimisers, the experiment runner and the
report use what is in this file and nothing behind it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.blame import asked
from cloudarena.errors import CloudarenaError, InvalidAction, SpecError, explain, nearest
from cloudarena.files import written_folder
from cloudarena.measures import AtLeast
from cloudarena.series import history_of_the_whole, resampled
from cloudarena.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

    from cloudarena.policies import PolicyBook

__all__ = [
    "Decision",
    "InvalidAction",
    "Metric",
    "Observer",
    "Plot",
    "Policy",
    "RecordLevel",
    "Result",
    "Scenario",
    "Simulation",
    "Spec",
    "TradeOff",
]

RecordLevel = Literal["none", "summary", "full"]
"""How much a run keeps: metrics only; the tables; the tables and every machine over time."""


class Decision(Protocol):
    """What must be decided now, and what a real decider would know about it.

    Arrays are read-only views of the state and change with the next ``apply``.
    """

    @property
    def kind(self) -> str:
        """Which of the scenario's kinds of decision this is, such as ``place``."""

    @property
    def now(self) -> float:
        """The time of the decision in seconds since the run began."""


Policy = Callable[[Any], Any]
"""Any callable from a decision to an action.

A policy object may also have ``start(scenario, seed)``, called once before each run; only
policies with ``oracle`` in their name may use it to look at the future.
"""


class Metric(NamedTuple):
    """One measured number: its name carries its unit, and ``better`` its direction."""

    name: str
    description: str
    better: Literal["higher", "lower"] | None = None


class Plot(NamedTuple):
    """A column of a table over time, as the report draws it: one line for each policy."""

    title: str
    table: str
    x: str
    y: str
    unit: str
    marks: tuple[str, str] | None = None
    """A table and a column of it: at these times there are vertical lines."""


class TradeOff(NamedTuple):
    """Two metrics of which more of one costs some of the other: the report draws their front."""

    title: str
    x: str
    y: str


class Simulation(ABC):
    """A run: it moves time, asks, and measures. It never knows who decides."""

    def __init__(self, scenario: Scenario, seed: int, record: RecordLevel) -> None:
        self.scenario = scenario
        self.seed = seed
        self.record = record

    @property
    @abstractmethod
    def now(self) -> float:
        """The time in seconds since the run began."""

    @property
    @abstractmethod
    def decision(self) -> Decision | None:
        """What must be decided now; None when the run has ended."""

    @abstractmethod
    def apply(self, action: Any) -> None:
        """Takes the action and advances to the next decision or to the end.

        Raises InvalidAction, and changes nothing, when the action is not allowed.
        """

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """The metrics so far; final once ``decision`` is None."""

    def tables(self) -> dict[str, pa.Table]:
        """What was recorded, by name; nobody asks when ``record`` is none."""
        return {}

    def result(self) -> Result:
        """The metrics and, as far as they were recorded, the tables of a run that has ended."""
        return Result(
            metrics=self.metrics(),
            tables={} if self.record == "none" else self.tables(),
            scenario=self.scenario.name,
            seed=self.seed,
            version=__version__,
            tick_seconds=getattr(self.scenario, "tick_seconds", None),
        )

    def play(self, policy: Policy) -> None:
        """Lets the policy decide until the run ends. Scenarios do this compiled if they can."""
        while (decision := self.decision) is not None:
            self.apply(asked(policy, decision))


class Observer(Protocol):
    """A run as reinforcement learning sees it: features, masks and rewards."""

    @property
    def observation_space(self) -> Any:
        """The Gymnasium space of ``features``."""

    @property
    def action_space(self) -> Any:
        """The Gymnasium space of actions."""

    def features(self, run: Any) -> Any:
        """The observation of the run's current decision; zeros when the run has ended."""

    def mask(self, run: Any) -> Any:
        """True for each action that is allowed now."""

    def action(self, run: Any, choice: Any) -> Any:
        """The scenario's action for an element of the action space."""

    def value(self, run: Any) -> float:
        """What has been earned so far; the reward of a step is its increase."""


@dataclass(frozen=True)
class Result:
    """What a run measured, and what made it."""

    metrics: dict[str, float]
    tables: dict[str, pa.Table]
    scenario: str
    seed: int
    policy: str = ""
    version: str = ""
    notes: tuple[str, ...] = field(default=())
    tick_seconds: float | None = None
    """The length of a tick, where the scenario has ticks."""

    def series(
        self,
        name: str,
        attributes: Sequence[str] | None = None,
        every: int | None = None,
        every_s: float | None = None,
    ) -> pa.Table:
        """The recorded history of all members of ``name``, or of the whole, such as ``series``.

        One row per time and member; of the whole, which has no members, one row per time.

        By default these are the rows as they were recorded. Resampled, each member has at each
        kept time its last row up to then; ``schema.metadata[b"kept"]`` says what was kept.

        Args:
            name: what to look at, such as ``machines``; its table is ``<name>_series``. Or a table
                with one row for each time, such as ``series``, ``power`` or ``periods``.
            attributes: the columns to keep besides the time and the member; all by default.
            every: keeps each n-th of the recorded times, such as ticks, from the first on.
            every_s: keeps the times 0, ``every_s``, 2 ``every_s``, ... seconds, in ``time_s``.
        """
        table, members = self.tables.get(f"{name}_series"), 1
        if table is None:
            table, members = history_of_the_whole(self.tables.get(name)), 0
        if table is None:
            known = [key.removesuffix("_series") for key in self.tables if key.endswith("_series")]
            whole = [
                key for key, one in self.tables.items() if history_of_the_whole(one) is not None
            ]
            there = ", ".join([*known, *whole]) or "none"
            raise CloudarenaError(
                f"series {name!r} was not recorded; there is {there}; record='full' keeps more"
            )
        keys, columns = table.column_names[: 1 + members], table.column_names[1 + members :]
        for attribute in attributes or ():
            if attribute not in columns:
                raise CloudarenaError(
                    f"attribute {attribute!r} is not allowed: one of {', '.join(columns)}."
                    + nearest(attribute, columns)
                )
        table = resampled(table, every, every_s, self.tick_seconds, bool(members))
        if every_s is not None and "time_s" not in keys:
            keys = ["time_s", *keys]
        wanted = [one for one in attributes or columns if one not in keys]
        return table.select([*keys, *wanted])

    def save(self, folder: str | Path) -> Path:
        """Writes ``metrics.json`` and a Parquet file per table into a folder."""
        import json

        import pyarrow.parquet as pq

        with written_folder(folder) as draft:
            text = json.dumps(self.summary(), indent=2, allow_nan=False)
            (draft / "metrics.json").write_text(text + "\n")
            for name, table in self.tables.items():
                pq.write_table(table, draft / f"{name}.parquet", compression="zstd")
        return Path(folder)

    def summary(self) -> dict[str, Any]:
        """What made the result, and its metrics, as plain values for JSON.

        A metric without a value is null; ``at_least`` names the metrics that are lower bounds,
        since some work had not finished.
        """
        return {
            "scenario": self.scenario,
            "policy": self.policy,
            "seed": self.seed,
            "version": self.version,
            "metrics": {
                name: float(value) if math.isfinite(value) else None
                for name, value in self.metrics.items()
            },
            "at_least": [name for name, one in self.metrics.items() if isinstance(one, AtLeast)],
        }


NUMBERS = (int, float, int | None, float | None)


class Spec(BaseModel):
    """Part of what a user writes: frozen, no unknown keys, errors that name the nearest key."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = {info.alias or name: info.annotation for name, info in cls.model_fields.items()}
            for key, value in data.items():
                if key not in known:
                    hint = nearest(str(key), known) or f" Allowed: {', '.join(known)}."
                    raise PydanticCustomError("unknown_key", f"unknown key {str(key)!r}.{hint}")
                # Pydantic would take true for 1.
                if isinstance(value, bool) and known[key] in NUMBERS:
                    raise PydanticCustomError(
                        "not_allowed", f"{key}: {value} is not allowed: a number"
                    )
        return data


class Scenario(Spec, ABC):
    """An immutable, validated description of a cloud and its work."""

    kind: ClassVar[str]
    """The name of the scenario's folder, such as ``vm``."""
    measures: ClassVar[tuple[Metric, ...]]
    """What a run measures, in the order of the table."""
    headline: ClassVar[str]
    """The metric by which policies are ranked when nobody says otherwise."""
    unit_of_work: ClassVar[str]
    """What is served or left unserved, such as ``requests``: ``unserved_share`` is its share."""
    highlights: ClassVar[tuple[str, ...]]
    """The metrics a short table shows."""
    plots: ClassVar[tuple[Plot, ...]]
    """What the report draws over time."""
    trade_offs: ClassVar[tuple[TradeOff, ...]] = ()
    """Pairs of metrics that the report draws against each other."""
    example: ClassVar[str]
    """The entry of the catalogue that stands for the kind, in learning and in checks."""
    default_policy: ClassVar[str]
    """The policy of a run when neither the user nor the spec names one."""
    book: ClassVar[PolicyBook]
    """The built-in policies."""

    scenario: str
    description: str = ""
    policy: str | None = None
    """The policy of a run when the user names none, such as ``utilisation:high=0.9``."""
    record: RecordLevel = "summary"

    _name: str = PrivateAttr(default="")

    @property
    def name(self) -> str:
        """The catalogue name or the path the scenario was loaded from."""
        return self._name or self.kind

    @classmethod
    def parse(
        cls, data: Mapping[str, Any], name: str = "", folder: str | Path | None = None
    ) -> Self:
        """Validates a description; relative paths in it start from ``folder``."""
        try:
            scenario = cls.model_validate(dict(data), context={"folder": folder})
        except ValidationError as error:
            problems = error.errors(include_url=False)
            for problem in problems:
                problem["branches"] = cls.union_branches()  # type: ignore[typeddict-unknown-key]
            prefix = f"{name}: " if name else ""
            raise SpecError(
                "\n".join(prefix + line for line in explain(problems).splitlines())
            ) from None
        scenario._name = name
        return scenario

    @classmethod
    def union_branches(cls) -> tuple[str, ...]:
        """The tags of the scenario's tagged unions, which error messages leave out."""
        return ()

    def compared_policies(self) -> list[str]:
        """The built-in policies that are compared when nobody names any."""
        return self.book.compared_names(getattr(self, "known", ()))

    def memory_needs(self, record: RecordLevel) -> tuple[float, str]:
        """At least how many bytes a run takes, and the keys that decide it with their values."""
        return 0.0, ""

    @abstractmethod
    def start(self, seed: int = 0, record: RecordLevel | None = None) -> Simulation:
        """Begins a run. The seed decides everything that is random in it."""

    @abstractmethod
    def observer(self, reward: str | None = None) -> Observer:
        """The features, masks and rewards for learning; ``reward`` names the metric to earn."""
