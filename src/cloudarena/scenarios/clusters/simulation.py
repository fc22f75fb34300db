"""The contract around the kernel."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from cloudarena.base.arrays import read_only
from cloudarena.base.errors import InvalidAction
from cloudarena.contract import RecordLevel
from cloudarena.engine.streams import stream
from cloudarena.scenarios.clusters import kernel
from cloudarena.scenarios.clusters.decision import ClustersDecision, Floats, Plan, check_plan
from cloudarena.scenarios.clusters.laws import Law
from cloudarena.scenarios.clusters.metrics import measure
from cloudarena.scenarios.clusters.spec import ClustersScenario
from cloudarena.scenarios.clusters.tables import make_tables


class Stage(NamedTuple):
    """A stage that is over."""

    begin: float
    end: float
    plan: Plan
    thinking_s: float
    """Of it, spent thinking for the next stage."""
    backlog: float
    """Tasks that had arrived and were not done when it began."""
    done: float
    """Tasks done in it; parts of a task count."""


class Taken(NamedTuple):
    """A decision that was taken."""

    time: float
    plan: Plan


class ClustersRun(Simulation):
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
        self.world = self._draw_world()
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
    def decision(self) -> ClustersDecision | None:
        """The share and length of the next stage; None when all work is done."""
        return None if self.ended else ClustersDecision(self)

    def apply(self, action: Any) -> None:
        """Takes a plan, and lets time pass until the next decision or the end."""
        if self.ended:
            raise InvalidAction("the run has ended: there is nothing to decide")
        plan = check_plan(self, action)
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

    def metrics(self) -> dict[str, float]:
        """The metrics so far."""
        return measure(self)

    def tables(self) -> dict[str, pa.Table]:
        """What was recorded."""
        return make_tables(self)

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

    def _draw_world(self) -> kernel.World:
        """Draws the task time and memory of each batch and class: the same for all policies.

        A class draws by its name, so that its place among the others and their laws do not matter.
        """
        scenario, batches = self.scenario, self.batches
        count = len(batches.times)

        def drawn(law: Law, purpose: str, name: str) -> Floats:
            factors = law.factors(stream(self.seed, f"{purpose}/{name}"), count)
            return np.asarray(law.mean * factors)

        seconds = [drawn(one.seconds, "task times", one.name) for one in scenario.classes]
        memory = [drawn(one.memory_mb, "memory", one.name) for one in scenario.classes]
        return kernel.make_world(
            batches.times,
            batches.tasks.astype(np.float64),
            np.ascontiguousarray(np.maximum(np.transpose(seconds), 1e-9)),
            np.ascontiguousarray(np.transpose(memory)),
        )
