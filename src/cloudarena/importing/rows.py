"""The rows of a sheet as numbers, role by role, and which of them cannot be used, and why."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, tzinfo
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError
from cloudarena.importing.draft import GUESS
from cloudarena.importing.mapping import Mapped, parser_for, parser_of
from cloudarena.importing.roles import NEEDS, Role
from cloudarena.importing.sheet import Sheet, filled
from cloudarena.importing.units import UNDATED_S, day_order, has_zone, is_far, is_nothing

ISO = ("Z", "")
"""How times end that Arrow reads by itself: in UTC, or without a zone."""


DECADES_S = 30 * 365.25 * 86400
"""How far after the others a time is that stands for never, as 2099-12-31 does."""


class Rejected(NamedTuple):
    """A row that is not in the trace, and why."""

    row: int
    reason: str


class Rows:
    """Reads the columns of a sheet by role and keeps account of what cannot be used.

    Args:
        sheet: the file.
        kind: what is made of it.
        mapping: the column of each role.
        zone: the zone of times that name none.
    """

    def __init__(self, sheet: Sheet, kind: str, mapping: Mapped, zone: tzinfo = UTC):
        self.sheet, self.kind, self.mapping, self.zone = sheet, kind, mapping, zone
        self.count = len(sheet)
        self.notes: list[str] = []
        self._reason: dict[int, str] = {}
        self._day_first: bool | None = None
        self._good = np.ones(self.count, np.bool_)

    def __contains__(self, role: str) -> bool:
        return role in self.mapping

    @property
    def good(self) -> Ints:
        """The rows that can be used so far."""
        return np.flatnonzero(self._good)

    @property
    def rejected(self) -> list[Rejected]:
        """The rows that cannot be used."""
        return [Rejected(row, reason) for row, reason in sorted(self._reason.items())]

    def reject(self, bad: Flags, reason: str | Callable[[int], str]) -> None:
        """Leaves rows out; a row's first reason counts."""
        for row in np.flatnonzero(bad & self._good).tolist():
            self._reason[row] = reason(row) if callable(reason) else reason
        self._good &= ~bad

    def reject_repeated(self, *values: Floats) -> None:
        """Leaves out rows that have the id and the numbers of one before them."""
        if "id" not in self.mapping or self.mapping["id"].is_value:
            return
        seen, again = set(), np.zeros(self.count, np.bool_)
        texts = self.texts("id")
        for row in self.good.tolist():
            key = texts[row], *(repr(float(one[row])) for one in values)
            again[row] = bool(texts[row]) and key in seen
            seen.add(key)
        self.reject(again, "it is a duplicate: the same id, times and sizes as before")

    def texts(self, role: str) -> list[str]:
        """The texts of a role; empty where there is nothing."""
        column = self.mapping[role]
        return [column.source] * self.count if column.is_value else self.sheet.texts(column.source)

    def numbers(self, role: str, needed: bool = False) -> Floats:
        """The values of a role: instants in seconds since 1970, lengths in s, memory in GB.

        What stands for nothing is NaN; a row with what cannot be read is rejected, and so is one
        with nothing where it is needed.
        """
        if role not in self.mapping:
            return np.full(self.count, np.nan)
        found, column = self._role(role), self.mapping[role]
        if column.is_value:
            return np.full(self.count, parser_of(found.form, column.unit)(column.source))
        values, is_read, is_given = self._parsed(found, column.source, column.unit)
        texts = self.sheet.columns[column.source]
        self.reject(
            ~is_read & is_given,
            lambda row: f"{column.source}: {str(texts[row])[:80]!r} is no {_words(found)}",
        )
        if needed:
            self.reject(~is_given, f"{column.source}: is empty")
        return values

    def _role(self, name: str) -> Role:
        role = NEEDS[self.kind].role(name)
        assert role is not None
        return role

    def _parsed(self, role: Role, source: str, unit: str) -> tuple[Floats, Flags, Flags]:
        """The values of a column, which of them could be read, and which are something at all."""
        texts = self.sheet.columns[source]
        if role.form == "instant" and not unit:
            fast = self._iso(texts, source)
            if fast is not None:
                return fast, np.ones(self.count, np.bool_), np.ones(self.count, np.bool_)
        day_first = self._order_of_days(role)
        if role.form == "instant":
            parse = parser_of(role.form, unit, self.zone, day_first)
        else:
            parse = parser_for(self.sheet, role.form, source, unit)
        encoded = pc.dictionary_encode(pc.fill_null(texts, ""))
        values, is_read, is_given = [], [], []
        for text in encoded.dictionary.to_pylist():
            value, read, given = np.nan, False, not is_nothing(text)
            if given:
                with suppress(ValueError, OverflowError):
                    value, read = parse(text), True
                if read and role.form == "instant" and is_far(value):
                    value, read, given = np.nan, False, False
            values.append(value)
            is_read.append(read)
            is_given.append(given)
        if role.form == "instant":
            self._tell_zone(source, encoded.dictionary.to_pylist()[:50])
        index = encoded.indices.to_numpy()
        found = np.array(values, np.float64)[index]
        read, given = np.array(is_read, np.bool_)[index], np.array(is_given, np.bool_)[index]
        if role.form == "instant" and given.any():
            never = _is_never(found)
            found[never], read[never], given[never] = np.nan, False, False
        return found, read, given

    def _iso(self, texts: Any, source: str) -> Floats | None:
        """Instants that all have one common form, by Arrow; None if they have not."""
        if texts.null_count or not len(texts):
            return None
        kinds = [pa.timestamp("us", "UTC")]
        if self.zone is UTC:
            kinds.append(pa.timestamp("us"))
        for kind in kinds:
            try:
                found = texts.cast(kind).cast(pa.int64()).to_numpy()
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
            values: Floats = found / 1e6
            if is_far(float(values.min())) or is_far(float(values.max())):
                return None
            self._tell_zone(source, texts.slice(0, 5).to_pylist())
            return values
        return None

    def _tell_zone(self, source: str, texts: list[str]) -> None:
        written = [text for text in texts if any(mark in text for mark in "-/:") and text.strip()]
        if written and not any(has_zone(text) for text in written):
            note = f"times that name no zone are taken for {self.zone} (--zone says otherwise)"
            if note not in self.notes:
                self.notes.append(note)

    def _order_of_days(self, role: Role) -> bool:
        """Whether 03/04/2026 is in April, by all times of the file together."""
        if role.form != "instant":
            return False
        if self._day_first is None:
            forms = {one.name: one.form for one in NEEDS[self.kind].roles}
            sources = [
                column.source
                for name, column in self.mapping.items()
                if forms.get(name) == "instant" and not column.is_value
            ]
            texts = [text for source in sources for text in filled(self.sheet, source)]
            order = day_order(texts, self.sheet.is_day_likely_first)
            if order.guess:
                self.notes.append(f"{GUESS}: {order.guess}")
            self._day_first = order.is_day_first
        return self._day_first


