"""Draws the pictures of energy.md from what its commands wrote into the folder that is given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow.parquet as pq
from matplotlib.figure import Figure

IMAGES = Path(__file__).parent / "images"
COLOURS = ("#9ca3af", "#f58518", "#4c78a8")
HOPELESS = 0.5
"""Policies that leave more of the requests unserved are not drawn: their joules are few."""


def columns(path: Path) -> dict[str, Any]:
    """The columns of a table as arrays."""
    table = pq.read_table(path)
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}


def axes(x: str, y: str) -> tuple[Figure, Any]:
    """An empty picture."""
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    found = figure.add_subplot()
    found.set_xlabel(x)
    found.set_ylabel(y)
    found.grid(color="#e5e7eb")
    found.set_axisbelow(True)
    found.spines[["top", "right"]].set_visible(False)
    return figure, found


def measure(results: Path) -> Figure:
    """Power over time, its parts on top of each other."""
    power = columns(results / "measure" / "power.parquet")
    figure, at = axes("minutes", "W")
    parts = [power[f"{part}_w"] for part in ("idle", "network", "dynamic")]
    names = ("idle", "network", "dynamic")
    at.stackplot(power["time_s"] / 60, parts, labels=names, colors=COLOURS, step="post")
    at.legend(loc="upper left", frameon=False, ncols=3)
    at.margins(x=0)
    at.set_ylim(0, 1.15 * power["power_w"].max())
    return figure


def hardware(results: Path) -> Figure:
    """Joules for an execution by type of device."""
    devices = columns(results / "hardware" / "devices.parquet")
    order = np.argsort(devices["j_per_execution"])
    figure, at = axes("J for an execution", "")
    names, place = devices["device"][order], np.arange(len(order))
    at.barh(place + 0.2, devices["j_per_execution"][order], 0.4, label="all", color=COLOURS[0])
    own = devices["dynamic_j_per_execution"][order]
    at.barh(place - 0.2, own, 0.4, label="used by it", color=COLOURS[2])
    at.set_yticks(place, names)
    at.legend(loc="lower right", frameon=False)
    return figure


def scheduling(results: Path) -> Figure:
    """Joules and response time of policies, each with the range of its replications."""
    runs = columns(results / "scheduling" / "replications.parquet")
    figure, at = axes("p95 response, s", "J per invocation")
    alike: dict[tuple[float, float], list[str]] = {}
    for name in dict.fromkeys(runs["policy"]):
        own = runs["policy"] == name
        if runs["unserved_share"][own].mean() > HOPELESS:
            continue
        x, y = runs["response_p95_s"][own], runs["energy_j_per_invocation"][own]
        at.plot(x, y, "o", color=COLOURS[2], markersize=3, alpha=0.6)
        alike.setdefault((round(x.mean(), 1), round(y.mean(), 1)), []).append(name)
    low = -np.inf
    for x, y in sorted(alike, key=lambda place: place[1]):
        low = max(y, low + 0.35) if x < 10 else y  # names beside each other stand apart
        at.annotate(", ".join(alike[x, y]), (x * 1.06, low), fontsize=8, va="center")
    at.set_xscale("log")
    at.set_xlim(right=1.6 * at.get_xlim()[1])
    return figure


def placement(results: Path) -> Figure:
    """All weights that were tried, and the front of them."""
    designs = columns(results / "placement" / "designs.parquet")
    figure, at = axes("p95 response, s", "J per invocation")
    x, y = designs["response_p95_s"], designs["energy_j_per_invocation"]
    front, chosen = designs["front"], designs["chosen"]
    at.plot(x, y, ".", color=COLOURS[0], label="weights that were tried")
    at.plot(x[front], y[front], "o", color=COLOURS[2], label="on the front")
    at.plot(x[chosen], y[chosen], "D", color=COLOURS[1], label="the knee, chosen")
    at.legend(frameon=False)
    return figure


def accuracy(results: Path) -> Figure:
    """What the meter read against what the model says."""
    rows = columns(results / "model" / "measurements.parquet")
    figure, at = axes("predicted, W", "measured, W")
    out = rows["held_out"]
    for which, name, colour in ((~out, "fitted", COLOURS[0]), (out, "held out", COLOURS[2])):
        at.plot(rows["predicted_w"][which], rows["watts"][which], ".", label=name, color=colour)
    ends = [rows["watts"].min(), rows["watts"].max()]
    at.plot(ends, ends, color="#374151", linewidth=0.8)
    at.legend(frameon=False)
    return figure


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "energy"
    for draw in (measure, hardware, scheduling, placement, accuracy):
        path = IMAGES / f"energy-{draw.__name__}.svg"
        draw(Path(sys.argv[1])).savefig(path, metadata={"Date": None})
