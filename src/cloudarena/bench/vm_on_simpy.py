"""The vm scenario on SimPy: what a user of SimPy would write for the same model.

A process per VM arrives, asks for a machine, reads its CPU tick by tick and leaves; a process of
the data centre measures the machines in each tick and does the accounts. Times are ticks; what
happens in a tick happens in phases, in the order of ``cloudarena.scenarios.vm.kernel``:

1. VMs wake: those whose life is over leave, the others read their CPU (``WAKE``).
2. The data centre measures its machines (``MEASURE``).
3. Requests that waited are decided, then new ones (``RETRY``, ``ARRIVE``).
4. The tick is spent: energy, overload, income (``ACCOUNT``).

``decide_when_full`` and actions other than a machine are left out; the rest of the model is here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import simpy

from cloudarena.scenarios.vm import VmScenario
from cloudarena.scenarios.vm.state import DELAY_INSENSITIVE
from cloudarena.workloads.vm.columns import VmWorkload

WAKE, MEASURE, RETRY, ARRIVE, ACCOUNT = 0.0, 0.25, 0.5, 0.625, 0.75
"""Fractions of a tick that floating point holds exactly."""

Process = Generator[simpy.Event, None, None]


@dataclass(slots=True, eq=False)
class Vm:
    """A virtual machine and its CPU readings in percent, one for each tick of its life."""

    number: int
    arrival: int
    cores: float
    memory_gb: float
    delay_insensitive: bool
    readings: list[float]
    buffer_ticks: int = 0
    utilisation: float = 0.0
    start: int = -1
    process: simpy.Process | None = None


@dataclass(slots=True, eq=False)
class Machine:
    """A physical machine and the VMs on it."""

    number: int
    cores: float
    memory_gb: float
    cores_limit: float
    memory_limit_gb: float
    use_limit: float
    idle_w: float
    busy_w: float
    curve_r: float
    allocated_cores: float = 0.0
    allocated_memory_gb: float = 0.0
    used: float = 0.0
    """Core-percent in the current tick."""
    vms: dict[int, Vm] = field(default_factory=dict)
    hosts_delay_insensitive: bool = False

    @property
    def free_cores(self) -> float:
        """Cores that no VM has."""
        return self.cores - self.allocated_cores

    @property
    def power_w(self) -> float:
        """What the machine draws in this tick."""
        utilisation = min(1.0, self.used / (100.0 * self.cores))
        curve = 2.0 * utilisation - utilisation**self.curve_r
        return self.idle_w + (self.busy_w - self.idle_w) * curve

    def may_take(self, vm: Vm) -> bool:
        """Whether a VM fits, by the rules of oversubscription."""
        if self.vms and self.hosts_delay_insensitive != vm.delay_insensitive:
            return False
        if vm.delay_insensitive:
            return (
                self.allocated_cores + vm.cores <= self.cores_limit
                and self.allocated_memory_gb + vm.memory_gb <= self.memory_limit_gb
                and self.used + 100.0 * vm.cores <= self.use_limit
            )
        return (
            self.allocated_cores + vm.cores <= self.cores
            and self.allocated_memory_gb + vm.memory_gb <= self.memory_gb
        )

    def add(self, vm: Vm) -> None:
        """Takes a VM."""
        self.vms[vm.number] = vm
        self.hosts_delay_insensitive = vm.delay_insensitive
        self.allocated_cores += vm.cores
        self.allocated_memory_gb += vm.memory_gb
        self.used += vm.cores * vm.utilisation

    def remove(self, vm: Vm) -> None:
        """Lets a VM go."""
        del self.vms[vm.number]
        self.allocated_cores -= vm.cores
        self.allocated_memory_gb -= vm.memory_gb

    def measure(self) -> None:
        """Sums what its VMs use."""
        self.used = sum([vm.cores * vm.utilisation for vm in self.vms.values()])


Policy = Callable[[list[Machine], Vm], Machine]


def best_fit(valid: list[Machine], vm: Vm) -> Machine:
    """The valid machine with the fewest free cores; the lowest index among equals."""
    return min(valid, key=lambda machine: machine.free_cores)


class DataCentre:
    """A run: machines, the scheduler, and what is counted."""

    def __init__(self, scenario: VmScenario, vms: list[Vm], policy: Policy) -> None:
        self.scenario = scenario
        self.policy = policy
        self.env = simpy.Environment()
        self.machines = build_machines(scenario)
        self.decisions: list[tuple[int, int, int]] = []
        """Tick, VM and machine of each decision."""
        self.requests = self.allocated = self.completed = self.failed = self.killed = 0
        self.oversubscribed = self.overloaded_machines = self.overloaded_vms = 0
        self.delay_ticks = self.readings = 0
        self.watt_ticks = self.demand_ticks = self.used_ticks = self.core_ticks = 0.0
        self.billed_core_ticks = self.billed_memory_ticks = 0.0
        self.env.process(self.operate())
        self.env.process(self.receive(vms))

    def run(self, ticks: int) -> None:
        """Runs up to a tick."""
        self.env.run(until=ticks)

    @property
    def tick(self) -> int:
        """The tick of now."""
        return int(self.env.now)

    def at(self, tick: int, phase: float) -> simpy.Timeout:
        """Waits for a phase of a tick."""
        return self.env.timeout(tick + phase - self.env.now)

    def receive(self, vms: list[Vm]) -> Process:
        """Starts the process of each VM when it arrives."""
        for vm in vms:
            if vm.arrival + ARRIVE > self.env.now:
                yield self.at(vm.arrival, ARRIVE)
            self.requests += 1
            vm.process = self.env.process(self.live(vm))

    def live(self, vm: Vm) -> Process:
        """The life of a VM."""
        delay_ticks = self.scenario.buffer.delay_ticks
        vm.buffer_ticks = self.scenario.buffer.budget_ticks
        while (machine := self.schedule(vm)) is None:
            if vm.buffer_ticks < delay_ticks:
                self.failed += 1
                return
            vm.buffer_ticks -= delay_ticks
            self.delay_ticks += delay_ticks
            yield self.at(self.tick + delay_ticks, RETRY)
        vm.start, vm.utilisation = self.tick, vm.readings[0]
        machine.add(vm)
        self.allocated += 1
        timeout = self.env.timeout
        try:
            yield self.at(vm.start + 1, WAKE)
            for reading in vm.readings[1:]:
                vm.utilisation = reading
                yield timeout(1)
        except simpy.Interrupt:
            return
        machine.remove(vm)
        self.completed += 1

    def schedule(self, vm: Vm) -> Machine | None:
        """The machine that the policy chooses, if any may take the VM."""
        valid = [machine for machine in self.machines if machine.may_take(vm)]
        if not valid:
            return None
        machine = self.policy(valid, vm)
        self.decisions.append((self.tick, vm.number, machine.number))
        return machine

    def operate(self) -> Process:
        """Measures the machines and does the accounts, tick by tick."""
        while True:
            yield self.env.timeout(MEASURE)
            for machine in self.machines:
                machine.measure()
            yield self.env.timeout(ACCOUNT - MEASURE)
            self.account()
            yield self.env.timeout(1 - ACCOUNT)

    def account(self) -> None:
        """Counts what the tick has cost and earned, and meets overload."""
        for machine in self.machines:
            self.readings += len(machine.vms)
            self.watt_ticks += machine.power_w
            self.demand_ticks += machine.used
            self.used_ticks += min(machine.used, 100.0 * machine.cores)
            self.core_ticks += machine.allocated_cores
            if machine.allocated_cores > machine.cores:
                self.oversubscribed += 1
            if machine.used > 100.0 * machine.cores:
                self.overloaded_machines += 1
                self.overloaded_vms += len(machine.vms)
                if self.scenario.overload == "kill":
                    self.kill_all(machine)
            self.billed_core_ticks += machine.allocated_cores
            self.billed_memory_ticks += machine.allocated_memory_gb

    def kill_all(self, machine: Machine) -> None:
        """Ends all VMs of a machine and refunds what they have paid."""
        for vm in list(machine.vms.values()):
            self.billed_core_ticks -= (self.tick - vm.start) * vm.cores
            self.billed_memory_ticks -= (self.tick - vm.start) * vm.memory_gb
            self.killed += 1
            machine.remove(vm)
            assert vm.process is not None
            vm.process.interrupt()

    def counts(self) -> dict[str, int]:
        """What happened: requests, decisions, departures, readings of live VMs."""
        return {
            "requests": self.requests,
            "decisions": len(self.decisions),
            "departures": self.completed,
            "readings": self.readings,
        }

    def metrics(self) -> dict[str, float]:
        """The metrics of ``cloudarena.scenarios.vm.metrics``, by the same formulas."""
        scenario, prices = self.scenario, self.scenario.prices
        running = sum(len(machine.vms) for machine in self.machines)
        ended = self.completed + self.failed + self.killed
        core_ticks = scenario.ticks * sum(machine.cores for machine in self.machines)
        energy_kwh = self.watt_ticks * scenario.tick_seconds / 3.6e6
        energy_cost = energy_kwh * prices.kwh_usd * prices.pue
        income = (scenario.tick_seconds / 3600.0) * (
            prices.core_hour_usd * self.billed_core_ticks
            + prices.gb_hour_usd * self.billed_memory_ticks
        )
        waiting = self.requests - ended - running
        served_h = self.billed_core_ticks * scenario.tick_seconds / 3600.0
        return {
            "unserved_share": (self.failed + self.killed + waiting) / self.requests,
            "requests": self.requests,
            "allocated": self.allocated,
            "completed": self.completed,
            "failed": self.failed,
            "refused": 0,
            "killed": self.killed,
            "running_at_end": running,
            "waiting_at_end": waiting,
            "energy_kwh": energy_kwh,
            "energy_kwh_per_core_hour_served": energy_kwh / served_h,
            "energy_cost_usd": energy_cost,
            "income_usd": income,
            "profit_usd": income - energy_cost,
            "oversubscribed_machine_ticks": self.oversubscribed,
            "overloaded_machine_ticks": self.overloaded_machines,
            "overloaded_vm_ticks": self.overloaded_vms,
            "delay_ticks": self.delay_ticks,
            "mean_cpu_utilisation": self.used_ticks / 100.0 / core_ticks,
            "mean_cpu_demand": self.demand_ticks / 100.0 / core_ticks,
            "mean_allocation": self.core_ticks / core_ticks,
        }


def build_machines(scenario: VmScenario) -> list[Machine]:
    """The machines of a scenario, numbered in its order."""
    rates = scenario.oversubscription
    kinds = [kind for kind in scenario.machines for _ in range(kind.count)]
    return [
        Machine(
            number=number,
            cores=kind.cores,
            memory_gb=kind.memory_gb,
            cores_limit=round(kind.cores * rates.cpu, 6),
            memory_limit_gb=round(kind.memory_gb * rates.memory, 6),
            use_limit=round(100.0 * kind.cores * rates.utilisation, 6),
            idle_w=kind.power.idle_w,
            busy_w=kind.power.busy_w,
            curve_r=kind.power.r,
        )
        for number, kind in enumerate(kinds)
    ]


def build_vms(workload: VmWorkload) -> list[Vm]:
    """The VMs of a workload as objects, with their readings as lists of floats."""
    ends = workload.first_reading + workload.lifetime
    return [
        Vm(
            number=number,
            arrival=int(workload.created[number]),
            cores=float(workload.cores[number]),
            memory_gb=float(workload.memory_gb[number]),
            delay_insensitive=bool(workload.category[number] == DELAY_INSENSITIVE),
            readings=workload.readings[first:end].tolist(),
        )
        for number, (first, end) in enumerate(zip(workload.first_reading, ends, strict=True))
    ]
