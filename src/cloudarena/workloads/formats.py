"""Which format a trace file is in, by how it begins."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

from cloudarena.base.errors import TraceError
from cloudarena.base.files import UNREADABLE

BEGINNING = 2**16
"""How much of a file is looked at, in bytes."""

COLUMNS = {
    "cloudsimpy-csv": {"job_id", "instances_num"},
    "openb-jobs": {"cpu_milli", "memory_mib"},
    "jobs": {"job", "task", "duration_s"},
}
"""Columns by which a table with a header is known."""

BATCH_TASK_COLUMNS = 9


def recognise(path: Path) -> str | None:
    """The format of a trace, by its name among those of ``trace convert``; None if unknown.

    Alibaba's ``batch_task`` is taken as jobs.
    """
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            beginning = file.read(BEGINNING)
    except UNREADABLE as error:
        raise TraceError(f"{path}: cannot be read: {error}") from None
    if beginning.startswith(b"PAR1"):
        return "jobs"
    text = beginning.decode("utf-8-sig", errors="replace").lstrip()
    if text.startswith("<"):
        return "dax"
    if text.startswith(("{", "[")):
        return _json_format(text)
    if text.startswith(";") or ".swf" in path.suffixes:
        return "swf"
    return _table_format(text)


def _json_format(text: str) -> str:
    try:
        first = json.loads(text.splitlines()[0])
    except json.JSONDecodeError:
        first = None
    if isinstance(first, dict) and "collection_id" in first:
        return "borg-2019"
    instance = any(f'"{key}"' in text for key in ("schemaVersion", "specification"))
    return "wfcommons" if instance else "workflows"


def _table_format(text: str) -> str | None:
    first = next(csv.reader(text.splitlines()[:1]), [])
    for name, columns in COLUMNS.items():
        if columns <= set(first):
            return name
    # Without header: task_name, instance_num, job_name, task_type, status, times, plans.
    if len(first) == BATCH_TASK_COLUMNS and first[1].isdigit() and first[4].isalpha():
        return "alibaba-2018"
    return None
