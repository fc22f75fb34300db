"""The first ticks of a run, which metrics leave out.

The kernel begins its sums with the first tick after the warm-up. What is counted by the VM is
counted here, of those that arrive after it. Those that came in the warm-up are no less the
policy's: all count in the unserved share; they count where they are lost after it or wait, in waits
if they had not begun by its end, each in the place of the shortest, and with no more time after it
than they would have had, had they begun at once. So nobody gains by putting them off, or by turning
them away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints
from cloudarena.contract.metric import shared
from cloudarena.scenarios.vm.state import NO_READINGS, Outcome

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.run import VmRun

LOST = (Outcome.FAILED, Outcome.REFUSED, Outcome.KILLED)
WAITS = (Outcome.WAITING, Outcome.STARTING)


def warms_up(run: VmRun) -> bool:
    """Whether metrics leave out the first part of a run."""
    return bool(run.world.rules.warmup_ticks > 0)


def goes_on(run: VmRun) -> bool:
    """Whether the warm-up has not ended: nothing counts so far."""
    return bool(run.world.clock[0]["tick"] < run.world.rules.warmup_ticks)


def ticks_since(run: VmRun) -> int:
    """The ticks since the end of the warm-up; 0 before."""
    return max(0, int(run.world.clock[0]["tick"]) - run.world.rules.warmup_ticks)


class _Vms(NamedTuple):
    """The VMs that have arrived, and in what they count; none while the warm-up goes on."""

    outcome: Ints
    machine: Ints
    start: Ints
    end: Ints
    delay: Ints
    arrival: Ints
    lifetime: Ints
    is_later: NDArray[np.bool_]
    """Whether they arrived after the warm-up."""
    was_lost: NDArray[np.bool_]
    """Whether they were lost in it."""
    is_late: NDArray[np.bool_]
    """Whether they arrived in it, and had neither begun nor been lost by its end."""

    @property
    def waits(self) -> NDArray[np.bool_]:
        """Whether they wait for room or for a boot."""
        return np.isin(self.outcome, WAITS)

    @property
    def boot_wait(self) -> Ints:
        """Ticks for which they wait for a boot."""
        return np.where(self.machine >= 0, self.start - self.arrival - self.delay, 0)


@shared
def _vms(run: VmRun) -> _Vms:
    world, first = run.world, run.world.rules.warmup_ticks
    arrived = slice(0 if goes_on(run) else int(world.clock[0]["arrived"]))
    vms, arrival = world.vms, world.demand.arrival[arrived]
    outcome, machine, start, end = (
        column[arrived] for column in (vms.outcome, vms.machine, vms.start, vms.end)
    )
    is_later = arrival >= first
    lost_in = end - (outcome == Outcome.KILLED)  # who is killed has lived in that tick
    was_lost = np.isin(outcome, LOST) & (lost_in < first)
    has_begun = (machine >= 0) & (start < first)
    return _Vms(
        outcome,
        machine,
        start,
        end,
        vms.delay[arrived],
        arrival,
        world.demand.lifetime[arrived],
        is_later,
        was_lost,
        ~is_later & ~was_lost & ~has_begun,
    )


@shared
def _by_vm(run: VmRun) -> dict[str, int]:
    """What the kernel counts of all VMs, of those that count."""
    vms = _vms(run)
    is_lost = np.isin(vms.outcome, LOST) & ~vms.was_lost
    counts = vms.is_later | is_lost | vms.waits
    asks = vms.is_later | vms.is_late
    return {
        "requests": int(counts.sum()),
        "live": int((vms.is_later & (vms.outcome == Outcome.RUNNING)).sum()),
        "allocated": int((vms.is_later & (vms.machine >= 0)).sum()),
        "completed": int((vms.is_later & (vms.outcome == Outcome.COMPLETED)).sum()),
        "failed": int((is_lost & (vms.outcome == Outcome.FAILED)).sum()),
        "refused": int((is_lost & (vms.outcome == Outcome.REFUSED)).sum()),
        "killed": int((is_lost & (vms.outcome == Outcome.KILLED)).sum()),
        "delay_ticks": int(vms.delay[asks].sum()),
        "boot_wait_ticks": int(vms.boot_wait[asks].sum()),
    }


class Moved(NamedTuple):
    """What VMs of the warm-up had after it since they began late: it counts for nobody."""

    core_ticks: int
    billed_core_ticks: int
    billed_memory_ticks: int
    demand_ticks: float
    gpu_ticks: int
    """Thousandths of a GPU, times ticks."""


@shared
def moved(run: VmRun) -> Moved:
    """What VMs had beyond the ticks that they would have had after the warm-up.

    That is less than a life: of those, had they begun as they came, some would have been in the
    warm-up.
    """
    vms, first = _vms(run), run.world.rules.warmup_ticks
    now, demand = int(run.world.clock[0]["tick"]), run.world.demand
    late = np.flatnonzero(~vms.is_later & (vms.machine >= 0) & (vms.start > vms.arrival))
    due = np.maximum(0, vms.arrival[late] + vms.lifetime[late] - first)
    until = np.minimum(vms.end[late], now)
    held = until - due - np.maximum(vms.arrival[late] + vms.delay[late], first)
    since = due + np.maximum(vms.start[late], first)
    held, lived = np.maximum(0, held), np.maximum(0, until - since)
    paid = np.where(vms.outcome[late] == Outcome.KILLED, 0, lived)
    gpus = run.world.gpus
    return Moved(
        core_ticks=int(held @ demand.cores[late]),
        billed_core_ticks=int(paid @ demand.cores[late]),
        billed_memory_ticks=int(paid @ demand.memory[late]),
        demand_ticks=_used(run, late, since, lived),
        gpu_ticks=0 if gpus is None else int(held @ (gpus.wanted[late] * gpus.milli[late])),
    )


def _used(run: VmRun, vms: Ints, since: Ints, ticks: Ints) -> float:
    """What VMs use in so many ticks since one, in millionths of a core times percent."""
    demand, start = run.world.demand, run.world.vms.start
    used = float(demand.use[vms] @ np.where(demand.first_reading[vms] == NO_READINGS, ticks, 0))
    for vm, first, count in zip(vms.tolist(), since.tolist(), ticks.tolist(), strict=True):
        if count > 0 and demand.first_reading[vm] != NO_READINGS:
            begin = int(demand.first_reading[vm]) + first - int(start[vm])
            used += float(demand.cores[vm]) * float(demand.readings[begin : begin + count].sum())
    return used


def total(run: VmRun, name: str) -> Any:
    """One of the kernel's sums, of what counts."""
    if name in _by_vm(run):
        return _by_vm(run)[name]
    if goes_on(run):
        return 0
    kept = run.total(name)
    return kept - getattr(moved(run), name) if name in Moved._fields else kept


