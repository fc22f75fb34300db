"""What an import is going to write: tables, a spec, what was counted and what is to be said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cloudarena.importing.guess import Machines
from cloudarena.importing.units import UNDATED_S, stamp

SPEC_FILE = "spec.yaml"
GUESS = "GUESS"
"""The mark of what a file does not tell."""
DAY_S, HOUR_S = 86400.0, 3600.0
FEWEST_BLOCKS = 4
"""Days, or hours, of a trace that is worth drawing again."""


@dataclass
class Draft:
    """A trace and a spec, before they are written."""

    kind: str
    tables: Mapping[str, Any]
    """Arrow tables by the name of their file."""
    spec: str
    """The YAML text; empty where no scenario is made."""
    counts: dict[str, int]
    start_s: float
    """The instant, in seconds since 1970, that is time 0."""
    preview: Sequence[Mapping[str, Any]]
    """The first rows as they were understood."""
    notes: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    """What the user is likely to ask of it, as commands, with SPEC for the file."""


def header(kind: str, source: str, start_s: float, notes: Sequence[str] = ()) -> list[str]:
    """The first lines of a spec."""
    lines = [
        f"# Made by cloudarena import of {source}. Lines marked {GUESS} are not in that file:",
        "# look at them first. All other keys that there are: cloudarena spec " + kind,
        *(f"# {note}" for note in notes),
        f"scenario: {kind}",
        f"description: {_quoted(source)}",
    ]
    if start_s >= UNDATED_S:
        lines.append(f'start_date: "{stamp(start_s)}"')
    return lines


def machine_lines(
    machines: Sequence[Machines], cpu_key: str, memory_key: str, always_on: bool = False
) -> list[str]:
    """The machines of a spec, with the price of the nearest instance type.

    Those that are always on are paid for in every hour, others while something is on them.
    """
    terms = ", terms: reserved" if always_on else ""
    way = "paid for in every hour" if always_on else "as if rented on demand"
    lines = ["machines:"]
    for one in machines:
        size = f"{cpu_key}: {one.cores:g}, {memory_key}: {one.memory_gb:g}"
        lines.append(f"  - {{name: {_quoted(one.name)}, count: {one.number}, {size},")
        if one.instance is None:
            lines[-1] += "}"
            continue
        lines.append(
            f"     price: {{instance: {one.instance.name}{terms}}}}}  # {GUESS}: {way}, "
            f"${one.instance.hour_usd:g} an hour ({one.instance.region}, list of "
            f"{one.instance.date})"
        )
    return lines


def drawn_again(key: str, span_s: float) -> str:
    """The option that draws a recorded trace again, block by block; empty if it is too short.

    Hours are drawn from less than a day alone: they do not keep the time of day.
    """
    if FEWEST_BLOCKS * HOUR_S <= span_s < DAY_S:
        return f" --set '{key}.resample={{blocks: hour}}'"
    return f" --set '{key}.resample={{blocks: day}}'" if span_s >= FEWEST_BLOCKS * DAY_S else ""


OWN_PRICE = (
    "  # owned machines: price: {purchase_usd: 9000, years: 4, month_usd: 60}; "
    "rented: {hour_usd: 1.2, terms: reserved}"
)


def _quoted(text: str) -> str:
    """A text as YAML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


quoted = _quoted
