"""What all pages share: one file that holds all it needs and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from cloudarena import __version__
from cloudarena.report.fragments import breakable

ECHARTS = "vendor/echarts.common.min.js"


def render_page(
    *,
    kind: str,
    title: str,
    description: str,
    conclusion: str,
    reasons: Sequence[str] = (),
    notes: Sequence[str],
    facts: Sequence[tuple[str, str]],
    hero: str,
    sections: str,
    numbers: str,
    script: str,
    data: dict[str, Any],
) -> str:
    """A page as text: the answer, what shows it, and sections below.

    Args:
        kind: what the page is, as its head says.
        title: plain text, as are the description, the conclusion, its reasons and the notes.
        description: what was simulated.
        conclusion: the answer in a sentence.
        reasons: further sentences of the answer.
        notes: what the reader must know before believing it.
        facts: terms, and as HTML what made the answer.
        hero: HTML, as are the sections: the charts beside the conclusion.
        sections: all else.
        numbers: where the numbers are if no chart can be drawn.
        script: the file that draws the charts.
        data: what that script reads.
    """
    scripts = {"echarts": asset(ECHARTS), "script": asset("page.js") + asset(script)}
    return Template(asset("page.html")).substitute(
        scripts,
        security=security_policy(list(scripts.values())),
        css=asset("report.css"),
        kind=escape(kind),
        title=escape(title),
        description=escape(description),
        conclusion=breakable(conclusion),
        reasons="".join(f'<p class="reason">{breakable(one)}</p>' for one in reasons),
        notes="".join(f'<p class="note">{escape(note)}</p>' for note in notes),
        facts="".join(f"<div><dt>{escape(term)}</dt><dd>{text}</dd></div>" for term, text in facts),
        hero=hero,
        sections=sections,
        numbers=numbers,
        version=escape(__version__),
        data=embedded(data),
    )


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
