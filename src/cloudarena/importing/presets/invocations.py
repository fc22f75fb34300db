"""Logs of invocations of functions: a table, or Lambda's REPORT lines out of CloudWatch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cloudarena.base.arrow import pa
from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import Column, Mapped, missing, proposed
from cloudarena.importing.presets import tabular
from cloudarena.importing.presets.common import one_sheet, replaced
from cloudarena.importing.roles import tidy
from cloudarena.importing.sheet import Bad, Sheet, sheet_of_records

DESCRIPTION = (
    "invocations of functions: a time and a function on each row, or Lambda's REPORT lines, or "
    "Logs Insights"
)
REPORT = re.compile(
    r"REPORT RequestId: (?P<id>\S+)\s+Duration: (?P<duration>[\d.]+) ms"
    r"(?:.*?Memory Size: (?P<memory>\d+) MB)?(?:.*?Init Duration: (?P<init>[\d.]+) ms)?",
    re.DOTALL,
)
STAMP = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)")


def recognises(file: File) -> bool:
    """Recognises REPORT lines, Logs Insights, or a table that names a function and a time."""
    if "REPORT RequestId:" in file.head:
        return True
    if "@duration" in file.words:
        return True
    functions = {"function", "function_name", "func", "function_arn", "lambda", "handler"}
    if not functions & file.words or file.words & {"hash_function", "1440"}:
        return False
    return not missing("faas", proposed(file.sheet, "faas"))


def read(files: Sequence[File]) -> Found:
    """Reads the invocations."""
    if all("@duration" in file.words for file in files):
        return _of_insights(files)
    if not any("REPORT RequestId:" in file.head for file in files):
        found = tabular.read(files, "faas")
        words = frozenset[str]().union(*(file.words for file in files))
        return _with_apps(found) if {"app", "func", "end_timestamp"} <= words else found
    records = [record for file in files for record in _reports(file)]
    sheet: Sheet = sheet_of_records(files[0].path, records, remarks=("Lambda's REPORT lines",))
    mapping: Mapped = {
        "time": Column("time"),
        "function": Column("function"),
        "duration": Column("duration_ms", "ms"),
        "memory": Column("memory_mb", "mb"),
    }
    present = {role: column for role, column in mapping.items() if column.source in sheet.columns}
    return Found(sheet, "faas", present)


def _of_insights(files: Sequence[File]) -> Found:
    """CloudWatch Logs Insights: ``@duration`` is in ms, ``@memorySize`` in bytes of 1000^2 a MB."""
    sheet, name = one_sheet(files), {tidy(one): one for one in files[0].sheet.names}
    logs = sheet.texts(name["@log"]) if "@log" in name else []
    functions = [log.rpartition("/")[2] for log in logs]
    functions = functions or [files[0].path.stem] * len(sheet)
    made: dict[str, list[str | None]] = {"function": list(functions)}
    roles = {"time": Column(name.get("@timestamp", "")), "function": Column("function")}
    roles["duration"] = Column(name["@duration"], "ms")
    if "@memory_size" in name:
        sizes = sheet.texts(name["@memory_size"])
        made["memory_mb"] = [f"{float(one) / 1e6:g}" if one else None for one in sizes]
        roles["memory"] = Column("memory_mb", "mb")
    sheet = replaced(sheet, **made)
    return Found(_reports_of(sheet, name["@type"]) if "@type" in name else sheet, "faas", roles)


def _reports_of(sheet: Sheet, column: str) -> Sheet:
    """The REPORT rows: START and END have no duration, and are the same invocations again."""
    kinds = sheet.texts(column)
    kept = [row for row, kind in enumerate(kinds) if kind == "REPORT"]
    others = tuple(
        Bad(sheet.line(row), "it is no REPORT, which alone tells how long it took", kind)
        for row, kind in enumerate(kinds)
        if kind != "REPORT"
    )
    return Sheet(
        sheet.path,
        {one: values.take(pa.array(kept, pa.int64())) for one, values in sheet.columns.items()},
        np.array([sheet.line(row) for row in kept]),
        (*sheet.bad, *others),
        sheet.remarks,
    )


def _with_apps(found: Found) -> Found:
    """Functions named with their application, within which alone their names are unique."""
    pairs = zip(found.sheet.texts("app"), found.sheet.texts("func"), strict=True)
    names = [f"{app}/{function}" if function else None for app, function in pairs]
    sheet = replaced(found.sheet, **{"app/func": names})
    return found._replace(sheet=sheet, mapping={**found.mapping, "function": Column("app/func")})


def _reports(file: File) -> Iterator[dict[str, Any]]:
    """The REPORT lines of a file: events of CloudWatch, or lines of text."""
    if file.document is not None:
        document = file.document
        events = document.get("events", []) if isinstance(document, dict) else document
        for event in events:
            found = REPORT.search(str(event.get("message", event.get("@message", ""))))
            if found:
                stream = str(event.get("logGroupName") or event.get("@log") or "")
                time = event.get("timestamp") or event.get("@timestamp")
                yield _record(found, time, stream.rpartition("/")[2] or file.path.stem)
        return
    for row in file.data.decode("utf-8", errors="replace").splitlines():
        found, time = REPORT.search(row), STAMP.search(row)
        if found:
            yield _record(found, time[1] if time else None, file.path.stem.partition(".")[0])


def _record(found: re.Match[str], time: Any, function: str) -> dict[str, Any]:
    return {
        "time": time,
        "function": function,
        "duration_ms": found["duration"],
        "memory_mb": found["memory"],
    }
