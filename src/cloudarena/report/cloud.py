"""The picture of a cloud over time: how full each machine is, or what runs on it (a Gantt chart).

It is plain SVG between labels of HTML, so that it needs no script and its words keep their size.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.contract import Scenario
from cloudarena.contract.plot import Slices
from cloudarena.report.page import Section

if TYPE_CHECKING:
    import pyarrow as pa

BINS = 160
"""Columns of a heat map."""
MOST_ROWS = 60
"""Rows of a heat map; of more machines, neighbours share a row."""
LEVELS = 10
"""Shades of a heat map."""
ROW, LANE = 14, 7
"""The height of a row, and of one of several lanes of it, in pixels."""
MOST_BARS, MOST_LANES = 1500, 160
"""Bars and lanes of a Gantt chart; of more, nothing could be seen."""
COLOURS = 8
"""Colours of bars, by turns."""
WIDE = 1000
"""The width of the picture in its own units; it is stretched to that of the page."""


class Work(NamedTuple):
    """What ran where, in order of its beginning; times are in seconds."""

    place: Ints
    """The index of the place of each."""
    begin: Floats
    end: Floats
    weight: Floats
    names: list[str]
    places: list[str]
    last: float
    """The end of the run."""


def cloud_section(
    scenario: Scenario | None, tables: Mapping[str, pa.Table], policy: str
) -> Section | None:
    """The picture of a run as a section; None if it has not recorded what ran where."""
    slices = None if scenario is None else scenario.kind.slices
    if scenario is None or slices is None or not slices.places or slices.table not in tables:
        return None
    work = _work(scenario, slices, tables)
    if work is None:
        return None
    lanes = _lanes(work) if slices.is_gantt and len(work.place) <= MOST_BARS else None
    if lanes is not None and sum(_counts(work, lanes)) <= MOST_LANES:
        labels, heights, drawing = _bars(work, lanes)
        hint = f"What ran where under {policy}: bars are {slices.table}."
    else:
        labels, heights, drawing, each = _heat(slices, work, tables)
        what = f"{slices.weight} taken" if slices.weight else f"{slices.table} at once"
        hint = f"{what.capitalize()} under {policy}: the stronger the colour, the more."
        if each > 1:
            hint += f" A row is the mean of {each} machines."
    return Section(
        "The cloud over time", hint, table=_frame(scenario, work, labels, heights, drawing)
    )


def _work(scenario: Scenario, slices: Slices, tables: Mapping[str, Any]) -> Work | None:
    """The rows of the table that have begun; what has not ended lasts to the end of the run."""
    table = tables[slices.table]
    begin = np.asarray(table[slices.begin].to_numpy(zero_copy_only=False), np.float64)
    end = np.asarray(table[slices.end].to_numpy(zero_copy_only=False), np.float64)
    rows = np.flatnonzero(np.isfinite(begin))
    rows = rows[np.argsort(begin[rows], kind="stable")]
    if not len(rows):
        return None
    size = float(getattr(scenario, "tick_seconds", 1.0)) if slices.begin == "start" else 1.0
    last = float(np.nanmax(np.concatenate((begin[rows], end[rows]))))
    ends = np.where(np.isfinite(end), end, last)
    columns = [table[name].to_pylist() for name in slices.places]
    found = [" ".join(str(column[row]) for column in columns) for row in rows.tolist()]
    places = sorted(dict.fromkeys(found), key=lambda text: [_order(one) for one in text.split()])
    index = {name: k for k, name in enumerate(places)}
    words = [table[name].to_pylist() for name in slices.names]
    weight = np.ones(len(rows))
    if slices.weight:
        weight = np.asarray(table[slices.weight].to_numpy(zero_copy_only=False), np.float64)[rows]
    if last <= 0:
        return None
    return Work(
        np.array([index[name] for name in found]),
        begin[rows] * size,
        np.maximum(begin, ends)[rows] * size,
        weight,
        [" ".join(str(column[row]) for column in words) for row in rows.tolist()],
        places,
        last * size,
    )


def _order(text: str) -> tuple[int, float, str]:
    """Numbers by their size, before words."""
    return (0, float(text), "") if text.isdigit() else (1, 0.0, text)


def _counts(work: Work, lanes: Ints) -> list[int]:
    """How many lanes each place has."""
    return [int(lanes[work.place == k].max()) + 1 for k in range(len(work.places))]


def _lanes(work: Work) -> Ints:
    """The lowest free lane of its place for each."""
    free: dict[int, list[float]] = {}
    found = []
    for place, begin, end in zip(work.place.tolist(), work.begin, work.end, strict=True):
        lanes = free.setdefault(place, [])
        lane = next((k for k, until in enumerate(lanes) if until <= begin), len(lanes))
        lanes[lane : lane + 1] = [end]
        found.append(lane)
    return np.array(found)


def _bars(work: Work, lanes: Ints) -> tuple[list[str], list[int], str]:
    """A Gantt chart: labels, heights of rows, and the bars, each with its name."""
    most = _counts(work, lanes)
    heights = [max(ROW, LANE * count + 2) for count in most]
    tops = np.concatenate(([0], np.cumsum(heights)))
    colours: dict[str, int] = {}
    bars = []
    scale = WIDE / work.last
    for k, name in enumerate(work.names):
        place = int(work.place[k])
        colour = colours.setdefault(name.split(" ")[0], len(colours) % COLOURS)
        x, width = work.begin[k] * scale, max(0.6, (work.end[k] - work.begin[k]) * scale)
        lane = heights[place] - 2 if most[place] == 1 else LANE - 1
        y = tops[place] + 1 + LANE * int(lanes[k])
        bars.append(
            f'<rect class="bar{colour}" x="{x:.6g}" y="{y}" width="{width:.6g}" height="{lane}">'
            f"<title>{escape(name)}: {work.begin[k]:.6g} to {work.end[k]:.6g} s</title></rect>"
        )
    return work.places, heights, "".join(bars)


def _heat(
    slices: Slices, work: Work, tables: Mapping[str, Any]
) -> tuple[list[str], list[int], str, int]:
    """A heat map: labels, heights of rows, the cells of each shade, and machines in a row."""
    held = _held(work)
    full = np.full(len(work.places), held.max() or 1.0)
    machines = tables.get("machines")
    if slices.weight and machines is not None and slices.weight in machines.column_names:
        capacity = machines[slices.weight].to_pylist()
        if all(name.isdigit() and int(name) < len(capacity) for name in work.places):
            full = np.array([float(capacity[int(name)]) for name in work.places])
    shares = np.clip(held / full[:, None], 0.0, 1.0)
    each = -(-len(work.places) // MOST_ROWS)
    firsts = np.arange(0, len(work.places), each)
    shares = np.add.reduceat(shares, firsts) / np.diff(np.append(firsts, len(shares)))[:, None]
    labels = [work.places[k] if each == 1 else f"{work.places[k]} …" for k in firsts.tolist()]
    shades = np.ceil(shares * LEVELS - 1e-9).astype(np.int64)
    size = WIDE / BINS
    parts = []
    for level in range(1, LEVELS + 1):
        path = []
        for row in range(len(shades)):
            # Neighbours of one shade are one rectangle, which keeps the page small.
            edges = np.flatnonzero(np.diff(np.concatenate(([0], shades[row] == level, [0]))))
            for start, stop in edges.reshape(-1, 2).tolist():
                path.append(
                    f"M{start * size:.6g} {row * ROW}h{(stop - start) * size:.6g}v{ROW - 1}"
                    f"h{(start - stop) * size:.6g}z"
                )
        if path:
            parts.append(
                f'<path class="heat" fill-opacity="{level / LEVELS:g}" d="{"".join(path)}"/>'
            )
    return labels, [ROW] * len(labels), "".join(parts), each


def _held(work: Work) -> Floats:
    """What is held at each place in each bin on average, an array of (places, bins)."""
    size = work.last / BINS
    edges = np.arange(BINS + 1) * size
    total = np.zeros((len(work.places), BINS + 1))
    for times, sign in ((work.begin, 1.0), (work.end, -1.0)):
        number, moment = np.zeros_like(total), np.zeros_like(total)
        at = np.minimum(np.ceil(times / size - 1e-9).astype(np.int64), BINS)
        np.add.at(number, (work.place, at), work.weight)
        np.add.at(moment, (work.place, at), work.weight * np.minimum(times, work.last))
        total += sign * (edges * np.cumsum(number, axis=1) - np.cumsum(moment, axis=1))
    return np.asarray(np.maximum(0.0, np.diff(total, axis=1) / size))


def _frame(
    scenario: Scenario, work: Work, labels: list[str], heights: list[int], drawing: str
) -> str:
    """The picture between the names of its rows and the times below it."""
    names = "".join(
        f'<span style="height:{height}px">{escape(label)}</span>'
        for label, height in zip(labels, heights, strict=True)
    )
    height = sum(heights)
    times = "".join(f"<span>{one}</span>" for one in _times(scenario, work.last))
    return (
        f'<div class="cloud"><div class="names">{names}</div>'
        f'<svg viewBox="0 0 {WIDE} {height}" preserveAspectRatio="none" height="{height}" '
        f'role="img" aria-label="{len(labels)} rows over time">{drawing}</svg>'
        f'<div class="times">{times}</div></div>'
    )


def _times(scenario: Scenario, last: float) -> list[str]:
    """The times at the beginning, in the middle and at the end."""
    points = (0.0, last / 2, last)
    if scenario.start_date is not None:
        begin = scenario.start_date
        begin = begin if begin.tzinfo else begin.replace(tzinfo=UTC)
        return [(begin + timedelta(seconds=at)).strftime("%-d %b %H:%M") for at in points]
    unit, size = next(
        (one for one in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)) if last >= 3 * one[1]),
        ("s", 1.0),
    )
    return [f"{at / size:.3g} {unit}" for at in points]
