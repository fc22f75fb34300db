"""Figures of single runs as SVG, for pages that show one case in full."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, LEFT, RIGHT = 720, 110, 16
LANE, GAP, FONT = 26, 8, 13
INK, GRID = "#374151", "#d1d5db"
COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2")


class Bar(NamedTuple):
    """Something that lasts, with words in it."""

    begin: float
    end: float
    label: str


class Lane(NamedTuple):
    """A row of bars."""

    name: str
    bars: Sequence[Bar]


class Steps(NamedTuple):
    """A quantity that is constant in stretches: where each begins, its value, and its words."""

    name: str
    begins: Sequence[float]
    values: Sequence[float]
    labels: Sequence[str]
    end: float
    height: int = 90


def draw_timeline(title: str, lanes: Sequence[Lane], steps: Sequence[Steps], unit: str) -> str:
    """Lanes of bars above quantities over the same time, as one SVG."""
    span = max([bar.end for lane in lanes for bar in lane.bars] + [step.end for step in steps])
    scale = (WIDTH - LEFT - RIGHT) / span

    def place(time: float) -> float:
        return LEFT + time * scale

    parts, y = [], 34
    for number, lane in enumerate(lanes):
        parts.append(_text(LEFT - 10, y + LANE * 0.68, lane.name, "end"))
        for bar in lane.bars:
            colour = COLOURS[number % len(COLOURS)]
            width = (bar.end - bar.begin) * scale
            parts.append(
                f'<rect x="{place(bar.begin):.1f}" y="{y}" width="{width:.1f}" height="{LANE}" '
                f'rx="3" fill="{colour}"/>'
            )
            parts.append(_text(place(bar.begin) + 6, y + LANE * 0.68, bar.label, colour="#ffffff"))
        y += LANE + GAP
    for step in steps:
        y += GAP
        top = max(step.values) or 1.0
        parts.append(_text(LEFT - 10, y + step.height / 2, step.name, "end"))
        ends = [*step.begins[1:], step.end]
        for begin, end, value, label in zip(
            step.begins, ends, step.values, step.labels, strict=True
        ):
            height = value / top * (step.height - 20)
            x, width = place(begin), (end - begin) * scale
            parts.append(
                f'<rect x="{x:.1f}" y="{y + step.height - height:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" fill="{COLOURS[0]}" fill-opacity="0.25" stroke="{INK}"/>'
            )
            parts.append(_text(x + width / 2, y + step.height - height - 5, label, "middle"))
        y += step.height
    grid = []
    moments = sorted({moment for step in steps for moment in (*step.begins, step.end)})
    for moment in moments:
        x = place(moment)
        grid.append(f'<line x1="{x:.1f}" y1="28" x2="{x:.1f}" y2="{y}" stroke="{GRID}"/>')
        parts.append(_text(x, y + 18, f"{moment:g}", "middle"))
    parts.append(_text(LEFT - 10, y + 18, unit, "end"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 28}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="{FONT}">'
        f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{_text(LEFT, 20, title)}{''.join(grid)}{''.join(parts)}</svg>\n"
    )


def _text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">'
        f"{escape(words)}</text>"
    )
