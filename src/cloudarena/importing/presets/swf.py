"""Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 for none."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cloudarena.base.documents import decoded
from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import Column, Mapped
from cloudarena.importing.presets.common import replaced
from cloudarena.importing.sheet import Sheet, sheet_of_rows

DESCRIPTION = "batch logs in Standard Workload Format, .swf or .swf.gz"
FIELDS = (
    *("job", "submit_s", "wait_s", "run_s", "processors", "cpu_s", "used_memory_kb"),
    *("requested_processors", "requested_s", "requested_memory_kb", "status", "user", "group"),
    *("application", "queue", "partition", "preceding_job", "think_s"),
)
UNIX_START = re.compile(r"^;\s*UnixStartTime:\s*(\d+)", re.MULTILINE)
MAX_PROCESSORS = re.compile(r"^;\s*MaxProcs:\s*(\d+)", re.MULTILINE)
NONE = ("-1", "-1.0")


def recognises(file: File) -> bool:
    """Recognises the format by a comment of it, or by the name of the file."""
    return ".swf" in file.path.suffixes or (
        file.head.startswith(";")
        and bool(re.search(r"^;\s*(UnixStartTime|MaxProcs|Version)", file.head, re.M))
    )


def read(files: Sequence[File]) -> Found:
    """The jobs of a log."""
    texts = [decoded(file.data) for file in files]
    moved = [row for text in texts for row in _rows(text)]
    processors = [int(found[1]) for text in texts if (found := MAX_PROCESSORS.search(text))]
    remarks = ["Standard Workload Format"]
    if len(files) > 1:
        remarks.append(f"{len(files)} files, one after the other")
    sheet = sheet_of_rows(files[0].path, FIELDS, moved, remarks=tuple(remarks))
    mapping: Mapped = {
        "id": Column("job"),
        "submit": Column("submit_s", "s"),
        "start": Column("start_s", "s"),
        "duration": Column("run_s", "s"),
        "cores": Column("processors"),
        "memory": Column("requested_memory_kb", "kb"),
        "user": Column("user"),
        "estimate": Column("requested_s", "s"),
    }
    sheet = replaced(sheet, start_s=_starts(sheet))
    extra: dict[str, Any] = {"memory_per": np.full(len(sheet), "core")}
    if processors:
        extra["processors"] = max(processors)
    return Found(dataclasses.replace(sheet, extra=extra), "jobs", mapping)


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a log, with instants in place of seconds since its start."""
    begin = UNIX_START.search(text)
    offset = float(begin[1]) if begin else 0.0
    for line, content in enumerate(text.splitlines(), 1):
        words = ["" if word in NONE else word for word in content.partition(";")[0].split()]
        if len(words) == len(FIELDS) and words[1]:
            words[1] = _later(words[1], offset)
            words[4] = words[4] or words[7]
            words[9] = words[9] or words[6]
        if words:
            yield line, words


def _starts(sheet: Sheet) -> list[str | None]:
    """When each job started; None if it is not known how long it waited, or that it ran."""
    columns = (sheet.texts(name) for name in ("submit_s", "wait_s", "run_s"))
    return [
        _later(submit, float(wait)) if run and wait.replace(".", "", 1).isdigit() else None
        for submit, wait, run in zip(*columns, strict=True)
    ]


def _later(text: str, offset: float) -> str:
    try:
        return repr(float(text) + offset)
    except ValueError:
        return text
