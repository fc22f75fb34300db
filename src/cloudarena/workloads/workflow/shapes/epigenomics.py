"""Workflows in the shape of Epigenomics, which maps short DNA sequences onto a genome.

As Bharathi et al. (WORKS 2008) and Juve et al. (FGCS 2013) describe it: the sequences of each
lane are split (fastqSplit), each part filtered (filterContams), converted twice (sol2sanger,
fastq2bfq) and mapped (map); the maps of a lane, then of all lanes, are merged (mapMerge), indexed
(maqIndex) and piled up (pileup).

Mean run times and file sizes are those of Bharathi's generator (see ``shapes``) for a
genome of 1.25 GB, that of the gallery's small workflows: Epigenomics_24 has 27 edges, 8
levels, 17,720 s of run time, a critical path of 5,581 s and 0.97 GB on edges; here, over seeds, 27,
8, 18,558 s, 5,819 s and 0.76 GB. (In the larger ones of the gallery maps run almost five times as
long.)
"""

from __future__ import annotations

from cloudarena.base.numpy import np
from cloudarena.workloads.workflow.shapes.drawing import Drawing, groups

LEAST = 8
FUNCTIONS_PER_LANE = 140
STEPS = 4
"""Functions of each part of a lane."""
LANE_BYTES = 351e6
MAP_SECONDS, PILEUP_SECONDS = 3380.0, 1420.0


def draw_epigenomics(drawing: Drawing, functions: int) -> None:
    """Draws a workflow of so many functions, or up to three less: parts have four each."""
    lanes = max(1, round(functions / FUNCTIONS_PER_LANE))
    single = 4 if lanes == 1 else 2 * lanes + 3
    parts = (functions - single) // STEPS
    lane = groups(parts, lanes)
    lane_bytes = drawing.around(LANE_BYTES, 0.4, lanes)
    # What is left of a part after each step, in bytes.
    part = drawing.around((lane_bytes / np.bincount(lane))[lane], 0.05, parts)
    clean = drawing.around(part / 2, 0.05, parts)
    sanger = drawing.around(clean / 1.32, 0.2, parts)
    binary = sanger / 4.24
    mapped = binary / 0.92

    split = drawing.add("fastqSplit", lanes, lane_bytes / 7.66e6, 0.3)
    clean_up = drawing.add("filterContams", parts, part / 8.47e6, 0.4)
    convert = drawing.add("sol2sanger", parts, clean / 15.1e6, 0.25)
    pack = drawing.add("fastq2bfq", parts, sanger / 6.8e6, 0.15)
    find = drawing.add("map", parts, MAP_SECONDS, 0.3)
    merged = np.bincount(lane, mapped) / 1.06
    merge = drawing.add("mapMerge", lanes, merged / 2.27e6, 0.15)
    total = float(merged.sum())

    drawing.link(split[lane], clean_up, part)
    drawing.link(clean_up, convert, clean)
    drawing.link(convert, pack, sanger)
    drawing.link(pack, find, binary)
    drawing.link(find, merge[lane], mapped)
    if lanes > 1:
        lane_merge, merge = merge, drawing.add("mapMerge", 1, total / 2.27e6, 0.15)
        drawing.link(lane_merge, merge, merged)
    index = drawing.add("maqIndex", 1, total / 64 / 17.7e6, 0.25)
    pile_up = drawing.add("pileup", 1, PILEUP_SECONDS, 0.1)
    drawing.link(merge, index, total)
    drawing.link(index, pile_up, total / 64)
