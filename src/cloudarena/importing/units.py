"""Texts that other tools write, as numbers: cores, GB, seconds, instants, rates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from cloudarena.importing.dates import parse_date

NOTHING = frozenset(
    {"", "-", "--", "none", "null", "nil", "nan", "n/a", "na", "unknown", "<none>", "invalid"}
    | {"active", "running", "present", "now", "not_set", "unlimited", "partition_limit", "\\n"}
    | {"infinite", "+inf", "inf", "never", "ongoing", "open", "undefined", "n.a.", "#n/a", "#na"}
    | {
        "(null)",
        "<nil>",
        "<unset>",
        "<unknown>",
        "(none)",
        "—",
        "–",
        "?",
        "n/d",
        "nd",
        "s/o",
        "s/d",
    }
    | {
        "offen",
        "unbekannt",
        "laufend",
        "läuft",
        "läuft noch",
        "aktiv",
        "keine",
        "k.a.",
        "k. a.",
        "#nv",
    }
    | {"inconnu", "en cours", "actif", "active", "aucun", "#n/d", "#nul!", "ouvert"}
    | {
        "desconocido",
        "en curso",
        "activo",
        "ninguno",
        "abierto",
        "vacío",
        "sconosciuto",
        "in corso",
    }
    | {"attivo", "aperto", "nessuno", "desconhecido", "em andamento", "ativo", "aberto", "onbekend"}
    | {
        "actief",
        "lopend",
        "nieznany",
        "brak",
        "trwa",
        "aktywny",
        "неизвестно",
        "нет",
        "активен",
        "работает",
    }
    | {
        "未知",
        "无",
        "無",
        "空",
        "运行中",
        "不明",
        "なし",
        "稼働中",
        "実行中",
        "未定",
        "없음",
        "실행중",
    }
    | {"0000-00-00 00:00:00", "0000-00-00", "current", "still running", "okänd", "ukjent", "ukendt"}
)
"""Words, in lower case, that stand for no value: an end that has not come, a limit that is not."""
GIB = 2.0**30
SIZES = {
    **dict.fromkeys(("b", "byte", "bytes"), 1.0),
    **dict.fromkeys(("k", "kb", "kib", "ki"), 2.0**10),
    **dict.fromkeys(("m", "mb", "mib", "mi"), 2.0**20),
    **dict.fromkeys(("g", "gb", "gib", "gi"), GIB),
    **dict.fromkeys(("t", "tb", "tib", "ti"), 2.0**40),
    **dict.fromkeys(("p", "pb", "pib", "pi"), 2.0**50),
    **{"o": 1.0, "octets": 1.0, "ko": 2.0**10, "kio": 2.0**10, "mo": 2.0**20, "mio": 2.0**20},
    **{
        "go": GIB,
        "gio": GIB,
        "to": 2.0**40,
        "tio": 2.0**40,
        "megabytes": 2.0**20,
        "gigabytes": GIB,
    },
    **{"б": 1.0, "кб": 2.0**10, "мб": 2.0**20, "гб": GIB, "тб": 2.0**40},
}
"""Bytes of a unit, in lower case. MB and GB of memory are binary, as clouds and Slurm mean them."""
SECONDS = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "µs", "μs", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds", "millis"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes", "minuten", "minutos", "minuti"), 60.0),
    **dict.fromkeys(
        ("h", "hr", "hrs", "hour", "hours", "std", "stunde", "stunden", "heures"), 3600.0
    ),
    **dict.fromkeys(("horas", "ore", "uur", "godz", "ч", "час", "小时", "時間"), 3600.0),
    **dict.fromkeys(
        ("d", "day", "days", "tag", "tage", "jours", "días", "giorni", "天", "日"), 86400.0
    ),
    **{"sek": 1.0, "с": 1.0, "сек": 1.0, "秒": 1.0, "мс": 1e-3, "毫秒": 1e-3, "ミリ秒": 1e-3},
    **{"мин": 60.0, "分": 60.0, "分钟": 60.0},
}
"""Seconds of a unit of time."""
CORES = {"": 1.0, "m": 1e-3, "millicores": 1e-3, "mcpu": 1e-3, "n": 1e-9, "u": 1e-6} | (
    dict.fromkeys(("cores", "core", "cpu", "cpus", "vcpu", "vcpus"), 1.0)
)
"""Cores of a unit."""
RATES = {"/s": 1.0, "/min": 1 / 60.0, "/h": 1 / 3600.0}
"""Requests a second of a unit; a count is over the interval to the next row."""
PER_SECOND = frozenset(
    {"/s", "req/s", "reqs/s", "requests/s", "reqps", "rps", "qps", "ops", "ops/s", "cps", "c/s"}
    | {"hz", "tps", "anfragen/s", "r/s", "requests/sec", "req/sec", "/sec"}
)
"""Units behind values that are rates by the second, as Grafana writes them."""
COUNTED = frozenset({"", "%", "req", "reqs", "requests", "hits", "calls", "count", "x"})
THOUSANDS = {"k": 1e3, "mil": 1e6, "m": 1e6, "g": 1e9, "bil": 1e9}
"""What Grafana writes behind large numbers: ``1.2 K``, ``3.4 Mil``."""
NUMBER = r"[+-]?(?:\d+(?:[.]\d*)?|[.]\d+)(?:[eE][+-]?\d+)?"
NUMBER_OR_COMMA = r"[+-]?\d+(?:[.,]\d+)?"
AMOUNT = re.compile(rf"({NUMBER})\s*([^\W\d_]*)")
CLOCK = re.compile(
    r"(?:(\d+)(?:-| ?d(?:ays?)?,? ?| Tage?,? ?|\.))?(\d+):(\d\d)(?::(\d\d))?(?:[.,](\d+))?"
)
PERIOD = re.compile(
    r"P(?:(\d+(?:[.]\d+)?)D)?(?:T(?:(\d+(?:[.]\d+)?)H)?(?:(\d+(?:[.]\d+)?)M)?(?:(\d+(?:[.]\d+)?)S)?)?"
)
PARTS = re.compile(rf"({NUMBER})\s*([^\W\d_]+)\s*[.,]?\s*")
PACKED = ("%Y%m%dT%H%M%S%z", "%Y%m%dT%H%M%SZ", "%Y%m%d%H%M%S")
"""Forms of times without separators."""
EARLIEST_S, LATEST_S = -62135596800.0 + 86400, 253370764800.0
"""The first days of the years 1 and 9999: clouds write these for a time that has not come."""
CLOCKS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
"""How large a count of nanoseconds, microseconds or milliseconds since 1970 is at least."""

UNDATED_S = 1e8
"""Instants below this, in early 1973, are counted from the beginning of a trace."""

Parser = Callable[[str], float]
"""Gives the number that a text stands for; raises ValueError."""


def is_nothing(text: str) -> bool:
    """Whether a text stands for no value."""
    return text.strip().lower() in NOTHING


def number(text: str) -> float:
    """A number, also with separators of thousands or a decimal comma."""
    word = re.sub(r"(?<=\d)[ '’_\u2009\u202f\xa0](?=\d)", "", text.strip())
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+([.]\d*)?", word):
        word = word.replace(",", "")
    elif re.fullmatch(r"[+-]?\d+,\d+", word):
        word = word.replace(",", ".")
    value = float(word)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def has_decimal_commas(texts: Iterable[str]) -> bool:
    """Whether the commas of a column's numbers are decimal: one at least divides no thousands."""
    decimal = False
    for text in texts:
        if "," not in text:
            continue
        if not re.fullmatch(r"[+-]?\d+,\d+\s*[A-Za-zµμ%/]*", text.strip()):
            return False
        decimal = decimal or not re.match(r"[+-]?[1-9]\d{0,2},\d{3}(?!\d)", text.strip())
    return decimal


