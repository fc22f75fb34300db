"""Tables for the terminal. They fit its width: columns that do not fit go into a next block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from cloudarena.contract import Metric, Result, Scenario
from cloudarena.experiments.compare import CONFIDENCE, Comparison, Estimate
from cloudarena.experiments.optimization import Optimization
from cloudarena.report.numbers import UNKNOWN, format_estimate, format_number

__all__ = ["comparison_tables", "format_number", "optimization_tables", "result_table"]

LEADER = "bold green"
VERDICT_STYLES = {"better": "green", "worse": "red", "no difference": "dim"}
OUT = "⊘"
"""Stands behind the name of a policy that is out of the running."""
SHOWN_FRONT = 12
"""Designs of the front in the terminal; the page has up to ten times as many."""
GAP = 2
"""Columns of the terminal between two columns of a table."""
ARROWS = {"higher": "↑", "lower": "↓", None: ""}
DETERMINISTIC_NOTE = (
    "All replications gave the same numbers, as they do when the work is recorded and the policies "
    "draw nothing: one replication says as much, and the intervals have no width."
)
_ASCII = str.maketrans({"±": "+/-", "↑": "^", "↓": "v", "∞": "inf", UNKNOWN: "-", OUT: "x"})


def comparison_tables(comparison: Comparison, every_metric: bool = False) -> list[RenderableType]:
    """The means, the differences from the first policy, notes and the conclusion, to be printed.

    Args:
        comparison: what to show.
        every_metric: shows all metrics, not the highlights alone.
    """
    metrics = shown_metrics(comparison.scenario, every_metric)
    parts: list[RenderableType] = [_Words(_title(comparison), "bold"), _means(comparison, metrics)]
    parts.append(_Words(_legend(comparison, metrics), "dim"))
    if len(comparison.policies) > 1:
        parts.append(_differences(comparison, metrics))
        legend = _verdict_legend(comparison, metrics)
        parts += [_Words(legend, "dim")] if legend else []
    if comparison.is_deterministic:
        parts.append(_Words(DETERMINISTIC_NOTE, "yellow"))
    parts.append(_Words(comparison.conclusion(), "bold"))
    return parts


def result_table(result: Result, scenario: Scenario) -> Table:
    """The metrics of one run, each with its direction and meaning."""
    title = f"{result.scenario}: {result.policy}, seed {result.seed}"
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("better", no_wrap=True)
    table.add_column("meaning", style="dim")
    known = {metric.name: metric for metric in scenario.kind.metrics}
    for name, value in result.metrics.items():
        metric = known.get(name, Metric(name, ""))
        important = name in scenario.kind.highlights
        table.add_row(
            Text(name, "bold" if important else ""),
            Text(format_number(value), "bold" if important else ""),
            Text(metric.better or ""),
            Text(metric.description.replace("``", "")),
        )
    return table


def optimization_tables(found: Optimization) -> list[RenderableType]:
    """The front, the methods that were compared, and the conclusion, to be printed."""
    selection = found.selection
    parts: list[RenderableType] = [_front_table(found)]
    if found.others or found.failures:
        parts.append(_methods_table(found))
    if selection.omega is not None and selection.noise is not None:
        parts.append(
            Text(f"Omega {selection.omega}, noise {format_number(selection.noise)}", "dim")
        )
    if selection.remark:
        parts.append(Text(selection.remark, "yellow"))
    parts.append(Text(f"{found.conclusion()} {found.cost()}", "bold"))
    return parts


def shown_metrics(scenario: Scenario, every_metric: bool) -> list[Metric]:
    """The highlights in their order, then, when asked for, the others in theirs."""
    first = [metric for metric in scenario.kind.metrics if metric.highlight]
    others = [metric for metric in scenario.kind.metrics if not metric.highlight]
    return first + others if every_metric else first


def mean_text(comparison: Comparison, policy: str, metric: Metric) -> str:
    """A mean with its interval, and on how many replications it rests if not on all."""
    text = format_estimate(comparison.estimate(policy, metric.name))
    return text + _rests_on(comparison, comparison.counted(policy, metric.name))


def difference_text(comparison: Comparison, policy: str, metric: Metric) -> str:
    """The difference of a policy from the first, likewise."""
    pair = comparison.pair(policy, metric.name)
    return format_estimate(pair.difference, signed=True) + _rests_on(comparison, pair.replications)


def confidence_text(comparison: Comparison) -> str:
    """The one level of all verdicts: ``95 % for all 72 comparisons together (Holm)``."""
    tests = comparison.family.tests
    together = f" for all {tests} comparisons together (Holm)" if tests > 1 else ""
    return f"{100 * CONFIDENCE:g} %{together}"


def seeds_text(comparison: Comparison) -> str:
    """The seeds of the replications: ``seed 0`` or ``seeds 0 to 9``."""
    first, last = comparison.seed, comparison.seed + comparison.replications - 1
    return f"seed {first}" if first == last else f"seeds {first} to {last}"


def count(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun: ``1 policy``, ``4 policies``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def design_rows(
    found: Optimization, most: int
) -> tuple[list[str], list[list[str]], list[int], int]:
    """Heads, rows, marked rows and how many are left out, of the front by the first objective."""
    selection = found.selection
    order = np.argsort(selection.front.mean[:, 0] * selection.objectives[0].sign, kind="stable")
    front = selection.front.designs[order].tolist()
    chosen = selection.chosen.tolist()
    shown = [*chosen, *(number for number in front if number not in chosen)]
    plain = found.designs(selection, np.array(shown[:most]))
    heads = ["design", *(one.name for one in selection.objectives), "replications"]
    replications = dict(
        zip(
            selection.estimates.designs.tolist(),
            selection.estimates.replications.tolist(),
            strict=True,
        )
    )
    rows = [
        [
            row["text"],
            *(format_estimate(_estimate(values)) for values in row["objectives"].values()),
            f"{replications[row['design']]:,}",
        ]
        for row in plain
    ]
    return heads, rows, list(range(len(chosen))), max(0, len(shown) - most)


def method_rows(found: Optimization) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: what each method chose, claims and cost."""
    heads = ["method", "evaluations", "selected", "claim"]
    heads += [one.name for one in found.selection.objectives] + ["chosen"]
    rows = []
    for one in (found.selection, *found.others):
        best = found.designs(one, one.chosen[:1])[0]
        rows.append(
            [
                one.method,
                f"{one.evaluations:,}",
                f"{len(one.selected):,}",
                format_number(one.alignment.probability),
                *(format_estimate(_estimate(values)) for values in best["objectives"].values()),
                best["text"],
            ]
        )
    for method, why in found.failures.items():
        rows.append([method, "", "", "", *("" for _ in found.selection.objectives), why])
    return heads, rows


