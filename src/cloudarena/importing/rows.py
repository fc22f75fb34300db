"""The rows of a sheet as numbers, role by role, and which of them cannot be used, and why."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, tzinfo
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError
from cloudarena.importing.draft import GUESS
from cloudarena.importing.mapping import Mapped, parser_for, parser_of
from cloudarena.importing.roles import NEEDS, Role
from cloudarena.importing.sheet import Sheet, Texts, filled
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
        texts, codes = self.encoded("id")
        good = self.good
        good = good[codes[good] != pc.index(texts, "").as_py()]
        good = good[np.isin(codes[good], _repeated(codes[good], len(texts)))]
        if not len(good):
            return
        keys = [codes, *(np.where(np.isnan(one), np.nan, one).view(np.int64) for one in values)]
        order = good[np.lexsort([key[good] for key in keys])]  # stable: the first row is the first
        same = np.ones(max(0, len(order) - 1), np.bool_)
        for key in keys:
            same &= key[order[1:]] == key[order[:-1]]
        again = np.zeros(self.count, np.bool_)
        again[order[1:][same]] = True
        self.reject(again, "it is a duplicate: the same id, times and sizes as before")

    def texts(self, role: str) -> list[str]:
        """The texts of a role; empty where there is nothing."""
        column = self.mapping[role]
        return [column.source] * self.count if column.is_value else self.sheet.texts(column.source)

    def encoded(self, role: str) -> tuple[Any, Ints]:
        """The different texts of a role, in the order of the rows, and which of them each has."""
        column = self.mapping[role]
        if column.is_value:
            return pa.array([column.source], pa.string()), np.zeros(self.count, np.int64)
        found = pc.dictionary_encode(pc.fill_null(self.sheet.columns[column.source], ""))
        return found.dictionary, found.indices.to_numpy()

    def names(self, order: Ints) -> tuple[Any, int]:
        """The ids of rows, those that repeat with a number behind, and how many do.

        Args:
            order: the rows, in the order in which they are numbered.
        """
        texts, codes = self.encoded("id")
        codes = codes[order]
        found = texts.take(pa.array(codes))
        again = _repeated(codes, len(texts))
        if not len(again) and pc.index(found, "").as_py() < 0:
            return found, 0
        seen, names = dict[str, int](), []
        for row, text in zip(order.tolist(), found.to_pylist(), strict=True):
            name = text or f"row {row + 1}"
            seen[name] = seen.get(name, 0) + 1
            names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
        return pa.array(names, pa.string()), sum(count > 1 for count in seen.values())

    def groups(self, order: Ints) -> Ints:
        """The users of rows as numbers, in the order in which they come."""
        _, codes = self.encoded("user")
        _, first, where = np.unique(codes[order], return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[where]

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
        different = Texts(encoded.dictionary)
        values = np.full(len(different), np.nan)
        is_read, is_given = np.zeros((2, len(different)), np.bool_)
        for k, text in enumerate(different):
            if is_nothing(text):
                continue
            is_given[k] = True
            with suppress(ValueError, OverflowError):
                values[k], is_read[k] = parse(text), True
            if is_read[k] and role.form == "instant" and is_far(values[k]):
                values[k], is_read[k], is_given[k] = np.nan, False, False
        if role.form == "instant":
            self._tell_zone(source, different[:50])
        index = encoded.indices.to_numpy()
        found, read, given = values[index], is_read[index], is_given[index]
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
            texts = chain.from_iterable(filled(self.sheet, source) for source in sources)
            order = day_order(texts, self.sheet.is_day_likely_first)
            if order.guess:
                self.notes.append(f"{GUESS}: {order.guess}")
            self._day_first = order.is_day_first
        return self._day_first


def _repeated(codes: Ints, most: int) -> Ints:
    """The codes below ``most`` that are there more than once."""
    return np.flatnonzero(np.bincount(codes, minlength=most) > 1)


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
