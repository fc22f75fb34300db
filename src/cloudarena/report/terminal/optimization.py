"""An optimisation in the terminal: the front, the methods compared, and the conclusion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from cloudarena.base.statistics import Estimate, interval
from cloudarena.experiments.limit_words import chance_text
from cloudarena.experiments.macro import SOLVED, MacroComparison
from cloudarena.experiments.optimization import Optimization
from cloudarena.report.numbers import format_estimate, format_number

SHOWN_FRONT = 12
"""Designs of the front in the terminal; the page has up to ten times as many."""


def optimization_tables(found: Optimization) -> list[RenderableType]:
    """The front, the methods that were compared, and the conclusion, to be printed."""
    selection = found.selection
    parts: list[RenderableType] = [_front_table(found)]
    if found.others or found.failures:
        parts.append(_methods_table(found))
    if found.macro is not None:
        parts += [_macro_table(found.macro), Text(found.macro.sentence())]
    if selection.omega is not None and selection.noise is not None:
        parts.append(
            Text(f"Omega {selection.omega}, noise {format_number(selection.noise)}", "dim")
        )
    if selection.remark:
        parts.append(Text(selection.remark, "yellow"))
    parts.append(Text(f"{found.conclusion()} {found.cost()}", "bold"))
    return parts


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
    kept = selection.feasibility
    heads = ["design", *(one.name for one in selection.objectives)]
    heads += [] if kept is None else [str(limit) for limit in kept.limits]
    heads += ["replications"]
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
            *(f"{format_estimate(_estimate(one))} ({_kept(one)})" for one in row.get("limits", ())),
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


def macro_rows(macro: MacroComparison) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: areas, gaps at the end, and how many macro-replications were solved."""
    heads = ["method", "area under the gap", "beyond the first", "gap at the end"]
    heads += [f"solved (gap at most {SOLVED:g})"]
    rows = [
        [
            one.method,
            format_estimate(interval(one.areas)),
            format_estimate(macro.lead(index)) if index else "",
            format_estimate(interval(one.gaps[:, -1])),
            f"{one.solvability()[-1]:.0%}",
        ]
        for index, one in enumerate(macro.methods)
    ]
    return heads, rows


def _macro_table(macro: MacroComparison) -> Table:
    heads, rows = macro_rows(macro)
    runs = len(macro.methods[0].gaps)
    return _plain_table(f"The methods over {runs:,} macro-replications", heads, rows)


def _front_table(found: Optimization) -> Table:
    heads, rows, marked, left_out = design_rows(found, SHOWN_FRONT)
    title = f"{found.study.name}: the front of {len(found.selection.selected):,} selected designs"
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column(heads[0], overflow="fold")
    for name in heads[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for index, row in enumerate(rows):
        style = "bold green" if index in marked else ""
        table.add_row(
            *(Text(("* " if style and not k else "") + cell, style) for k, cell in enumerate(row))
        )
    level = f"± half of the {found.selection.confidence:.0%} interval, of all at once; * chosen"
    if found.selection.feasibility is not None:
        level += "; in brackets how probably a limit is kept"
    more = f"; {left_out:,} more are not shown" if left_out else ""
    table.caption, table.caption_justify = Text(level + more), "left"
    return table


def _methods_table(found: Optimization) -> Table:
    heads, rows = method_rows(found)
    title = f"The methods, with at most {found.evaluations:,} evaluations each"
    return _plain_table(title, heads, rows)


def _plain_table(title: str, heads: list[str], rows: list[list[str]]) -> Table:
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in heads:
        table.add_column(name, justify="left" if name in ("method", "chosen") else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _kept(values: Mapping[str, Any]) -> str:
    """Whether a limit is surely kept, or with which probability."""
    if values["surely"]:
        return "sure"
    chance = values["probability"]
    return chance_text(float("nan") if chance is None else chance)


def _estimate(values: Mapping[str, Any]) -> Estimate:
    mean, low, high = (
        float("nan") if values[key] is None else values[key] for key in ("mean", "low", "high")
    )
    return Estimate(mean, low, high)
