"""Dates and times as people and spreadsheets write them, in several languages."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone, tzinfo

MONTHS = {
    1: "jan janv january januar januari janvier ene enero gen gennaio janeiro",
    2: "feb febr february februar februari fev fevr fevrier febrero febbraio fevereiro",
    3: "mar mars mrz marz march maart mrt marzo marco",
    4: "apr avr april avril abr abril aprile",
    5: "may mai mei maj mayo mag maggio maio",
    6: "jun june juni juin junio giu giugno junho",
    7: "jul july juli juil juillet julio lug luglio julho",
    8: "aug august aou aout ago agosto augustus",
    9: "sep sept september septembre septiembre set settembre setembro",
    10: "oct okt october oktober octobre octubre ott ottobre out outubro",
    11: "nov november novembre noviembre novembro",
    12: "dec dez december dezember decembre dic diciembre dicembre dezembro des",
}
"""Names of months without accents, in seven languages of Western Europe."""
MONTH_OF = {word: number for number, words in MONTHS.items() for word in words.split()}
CLOCK = re.compile(
    r"(?<![\d.])(\d{1,2})\s?(?:[:hH時时点]|(?<=\d)[.](?=\d\d[.]\d\d$)|uhr)\s?(\d\d)(?:\s?(?:[:.m分])\s?(\d\d)(?:[.,:](\d{1,9}))?)?"
    r"\s*秒?\s*([AaPp])?(?(5)\.?\s?[Mm]\.?)",
)
"""A time of day: hours, minutes, seconds, a fraction, and am or pm."""
OFFSET = re.compile(r"(?:UTC|GMT)?\s?([+-])(\d\d?):?(\d\d)?(?:\s?[A-Z]{2,5})?$|(Z|UTC|GMT)$")
"""A zone behind a time of day."""
DATES = (
    re.compile(r"(?P<y>\d{4})[-/.年\s]\s?(?P<m>\d{1,2})[-/.月\s]\s?(?P<d>\d{1,2})日?"),
    re.compile(r"(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4}|\d\d)"),
    re.compile(r"(?P<a>\d{1,2})[/-](?P<b>\d{1,2})[/-](?P<y>\d{4}|\d\d)"),
    re.compile(
        r"(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?[-/ .](?:de )?(?P<w>[a-z]{3,10})\.?[-/ ,.]*"
        r"(?:de )?(?P<y>\d{4}|\d\d)"
    ),
    re.compile(r"(?P<w>[a-z]{3,10})\.?[- ]+(?P<d>\d{1,2})(?:st|nd|rd|th)?,?[- ]+(?P<y>\d{4})"),
)  # fmt: skip


def plain(text: str) -> str:
    """A text in lower case without accents."""
    word = text.casefold().replace("ł", "l").replace("ø", "o").replace("ı", "i")
    parts = unicodedata.normalize("NFKD", word)
    kept = "".join(one for one in parts if not unicodedata.combining(one))
    return unicodedata.normalize("NFKC", kept)


def parse_date(text: str, zone: tzinfo = UTC, day_first: bool = False) -> datetime:
    """The moment of a text; raises ValueError if it is none.

    Args:
        text: as in ``3/2/2026, 1:02:03.123 PM``, ``02. März 2026 14:05``, ``2026年3月2日 14:05``.
        zone: the zone if it names none.
        day_first: whether 03/04/2026 is in April.
    """
    word = re.sub(r"(\d{4})\s*[:@]\s*(?=\d\d:)", r"\1 ", text.strip())  # 05/Jan/2026:08:00:00
    if re.search("下午|午後|오후", word):
        word = re.sub("下午|午後|오후", "", word) + " PM"
    word = re.sub("上午|午前|오전", "", word)
    clock = CLOCK.search(word)
    rest, moment = word, timedelta()
    where: tzinfo | None = None
    if clock is not None:
        hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
        if clock[5]:
            if not 1 <= hour <= 12:
                raise ValueError(text)
            hour = hour % 12 + 12 * (clock[5] in "Pp")
        if hour > 24 or minute > 59 or second > 60:
            raise ValueError(text)
        fraction = float(f"0.{clock[4]}") if clock[4] else 0.0
        moment = timedelta(hours=hour, minutes=minute, seconds=second + fraction)
        behind = word[clock.end() :].strip()
        where = _offset(behind)
        year = re.search(r"(?<![-+\d])\d{4}$", behind)  # Mon Mar 2 14:05:00 2026
        rest = word[: clock.start()] + (f" {year[0]}" if year else "")
        if behind and where is None and year is None and not re.fullmatch(r"\W*(uhr|Uhr)?", behind):
            raise ValueError(text)
    day = _day(plain(rest), day_first)
    return day.replace(tzinfo=where or zone) + moment


def _offset(text: str) -> tzinfo | None:
    """The zone that a text says; None if it says none."""
    found = OFFSET.match(text)
    if found is None:
        return None
    if found[4]:
        return UTC
    length = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(length if found[1] == "+" else -length)


def _day(text: str, day_first: bool) -> datetime:
    """The day of a text without a time of day."""
    for pattern in DATES:
        found = pattern.search(text)
        if found is None:
            continue
        rest = (text[: found.start()] + text[found.end() :]).strip(" ,;t")
        if not re.fullmatch(r"([a-z]{2,10}\.?,?|\(?[月火水木金土日一二三四五六]\)?)?", rest):
            continue  # Only the name of a day may stand beside a date.
        part = found.groupdict()
        year = int(part["y"]) + (2000 if len(part["y"]) == 2 else 0)
        if part.get("w"):
            month, day = MONTH_OF.get(part["w"], 0), int(part["d"])
        elif part.get("a"):
            first, second = int(part["a"]), int(part["b"])
            month, day = (second, first) if day_first else (first, second)
        else:
            month, day = int(part["m"]), int(part["d"])
        return datetime(year, month, day)
    raise ValueError(text)
