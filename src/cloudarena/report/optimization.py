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
from cloudarena.experiments.designs import design_text
from cloudarena.experiments.optimization import Optimization
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


def write_optimization_report(found: Optimization, path: str | Path) -> Path:
    """Writes the page of an optimisation as one HTML file and returns its path."""
    return write_sheet(optimization_sheet(found), path)


def optimization_sheet(found: Optimization) -> Sheet:
    """The page of an optimisation."""
    selection = found.selection
    hero = [_front_figure(found)] if len(selection.objectives) > 1 else [_cost_figure(found)]
    charts = [] if len(selection.objectives) == 1 else [_cost_figure(found)]
    if selection.look is not None:
        by_layers = len(selection.objectives) > 1
        charts.append(order_chart(selection.look.curve, str(selection.omega), by_layers))
    charts += [_allocation_figure(found, one) for one in _with_rounds(found)]
    sections = []
    if charts:
        hint = "What the first look shows, and what it costs to be sure."
        sections.append(Section("Cost, order and allocation", hint, charts))
    if found.others or found.failures:
        sections.append(_methods_section(found))
    sections.append(_designs_section(found))
    run = found.winning_run
    over_time = time_charts(timelines(found.winning_scenario, {run.policy: run.tables}))
    if over_time:
        hint = f"One run of the winner, with the seed {found.seed}."
        sections.append(Section("The winner over time", hint, over_time))
    winner = spec_yaml(found.winning_scenario)
    files = [File("winner.yaml", "The spec with the winner filled in", winner)]
    return Sheet(
        kind="optimize",
        title=found.study.name or "optimisation",
        description=found.study.description,
        conclusion=found.headline(),
        notes=[text for text in (selection.remark, found.trade()) if text],
        facts=_facts(found),
        hero=hero,
        sections=sections,
        guide=GUIDE,
        files=files,
    )


def _facts(found: Optimization) -> list[tuple[str, str]]:
    selection = found.selection
    names = (f"<code>{escape(one.name)}</code> ({one.direction}d)" for one in selection.objectives)
    facts = [
        ("Designs", f"{selection.designs:,}"),
        ("Objectives", ", ".join(names)),
        ("Selected", f"{len(selection.selected):,} designs"),
        ("How sure", escape(f"{found.sure()}. {found.at_most()}".strip())),
        ("Cost", escape(found.cost())),
    ]
    if selection.omega is not None and selection.noise is not None:
        facts.append(("Omega, noise", f"{selection.omega}, {format_number(selection.noise)}"))
    facts.append(("Version", f"cloudarena {escape(__version__)}"))
    if found.study.name:
        facts.append(("Run again with", command_fact(_command(found))))
    return facts


def _command(found: Optimization) -> str:
    words = [found.study.name, "--method", found.asked_method]
    names = [f"{one.name}:{one.direction}" for one in found.selection.objectives]
    words += ["--objectives", ",".join(names)]
    words += ["--evaluations", str(found.evaluations), "--seed", str(found.seed)]
    words += ["--confidence", f"{found.selection.confidence:g}"]
    for key, value in found.study.overrides.items():
        words += ["--set", f"{key}={value}"]
    for key, value in found.options.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    return f"cloudarena optimize {shlex.join(words)}"


def _front_figure(found: Optimization) -> Chart:
    selection = found.selection
    signs = np.array([one.sign for one in selection.objectives])
    best = int(np.flatnonzero(selection.estimates.designs == selection.best)[0])
    look = selection.look
    means = np.empty((0, 2)) if look is None else (look.moments.mean * signs)[:, :2]
    labels = []
    if look is not None and selection.designs <= LABELLED:
        labels = [design_text(found.problem.design(number)) for number in range(selection.designs)]
    return front_chart(
        [one.name for one in selection.objectives[:2]],
        means,
        np.empty(0) if look is None else look.layer,
        selection.front.mean[:, :2],
        selection.estimates.mean[best, :2],
        labels,
        [design_text(found.problem.design(number)) for number in selection.front.designs],
    )


def _cost_figure(found: Optimization) -> Chart:
    selection = found.selection
    methods = [
        (one.method, one.evaluations, one.alignment.probability)
        for one in (selection, *found.others)
    ]
    if selection.needed is None or selection.look is None:
        return cost_chart(methods)
    first_look = int(selection.look.moments.counts.sum())
    each = float(selection.estimates.replications.mean())
    return cost_chart(methods, selection.needed, first_look, each)


def _with_rounds(found: Optimization) -> list[Selection]:
    return [
        one
        for one in (found.selection, *found.others)
        if one.rounds is not None and len(one.rounds) > 1
    ]


def _allocation_figure(found: Optimization, selection: Selection) -> Chart:
    assert selection.rounds is not None
    labels = []
    if selection.designs <= LABELLED:
        labels = [design_text(found.problem.design(k)) for k in range(selection.designs)]
    return allocation_chart(selection.rounds, labels)._replace(hint=selection.method)


def _rows(found: Optimization, most: int) -> tuple[list[str], list[list[str]], list[int], int]:
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


def _front_table(found: Optimization) -> Table:
    heads, rows, marked, left_out = _rows(found, SHOWN_FRONT)
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


def _method_rows(found: Optimization) -> tuple[list[str], list[list[str]]]:
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


def _methods_table(found: Optimization) -> Table:
    heads, rows = _method_rows(found)
    title = Text(f"The methods, with at most {found.evaluations:,} evaluations each")
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in heads:
        table.add_column(name, justify="left" if name in ("method", "chosen") else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _designs_section(found: Optimization) -> Section:
    heads, rows, marked, left_out = _rows(found, 10 * SHOWN_FRONT)
    hint = f"Chosen first, then by {found.selection.objectives[0].name}."
    if left_out:
        hint += f" {left_out:,} more are in optimize.json."
    return Section("Designs on the front", hint, table=html_table(heads, rows, marked))


def _methods_section(found: Optimization) -> Section:
    heads, rows = _method_rows(found)
    hint = f"At most {found.evaluations:,} evaluations each; the same work for all."
    return Section("Methods compared", hint, table=html_table(heads, rows, [0]))


def _estimate(values: Mapping[str, Any]) -> Estimate:
    mean, low, high = (
        float("nan") if values[key] is None else values[key] for key in ("mean", "low", "high")
    )
    return Estimate(mean, low, high)
