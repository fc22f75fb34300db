"""Charts as plain values, from plain arrays: the page's script draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.optimizers.ordinal.order_curve import OrderCurve

MOST_POINTS = 2000
"""Points of a series; of more, every n-th is drawn."""
SHOWN_LAYERS = 3
"""Layers that have a colour of their own; the others are grey."""
WIDE = 20.0
"""How many times the least the largest may be on an axis that is not logarithmic."""
MOST_THREADS = 150
"""Designs that have a line in parallel coordinates, of each kind."""
SHOWN_DESIGNS = 6
"""Designs that have a line of their own in an allocation."""


class Series(NamedTuple):
    """Points or a line; ``labels`` say what each point is."""

    name: str
    x: ArrayLike
    y: ArrayLike
    kind: Literal["points", "faint", "line", "steps", "dashed", "star", "named", "threads"] = "line"
    """``named`` points have their label beside them; ``threads`` are thin lines, with gaps."""
    labels: Sequence[str] = ()
    colour: int | None = None
    """The index of a policy, which has the same colour everywhere; by turns by default."""
    marks: Sequence[float] = ()
    """Where there are vertical lines in its colour."""
    spans: Sequence[float] = ()
    """The ends of the intervals of a single point, across and up."""
    is_hollow: bool = False


class Chart(NamedTuple):
    """Series over the same axes; ``marks`` are vertical lines with words."""

    title: str
    hint: str
    x: str
    y: str
    series: Sequence[Series]
    marks: Sequence[tuple[float, str]] = ()
    y_range: tuple[float, float] | None = None
    x_from_zero: bool = False
    x_log: bool = False
    y_log: bool = False
    over_time: bool = False
    """Whether it has a slider, which moves those of all such charts."""
    height: int = 0
    """The height in pixels; by default as the page suggests."""
    tip: str = ""
    """What the title means."""
    dates: tuple[float, float] | None = None
    """The date of 0 on the axis and the length of its unit, in ms, if the axis shows dates."""
    has_legend: bool = False
    """Whether a chart over time has a legend: one whose lines are not the page's policies."""
    x_words: Sequence[str] = ()
    """What stands at 0, 1, ... on the axis instead of numbers."""

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON, six digits each."""
        return {
            "type": "xy",
            **self._asdict(),
            "series": [_plain(series) for series in self.series],
            "marks": [[_short(x), words] for x, words in self.marks],
        }

    def words(self) -> str:
        """What the chart shows, for those who do not see it."""
        names = ", ".join(series.name for series in self.series if series.name)
        return f"{self.title}: {self.y} over {self.x}. {names}"


class Dot(NamedTuple):
    """A mean with its interval, and the single values that it is the mean of."""

    name: str
    text: str
    """The mean and its interval in words."""
    estimate: tuple[float, float, float]
    """The mean, and the ends of its interval; infinite where it is a bound, NaN where unknown."""
    points: Sequence[float]
    colour: int | str
    """The index of a policy, or a verdict."""
    ends: str = ""
    """The interval in words."""
    note: str = ""
    """What stands behind the text, such as a verdict."""
    prefix: str = ""
    """What stands before the name, such as a star."""
    is_hollow: bool = False

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        _, low, high = self.estimate
        return {
            **self._asdict(),
            "estimate": [_finite(value) for value in self.estimate],
            "points": [_finite(value) for value in self.points],
            "bound": "least" if high == math.inf else "most" if low == -math.inf else "",
        }


class Dots(NamedTuple):
    """A row for each of some means: the mean, its interval and single values on one axis."""

    title: str
    hint: str
    rows: Sequence[Dot]
    level: str
    """What the intervals are."""
    has_zero: bool = False
    """Whether there is a line at zero, from which the values differ."""
    metric: str = ""
    """The identifier of what is shown."""
    tip: str = ""
    """What the title means."""

    @property
    def height(self) -> int:
        """The height in pixels, by the number of rows."""
        return 40 + 30 * max(2, len(self.rows))

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rows = [row.plain() for row in self.rows]
        return {"type": "dots", **self._asdict(), "rows": rows}

    def words(self) -> str:
        """What the chart shows, for those who do not see it."""
        return (
            f"{self.title}: {'; '.join(f'{d.name} {d.text} {d.note}'.strip() for d in self.rows)}"
        )


AnyChart = Chart | Dots


def front_chart(
    names: Sequence[str],
    means: ArrayLike,
    layer: ArrayLike,
    front: ArrayLike,
    chosen: ArrayLike,
    labels: Sequence[str] = (),
    front_labels: Sequence[str] = (),
) -> Chart:
    """All designs by their first two objectives, coloured by layer, and the front that was found.

    Args:
        names: of the two objectives.
        means: of all designs at the screening stage, an array of (designs, 2); may be empty.
        layer: of each of these.
        front: means of the designs on the front, an array of (designs, 2).
        chosen: means of the chosen design.
        labels: what each design is.
        front_labels: what each design of the front is.
    """
    points = np.asarray(means, np.float64).reshape(-1, 2)
    layers = np.asarray(layer, np.int64).reshape(-1)
    texts = list(labels) or [""] * len(points)
    series = []
    beyond = np.flatnonzero(layers >= SHOWN_LAYERS)
    if len(beyond):
        some = beyond[:: -(-len(beyond) // MOST_POINTS)]
        series.append(
            Series("other layers", points[some, 0], points[some, 1], "faint", _of(texts, some))
        )
    for shown in range(SHOWN_LAYERS - 1, -1, -1):
        there = np.flatnonzero(layers == shown)
        if len(there):
            name = f"layer {shown + 1}"
            series.append(
                Series(name, points[there, 0], points[there, 1], "points", _of(texts, there))
            )
    best = np.asarray(front, np.float64).reshape(-1, 2)
    order = np.argsort(best[:, 0], kind="stable")
    series.append(
        Series(
            "front",
            best[order, 0],
            best[order, 1],
            "line",
            _of(list(front_labels) or [""] * len(best), order),
        )
    )
    star = np.asarray(chosen, np.float64).reshape(2)
    series.append(Series("chosen", star[:1], star[1:], "star"))
    hint = "layers at the screening stage, the front as evaluated last" if len(points) else ""
    everything = np.concatenate((points, best))
    x_log, y_log = (_is_wide(everything[:, axis]) for axis in (0, 1))
    return Chart("Front and layers", hint, names[0], names[1], series, x_log=x_log, y_log=y_log)


def order_chart(curve: OrderCurve, omega: str, by_layers: bool = True) -> Chart:
    """The order-performance curve beside the straight one."""
    x = "best part of the layers" if by_layers else "best part of the range"
    indices = np.unique(np.linspace(0, len(curve.part) - 1, 300).astype(np.int64))
    return Chart(
        "Order-performance curve",
        f"{omega}, area {curve.area:.2f}",
        x,
        "share of the designs",
        [
            Series("designs", curve.part[indices], curve.share[indices]),
            Series("straight", [0.0, 1.0], [0.0, 1.0]),
        ],
        y_range=(0.0, 1.0),
    )


def cost_chart(
    methods: Sequence[tuple[str, int, float]],
    needed: ArrayLike = (),
    screening_evaluations: int = 0,
    replications: float = 0.0,
) -> Chart:
    """What a claim costs: the methods, and LOS had it selected fewer or more designs.

    Args:
        methods: name, evaluations and claimed probability of each.
        needed: for each draw of the truth, how many designs must be selected.
        screening_evaluations: evaluations of the screening stage over all designs.
        replications: of each selected design, on average.
    """
    series = []
    draws = np.sort(np.asarray(needed, np.float64))
    if len(draws):
        sizes = np.unique(
            np.append(draws, 0.0)
        )  # from the screening stage on, which selects nothing
        share = np.searchsorted(draws, sizes, side="right") / (len(draws) + 1)
        series.append(
            Series(
                "los by the number of selected designs",
                screening_evaluations + sizes * replications,
                share,
                "steps",
                [f"{size:,.0f} selected" for size in sizes],
            )
        )
    for name, evaluations, claim in methods:
        if math.isfinite(claim):
            series.append(Series(name, [evaluations], [claim], "points"))
    return Chart(
        "Cost against alignment",
        "what each method claims of its own selection",
        "evaluations",
        "alignment probability",
        series,
        y_range=(0.0, 1.0),
        x_from_zero=True,
    )


def allocation_chart(rounds: ArrayLike, labels: Sequence[str] = ()) -> Chart:
    """Replications of each design after each round; those with the most have their own lines.

    Args:
        rounds: an array of (rounds, designs).
        labels: what each design is.
    """
    counts = np.asarray(rounds, np.float64)
    round_numbers = np.arange(1, len(counts) + 1)
    order = np.argsort(-counts[-1], kind="stable")
    texts = list(labels) or [f"design {index}" for index in range(counts.shape[1])]
    own, others = order[:SHOWN_DESIGNS], order[SHOWN_DESIGNS:]
    series = [Series(texts[index], round_numbers, counts[:, index]) for index in own]
    if len(others):
        series.append(Series("mean of the others", round_numbers, counts[:, others].mean(axis=1)))
    return Chart("Allocation over rounds", "", "round", "replications", series, x_from_zero=True)


def slice_chart(
    key: str,
    objective: str,
    values: ArrayLike,
    means: ArrayLike,
    kept: ArrayLike,
    chosen: int | None,
    labels: Sequence[str],
) -> Chart:
    """The first objective over the values of a key, a point for each design that was tried.

    Args:
        key: what people call it.
        objective: what people call the first objective.
        values: of the key, numbers.
        means: of the objective.
        kept: whether each design keeps all limits.
        chosen: which of them was chosen.
        labels: what each design is.
    """
    return _tried_chart(
        key, f"{objective} over it", key, objective, values, means, kept, chosen, labels
    )


def region_chart(
    keys: tuple[str, str],
    values: tuple[ArrayLike, ArrayLike],
    kept: ArrayLike,
    chosen: int | None,
    labels: Sequence[str],
) -> Chart:
    """The designs that keep all limits and those that break one, over two keys."""
    hint = "by means over the replications of each design"
    return _tried_chart("Feasible region", hint, *keys, *values, kept, chosen, labels)


def _tried_chart(
    title: str,
    hint: str,
    x: str,
    y: str,
    across: ArrayLike,
    up: ArrayLike,
    kept: ArrayLike,
    chosen: int | None,
    labels: Sequence[str],
) -> Chart:
    points = _floats(across), _floats(up)
    is_kept = np.asarray(kept, np.bool_)
    series = []
    for name, flags, kind in (("breaks a limit", ~is_kept, "faint"), ("", is_kept, "points")):
        rows = np.flatnonzero(flags)
        rows = rows[:: -(-len(rows) // MOST_POINTS) or 1]
        if len(rows):
            words = name or ("designs" if is_kept.all() else "keeps all limits")
            at = points[0][rows], points[1][rows]
            series.append(Series(words, *at, kind, _of(labels, rows), colour=0))  # type: ignore[arg-type]
    if chosen is not None:
        here = [float(part[chosen]) for part in points]
        series.append(Series("chosen", here[:1], here[1:], "star", [labels[chosen]]))
    return Chart(title, hint, x, y, series)


def parallel_chart(
    names: Sequence[str], columns: Sequence[ArrayLike], best: ArrayLike, chosen: int | None
) -> Chart:
    """Parallel coordinates: a thin line for each design, from key to key to the objective.

    Args:
        names: of the axes.
        columns: the values at each axis, numbers; each axis goes from its least to its largest.
        best: whether each design is among the best.
        chosen: which was chosen.
    """
    scaled = []
    for column in columns:
        values = _floats(column)
        low, high = np.nanmin(values), np.nanmax(values)
        scaled.append((values - low) / (high - low if high > low else 1.0))
    points = np.array(scaled)
    is_best = np.asarray(best, np.bool_)
    series = []
    for name, flags, colour in (("others", ~is_best, None), ("the best tenth", is_best, 0)):
        rows = np.flatnonzero(flags)
        rows = rows[:: -(-len(rows) // MOST_THREADS) or 1]
        x = [value for _ in rows for value in (*range(len(names)), np.nan)]
        y = [value for row in rows for value in (*points[:, row], np.nan)]
        if len(rows):
            series.append(Series(name, x, y, "threads", colour=colour))
    if chosen is not None:
        series.append(Series("chosen", range(len(names)), points[:, chosen], "line", colour=1))
    words = "each axis from its least value to its largest; the last is the first objective"
    return Chart(
        "Parallel coordinates",
        words,
        "",
        "",
        series,
        marks=[(float(k), "") for k in range(len(names))],
        y_range=(0.0, 1.0),
        height=320,
        x_words=list(names),
    )


def macro_charts(
    budgets: ArrayLike,
    progress: Sequence[tuple[str, ArrayLike, ArrayLike, ArrayLike]],
    solvability: Sequence[tuple[str, ArrayLike]],
    solved: float,
) -> list[Chart]:
    """Progress curves with their intervals, and solvability profiles, of methods.

    Args:
        budgets: the numbers of evaluations.
        progress: of each method its name, its mean gaps, and the ends of their intervals.
        solvability: of each method its name, and the shares that were solved.
        solved: the gap that counts as solved.
    """
    curves = []
    for index, (name, mean, low, high) in enumerate(progress):
        curves.append(Series(name, budgets, mean, "line", colour=index))
        if np.isfinite(_floats(low)).all():
            curves.append(Series(f"{name}, interval", budgets, low, "dashed", colour=index))
            curves.append(Series(f"{name}, interval", budgets, high, "dashed", colour=index))
    profiles = [
        Series(name, budgets, shares, "steps", colour=index)
        for index, (name, shares) in enumerate(solvability)
    ]
    return [
        Chart(
            "Progress curves",
            "the mean gap to the best known; 1 is a design drawn blindly",
            "evaluations",
            "gap",
            curves,
            x_from_zero=True,
        ),
        Chart(
            "Solvability profiles",
            f"the share of macro-replications with a gap of at most {solved:g}",
            "evaluations",
            "share solved",
            profiles,
            y_range=(0.0, 1.0),
            x_from_zero=True,
        ),
    ]


def reduction_charts(
    residual_sd: ArrayLike, information_bits: ArrayLike, alignment: ArrayLike, kept: int
) -> list[Chart]:
    """Residual, information and alignment probability against the number of metrics."""
    words = (
        ("Residual", "standard deviations of the score", residual_sd, None),
        ("Information", "bits about the best strategy", information_bits, None),
        ("Alignment probability", "that enough good ones are selected", alignment, (0.0, 1.0)),
    )
    charts = []
    for title, y, column, y_range in words:
        values = _floats(column)
        counts = np.arange(1.0, len(values) + 1)
        chosen = Series("chosen", [float(kept)], [float(values[kept - 1])], "star")
        lines = [Series(title.lower(), counts, values), chosen]
        charts.append(Chart(title, y, "metrics", title.lower(), lines, y_range=y_range))
    return charts


def order_scatter(exact: ArrayLike, predicted: ArrayLike, unseen: ArrayLike) -> Chart:
    """The places of strategies by prediction over those by score, a point each.

    Args:
        exact: places by score, 1 for the best.
        predicted: places by prediction.
        unseen: whether each strategy was held out.
    """
    places, guessed = _floats(exact), _floats(predicted)
    apart = np.asarray(unseen, np.bool_)
    series = [Series("", [1.0, float(len(places))], [1.0, float(len(places))], "dashed")]
    for name, flags in (("chose the metrics", ~apart), ("held out", apart)):
        rows = np.flatnonzero(flags)
        rows = rows[:: -(-len(rows) // MOST_POINTS) or 1]
        if len(rows):
            series.append(Series(name, places[rows], guessed[rows], "points"))
    return Chart("Orders", "1 is the best", "place by score", "place by prediction", series)


def _is_wide(values: NDArray[np.float64]) -> bool:
    """Whether values are better seen on a logarithmic axis, lest a few push the rest together."""
    return bool(values.min() > 0.0 and values.max() > WIDE * values.min())


def _floats(values: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(values, np.float64).reshape(-1)


def _of(texts: Sequence[str], indices: NDArray[np.int64]) -> list[str]:
    return [texts[int(index)] for index in indices]


def _plain(series: Series) -> dict[str, Any]:
    return {
        **series._asdict(),
        "x": [_short(value) for value in _floats(series.x)],
        "y": [_short(value) for value in _floats(series.y)],
        "labels": list(series.labels),
        "marks": [_short(value) for value in series.marks],
        "spans": [_short(value) for value in series.spans],
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _short(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
