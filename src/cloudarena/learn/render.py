"""Drawings of a run: text, or an image of bars, the same for all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats
from cloudarena.base.errors import SpecError
from cloudarena.contract import Picture, Run

MODES = ["ansi", "rgb_array"]
RATE = 10
"""Pictures a second in a film of them."""
ROWS = 32
"""Places that have a line of text of their own; of more, several share one."""
WIDTH = 24
HEIGHT_PX, WIDTH_PX, QUEUE_PX, GAP_PX = 120, 640, 12, 4
COLOURS = ((38, 99, 172), (222, 129, 38), (77, 148, 86), (138, 90, 160))
OVER, FREE, PAPER = (190, 30, 45), (226, 230, 235), (250, 250, 250)


def drawn(run: Run[Any], mode: str) -> str | NDArray[np.uint8]:
    """A run as it stands, as text or as an image."""
    picture = run.scenario.kind.picture
    if picture is None:
        raise SpecError(f"render_mode: {run.scenario.kind.name} has no picture(run) in observe")
    return as_text(picture(run)) if mode == "ansi" else as_image(picture(run))


def as_text(picture: Picture) -> str:
    """A line for each place, or for several neighbours, with a bar for each resource."""
    lines = [f"{picture.title}, {picture.waiting:,} {picture.waits}"]
    count = len(next(iter(picture.shares.values())))
    groups = np.array_split(np.arange(count), min(count, ROWS))
    labels = [_label(picture.places, group) for group in groups]
    wide = max(len(label) for label in labels)
    for label, group in zip(labels, groups, strict=True):
        means = {name: float(values[group].mean()) for name, values in picture.shares.items()}
        bars = "  ".join(f"{name} {_bar(mean)}" for name, mean in means.items())
        lines.append(f"{label:<{wide}}  {bars}")
    return "\n".join(lines)


def _label(places: str, group: NDArray[np.int64]) -> str:
    """What a line is of: a place, or the first and the last of several."""
    return f"{places} {group[0]}" if len(group) == 1 else f"{places}s {group[0]} to {group[-1]}"


def _bar(share: float) -> str:
    """A share as a bar, with its number."""
    full = round(min(max(share, 0.0), 1.0) * WIDTH)
    return f"{'█' * full}{'·' * (WIDTH - full)} {share:4.0%}"


def as_image(picture: Picture) -> NDArray[np.uint8]:
    """A band for each resource with a column for each place, from empty to full; the queue below.

    The queue is drawn as n / (n + 20) of the width. What is over is red.
    """
    bands = len(picture.shares)
    height = bands * (HEIGHT_PX + GAP_PX) + QUEUE_PX
    image = np.empty((height, WIDTH_PX, 3), np.uint8)
    image[:] = PAPER
    for band, values in enumerate(picture.shares.values()):
        top = band * (HEIGHT_PX + GAP_PX)
        image[top : top + HEIGHT_PX] = _columns(values, COLOURS[band % len(COLOURS)])
    queue = round(WIDTH_PX * picture.waiting / (picture.waiting + 20))
    image[height - QUEUE_PX :, :queue] = OVER
    return image


def _columns(values: Floats, colour: tuple[int, int, int]) -> NDArray[np.uint8]:
    """A column for each value, as wide as there is room; of more values than pixels, means."""
    groups = np.array_split(values, min(len(values), WIDTH_PX))
    shares = np.array([group.mean() for group in groups])
    at = np.arange(WIDTH_PX) * len(shares) // WIDTH_PX
    full = np.round(np.clip(shares, 0.0, 1.0) * HEIGHT_PX).astype(np.int64)[at]
    above = np.arange(HEIGHT_PX, 0, -1)[:, None]
    image = np.empty((HEIGHT_PX, WIDTH_PX, 3), np.uint8)
    image[:] = FREE
    image[above <= full] = colour
    image[(above <= full) & (shares > 1.0)[at][None]] = OVER
    return image
