"""A log of invocations: a faas scenario."""

from __future__ import annotations

import math

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import TraceError
from cloudarena.importing.draft import GUESS, SPEC_FILE, Draft, drawn_again, header, quoted
from cloudarena.importing.guess import peak
from cloudarena.importing.rows import Rows, count_disorder
from cloudarena.importing.units import stamp
from cloudarena.workloads.faas.devices import DEVICES

DEVICE = "xeoncpu"
MOST_FUNCTIONS = 50
"""Functions that get an entry of their own; the rarer ones are one together."""
OTHERS = "others"
MEMORY_MB, DURATION_S = 256.0, 0.2
KEEP_S = 600.0
MB_OF_A_CORE = 1769.0
"""The memory at which AWS Lambda gives a function one vCPU."""
COLD_S = 0.25
"""How long a container takes to start, where nothing is told."""
MOST_INVOCATIONS = 50_000_000
LONGEST_RUN_S = 7 * 86400.0


def draft(rows: Rows, source: str) -> Draft:
    """The table of invocations and a spec."""
    length, memory, count = (rows.numbers(name) for name in ("duration", "memory", "count"))
    time, length = _times(rows, length)
    rows.reject(length < 0, "it ran for less than no time")
    texts, codes = rows.encoded("function")
    stripped = pc.dictionary_encode(pc.utf8_trim_whitespace(texts))
    names, codes = stripped.dictionary.to_pylist(), stripped.indices.to_numpy()[codes]
    rows.reject(np.array([not name for name in names])[codes], "it names no function")
    if "count" in rows:
        rows.reject((count < 0) | np.isnan(count), "how many there were is not told")
    good = rows.good
    if not len(good):
        first = rows.rejected[0].reason if rows.rejected else "it has none"
        raise TraceError(f"{rows.sheet.path}: no row can be used: {first}")
    notes = [*rows.notes]
    if "count" in rows:
        good, at = _spread(time, count, good)
        notes.append("counts are spread evenly over their interval")
    else:
        at = time[good]
    begin = float(at.min())
    names, codes, others = _rarest_together(names, codes[good])
    if others:
        notes.append(f"{others:,} rare functions are one, {OTHERS!r}")
    order = np.argsort(at, kind="stable")
    table = pa.table(
        {
            "time_s": at[order] - begin,
            "function": pa.array(names, pa.string()).take(pa.array(codes[order])),
            "duration_s": pa.array(length[good][order], mask=np.isnan(length[good][order])),
        }
    )
    counts = {
        "rows": rows.count + len(rows.sheet.bad),
        "invocations": len(good),
        "functions": len(np.unique(codes)),
        "rejected": len(rows.rejected) + len(rows.sheet.bad),
        "out_of_order": count_disorder(at),
    }
    text = _spec(source, begin, at, (names, codes), length[good], memory[good])
    preview = [
        {
            "time": stamp(float(at[k])),
            "function": names[codes[k]],
            "duration_s": None if np.isnan(length[good[k]]) else round(float(length[good[k]]), 6),
        }
        for k in order[:5].tolist()
    ]
    again = drawn_again("trace", float(np.ptp(at)))
    questions = [
        f"cloudarena compare {SPEC_FILE} --by cost_usd --where 'unserved_share<=0.001' "
        f"--where 'response_p95_s<={_slow_s(length[good]):g}'{again}"
    ]
    return Draft("faas", {"invocations": table}, text, counts, begin, preview, notes, questions)


def _slow_s(length: Floats) -> float:
    """A limit of response times worth asking for: above what is asked for and a cold start take."""
    known = length[~np.isnan(length)]
    p95 = float(np.quantile(known, 0.95)) if len(known) else DURATION_S
    return max(1.0, float(f"{1.5 * (p95 + COLD_S):.2g}"))


def _times(rows: Rows, length: Floats) -> tuple[Floats, Floats]:
    """When each invocation began, and how long it took: also where only its end is told."""
    end = rows.numbers("end", needed="time" not in rows)
    if "time" in rows:
        time = rows.numbers("time", needed=True)
        return time, np.where(np.isnan(length), end - time, length)
    known = "its end less its duration" if "duration" in rows else "its end"
    rows.notes.append(
        f"{rows.mapping['end'].source} is when an invocation ended: it began at {known}"
    )
    return end - np.nan_to_num(length), length


def _spread(time: Floats, count: Floats, good: Ints) -> tuple[Ints, Floats]:
    """The rows and instants of counted invocations, evenly over the interval to the next time."""
    instants = np.unique(time[good])
    step = float(np.median(np.diff(instants))) if len(instants) > 1 else 60.0
    often = np.rint(count[good]).astype(np.int64)
    if often.sum() > MOST_INVOCATIONS:
        raise TraceError(
            f"{often.sum():,} invocations are not allowed: at most {MOST_INVOCATIONS:,}"
        )
    rows = np.repeat(good, often)
    first = np.repeat(np.cumsum(often) - often, often)
    within = (np.arange(len(rows)) - first + 0.5) / np.repeat(often, often)
    return rows, time[rows] + step * within