def left_undone(run: VmRun) -> int:
    """The VMs that came in the warm-up, and were lost or wait."""
    vms = _vms(run)
    return int((~vms.is_later & np.isin(vms.outcome, LOST + WAITS)).sum())


def _longest(values: Floats | Ints, count: int) -> float:
    """The sum of the longest waits, so many of them."""
    return float(np.sort(values)[max(0, len(values) - count) :].sum())


def wait_ticks_mean(run: VmRun) -> float:
    """The mean of the longest waits, as many as there are requests that came after the warm-up."""
    vms, now = _vms(run), int(run.world.clock[0]["tick"])
    waits = vms.delay + vms.boot_wait
    if run.scenario.queue == "wait":
        waits = waits + np.where(vms.outcome == Outcome.WAITING, now - vms.arrival, 0)
    count = int(vms.is_later.sum())
    return _longest(waits[vms.is_later | vms.is_late], count) / max(1, count)


def slowdowns(run: VmRun) -> float:
    """The sum of the largest slowdowns, as many as were given a machine and came after it."""
    vms = _vms(run)
    placed = np.flatnonzero((vms.machine >= 0) & (vms.is_later | vms.is_late))
    waits = vms.start[placed] - vms.arrival[placed]
    return _longest(1.0 + waits / vms.lifetime[placed], int(vms.is_later[placed].sum()))
