"""When machines fail, before the first event: by the distribution, by a list, or by a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from cloudarena.base.errors import SpecError, TraceError
from cloudarena.engine.calendar import make_calendar, push
from cloudarena.engine.streams import stream
from cloudarena.scenarios.jobs.kernel.outages import draw_failure
from cloudarena.scenarios.jobs.spec.machines import Failures
from cloudarena.scenarios.jobs.state import Outages
from cloudarena.workloads.columns import check_filled, location, read_columns
from cloudarena.workloads.jobs.columns import LONGEST_TIME


def make_outages(failures: Failures | None, seed: int, machines: int, begin: float) -> Outages:
    """The first failure of each machine by the distribution, or all outages of the list.

    The list is on the clock of the workload, on which the run begins at ``begin``, in seconds.
    What was over by then has no part in it, and who is down then is so from the beginning.
    """
    seeds = stream(seed, "failures").integers(0, 2**63, machines).astype(np.uint64)
    if failures is None:
        return Outages(make_calendar(1), 0.0, 1.0, 0.0, seeds)
    if failures.mtbf_s is not None and failures.mttr_s is not None:
        calendar = make_calendar(machines)
        outages = Outages(calendar, failures.scale_s, failures.shape, failures.mttr_s, seeds)
        for machine in range(machines):
            push(calendar, draw_failure(outages, machine), machine)
        return outages
    given = _given_outages(failures, machines)
    calendar = make_calendar(2 * len(given))
    for machine, down, up in given:
        if up <= begin:
            continue
        push(calendar, max(0.0, down - begin), machine)
        if up < np.inf:
            push(calendar, up - begin, machines + machine)
    return Outages(calendar, 0.0, 1.0, 0.0, seeds)


def _given_outages(failures: Failures, machines: int) -> list[tuple[int, float, float]]:
    """The outages of the list or the file, checked, in order of time."""
    if failures.path is None:
        rows = [(o.machine, o.down_s, o.up_s) for o in failures.outages]
        where = [f"failures.outages[{k}]" for k in range(len(rows))]
    else:
        rows = _read_outages(failures.path)
        where = [location(failures.path, row) for row in range(len(rows))]
    error = SpecError if failures.path is None else TraceError
    back = dict.fromkeys(range(machines), 0.0)
    given = []
    for row in sorted(range(len(rows)), key=lambda row: rows[row][1]):
        machine, down, up = rows[row]
        up = np.inf if up is None else up
        if not 0 <= machine < machines:
            raise error(f"{where[row]}: machine: {machine} is not allowed: 0 to {machines - 1}")
        if back[machine] == np.inf:
            raise error(
                f"{where[row]}: down_s: {down:g} is not allowed: machine {machine} is already down "
                "for good"
            )
        if not back[machine] <= down <= LONGEST_TIME:
            raise error(
                f"{where[row]}: down_s: {down:g} is not allowed: at least {back[machine]:g}, when "
                f"machine {machine} is up"
            )
        if not up > down:
            raise error(f"{where[row]}: up_s: {up:g} is not allowed: more than down_s, {down:g}")
        back[machine] = up
        given.append((machine, down, up))
    return given


def _read_outages(path: Path) -> list[tuple[int, float, float | None]]:
    """The rows of a file of outages; only when a machine is up again may be missing."""
    types = {"machine": pa.int64(), "down_s": pa.float64()}
    table = read_columns(path, types, {"up_s": pa.float64()})
    check_filled(path, table, types)
    columns = table.to_pydict()
    ups = columns.get("up_s", [None] * len(columns["machine"]))
    ups = [None if up is None or up != up else up for up in ups]
    return list(zip(columns["machine"], columns["down_s"], ups, strict=True))
