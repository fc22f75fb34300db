"""The page of a sweep: the answer, a response for each key, and all cells."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from cloudarena.base.errors import SpecError
from cloudarena.contract import Metric
from cloudarena.experiments.sweep.results import Results
from cloudarena.experiments.sweep.sensitivity import sensitivities
from cloudarena.experiments.sweep.statistics import CellRows, cells_of, conclusions, metric_of
from cloudarena.report.charts import AnyChart, Chart, Series
from cloudarena.report.numbers import format_estimate, format_number
from cloudarena.report.page import File, Section, Sheet, html_table, label_of
from cloudarena.report.spoken import spoken
from cloudarena.scenarios import kind_named
from cloudarena.version import __version__

SHOWN_CELLS = 500
SHOWN_FAILURES = 50
SHOWN_METRICS = 5
MOST_POLICIES = 8

GUIDE = (
    "A cell is a scenario with some keys set and a policy; its runs differ by the seed alone. All "
    "cells have the same seeds, and so the same work as far as the keys leave it alone.",
    "A response is the mean of a metric over all cells with a level of a key, whatever their other "
    "keys: a line for each policy. Where lines are parallel, the key does the same for all.",
    "Verdicts are those of <code>cloudarena compare</code>: paired tests of all cells in all "
    "metrics, by Holm at 95 %, and nobody wins who leaves more of the work undone.",
    "Runs that failed are not in any mean; their errors are below.",
)


def make_sheet(found: Results, metric: str | None = None) -> Sheet:
    """What is on the page of a sweep."""
    sections: list[Section] = []
    facts = [("Runs", f"{found.counts['done']:,}")]
    hero: list[AnyChart] = []
    for kind in found.kinds:
        judged = metric_of(kind, metric)
        cells = cells_of(found, kind)
        charts = responses(cells, judged)
        hero += charts[:1]
        if charts[1:]:
            hint = "Means over all other keys."
            sections.append(Section(f"Responses of {label_of(judged)}", hint, charts[1:]))
        facts.append((f"Cells of {kind}", f"{len(cells):,}"))
        sections.append(_cells_section(kind, cells, judged))
    sections += _sensitivity_sections(found, metric)
    if found.counts["failed"]:
        facts.append(("Failed", f"{found.counts['failed']:,}"))
        sections.append(_failures_section(found))
    facts.append(("Version", f"cloudarena {escape(__version__)}"))
    answers = [spoken(one, _known(found)) for one in conclusions(found, metric)]
    answers = answers or ["There is nothing to compare."]
    experiments = found.experiments
    words = next((one.description for one in experiments if one.description), "")
    return Sheet(
        kind="sweep",
        title=found.folder.name,
        description=words or "Many runs side by side",
        conclusion=answers[0],
        reasons=answers[1:],
        notes=(),
        facts=facts,
        hero=hero[:1],
        sections=sections,
        guide=GUIDE,
        files=[
            File(f"experiment-{number}.json", "The experiment", one.model_dump_json(indent=2))
            for number, one in enumerate(experiments, start=1)
        ],
    )


def _known(found: Results) -> dict[str, Metric]:
    """The metrics of all kinds that were run, by name."""
    return {name: one for kind in found.kinds for name, one in kind_named(kind).metric.items()}


def responses(cells: Sequence[CellRows], metric: Metric) -> list[Chart]:
    """The response to each key with several levels: the mean of a metric over them, by policy."""
    charts = []
    keys = dict.fromkeys(key for cell in cells for key in cell.settings)
    for key in keys:
        levels = {_level(cell.settings[key]) for cell in cells if cell.settings[key] is not None}
        if len(levels) > 1:
            charts.append(_response(cells, key, metric))
    return charts


def _response(cells: Sequence[CellRows], key: str, metric: Metric) -> Chart:
    groups: dict[str, dict[Any, list[float]]] = {}
    for cell in cells:
        value = cell.settings[key]
        if value is not None:
            name = _line(cell, key)
            groups.setdefault(name, {}).setdefault(_level(value), []).append(
                cell.estimate(metric.name).mean
            )
    texts = sorted({level for some in groups.values() for level in some if isinstance(level, str)})
    places = {text: float(place) for place, text in enumerate(texts, start=1)}
    series = []
    for name, some in list(groups.items())[:MOST_POLICIES]:
        ordered = sorted(some, key=lambda level: places.get(level, level))
        x = [places.get(level, level) for level in ordered]
        y = [float(np.nanmean(some[level])) if some[level] else np.nan for level in ordered]
        series.append(Series(name, x, y, "line", [f"{key} = {level}" for level in ordered]))
    axis = key if not texts else f"{key}: " + ", ".join(f"{k:g} is {t}" for t, k in places.items())
    return Chart(key, "mean over all other keys", axis, label_of(metric), series)


def _line(cell: CellRows, key: str) -> str:
    """The line of a cell: that of its policy, without the parameters that are varied."""
    owner = cell.policy.partition(":")[0]
    tuned = any(
        one.startswith(f"{owner}.") for one, value in cell.settings.items() if value is not None
    )
    words = [owner if tuned else cell.policy, *([cell.case] if cell.case else [])]
    return " ".join(words)


def _level(value: Any) -> Any:
    return float(value) if isinstance(value, int | float) else str(value)


def _cells_section(kind: str, cells: Sequence[CellRows], metric: Metric) -> Section:
    names = list(dict.fromkeys([metric.name, *kind_named(kind).highlights]))[:SHOWN_METRICS]
    known = kind_named(kind).metric
    sign = -1.0 if metric.better == "higher" else 1.0
    means = [sign * cell.estimate(metric.name).mean for cell in cells]
    order = np.argsort(np.nan_to_num(np.array(means), nan=np.inf), kind="stable")
    rows = [
        [
            f"{cells[k].number}: {cells[k].text}",
            cells[k].scenario,
            f"{len(cells[k].seeds):,}",
            *(format_estimate(cells[k].estimate(name)) for name in names),
        ]
        for k in order[:SHOWN_CELLS].tolist()
    ]
    hint = f"The best {label_of(metric)} first; mean and half of its 95 % interval."
    if len(cells) > SHOWN_CELLS:
        hint += f" {len(cells) - SHOWN_CELLS:,} more are in the store."
    heads: list[str | tuple[str, str]] = ["cell", "scenario", "runs"]
    heads += [(label_of(known[name]), name) for name in names]
    return Section(f"Cells of {kind}", hint, table=html_table(heads, rows))


def _sensitivity_sections(found: Results, metric: str | None) -> list[Section]:
    try:
        tables = sensitivities(found, metric)
    except SpecError:
        return []
    return [
        Section(
            f"What matters: {one.title}",
            spoken(f"{one.metric}, {one.method}.", _known(found)),
            table=html_table(
                list(one.heads),
                [
                    [format_number(v) if isinstance(v, float) else str(v) for v in r]
                    for r in one.rows
                ],
            ),
        )
        for one in tables
        if one.rows
    ]


def _failures_section(found: Results) -> Section:
    rows = [
        [
            row["policy"] or "",
            row["scenario"] or "",
            str(row["seed"]),
            str(row["tries"]),
            row["error"],
        ]
        for row in found.failures().slice(0, SHOWN_FAILURES).to_pylist()
    ]
    table = html_table(["policy", "scenario", "seed", "tries", "error"], rows)
    return Section(
        "Runs that failed", "cloudarena sweep --retry failed runs them again.", table=table
    )
