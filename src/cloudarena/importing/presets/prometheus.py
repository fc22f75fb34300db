"""Prometheus' range queries: ``/api/v1/query_range``, values as texts, NaN and +Inf among them.

A series of arrivals becomes a rate of requests, all series of the answer added up; a counter that
only rises is turned into its rate, as ``rate()`` does. With ``--kind vm`` each series is a VM that
is there from its first sample to its last. Its values are the cores that it uses, and its size is
guessed from its peak; or they are utilisation where the metric is called so (per cent, or parts if
none is above 1.5), and ``--map cores=4`` says the size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.errors import TraceError
from cloudarena.importing.draft import GUESS
from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import Column
from cloudarena.importing.roles import CARBON
from cloudarena.importing.sheet import sheet_of_records

DESCRIPTION = "Prometheus: the JSON of query_range, a series of requests (--kind vm: of CPU use)"
COUNTER_ENDS = ("_total", "_count", "_sum")
UTILISATION = ("util", "percent", "pct", "ratio")
"""Parts of names of metrics that are shares of a machine, not cores."""


def recognises(file: File) -> bool:
    """Recognises the answer of a query."""
    if file.holds("status", "errorType"):
        return True
    return file.holds("status", "data") and "resultType" in (file.document["data"] or {})


def series_of(file: File) -> Iterator[tuple[dict[str, str], list[Any]]]:
    """The labels and values of each series of an answer."""
    document = file.document
    if document["status"] != "success":
        raise TraceError(
            f"{file.path}: the query failed: {document.get('error', 'no reason given')}"
        )
    kind = document["data"]["resultType"]
    if kind != "matrix":
        raise TraceError(
            f"{file.path}: resultType {kind!r} is not allowed: matrix, of a range query "
            "(/api/v1/query_range)"
        )
    for one in document["data"]["result"]:
        yield dict(one.get("metric", {})), list(one.get("values", []))


def read(files: Sequence[File], kind: str | None = None) -> Found:
    """The series of all answers."""
    records, notes, count, unknown, most = [], [], 0, 0, 0.0
    series: list[_Series] = []
    wanted = kind or "tiers"
    for file in files:
        for labels, values in series_of(file):
            name = labels.get("__name__", "")
            label = ",".join(f"{key}={value}" for key, value in labels.items() if key != "__name__")
            if not values:  # such as native histograms
                notes.append(f"{label or name}: has no values that are numbers: it is left out")
                continue
            count += 1
            texts = [text for _, text in values]
            numbers = np.array([_number(text) for text in texts])
            known = numbers[np.isfinite(numbers)]
            most = max(most, float(known.max(initial=0.0)))
            rises = len(known) > 2 and bool((np.diff(known) >= 0).mean() > 0.9)
            if wanted in ("tiers", "vm") and name.endswith(COUNTER_ENDS) and rises:
                values = _rates(values)
                notes.append(f"{name}: a counter: its rate is taken")
            if wanted == "vm":
                series.append(_Series(name, label or name, values))
            else:
                values, lost = _held(values)
                unknown += lost
            records += [{"time": str(at), "value": text, "series": label} for at, text in values]
    if not records:
        raise TraceError(f"{files[0].path}: the answer has no series")
    if wanted == "vm":
        return _vms(files[0], series, notes)
    sheet = sheet_of_records(files[0].path, records, remarks=(f"{count} series of Prometheus",))
    role = {"tiers": "rate", CARBON: "intensity"}.get(wanted)
    if role is None:
        raise TraceError(
            f"--kind {wanted} is not allowed for the preset prometheus: tiers, vm, carbon"
        )
    if unknown:
        notes.append(f"{unknown:,} samples are NaN or infinite: the one before goes on")
    if wanted == "tiers" and count > 1 and most <= 1.0:
        notes.append(
            "no value is above 1: if this is CPU use and no rate of requests, --kind vm takes each "
            "series for a VM"
        )
    notes = list(dict.fromkeys(notes))
    return Found(
        sheet, wanted, {"time": Column("time", "s"), role: Column("value")}, notes=tuple(notes)
    )


class _Series(NamedTuple):
    """The samples of one series: instants, and texts."""

    name: str
    label: str
    values: list[Any]


def _vms(file: File, series: Sequence[_Series], notes: list[str]) -> Found:
    """Each series as a VM, with its mean utilisation; those that reach the end have no end.

    If all of them reach it, the trace ends with the last sample, which then is the end of all.
    """
    until = max(float(at) for one in series for at, _ in one.values)
    is_cut = all(float(one.values[-1][0]) >= until for one in series)
    records = []
    is_utilisation = any(word in series[0].name.lower() for word in UTILISATION)
    known = [[_number(text) for _, text in one.values] for one in series]
    peak = max((x for values in known for x in values if np.isfinite(x)), default=0.0)
    size = 100.0 if peak <= 1.5 else 1.0
    for one, values in zip(series, known, strict=True):
        used = [x for x in values if np.isfinite(x)]
        if not used:
            notes.append(f"{one.label}: no value is a number: it is left out")
            continue
        ends = float(one.values[-1][0])
        record = {
            "series": one.label,
            "start": repr(float(one.values[0][0])),
            "end": "" if ends >= until and not is_cut else repr(ends),
        }
        mean = sum(used) / len(used)
        if is_utilisation:
            record["cpu_percent"] = repr(mean * size)
        else:
            cores = max(1, math.ceil(max(used) - 1e-9))
            record |= {"cores": str(cores), "cpu_percent": repr(100 * mean / cores)}
        records.append(record)
    if not records:
        raise TraceError(f"{file.path}: no value of the answer is a number")
    mapping = {
        "id": Column("series"),
        "start": Column("start", "s"),
        "end": Column("end", "s"),
        "cpu_percent": Column("cpu_percent"),
    }
    if not is_utilisation:
        mapping["cores"] = Column("cores")
        notes.append(f"{GUESS}: cores: the peak of each series, rounded up (--map cores=4)")
    sheet = sheet_of_records(file.path, records, remarks=(f"{len(series)} series of Prometheus",))
    return Found(sheet, "vm", mapping, notes=tuple(dict.fromkeys(notes)))


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")


def _held(values: list[Any]) -> tuple[list[Any], int]:
    """The samples, with the last known one in place of what is no number; and how often."""
    found, last, lost = [], None, 0
    for at, text in values:
        if np.isfinite(_number(text)):
            last = text
        elif last is not None:
            lost += 1
        found.append((at, text if last is None else last))
    return found, lost


def _rates(values: list[Any]) -> list[Any]:
    """The rate of a counter between two samples; a fall is a restart from 0."""
    found = []
    for (before, low), (after, high) in pairwise(values):
        rise = _number(high) - _number(low)
        rise = _number(high) if rise < 0 else rise
        found.append((before, repr(rise / (float(after) - float(before)))))
    return found