def _rarest_together(names: list[str], codes: Ints) -> tuple[list[str], Ints, int]:
    """The names, the rarest beyond the most that are kept as one; and how many those are.

    Args:
        names: the functions.
        codes: which of them each invocation is of.
    """
    counts = np.bincount(codes, minlength=len(names)).tolist()
    there = [code for code in range(len(names)) if counts[code]]
    if len(there) <= MOST_FUNCTIONS:
        return names, codes, 0
    kept = sorted(there, key=lambda code: (-counts[code], names[code]))[: MOST_FUNCTIONS - 1]
    place = np.full(len(names), len(kept))
    place[kept] = np.arange(len(kept))
    return [*(names[code] for code in kept), OTHERS], place[codes], len(there) - len(kept)


def _spec(
    source: str,
    begin: float,
    at: Floats,
    functions: tuple[list[str], Ints],
    length: Floats,
    memory: Floats,
) -> str:
    span = max(1.0, math.ceil(float(at.max()) - begin + 1.0))
    duration = min(span, LONGEST_RUN_S)
    short = f"  # of {span:g} s" if duration < span else ""
    names, codes = functions
    filled = np.where(np.isnan(length), DURATION_S, length)
    device = DEVICES[DEVICE]
    lines: list[str] = []
    busiest_mb = busiest_cores = 0.0
    for code in sorted(np.unique(codes).tolist(), key=names.__getitem__):
        name, rows = names[code], np.flatnonzero(codes == code)
        known = memory[rows][~np.isnan(memory[rows])]
        megabytes = float(np.median(known)) * 1024 if len(known) else MEMORY_MB
        megabytes = min(megabytes, 0.9 * device.memory_bytes / 1e6)
        at_once = peak(at[rows], at[rows] + filled[rows] + KEEP_S, np.ones(len(rows)))
        at_once = min(
            at_once, peak(at[rows], at[rows] + filled[rows] + 1.0, np.ones(len(rows))) * 2
        )
        millicores = max(50, min(1000 * device.cores, round(megabytes / MB_OF_A_CORE * 1000)))
        busiest_mb += megabytes * at_once
        busiest_cores += millicores / 1000 * at_once
        most = max(2, math.ceil(2 * at_once))
        lines += _function(name, length[rows], megabytes, most, millicores, bool(len(known)))
    room_mb = 0.8 * device.memory_bytes / 1e6
    fullest = max(busiest_mb / room_mb, busiest_cores / device.cores)
    devices = max(2, math.ceil(1.2 * fullest))
    return (
        "\n".join(
            [
                *header("faas", source, begin),
                f"duration_s: {duration:g}{short}",
                f"devices: {{types: {{{DEVICE}: {devices}}}}}  # {GUESS}: {device.cores} cores, "
                f"{device.memory_bytes / 1e9:.1f} GB each; twice the peak of what ran at once",
                "trace: {source: invocations, path: invocations.parquet}",
                "network: {preloaded: true}",
                "prices:",
                f"  kwh_usd: 0.25  # {GUESS}",
                f"  device_hour_usd: {{{DEVICE}: 0.17}}  # {GUESS}: as c5.xlarge, on demand, "
                "4 vCPU and 8 GB (us-east-1, list of 2024-06), while it holds a replica",
                "functions:",
                *lines,
            ]
        )
        + "\n"
    )


def _function(
    name: str, length: Floats, megabytes: float, most: int, millicores: int, told: bool
) -> list[str]:
    """One function: its time as the log has it, fitted by a log-normal distribution."""
    known = length[~np.isnan(length)]
    known = known[known > 0]
    if not len(known):
        time, why = f"{{distribution: exponential, mean_s: {DURATION_S}}}", f"  # {GUESS}"
    elif len(known) < 3 or np.ptp(np.log(known)) < 1e-6:
        time, why = f"{{distribution: constant, seconds: {float(known.mean()):.6g}}}", ""
    else:
        logs = np.log(known)
        sigma = max(1e-3, min(10.0, float(logs.std(ddof=1))))
        time = (
            f"{{distribution: log-normal, sigma: {sigma:.4g}, "
            f"scale: {math.exp(float(logs.mean())):.6g}, "
            f"least: {float(known.min()) * 0.999:.6g}, most: {float(known.max()) * 1.001:.6g}}}"
        )
        why = f"  # fitted to {len(known):,} durations"
    mark = "" if told else f"  # {GUESS}: memory_mb"
    return [
        f"  - name: {quoted(name)}",
        "    image:",
        f"      execution: {time}{why}",
        f"      memory_mb: {megabytes:.6g}{mark}",
        f"      cpu_millicores: {millicores}  # {GUESS}: a core for {MB_OF_A_CORE:g} MB, as Lambda",
        f"      use: {{cpu: {min(1.0, millicores / 1000 / DEVICES[DEVICE].cores):.4g}}}",
        f"    start_s: {COLD_S}  # {GUESS}: how long a cold start takes",
        f"    scaling: {{by: per-request, minimum: 0, maximum: {most}, expiry_s: {KEEP_S:g}}}",
    ]
