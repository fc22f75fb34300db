"""The page: one file that holds all it needs and loads nothing.

A ``Sheet`` says what is on it; the modules in ``pages`` make one of each thing that is measured.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from cloudarena.contract import Metric
from cloudarena.report.charts import AnyChart
from cloudarena.version import __version__

ECHARTS = "vendor/echarts.common.min.js"
TALL, LOW = 380, 260
"""Heights of charts beside the answer, and of others."""
DIRECTIONS = {"higher": "↑ higher is better", "lower": "↓ lower is better", None: ""}
ARROWS_HINT = "↑ higher is better, ↓ lower is better."


@dataclass(frozen=True)
class Section:
    """A part of the page: charts side by side, or a table."""

    title: str
    hint: str = ""
    charts: Sequence[AnyChart] = ()
    table: str = ""
    """The table of the section, as HTML."""
    fold: str = ""
    """What shows the rows of the table that are folded away; nothing is folded by default."""
    switches: Sequence[str] = ()
    """The policies whose lines can be hidden in the charts of the section."""
    hidden: Sequence[str] = ()
    """The policies whose lines are hidden at first."""
    views: Mapping[str, int] = field(default_factory=dict)
    """How many of the charts, one after the other, a button of this name shows; all by default."""
    is_folded: bool = False
    """Whether the section is closed at first, as one that few readers need."""


@dataclass(frozen=True)
class File:
    """A text that the page shows and offers to save."""

    name: str
    summary: str
    text: str


@dataclass(frozen=True)
class Rows:
    """Numbers that the page shows as a table when asked, and offers to save as CSV."""

    name: str
    summary: str
    columns: Mapping[str, Sequence[Any]]
    bounds: Mapping[str, Sequence[bool]]
    """Which values are lower bounds, by columns that have some."""


@dataclass(frozen=True)
class Sheet:
    """All that is on a page. Words are plain text, but for ``facts``, which are HTML."""

    kind: str
    """What the page is, as its head says."""
    title: str
    description: str
    """What was simulated."""
    conclusion: str
    """The answer in a sentence."""
    notes: Sequence[str]
    """What the reader must know before believing it."""
    facts: Sequence[tuple[str, str]]
    """What made the answer: terms, and HTML."""
    hero: Sequence[AnyChart]
    """The charts beside the answer."""
    sections: Sequence[Section]
    guide: Sequence[str]
    """How to read it; ``<b>`` and ``<code>`` may be in it."""
    files: Sequence[File] = ()
    rows: Sequence[Rows] = ()
    reasons: Sequence[str] = ()
    """Further sentences of the answer."""


def render(sheet: Sheet) -> str:
    """The page as text; the same sheet gives the same text."""
    charts = [*sheet.hero, *(chart for section in sheet.sections for chart in section.charts)]
    chart_index = {id(chart): index for index, chart in enumerate(charts)}
    scripts = {"echarts": asset(ECHARTS), "script": asset("page.js")}
    return Template(asset("page.html")).substitute(
        scripts,
        security=security_policy(list(scripts.values())),
        css=asset("page.css"),
        kind=escape(sheet.kind),
        title=escape(sheet.title),
        description=escape(sheet.description),
        conclusion=breakable(sheet.conclusion),
        reasons="".join(f'<p class="reason">{breakable(one)}</p>' for one in sheet.reasons),
        notes="".join(f'<p class="note">{escape(note)}</p>' for note in sheet.notes),
        facts="".join(
            f"<div><dt>{escape(term)}</dt><dd>{is_}</dd></div>" for term, is_ in sheet.facts
        ),
        hero="".join(_figure(chart, chart_index[id(chart)], TALL) for chart in sheet.hero),
        hero_class="" if sheet.hero else " alone",
        sections="".join(
            _section(section, f"section-{index}", chart_index)
            for index, section in enumerate(sheet.sections, start=1)
        ),
        details=_details(sheet),
        version=escape(__version__),
        data=embedded(
            {"charts": [chart.plain() for chart in charts], "rows": [_rows(r) for r in sheet.rows]}
        ),
    )


def label_of(metric: Metric) -> str:
    """What people call a metric, such as ``Profit, $``."""
    return metric.label or metric.name


def meaning_of(metric: Metric) -> str:
    """What a metric is, as HTML; names between double backticks are code."""
    return re.sub(r"``(.+?)``", r"<code>\1</code>", escape(metric.description))


def metric_tip(metric: Metric) -> str:
    """What a metric means, with its identifier."""
    way = DIRECTIONS[metric.better]
    meaning = f"{metric.description.replace('``', '').rstrip('.')}. {way}".strip(". ")
    return f"{metric.name}: {meaning}" if meaning else metric.name


def metric_head(
    metric: Metric, with_meaning: bool = True, scope: str = "row", more: bool = False
) -> str:
    """The head of a metric's row or column: its label, direction, identifier and meaning."""
    meaning = f'<span class="meaning">{meaning_of(metric)}</span>' if with_meaning else ""
    folded = ' class="more"' if more else ""
    return (
        f'<th scope="{scope}"{folded}>'
        f'<span class="tip" tabindex="0" data-tip="{escape(metric_tip(metric))}">'
        f"{breakable(label_of(metric))}</span>{_arrow(metric)}"
        f'<span class="identifier">{breakable(metric.name)}</span>'
        f"{meaning}</th>"
    )


