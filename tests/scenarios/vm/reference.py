"""The vm scenario once more, slow and obvious: tick by tick, VM by VM, in plain Python.

Written from the fact sheet and the issue, not from the kernel. Nothing is kept up to date: what a
machine holds and uses is summed again from the VMs on it whenever it is asked for. Cores, memory
and readings are decimals, so every comparison with a limit is exact; watts are floats.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

REFUSE = -1
DELAY_INSENSITIVE = 0
EXACT = decimal.Context(prec=40, traps=[decimal.Inexact])


def exact(value: float) -> Decimal:
    """The number as a person would write it: 0.1 is a tenth."""
    return Decimal(repr(float(value)))


@dataclass(eq=False)
class Vm:
    """A request. ``readings`` maps ticks of its life to percent; there may be gaps."""

    id: Any
    created: int
    lifetime: int
    cores: Decimal
    memory: Decimal
    category: int
    readings: dict[int, float]
    buffer: int = 0
    delay: int = 0
    put_off: int = 0
    """By the policy, beyond what a lack of room explains."""
    outcome: str = "not arrived"
    start: int | None = None
    end: int | None = None
    machine: int | None = None
    held: list[int] = field(default_factory=list)
    """The ticks in which it has its cores, also while its machine boots."""
    lived: list[int] = field(default_factory=list)
    """The ticks in which it runs."""
    paid: list[int] = field(default_factory=list)
    """Those that it pays for, and keeps."""

    def __post_init__(self) -> None:
        """Fills the gaps: idle before the first reading, then the last one holds."""
        self.replay, last = [], Decimal(0)
        for k in range(self.lifetime):
            last = exact(self.readings[k]) if k in self.readings else last
            self.replay.append(last)

    def used(self, tick: int) -> Decimal:
        """Core-percent in a tick; nothing before its start."""
        if tick < self.start:
            return Decimal(0)
        return EXACT.multiply(self.cores, self.replay[tick - self.start])

    def counted(self, ticks: list[int], warmup: int) -> list[int]:
        """Which of its ticks count: of a VM of the warm-up no more than it had, begun at once."""
        after = [tick for tick in ticks if tick >= warmup]
        if self.created >= warmup:
            return after
        return after[: len(range(warmup, self.created + self.lifetime))]

    def lost_at(self) -> int:
        """The tick in which it was lost."""
        return self.end - (self.outcome == "killed")


@dataclass
class Machine:
    """A machine and the VMs on it."""

    cores: Decimal
    memory: Decimal
    idle_w: float
    busy_w: float
    r: float
    boot_w: float
    off_w: float
    vms: list[Vm] = field(default_factory=list)
    on_from: int | None = 0
    """The tick from which it is on, or will be; None: it is off."""
    emptied: int = 0
    """The first tick since which it is empty."""
    watts: list[float] = field(default_factory=list)
    use: list[float] = field(default_factory=list)
    oversubscribed_ticks: int = 0
    overloaded_ticks: int = 0
    empty_ticks: int = 0
    """These three after the warm-up only."""

    def state(self, tick: int) -> int:
        """0 off, 1 booting, 2 on."""
        if self.on_from is None:
            return 0
        return 1 if tick < self.on_from else 2

    def allocated_cores(self) -> Decimal:
        return sum((vm.cores for vm in self.vms), Decimal(0))

    def allocated_memory(self) -> Decimal:
        return sum((vm.memory for vm in self.vms), Decimal(0))

    def used(self, tick: int) -> Decimal:
        return sum((vm.used(tick) for vm in self.vms), Decimal(0))

    def utilisation(self, tick: int) -> float:
        return float(self.used(tick)) / float(100 * self.cores)

    def power_w(self, tick: int) -> float:
        if self.state(tick) < 2:
            return (self.off_w, self.boot_w)[self.state(tick)]
        u = min(1.0, self.utilisation(tick))
        return self.idle_w + (self.busy_w - self.idle_w) * (2 * u - u**self.r)

    def sharing(self) -> int:
        if not self.vms:
            return 0
        return 1 if self.vms[0].category == DELAY_INSENSITIVE else -1


class Question(NamedTuple):
    """Says where a VM goes."""

    tick: int
    vm: Vm
    number: int
    machines: list[Machine]
    valid: list[int]
    last_machine: int


class Outcome(NamedTuple):
    """What became of it all."""

    metrics: dict[str, float]
    vms: list[Vm]
    machines: list[Machine]
    decisions: list[tuple[int, Any, int, int]]  # tick, vm, action, how many were valid
    series: list[dict[str, float]]


def is_valid(machine: Machine, vm: Vm, tick: int, rates: Any) -> bool:
    """Whether a machine may take a VM."""
    cores = EXACT.add(machine.allocated_cores(), vm.cores)
    memory = EXACT.add(machine.allocated_memory(), vm.memory)
    if vm.category != DELAY_INSENSITIVE:
        return machine.sharing() != 1 and cores <= machine.cores and memory <= machine.memory
    busy = EXACT.add(machine.used(tick), 100 * vm.cores)
    return (
        machine.sharing() != -1
        and cores <= EXACT.multiply(exact(rates.cpu), machine.cores)
        and memory <= EXACT.multiply(exact(rates.memory), machine.memory)
        and busy <= EXACT.multiply(exact(rates.utilisation), 100 * machine.cores)
    )


def steps(spec: Any, vms: list[Vm]) -> Generator[Question, int, Outcome]:
    """Runs a spec, asking for an action at each decision."""
    machines = [
        Machine(
            exact(m.cores),
            exact(m.memory_gb),
            m.power.idle_w,
            m.power.busy_w,
            m.power.r,
            m.power.busy_w if m.power.boot_w is None else m.power.boot_w,
            m.power.off_w,
        )
        for m in spec.machines
        for _ in range(m.count)
    ]
    waiting: dict[int, list[int]] = {}
    decisions: list[tuple[int, Any, int, int]] = []
    series: list[dict[str, float]] = []
    last_machine, overloaded_vms, boots = -1, 0, 0
    # Medians as whole millionths, halves to even: the unit in which sizes are counted.
    median_cores = median([vm.cores for vm in vms])
    median_memory = median([vm.memory for vm in vms])
    rates = spec.oversubscription
    delay, budget = spec.buffer.delay_ticks, spec.buffer.budget_ticks
    warmup = int(spec.warmup_s / spec.tick_seconds)

    for tick in range(spec.ticks):
        for machine in machines:
            for vm in [vm for vm in machine.vms if vm.start + vm.lifetime == tick]:
                machine.vms.remove(vm)
                machine.emptied = tick
                vm.outcome, vm.end = "completed", tick
            for vm in machine.vms:
                vm.outcome = "running" if vm.start <= tick else "starting"
            may_rest = spec.off_after_ticks is not None and machine.state(tick) == 2
            if may_rest and not machine.vms and tick - machine.emptied >= spec.off_after_ticks:
                machine.on_from = None
        new = [number for number, vm in enumerate(vms) if vm.created == tick]
        for number in new:
            vms[number].outcome, vms[number].buffer = "waiting", budget

        for number in waiting.pop(tick, []) + new:
            vm = vms[number]
            valid = [m for m, it in enumerate(machines) if is_valid(it, vm, tick, rates)]
            action = REFUSE - 1  # put off by one delay
            if valid or spec.decide_when_full:
                action = yield Question(tick, vm, number, machines, valid, last_machine)
                decisions.append((tick, vm.id, action, len(valid)))
            if action >= 0:
                assert action in valid
                host = machines[action]
                if host.on_from is None:
                    host.on_from = tick + spec.boot_ticks
                    boots += tick >= warmup
                vm.start, vm.machine = max(tick, host.on_from), action
                vm.outcome = "running" if vm.start == tick else "starting"
                host.vms.append(vm)
                last_machine = action
            elif action == REFUSE:
                vm.outcome, vm.end = "refused", tick
            else:
                ticks = (REFUSE - action) * delay
                if vm.buffer - ticks >= (delay if valid else 0):
                    vm.buffer -= ticks
                    vm.delay += ticks
                    vm.put_off += ticks if valid else ticks - delay
                    waiting.setdefault(tick + ticks, []).append(number)
                else:
                    vm.outcome, vm.end = "failed", tick

        series.append(
            {
                "allocated_cores": float(sum(m.allocated_cores() for m in machines)),
                "used_cores": float(sum(min(m.used(tick), 100 * m.cores) for m in machines)) / 100,
                "demanded_cores": float(sum(m.used(tick) for m in machines)) / 100,
                "power_w": math.fsum(m.power_w(tick) for m in machines),
                "live_vms": sum(vm.start <= tick for m in machines for vm in m.vms),
                "waiting": sum(len(queue) for queue in waiting.values())
                + sum(vm.start > tick for m in machines for vm in m.vms),
                "machines_on": sum(m.state(tick) == 2 for m in machines),
                "stranded_cores": float(
                    sum(
                        max(Decimal(0), m.cores - m.allocated_cores())
                        for m in machines
                        if m.cores - m.allocated_cores() < median_cores
                        or m.memory - m.allocated_memory() < median_memory
                    )
                ),
            }
        )
        for machine in machines:
            machine.watts.append(machine.power_w(tick))
            machine.use.append(float(machine.used(tick)) / 100)
            is_counted = tick >= warmup
            machine.empty_ticks += is_counted and not machine.vms
            is_oversubscribed = machine.allocated_cores() > machine.cores
            machine.oversubscribed_ticks += is_counted and is_oversubscribed
            for vm in machine.vms:
                vm.held.append(tick)
                if vm.start <= tick:
                    vm.lived.append(tick)
                    vm.paid.append(tick)
            if machine.used(tick) > 100 * machine.cores:
                machine.overloaded_ticks += is_counted
                overloaded_vms += len(machine.vms) if is_counted else 0
                if spec.overload == "kill":
                    for vm in machine.vms:
                        vm.outcome, vm.end, vm.paid = "killed", tick + 1, []
                    machine.vms, machine.emptied = [], tick + 1

    metrics = measure(spec, vms, machines, series, warmup)
    metrics["overloaded_vm_ticks"] = overloaded_vms
    metrics["boots"] = boots
    return Outcome(metrics, vms, machines, decisions, series)


def median(sizes: list[Decimal]) -> Decimal:
    """The median, to the millionth."""
    ordered = sorted(sizes)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return middle.quantize(Decimal("1e-6"), rounding=decimal.ROUND_HALF_EVEN)


def lost_by_choice(vm: Any, ticks: int) -> float:
    """The part of a running VM's life in the run that it lost since the policy put it off."""
    in_time = set(range(vm.created, min(vm.created + vm.lifetime, ticks)))
    lived = range(vm.start, ticks)
    return min(len(in_time) - len(lived), vm.put_off) / len(in_time)


