"""Workflows in the shape of CyberShake, which predicts how the ground shakes at a site.

As Bharathi et al. (WORKS 2008) and Juve et al. (FGCS 2013) describe it: Green tensors are
extracted for each rupture (ExtractSGT), from which many seismograms are made
(SeismogramSynthesis); of each the peak is found (PeakValCalcOkaya); all seismograms and all peaks
are packed (ZipSeis, ZipPSA).

Mean run times and file sizes are those of Bharathi's generator (see ``shapes``). As
there, packing reads no data. Of 200 functions that generator's CYBERSHAKE.n.200.0 has 392
edges, 2 sources, 4 levels, 4,488 s of run time, a critical path of 194 s and 43.8 GB on edges;
here, over seeds, 392, 2, 4, 4,633 s, 226 s and 45.1 GB.
"""

from __future__ import annotations

from cloudarena.workloads.workflow.shapes.drawing import Drawing, groups

LEAST = 8
FUNCTIONS_PER_EXTRACT = 250
TENSOR_BYTES = 463e6
"""Both components of an extracted tensor."""
SEISMOGRAM_BYTES = 24_000


def draw_cybershake(drawing: Drawing, functions: int) -> None:
    """Draws a workflow of exactly so many functions."""
    extracts = max(2, round(functions / FUNCTIONS_PER_EXTRACT))
    # A seismogram and its peak come together.
    extracts -= (functions - extracts) % 2
    seismograms = (functions - 2 - extracts) // 2

    extract = drawing.add("ExtractSGT", extracts, 137.0, 0.5)
    synthesis = drawing.add("SeismogramSynthesis", seismograms, 43.4, 0.5)
    peak = drawing.add("PeakValCalcOkaya", seismograms, 1.09, 0.5)
    pack = drawing.add("ZipSeis", 1, 0.0175 * seismograms, 0.15)
    pack_peaks = drawing.add("ZipPSA", 1, 0.013 * seismograms, 0.15)

    of_extract = groups(seismograms, extracts)
    tensors = drawing.around(TENSOR_BYTES, 0.25, extracts)
    drawing.link(extract[of_extract], synthesis, tensors[of_extract])
    drawing.link(synthesis, peak, SEISMOGRAM_BYTES)
    drawing.link(synthesis, pack, 0)
    drawing.link(peak, pack_peaks, 0)
