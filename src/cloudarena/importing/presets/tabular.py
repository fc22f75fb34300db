"""Any table: CSV, TSV, JSON, Parquet, a table drawn with lines; what it is, its names tell."""

from __future__ import annotations

from collections.abc import Sequence

from cloudarena.base.errors import CloudarenaError
from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import missing, propose
from cloudarena.importing.presets.common import one_sheet
from cloudarena.importing.wide import added_up, laid_out, with_clocks

DESCRIPTION = "any table: CSV, TSV, JSON, Parquet; kind and columns by their names"


def recognises(file: File) -> bool:
    """Takes whatever is left."""
    return True


def read(files: Sequence[File], kind: str | None = None) -> Found:
    """The rows of a table, with what its columns seem to be."""
    sheet = laid_out(with_clocks(one_sheet(files)))
    try:
        proposal = propose(sheet, kind)
    except CloudarenaError:
        together = added_up(sheet) if kind in (None, "tiers") else None
        if together is None:
            raise
        sheet, proposal = together
    if kind == "tiers" and missing("tiers", proposal.mapping):
        together = added_up(sheet)
        sheet, proposal = together or (sheet, proposal)
    return Found(sheet, proposal.kind, proposal.mapping)
