"""A run of clusters: the contract around the kernel."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, read_only
from cloudarena.contract import RecordLevel, Run
from cloudarena.engine.streams import stream
from cloudarena.scenarios.clusters import kernel
from cloudarena.scenarios.clusters.build import build_world
from cloudarena.scenarios.clusters.decision import ClustersDecision, Plan, check_plan
from cloudarena.scenarios.clusters.spec import ClustersScenario


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


class ClustersRun(Run[ClustersDecision]):
    """A run: batches of tasks on VMs that are shared out stage by stage."""

    scenario: ClustersScenario

    def __init__(self, scenario: ClustersScenario, seed: int, record: RecordLevel) -> None:
        super().__init__(scenario, seed, record)
        self.rng = stream(seed, "policy")
        self.batches = scenario.load_batches(seed)
        self.mean_seconds = read_only(np.array([one.seconds.mean for one in scenario.classes]))
        self.mean_memory_mb = read_only(np.array([one.memory_mb.mean for one in scenario.classes]))
        self.no_shares = np.zeros(len(scenario.classes), np.int64)
        self.in_force: Plan | None = None
        self.stages: list[Stage] = []
        self.plans: list[Taken] = []
        self._now = 0.0
        self.ended = False
        self.world = build_world(scenario, self.batches, seed)
        # Row k: tasks of each class in the first k batches.
        self._arrived = np.insert(np.cumsum(self.world.tasks, axis=0), 0, 0.0, axis=0)

    @property
    def now(self) -> float:
        """The time in seconds since the run began."""
        return self._now

    @property
    def decided_before(self) -> float:
        """When the last decision was taken."""
        return self.plans[-1].time if self.plans else -math.inf

    @property
    def is_deciding(self) -> bool:
        """Whether there is work left, and so a next stage."""
        return not self.ended

    def show(self) -> ClustersDecision:
        """What is known for the share and length of the next stage."""
        scenario, batches, now = self.scenario, self.batches, self._now
        in_force = self.in_force
        allowed_s = in_force.length_s if in_force and scenario.pipelined else math.inf
        begins = now + (allowed_s if math.isfinite(allowed_s) else 0.0)
        arrived = int(np.searchsorted(batches.times, now, side="right"))
        since = int(np.searchsorted(batches.times, self.decided_before, side="right"))
        oracle = scenario.information == "oracle"
        known = len(batches.times) if oracle else arrived
        return ClustersDecision(
            now=now,
            number=len(self.plans),
            rng=self.rng,
            vms=scenario.vms,
            allow_idle=scenario.allow_idle,
            memory=scenario.memory,
            classes=scenario.classes,
            mean_seconds=self.mean_seconds,
            mean_memory_mb=self.mean_memory_mb,
            decide_seconds=scenario.decide_seconds,
            information=scenario.information,
            stage_s=scenario.stage_s,
            least_stage_s=scenario.least_stage_s,
            shares=read_only(np.asarray(in_force.shares if in_force else self.no_shares)),
            allowed_s=allowed_s,
            begins=begins,
            all_arrived=bool(batches.times[-1] <= (begins if oracle else now)),
            batch_times=read_only(batches.times[:known]),
            batch_tasks=read_only(batches.tasks[:known]),
            backlog=read_only(self.backlog()),
            arrivals=read_only(batches.tasks[since:arrived].sum(axis=0)),
        )

    def take(self, action: Any) -> None:
        """Takes a plan, and lets time pass until the next decision or the end."""
        plan = check_plan(self.scenario, action)
        before = self.in_force
        self.plans.append(Taken(self._now, plan))
        if not self.scenario.pipelined:
            self.in_force = plan
            self._run_stage(plan, plan.length_s)
            return
        if before is not None:
            thinking = plan.evaluations * self.scenario.decide_seconds
            self._run_stage(before, max(before.length_s, thinking), thinking)
        self.in_force = plan
        if not self.ended and math.isinf(plan.length_s):
            self._run_stage(plan, math.inf)

    def backlog(self) -> Floats:
        """Tasks of each class that have arrived and are not done."""
        arrived = np.searchsorted(self.batches.times, self._now, side="right")
        return np.maximum(self._arrived[arrived] - self.world.done, 0.0)

    def _run_stage(self, plan: Plan, length_s: float, thinking_s: float = 0.0) -> None:
        """Lets a stage pass; the run ends with the last task."""
        begin, backlog = self._now, float(self.backlog().sum())
        done = float(self.world.done.sum())
        shares = np.asarray(plan.shares, np.int64)
        finish = float(kernel.finish_time(self.world, shares, begin))
        end = min(begin + length_s, finish)
        weights = shares if self.scenario.memory == "linear" else shares * shares
        kernel.advance(self.world, shares, weights, begin, end)
        self.ended = finish <= begin + length_s
        self._now = end
        self.stages.append(
            Stage(
                begin,
                end,
                plan,
                min(thinking_s, end - begin),
                backlog,
                float(self.world.done.sum()) - done,
            )
        )