THOUSANDS_BY_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}([.]\d{3})+(?P<rest>,\d+)?(?!\d)")


def has_thousand_points(texts: Sequence[str], is_likely: bool) -> bool:
    """Whether the points of a column's numbers divide thousands, as in 1.234.567 or 1.234,5.

    Args:
        texts: the different values.
        is_likely: whether 1.234 alone is one thousand rather than one: in a file whose delimiter
            leaves the comma for decimals.
    """
    dotted, sure = False, False
    for text in texts:
        if "." not in text:
            continue
        found = THOUSANDS_BY_POINTS.match(text.strip())
        if found is None:
            return False
        dotted, sure = True, sure or text.strip().count(".") > 1 or bool(found["rest"])
    if sure or not dotted:
        return sure
    plain = [re.match(r"\d+", text.strip()) for text in texts if "." not in text]
    return is_likely and all(one is None or len(one[0]) <= 3 for one in plain)


def _amount(text: str) -> tuple[float, str]:
    """The number at the beginning of a text, and the unit behind it."""
    found = AMOUNT.fullmatch(text.strip())
    if found is None:
        return number(text), ""
    return number(found[1]), found[2]


def _scaled(units: Mapping[str, float], unit: str) -> Parser:
    """A parser of amounts with units; ``unit`` is that of amounts without one."""

    def parse(text: str) -> float:
        value, found = _amount(text)
        key = found.lower() or unit
        if key not in units:
            raise ValueError(text)
        return value * units[key]

    return parse


