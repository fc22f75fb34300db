"""A page of charts and tables that holds all it needs: for what is not a comparison of policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template

from cloudarena.base.files import write_text
from cloudarena.report.charts import Chart
from cloudarena.report.page import asset, render_page

TALL, LOW = 380, 260


@dataclass(frozen=True)
class Section:
    """A part of the page: charts side by side, or a table."""

    title: str
    hint: str
    charts: Sequence[Chart] = ()
    table: str = ""
    """HTML."""


@dataclass(frozen=True)
class File:
    """A text that the page shows and offers to save."""

    name: str
    summary: str
    text: str


@dataclass(frozen=True)
class Sheet:
    """All that is on a page. Words are plain text, but for ``facts``, which are HTML."""

    kind: str
    title: str
    description: str
    conclusion: str
    notes: Sequence[str]
    facts: Sequence[tuple[str, str]]
    hero: Sequence[Chart]
    sections: Sequence[Section]
    guide: Sequence[str]
    files: Sequence[File] = field(default=())


def write_sheet(sheet: Sheet, path: str | Path) -> Path:
    """Writes the page as one HTML file and returns its path."""
    return write_text(path, render_sheet(sheet))


def render_sheet(sheet: Sheet) -> str:
    """The page as text."""
    charts = [*sheet.hero, *(chart for section in sheet.sections for chart in section.charts)]
    number = {id(chart): place for place, chart in enumerate(charts)}
    sections = Template(asset("sheet.html")).substitute(
        sections="".join(_section(section, number) for section in sheet.sections),
        details=_details(sheet),
    )
    return render_page(
        kind=sheet.kind,
        title=sheet.title,
        description=sheet.description,
        conclusion=sheet.conclusion,
        notes=sheet.notes,
        facts=sheet.facts,
        hero="".join(_figure(chart, number[id(chart)], TALL) for chart in sheet.hero),
        sections=sections,
        numbers="the tables",
        script="sheet.js",
        data={"charts": [chart.plain() for chart in charts]},
    )


def html_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], marked: Sequence[int] = ()
) -> str:
    """A table of plain texts; the first column is on the left, marked rows stand out.

    A last column of words is on the left too: one in which no cell begins with a number.
    """
    last = len(heads) - 1
    is_words = [
        k == last and not any(row[k][:1].isdigit() for row in rows) for k in range(last + 1)
    ]
    sides = [' class="words"' if words else "" for words in is_words]
    head = "".join(
        f'<th scope="col"{side}>{escape(name)}</th>'
        for name, side in zip(heads, sides, strict=True)
    )
    body = []
    for place, row in enumerate(rows):
        cells = "".join(
            f'<td data-label="{escape(name)}"{side}>{escape(text)}</td>'
            for name, text, side in zip(heads[1:], row[1:], sides[1:], strict=True)
        )
        style = ' class="leads"' if place in marked else ""
        # Parameters of a policy may be many: the line may break after each.
        name = escape(row[0]).replace(":", ":<wbr>")
        body.append(f'<tr{style}><th scope="row">{name}</th>{cells}</tr>')
    return (
        f'<table class="metrics"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def command_fact(command: str) -> str:
    """A command with a button that copies it."""
    words = f"<span>{escape(command)}</span>".replace(" --", "</span> <span>--")
    return (
        f'<span class="command"><code id="command">{words}</code>'
        '<button type="button" data-copy="command" hidden>Copy</button></span>'
    )


def _section(section: Section, number: dict[int, int]) -> str:
    figures = "".join(_figure(chart, number[id(chart)], LOW) for chart in section.charts)
    content = f'<div class="charts wide">{figures}</div>' if figures else ""
    if section.table:
        content += f'<div class="card scroll" tabindex="0" role="region">{section.table}</div>'
    return (
        f'<section><div class="section-head"><h2>{escape(section.title)}</h2>'
        f"<p>{escape(section.hint)}</p></div>{content}</section>"
    )


def _figure(chart: Chart, number: int, height: int) -> str:
    return (
        f'<figure class="chart" data-sheet="{number}" data-height="{height}"><figcaption>'
        f"<h3>{escape(chart.title)}</h3><p>{escape(chart.hint)}</p></figcaption>"
        f'<div class="plot" role="img" aria-label="{escape(chart.words())}"></div></figure>'
    )


def _details(sheet: Sheet) -> str:
    items = "".join(f"<li>{escape(item)}</li>" for item in sheet.guide)
    parts = [
        '<details class="card"><summary>How to read this</summary>'
        f'<ul class="guide">{items}</ul></details>'
    ]
    for file in sheet.files:
        name = escape(file.name)
        parts.append(
            f'<details class="card"><summary>{escape(file.summary)}</summary>'
            f'<p><button type="button" data-download="{name}">Download as {name}</button></p>'
            f'<pre data-file="{name}" tabindex="0">{escape(file.text)}</pre></details>'
        )
    return "".join(parts)
