"""Which column is what: proposed by names and values, or said by the user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, tzinfo
from statistics import median
from typing import NamedTuple

from cloudarena.base.errors import CloudarenaError, nearest
from cloudarena.importing import lexicon, units
from cloudarena.importing.instance_names import size_of
from cloudarena.importing.roles import (
    CARBON,
    HINTS,
    NEEDS,
    START_WORDS,
    UNITS,
    Form,
    Need,
    Role,
    tidy,
    unit_of,
)
from cloudarena.importing.sheet import Sheet, filled
from cloudarena.importing.units import Instants, Parser, is_nothing

SAMPLE = 500
"""Different values of a column that are looked at."""
SINCE_2000_S, UNTIL_2100_S = 946684800.0, 4102444800.0
MOST_NAMES = 20
"""Columns that an error names."""
ENOUGH = 0.8
"""The part of a column's values that must be readable for it to be proposed."""


class Column(NamedTuple):
    """What a role is read from."""

    source: str
    """The name of a column; or a value that all rows have, if ``is_value``."""
    unit: str = ""
    is_value: bool = False
    guess: str = ""
    """What was guessed about it, for people."""

    def __str__(self) -> str:
        unit = f" in {self.unit}" if self.unit else ""
        return f"{self.source!r} for all" if self.is_value else f"{self.source}{unit}"


ALL_AT_ONCE = Column(
    "0",
    is_value=True,
    guess="GUESS: no column tells when they begin: all are there at once, for a day",
)
"""When the VMs of a list without times begin."""

Mapped = dict[str, Column]
"""The column of each role."""


class Proposal(NamedTuple):
    """What a file seems to be."""

    kind: str
    mapping: Mapped


def parse_map(text: str) -> dict[str, tuple[str, str]]:
    """The roles of ``start=launched_at,memory=ram_mb:MB``, with a column and a unit each."""
    found = {}
    for part in re.split(r",(?=\s*[a-z_]+=)", text):
        role, separator, rest = part.strip().partition("=")
        if not separator or not rest:
            raise CloudarenaError(
                f"--map: {part!r} is not allowed: ROLE=COLUMN or ROLE=COLUMN:UNIT, as in "
                "start=launched_at,memory=ram_mb:MB"
            )
        column, _, unit = (
            rest.rpartition(":") if re.search(r":[A-Za-zµ/]+$", rest) else (rest, "", "")
        )
        found[role.strip()] = (column.strip(), unit.strip().lower())
    return found


def said(sheet: Sheet, kind: str, given: Mapping[str, tuple[str, str]]) -> Mapped:
    """The mapping that a user has written, checked against the file."""
    need, mapping = NEEDS[kind], {}
    for name, (source, unit) in given.items():
        role = need.role(name)
        roles = [one.name for one in need.roles]
        if role is None:
            raise CloudarenaError(
                f"--map: {name!r} is not allowed for {kind}: one of {', '.join(roles)}."
                + nearest(name, roles)
            )
        if unit and unit not in UNITS[role.form]:
            raise CloudarenaError(
                f"--map {name}: the unit {unit!r} is not allowed: one of "
                f"{', '.join(UNITS[role.form]) or 'none'}"
            )
        whole = f"{source}:{unit}" if unit else source
        if whole in sheet.columns and source not in sheet.columns:
            source, unit = whole, ""
        if source in sheet.columns:
            mapping[name] = with_unit(sheet, role, source, unit)
        elif role.form in ("cores", "memory", "number", "length") and _reads(role.form, source):
            mapping[name] = Column(source, unit, is_value=True)
        else:
            raise CloudarenaError(
                f"--map {name}: {sheet.path} has no column {source!r}: one of "
                f"{', '.join(sheet.names)}.{nearest(source, sheet.names)}"
            )
    return mapping


def _reads(form: Form, text: str) -> bool:
    try:
        parser_of(form, "")(text)
    except ValueError:
        return False
    return True


def proposed(sheet: Sheet, kind: str) -> Mapped:
    """The column of each role of a kind: by its whole name, then by its words, then by values."""
    mapping: Mapped = {}
    _by_names(sheet, kind, mapping)
    _by_words(sheet, kind, mapping)
    _by_values(sheet, kind, mapping)
    order = [role.name for role in NEEDS[kind].roles]
    ordered = {name: mapping[name] for name in sorted(mapping, key=order.index)}
    return _without_doubles(kind, ordered)


