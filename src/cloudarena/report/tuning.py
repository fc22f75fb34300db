"""What an optimisation says, for people: tables in a terminal and one self-contained page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from cloudarena import __version__
from cloudarena.experiments.compare import Estimate
from cloudarena.experiments.study import design_text
from cloudarena.experiments.tuning import Tuning
from cloudarena.optimizers import Selection
from cloudarena.report.charts import (
    Chart,
    allocation_chart,
    cost_chart,
    front_chart,
    order_chart,
    time_charts,
)
from cloudarena.report.numbers import format_estimate, format_number
from cloudarena.report.reproduce import spec_yaml
from cloudarena.report.sheet import File, Section, Sheet, command_fact, html_table, write_sheet
from cloudarena.report.timeline import timelines

SHOWN_FRONT = 12
"""Designs of the front in the terminal; the page has up to ten times as many."""
LABELLED = 5000
"""Designs whose words are in the page; of larger spaces only the front has words."""

GUIDE = (
    "A design is a policy with its parameters and keys of the spec. An evaluation is one run of "
    "one design; replication r has the same work for all designs (common random numbers).",
    "A design is in the first layer if no other is better in every objective, in the second if "
    "only designs of the first are, and so on. The front is the first layer.",
    "The alignment probability is what the method claims of its own selection, whatever the true "
    "values look like; assumed are independent replications and normal means. It is tested as a "
    "claim: over many runs, on many kinds of truth, it comes true at least so often.",
    "The order-performance curve is the share of the designs in the first layers. Above the "
    "straight line many designs are good (steep), below it few (flat).",
    "Noise is the mean standard error at the first look over half the range of the designs. From "
    "0.5 on a rough look hardly orders them, and LOS does not help.",
    "Intervals know that the chosen design was chosen: by each objective those of all designs that "
    "were compared hold at once (Bonferroni).",
    "Where designs had other numbers of replications, means are made comparable by the "
    "replications that they share.",
)


def tuning_tables(tuning: Tuning) -> list[RenderableType]:
    """The front, the methods that were compared, and the conclusion, to be printed."""
    selection = tuning.selection
    parts: list[RenderableType] = [_front_table(tuning)]
    if tuning.others or tuning.failures:
        parts.append(_methods_table(tuning))
    if selection.omega is not None and selection.noise is not None:
        parts.append(
            Text(f"Omega {selection.omega}, noise {format_number(selection.noise)}", "dim")
        )
    if selection.remark:
        parts.append(Text(selection.remark, "yellow"))
    parts.append(Text(f"{tuning.conclusion()} {tuning.cost()}", "bold"))
    return parts


def write_tuning_report(tuning: Tuning, path: str | Path) -> Path:
    """Writes the page of an optimisation as one HTML file and returns its path."""
    return write_sheet(tuning_sheet(tuning), path)


def tuning_sheet(tuning: Tuning) -> Sheet:
    """The page of an optimisation."""
    selection = tuning.selection
    hero = [_front_figure(tuning)] if len(selection.objectives) > 1 else [_cost_figure(tuning)]
    charts = [] if len(selection.objectives) == 1 else [_cost_figure(tuning)]
    if selection.look is not None:
        by_layers = len(selection.objectives) > 1
        charts.append(order_chart(selection.look.curve, str(selection.omega), by_layers))
    charts += [_allocation_figure(tuning, one) for one in _with_rounds(tuning)]
    sections = []
    if charts:
        hint = "What the first look shows, and what it costs to be sure."
        sections.append(Section("Cost, order and allocation", hint, charts))
    if tuning.others or tuning.failures:
        sections.append(_methods_section(tuning))
    sections.append(_designs_section(tuning))
    run = tuning.winning_run
    over_time = time_charts(timelines(tuning.winning_scenario, {run.policy: run.tables}))
    if over_time:
        hint = f"One run of the winner, with the seed {tuning.seed}."
        sections.append(Section("The winner over time", hint, over_time))
    winner = spec_yaml(tuning.winning_scenario)
    files = [File("winner.yaml", "The spec with the winner filled in", winner)]
    return Sheet(
        kind="optimize",
        title=tuning.study.name or "optimisation",
        description=tuning.study.description,
        conclusion=tuning.headline(),
        notes=[text for text in (selection.remark, tuning.trade()) if text],
        facts=_facts(tuning),
        hero=hero,
        sections=sections,
        guide=GUIDE,
        files=files,
    )


def _facts(tuning: Tuning) -> list[tuple[str, str]]:
    selection = tuning.selection
    names = (f"<code>{escape(one.name)}</code> ({one.direction}d)" for one in selection.objectives)
    facts = [
        ("Designs", f"{selection.designs:,}"),
        ("Objectives", ", ".join(names)),
        ("Selected", f"{len(selection.selected):,} designs"),
        ("How sure", escape(f"{tuning.sure()}. {tuning.at_most()}".strip())),
        ("Cost", escape(tuning.cost())),
    ]
    if selection.omega is not None and selection.noise is not None:
        facts.append(("Omega, noise", f"{selection.omega}, {format_number(selection.noise)}"))
    facts.append(("Version", f"cloudarena {escape(__version__)}"))
    if tuning.study.name:
        facts.append(("Run again with", command_fact(_command(tuning))))
    return facts


def _command(tuning: Tuning) -> str:
    words = [tuning.study.name, "--method", tuning.asked_method]
    names = [f"{one.name}:{one.direction}" for one in tuning.selection.objectives]
    words += ["--objectives", ",".join(names)]
    words += ["--evaluations", str(tuning.evaluations), "--seed", str(tuning.seed)]
    words += ["--confidence", f"{tuning.selection.confidence:g}"]
    for key, value in tuning.study.overrides.items():
        words += ["--set", f"{key}={value}"]
    for key, value in tuning.options.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    return f"cloudarena optimize {shlex.join(words)}"


def _front_figure(tuning: Tuning) -> Chart:
    selection = tuning.selection
    signs = np.array([one.sign for one in selection.objectives])
    best = int(np.flatnonzero(selection.estimates.designs == selection.best)[0])
    look = selection.look
    means = np.empty((0, 2)) if look is None else (look.moments.mean * signs)[:, :2]
    labels = []
    if look is not None and selection.designs <= LABELLED:
        labels = [design_text(tuning.problem.design(number)) for number in range(selection.designs)]
    return front_chart(
        [one.name for one in selection.objectives[:2]],
        means,
        np.empty(0) if look is None else look.layer,
        selection.front.mean[:, :2],
        selection.estimates.mean[best, :2],
        labels,
        [design_text(tuning.problem.design(number)) for number in selection.front.designs],
    )


def _cost_figure(tuning: Tuning) -> Chart:
    selection = tuning.selection
    methods = [
        (one.method, one.evaluations, one.alignment.probability)
        for one in (selection, *tuning.others)
    ]
    if selection.needed is None or selection.look is None:
        return cost_chart(methods)
    first_look = int(selection.look.moments.counts.sum())
    each = float(selection.estimates.replications.mean())
    return cost_chart(methods, selection.needed, first_look, each)


def _with_rounds(tuning: Tuning) -> list[Selection]:
    return [
        one
        for one in (tuning.selection, *tuning.others)
        if one.rounds is not None and len(one.rounds) > 1
    ]


def _allocation_figure(tuning: Tuning, selection: Selection) -> Chart:
    assert selection.rounds is not None
    labels = []
    if selection.designs <= LABELLED:
        labels = [design_text(tuning.problem.design(k)) for k in range(selection.designs)]
    return allocation_chart(selection.rounds, labels)._replace(hint=selection.method)


def _rows(tuning: Tuning, most: int) -> tuple[list[str], list[list[str]], list[int], int]:
    """Heads, rows, marked rows and how many are left out, of the front by the first objective."""
    selection = tuning.selection
    order = np.argsort(selection.front.mean[:, 0] * selection.objectives[0].sign, kind="stable")
    front = selection.front.designs[order].tolist()
    chosen = selection.chosen.tolist()
    shown = [*chosen, *(number for number in front if number not in chosen)]
    plain = tuning.designs(selection, np.array(shown[:most]))
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


def _front_table(tuning: Tuning) -> Table:
    heads, rows, marked, left_out = _rows(tuning, SHOWN_FRONT)
    title = f"{tuning.study.name}: the front of {len(tuning.selection.selected):,} selected designs"
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column(heads[0], overflow="fold")
    for name in heads[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for place, row in enumerate(rows):
        style = "bold green" if place in marked else ""
        table.add_row(
            *(Text(("* " if style and not k else "") + cell, style) for k, cell in enumerate(row))
        )
    level = f"± half of the {tuning.selection.confidence:.0%} interval, of all at once; * chosen"
    more = f"; {left_out:,} more are not shown" if left_out else ""
    table.caption, table.caption_justify = Text(level + more), "left"
    return table


def _method_rows(tuning: Tuning) -> tuple[list[str], list[list[str]]]:
    heads = ["method", "evaluations", "selected", "claim"]
    heads += [one.name for one in tuning.selection.objectives] + ["chosen"]
    rows = []
    for one in (tuning.selection, *tuning.others):
        best = tuning.designs(one, one.chosen[:1])[0]
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
    for method, why in tuning.failures.items():
        rows.append([method, "", "", "", *("" for _ in tuning.selection.objectives), why])
    return heads, rows


def _methods_table(tuning: Tuning) -> Table:
    heads, rows = _method_rows(tuning)
    title = Text(f"The methods, with at most {tuning.evaluations:,} evaluations each")
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in heads:
        table.add_column(name, justify="left" if name in ("method", "chosen") else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _designs_section(tuning: Tuning) -> Section:
    heads, rows, marked, left_out = _rows(tuning, 10 * SHOWN_FRONT)
    hint = f"Chosen first, then by {tuning.selection.objectives[0].name}."
    if left_out:
        hint += f" {left_out:,} more are in optimize.json."
    return Section("Designs on the front", hint, table=html_table(heads, rows, marked))


def _methods_section(tuning: Tuning) -> Section:
    heads, rows = _method_rows(tuning)
    hint = f"At most {tuning.evaluations:,} evaluations each; the same work for all."
    return Section("Methods compared", hint, table=html_table(heads, rows, [0]))


def _estimate(values: Mapping[str, Any]) -> Estimate:
    mean, low, high = (
        float("nan") if values[key] is None else values[key] for key in ("mean", "low", "high")
    )
    return Estimate(mean, low, high)
