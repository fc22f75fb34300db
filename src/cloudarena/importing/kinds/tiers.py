"""Requests counted over time: a tiers scenario."""

from __future__ import annotations

import math

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.importing.draft import DAY_S, GUESS, SPEC_FILE, Draft, drawn_again, header
from cloudarena.importing.rows import Rows, count_disorder
from cloudarena.importing.units import stamp
from cloudarena.workloads.prices.instances import instance_named
from cloudarena.workloads.tiers.series import LARGEST_RATE

THIN_VMS = 10
"""Thin VMs that the peak keeps busy, as guessed."""
BUSY = 0.7
MOST_REQUESTS = 2e6
"""A run of more requests takes more than some seconds: the spec then has a part of the series."""
SLA_S = 0.5
"""The guessed limit of the 95th percentile of response times."""
LEAST_RATE = 10.0 / SLA_S
"""A VM that serves fewer requests a second would break that limit even if nobody waited."""
FAT, THIN = "m5.xlarge", "m5.large"


def draft(rows: Rows, source: str) -> Draft:
    """The series of rates and a spec."""
    time = rows.numbers("time", needed=True)
    amount = rows.numbers("rate" if "rate" in rows else "count", needed=True)
    rows.reject(amount < 0, "less than 0 requests")
    good = rows.good
    if not len(good):
        raise TraceError(f"{rows.sheet.path}: no row can be used: {rows.rejected[0].reason}")
    disorder = count_disorder(time[good])
    instants, index = np.unique(time[good], return_inverse=True)
    values = np.zeros(len(instants))
    np.add.at(values, index, amount[good])
    notes = [*rows.notes]
    if len(instants) < len(good):
        notes.append(
            f"{len(good) - len(instants):,} rows have the time of another: they are added up"
        )
    gaps = np.diff(instants)
    step = float(np.median(gaps)) if len(gaps) else 60.0
    rates = values if "rate" in rows else values / step
    if rates.max() > LARGEST_RATE:
        raise TraceError(f"{rows.sheet.path}: {rates.max():g} requests a second are not allowed")
    begin = float(instants[0])
    is_rate = "rate" in rows
    starts, held, missing = _without_gaps(instants - begin, rates, step, hold=is_rate)
    if missing:
        taken = "the rate before them goes on" if is_rate else "none came in them, it is taken"
        notes.append(f"{missing:,} intervals of {step:g} s are missing: {taken}")
    table = pa.table({"time_s": starts, "rate": held})
    span = float(starts[-1]) + step
    counts = {
        "rows": rows.count + len(rows.sheet.bad),
        "intervals": len(instants),
        "rejected": len(rows.rejected) + len(rows.sheet.bad),
        "out_of_order": disorder,
        "missing_intervals": missing,
    }
    text = _spec(source, begin, starts, held, step, span)
    preview = [
        {"time": stamp(begin + float(at)), "requests_a_second": round(float(rate), 4)}
        for at, rate in zip(starts[:5], held[:5], strict=True)
    ]
    questions = [
        f"cloudarena compare {SPEC_FILE} --by cost_usd --where 'response_p95_s<={SLA_S:g}' "
        f"--where 'unserved_share<=0.001'{drawn_again('arrivals', span)}",
    ]
    return Draft("tiers", {"rates": table}, text, counts, begin, preview, notes, questions)


def _without_gaps(
    time: Floats, rates: Floats, step: float, hold: bool
) -> tuple[Floats, Floats, int]:
    """The series without gaps, and how many intervals are missing.

    A minute without a count had no requests; a rate that was not sampled stays as it was.
    """
    gaps = np.diff(time)
    last = np.flatnonzero(gaps > 1.5 * step)
    missing = int((np.rint(gaps[last] / step) - 1.0).sum())
    starts = np.insert(time, last + 1, time[last] + step)
    held = np.insert(rates, last + 1, rates[last] if hold else 0.0)
    return starts, held, missing


def _spec(
    source: str, begin: float, starts: Floats, rates: Floats, step: float, span: float
) -> str:
    lengths = np.diff(np.append(starts, span))
    requests = float((rates * lengths).sum())
    duration = span
    note = ""
    if requests > MOST_REQUESTS:
        mean = requests / span
        duration = max(step, min(span, math.floor(MOST_REQUESTS / mean / DAY_S) * DAY_S or DAY_S))
        note = f"  # of {span:g} s: more would run for long"
    busiest = float(np.quantile(rates, 0.999)) or 1.0
    thin = float(f"{max(LEAST_RATE, busiest / THIN_VMS / BUSY):.3g}")
    sizes = {name: instance_named(name) for name in (FAT, THIN)}
    most = math.ceil(rates.max() / thin / BUSY)
    start = min(most, max(1, math.ceil(float(rates[0]) / thin / BUSY)))
    prices = ", ".join(
        f"{size}_minute_usd: {sizes[name].hour_usd / 60:.6f}"
        for size, name in (("fat", FAT), ("thin", THIN))
    )
    lines = [
        *header("tiers", source, begin),
        f"duration_s: {duration:g}{note}",
        f"period_s: {max(60.0, min(step, 300.0)):g}",
        "arrivals: {source: series, path: rates.parquet}",
        "tiers:",
        f"  # {GUESS}: rate, the requests a second that one VM serves. Measure it: it decides all.",
        "  - name: service",
        f"    fat: {{rate: {2 * thin:g}, max: {math.ceil(most / 2) + 1}, start: 0}}",
        f"    thin: {{rate: {thin:g}, max: {most + 2}, start: {start}}}",
        f"boot_s: 60  # {GUESS}",
        f"sla: {{metric: quantile, level: 0.95, seconds: {SLA_S:g}, penalty_usd: 1}}  # {GUESS}",
        f"prices: {{{prices}}}  # {GUESS}: fat as {sizes[FAT]}, thin as {sizes[THIN]}",
    ]
    return "\n".join(lines) + "\n"