def _taken(mapping: Mapped) -> set[str]:
    return {column.source for column in mapping.values()}


def last_part(name: str) -> str:
    """What a name is without the objects that it is in: ``hardwareProfile.vmSize`` is vmSize."""
    return re.split(r"(?<=\w)[./](?=\w+$)", name)[-1] or name


def _by_names(sheet: Sheet, kind: str, mapping: Mapped) -> None:
    """Columns whose names are those that a role is known by."""
    names = {name: tidy(last_part(name)) for name in sheet.names}
    whole = {name: tidy(name) for name in sheet.names}
    for role in NEEDS[kind].roles:
        for word in role.words:
            name = next(
                (
                    one
                    for one in sheet.names
                    if one not in _taken(mapping)
                    and not ("%" in one and role.name in ("cores", "memory"))
                    and word.replace("_", "")
                    in (*_forms(names[one], role), *_forms(whole[one], role))
                ),
                None,
            )
            if name is not None and is_readable(sheet, role, name):
                mapping[role.name] = with_unit(sheet, role, name, "")
                break


def _by_words(sheet: Sheet, kind: str, mapping: Mapped) -> None:
    """Columns whose names say what a role is, in one of several languages."""
    for role in NEEDS[kind].roles:
        if role.name in mapping:
            continue
        scores = {
            name: lexicon.score(kind, role.name, last_part(name))
            for name in sheet.names
            if name not in _taken(mapping)
        }
        if role.form == "instant":
            may = [one for one in scores if scores[one] and _may_be_instants(sheet, one)]
            dated = [one for one in may if _is_dated(sheet, one)]
            scores = {one: scores[one] for one in dated or may}
        for name in sorted(scores, key=lambda one: -scores[one]):
            if not scores[name]:
                break
            if is_readable(sheet, role, name):
                mapping[role.name] = with_unit(sheet, role, name, "")
                break


def _by_values(sheet: Sheet, kind: str, mapping: Mapped) -> None:
    """Columns that can be nothing else by their values."""
    need = NEEDS[kind]
    left = [name for name in sheet.names if name not in _taken(mapping)]
    for role, tells in (("memory", units.has_sizes), ("duration", units.has_lengths)):
        if need.role(role) and role not in mapping:
            found = [name for name in left if tells(filled(sheet, name)[:SAMPLE])]
            if len(found) == 1:
                guess = f"{found[0]} is taken for {role}: its values have such units"
                mapping[role] = Column(found[0], guess=guess)
                left.remove(found[0])
    begin = "start" if need.role("start") else "time"
    if begin not in mapping and "submit" not in mapping:
        dates = [name for name in left if _is_dated(sheet, name)]
        if "end" in mapping:
            dates = [name for name in dates if _is_before(sheet, name, mapping["end"].source)]
        early = [name for name in dates if all(_is_before(sheet, name, one) for one in dates)]
        if len(early) == 1:
            others = " and is never after another time" if len(dates) > 1 else ""
            guess = f"{early[0]} is taken for {begin}: it holds times{others}"
            mapping[begin] = Column(early[0], guess=guess)
            left.remove(early[0])
    if kind in ("vm", "jobs") and "start" in mapping and not {"end", "duration"} & set(mapping):
        found_end = _end_by_values(sheet, mapping["start"], _taken(mapping))
        if found_end:
            first = mapping["start"].source
            guess = f"{found_end} is taken for the end: its times are never before those of {first}"
            mapping["end"] = Column(found_end, guess=guess)
    if kind in ("vm", "jobs") and "id" not in mapping:
        texts = [name for name in sheet.names if name not in _taken(mapping)]
        apart = [name for name in texts if _tells_rows_apart(sheet, name)]
        if len(apart) == 1:
            guess = f"{apart[0]} is taken for the name: it is another in each row"
            mapping["id"] = Column(apart[0], guess=guess)
    if kind == "vm" and not {"cores", "type"} & set(mapping):
        known = [name for name in left if _are_types(sheet, name)]
        if len(known) == 1:
            mapping["type"] = Column(known[0])
    if kind == "faas" and {"time", "duration"} <= set(mapping) and "function" not in mapping:
        few = [name for name in left if _are_few(sheet, name)]
        if len(few) == 1:
            guess = f"{few[0]} is taken for the function: it has few different values"
            mapping["function"] = Column(few[0], guess=guess)
    if kind == "tiers" and "count" in mapping:
        source = mapping["count"].source
        if units.is_per_second(filled(sheet, source)[:SAMPLE]):
            mapping["rate"] = Column(source)


