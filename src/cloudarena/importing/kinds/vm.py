"""VMs, or pods, from when they begin to when they end: a vm scenario."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import CloudarenaError, TraceError
from cloudarena.importing.dates import plain
from cloudarena.importing.draft import (
    DAY_S,
    FEWEST_BLOCKS,
    GUESS,
    OWN_PRICE,
    SPEC_FILE,
    Draft,
    drawn_again,
    header,
    machine_lines,
)
from cloudarena.importing.guess import Machines, machines_for, peak
from cloudarena.importing.instance_names import by_name, short_name
from cloudarena.importing.rows import Rows, count_disorder, ends_of, last_seen
from cloudarena.importing.units import stamp
from cloudarena.workloads.prices.instances import Instance, read_instances
from cloudarena.workloads.vm.columns import LARGEST_SIZE, SMALLEST_SIZE, VMTABLE_COLUMNS

TICKS_S = (60.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0)
"""Lengths of a tick."""
MOST_TICKS = 20_000
MOST_VM_TICKS = 2e7
"""Ticks of all VMs together: each holds a reading of 8 bytes."""
JOIN_S = 1.0
"""A row that begins so soon after another of the same VM goes on with it."""
CPU_PERCENT = 30.0
MEMORY_PER_CORE_GB = 4.0
KUBE_POLICIES = "kube-default,kube-most-allocated,best-fit"
"""What is proposed for the nodes of a Kubernetes cluster, which a file tells."""
OFF = frozenset(
    {
        *("poweredoff", "poweroff", "off", "stopped", "stopping", "deallocated", "terminated"),
        *("vmstopped", "vmdeallocated", "deleted", "ausgeschaltet", "aus", "eteint", "apagado"),
        *("spento", "已关机", "关机", "已停止", "выключена"),
    }
)
"""States, by their letters alone, in which a VM is not there."""
UNKNOWN = 2
"""The category of a VM of which it is not known whether it may be delayed."""


def draft(rows: Rows, source: str, machines: tuple[Machines, ...] = ()) -> Draft:
    """The vmtable and a spec of VMs."""
    start = rows.numbers("start", needed=True)
    end, length = rows.numbers("end"), rows.numbers("duration")
    until = last_seen(start, end)
    is_open = np.isnan(end) & np.isnan(length)
    if is_open.all():
        until += DAY_S
    _reject_switched_off(rows, is_open)
    ends = ends_of(rows, start, end, length, until)
    rows.reject(ends < start, "it ends before it begins")
    cores, memory = _sizes(rows)
    rows.reject_repeated(start, ends, cores, memory)
    good, ends, goes_on = _joined(rows, start, ends, cores, memory)
    if not len(good):
        first = rows.rejected[0].reason if rows.rejected else "it has none"
        raise TraceError(f"{rows.sheet.path}: no row can be used: {first}")
    order = good[np.argsort(start[good], kind="stable")]
    begin = float(start[order[0]])
    tick_s = _tick(start[order], ends[order], until)
    table = _table(rows, order, (start - begin) / tick_s, (ends - begin) / tick_s, cores, memory)
    ticks = max(1, math.ceil((until - begin) / tick_s + 1e-9))
    counts = {
        "rows": rows.count + len(rows.sheet.bad),
        "vms": len(order),
        "rejected": len(rows.rejected) + len(rows.sheet.bad),
        "open_ends": int(is_open[order].sum()),
        "out_of_order": count_disorder(start[rows.good]),
        **({"rows_that_go_on": goes_on} if goes_on else {}),
    }
    c, m = cores[order], memory[order]
    guessed = not machines
    if guessed:
        most = [peak(start[order], ends[order] + tick_s, sizes) for sizes in (c, m)]
        machines = (machines_for(most[0], most[1], float(c.max()), float(m.max())),)
    text = _spec(source, begin, ticks, tick_s, machines, guessed, rows, order)
    preview = [
        {
            "id": str(table["vmid"][k]),
            "start": stamp(float(start[row])),
            "end": "still there" if is_open[row] else stamp(float(ends[row])),
            "cores": float(cores[row]),
            "memory_gb": round(float(memory[row]), 4),
        }
        for k, row in enumerate(order[:5].tolist())
    ]
    notes = [*rows.notes]
    if goes_on:
        notes.append(
            f"{goes_on:,} rows begin where another of the same id and size ends: they are one VM"
        )
    if is_open.all():
        notes.append("no VM has an end: all stay for a day after the last has begun")
    elif counts["open_ends"]:
        notes.append(f"{counts['open_ends']:,} VMs have no end: they stay to the end of the trace")
    days = len(np.unique(np.floor((start[order] - begin) / DAY_S)))
    # Where all arrive on a day or two, other days would be drawn with nothing in them.
    is_spread = until - begin < DAY_S or days >= FEWEST_BLOCKS
    again = drawn_again("workload", until - begin) if is_spread and not is_open.all() else ""
    whole_days = math.floor((float(start[order[-1]]) - begin) / DAY_S)
    behind = until - float(start[order[-1]])
    if again and behind > DAY_S and whole_days >= FEWEST_BLOCKS:
        # Days on which nothing begins any more are none of those to draw.
        again += f" --set ticks={round(whole_days * DAY_S / tick_s)}"
        notes.append(
            f"the last VM begins {behind / DAY_S:.1f} days before the last ends: "
            f"days are drawn of the {whole_days} until then"
        )
    policies = "first-fit,best-fit,worst-fit" if guessed else KUBE_POLICIES
    questions = [
        f"cloudarena compare {SPEC_FILE} --policies {policies} --by cost_usd "
        f"--where 'unserved_share<=0.001'{again}",
        f"cloudarena size {SPEC_FILE} --where 'unserved_share<=0.001'",
    ]
    return Draft("vm", {"vmtable": table}, text, counts, begin, preview, notes, questions)


def _reject_switched_off(rows: Rows, is_open: Flags) -> None:
    """Leaves out what is off now and does not tell since when: it holds nothing."""
    if "state" not in rows or rows.mapping["state"].is_value:
        return
    texts, codes = rows.encoded("state")
    words = ["".join(filter(str.isalpha, plain(text))) for text in texts.to_pylist()]
    is_off = np.array([word in OFF for word in words])[codes]
    rows.reject(
        is_off & is_open,
        lambda row: f"it is {str(texts[codes[row]]).strip()}, and since when is not told",
    )


def _joined(
    rows: Rows, start: Floats, ends: Floats, cores: Floats, memory: Floats
) -> tuple[Ints, Floats, int]:
    """The rows of which each is a VM, their ends, and how many rows went on with one before.

    Bills have a row for each hour of a VM: one that begins at the very end of another with the same
    id and sizes goes on with it.
    """
    good = rows.good
    if "id" not in rows or rows.mapping["id"].is_value:
        return good, ends, 0
    texts, codes = rows.encoded("id")
    ends, last = ends.copy(), dict[tuple[int, float, float], int]()
    often = np.bincount(codes[good], minlength=len(texts)) > 1
    often &= ~pc.equal(texts, "").to_numpy(zero_copy_only=False)
    some, goes_on = good[often[codes[good]]], np.zeros(rows.count, np.bool_)
    for row in some[np.argsort(start[some], kind="stable")].tolist():
        key = int(codes[row]), float(cores[row]), float(memory[row])
        before = last.get(key)
        if before is not None and abs(start[row] - ends[before]) <= JOIN_S:
            ends[before] = ends[row]
            goes_on[row] = True
        else:
            last[key] = row
    kept = good[~goes_on[good]]
    return kept, ends, len(good) - len(kept)


def _sizes(rows: Rows) -> tuple[Floats, Floats]:
    """The cores and GB of each row: as they stand there, or those of its instance type."""
    cores, memory = rows.numbers("cores"), rows.numbers("memory")
    if "type" in rows:
        known = {**read_instances(), **rows.sheet.extra.get("types", {})}
        texts, codes = rows.encoded("type")
        types, by_names = texts.to_pylist(), dict[str, Instance]()
        untold = np.bincount(codes[np.isnan(cores) | np.isnan(memory)], minlength=len(types)) > 0
        sizes = np.full((len(types), 2), np.nan)
        for code, name in enumerate(types):
            word = short_name(name)
            found = known.get(name.strip()) or known.get(word)
            if found is None and untold[code]:
                found = by_names.get(word) or by_name(word)
                if found is not None:
                    by_names[word] = found
            if found is not None:
                sizes[code] = found.vcpu, found.memory_gb
        cores = np.where(np.isnan(cores), sizes[codes, 0], cores)
        memory = np.where(np.isnan(memory), sizes[codes, 1], memory)
        if by_names:
            told = ", ".join(
                f"{word} {one.vcpu:g} cores {one.memory_gb:g} GB"
                for word, one in list(by_names.items())[:4]
            )
            more = f" and {len(by_names) - 4} more" if len(by_names) > 4 else ""
            rows.notes.append(f"{GUESS}: sizes of types by their names: {told}{more}")
        rows.reject(
            np.isnan(cores),
            lambda row: (
                f"the instance type {types[codes[row]]!r} is not in the list of prices, and "
                "there are no cores"
            ),
        )
    rows.reject(np.isnan(cores), "it has no cores")
    if "memory" not in rows and np.isnan(memory).any():
        rows.notes.append(
            f"{GUESS}: memory is not told for {int(np.isnan(memory).sum()):,} of {rows.count:,} "
            f"rows: {MEMORY_PER_CORE_GB:g} GB a core (--map memory=8GB says otherwise)"
        )
        memory = np.where(np.isnan(memory), MEMORY_PER_CORE_GB * cores, memory)
    rows.reject(np.isnan(memory), "it has no memory")
    for name, sizes in (("cores", cores), ("memory", memory)):
        with np.errstate(invalid="ignore"):
            bad = ~((sizes >= SMALLEST_SIZE) & (sizes <= LARGEST_SIZE))
        rows.reject(bad, f"{name}: {SMALLEST_SIZE:g} to {LARGEST_SIZE:,.0f} are allowed")
    return cores, memory


def _tick(start: Floats, end: Floats, until: float) -> float:
    """The shortest length of a tick that a run can hold."""
    span, lives = until - float(start.min()), float((end - start).sum())
    for tick_s in TICKS_S:
        few = span / tick_s <= MOST_TICKS and lives / tick_s + len(start) <= MOST_VM_TICKS
        if few:
            return tick_s
    if lives / TICKS_S[-1] > 50 * MOST_VM_TICKS:
        raise CloudarenaError("the VMs of the file live too long in all to be kept: take fewer")
    return TICKS_S[-1]


def _table(
    rows: Rows, order: Ints, created: Floats, ended: Floats, cores: Floats, memory: Floats
) -> Any:
    """The vmtable: a VM is there in every tick in which it lives a part of."""
    first = np.floor(created[order] + 1e-9).astype(np.int64)
    behind = np.ceil(ended[order] - 1e-9).astype(np.int64)
    lifetime = np.maximum(1, behind - first)
    columns = (
        _ids(rows, order),
        rows.groups(order) if "user" in rows else np.zeros(len(order), np.int64),
        np.zeros(len(order), np.int64),
        first,
        first + lifetime - 1,
        np.full(len(order), UNKNOWN),
        cores[order],
        memory[order],
        lifetime,
    )
    return pa.table(dict(zip(VMTABLE_COLUMNS, columns, strict=True)))


def _ids(rows: Rows, order: Ints) -> Any:
    """The ids, those that repeat with a number behind; row numbers if there are none."""
    if "id" not in rows:
        return pa.array(order)
    found, again = rows.names(order)
    if again:
        rows.notes.append(f"{again:,} ids repeat: #2 and so on stand behind them")
    return found


def _spec(
    source: str,
    begin: float,
    ticks: int,
    tick_s: float,
    machines: tuple[Machines, ...],
    guessed: bool,
    rows: Rows,
    order: Ints,
) -> str:
    level, why = _utilisation(rows, order)
    workload = f"{{source: files, vmtable: vmtable.parquet, cpu_percent: {level:g}}}"
    mark = f"  # {GUESS}: the peak of the file and a tenth more" if guessed else ""
    lines = [
        *header("vm", source, begin),
        f"ticks: {ticks}",
        f"tick_seconds: {tick_s:g}",
        *machine_lines(machines, "cores", "memory_gb"),
        *([f"  # {mark.strip('# ')}"] if mark else []),
        OWN_PRICE,
        f"off_after_ticks: 0  # {GUESS}: an empty machine is given back, or switched off, at once",
        "boot_ticks: 0",
        f"workload: {workload}{why}",
    ]
    return "\n".join(lines) + "\n"


def _utilisation(rows: Rows, order: Ints) -> tuple[float, str]:
    """The CPU utilisation of VMs in per cent, and where it comes from."""
    values = rows.numbers("cpu_percent")[order]
    known = values[~np.isnan(values)]
    if len(known):
        is_part = float(known.max()) <= 1.0
        percent = float(np.clip(known.mean() * (100 if is_part else 1), 0, 100))
        why = f"  # the mean of {len(known):,} VMs"
        if is_part:
            why += f"; {GUESS}: parts of 1, since none is above 1"
        return round(percent, 2), why
    return CPU_PERCENT, f"  # {GUESS}: how busy VMs are, in per cent; it decides energy alone"
