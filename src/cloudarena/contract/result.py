"""What a run leaves behind: metrics as numbers, tables as Arrow."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from cloudarena.base.errors import CloudarenaError, check_choice, nearest
from cloudarena.base.html import html_table, number_text
from cloudarena.base.measures import AtLeast
from cloudarena.base.results import SPEC, Contents, needed, number_or_null
from cloudarena.base.series import history_of_the_whole, resampled
from cloudarena.contract.own_metrics import described, restored
from cloudarena.contract.saved import Saved

if TYPE_CHECKING:
    import pyarrow as pa

    from cloudarena.contract.pictures import ResultPlots
    from cloudarena.contract.scenario import Scenario

RecordLevel = Literal["none", "summary", "full"]
"""How much a run keeps: metrics only; the tables; the tables and every machine over time."""


@dataclass(frozen=True, eq=False)
class Result(Saved):
    """What a run measured, and what made it."""

    stored_as: ClassVar[str] = "run"
    page: ClassVar[str] = "cloudarena.report.pages.run"

    metrics: dict[str, float]
    tables: dict[str, pa.Table]
    scenario: str
    seed: int
    policy: str = ""
    version: str = ""
    notes: tuple[str, ...] = field(default=())
    tick_seconds: float | None = None
    """The length of a tick, where the scenario has ticks."""
    spec: Scenario | None = field(default=None, repr=False)
    """The scenario that was run; ``scenario`` is its name."""

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

    def __repr__(self) -> str:
        """What ran, and the headline."""
        kind = self.spec.kind if self.spec is not None else None
        value = self.metrics.get(kind.headline) if kind is not None else None
        told = f": {kind.headline} {value:.6g}" if kind is not None and value is not None else ""
        tables = f", tables {', '.join(self.tables)}" if self.tables else ""
        return f"<Result of {self.scenario} under {self.policy}, seed {self.seed}{told}{tables}>"

    def _repr_html_(self) -> str:
        """A table of the metrics, for notebooks."""
        rows = [[name, number_text(value)] for name, value in self.metrics.items()]
        title = f"{self.scenario} under {self.policy}, seed {self.seed}"
        return html_table(["metric", "value"], rows, title)

    @property
    def plot(self) -> ResultPlots:
        """Pictures of the run: ``over_time``, ``heatmap``, ``gantt``."""
        from cloudarena.contract.pictures import ResultPlots

        return ResultPlots(self)

    def to_pandas(self, table: str | None = None) -> Any:
        """The metrics as a pandas Series; or one of the tables as a DataFrame, by its name."""
        if table is not None:
            check_choice("table", table, self.tables)
            return self.tables[table].to_pandas()
        pandas = importlib.import_module("pandas")
        return pandas.Series(self.metrics, name=self.policy, dtype=float)

    def summary(self) -> dict[str, Any]:
        """What made the result, and its metrics, as plain values for JSON.

        A metric without a value is null; ``at_least`` names the metrics that are lower bounds,
        since some work had not finished.
        """
        return {
            "result": self.stored_as,
            "scenario": self.scenario,
            "kind": None if self.spec is None else self.spec.kind.name,
            "policy": self.policy,
            "seed": self.seed,
            "version": self.version,
            "metrics": {name: number_or_null(value) for name, value in self.metrics.items()},
            "at_least": [name for name, one in self.metrics.items() if isinstance(one, AtLeast)],
            "tick_seconds": self.tick_seconds,
            "notes": list(self.notes),
            "tables": list(self.tables),
            **({} if self.spec is None else described(self.spec.kind)),
        }

    def contents(self) -> Contents:
        """The metrics, the tables and the spec."""
        texts = {} if self.spec is None else {SPEC: self.spec.to_yaml(absolute=True)}
        return Contents(self.summary(), self.tables, texts)

    @classmethod
    def restore(cls, contents: Contents) -> Self:
        """The result whose contents these are."""
        from cloudarena.contract.scenario import scenario_from_yaml

        said = contents.summary
        spec = None
        if said["kind"] is not None:
            text = needed(contents, cls.stored_as, SPEC)
            spec = scenario_from_yaml(text, said["scenario"]).measuring(*restored(said))
        return cls(
            metrics={
                name: _measured(value, name in said["at_least"])
                for name, value in said["metrics"].items()
            },
            tables=dict(contents.tables),
            scenario=said["scenario"],
            seed=said["seed"],
            policy=said["policy"],
            version=said["version"],
            notes=tuple(said["notes"]),
            tick_seconds=said["tick_seconds"],
            spec=spec,
        )


def _measured(value: float | None, is_bound: bool) -> float:
    """A metric of ``metrics.json``."""
    known = math.nan if value is None else value
    return AtLeast(known) if is_bound else known