def gigabytes(unit: str = "gb") -> Parser:
    """A parser of memory, in GB of 2^30 bytes: ``4G``, ``512 MiB``, Slurm's ``4Gc`` and ``16Gn``.

    What Slurm's letters multiply by, cores or nodes, is for its preset to say.
    """
    plain = _scaled(SIZES, unit.lower())
    return lambda text: plain(re.sub(r"([KMGTP])[cn]$", r"\1", text.strip())) / GIB


def has_sizes(texts: Sequence[str]) -> bool:
    """Whether most texts are amounts of memory with a unit that only memory has: 512Mi, 4 GB."""
    found = [
        re.fullmatch(
            rf"{NUMBER_OR_COMMA}\s*([KMGT]i?[bo]?|[кмгт]б|bytes)", text.strip(), re.IGNORECASE
        )
        for text in texts
    ]
    units = [one[1] for one in found if one]
    return len(units) >= 0.8 * max(1, len(texts)) and any(len(one) > 1 for one in units)


def has_lengths(texts: Sequence[str]) -> bool:
    """Whether most texts are lengths of time with units, or such as 1-02:03:04."""
    good = 0
    for text in texts:
        with suppress(ValueError, KeyError):
            number_free = not re.fullmatch(NUMBER_OR_COMMA, text.strip())
            good += number_free and _length(text.strip()) >= 0
    return good >= 0.8 * max(1, len(texts))


def cores(unit: str = "") -> Parser:
    """A parser of cores: ``500m`` is half of one."""
    return _scaled(CORES, unit.lower())


def seconds(unit: str = "s") -> Parser:
    """A parser of lengths of time, in seconds: ``1-02:03:04``, ``1h30m``, ``12 ms``, ``PT5M``."""
    size = SECONDS[unit.lower()]

    def parse(text: str) -> float:
        word = text.strip()
        try:
            return number(word) * size
        except ValueError:
            return _length(word)

    return parse


def _length(word: str) -> float:
    """A length of time that is not a plain number."""
    found = CLOCK.fullmatch(word)
    if found is not None:
        days, first, second, third, fraction = found.groups()
        if third is None and days is None:  # MM:SS, as sacct writes short times
            whole = 60.0 * int(first) + int(second)
        else:
            whole = 3600.0 * int(first) + 60.0 * int(second) + int(third or 0)
        return 86400.0 * int(days or 0) + whole + float(f"0.{fraction or 0}")
    found = PERIOD.fullmatch(word)
    if found is not None and any(found.groups()):
        sizes = (86400.0, 3600.0, 60.0, 1.0)
        return sum(
            float(part or 0) * size for part, size in zip(found.groups(), sizes, strict=True)
        )
    parts = PARTS.findall(word)
    if not parts or PARTS.sub("", word):
        raise ValueError(word)
    # A lone m is minutes here: 1h30m.
    return sum(
        float(size) * SECONDS["min" if unit == "m" else unit.lower()] for size, unit in parts
    )


