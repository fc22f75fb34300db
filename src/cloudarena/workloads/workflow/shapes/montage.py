"""Workflows in the shape of Montage, which joins images of the sky to a mosaic.

As Bharathi et al. (WORKS 2008) and Juve et al. (FGCS 2013) describe it: each image is projected
(mProjectPP), each overlapping pair compared (mDiffFit), the differences joined (mConcatFit) to a
model of the background (mBgModel), with which each image is corrected (mBackground); a table of
the images (mImgTbl) leads to the mosaic (mAdd), which is shrunk (mShrink) and shown (mJPEG).

Images lie on a grid and the nearest pairs overlap, about four for each image. Mean run times and
file sizes are those of Bharathi's generator (see ``shapes``), where a mosaic of one
square degree has 50 images: the single functions grow with the number of images or of pairs. Of
200 functions that generator's MONTAGE.n.200.0 has 484 edges, 32 sources, 9 levels, 2,214 s of run
time, a critical path of 97 s and 2.97 GB on edges; here, over seeds, 490, 32, 9, 2,228 s, 108 s
and 3.01 GB.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cloudarena.base.numpy import np
from cloudarena.workloads.workflow.shapes.drawing import Drawing

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 15
PAIRS_PER_IMAGE = 4
IMAGES_PER_SQUARE_DEGREE = 50
SINGLE = 6
"""Functions of which there is one."""

IMAGE_BYTES = 8.32e6
"""A projected image and its area file."""
DIFFERENCE_BYTES = 0.284e6
MOSAIC_BYTES = 347e6
"""The mosaic of one square degree, with its area file; it grows with the side."""
SHRINK = 50.0
"""A shrunken mosaic, without area file, is so many times smaller."""


def draw_montage(drawing: Drawing, functions: int) -> None:
    """Draws a workflow of exactly so many functions."""
    images, pairs = _sizes(functions)
    degrees = images / IMAGES_PER_SQUARE_DEGREE
    side = math.sqrt(degrees)
    first, second = overlapping_pairs(images, pairs)

    project = drawing.add("mProjectPP", images, 13.6, 0.02)
    differ = drawing.add("mDiffFit", pairs, 10.6, 0.01)
    concat = drawing.add("mConcatFit", 1, 0.08 * pairs, 0.02)
    model = drawing.add("mBgModel", 1, 0.13 * pairs, 0.3)
    correct = drawing.add("mBackground", images, 10.7, 0.02)
    table = drawing.add("mImgTbl", 1, 0.37 * images, 0.25)
    mosaic = drawing.add("mAdd", 1, 30.1 * degrees, 0.01)
    shrink = drawing.add("mShrink", 1, 12.2 * side)
    show = drawing.add("mJPEG", 1, 3.1 * side, 0.15)

    for image in (first, second):
        drawing.link(project[image], differ, IMAGE_BYTES)
    drawing.link(differ, concat, drawing.around(DIFFERENCE_BYTES, 0.5, pairs))
    drawing.link(concat, model, 210 * pairs)
    drawing.link(model, correct, 53 * images)
    drawing.link(project, correct, IMAGE_BYTES)
    drawing.link(correct, table, IMAGE_BYTES)
    drawing.link(table, mosaic, 352 * images)
    size = drawing.around(MOSAIC_BYTES * side, 0.06, 1)
    drawing.link(mosaic, shrink, size)
    drawing.link(shrink, show, size / SHRINK)


def _sizes(functions: int) -> tuple[int, int]:
    """How many images and pairs: four pairs for each image, or as many as there can be."""
    many = functions - SINGLE
    images = round(many / (PAIRS_PER_IMAGE + 2))
    while math.comb(images, 2) < many - 2 * images:
        images += 1
    return images, many - 2 * images


def overlapping_pairs(images: int, pairs: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ``pairs`` nearest pairs of images that lie row by row on a grid, square as can be."""
    columns = math.ceil(math.sqrt(images))
    number = np.arange(images)
    parts: list[NDArray[np.int64]] = []
    missing = pairs
    for down, right in _steps(columns):
        column = number % columns + right
        other = number + down * columns + right
        inside = np.flatnonzero((column >= 0) & (column < columns) & (other < images))[:missing]
        parts.append(np.column_stack((number[inside], other[inside])))
        missing -= len(inside)
        if missing == 0:
            break
    chosen = np.concatenate(parts)
    return chosen[:, 0], chosen[:, 1]


def _steps(columns: int) -> list[tuple[int, int]]:
    """Ways to go on a grid, each pair of opposite ways once, the shortest first."""
    reach = min(columns, 6)
    ways = [(0, right) for right in range(1, reach)]
    ways += [(down, right) for down in range(1, reach) for right in range(1 - reach, reach)]
    return sorted(ways, key=lambda way: (way[0] ** 2 + way[1] ** 2, way))
