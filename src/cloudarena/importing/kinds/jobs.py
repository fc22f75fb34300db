"""Batch jobs from an accounting log: a jobs scenario."""

from __future__ import annotations

import math

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.importing.draft import (
    GUESS,
    OWN_PRICE,
    SPEC_FILE,
    Draft,
    drawn_again,
    header,
    machine_lines,
)
from cloudarena.importing.guess import Machines, machines_for, peak
from cloudarena.importing.roles import WHOLE_NODE
from cloudarena.importing.rows import Rows, count_disorder, last_seen
from cloudarena.importing.units import stamp
from cloudarena.workloads.jobs.columns import LARGEST_DEMAND, LONGEST_TIME, SHORTEST_TIME, assemble
from cloudarena.workloads.jobs.files import job_table

LARGEST_NODE = 256
"""Cores of one machine at most: a job without nodes that asks for more is spread core by core."""
WAITING = ("pending", "configuring", "requeued", "resv_del_hold")
"""States of jobs that have not run."""


class Times:
    """When jobs were submitted and ran, in seconds since 1970."""

    def __init__(self, rows: Rows):
        start, end = rows.numbers("start"), rows.numbers("end")
        submit, length = rows.numbers("submit"), rows.numbers("duration")
        submit = np.where(np.isnan(submit), start, submit)
        rows.reject(np.isnan(submit), "it was never submitted")
        self.until = last_seen(submit, start, end)
        running = np.zeros(rows.count, np.bool_)
        if "state" in rows:
            texts, codes = rows.encoded("state")
            state = [text.strip().lower() for text in texts.to_pylist()]
            waiting = np.array([one.startswith(WAITING) for one in state])[codes]
            running = np.array([one.startswith(("running", "suspended")) for one in state])[codes]
            rows.reject(
                waiting & np.isnan(end), lambda row: f"it has not run yet: {state[codes[row]]}"
            )
        self.is_open = np.isnan(end) & ~np.isnan(start) & (np.isnan(length) | running)
        far = np.where(self.is_open, self.until, end)
        # A job that still runs has run for as long as the log says, or up to its last time.
        between = far - start
        self.duration = np.where(np.isnan(length), between, length)
        rows.reject(np.isnan(self.duration), "it never started, or how long it ran is not told")
        rows.reject(self.duration <= 0, "it ran for no time, as jobs that were cancelled do")
        with np.errstate(invalid="ignore"):
            long = (self.duration < SHORTEST_TIME) | (self.duration > LONGEST_TIME)
        rows.reject(
            long, f"it ran for less than {SHORTEST_TIME:g} s or more than {LONGEST_TIME:g} s"
        )
        self.submit = submit
        self.start = np.where(np.isnan(start), submit, start)
        self.has_starts = not np.isnan(start).all()


def draft(rows: Rows, source: str) -> Draft:
    """The table of jobs and a spec."""
    times = Times(rows)
    nodes, demand, gang = _demands(rows)
    rows.reject_repeated(times.submit, times.start, times.duration)
    good = rows.good
    if not len(good):
        first = rows.rejected[0].reason if rows.rejected else "it has none"
        raise TraceError(f"{rows.sheet.path}: no row can be used: {first}")
    estimate = rows.numbers("estimate")[good]
    with np.errstate(invalid="ignore"):
        estimate = np.where(
            (estimate >= SHORTEST_TIME) & (estimate <= LONGEST_TIME), estimate, np.nan
        )
    good = rows.good
    size = (_machines(times, nodes, demand, good, rows.sheet.extra.get("processors")),)
    takes_all = rows.sheet.extra.get("memory_per", np.full(rows.count, "job")) == WHOLE_NODE
    demand[:, 1] = np.where(takes_all, _memory_beside(size, demand[:, 0]), demand[:, 1])
    names = rows.names(good)[0] if "id" in rows else pa.array(good + 1).cast(pa.string())
    workload = assemble(
        job_ids=names,
        submit=times.submit[good],
        user=rows.groups(good) if "user" in rows else None,
        job=np.arange(len(good)),
        task_ids=pa.array(np.ones(len(good), np.int64)),
        instances=nodes[good],
        demand=demand[good],
        duration=times.duration[good],
        estimate=estimate,
        gang=gang[good],
        source=str(rows.sheet.path),
    )
    counts = {
        "rows": rows.count + len(rows.sheet.bad),
        "jobs": len(good),
        "rejected": len(rows.rejected) + len(rows.sheet.bad),
        "open_ends": int(times.is_open[good].sum()),
        "out_of_order": count_disorder(times.submit[good]),
    }
    has_gpus = bool(demand[good, 3].any())
    preview = [
        {
            "job": name,
            "submit": stamp(float(times.submit[row])),
            "runs_s": round(float(times.duration[row]), 3),
            "nodes": int(nodes[row]),
            "cores_each": float(demand[row, 0]),
            "memory_gb_each": round(float(demand[row, 1]), 3),
        }
        for name, row in zip(names[:5].to_pylist(), good[:5].tolist(), strict=True)
    ]
    notes = [*rows.notes]
    if counts["open_ends"]:
        notes.append(
            f"{counts['open_ends']:,} jobs had not ended: they count as long as they had run"
        )
    if takes_all[good].any():
        notes.append(
            f"{int(takes_all[good].sum()):,} jobs asked for all memory of their nodes: they get "
            "that of the smallest machine with enough cores"
        )
    told = rows.sheet.extra.get("processors")
    text = _spec(source, workload.begin_s, size, told, has_gpus, demand[good])
    estimates = "estimate" in rows and not np.isnan(estimate).all()
    policies = "fcfs,easy-backfilling" if estimates else "fcfs,best-fit"
    again = drawn_again("workload", float(np.ptp(times.submit[good])))
    best = policies.rpartition(",")[2]
    questions = [
        f"cloudarena size {SPEC_FILE} --policy {best} --where 'wait_p95_s<=3600'{again}",
        f"cloudarena compare {SPEC_FILE} --policies {policies} --by cost_usd "
        f"--where 'wait_p95_s<=3600'{again}",
    ]
    return Draft(
        "jobs",
        {"jobs": job_table(workload)},
        text,
        counts,
        workload.begin_s,
        preview,
        notes,
        questions,
    )


