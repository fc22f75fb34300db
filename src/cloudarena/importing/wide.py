"""Tables whose columns are not roles but values: a column for each service, minute or hour."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from cloudarena.base.arrow import pa
from cloudarena.importing import lexicon
from cloudarena.importing.mapping import (
    Column,
    Proposal,
    are_instants,
    column_values,
    is_counted,
    parser_for,
    proposed,
)
from cloudarena.importing.roles import NEEDS
from cloudarena.importing.sheet import Bad, Sheet, is_scale
from cloudarena.importing.units import is_nothing, is_per_second

TOTALS = re.compile(
    r"(total|sum|summe|gesamt|somme|suma|totale|合计|合計|всего|итого)", re.IGNORECASE
)
"""Names of columns that repeat what the others hold."""
SCALE_STEPS_S = {1440: 60.0, 24: 3600.0, 48: 1800.0, 96: 900.0, 288: 300.0}
"""How long a column of a day is, by how many of them there are."""


DATE_ALONE = re.compile(
    r"(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.](\d{4}|\d\d)|\d{4}年\d+月\d+日|\d{8})"
    r"( 00:00(:00)?)?"
)
CLOCK_ALONE = re.compile(r"\d\d?:\d\d(:\d\d([.,]\d+)?)?(\s?[AaPp][Mm])?")


def with_clocks(sheet: Sheet) -> Sheet:
    """A sheet in which a column of dates and the one of times of day behind it are one."""
    names, columns, k = sheet.names, dict[str, object](), 0
    joined: list[str] = []
    while k < len(names):
        name, after = names[k], names[k + 1] if k + 1 < len(names) else None
        if after is not None and _all_like(sheet, name, DATE_ALONE) and _is_of_day(sheet, after):
            both = f"{name} {after}"
            pairs = zip(sheet.texts(name), sheet.texts(after), strict=True)
            texts = [
                day if is_nothing(day) or is_nothing(clock) else _joined(day, clock)
                for day, clock in pairs
            ]
            columns[both] = pa.array(texts, pa.string())
            joined.append(both)
            k += 2
        else:
            columns[name] = sheet.columns[name]
            k += 1
    if not joined:
        return sheet
    remark = f"dates and times of day together: {', '.join(joined)}"
    return Sheet(sheet.path, columns, sheet.lines, sheet.bad, (*sheet.remarks, remark), sheet.extra)


def _all_like(sheet: Sheet, name: str, form: re.Pattern[str]) -> bool:
    texts = column_values(sheet, name)
    return bool(texts) and all(form.fullmatch(text.strip()) for text in texts)


def _is_of_day(sheet: Sheet, name: str) -> bool:
    """Whether a column holds times of day, or the hours 0 to 23 under such a name."""
    if lexicon.fit(name, lexicon.WORDS[("*", "duration")]):
        return False
    if _all_like(sheet, name, CLOCK_ALONE):
        return True
    is_named = any(word in lexicon.parts_of(name) for word in HOURS)
    hours = column_values(sheet, name)
    return is_named and all(re.fullmatch(r"\d|[01]\d|2[0-3]", text.strip()) for text in hours)


HOURS = ("hour", "stunde", "heure", "hora", "ora", "uur", "godzina", "час", "时", "小时", "時")


def _joined(day: str, clock: str) -> str:
    """A date and a time of day as one; the latter may be an hour alone."""
    return f"{day.strip().partition(' ')[0]} {clock if ':' in clock else f'{int(clock):02}:00'}"


def laid_out(sheet: Sheet) -> Sheet:
    """A sheet with a row for each cell where columns count through the minutes of a day."""
    scale = _scale(sheet.names)
    others = [name for name in sheet.names if name not in scale]
    if not scale or not others:
        return sheet
    step_s = SCALE_STEPS_S.get(len(scale), 60.0)
    days = [name for name in others if column_values(sheet, name) and are_instants(sheet, name)]
    first = _clock_s(scale[0], step_s)
    offsets = [
        _clock_s(name, step_s) - (first if not _is_clock(scale[0]) else 0.0) for name in scale
    ]
    bad: list[Bad] = []
    times, counts, kept, lines = [], [], [], []
    parse = parser_for(sheet, "number", scale[0], "")
    day = days[0] if days else None
    moments = sheet.texts(day) if day else [""] * len(sheet)
    cells = [sheet.texts(name) for name in scale]
    for row in range(len(sheet)):
        for k, offset in enumerate(offsets):
            text = cells[k][row]
            if is_nothing(text):
                continue
            with suppress(ValueError):
                if parse(text) == 0 and day is None:
                    continue  # A minute without an invocation
            times.append(f"{moments[row]} {_clock(offset)}".strip() if day else f"{offset:g}")
            counts.append(text)
            kept.append(row)
            lines.append(sheet.line(row))
    columns = {
        "time": pa.array(times, pa.string()),
        "count": pa.array(counts, pa.string()),
        **{
            name: sheet.columns[name].take(pa.array(kept, pa.int64()))
            for name in others
            if name != day
        },
    }
    remark = f"{len(sheet):,} rows of {len(scale):,} columns of {step_s:g} s each"
    return Sheet(sheet.path, columns, np.array(lines), (*sheet.bad, *bad), (*sheet.remarks, remark))


def _scale(names: Sequence[str]) -> list[str]:
    """The columns that count through a day, if there are such."""
    found = [name for name in names if re.fullmatch(r"\d{1,4}(:\d\d(:\d\d)?)?h?", name.strip())]
    return found if is_scale([name.rstrip("h") for name in found]) else []


def _is_clock(name: str) -> bool:
    return ":" in name


def _clock_s(name: str, step_s: float) -> float:
    """How far into the day a column is, in seconds; for one that is a number, from 0."""
    if _is_clock(name):
        parts = [int(part) for part in name.split(":")]
        return 3600.0 * parts[0] + 60.0 * parts[1]
    return int(name.rstrip("h")) * step_s


def _clock(seconds: float) -> str:
    return f"{int(seconds // 3600):02}:{int(seconds % 3600 // 60):02}"


def added_up(sheet: Sheet) -> tuple[Sheet, Proposal] | None:
    """A series of all columns together where each is the count or rate of something over time.

    None if the table is no such: one column of times, and at least two that hold nothing but
    numbers.
    """
    mapping = proposed(sheet, "tiers")
    time = mapping.get("time")
    if time is None:
        return None
    numbers = [
        name
        for name in sheet.names
        if name != time.source
        and is_counted(sheet, name)
        and not lexicon.fit(name, lexicon.WORDS[("*", "count-")])
    ]
    others = [name for name in sheet.names if name != time.source and name not in numbers]
    unknown = [name for name in others if not is_counted(sheet, name)]
    if len(numbers) < 2 or any(column_values(sheet, name) for name in unknown):
        return None
    parts = [name for name in numbers if not TOTALS.search(name)] or numbers
    total = np.zeros(len(sheet))
    wrong: dict[int, str] = {}
    for name in parts:
        parse = parser_for(sheet, "number", name, "")
        for row, text in enumerate(sheet.texts(name)):
            if is_nothing(text):
                continue
            try:
                total[row] += parse(text)
            except ValueError:
                wrong[row] = text
    texts = [wrong.get(row) or repr(float(value)) for row, value in enumerate(total)]
    name = " + ".join(parts[:4]) + (f" + {len(parts) - 4} more" if len(parts) > 4 else "")
    columns = {**sheet.columns, name: pa.array(texts, pa.string())}
    is_rate = all(is_per_second(column_values(sheet, part)[:50]) for part in parts)
    guess = (
        f"{name} are taken for requests of one service each, "
        f"{'a second' if is_rate else 'from each time to the next'}, and added up "
        "(--map count=COLUMN takes one alone)"
    )
    role = "rate" if is_rate else "count"
    assert NEEDS["tiers"].role(role) is not None
    extra = {**sheet.extra, "used": frozenset(parts)}
    made = Sheet(sheet.path, columns, sheet.lines, sheet.bad, sheet.remarks, extra)
    return made, Proposal("tiers", {"time": time, role: Column(name, guess=guess)})