def _tells_rows_apart(sheet: Sheet, name: str) -> bool:
    """Whether a column has another text in nearly every row, that is neither number nor time."""
    texts = filled(sheet, name)
    if len(texts) < 0.9 * len(sheet) or are_instants(sheet, name):
        return False
    return not _plain_numbers(sheet, name) and not units.has_sizes(texts[:SAMPLE])


def are_instants(sheet: Sheet, name: str) -> bool:
    """Whether most values of a column are times."""
    return is_readable(sheet, NEEDS["tiers"].roles[0], name)


def column_values(sheet: Sheet, name: str) -> list[str]:
    """The different texts of a column that stand for something, the first of them."""
    return filled(sheet, name)[:SAMPLE]


def is_counted(sheet: Sheet, name: str) -> bool:
    """Whether a column holds nothing but numbers that are not below 0."""
    role, texts = NEEDS["tiers"].roles[1], column_values(sheet, name)
    if not texts or not is_readable(sheet, role, name):
        return False
    return not any(text.strip().startswith("-") for text in texts)


def _may_be_instants(sheet: Sheet, name: str) -> bool:
    """Whether values are dates, counts since 1970, or numbers that never fall; no sizes."""
    if unit_of(tidy(name), "memory")[1]:
        return False
    values = _plain_numbers(sheet, name)
    return not values or median(values) >= 1e8 or values == sorted(values)


def _is_before(sheet: Sheet, first: str, last: str) -> bool:
    """Whether no time of one column is after that of another in the same row."""
    parse = clock_of(sheet, first)
    pairs = zip(sheet.texts(first, SAMPLE), sheet.texts(last, SAMPLE), strict=True)
    for one, other in pairs:
        with suppress(ValueError):
            if not (is_nothing(one) or is_nothing(other)) and parse(one) > parse(other):
                return False
    return True


def _are_types(sheet: Sheet, name: str) -> bool:
    """Whether most values are names of instance types."""
    texts = filled(sheet, name)[:SAMPLE]
    return bool(texts) and sum(size_of(text) is not None for text in texts) >= ENOUGH * len(texts)


def _are_few(sheet: Sheet, name: str) -> bool:
    """Whether a column holds names of few things: none is a number, and they repeat."""
    texts = filled(sheet, name)
    is_words = not _plain_numbers(sheet, name) and not are_instants(sheet, name)
    return 2 <= len(texts) <= len(sheet) / 5 and is_words


def _end_by_values(sheet: Sheet, start: Column, taken: set[str]) -> str | None:
    """The one other column of times, if none of them is before the start of its row."""
    role = NEEDS["vm"].role("end")
    assert role is not None
    clocks = [
        name
        for name in sheet.names
        if name not in taken
        and not lexicon.fit(name, lexicon.NO_END)
        and is_readable(sheet, role, name)
        and _is_dated(sheet, name)
    ]
    if len(clocks) != 1 or not _is_dated(sheet, start.source):
        return None
    parse = clock_of(sheet, start.source)
    pairs = zip(sheet.texts(start.source, SAMPLE), sheet.texts(clocks[0], SAMPLE), strict=True)
    for first, last in pairs:
        try:
            if not is_nothing(last) and parse(last) < parse(first):
                return None
        except ValueError:
            continue
    return clocks[0]


def _is_dated(sheet: Sheet, name: str) -> bool:
    """Whether a column holds times as dates or counted from 1970: other numbers may be anything."""
    texts = [text for text in filled(sheet, name)[:SAMPLE] if text.strip("0-1")]
    if not texts or not are_instants(sheet, name):
        return False
    values = _plain_numbers(sheet, name)
    if not values:
        return True
    years = sum(
        SINCE_2000_S <= units.Instants().parse(repr(value)) < UNTIL_2100_S for value in values
    )
    is_size = all(value % 2**20 == 0 for value in values)  # of memory, in bytes
    return years >= ENOUGH * len(values) and not is_size


