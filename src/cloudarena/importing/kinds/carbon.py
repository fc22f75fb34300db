"""A grid's carbon intensity over time: a series for the key ``carbon`` of a spec."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.importing.draft import Draft
from cloudarena.importing.roles import CARBON
from cloudarena.importing.rows import Rows, count_disorder
from cloudarena.importing.units import stamp

MOST_G = 1e6
"""The g of CO2 per kWh that a spec allows."""


def draft(rows: Rows, source: str) -> Draft:
    """The series of intensities."""
    time, value = rows.numbers("time", needed=True), rows.numbers("intensity", needed=True)
    rows.reject((value < 0) | (value > MOST_G), f"from 0 to {MOST_G:,.0f} g/kWh are allowed")
    seen = np.zeros(rows.count, np.bool_)
    good = rows.good
    seen[good[np.unique(time[good], return_index=True)[1]]] = True
    rows.reject(~seen, "its time is a duplicate")
    good = rows.good
    if not len(good):
        raise TraceError(f"{rows.sheet.path}: no row can be used: {rows.rejected[0].reason}")
    disorder = count_disorder(time[good])
    order = good[np.argsort(time[good], kind="stable")]
    begin = float(time[order[0]])
    table = pa.table({"time_s": time[order] - begin, "g_per_kwh": value[order]})
    counts = {
        "rows": rows.count + len(rows.sheet.bad),
        "intervals": len(order),
        "rejected": len(rows.rejected) + len(rows.sheet.bad),
        "out_of_order": disorder,
    }
    preview = [
        {"time": stamp(float(time[row])), "g_per_kwh": float(value[row])}
        for row in order[:5].tolist()
    ]
    notes = [*rows.notes, "use it by carbon: {path: carbon.parquet} in a spec of faas"]
    return Draft(CARBON, {"carbon": table}, "", counts, begin, preview, notes)
