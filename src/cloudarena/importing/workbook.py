"""The first sheet of an Excel workbook (``.xlsx``) as rows of texts, by the standard library."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

from cloudarena.base.errors import TraceError

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
DATES = frozenset((*range(14, 23), 27, 30, 36, *range(45, 48), 50, 57))
"""The numbers of Excel's own formats of dates and times."""
MOST_BYTES = 2**30
"""A part of a workbook that is larger when unpacked is not read."""


def rows_of_workbook(path: Path, data: bytes) -> list[tuple[int, list[str]]]:
    """The rows of the first sheet with their numbers, all of one width; empty ones are left out."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            strings = _strings(archive)
            dated = _dated_styles(archive)
            begins = 1904 if "1904" in _flag(archive) else 1900
            found = list(_rows(archive, _first_sheet(archive), strings, dated, begins))
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, ValueError, IndexError) as error:
        raise TraceError(f"{path}: is no Excel workbook that can be read: {error}") from None
    rows = [(number, cells) for number, cells in found if any(cell.strip() for cell in cells)]
    if not rows:
        raise TraceError(f"{path}: its first sheet has no rows")
    width = max(len(cells) for _, cells in rows)
    return [(number, cells + [""] * (width - len(cells))) for number, cells in rows]


def _part(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise ValueError(f"{name} is larger than {MOST_BYTES:,} bytes")
    return ElementTree.fromstring(archive.read(name))


def _first_sheet(archive: zipfile.ZipFile) -> str:
    """The name of the part that holds the first sheet."""
    book = _part(archive, "xl/workbook.xml")
    first = book.find(f"{SPACE}sheets/{SPACE}sheet")
    links = _part(archive, "xl/_rels/workbook.xml.rels")
    wanted = first.get(LINK) if first is not None else None
    target = next(str(one.get("Target")) for one in links if one.get("Id") == wanted)
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _flag(archive: zipfile.ZipFile) -> str:
    """Whether days are counted from 1904, as old Macintoshes did."""
    options = _part(archive, "xl/workbook.xml").find(f"{SPACE}workbookPr")
    is_late = options is not None and options.get("date1904") in ("1", "true")
    return "1904" if is_late else ""


def _strings(archive: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    parts = _part(archive, "xl/sharedStrings.xml").iter(f"{SPACE}si")
    return ["".join(text.text or "" for text in one.iter(f"{SPACE}t")) for one in parts]


def _dated_styles(archive: zipfile.ZipFile) -> list[bool]:
    """Whether cells of each style are dates or times."""
    if "xl/styles.xml" not in archive.namelist():
        return []
    styles = _part(archive, "xl/styles.xml")
    own = {
        str(one.get("numFmtId")): re.sub(r'"[^"]*"|\\.|\[[^]]*\]', "", str(one.get("formatCode")))
        for one in styles.iter(f"{SPACE}numFmt")
    }
    formats = styles.find(f"{SPACE}cellXfs")
    numbers = [str(one.get("numFmtId", "0")) for one in formats] if formats is not None else []
    return [
        int(number) in DATES or bool(re.search("[dyhms]", own.get(number, ""), re.IGNORECASE))
        for number in numbers
    ]


def _rows(
    archive: zipfile.ZipFile, name: str, strings: list[str], dated: list[bool], begins: int
) -> Iterator[tuple[int, list[str]]]:
    sheet = _part(archive, name)
    for order, row in enumerate(sheet.iter(f"{SPACE}row"), 1):
        cells: list[str] = []
        for cell in row.iter(f"{SPACE}c"):
            place = _column(str(cell.get("r") or "")) if cell.get("r") else len(cells)
            cells += [""] * (place - len(cells))
            cells.append(_text(cell, strings, dated, begins))
        yield int(row.get("r") or order), cells


def _column(place: str) -> int:
    """The number of a column, from 0: that of ``AB7`` is 27."""
    number = 0
    for letter in re.match("[A-Z]*", place)[0]:  # type: ignore[index]
        number = 26 * number + ord(letter) - 64
    return number - 1


def _text(cell: ElementTree.Element, strings: list[str], dated: list[bool], begins: int) -> str:
    kind, value = cell.get("t", "n"), cell.findtext(f"{SPACE}v") or ""
    if kind == "inlineStr":
        return "".join(text.text or "" for text in cell.iter(f"{SPACE}t"))
    if kind == "s":
        return strings[int(value)]
    style = int(cell.get("s") or 0)
    if kind == "n" and value and style < len(dated) and dated[style]:
        return _date(float(value), begins)
    return "" if kind == "e" else value


def _date(days: float, begins: int) -> str:
    """A count of days as a date; less than one is a time of day, or a length."""
    seconds = round(days * 86400, 3)
    if days < 1:
        whole = round(seconds)
        return f"{whole // 3600:02}:{whole % 3600 // 60:02}:{whole % 60:02}"
    first = datetime(1904, 1, 1) if begins == 1904 else datetime(1899, 12, 30)
    moment = first + timedelta(seconds=seconds)
    return moment.isoformat(sep=" ", timespec="milliseconds" if moment.microsecond else "seconds")