class Instants(NamedTuple):
    """A parser of instants, in seconds since 1970, of one column."""

    zone: tzinfo = UTC
    """The zone of times that name none."""
    unit: str = ""
    """The unit of plain numbers: s, ms, us or ns; by their size if it is not given."""
    day_first: bool = False
    """Whether 03/04/2026 is in April."""

    def parse(self, text: str) -> float:
        """The instant of a text."""
        word = text.strip()
        try:
            value = number(word)
        except ValueError:
            return self._date(word)
        if self.unit:
            return value * SECONDS[self.unit.lower()]
        if re.fullmatch(r"20\d{12}", word):
            return self._date(word)
        scale = next((scale for size, scale in CLOCKS if abs(value) >= size), 1.0)
        return value * scale

    def _date(self, word: str) -> float:
        # More digits than Python reads, and zones such as UTC.
        tidy = re.sub(r"([.,]\d{6})\d+", r"\1", word)
        tidy = re.sub(r"\s*(UTC|GMT)$", "Z", tidy)
        try:
            return self._since(datetime.fromisoformat(tidy))
        except ValueError:
            pass
        if word[:8].isdigit():
            for layout in PACKED:
                with suppress(ValueError):
                    return self._since(datetime.strptime(tidy, layout))
        return self._since(parse_date(word, self.zone, self.day_first))

    def _since(self, moment: datetime) -> float:
        aware = moment if moment.tzinfo else moment.replace(tzinfo=self.zone)
        elapsed = aware.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        return elapsed / timedelta(seconds=1)


def has_zone(text: str) -> bool:
    """Whether a written time names its zone."""
    word = text.strip()
    found = re.search(r"(Z|UTC|GMT|[+-]\d\d:?\d\d|(UTC|GMT) ?[+-]\d\d?)$", word)
    return found is not None and not word.isdigit()


class DayOrder(NamedTuple):
    """Whether 03/04/2026 is in April, by the others of its columns."""

    is_day_first: bool = False
    guess: str = ""
    """What it was taken for, where no value tells."""


def day_order(texts: Iterable[str], is_likely: bool = False) -> DayOrder:
    """Which number of dates such as 03/04/2026 is the day.

    One above 12 tells. Otherwise it is guessed: a date before AM or PM is American; the number that
    changes more often is the day; where both change as often, ``is_likely`` says it.
    """
    first, mark, firsts, seconds = "", "", set[int](), set[int]()
    for text in texts:
        one = re.match(r"(\d\d?)([/-])(\d\d?)\2(?:\d{4}|\d\d)\b", text.strip())
        if one is not None:
            first, mark = first or text.strip(), mark or one[2]
            firsts.add(int(one[1]))
            seconds.add(int(one[3]))
    if not first:
        return DayOrder()
    if max(firsts) > 12 or max(seconds) > 12:
        return DayOrder(max(firsts) > 12)
    if re.search(r"[AaPp]\.?[Mm]\b", first):
        return DayOrder()
    is_tie = len(firsts) == len(seconds)
    is_first = len(firsts) > len(seconds) or (is_tie and (mark == "-" or is_likely))
    form = "day/month/year" if is_first else "month/day/year"
    return DayOrder(is_first, f"{first!r} is taken for {form}: no value tells")


def is_far(instant: float) -> bool:
    """Whether an instant stands for a time that has not come, such as the year 1 or 9999."""
    return instant < EARLIEST_S or instant >= LATEST_S


def plain_number(unit: str = "") -> Parser:
    """A parser of plain numbers; per cent signs and units of rates are taken off."""
    size = RATES.get(unit, 1.0)

    def parse(text: str) -> float:
        try:
            return number(text) * size
        except ValueError:
            value, found = _quantity(text)
            if found not in COUNTED and found not in PER_SECOND:
                raise
            return value * size

    return parse


def _quantity(text: str) -> tuple[float, str]:
    """The number of ``1.2 K req/s``, and the unit behind it in lower case."""
    found = re.fullmatch(
        r"([-+\d.,'’ \u202f\xa0]*\d)\s*(?:(K|Mil|M|G|Bil)(?![A-Za-z]))?\s*([A-Za-z/%]*)",
        text.strip(),
    )
    if found is None:
        raise ValueError(text)
    return number(found[1]) * THOUSANDS.get((found[2] or "").lower(), 1.0), found[3].lower()


def is_per_second(texts: Iterable[str]) -> bool:
    """Whether the values of a column say that they are rates by the second."""
    found = False
    for text in texts:
        try:
            found = _quantity(text)[1] in PER_SECOND
        except ValueError:
            continue
        if not found:
            return False
    return found


def stamp(instant: float) -> str:
    """An instant as people write it, in UTC; of a trace without dates, days from time 0."""
    if abs(instant) < UNDATED_S:
        days, rest = divmod(instant, 86400.0)
        clock = f"{int(rest // 3600):02}:{int(rest % 3600 // 60):02}:{int(rest % 60):02}"
        return f"day {int(days)} {clock}"
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=instant)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