def _demands(rows: Rows) -> tuple[Ints, Floats, Flags]:
    """The instances of each job, what each of them holds, and whether they start together.

    A job runs on its nodes at once, an equal part on each. Where nodes are not told, a job that
    fits no machine is spread core by core.
    """
    cores, memory, gpus = (rows.numbers(name) for name in ("cores", "memory", "gpus"))
    nodes = np.nan_to_num(rows.numbers("nodes"), nan=0.0)
    cores = np.where(np.isnan(cores), np.where(np.nan_to_num(gpus) > 0, gpus, np.nan), cores)
    rows.reject(~(cores > 0), "it has no cores")
    gpus = np.nan_to_num(gpus)
    if "memory" not in rows:
        rows.notes.append(f"{GUESS}: memory is not told: jobs need none (--map memory=4GB)")
    memory = np.nan_to_num(memory)
    per = rows.sheet.extra.get("memory_per", np.full(rows.count, "job"))
    memory = np.where(per == "core", memory * np.nan_to_num(cores), memory)
    spread = (nodes < 1) & (cores > LARGEST_NODE)
    count = np.where(spread, np.rint(cores), np.maximum(np.rint(nodes), 1))
    count = np.nan_to_num(count, nan=1.0)
    memory = np.where(per == "node", memory * count, memory)
    demand = np.zeros((rows.count, 4))
    for k, amount in ((0, cores), (1, memory), (3, gpus)):
        demand[:, k] = np.nan_to_num(amount) / count
    rows.reject(
        np.asarray((demand > LARGEST_DEMAND).any(axis=1)), "it asks for too much to be counted"
    )
    return count.astype(np.int64), demand, count > 1


def _machines(
    times: Times, nodes: Ints, demand: Floats, good: Ints, processors: int | None
) -> Machines:
    """Machines with the cores that the log tells of; else for the peak of what ran.

    Where starts are not told either, they are for the offered load.
    """
    total = demand[good] * nodes[good, None]
    begin, length = times.start[good], times.duration[good]
    if times.has_starts:
        most = [peak(begin, begin + length, total[:, k]) for k in (0, 1)]
    else:
        span = max(float(np.ptp(begin)), float(length.max()))
        most = [float((total[:, k] * length).sum()) / span / 0.7 for k in (0, 1)]
    largest = demand[good].max(axis=0)
    most = [max(amount, float(total[:, k].max())) for k, amount in enumerate(most)]
    found = machines_for(most[0], most[1], float(largest[0]), float(largest[1]), roomy=1.0)
    if processors is not None:
        found = found._replace(number=math.ceil(processors / found.cores))
    # A job that starts at once on many machines needs as many.
    return found._replace(
        number=max(found.number, math.ceil(_packed(nodes[good], demand[good], found)))
    )


def _memory_beside(machines: tuple[Machines, ...], cores: Floats) -> Floats:
    """All memory of the smallest machine that has so many cores; of the largest if none has."""
    memory = np.full(len(cores), max(one.memory_gb for one in machines))
    for one in sorted(machines, key=lambda one: -one.memory_gb):
        memory = np.where(cores <= one.cores, one.memory_gb, memory)
    return memory


def _packed(nodes: Ints, demand: Floats, machine: Machines) -> float:
    """The most machines that one job needs."""
    fits = np.floor(machine.cores / np.maximum(demand[:, 0], 1e-9) + 1e-9)
    with np.errstate(divide="ignore"):
        fits = np.minimum(fits, np.floor(machine.memory_gb / np.maximum(demand[:, 1], 1e-9) + 1e-9))
    return float(np.ceil(nodes / np.maximum(fits, 1)).max())


def _spec(
    source: str,
    begin: float,
    machines: tuple[Machines, ...],
    processors: int | None,
    has_gpus: bool,
    demand: Floats,
) -> str:
    lines = [
        *header("jobs", source, begin, ["cpu is in cores, memory in GB of 2^30 bytes"]),
        *machine_lines(machines, "cpu", "memory", always_on=True),
    ]
    if has_gpus:
        each = math.ceil(float(demand[:, 3].max()))
        lines = [line.replace("memory:", f"gpu: {each}, memory:", 1) for line in lines]
        lines.append(f"  # {GUESS}: gpu: as many on each machine as one job asks for on one")
    if processors is not None:
        lines.append(f"  # the log has {processors:,} processors; {GUESS}: how many a machine has")
    else:
        lines.append(f"  # {GUESS}: machines for the peak of what ran, and a tenth more")
    lines += [OWN_PRICE, "workload: {source: file, path: jobs.parquet}"]
    return "\n".join(lines) + "\n"