@dataclass(frozen=True)
class _Grid:
    """Cells with a label for each row and column."""

    corner: str
    rows: list[Text]
    columns: list[Text]
    cells: list[list[Text]]

    def transposed(self) -> _Grid:
        """The same cells with rows for columns: a row for each policy."""
        cells = [list(row) for row in zip(*self.cells, strict=True)]
        return _Grid("policy", self.columns, self.rows, cells)

    def plain(self) -> _Grid:
        """The same cells in ASCII."""
        cells = [[_plain(cell) for cell in row] for row in self.cells]
        rows, columns = ([_plain(label) for label in side] for side in (self.rows, self.columns))
        return _Grid(self.corner, rows, columns, cells)

    def blocks(self, width: int) -> list[range]:
        """Columns that fit side by side, block by block; at least one in each."""
        labels = max(len(self.corner), *(_width(label) for label in self.rows))
        blocks, start, used = [], 0, labels
        for k, head in enumerate(self.columns):
            column = max(_width(head), *(_width(row[k]) for row in self.cells))
            if k > start and used + GAP + column > width:
                blocks.append(range(start, k))
                start, used = k, labels
            used += GAP + column
        return [*blocks, range(start, len(self.columns))]

    def height(self, width: int) -> int:
        """How many lines all blocks take."""
        lines = sum(max(cell.plain.count("\n") + 1 for cell in row) for row in self.cells)
        return len(self.blocks(width)) * (lines + 3)

    def table(self, title: str, block: range) -> Table:
        """One block as a table."""
        table = Table(
            title=Text(title) if title else None,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, GAP - 1, 0, 0),
        )
        table.add_column(self.corner, no_wrap=True)
        for k in block:
            table.add_column(self.columns[k], justify="right", no_wrap=True)
        for label, row in zip(self.rows, self.cells, strict=True):
            table.add_row(label, *(row[k] for k in block))
        return table


@dataclass(frozen=True)
class _Adaptive:
    """The first layout if it fits in one block, else the one that takes the fewest lines."""

    title: str
    layouts: list[_Grid]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        layouts = [grid.plain() for grid in self.layouts] if options.ascii_only else self.layouts
        grid = layouts[0]
        if len(grid.blocks(width)) > 1:
            grid = min(layouts, key=lambda layout: layout.height(width))
        title = _plain(Text(self.title)).plain if options.ascii_only else self.title
        for number, block in enumerate(grid.blocks(width)):
            yield grid.table(title if number == 0 else "", block)
            yield ""


@dataclass(frozen=True)
class _Words:
    """A sentence, in characters that the terminal has."""

    text: str
    style: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = Text(self.text, self.style)
        yield _plain(text) if options.ascii_only else text


def _means(comparison: Comparison, metrics: list[Metric]) -> _Adaptive:
    cells = []
    for metric in metrics:
        leaders = comparison.starred(metric)
        row = []
        for policy in comparison.policies:
            text = mean_text(comparison, policy, metric)
            leads = policy in leaders
            style = "dim" if policy in comparison.out_of_the_running else ""
            row.append(Text(text + (" *" if leads else "  "), LEADER if leads else style))
        cells.append(row)
    names = _names(comparison, comparison.policies)
    grid = _Grid("metric", _labels(comparison, metrics), names, cells)
    return _Adaptive("", [grid, grid.transposed()])


