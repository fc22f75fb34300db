"""What a kind of scenario is made of, said once.

A kind is a package with the rooms ``spec``, ``sources``, ``state``, ``build``, ``kernel``,
``decision``, ``run``, ``policies``, ``replay``, ``metrics``, ``tables`` and ``observe``. Its
``KIND`` says what people see first and names the package; each room is imported when it is first
needed, so that a spec is validated without Numba.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import CloudarenaError, check_choice
from cloudarena.base.names import UNSERVED
from cloudarena.contract.metric import Metric
from cloudarena.contract.plot import Plot, Slices, TradeOff

if TYPE_CHECKING:
    from cloudarena.contract.candidates import Candidates
    from cloudarena.contract.decision import Observer
    from cloudarena.contract.earnings import Earnings
    from cloudarena.contract.model import Model
    from cloudarena.contract.picture import Picture
    from cloudarena.contract.result import RecordLevel
    from cloudarena.contract.run import Run
    from cloudarena.contract.scenario import Scenario
    from cloudarena.contract.source import Source
    from cloudarena.policies.book import PolicyBook

ROOMS = (
    *("spec", "sources", "state", "build", "kernel", "decision", "run"),
    *("policies", "replay", "metrics", "tables", "observe"),
)
"""The modules, or packages, that every kind has."""


@dataclass(frozen=True)
class Kind:
    """A kind of scenario: what is decided in it, and where its parts are."""

    name: str
    """What users write as ``scenario:``, such as ``vm``."""
    package: str
    """The package with the rooms: ``__name__`` of the module that makes the kind."""
    description: str
    """What is decided, on one line."""
    unit_of_work: str
    """What is served or left unserved, such as ``requests``: ``unserved_share`` is its share."""
    headline: str
    """The metric by which policies are ranked when nobody says otherwise."""
    default_policy: str
    """The policy of a run when neither the user nor the spec names one."""
    example: str
    """The entry of the catalogue that stands for the kind, in learning and in checks."""
    toy: str
    """The entry of the catalogue that is so small that its answer can be worked out by hand."""
    small: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the example's keys that make it small enough for checks."""
    plots: tuple[Plot, ...] = ()
    """What the report draws over time."""
    slices: Slices | None = None
    """What a timeline draws (``run --trace``)."""
    trade_offs: tuple[TradeOff, ...] = ()
    """Pairs of metrics that the report draws against each other."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Closed-form models that a study may search instead of simulating: the key that users write,
    and the class, as in ``policies.model.study:Shares``."""

    decides: tuple[str, ...] = ()
    """What is decided, each an environment of its own; the name of the kind if it is one thing."""
    load_keys: tuple[str, ...] = ()
    """The keys of a spec that say how much work comes, where work is generated: as far as a spec
    has them."""
    prices: str = ""
    """The keys of a spec that say what things cost, for who asks by money and has set none."""
    compile_s: float = 0.0
    """How long its first run compiles, as far as one knows; 0 where that is not worth a word."""
    own_metrics: tuple[Metric, ...] = ()
    """What a user measures besides."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.name):
            raise CloudarenaError(
                f"kind {self.name!r} is not allowed: lower-case letters, digits and hyphens"
            )
        if not self.decides:
            object.__setattr__(self, "decides", (self.name,))
        missing = [room for room in ROOMS if find_spec(f"{self.package}.{room}") is None]
        if missing:
            raise CloudarenaError(
                f"kind {self.name}: {self.package} is not allowed: it has no {', '.join(missing)}"
            )
        for entry in (self.example, self.toy):
            name = entry.removeprefix(f"{self.name}/")
            if not (self.entries / f"{name}.yaml").is_file():
                raise CloudarenaError(f"kind {self.name}: {entry} is not in {self.entries}")

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash((self.name, self.package))

    def __reduce__(self) -> Any:
        return _kind_of, (self.package, self.own_metrics)

    def room(self, name: str) -> ModuleType:
        """One of the modules of the kind."""
        return importlib.import_module(f"{self.package}.{name}")

    @cached_property
    def entries(self) -> Path:
        """The folder with the kind's entries of the catalogue, one YAML file each."""
        home = Path(__file__).parents[1] / "catalogue" / self.name
        if self.package.startswith("cloudarena.") and home.is_dir():
            return home
        found = find_spec(self.package)
        places = found.submodule_search_locations if found is not None else None
        return Path(next(iter(places or ["."]))) / "catalogue"

    @cached_property
    def scenario(self) -> type[Scenario]:
        """The class of what a user writes."""
        from cloudarena.contract.scenario import Scenario

        return self._only(Scenario, "spec")

    @cached_property
    def run(self) -> Callable[[Scenario, int, RecordLevel], Run[Any]]:
        """The class of the runs."""
        from cloudarena.contract.run import Run

        self.check()
        return self._only(Run, "run")

    @cached_property
    def policies(self) -> PolicyBook:
        """The built-in policies."""
        found: PolicyBook = self.room("policies").POLICIES
        return found

    @cached_property
    def sources(self) -> dict[str, type[Source]]:
        """Where work may come from, by name: the formats, the generators, and the spec itself."""
        found: tuple[type[Source], ...] = getattr(self.room("sources"), "SOURCES", ())
        return {name: source for source in found for name in source.names()}

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """What a run measures, in the order in which the room defines it."""
        values = vars(self.room("metrics")).values()
        return (*(value for value in values if isinstance(value, Metric)), *self.own_metrics)

    def measuring(self, *metrics: Metric) -> Kind:
        """The kind with metrics of a user's besides its own."""
        for metric in metrics:
            if not isinstance(metric, Metric):
                raise CloudarenaError(
                    f"metric {metric!r} is not allowed: a function under @cloudarena.metric()"
                )
            if metric.name in self.metric:
                raise CloudarenaError(f"metric {metric.name!r} is not allowed: {self.name} has one")
        return replace(self, own_metrics=(*self.own_metrics, *metrics)) if metrics else self

    @cached_property
    def metric(self) -> dict[str, Metric]:
        """The metrics by name."""
        return {metric.name: metric for metric in self.metrics}

    @property
    def highlights(self) -> tuple[str, ...]:
        """The metrics that a short table shows."""
        return tuple(metric.name for metric in self.metrics if metric.highlight)

    @cached_property
    def make_tables(self) -> Callable[[Any], dict[str, Any]]:
        """Makes the tables of a run."""
        found: Callable[[Any], dict[str, Any]] = self.room("tables").make_tables
        return found

    @cached_property
    def observer(self) -> Callable[[Scenario, str], Observer]:
        """The class that shows a run to learning: the one of ``observe`` named ``...Observer``."""
        room = self.room("observe")
        names = [name for name in vars(room) if name.endswith("Observer")]
        found: Callable[[Scenario, str], Observer] = getattr(room, names[-1])
        return found

    @cached_property
    def candidates(self) -> dict[str, Candidates]:
        """How its decisions are shown to learners, by what is decided; none in some kinds."""
        found: dict[str, Candidates] = getattr(self.room("observe"), "CANDIDATES", {})
        return found

    @cached_property
    def rankings(self) -> dict[str, Candidates]:
        """What learned policies may decide besides, by whole runs: it is no environment."""
        found: dict[str, Candidates] = getattr(self.room("observe"), "RANKINGS", {})
        return found

    @cached_property
    def earnings(self) -> Earnings | None:
        """The rewards that are sums of what the kernel counts; None where there are none."""
        found: Earnings | None = getattr(self.room("observe"), "EARNINGS", None)
        return found

    @cached_property
    def picture(self) -> Callable[[Any], Picture] | None:
        """What a drawing of a run shows; None where there is nothing to be drawn."""
        found: Callable[[Any], Picture] | None = getattr(self.room("observe"), "picture", None)
        return found

    def reward(self, name: str) -> Callable[[Any], float]:
        """What learning has earned in a run so far, by a metric with a direction."""
        check_choice("reward", name, [metric.name for metric in self.metrics if metric.better])
        return self.metric[name].earned

    def model(self, name: str) -> type[Model]:
        """The class of a closed-form model, by the key that users write."""
        check_choice("model", name, self.models)
        room, _, attribute = self.models[name].partition(":")
        found: type[Model] = getattr(self.room(room), attribute)
        return found

    def memory_needs(self, scenario: Scenario, record: RecordLevel) -> tuple[float, str]:
        """How many bytes a run takes at least, and the keys that decide it with their values."""
        needs: tuple[float, str] = self.room("build").memory_needs(scenario, record)
        return needs

    def check(self) -> None:
        """Raises unless the parts fit together; asked once, before the first run."""
        names = list(self.metric)
        for name in (self.headline, UNSERVED):
            if name not in names:
                raise CloudarenaError(f"kind {self.name}: {name} is not one of its metrics")
        for name in self.candidates:
            if name not in self.decides:
                raise CloudarenaError(f"kind {self.name}: {name} is not one of its decides")
        if self.highlights[:1] != (UNSERVED,):
            raise CloudarenaError(f"kind {self.name}: {UNSERVED} is not the first highlight")
        if self.default_policy.partition(":")[0] not in self.policies:
            raise CloudarenaError(
                f"kind {self.name}: {self.default_policy} is not one of its policies"
            )

    def _only(self, base: type[Any], room: str) -> Any:
        """The one class of a room that extends another."""
        found = [
            value
            for value in vars(self.room(room)).values()
            if isinstance(value, type)
            and issubclass(value, base)
            and value.__module__.startswith(f"{self.package}.{room}")
        ]
        if len(found) != 1:
            raise CloudarenaError(
                f"kind {self.name}: {self.package}.{room} has {len(found)} classes that extend "
                f"{base.__name__}: one is needed"
            )
        return found[0]


def _kind_of(package: str, own_metrics: tuple[Metric, ...]) -> Any:
    """The kind of a package, for another process."""
    return importlib.import_module(package).KIND.measuring(*own_metrics)
