"""A run of clusters: the contract around the kernel."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np

from cloudarena.base.arrays import Floats, Ints, read_only
from cloudarena.base.measures import ratio
from cloudarena.contract import RecordLevel
from cloudarena.contract.kernel_run import KernelRun, doubled
from cloudarena.engine.status import DECIDE, ENDED
from cloudarena.scenarios.clusters import kernel
from cloudarena.scenarios.clusters.build import build_world
from cloudarena.scenarios.clusters.build.outages import Down, outages
from cloudarena.scenarios.clusters.decision import ClustersDecision, Plan, check_plan
from cloudarena.scenarios.clusters.spec import ClustersScenario
from cloudarena.scenarios.clusters.state import Total

TOTALS = np.dtype(
    [("tasks", "f8"), ("backlog_task_s", "f8"), ("busy_vm_s", "f8"), ("stages", "i8")]
)
"""What ``info["step"]`` of an environment tells the rise of."""


class Stage(NamedTuple):
    """A stage that is over."""

    begin: float
    end: float
    plan: Plan
    thinking_s: float
    """The part of it that was spent thinking for the next stage."""
    backlog: float
    """The tasks that had arrived and were not done when it began."""
    done: float
    """The tasks done in it; parts of a task count."""


class Taken(NamedTuple):
    """A decision that was taken."""

    time: float
    plan: Plan


class OfCluster(NamedTuple):
    """What a virtual cluster has done so far, of its own VMs and classes alone."""

    cluster: str
    """The name of the virtual cluster."""
    vms: int
    classes: int
    tasks: float
    """Tasks that were done; parts of a task count."""
    makespan_s: float
    """When its last task ended; the time so far, while there are others, and NaN without any."""
    throughput_per_s: float
    """The rate of finished tasks: tasks / makespan_s."""
    memory_mb: float
    """The VMs of a class times the memory of one, summed over its classes, mean over the run."""
    backlog_mean_tasks: float
    """Tasks that have arrived and are not done, mean over the run."""
    utilisation: float
    """VM-seconds of service / (its VMs * time of the run)."""
    cost_usd: float
    """The price of its VMs until the run ends."""


class ClustersRun(KernelRun[ClustersDecision]):
    """A run: batches of tasks on VMs that are shared out stage by stage."""

    scenario: ClustersScenario
    kernel: ClassVar[ModuleType] = kernel
    action_types: ClassVar[tuple[Any, ...]] = (
        numba.types.Array(numba.int64, 1, "C", readonly=True),
        numba.float64,
        numba.int64,
    )

    def __init__(self, scenario: ClustersScenario, seed: int, record: RecordLevel) -> None:
        self.batches = scenario.load_workload(seed)
        super().__init__(scenario, seed, record, build_world(scenario, self.batches, seed))

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return float(self.world.clock[0]["now"])

    @property
    def ended(self) -> bool:
        """Whether all work is done."""
        return bool(self.world.clock[0]["ended"])

    @property
    def is_deciding(self) -> bool:
        """Whether there is work left, and so a next stage."""
        self._status = ENDED if self.ended else DECIDE
        return not self.ended

    @property
    def decided_before(self) -> float:
        """When the last decision was taken."""
        taken = int(self.world.clock[0]["plans"])
        return float(self.world.plans["time"][taken - 1]) if taken else -math.inf

    @property
    def in_force(self) -> Plan | None:
        """The plan of the last decision."""
        taken = int(self.world.clock[0]["plans"])
        return self._plan(taken - 1) if taken else None

    @property
    def shares(self) -> Ints:
        """The VMs of each class in force; 0 before the first decision."""
        in_force = self.in_force
        return np.asarray(in_force.shares) if in_force else np.zeros_like(self.world.plan_shares[0])

    @property
    def outages(self) -> list[Down]:
        """When VMs are down, whether that has come or not."""
        return outages(self.scenario, self.batches, self.seed)

    @property
    def down(self) -> Ints:
        """How many VMs of each class in force are down now."""
        world, shares = self.world, self.shares
        if len(world.changes) == 1:
            return np.zeros_like(shares)
        part = int(np.searchsorted(world.changes, self.now, side="right")) - 1
        up, next_vm = np.zeros_like(shares), world.cluster_first.copy()
        for c, (cluster, count) in enumerate(zip(world.cluster_of, shares, strict=True)):
            first = next_vm[cluster]
            up[c] = world.up_before[part][first + count] - world.up_before[part][first]
            next_vm[cluster] += count
        return np.asarray(shares - up, np.int64)

    @property
    def plans(self) -> list[Taken]:
        """The decisions that were taken."""
        taken = int(self.world.clock[0]["plans"])
        times = self.world.plans["time"][:taken].tolist()
        return [Taken(time, self._plan(number)) for number, time in enumerate(times)]

    @property
    def stages(self) -> list[Stage]:
        """The stages that are over."""
        count = int(self.world.clock[0]["stages"])
        done = [*self.world.stage_done[:count], self.world.done]
        return [
            Stage(
                begin,
                end,
                self._plan(plan),
                thinking_s,
                float(self._backlog(begin, done[number]).sum()),
                float(done[number + 1].sum()) - float(done[number].sum()),
            )
            for number, (begin, end, thinking_s, plan) in enumerate(
                self.world.stages[:count].tolist()
            )
        ]

    @property
    def clusters(self) -> list[OfCluster]:
        """What each virtual cluster has done so far; one of all where the spec names none."""
        world, now, price = self.world, self.now, self.scenario.prices.vm_hour_usd
        found = []
        for one in self.scenario.groups:
            own = list(one.classes)
            sums = world.class_totals[own].sum(axis=0)
            done = float(world.done[own].sum())
            finish = world.finish[:, own][world.tasks[:, own] > 0.0]
            ended = float(finish.max()) if len(finish) else math.nan
            makespan_s = now if math.isnan(ended) and len(finish) else ended
            found.append(
                OfCluster(
                    one.name,
                    one.vms,
                    len(own),
                    done,
                    makespan_s,
                    ratio(done, makespan_s),
                    ratio(float(sums[Total.MEMORY]), now),
                    ratio(float(sums[Total.BACKLOG]), now),
                    ratio(float(sums[Total.BUSY]), one.vms * now),
                    one.vms * now / 3600.0 * price,
                )
            )
        return found

    def _plan(self, number: int) -> Plan:
        """The plan of a decision."""
        _, length_s, evaluations = self.world.plans[number].item()
        return Plan(read_only(self.world.plan_shares[number].copy()), length_s, evaluations)

    def show(self) -> ClustersDecision:
        """What is known for the share and length of the next stage."""
        scenario, batches, now = self.scenario, self.batches, self.now
        in_force = self.in_force
        allowed_s = in_force.length_s if in_force and scenario.pipelined else math.inf
        begins = now + (allowed_s if math.isfinite(allowed_s) else 0.0)
        arrived = int(np.searchsorted(batches.times, now, side="right"))
        since = int(np.searchsorted(batches.times, self.decided_before, side="right"))
        oracle = scenario.information == "oracle"
        known = len(batches.times) if oracle else arrived
        return ClustersDecision(
            now=now,
            number=int(self.world.clock[0]["plans"]),
            rng=self.rng,
            vms=scenario.vms,
            clusters=scenario.groups,
            allow_idle=scenario.allow_idle,
            memory=scenario.memory,
            classes=scenario.classes,
            mean_seconds=self.world.mean_seconds,
            mean_memory_mb=self.world.mean_memory_mb,
            decide_seconds=scenario.decide_seconds,
            information=scenario.information,
            stage_s=scenario.stage_s,
            least_stage_s=scenario.least_stage_s,
            shares=read_only(self.shares),
            down=read_only(self.down),
            allowed_s=allowed_s,
            begins=begins,
            all_arrived=bool(batches.times[-1] <= (begins if oracle else now)),
            batch_times=read_only(batches.times[:known]),
            batch_tasks=read_only(batches.tasks[:known]),
            backlog=read_only(self.backlog()),
            arrivals=read_only(batches.tasks[since:arrived].sum(axis=0)),
            _run=self,
        )

    def encode(self, action: Any) -> tuple[Any, ...]:
        """Shares, seconds and evaluations."""
        plan = check_plan(self.scenario, action)
        return np.asarray(plan.shares, np.int64), plan.length_s, plan.evaluations

    def why_not(self, reason: int) -> str:
        """Never asked: ``encode`` refuses what is not allowed."""
        return f"reason {reason}"

    def grow(self) -> None:
        """Doubles the room for decisions and stages."""
        world = self.world
        self.world = world._replace(
            plans=doubled(world.plans),
            plan_shares=doubled(world.plan_shares),
            stages=doubled(world.stages),
            stage_done=doubled(world.stage_done),
        )

    def totals(self) -> Any:
        """The sums so far: tasks done, task-seconds of backlog, VM-seconds of service, stages."""
        world = self.world
        sums = (
            float(world.done.sum()),
            world.totals[Total.BACKLOG],
            world.totals[Total.BUSY],
            world.clock[0]["stages"],
        )
        return np.array(sums, TOTALS)

    def backlog(self) -> Floats:
        """Tasks of each class that have arrived and are not done."""
        return self._backlog(self.now, self.world.done)

    def _backlog(self, time: float, done: Floats) -> Floats:
        """Tasks of each class that had arrived at a time, less those done."""
        arrived = np.searchsorted(self.batches.times, time, side="right")
        return np.maximum(self.world.arrived[arrived] - done, 0.0)
