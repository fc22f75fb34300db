"""What must be decided: the shares and the length of a stage; and what is known for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints, is_number, is_whole, read_only, whole_numbers
from cloudarena.base.errors import InvalidAction, written
from cloudarena.scenarios.clusters.spec import ClustersScenario, TaskClass
from cloudarena.workloads.clusters.batches import Group

if TYPE_CHECKING:
    from cloudarena.scenarios.clusters.run import ClustersRun
    from cloudarena.scenarios.clusters.state import World

UNTIL_DONE = math.inf
"""The length of a stage that lasts until all work is done."""


class Plan(NamedTuple):
    """The action: a share of the VMs and how long it is in force."""

    shares: ArrayLike
    """The VMs of each class."""
    length_s: float
    """The length of the stage; ``UNTIL_DONE`` for the last one."""
    evaluations: int = 0
    """The evaluations that the decider spent on it: each takes ``decide_seconds``."""


@dataclass(frozen=True, slots=True)
class ClustersDecision:
    """The decision which share of the VMs is in force in the next stage, and for how long.

    Without thinking time the stage begins now. With it, it begins when the stage that is in force
    ends (``begins``), and thinking takes place meanwhile: more than ``allowed_s`` makes that stage
    longer. The very first stage is thought out beforehand, at no cost.
    """

    kind: ClassVar[str] = "share"
    now: float
    number: int
    """How many decisions were taken before."""
    rng: np.random.Generator
    """The stream of the policy; the workload never draws from it."""
    vms: int
    """The VMs of all virtual clusters together."""
    clusters: tuple[Group, ...]
    """The virtual clusters: the VMs of each, which its ``classes`` share; one of all by default."""
    allow_idle: bool
    """Whether VMs may be left without a class."""
    memory: Literal["linear", "theta_squared"]
    """How memory adds up."""
    classes: tuple[TaskClass, ...]
    """The classes, with the distributions of their task times and memory."""
    mean_seconds: Floats
    """The mean time of a task of each class on one VM."""
    mean_memory_mb: Floats
    """The mean memory of a VM of each class."""
    decide_seconds: float
    """The seconds that an evaluation takes."""
    information: Literal["oracle", "lagged"]
    """Whether batches to come are known, or only those that have arrived."""
    stage_s: float
    """The length of a stage, for deciders that have no opinion."""
    least_stage_s: float
    """The shortest length of a stage."""
    shares: Ints
    """The VMs of each class in force; 0 before the first stage."""
    down: Ints
    """How many of these are down now."""
    allowed_s: float
    """How long thinking may take without making the stage in force longer."""
    begins: float
    """The time at which the stage begins."""
    all_arrived: bool
    """Whether no batch is still to come, now or (oracle) when the stage begins."""
    batch_times: Floats
    """The arrival times of the known batches: all of them, or those that arrived."""
    batch_tasks: Ints
    """The tasks of the known batches, (batches, classes)."""
    backlog: Floats
    """The tasks of each class that have arrived and are not done; parts of a task count."""
    arrivals: Ints
    """The tasks of each class that arrived since the decision before this one."""
    _run: ClustersRun = field(repr=False, compare=False)

    @property
    def action_numbers(self) -> int:
        """How many whole numbers a candidate is: the shares, and the length."""
        return len(self.shares) + 1

    def arguments(self, policy: Any) -> tuple[World]:
        """The state, for learned policies."""
        return (self._run.world,)

    def work(self, length_s: float) -> Floats:
        """Tasks of each class that a stage of this length is expected to have to do.

        What is left when it begins, at mean task times, and what arrives in it: known (oracle), or
        as much a second as in the last ``length_s`` seconds (lagged).
        """
        left = self._left_at_begin(length_s)
        return np.asarray(left + self._arriving(self.begins, self.begins + length_s, length_s))

    def load(self, length_s: float) -> Floats:
        """The work in seconds of one VM, at mean task times.

        At least a millionth of the largest of its virtual cluster, so that no class is without any.
        """
        load = self.work(length_s) * self.mean_seconds
        for one in self.clusters:
            own = list(one.classes)
            load[own] = np.maximum(load[own], max(1e-6 * float(load[own].max()), 1e-12))
        return load

    def _left_at_begin(self, window_s: float) -> Floats:
        """The backlog when the stage begins, if tasks take their mean times until then."""
        rate, left, time = self.shares / self.mean_seconds, self.backlog, self.now
        if self.information == "lagged":
            coming = self._arriving(self.now, self.begins, window_s)
            return np.maximum(left + coming - rate * (self.begins - time), 0.0)
        known = (self.batch_times > self.now) & (self.batch_times < self.begins)
        for moment, tasks in zip(self.batch_times[known], self.batch_tasks[known], strict=True):
            left = np.maximum(left - rate * (moment - time), 0.0) + tasks
            time = moment
        return np.maximum(left - rate * (self.begins - time), 0.0)

    def _arriving(self, begin: float, end: float, window_s: float) -> Floats:
        """Tasks that are known, or expected, to arrive between two times from now on."""
        if self.information == "oracle":
            times = self.batch_times
            meant = (times > self.now) & (times >= begin) & (times < end)
            return np.asarray(self.batch_tasks[meant].sum(axis=0), np.float64)
        window = min(window_s, self.now)
        if self.all_arrived or window <= 0.0 or not math.isfinite(end):
            return np.zeros(len(self.shares))
        recent = self.batch_tasks[self.batch_times > self.now - window].sum(axis=0)
        return np.asarray(recent * ((end - begin) / window))


def check_plan(scenario: ClustersScenario, action: Any) -> Plan:
    """An action as a plan, if it is allowed."""
    parts = tuple(action) if isinstance(action, tuple | list) else ()
    given, length, evaluations = (*parts, 0)[:3] if len(parts) in (2, 3) else (None, None, None)
    shares = whole_numbers(given, (len(scenario.classes),))
    if shares is None or not is_number(length) or not is_whole(evaluations):
        raise InvalidAction(
            f"action {written(action)} is not allowed: a Plan of whole numbers of VMs for each of "
            f"{len(scenario.classes)} classes, a length in seconds, and evaluations"
        )
    for each, number in zip(scenario.classes, shares, strict=True):
        if number < 1:
            raise InvalidAction(f"{each.name}: {number} VMs are not allowed: at least 1")
    for one in scenario.groups:
        total = int(shares[list(one.classes)].sum())
        if total > one.vms or (total < one.vms and not scenario.allow_idle):
            bound = "at most" if scenario.allow_idle else "exactly"
            where = f"virtual cluster {one.name}: " if one.name else ""
            raise InvalidAction(f"{where}{total} VMs are not allowed: {bound} {one.vms} in all")
    if not length >= scenario.least_stage_s:
        raise InvalidAction(
            f"length_s: {float(length):g} is not allowed: at least {scenario.least_stage_s:g}"
        )
    if evaluations < 0:
        raise InvalidAction(f"evaluations: {evaluations} is not allowed: at least 0")
    return Plan(read_only(shares), float(length), int(evaluations))
