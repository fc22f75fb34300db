"""The page of an optimisation."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from cloudarena.contract import Metric
from cloudarena.experiments.designs import design_text
from cloudarena.experiments.macro import SOLVED, MacroComparison
from cloudarena.experiments.optimization import Optimization
from cloudarena.optimizers import Selection
from cloudarena.report.charts import (
    AnyChart,
    Chart,
    Dot,
    Dots,
    allocation_chart,
    cost_chart,
    front_chart,
    macro_charts,
    order_chart,
)
from cloudarena.report.numbers import format_number
from cloudarena.report.page import File, Section, Sheet, command_fact, html_table, label_of
from cloudarena.report.parameters import parameters_section
from cloudarena.report.spoken import spoken
from cloudarena.report.terminal.optimization import (
    SHOWN_FRONT,
    design_rows,
    macro_rows,
    method_rows,
)
from cloudarena.report.timeline import time_charts

SHOWN_BEST = 10
"""Designs in the chart beside the answer, by a single objective."""
LABELLED = 5000
"""Designs whose words are in the page; of larger spaces only the front has words."""

GUIDE = (
    "A design is a policy with its parameters and keys of the spec. An evaluation is one run of "
    "one design; replication r has the same work for all designs (common random numbers).",
    "Importance is the share of the variance of the first objective, over the designs that were "
    "tried, that goes with a key alone (an analysis of variance without interactions); what is "
    "left is interaction and noise. In parallel coordinates a design is a line through all keys.",
    "A design is in the first layer if no other is better in every objective, in the second if "
    "only designs of the first are, and so on. The front is the first layer.",
    "The alignment probability is what the method claims of its own selection, whatever the true "
    "values look like; assumed are independent replications and normal means. It is tested as a "
    "claim: over many runs, on many kinds of truth, it comes true at least so often.",
    "The order-performance curve is the share of the designs in the first layers. Above the "
    "straight line many designs are good (steep), below it few (flat).",
    "Noise is the mean standard error at the screening stage over half the range of the "
    "designs. From 0.5 on a screening stage hardly orders them, and LOS does not help.",
    "Intervals know that the chosen design was chosen: by each objective those of all designs that "
    "were compared hold at once (Bonferroni).",
    "Where designs had other numbers of replications, means are made comparable by the "
    "replications that they share.",
)


def make_sheet(found: Optimization) -> Sheet:
    """What is on the page of an optimisation."""
    selection = found.selection
    several = len(selection.objectives) > 1
    hero: list[AnyChart] = [_front_figure(found) if several else _designs_figure(found)]
    sections = [_designs_section(found)]
    if (parameters := parameters_section(found, _labels(found)[0])) is not None:
        sections.append(parameters)
    run, known = found.winning_run, _known(found)
    over_time = time_charts(found.winning_scenario, {run.policy: run.tables})
    if over_time:
        hint = f"One run of the winner, with the seed {found.seed}."
        sections.append(Section("The winner over time", hint, over_time))
    if found.others or found.failures:
        sections.append(_methods_section(found))
    if found.macro is not None:
        sections.append(_macro_section(found.macro))
    sections.append(_theory_section(found))
    winner = found.winning_scenario.to_yaml()
    files = [File("winner.yaml", "The spec with the winner filled in", winner)]
    if (sure := found.sure_scenario) is not None:
        words = "The spec with the best design that surely keeps all limits"
        files.append(File("sure.yaml", words, sure.to_yaml()))
    return Sheet(
        kind="optimization",
        title=found.study.name or "optimisation",
        description=found.study.description,
        conclusion=spoken(found.headline(), known),
        reasons=[
            spoken(one, known) for one in (found.limits(), found.trade(), found.risks()) if one
        ],
        notes=[
            spoken(one, known)
            for one in (selection.remark, found.sampled(), *found.doubts())
            if one
        ],
        facts=_facts(found),
        hero=hero,
        sections=sections,
        guide=GUIDE,
        files=files,
    )


def _facts(found: Optimization) -> list[tuple[str, str]]:
    selection = found.selection
    names = (
        f"{escape(label)} (<code>{escape(one.name)}</code>, {one.direction}d)"
        for label, one in zip(_labels(found), selection.objectives, strict=True)
    )
    facts = [
        ("Designs", f"{selection.designs:,}"),
        ("Objectives", ", ".join(names)),
        ("Selected", f"{len(selection.selected):,} designs"),
        ("How sure", escape(spoken(f"{found.sure()}. {found.at_most()}".strip(), _known(found)))),
        ("Cost", escape(found.cost())),
    ]
    if found.traces():
        facts.append(("Traces", escape(found.traces())))
    if found.inputs is not None:
        facts.append(("Input uncertainty", escape(found.inputs.words())))
    if selection.omega is not None and selection.noise is not None:
        facts.append(("Omega, noise", f"{selection.omega}, {format_number(selection.noise)}"))
    facts.append(("Version", f"cloudarena {escape(found.version)}"))
    if found.study.name:
        facts.append(("Run again with", command_fact(_command(found))))
    return facts


def _command(found: Optimization) -> str:
    words = [found.study.name, "--method", found.asked_method]
    names = [f"{one.name}:{one.direction}" for one in found.selection.objectives]
    words += ["--objectives", ",".join(names)]
    words += ["--evaluations", str(found.evaluations), "--seed", str(found.seed)]
    words += ["--confidence", f"{found.selection.confidence:g}"]
    for limit in found.problem.limits:
        words += ["--where", str(limit)]
    for key, value in found.study.overrides.items():
        words += ["--set", f"{key}={value}"]
    for key, value in found.options.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    return f"cloudarena optimize {shlex.join(words)}"


def _front_figure(found: Optimization) -> Chart:
    selection = found.selection
    signs = np.array([one.sign for one in selection.objectives])
    best = int(np.flatnonzero(selection.estimates.designs == selection.best)[0])
    screening = selection.screening
    means = np.empty((0, 2)) if screening is None else (screening.moments.mean * signs)[:, :2]
    labels = []
    if screening is not None and selection.designs <= LABELLED:
        labels = [design_text(found.problem.design(index)) for index in range(selection.designs)]
    return front_chart(
        _labels(found)[:2],
        means,
        np.empty(0) if screening is None else screening.layer,
        selection.front.mean[:, :2],
        selection.estimates.mean[best, :2],
        labels,
        [design_text(found.problem.design(index)) for index in selection.front.designs],
    )


def _cost_figure(found: Optimization) -> Chart:
    selection = found.selection
    methods = [
        (one.method, one.evaluations, one.alignment.probability)
        for one in (selection, *found.others)
    ]
    if selection.needed is None or selection.screening is None:
        return cost_chart(methods)
    screening_evaluations = int(selection.screening.moments.counts.sum())
    each = float(selection.estimates.replications.mean())
    return cost_chart(methods, selection.needed, screening_evaluations, each)


def _designs_figure(found: Optimization) -> Dots:
    """The best designs by a single objective with their intervals, the chosen ones first."""
    selection, estimates = found.selection, found.selection.estimates
    order = np.argsort(estimates.mean[:, 0] * selection.objectives[0].sign, kind="stable")
    chosen = selection.chosen.tolist()
    numbers = [*chosen, *(one for one in estimates.designs[order].tolist() if one not in chosen)]
    rows = []
    names = _short_texts([found.problem.design(number) for number in numbers[:SHOWN_BEST]])
    for number, name in zip(numbers, names, strict=False):
        row = selection.row(number)
        mean, low, high = (
            float(part[row, 0]) for part in (estimates.mean, estimates.low, estimates.high)
        )
        text = design_text(found.problem.design(number))
        is_chosen = number in chosen
        rows.append(
            Dot(
                name,
                f"{text}: {format_number(mean)}",
                (mean, low, high),
                (),
                0 if is_chosen else 1,
                f"{format_number(low)} to {format_number(high)}",
                "chosen" if is_chosen else "",
                "★ " if is_chosen else "",
            )
        )
    hint = f"{_labels(found)[0]}, with the {selection.confidence:.0%} intervals of all at once"
    return Dots("The best designs", hint, rows, f"{selection.confidence:.0%} interval")


def _short_texts(designs: list[Any]) -> list[str]:
    """The designs by what they do not all have in common."""
    if len(designs) < 2 or not all(isinstance(one, Mapping) for one in designs):
        return [design_text(one) for one in designs]
    keys = dict.fromkeys(key for one in designs for key in one)
    own = [key for key in keys if any(one.get(key) != designs[0].get(key) for one in designs)]
    texts = []
    for one in designs:
        start = f"{one['policy']}."
        parts = [
            str(one[key]) if key == "policy" else f"{key.removeprefix(start)}={one[key]}"
            for key in own
            if key in one
        ]
        texts.append(" ".join(parts))
    return texts


def _theory_section(found: Optimization) -> Section:
    """What the screening stage shows and what claims cost, for those who want to know."""
    selection = found.selection
    charts: list[AnyChart] = [_cost_figure(found)]
    if selection.screening is not None:
        by_layers = len(selection.objectives) > 1
        charts.append(order_chart(selection.screening.curve, str(selection.omega), by_layers))
    charts += [_allocation_figure(found, one) for one in _with_rounds(found)]
    hint = "What the screening stage shows, and what it costs to be sure."
    return Section("Theory: cost, order and allocation", hint, charts, is_folded=True)


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


def _designs_section(found: Optimization) -> Section:
    heads, rows, marked, left_out = design_rows(found, 10 * SHOWN_FRONT)
    hint = f"Chosen first, then by {_labels(found)[0]}."
    if left_out:
        hint += f" {left_out:,} more are in metrics.json."
    table = html_table(_heads(found, heads), rows, marked)
    return Section("Designs on the front", hint, table=table)


def _methods_section(found: Optimization) -> Section:
    heads, rows = method_rows(found)
    hint = f"At most {found.evaluations:,} evaluations each; the same work for all."
    table = html_table(_heads(found, heads), rows, [0])
    return Section("Methods compared", hint, table=table)


def _macro_section(macro: MacroComparison) -> Section:
    heads, rows = macro_rows(macro)
    progress = []
    for index, one in enumerate(macro.methods):
        curve = np.array([tuple(each) for each in macro.curve(index)])
        progress.append((one.method, curve[:, 0], curve[:, 1], curve[:, 2]))
    profiles = [(one.method, one.solvability()) for one in macro.methods]
    charts = macro_charts(macro.budgets, progress, profiles, SOLVED)
    return Section(
        "Methods over macro-replications", macro.sentence(), charts, html_table(heads, rows, [0])
    )


def _known(found: Optimization) -> Mapping[str, Metric]:
    """The metrics of the kind by name."""
    return found.winning_scenario.kind.metric


def _labels(found: Optimization) -> list[str]:
    """What people call the objectives; the closed-form model has names alone."""
    known = _known(found)
    names = [one.name for one in found.selection.objectives]
    return [label_of(known[name]) if name in known else name for name in names]


def _heads(found: Optimization, heads: list[str]) -> list[str | tuple[str, str]]:
    """The heads of a table, of which objectives have their labels and their identifiers."""
    names = [one.name for one in found.selection.objectives]
    labels = dict(zip(names, _labels(found), strict=True))
    return [(labels[head], head) if labels.get(head, head) != head else head for head in heads]
