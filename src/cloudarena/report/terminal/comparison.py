"""A comparison in the terminal: means, differences from the first policy, and the conclusion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from cloudarena.contract import Metric, Scenario
from cloudarena.experiments.compare import CONFIDENCE, Comparison
from cloudarena.experiments.over import Over
from cloudarena.report.numbers import UNKNOWN, format_estimate
from cloudarena.report.terminal.grid import OUT, Adaptive, Grid, Words

LEADER = "bold green"
VERDICT_STYLES = {
    "better": "green",
    "worse": "red",
    "no difference": "dim",
    "not told apart": "dim",
}
ARROWS = {"higher": "↑", "lower": "↓", None: ""}
DETERMINISTIC_NOTE = (
    "All replications gave the same numbers, as they do when the work is recorded and the policies "
    "draw nothing: one replication says as much, and the intervals have no width."
)


def comparison_tables(comparison: Comparison, every_metric: bool = False) -> list[RenderableType]:
    """The means, the differences from the first policy, notes and the conclusion, to be printed.

    Args:
        comparison: what to show.
        every_metric: shows all metrics, not the highlights alone.
    """
    asked = [comparison.headline, *(limit.metric for limit in comparison.limits)]
    metrics = shown_metrics(comparison.scenario, every_metric)
    if comparison.asks_amount:
        first = [comparison.scenario.kind.metric[name] for name in dict.fromkeys(asked)]
        metrics = [*first, *(metric for metric in metrics if metric not in first)]
    parts: list[RenderableType] = [Words(_title(comparison), "bold"), _means(comparison, metrics)]
    parts.append(Words(_legend(comparison, metrics), "dim"))
    if len(comparison.policies) > 1:
        parts.append(_differences(comparison, metrics))
        legend = _verdict_legend(comparison, metrics)
        parts += [Words(legend, "dim")] if legend else []
    if comparison.is_deterministic:
        parts.append(Words(DETERMINISTIC_NOTE, "yellow"))
    parts.append(Words(comparison.conclusion(), "bold"))
    return parts


def over_tables(over: Over) -> list[RenderableType]:
    """The headline of each policy under each value of a key, its rank, and the conclusion."""
    comparisons = over.comparisons
    first = next(iter(comparisons.values()))
    metric = first.scenario.kind.metric[first.headline]
    cells = []
    for value, comparison in comparisons.items():
        ranks, row = over.ranks(value), []
        for policy in over.policies:
            rank = ranks[policy]
            is_out = policy in comparison.out_of_the_running
            text = f"{mean_text(comparison, policy, metric)}  "
            text += OUT if is_out else UNKNOWN if np.isnan(rank) else f"({rank:g})"
            leads = policy in comparison.leaders(metric)
            row.append(Text(text, LEADER if leads else "dim" if is_out else ""))
        cells.append(row)
    rows, columns = [Text(value) for value in comparisons], [Text(one) for one in over.policies]
    grid = Grid(over.key, rows, columns, cells)
    taus = [
        f"{value} {over.agreement(value):.2f}"
        for value in list(comparisons)[1:]
        if not np.isnan(over.agreement(value))
    ]
    notes = f"{metric.name} {ARROWS[metric.better]}, its rank in brackets; {OUT} out of the running"
    if taus:
        notes += f". Agreement of the ranks with {rows[0].plain} (Kendall's tau): {', '.join(taus)}"
    title = f"{_title(first)}, under {count(len(rows), 'value')} of {over.key}"
    return [
        Words(title, "bold"),
        Adaptive("", [grid, grid.transposed()]),
        Words(notes, "dim"),
        Words(over.conclusion(), "bold"),
    ]


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


def _means(comparison: Comparison, metrics: list[Metric]) -> Adaptive:
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
    grid = Grid("metric", _labels(comparison, metrics), names, cells)
    return Adaptive("", [grid, grid.transposed()])


def _differences(comparison: Comparison, metrics: list[Metric]) -> Adaptive:
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
        grid = Grid("metric", labels, _names(comparison, comparison.policies[1:]), cells)
        layouts += [grid, grid.transposed()]
    return Adaptive(f"Difference from {comparison.policies[0]}, pair by pair", layouts)


def _labels(comparison: Comparison, metrics: list[Metric]) -> list[Text]:
    headline = comparison.headline
    return [
        Text(f"{metric.name} {ARROWS[metric.better]}", "bold" if metric.name == headline else "")
        for metric in metrics
    ]


def _names(comparison: Comparison, policies: Sequence[str]) -> list[Text]:
    out = comparison.out_of_the_running
    return [Text(f"{one} {OUT}", "red") if one in out else Text(one) for one in policies]


def _rests_on(comparison: Comparison, runs: int) -> str:
    """How many replications a number rests on, if on some and not on all."""
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
