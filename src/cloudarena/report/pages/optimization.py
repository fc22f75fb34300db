"""The page of an optimisation."""

from __future__ import annotations

import shlex
from html import escape

import numpy as np

from cloudarena.experiments.designs import design_text
from cloudarena.experiments.optimization import Optimization
from cloudarena.optimizers import Selection
from cloudarena.report.charts import (
    AnyChart,
    Chart,
    allocation_chart,
    cost_chart,
    front_chart,
    order_chart,
)
from cloudarena.report.numbers import format_number
from cloudarena.report.page import File, Section, Sheet, command_fact, html_table, label_of
from cloudarena.report.terminal import SHOWN_FRONT, design_rows, method_rows
from cloudarena.report.timeline import time_charts

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


def make_sheet(found: Optimization) -> Sheet:
    """What is on the page of an optimisation."""
    selection = found.selection
    hero = [_front_figure(found)] if len(selection.objectives) > 1 else [_cost_figure(found)]
    charts: list[AnyChart] = [] if len(selection.objectives) == 1 else [_cost_figure(found)]
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
    over_time = time_charts(found.winning_scenario, {run.policy: run.tables})
    if over_time:
        hint = f"One run of the winner, with the seed {found.seed}."
        sections.append(Section("The winner over time", hint, over_time))
    winner = found.winning_scenario.to_yaml()
    files = [File("winner.yaml", "The spec with the winner filled in", winner)]
    return Sheet(
        kind="optimization",
        title=found.study.name or "optimisation",
        description=found.study.description,
        conclusion=found.headline(),
        reasons=[text for text in (found.trade(),) if text],
        notes=[text for text in (selection.remark,) if text],
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
        ("How sure", escape(f"{found.sure()}. {found.at_most()}".strip())),
        ("Cost", escape(found.cost())),
    ]
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
        _labels(found)[:2],
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


def _labels(found: Optimization) -> list[str]:
    """What people call the objectives; the closed-form model has names alone."""
    known = found.winning_scenario.kind.metric
    names = [one.name for one in found.selection.objectives]
    return [label_of(known[name]) if name in known else name for name in names]


def _heads(found: Optimization, heads: list[str]) -> list[str | tuple[str, str]]:
    """The heads of a table, of which objectives have their labels and their identifiers."""
    names = [one.name for one in found.selection.objectives]
    labels = dict(zip(names, _labels(found), strict=True))
    return [(labels[head], head) if labels.get(head, head) != head else head for head in heads]
