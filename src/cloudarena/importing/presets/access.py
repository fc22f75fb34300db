"""Access logs of web servers, in the common or combined format: lines are counted by the minute.

``10.0.0.1 - - [10/Jan/2026:00:00:03 +0100] "GET / HTTP/1.1" 200 1234 "-" "curl"``, as Apache, nginx
and others write them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cloudarena.base.documents import decoded
from cloudarena.base.errors import TraceError
from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import Column
from cloudarena.importing.sheet import CUT, Bad, Sheet, sheet_of_records
from cloudarena.importing.units import Instants, stamp

DESCRIPTION = "access logs of web servers: requests are counted by the minute"
LINE = re.compile(
    r"^\S+ \S+ .*?\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d)(?:\.\d+)?( [+-]\d{4})\] "
)
MINUTE_S = 60
MOST_MINUTES = 10 * 366 * 24 * 60


def recognises(file: File) -> bool:
    """Recognises a log by the date in square brackets of its first lines."""
    lines = file.head.splitlines()[:20]
    return bool(lines) and sum(bool(LINE.match(line)) for line in lines) > len(lines) / 2


def read(files: Sequence[File]) -> Found:
    """The requests of each minute, from the first to the last; a minute may have none."""
    parse = Instants().parse
    counts: dict[int, int] = {}
    bad = []
    for file in files:
        for number, line in enumerate(decoded(file.data).splitlines(), 1):
            found = LINE.match(line)
            if found is None:
                if line.strip():
                    bad.append(Bad(number, "has no date in square brackets", line[:CUT]))
                continue
            date = found[1] + found[2]
            try:
                minute = int(parse(date) // MINUTE_S)
            except (ValueError, OverflowError):
                bad.append(Bad(number, f"{date!r} is no date", line[:CUT]))
                continue
            counts[minute] = counts.get(minute, 0) + 1
    if not counts:
        raise TraceError(f"{files[0].path}: has no line with a date in square brackets")
    first, last = min(counts), max(counts)
    if last - first > MOST_MINUTES:
        raise TraceError(f"{files[0].path}: {last - first:,} minutes are not allowed: 10 years")
    records = [
        {"minute": stamp(minute * MINUTE_S), "requests": counts.get(minute, 0)}
        for minute in range(first, last + 1)
    ]
    remarks = (f"{sum(counts.values()):,} requests of an access log",)
    sheet: Sheet = sheet_of_records(files[0].path, records, bad=tuple(bad), remarks=remarks)
    return Found(sheet, "tiers", {"time": Column("minute"), "count": Column("requests")})
