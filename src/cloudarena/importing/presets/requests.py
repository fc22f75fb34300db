"""Requests counted over time, such as a minute each: a time and a number."""

from __future__ import annotations

from collections.abc import Sequence

from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import missing, proposed
from cloudarena.importing.presets import tabular

DESCRIPTION = "requests counted over time: a time and a count on each row"


def recognises(file: File) -> bool:
    """Recognises a table of two or three columns with a time and a count or rate of requests."""
    if not 2 <= len(file.words) <= 4:
        return False
    words = {"rpm", "requests_per_minute", "requests", "request_count", "hits", "rps", "qps"}
    if not words & file.words and not any(word.startswith("requests_") for word in file.words):
        return False
    return not missing("tiers", proposed(file.sheet, "tiers"))


def read(files: Sequence[File]) -> Found:
    """Reads the series."""
    return tabular.read(files, "tiers")