def _forms(name: str, role: Role) -> tuple[str, str]:
    """A tidy name as it is, and without its unit; both without underscores, as vCPUs has one."""
    return name.replace("_", ""), unit_of(name, role.form)[0].replace("_", "")


def _without_doubles(kind: str, mapping: Mapped) -> Mapped:
    """The mapping without what says again what is known: a duration beside start and end."""
    if kind == "tiers" and "rate" in mapping:
        mapping.pop("count", None)
    return mapping


def with_unit(sheet: Sheet, role: Role, name: str, unit: str) -> Column:
    """A column with its unit: the one given, that of its name, or one by the size of its values."""
    if unit or role.form == "text":
        return Column(name, unit)
    named = unit_of(tidy(name), role.form)[1]
    if named:
        return Column(name, named)
    values = _plain_numbers(sheet, name) if role.form in ("memory", "length") else []
    if role.form == "memory" and values:
        middle = median(values)
        guessed = "bytes" if middle >= 1e7 else "mb" if middle >= 256 else "gb"
        return Column(name, guessed, guess=f"{role.name} in {guessed.upper()}, by its size")
    if (
        role.form == "length"
        and values
        and tidy(name) in ("duration", "latency", "billed_duration")
    ):
        guessed = "ms" if median(values) >= 30 and role.name == "duration" else "s"
        return Column(name, guessed, guess=f"{name} in {guessed}, by its size")
    return Column(name)


def _plain_numbers(sheet: Sheet, name: str) -> list[float]:
    """The values of a column that are bare numbers; none if most have units of their own."""
    texts = filled(sheet, name)[:SAMPLE]
    found, parse = [], parser_for(sheet, "number", name, "")
    for text in texts:
        try:
            found.append(parse(text))
        except ValueError:
            continue
    return found if len(found) >= ENOUGH * len(texts) else []


def is_readable(sheet: Sheet, role: Role, name: str) -> bool:
    """Whether most values of a column can be what a role needs."""
    texts = filled(sheet, name)[:SAMPLE]
    if not texts:
        return role.name in ("end", "estimate")
    if role.form == "text":
        return True
    parser = (
        clock_of(sheet, name) if role.form == "instant" else parser_for(sheet, role.form, name, "")
    )
    good = 0
    for text in texts:
        try:
            parser(text)
        except ValueError:
            continue
        good += 1
    return good >= ENOUGH * len(texts)


def clock_of(sheet: Sheet, name: str) -> Parser:
    """What reads a column of times, in UTC where they name no zone."""
    order = units.day_order(filled(sheet, name), sheet.is_day_likely_first)
    return Instants(UTC, "", order.is_day_first).parse


def parser_for(sheet: Sheet, form: Form, name: str, unit: str) -> Parser:
    """What reads a column that holds no times.

    One that has decimal commas has them throughout, and so it is with points between thousands.
    """
    plain, texts = parser_of(form, unit), filled(sheet, name)
    if form in ("number", "memory") and units.has_thousand_points(texts, sheet.has_semicolons):
        return lambda text: plain(text.replace(".", "").replace(",", "."))
    if not units.has_decimal_commas(texts):
        return plain
    return lambda text: plain(text.replace(",", "."))


def parser_of(form: Form, unit: str, zone: tzinfo = UTC, day_first: bool = False) -> Parser:
    """What reads a text of a form."""
    if form == "instant":
        return Instants(zone, unit, day_first).parse
    if form == "length":
        return units.seconds(unit or "s")
    if form == "cores":
        return units.cores(unit)
    if form == "memory":
        return units.gigabytes(unit or "gb")
    return units.plain_number(unit)


def missing(kind: str, mapping: Mapping[str, Column]) -> list[tuple[str, ...]]:
    """The groups of roles of which none is there."""
    return [group for group in NEEDS[kind].required if not any(one in mapping for one in group)]


