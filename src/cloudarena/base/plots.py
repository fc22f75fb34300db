"""Pictures for notebooks, as plain values, drawn by Plotly if it is there, else by Matplotlib."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

from cloudarena.base.errors import CloudarenaError

HEIGHT, WIDTH = 420, 760
"""The size of a picture in pixels."""
COLOURS = ("#0072b2", "#d55e00", "#00896b", "#a8438d", "#a87a00", "#3b94d1", "#7a4a2b", "#5c6672")
"""Colours that colour-blind readers can tell apart; those of the report."""


class Mark(NamedTuple):
    """A line, or points with their intervals."""

    name: str
    x: Sequence[Any]
    y: Sequence[Any]
    style: Literal["line", "points"] = "line"
    spans: tuple[Sequence[float], Sequence[float]] | None = None
    """How far the intervals of points go, to the left and to the right."""


class Picture(NamedTuple):
    """Marks over the same axes."""

    title: str
    x: str
    y: str
    marks: Sequence[Mark]


class Heat(NamedTuple):
    """Values of rows over time, as colours."""

    title: str
    x: str
    y: str
    times: Sequence[float]
    rows: Sequence[str]
    values: Any
    """An array of rows by times."""
    unit: str


class Bars(NamedTuple):
    """What is where from when to when: a Gantt chart."""

    title: str
    x: str
    places: Sequence[str]
    begins: Sequence[float]
    ends: Sequence[float]
    names: Sequence[str]


AnyPicture = Picture | Heat | Bars


def draw(picture: AnyPicture) -> Any:
    """The figure of a picture: one of Plotly if it is installed, else one of Matplotlib."""
    if find_spec("plotly") is not None:
        return _by_plotly(picture)
    if find_spec("matplotlib") is not None:
        return _by_matplotlib(picture)
    raise CloudarenaError("plot: needs Plotly or Matplotlib: pip install 'cloudarena[plots]'")


def _is_listed(picture: AnyPicture) -> bool:
    """Whether the marks stand below each other, each beside its name."""
    return isinstance(picture, Picture) and all(
        len(mark.y) == 1 and isinstance(mark.y[0], str) for mark in picture.marks
    )


def _by_plotly(picture: AnyPicture) -> Any:
    go = importlib.import_module("plotly.graph_objects")
    if isinstance(picture, Heat):
        traces = [
            go.Heatmap(
                x=list(picture.times),
                y=list(picture.rows),
                z=picture.values,
                colorscale="Viridis",
                colorbar={"title": picture.unit},
            )
        ]
        y = picture.y
    elif isinstance(picture, Bars):
        traces = [
            go.Bar(
                base=list(picture.begins),
                x=[end - begin for begin, end in zip(picture.begins, picture.ends, strict=True)],
                y=list(picture.places),
                text=list(picture.names),
                orientation="h",
                marker={"line": {"width": 1, "color": "white"}},
            )
        ]
        y = ""
    else:
        traces = [_trace(go, mark) for mark in picture.marks]
        y = picture.y
    figure = go.Figure(traces)
    if _is_listed(picture):
        figure.update_yaxes(autorange="reversed").update_layout(showlegend=False)
    return figure.update_layout(
        title=picture.title,
        xaxis_title=picture.x,
        yaxis_title=y,
        template="plotly_white",
        colorway=list(COLOURS),
        height=HEIGHT,
        width=WIDTH,
    )


def _trace(go: Any, mark: Mark) -> Any:
    errors = {}
    if mark.spans is not None:
        left, right = (list(span) for span in mark.spans)
        errors["error_x"] = {"type": "data", "arrayminus": left, "array": right}
    mode = "lines" if mark.style == "line" else "markers"
    shape = {"shape": "hv"} if mark.style == "line" else None
    return go.Scatter(
        name=mark.name, x=list(mark.x), y=list(mark.y), mode=mode, line=shape, **errors
    )


def _by_matplotlib(picture: AnyPicture) -> Any:
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(WIDTH / 100, HEIGHT / 100), layout="constrained")
    pyplot.close(figure)  # what is returned is shown once, by the notebook
    axes.set_title(picture.title)
    axes.set_xlabel(picture.x)
    if isinstance(picture, Heat):
        first, last = float(min(picture.times)), float(max(picture.times))
        step = (last - first) / max(1, len(picture.times) - 1) or 1.0
        edges = [first, last + step, len(picture.rows) - 0.5, -0.5]
        image = axes.imshow(picture.values, aspect="auto", extent=edges, interpolation="nearest")
        figure.colorbar(image, ax=axes, label=picture.unit)
        axes.set_ylabel(picture.y)
    elif isinstance(picture, Bars):
        places = list(dict.fromkeys(picture.places))
        for k, (begin, end) in enumerate(zip(picture.begins, picture.ends, strict=True)):
            place = places.index(picture.places[k])
            axes.barh(place, end - begin, left=begin, color=COLOURS[k % len(COLOURS)])
        axes.set_yticks(range(len(places)), places)
        axes.invert_yaxis()
    else:
        for k, mark in enumerate(picture.marks):
            colour = COLOURS[k % len(COLOURS)]
            if mark.style == "line":
                axes.step(mark.x, mark.y, where="post", label=mark.name, color=colour)
            else:
                axes.errorbar(
                    mark.x, mark.y, xerr=mark.spans, fmt="o", capsize=4, label=mark.name,
                    color=colour,
                )  # fmt: skip
        axes.set_ylabel(picture.y)
        if _is_listed(picture):
            axes.invert_yaxis()
        elif 1 < sum(bool(mark.name) for mark in picture.marks) <= len(COLOURS):
            axes.legend()
    return figure
