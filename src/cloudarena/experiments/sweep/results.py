"""What is in a store: as Arrow, pandas, Polars or SQL, and what can be said of it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from cloudarena.base.arrow import pa, pc, pq
from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.base.files import write_text
from cloudarena.experiments.sweep.executors import needed
from cloudarena.experiments.sweep.experiment import Experiment
from cloudarena.experiments.sweep.ledger import DONE, FAILED, Ledger
from cloudarena.experiments.sweep.rows import is_merged, is_metric, is_setting, joined, kind_of
from cloudarena.experiments.sweep.store import LEDGER, RUNS, Store, read_part

TRIES = 5
"""How often files are looked for that a sweep merges at this moment."""

Read = TypeVar("Read", bound=Callable[..., Any])


def as_now(read: Read) -> Read:
    """Reads again what a sweep has merged into other files meanwhile."""

    @wraps(read)
    def wrapped(self: Results, *args: Any, **kwargs: Any) -> Any:
        for _ in range(TRIES):
            try:
                return read(self, *args, **kwargs)
            except FileNotFoundError:
                self._look()
        return read(self, *args, **kwargs)

    return cast("Read", wrapped)


def open_results(folder: str | Path) -> Results:
    """The results of a sweep, from the folder of its store."""
    return Results(folder)


class Results:
    """The rows of a store; nothing is read before it is asked for."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / LEDGER).is_file():
            what = "does not exist" if not self.folder.exists() else f"{LEDGER} is missing"
            raise CloudarenaError(f"{self.folder}: holds no results of a sweep: {what}")
        self._look()

    def _look(self) -> None:
        """Asks the ledger what there is now."""
        self.__dict__.pop("files", None)
        with Ledger(self.folder / LEDGER, read_only=True) as ledger:
            self._outdated = ledger.outdated()
            self._failures = [
                one
                for one in ledger.failures()
                if json.loads(one.cell or "{}").get("cell") not in self._outdated
            ]
            self._parts = ledger.live_parts()
            self._experiments = ledger.experiments()

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many runs are done, how many have failed, and how many are outdated.

        Outdated are those of a policy, a trace, a spec or a version that a later sweep found
        changed.
        """
        with Ledger(self.folder / LEDGER, read_only=True) as ledger:
            done = ledger.counts()[DONE]
        old = self._old_count() if self._outdated else 0
        return {DONE: done - old, FAILED: len(self._failures), "outdated": old}

    @property
    def experiments(self) -> list[Experiment]:
        """The experiments that were run on the store, the last one first."""
        return [Experiment.model_validate_json(text) for text in self._experiments]

    def __len__(self) -> int:
        return self.counts["done"]

    @property
    def kinds(self) -> list[str]:
        """The kinds of scenario that were run."""
        return sorted({kind_of(part) for part in self._parts})

    @cached_property
    def files(self) -> list[str]:
        """The Parquet files that hold the rows."""
        return [str(self.folder / RUNS / part) for part in self._parts]

    @as_now
    def arrow(
        self,
        kind: str | None = None,
        where: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """The rows of all finished runs, in an order that depends on them alone.

        Runs of a policy, a trace, a spec or a version that has changed since are left out; by
        ``sql`` they are in the view ``outdated``.

        Args:
            kind: the kind of scenario, where there are several; all by default, side by side.
            where: which rows, as SQL has it after ``where``.
            columns: which columns; all by default.
        """
        if where is not None:
            chosen = ", ".join(_quoted(one) for one in columns) if columns else "*"
            query = f"select {chosen} from {(kind and _quoted(kind)) or 'runs'} where {where}"
            return self._asked(query, f"--where: {where!r}")
        parts = [part for part in self._parts if kind in (None, kind_of(part))]
        if columns is not None:
            return self._columns(parts, list(columns))
        tables = [
            self._rows([part for part in parts if kind_of(part) == one])
            for one in sorted({kind_of(part) for part in parts})
        ]
        if not tables:
            return pa.table({})
        return (
            tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")
        )

    def pandas(self, where: str | None = None) -> Any:
        """The rows as a pandas data frame."""
        needed("pandas", "analysis")
        return self.arrow(where=where).to_pandas()

    def polars(self, where: str | None = None) -> Any:
        """The rows as a Polars data frame."""
        return needed("polars", "analysis").from_arrow(self.arrow(where=where))

    def sql(self, query: str) -> pa.Table:
        """What a query gives by DuckDB.

        The views are ``runs``, ``failures``, ``outdated`` (runs of what has changed since) and, for
        each kind of scenario, one of its name. Names with a point in them stand in double quotes:
        ``"oversubscription.cpu"``.
        """
        return self._asked(query, f"--sql: {query!r}")

    @as_now
    def _asked(self, query: str, said: str) -> pa.Table:
        """What a query gives; an error begins with what the user said."""
        duckdb = needed("duckdb", "analysis")
        base = duckdb.connect()
        try:
            base.execute("SET enable_progress_bar = false")
            views = {"runs": self._parts}
            views |= {k: [p for p in self._parts if kind_of(p) == k] for k in self.kinds}
            views["outdated"] = self._parts
            base.register(
                "outdated_cells", pa.table({"cell": pa.array(sorted(self._outdated), pa.string())})
            )
            for name, parts in views.items():
                files = [str(self.folder / RUNS / part) for part in parts]
                only = self._only(name == "outdated")
                if files:
                    listed = json.dumps(files).replace("'", "''").replace('"', "'")
                    base.execute(
                        f"CREATE VIEW {_quoted(name)} AS SELECT * FROM "
                        f"read_parquet({listed}, union_by_name=true){only}"
                    )
            base.register("failures", self.failures())
            found = base.sql(query)
            table: pa.Table = pa.table({}) if found is None else found.to_arrow_table()
        except duckdb.Error as error:
            if not all(Path(file).exists() for file in self.files):
                raise FileNotFoundError from None
            words = " ".join(str(error).split())
            raise SpecError(f"{said} is not allowed: {words}") from None
        finally:
            base.close()
        return table

    def failures(self) -> pa.Table:
        """The runs that failed: what they were, the error, and how often they were tried."""
        cells = [json.loads(one.cell or "{}") for one in self._failures]
        names = dict.fromkeys(["scenario", "case", "policy", *(k for cell in cells for k in cell)])
        columns: dict[str, Any] = {
            "key": pa.array([one.key for one in self._failures], pa.string())
        }
        for name in names:
            values = [cell.get(name) for cell in cells]
            is_plain = all(isinstance(value, str | None) for value in values)
            texts = values if is_plain else [None if v is None else json.dumps(v) for v in values]
            columns[name] = pa.array(texts, pa.string())
        columns["seed"] = pa.array([one.seed for one in self._failures], pa.int64())
        columns["error"] = pa.array([one.error for one in self._failures], pa.string())
        columns["tries"] = pa.array([one.tries for one in self._failures], pa.int64())
        return pa.table(columns)

    def settings(self, kind: str) -> list[str]:
        """The columns of what was varied in the runs of a kind."""
        return [field.name for field in self._schema(kind) if is_setting(field)]

    def metrics(self, kind: str) -> list[str]:
        """The columns of metrics of a kind."""
        return [field.name for field in self._schema(kind) if is_metric(field)]

    def compact(self) -> int:
        """Merges the files into a few large ones; returns how many rows there are."""
        with Store(self.folder) as store:
            rows = store.compact()
        self._look()
        return rows

    def to_html(self, path: str | Path, metric: str | None = None) -> Path:
        """Writes the page of the sweep, one file that holds all it needs."""
        sheet = importlib.import_module("cloudarena.report.pages.sweep").make_sheet(self, metric)
        text: str = importlib.import_module("cloudarena.report.page").render(sheet)
        return write_text(path, text)

    def summary(self) -> dict[str, Any]:
        """What there is, as plain values for JSON."""
        return {
            "result": "results",
            "store": str(self.folder),
            "done": self.counts["done"],
            "failed": self.counts[FAILED],
            "outdated": self.counts["outdated"],
            "files": len(self._parts),
            "kinds": {
                kind: {"settings": self.settings(kind), "metrics": self.metrics(kind)}
                for kind in self.kinds
            },
        }

    def _only(self, is_old: bool) -> str:
        """The clause that keeps runs that are outdated, or all others."""
        if not self._outdated and not is_old:
            return ""
        return f" WHERE cell {'' if is_old else 'NOT '}IN (SELECT cell FROM outdated_cells)"

    def _is_old(self, table: pa.Table) -> Any:
        """Which rows are outdated."""
        return pc.is_in(table["cell"], pa.array(sorted(self._outdated), pa.string()))

    @as_now
    def _old_count(self) -> int:
        tables = [self._read(part, ["cell"]) for part in self._parts]
        return sum(int(pc.sum(self._is_old(table)).as_py() or 0) for table in tables)

    def _current(self, table: pa.Table) -> pa.Table:
        """The rows without those that are outdated."""
        return table.filter(pc.invert(self._is_old(table))) if self._outdated else table

    def _rows(self, parts: Sequence[str]) -> pa.Table:
        """The rows of some files of a kind; a merged one is sorted already."""
        tables = [read_part(self.folder / RUNS / part) for part in parts]
        return self._current(
            tables[0] if len(parts) == 1 and is_merged(parts[0]) else joined(tables)
        )

    @as_now
    def _schema(self, kind: str) -> list[Any]:
        fields: dict[str, Any] = {}
        for part in self._parts:
            if kind_of(part) == kind:
                for field in pq.read_schema(self.folder / RUNS / part):
                    fields.setdefault(field.name, field)
        return list(fields.values())

    def _columns(self, parts: Sequence[str], columns: list[str]) -> pa.Table:
        """Some columns of some files; null where a file has none of the name."""
        tables = []
        for part in parts:
            there = pq.read_schema(self.folder / RUNS / part).names
            known = [name for name in dict.fromkeys([*columns, "cell"]) if name in there]
            tables.append(self._current(self._read(part, known)))
        if not tables:
            return pa.table({name: pa.array([], pa.null()) for name in columns})
        together = pa.concat_tables(tables, promote_options="permissive")
        for name in columns:
            if name not in together.column_names:
                raise SpecError(f"column: {name!r} is not allowed: no run has it")
        return together.select(columns)

    def _read(self, part: str, columns: list[str]) -> pa.Table:
        return pq.read_table(self.folder / RUNS / part, columns=columns, partitioning=None)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
