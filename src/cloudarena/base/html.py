"""A small table as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], words: str = "") -> str:
    """A table with a sentence below it; all of it is text."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    below = f"<p>{escape(words)}</p>" if words else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
