"""Which metrics need be measured, from a table of strategies and metrics in a file.

A row is a strategy; numbers are metrics, words are not. On part of the strategies a few metrics
are chosen (``cloudarena.reduction``), and on the rest the choice is checked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.checks import check_number, check_whole
from cloudarena.base.errors import CloudarenaError, SpecError, TraceError, check_choice
from cloudarena.base.records import pack, unpack
from cloudarena.base.results import METRICS, Contents
from cloudarena.contract import Saved
from cloudarena.engine.streams import stream
from cloudarena.reduction import CONSISTENT, Reduction, priorities, reduce_metrics
from cloudarena.reduction.reduce import Method
from cloudarena.scenarios import kind_named

if TYPE_CHECKING:
    import pyarrow as pa

Better = Literal["higher", "lower"]

RESULTS = ("replications.parquet", "designs.parquet")
"""The tables of results folders, by preference."""
NO_METRICS = ("seed", "replication", "replications", "design", "layer")
"""Columns of results that number rows, or count."""
LEAST_SAMPLE = 20
"""Strategies that are left to choose on, at least, if some are held out."""
USUAL = 15
"""Strategies that are selected, and that count as good, unless somebody says otherwise."""


class MetricTable(NamedTuple):
    """Strategies (rows) and their metrics (columns)."""

    source: str
    names: tuple[str, ...]
    values: Floats
    better: tuple[Better, ...]

    def without(self, ignored: Sequence[str]) -> MetricTable:
        """The table without some metrics."""
        for name in ignored:
            check_choice("ignore", name, self.names)
        kept = [k for k, name in enumerate(self.names) if name not in ignored]
        if not kept:
            raise SpecError("ignore: all metrics are not allowed: at least one must be left")
        return MetricTable(
            self.source,
            tuple(self.names[k] for k in kept),
            self.values[:, kept],
            tuple(self.better[k] for k in kept),
        )

    def with_lower(self, lower: Sequence[str]) -> MetricTable:
        """The table with some more metrics of which lower is better."""
        for name in lower:
            check_choice("lower", name, self.names)
        better = tuple(
            "lower" if name in lower else way
            for name, way in zip(self.names, self.better, strict=True)
        )
        return self._replace(better=better)


class Weights(NamedTuple):
    """How much each metric of a table counts in the score."""

    values: Floats
    consistency_ratio: float | None
    """How far judgements in pairs contradict each other; None where weights were given."""


class HeldOut(NamedTuple):
    """The check on strategies that had no part in the choice."""

    strategies: int
    selected: int
    good: int
    hits: int
    """How many of the ``good`` best by score are among the ``selected`` best by prediction."""
    correlation: float
    """The correlation of score and prediction."""


@dataclass(frozen=True, eq=False)
class MetricReduction(Saved):
    """Which metrics to measure, and what that is worth."""

    stored_as: ClassVar[str] = "reduction"
    page: ClassVar[str] = "cloudarena.report.pages.reduction"

    table: MetricTable
    reduction: Reduction
    sample: int
    """Strategies on which the metrics were chosen."""
    held_out: HeldOut | None
    options: dict[str, Any]
    wanted: int | None
    """Metrics that were asked for; None if a probability was."""
    alignment: float
    """The probability that was asked for, without a number of metrics."""

    @property
    def chosen(self) -> list[str]:
        """The names of the metrics to measure."""
        return [self.table.names[k] for k in self.reduction.metrics]

    @property
    def unseen_flags(self) -> Flags:
        """Whether each strategy was held out."""
        strategies = len(self.table.values)
        return _held_out(strategies, strategies - self.sample, self.options["seed"])

    def summary(self) -> dict[str, Any]:
        """All of it as plain values for JSON."""
        step = self.reduction.step
        return {
            "result": self.stored_as,
            "table": self.table.source,
            "strategies": len(self.table.values),
            "sample": self.sample,
            "metrics": len(self.table.names),
            "keep": len(self.chosen),
            "chosen": self.chosen,
            "intercept": self.reduction.intercept,
            "coefficients": dict(
                zip(self.chosen, self.reduction.coefficients.tolist(), strict=True)
            ),
            "correlation": step.correlation,
            "residual_sd": step.residual_sd,
            "information_bits": step.information_bits,
            "alignment_probability": step.alignment,
            **self.options,
            "curve": [
                {
                    "metrics": number,
                    "chosen": [self.table.names[k] for k in one.fit.metrics],
                    "residual_sd": one.residual_sd,
                    "information_bits": one.information_bits,
                    "alignment_probability": one.alignment,
                }
                for number, one in enumerate(self.reduction.steps, start=1)
            ],
            "held_out": None if self.held_out is None else self.held_out._asdict(),
            "remark": self.remark,
            "conclusion": self.conclusion(),
        }

    def contents(self) -> Contents:
        """The figures, and what they were made from."""
        return Contents(self.summary(), state=pack(self))

    @classmethod
    def restore(cls, contents: Contents) -> Self:
        """The reduction whose contents these are."""
        return unpack(cls, contents.state)

    @property
    def remark(self) -> str:
        """What was asked for and cannot be had, in a sentence."""
        if self.wanted is not None and len(self.chosen) < self.wanted:
            return (
                f"{self.wanted} were asked for, but the score follows from {len(self.chosen)}: "
                "no other metric adds to it."
            )
        if self.wanted is None and self.reduction.alignment < self.alignment:
            return f"A probability of {self.alignment:g} is out of reach; this comes nearest."
        return ""

    def conclusion(self) -> str:
        """What to measure, and what that is worth, in two or three sentences."""
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """The sentences of the conclusion, of which the first is the answer."""
        wanted = self.options
        answer = (
            f"Measure {len(self.chosen)} of {len(self.table.names)} metrics: the {wanted['s']} "
            f"best by prediction hold at least {wanted['k']} of the {wanted['g']} best strategies "
            f"with probability {self.reduction.alignment:.3g}."
        )
        check = "No strategies were held out to check that."
        if (held := self.held_out) is not None:
            check = (
                f"Of {held.strategies} strategies held out, the {held.selected} best by "
                f"prediction hold {held.hits} of the {held.good} best."
            )
        said = (answer, self.remark, check, self._judged())
        return [sentence for sentence in said if sentence]

    def _judged(self) -> str:
        """How far the judgements behind the weights agree, in a sentence."""
        ratio = self.options.get("consistency_ratio")
        if ratio is None:
            return ""
        words = "they contradict each other" if ratio > CONSISTENT else "they agree"
        return f"The consistency ratio of the judgements is {ratio:.2g}: {words}."


def read_metric_table(path: str | Path, by: str | None = None) -> MetricTable:
    """A table from a CSV or Parquet file, or from a results folder.

    Args:
        path: the file or folder. Of a folder that cloudarena wrote, which way a metric is better
            is known; else higher is.
        by: a column; rows that have the same there are averaged.
    """
    file = Path(path)
    directions: dict[str, Better | None] = {}
    if file.is_dir():
        directions = _directions(file)
        file = _table_of(file)
    table = _read(file)
    if file.name == "designs.parquet" and "selected" in table.column_names:
        table = table.filter(table["selected"])  # of the others not all is known
    if by is not None:
        table = _averaged(table, by)
    names, columns = [], []
    for name in table.column_names:
        column = table[name]
        if name in NO_METRICS or name == by or not _is_number(column.type):
            continue
        if column.null_count:
            raise TraceError(f"{file}: {name}: an empty cell is not allowed: a number")
        if directions and directions.get(name) is None:
            continue
        names.append(name)
        columns.append(np.asarray(column.to_numpy(), np.float64))
    if not names:
        raise TraceError(f"{file}: has no metrics: at least one column of numbers")
    better = tuple(directions.get(name) or "higher" for name in names)
    return MetricTable(str(path), tuple(names), np.column_stack(columns), better)


def read_weights(path: str | Path, table: MetricTable) -> Weights:
    """Weights of metrics from a CSV or Parquet file; metrics that it does not name count nothing.

    Either the columns ``metric`` and ``weight``, or judgements in pairs: a first column with names
    of metrics, and a column for each, of how many times as important the row is as the column.
    """
    file = Path(path)
    found = _read(file)
    names = [str(name) for name in found.columns[0].to_pylist()] if found.num_columns else []
    for name in names:
        check_choice(f"{file}: metric", name, table.names)
    if len(set(names)) < len(names) or not names:
        raise TraceError(f"{file}: {len(names)} rows are not allowed: one for each metric")
    others = found.column_names[1:]
    if found.column_names == ["metric", "weight"]:
        given, ratio = _column(file, found, "weight"), None
        if (given < 0.0).any() or not given.any():
            raise SpecError(
                f"{file}: weight: {given.min():g} is not allowed: at least 0, some more"
            )
    elif others == names:
        judged = priorities(np.column_stack([_column(file, found, name) for name in names]))
        given, ratio = judged.weights, judged.consistency_ratio
    else:
        raise TraceError(
            f"{file}: the columns {', '.join(found.column_names)} are not allowed: metric and "
            "weight, or judgements with the same names in rows and columns"
        )
    values = np.zeros(len(table.names))
    values[[table.names.index(name) for name in names]] = given
    return Weights(values, ratio)


def _column(file: Path, table: pa.Table, name: str) -> Floats:
    column = table[name]
    if column.null_count or not _is_number(column.type):
        raise TraceError(f"{file}: {name}: is not allowed: a number in each row")
    return np.asarray(column.to_numpy(), np.float64)


def reduce_table(
    table: MetricTable,
    keep: int | None = None,
    alignment: float = 0.95,
    selected: int | None = None,
    good: int | None = None,
    at_least: int | None = None,
    held_out: float = 0.25,
    method: Method = "stepwise",
    seed: int = 0,
    weights: Weights | None = None,
) -> MetricReduction:
    """Chooses metrics on part of the strategies, and checks the choice on the rest.

    Args:
        table: strategies and their metrics.
        keep: how many metrics to choose; without it, as few as reach ``alignment``.
        alignment: the wanted probability.
        selected: s, strategies that are selected by prediction; by default 15, or half of them if
            there are no more.
        good: g, strategies that count as good; by default as many.
        at_least: k, good ones that are wanted among the selected; by default two thirds.
        held_out: the share of the strategies that is held out, if enough are left.
        method: how metrics are chosen.
        seed: of which strategies are held out, and of ``ecga``.
        weights: how much each metric counts in the score; all alike by default.
    """
    if not 0.0 <= check_number("holdout", held_out, 0.0) < 1.0:
        raise SpecError(f"holdout: {held_out!r} is not allowed: at least 0, less than 1")
    strategies = len(table.values)
    usual = USUAL if strategies > USUAL else max(1, strategies // 2)
    selected = usual if selected is None else selected
    good = usual if good is None else good
    check_whole("s", selected, 1, strategies)
    check_whole("g", good, 1, strategies)
    at_least = -(-2 * min(selected, good) // 3) if at_least is None else at_least
    check_whole("k", at_least, 1, min(selected, good))
    apart = min(int(held_out * strategies), max(0, strategies - LEAST_SAMPLE))
    is_apart = _held_out(strategies, apart, seed)
    unseen, seen = np.flatnonzero(is_apart), np.flatnonzero(~is_apart)
    reduction = reduce_metrics(
        table.values[seen],
        keep=keep,
        alignment=alignment,
        selected=selected,
        good=good,
        at_least=at_least,
        strategies=strategies,
        weights=None if weights is None else weights.values,
        better=table.better,
        method=method,
        seed=seed,
    )
    check = _check(reduction, table, unseen, selected, good) if apart >= 2 else None
    options: dict[str, Any] = {
        "s": selected, "g": good, "k": at_least, "method": method, "seed": seed
    }  # fmt: skip
    if weights is not None:
        options["weights"] = dict(zip(table.names, weights.values.tolist(), strict=True))
        options["consistency_ratio"] = weights.consistency_ratio
    return MetricReduction(table, reduction, len(seen), check, options, keep, alignment)


def _held_out(strategies: int, apart: int, seed: int) -> Flags:
    """Whether each strategy is held out."""
    flags = np.zeros(strategies, np.bool_)
    flags[stream(seed, "held-out strategies").permutation(strategies)[:apart]] = True
    return flags


def _check(
    reduction: Reduction, table: MetricTable, unseen: Ints, selected: int, good: int
) -> HeldOut:
    """Checks on held-out strategies; as many, in proportion, are selected and good."""
    values, share = table.values[unseen], len(unseen) / len(table.values)
    some = max(1, round(selected * share))
    best = max(1, round(good * share))
    score, predicted = reduction.score(values), reduction.predict(values[:, reduction.metrics])
    spread = np.ptp(score) > 0.0 and np.ptp(predicted) > 0.0
    correlation = float(np.corrcoef(score, predicted)[0, 1]) if spread else 0.0
    return HeldOut(len(unseen), some, best, reduction.hits(values, some, best), correlation)


def _read(file: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    if not file.is_file():
        raise TraceError(f"{file}: does not exist")
    try:
        if file.suffix == ".parquet":
            return pq.read_table(file, partitioning=None)
        return pacsv.read_csv(file)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{file}: cannot be read: {str(error).splitlines()[0]}") from None


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _averaged(table: pa.Table, by: str) -> pa.Table:
    check_choice("by", by, table.column_names)
    names = [name for name in table.column_names if name != by and _is_number(table[name].type)]
    means = table.group_by(by, use_threads=False).aggregate([(name, "mean") for name in names])
    return means.rename_columns([name.removesuffix("_mean") for name in means.column_names])


def _table_of(folder: Path) -> Path:
    """The table of strategies in a results folder."""
    for name in RESULTS:
        if (folder / name).is_file():
            return folder / name
    files = sorted(file for file in folder.iterdir() if file.suffix in (".parquet", ".csv"))
    if len(files) != 1:
        raise TraceError(
            f"{folder}: {len(files)} tables are not allowed: one, or {' or '.join(RESULTS)}"
        )
    return files[0]


def _directions(folder: Path) -> dict[str, Better | None]:
    """Which way each metric is better, by the scenario that a results folder names."""
    try:
        kind = kind_named(json.loads((folder / METRICS).read_text(encoding="utf-8"))["kind"])
    except (OSError, ValueError, KeyError, TypeError, CloudarenaError):
        return {}
    return {metric.name: metric.better for metric in kind.metrics}
