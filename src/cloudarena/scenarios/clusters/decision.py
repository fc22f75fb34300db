"""What must be decided: the shares and the length of a stage; and what is known for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloudarena.compiled_run import read_only
from cloudarena.errors import InvalidAction, written

if TYPE_CHECKING:
    from cloudarena.scenarios.clusters.simulation import ClustersSimulation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNTIL_DONE = math.inf
"""The length of a stage that lasts until all work is done."""


class Plan(NamedTuple):
    """The action: a share of the VMs and how long it is in force."""

    shares: ArrayLike
    """VMs of each class."""
    length_s: float
    """Of the stage; ``UNTIL_DONE`` for the last one."""
    evaluations: int = 0
    """Evaluations of policies that the decider spent on it: each takes ``decide_seconds``."""


class ClustersDecision:
    """Which share of the VMs is in force in the next stage, and for how long?

    Without thinking time the stage begins now. With it, it begins when the stage that is in force
    ends (``begins``), and thinking takes place meanwhile: more than ``allowed_s`` makes that stage
    longer. The very first stage is thought out beforehand, at no cost.
    """

    kind: ClassVar[str] = "share"
    __slots__ = (
        "all_arrived",
        "allow_idle",
        "allowed_s",
        "arrivals",
        "backlog",
        "batch_tasks",
        "batch_times",
        "begins",
        "classes",
        "decide_seconds",
        "information",
        "least_stage_s",
        "mean_memory_mb",
        "mean_seconds",
        "memory",
        "now",
        "number",
        "rng",
        "shares",
        "stage_s",
        "vms",
    )

    def __init__(self, run: ClustersSimulation) -> None:
        scenario, batches = run.scenario, run.batches
        self.now = run.now
        self.number = len(run.plans)
        """How many decisions were taken before."""
        self.rng = run.rng
        self.vms = scenario.vms
        self.allow_idle = scenario.allow_idle
        self.memory = scenario.memory
        self.classes = scenario.classes
        """With the laws of their task times and memory."""
        self.mean_seconds = run.mean_seconds
        self.mean_memory_mb = run.mean_memory_mb
        self.decide_seconds = scenario.decide_seconds
        self.information = scenario.information
        self.stage_s = scenario.stage_s
        self.least_stage_s = scenario.least_stage_s
        in_force = run.in_force
        self.shares = read_only(np.asarray(in_force.shares if in_force else run.no_shares))
        """VMs of each class in force; 0 before the first stage."""
        self.allowed_s = in_force.length_s if in_force and scenario.pipelined else math.inf
        self.begins = self.now + (self.allowed_s if math.isfinite(self.allowed_s) else 0.0)
        arrived = int(np.searchsorted(batches.times, self.now, side="right"))
        oracle = self.information == "oracle"
        self.all_arrived = bool(batches.times[-1] <= (self.begins if oracle else self.now))
        """Whether no batch is still to come, now or (oracle) when the stage begins."""
        known = len(batches.times) if oracle else arrived
        self.batch_times = read_only(batches.times[:known])
        self.batch_tasks = read_only(batches.tasks[:known])
        """Tasks of the known batches, (batches, classes): all of them, or those that arrived."""
        self.backlog = read_only(run.backlog())
        """Tasks of each class that have arrived and are not done; parts of a task count."""
        since = int(np.searchsorted(batches.times, run.decided_before, side="right"))
        self.arrivals = read_only(batches.tasks[since:arrived].sum(axis=0))
        """Tasks of each class that arrived since the decision before this one."""

    def work(self, length_s: float) -> Floats:
        """Tasks of each class that a stage of this length is expected to have to do.

        What is left when it begins, at mean task times, and what arrives in it: known (oracle), or
        as much a second as in the last ``length_s`` seconds (lagged).
        """
        left = self._left_at_begin(length_s)
        return np.asarray(left + self._arriving(self.begins, self.begins + length_s, length_s))

    def load(self, length_s: float) -> Floats:
        """The same in seconds of one VM, at mean task times.

        At least a millionth of the largest, so that no class is without any.
        """
        load = self.work(length_s) * self.mean_seconds
        return np.maximum(load, max(1e-6 * float(load.max()), 1e-12))

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


def check_plan(run: ClustersSimulation, action: Any) -> Plan:
    """An action as a plan, if it is allowed."""
    scenario = run.scenario
    try:
        given, length, *rest = action
        (spent,) = rest or (0,)
        numbers = np.asarray(given)
        shares = numbers.astype(np.int64)
        length = float(length)
        evaluations = int(spent)
        good = len(rest) <= 1 and shares.shape == (len(scenario.classes),)
        good = good and bool((shares == numbers).all()) and evaluations == spent
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise InvalidAction(
            f"action {written(action)} is not allowed: a Plan of whole numbers of VMs for each of "
            f"{len(scenario.classes)} classes, a length in seconds, and evaluations"
        )
    for one, number in zip(scenario.classes, shares, strict=True):
        if number < 1:
            raise InvalidAction(f"{one.name}: {number} VMs are not allowed: at least 1")
    total = int(shares.sum())
    if total > scenario.vms or (total < scenario.vms and not scenario.allow_idle):
        bound = "at most" if scenario.allow_idle else "exactly"
        raise InvalidAction(f"{total} VMs are not allowed: {bound} {scenario.vms} in all")
    if not length >= scenario.least_stage_s:
        raise InvalidAction(
            f"length_s: {length:g} is not allowed: at least {scenario.least_stage_s:g}"
        )
    if evaluations < 0:
        raise InvalidAction(f"evaluations: {evaluations} is not allowed: at least 0")
    return Plan(read_only(shares), length, evaluations)