def longest(values: list[float], count: int) -> float:
    """The sum of the largest values, so many of them."""
    return math.fsum(sorted(values, reverse=True)[:count])


def measure(
    spec: Any,
    vms: list[Vm],
    machines: list[Machine],
    series: list[dict[str, float]],
    warmup: int,
) -> dict[str, float]:
    """The metrics, from what was written down."""
    came = [vm for vm in vms if vm.outcome != "not arrived"]
    new = [vm for vm in came if vm.created >= warmup]
    lost = [vm for vm in came if vm.outcome in ("failed", "refused", "killed")]
    lost_before = [vm for vm in lost if vm.lost_at() < warmup]
    lost = [vm for vm in lost if vm.lost_at() >= warmup]
    waiting = [vm for vm in came if vm.outcome in ("waiting", "starting")]
    running = [vm for vm in came if vm.outcome == "running"]
    ended = [vm.outcome for vm in lost]
    ends = [vm.outcome for vm in new]
    asked = len([vm for vm in came if vm in new or vm in lost or vm in waiting])
    by_choice = math.fsum(lost_by_choice(vm, spec.ticks) for vm in running)
    unserved = len(lost) + len(lost_before) + len(waiting) + by_choice
    # In waits VMs of the warm-up count too that had not begun by its end, nor been lost.
    slow = [
        vm
        for vm in came
        if vm.created >= warmup
        or not (vm in lost_before or (vm.machine is not None and vm.start < warmup))
    ]
    boot_waits = [0 if vm.machine is None else vm.start - vm.created - vm.delay for vm in slow]
    waits = [vm.delay + wait for vm, wait in zip(slow, boot_waits, strict=True)]
    slowdowns = [1 + (vm.start - vm.created) / vm.lifetime for vm in slow if vm.machine is not None]
    allocated = sum(vm.machine is not None for vm in new)

    ticks, hours, series = spec.ticks - warmup, spec.tick_seconds / 3600, series[warmup:]
    energy = math.fsum(w for m in machines for w in m.watts[warmup:]) * hours / 1000
    cost = energy * spec.prices.kwh_usd * spec.prices.pue
    paid = {vm: len(vm.counted(vm.paid, warmup)) for vm in came}
    core_usd, gb_usd = spec.prices.core_hour_usd, spec.prices.gb_hour_usd
    income = math.fsum(
        count * hours * (float(vm.cores) * core_usd + float(vm.memory) * gb_usd)
        for vm, count in paid.items()
    )
    served_h = float(sum(count * vm.cores for vm, count in paid.items())) * hours
    core_ticks = float(sum(m.cores for m in machines)) * ticks
    # What a VM of the warm-up has beyond what it would have had, begun at once, counts for nobody.
    moved = {vm: set(vm.lived) - set(vm.counted(vm.lived, warmup)) for vm in came}
    moved_use = math.fsum(
        float(vm.used(tick)) / 100 for vm, late in moved.items() for tick in late if tick >= warmup
    )
    allocation = sum(len(vm.counted(vm.held, warmup)) * vm.cores for vm in came)
    demand = math.fsum(row["demanded_cores"] for row in series) - moved_use
    used = math.fsum(row["used_cores"] for row in series) - moved_use
    return {
        "unserved_share": unserved / len(came) if came else 0.0,
        "requests": asked,
        "allocated": allocated,
        "completed": ends.count("completed"),
        "failed": ended.count("failed"),
        "refused": ended.count("refused"),
        "killed": ended.count("killed"),
        "running_at_end": ends.count("running"),
        "waiting_at_end": len(waiting),
        "energy_kwh": energy,
        "energy_kwh_per_core_hour_served": energy / served_h if served_h else math.nan,
        "energy_cost_usd": cost,
        "cost_usd": cost,  # machines without a price
        "income_usd": income,
        "profit_usd": income - cost,
        "oversubscribed_machine_ticks": sum(m.oversubscribed_ticks for m in machines),
        "overloaded_machine_ticks": sum(m.overloaded_ticks for m in machines),
        "delay_ticks": sum(vm.delay for vm in slow),
        "boot_wait_ticks": sum(boot_waits),
        "wait_ticks_mean": longest(waits, len(new)) / max(1, len(new)),
        "slowdown_mean": longest(slowdowns, allocated) / allocated if allocated else math.nan,
        "mean_cpu_utilisation": max(0.0, used / core_ticks),
        "mean_cpu_demand": demand / core_ticks,
        "empty_machines_mean": sum(m.empty_ticks for m in machines) / ticks,
        "stranded_cores_share": math.fsum(row["stranded_cores"] for row in series) / core_ticks,
        "mean_allocation": float(allocation) / core_ticks,
        "mean_gpu_allocation": 0.0,
        "gpu_fragments_share": 0.0,
    }


def simulate(spec: Any, vms: list[Vm], policy: Callable[[Question], int]) -> Outcome:
    """Runs a spec under a policy."""
    run = steps(spec, vms)
    try:
        question = next(run)
        while True:
            question = run.send(policy(question))
    except StopIteration as end:
        return end.value