def _differences(comparison: Comparison, metrics: list[Metric]) -> _Adaptive:
    layouts = []
    for separator in (" ", "\n"):  # the verdict beside the number, or below it
        cells = []
        for metric in metrics:
            row = []
            for policy in comparison.policies[1:]:
                verdict = comparison.verdict(policy, metric)
                cell = Text(difference_text(comparison, policy, metric))
                if verdict:
                    cell.append(separator + verdict, VERDICT_STYLES[verdict])
                row.append(cell)
            cells.append(row)
        labels = _labels(comparison, metrics)
        grid = _Grid("metric", labels, _names(comparison, comparison.policies[1:]), cells)
        layouts += [grid, grid.transposed()]
    return _Adaptive(f"Difference from {comparison.policies[0]}, pair by pair", layouts)


def _front_table(found: Optimization) -> Table:
    heads, rows, marked, left_out = design_rows(found, SHOWN_FRONT)
    title = f"{found.study.name}: the front of {len(found.selection.selected):,} selected designs"
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column(heads[0], overflow="fold")
    for name in heads[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for place, row in enumerate(rows):
        style = "bold green" if place in marked else ""
        table.add_row(
            *(Text(("* " if style and not k else "") + cell, style) for k, cell in enumerate(row))
        )
    level = f"± half of the {found.selection.confidence:.0%} interval, of all at once; * chosen"
    more = f"; {left_out:,} more are not shown" if left_out else ""
    table.caption, table.caption_justify = Text(level + more), "left"
    return table


def _methods_table(found: Optimization) -> Table:
    heads, rows = method_rows(found)
    title = Text(f"The methods, with at most {found.evaluations:,} evaluations each")
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in heads:
        table.add_column(name, justify="left" if name in ("method", "chosen") else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _labels(comparison: Comparison, metrics: list[Metric]) -> list[Text]:
    headline = comparison.scenario.kind.headline
    return [
        Text(f"{metric.name} {ARROWS[metric.better]}", "bold" if metric.name == headline else "")
        for metric in metrics
    ]


def _names(comparison: Comparison, policies: Sequence[str]) -> list[Text]:
    out = comparison.out_of_the_running
    return [Text(f"{one} {OUT}", "red") if one in out else Text(one) for one in policies]


def _rests_on(comparison: Comparison, runs: int) -> str:
    """On how many replications a number rests, if on some and not on all."""
    return f" ({runs} of {comparison.replications})" if 0 < runs < comparison.replications else ""


def _title(comparison: Comparison) -> str:
    policies = count(len(comparison.policies), "policy", "policies")
    runs = count(comparison.replications, "replication")
    return f"{comparison.scenario.name}: {policies}, {runs} ({seeds_text(comparison)})"


def _legend(comparison: Comparison, metrics: list[Metric]) -> str:
    words = []
    several = comparison.replications > 1
    if several and not comparison.is_deterministic:
        words.append(f"mean ± half of its {100 * CONFIDENCE:g} % interval")
    words.append("↑ higher is better, ↓ lower is better")
    if any(comparison.starred(metric) for metric in metrics):
        words.append("* the best, and what cannot be told from it")
    if comparison.out_of_the_running:
        words.append(f"{OUT} out of the running")
    shown = {metric.name for metric in metrics}
    if any(np.isnan(comparison.values[name]).any() for name in shown):
        words.append(f"{UNKNOWN} there is no value")
    if shown & set(comparison.bounds):
        words.append("> at least, since work had not finished")
    return "; ".join(words)


def _verdict_legend(comparison: Comparison, metrics: list[Metric]) -> str:
    """What the verdicts rest on: the level, and which of them rest on no test."""
    pairs = [
        comparison.pair(policy, metric.name)
        for metric in metrics
        if metric.better
        for policy in comparison.policies[1:]
    ]
    words = []
    if comparison.family.tests:
        words.append(f"Verdicts, and ± of differences: {confidence_text(comparison)}.")
        if any(pair.basis == "constant" and pair.sign for pair in pairs):
            words.append(
                "A verdict without ± is no test: the difference is the same in all replications."
            )
    return " ".join(words)


def _width(text: Text) -> int:
    return max(line.cell_len for line in text.split("\n", allow_blank=True))


def _plain(text: Text) -> Text:
    """The text in ASCII, for terminals that have no more; pieces keep their styles."""
    plain = Text("", text.style)
    for piece in text.divide({span.start for span in text.spans}):
        style = piece.spans[0].style if piece.spans else ""
        plain.append(piece.plain.translate(_ASCII).encode("ascii", "replace").decode(), style)
    return plain


def _estimate(values: Mapping[str, Any]) -> Estimate:
    mean, low, high = (
        float("nan") if values[key] is None else values[key] for key in ("mean", "low", "high")
    )
    return Estimate(mean, low, high)