def _is_never(times: Floats) -> Flags:
    """Which times stand for one that has not come: 0 or -1 since 1970, or decades ahead."""
    with np.errstate(invalid="ignore"):
        middle = float(np.nanmedian(times)) if not np.isnan(times).all() else 0.0
        if middle < UNDATED_S:
            return np.zeros(len(times), np.bool_)
        return np.asarray((times <= 0) | (times > middle + DECADES_S))


def _words(role: Role) -> str:
    """What a role's texts must be, for people."""
    return {
        "instant": "time",
        "length": "length of time",
        "cores": "number of cores",
        "memory": "amount of memory",
        "number": "number",
        "text": "text",
    }[role.form]


def ends_of(rows: Rows, start: Floats, end: Floats, length: Floats, until: float) -> Floats:
    """When each row ends: its end, else its start and length; those still open end at ``until``."""
    ends = np.where(np.isnan(end), start + length, end)
    return np.where(np.isnan(ends), until, ends)


def last_seen(*times: Floats) -> float:
    """The last instant of several columns: up to then at least a file looks."""
    found = [float(np.nanmax(one)) for one in times if len(one) and not np.isnan(one).all()]
    if not found:
        raise TraceError("no row has a time that can be read")
    return max(found)


def count_disorder(times: Floats) -> int:
    """Rows that stand before an earlier one."""
    known = times[~np.isnan(times)]
    return int((np.diff(known) < 0).sum())
