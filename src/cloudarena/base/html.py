"""A small table as HTML, for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from cloudarena.base.measures import AtLeast


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], words: str = "") -> str:
    """A table with a sentence below it; all of it is text."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    below = f"<p>{escape(words)}</p>" if words else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def number_text(value: float, half_width: float = 0.0) -> str:
    """A number with half of its interval; a dash where there is none, > before a lower bound."""
    if math.isnan(value):
        return "\N{EN DASH}"
    if isinstance(value, AtLeast):
        return f"> {value:,.6g}"
    has_width = math.isfinite(half_width) and half_width > 0
    return f"{value:,.5g} ± {half_width:.2g}" if has_width else f"{value:,.6g}"