def html_table(
    heads: Sequence[str | tuple[str, str]],
    rows: Sequence[Sequence[str]],
    marked: Sequence[int] = (),
) -> str:
    """A table of plain texts; the first column is on the left, marked rows stand out.

    A last column of words is on the left too: one in which no cell begins with a number.

    Args:
        heads: of the columns, each alone or with its identifier.
        rows: the cells.
        marked: the rows that stand out.
    """
    last = len(heads) - 1
    is_words = [
        k == last and not any(row[k][:1].isdigit() for row in rows) for k in range(last + 1)
    ]
    sides = [' class="words"' if words else "" for words in is_words]
    names = [head if isinstance(head, str) else head[0] for head in heads]
    head = "".join(
        f'<th scope="col"{side}>{_column_head(one)}</th>'
        for one, side in zip(heads, sides, strict=True)
    )
    body = []
    for index, row in enumerate(rows):
        cells = "".join(
            f'<td data-label="{escape(name)}"{side}>{escape(text)}</td>'
            for name, text, side in zip(names[1:], row[1:], sides[1:], strict=True)
        )
        style = ' class="leads"' if index in marked else ""
        # Parameters of a policy may be many: the line may break after each.
        name = escape(row[0]).replace(":", ":<wbr>")
        body.append(f'<tr{style}><th scope="row">{name}</th>{cells}</tr>')
    return (
        f'<table class="metrics"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def command_fact(command: str, notes: Sequence[str] = ()) -> str:
    """A command with a button that copies it, and what must be there before it can run."""
    words = f"<span>{escape(command)}</span>".replace(" --", "</span> <span>--")
    words = words.replace(",", ",</span><span>")  # lines break before options and after commas
    hints = "".join(f'<span class="hint">{escape(note)}</span>' for note in notes)
    return (
        f'<span class="command"><code id="command">{words}</code>'
        f'<button type="button" data-copy="command" hidden>Copy</button></span>{hints}'
    )


def breakable(text: str) -> str:
    """Text as HTML that may go on in a new line between parameters, or the words of a long name."""
    words = re.sub(r":(?=\S)", ":<wbr>", escape(text))
    return re.sub(r"\w{25,}", lambda name: name[0].replace("_", "_<wbr>"), words)


def embedded(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def security_policy(scripts: list[str]) -> str:
    """Lets the page run its own scripts and nothing else, and load nothing."""
    hashes = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    )
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def asset(name: str) -> str:
    """The text of a file of this folder."""
    return files("cloudarena.report").joinpath(name).read_text(encoding="utf-8")


def _arrow(metric: Metric) -> str:
    """Which way a metric is better."""
    words = DIRECTIONS[metric.better]
    return f'<span class="arrow" title="{words[2:]}">{words[0]}</span>' if words else ""


def _column_head(head: str | tuple[str, str]) -> str:
    if isinstance(head, str):
        return escape(head)
    return f'{escape(head[0])}<span class="identifier">{escape(head[1])}</span>'


def _section(section: Section, name: str, chart_index: Mapping[int, int]) -> str:
    title, fold, switches = f"{name}-title", "", ""
    beside = f"<p>{escape(section.hint)}</p>" if section.hint else ""
    if section.fold:
        fold = f'<input type="checkbox" id="{name}-fold" class="fold">'
        beside += f'<label for="{name}-fold" class="fold-label">{escape(section.fold)}</label>'
    if section.switches:
        switches = _switches(section.switches, section.hidden)
    if section.views:
        switches = _views(section.views)
    places = [k for k, number in enumerate(section.views.values()) for _ in range(number)]
    figures = "".join(
        _figure(chart, chart_index[id(chart)], LOW, view)
        for chart, view in zip(section.charts, places or [0] * len(section.charts), strict=True)
    )
    wide = "" if any(hasattr(chart, "rows") for chart in section.charts) else " wide"
    content = f'<div class="charts{wide}">{figures}</div>' if figures else ""
    if section.table:
        content += (
            f'<div class="card scroll" tabindex="0" role="region" aria-labelledby="{title}">'
            f"{section.table}</div>"
        )
    if section.is_folded:
        return (
            f'<section aria-labelledby="{title}"><details class="card section">'
            f'<summary id="{title}">{escape(section.title)}</summary>'
            f"<div>{beside}{switches}{content}</div></details></section>\n"
        )
    return (
        f'<section aria-labelledby="{title}">{fold}<div class="section-head">'
        f'<h2 id="{title}">{escape(section.title)}</h2>{beside}</div>{switches}{content}'
        "</section>\n"
    )


def _views(names: Iterable[str]) -> str:
    """A button for each view of which one is shown at a time."""
    buttons = "".join(
        f'<button type="button" class="switch" data-view="{k}" '
        f'aria-pressed="{str(k == 0).lower()}">{escape(name)}</button>'
        for k, name in enumerate(names)
    )
    return f'<div class="switches" role="group" aria-label="What is drawn">{buttons}</div>'


def _switches(names: Sequence[str], hidden: Sequence[str]) -> str:
    """A button for each policy that shows and hides its lines."""
    buttons = "".join(
        f'<button type="button" class="switch" data-switch="{escape(name)}" '
        f'aria-pressed="{str(name not in hidden).lower()}">'
        f'<span class="key line" data-policy="{k}"></span>{escape(name)}</button>'
        for k, name in enumerate(names)
    )
    return (
        f'<div class="switches" role="group" aria-label="Policies shown">{buttons}'
        '<button type="button" class="switch reset-zoom">Reset zoom</button></div>'
    )


def _figure(chart: AnyChart, chart_index: int, height: int, view: int = 0) -> str:
    tip = f' class="tip" tabindex="0" data-tip="{escape(chart.tip)}"' if chart.tip else ""
    metric = getattr(chart, "metric", "")
    wide = " across" if getattr(chart, "x_words", ()) else ""
    named = f' data-metric="{escape(metric)}"' if metric else ""
    named += f' data-in-view="{view}" hidden' if view else ""
    return (
        f'<figure class="chart{wide}" data-chart="{chart_index}"{named} '
        f'data-height="{chart.height or height}">'
        f"<figcaption><h3><span{tip}>{escape(chart.title)}</span></h3><p>{escape(chart.hint)}</p>"
        f'</figcaption><div class="plot" role="img" aria-label="{escape(chart.words())}"></div>'
        "</figure>"
    )


def _details(sheet: Sheet) -> str:
    items = "".join(f"<li>{_marked_up(item)}</li>" for item in sheet.guide)
    parts = [
        '<details class="card"><summary>How to read this</summary>'
        f'<ul class="guide">{items}</ul></details>'
    ]
    for index, rows in enumerate(sheet.rows):
        parts.append(
            f'<details class="card rows" data-rows="{index}"><summary>{escape(rows.summary)}'
            f'</summary><p><button type="button" data-download="{escape(rows.name)}">Download as '
            f'{escape(rows.name)}</button></p><div class="scroll" tabindex="0" role="region" '
            f'aria-label="{escape(rows.summary)}"></div></details>'
        )
    for file in sheet.files:
        name = escape(file.name)
        parts.append(
            f'<details class="card"><summary>{escape(file.summary)}</summary>'
            f'<p><button type="button" data-download="{name}">Download as {name}</button></p>'
            f'<pre data-file="{name}" tabindex="0">{escape(file.text)}</pre></details>'
        )
    return "".join(parts)


def _marked_up(text: str) -> str:
    """Text as HTML in which ``<b>`` and ``<code>`` are what they look like."""
    return re.sub(r"&lt;(/?(?:b|code))&gt;", r"<\1>", escape(text))


def _rows(rows: Rows) -> dict[str, Any]:
    return {
        "name": rows.name,
        "heads": list(rows.columns),
        "columns": [list(column) for column in rows.columns.values()],
        "bounds": {name: list(flags) for name, flags in rows.bounds.items()},
    }
