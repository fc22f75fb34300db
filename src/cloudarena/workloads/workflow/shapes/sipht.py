"""Workflows in the shape of SIPHT, which looks for genes of untranslated RNA in bacteria.

As Bharathi et al. (WORKS 2008) and Juve et al. (FGCS 2013) describe it: many small searches
(Patser) are joined (Patser_concate); four large ones (Transterm, Findterm, RNAMotif, Blast) lead
to candidates (SRNA), which are compared in five ways and annotated (SRNA_annotate). A workflow
for several bacteria is several such DAGs side by side, one for each 32 functions or so.

Mean run times and file sizes are those of Bharathi's generator (see ``shapes``). The
gallery's Sipht_100, with 97 functions, has 109
edges, 73 sources, 5 levels, 17,380 s of run time, a critical path of 4,475 s and 142 MB on edges;
here, over seeds, 109, 73, 5, 16,701 s, 4,679 s and 145 MB.
"""

from __future__ import annotations

from cloudarena.base.numpy import np
from cloudarena.workloads.workflow.shapes.drawing import Drawing, groups

LEAST = 13
SINGLE = 12
"""Functions of a bacterium besides its Patsers."""
FUNCTIONS_PER_BACTERIUM = 32

SEARCHES = (
    ("Transterm", 55.8, 0.5, 0.44e6),
    ("Findterm", 1350.0, 0.5, 34.4e6),
    ("RNAMotif", 36.4, 0.25, 1.05e6),
    ("Blast", 2350.0, 0.4, 5.27e6),
)
"""Kind, mean run time in seconds, its spread, and what the candidates read of it in bytes."""
COMPARISONS = (
    ("Blast_candidate", 5.18, 0.2, 0.015e6),
    ("Blast_QRNA", 1410.0, 0.07, 0.175e6),
    ("Blast_synteny", 33.0, 0.0, 1.15e6),
    ("Blast_paralogues", 4.99, 0.2, 0.69e6),
)
"""Seconds and bytes of comparisons, with what the annotation reads."""
SEQUENCE_BYTES, ANNOTATED_BYTES, PARSED_BYTES, PATSER_BYTES = 84e3, 416e3, 803e3, 91.8e3


def draw_sipht(drawing: Drawing, functions: int) -> None:
    """Draws a workflow of exactly so many functions."""
    bacteria = max(1, round(functions / FUNCTIONS_PER_BACTERIUM))
    patsers = np.bincount(groups(functions - SINGLE * bacteria, bacteria))
    for count in patsers:
        _draw_bacterium(drawing, int(count))


def _draw_bacterium(drawing: Drawing, patsers: int) -> None:
    patser = drawing.add("Patser", patsers, 1.27, 0.26)
    searches = [(drawing.add(kind, 1, mean, spread), size) for kind, mean, spread, size in SEARCHES]
    concate = drawing.add("Patser_concate", 1, 0.08, 0.3)
    candidates = drawing.add("SRNA", 1, 361.0, 0.5)
    parse = drawing.add("FFN_parse", 1, 1.64, 0.15)
    comparisons = {
        kind: (drawing.add(kind, 1, mean, spread), size) for kind, mean, spread, size in COMPARISONS
    }
    annotate = drawing.add("SRNA_annotate", 1, 1.68, 0.4)

    found = drawing.around(PATSER_BYTES, 0.5, patsers)
    drawing.link(patser, concate, found)
    drawing.link(concate, annotate, found.sum())
    for search, size in searches:
        drawing.link(search, candidates, drawing.around(size, 0.3, 1))
    drawing.link(candidates, parse, SEQUENCE_BYTES)
    drawing.link(candidates, annotate, ANNOTATED_BYTES)
    drawing.link(parse, comparisons["Blast_synteny"][0], PARSED_BYTES)
    for comparison, size in comparisons.values():
        drawing.link(candidates, comparison, SEQUENCE_BYTES)
        drawing.link(comparison, annotate, drawing.around(size, 0.3, 1))