def propose(sheet: Sheet, kind: str | None = None) -> Proposal:
    """What a table seems to be: the kind whose needs it meets, of several the one it tells most of.

    Where nothing fits, the error says which columns there are and what each kind needs.
    """
    tried = {name: proposed(sheet, name) for name in ([kind] if kind else NEEDS)}
    fitting = {name: found for name, found in tried.items() if not missing(name, found)}
    if fitting:
        best = max(
            fitting,
            key=lambda name: (_weight(name, fitting[name], sheet), -list(NEEDS).index(name)),
        )
        return Proposal(best, fitting[best])
    two = _two_columns(sheet, kind)
    if two is not None:
        return two
    there = _without_times(sheet, tried.get("vm", {}))
    if there is not None:
        return Proposal("vm", there)
    if kind:
        return Proposal(kind, tried[kind])
    wanted = "; ".join(f"{name}: {needs_text(NEEDS[name])}" for name in NEEDS)
    more = f" and {len(sheet.names) - MOST_NAMES:,} more" if len(sheet.names) > MOST_NAMES else ""
    raise CloudarenaError(
        f"{sheet.path}: it is not known what its columns "
        f"{', '.join(sheet.names[:MOST_NAMES])}{more} are: say it by "
        f"--kind and --map ROLE=COLUMN,… ({wanted})"
    )


def _weight(kind: str, mapping: Mapped, sheet: Sheet) -> float:
    """How much speaks for a kind: what it needs, and what only it has."""
    need, names = NEEDS[kind], sheet.names
    telling = float(sum(one in mapping for one in need.telling))
    if "submit" in mapping and tidy(mapping["submit"].source) in START_WORDS:
        telling -= 1.0  # created_at may be anything's
    words = {
        word for name in names for word in (*tidy(name).split("_"), tidy(name).replace("_", ""))
    }
    telling += bool(words & HINTS.get(kind, set())) or any(
        lexicon.hints(kind, name) for name in names
    )
    telling += 0.75 * lexicon.hints(kind, sheet.path.name.partition(".")[0])
    if kind == "jobs":
        telling += 0.5 * ("duration" in mapping)
    if kind == "vm" and "cores" in mapping:  # 500m
        telling += 0.75 * any(
            text.endswith("m") for text in column_values(sheet, mapping["cores"].source)
        )
    return telling + len(mapping) / 100 + 0.5 * min(2, len(need.required))


def _without_times(sheet: Sheet, mapping: Mapped) -> Mapped | None:
    """The mapping of a list of VMs that are there now; None if it is none."""
    words = {word for name in sheet.names for word in tidy(name).split("_")}
    if words & HINTS["jobs"] or any(lexicon.hints("jobs", name) for name in sheet.names):
        return None
    if "type" not in mapping and not {"cores", "memory"} <= set(mapping):
        return None
    if any(_is_dated(sheet, name) for name in sheet.names):
        return None
    kept = {role: column for role, column in mapping.items() if role not in ("duration", "end")}
    return kept | {"start": ALL_AT_ONCE}


def _two_columns(sheet: Sheet, kind: str | None) -> Proposal | None:
    """A series: one column of instants and one of numbers, whatever they are called."""
    if kind not in (None, "tiers", CARBON) or len(sheet.names) != 2:
        return None
    time, value = sheet.names
    if _is_dated(sheet, value) and not _is_dated(sheet, time):
        time, value = value, time
    clock, amount = NEEDS["tiers"].roles[0], NEEDS["tiers"].roles[1]
    if not (is_readable(sheet, clock, time) and is_readable(sheet, amount, value)):
        return None
    if kind == CARBON:
        return Proposal(CARBON, {"time": Column(time), "intensity": Column(value)})
    if units.is_per_second(filled(sheet, value)[:SAMPLE]):
        return Proposal("tiers", {"time": Column(time), "rate": Column(value)})
    guess = f"{value} is taken for requests from each time to the next"
    return Proposal("tiers", {"time": Column(time), "count": Column(value, guess=guess)})


def needs_text(need: Need) -> str:
    """What a kind needs, in words: ``start, and cores or type``."""
    return ", ".join(" or ".join(group) for group in need.required)


def first_rows(sheet: Sheet, mapping: Mapped, most: int = 5) -> list[Sequence[str]]:
    """The first rows as texts, role by role."""
    columns = [
        [one.source] * min(most, len(sheet)) if one.is_value else sheet.texts(one.source, most)
        for one in mapping.values()
    ]
    return list(zip(*columns, strict=True)) if columns else []


def is_open(text: str) -> bool:
    """Whether a text says that there is no end yet."""
    return is_nothing(text)
