"""The state of a run before anything has happened."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints, read_only
from cloudarena.contract import RecordLevel
from cloudarena.contract.window import HOURS, Window, end_of_window, whole_windows
from cloudarena.engine.streams import stream
from cloudarena.scenarios.clusters.build.outages import changes_of, outages
from cloudarena.scenarios.clusters.sources import Distribution
from cloudarena.scenarios.clusters.spec import ClustersScenario
from cloudarena.scenarios.clusters.state import (
    CLOCK,
    PLAN,
    RULE_COUNT,
    STAGE,
    Rules,
    Total,
    Works,
    World,
)
from cloudarena.workloads.clusters.batches import Batches

LEAST_SECONDS = 1e-9
"""The shortest time of a task: a rate must be finite."""
FIRST_ROOM = 64
"""Decisions for which there is room at the start."""


WINDOWS = ("batches", HOURS)
"""What the length of a window may be given in."""


def places(scenario: ClustersScenario, workload: Batches, window: Window) -> Ints:
    """The batches with which windows may begin."""
    return np.arange(max(1, whole_windows(workload.times, window.unit, window.length)))


def cut(
    scenario: ClustersScenario, workload: Batches, window: Window, place: int
) -> ClustersScenario:
    """The scenario of a window, which begins with a batch; task times are drawn for the window."""
    behind = end_of_window(workload.times, place, window.unit, window.length)
    times = workload.times[place:behind] - workload.times[place]
    return scenario.with_workload(
        workload._replace(times=times, tasks=workload.tasks[place:behind].copy())
    )


def arrivals_s(scenario: ClustersScenario, workload: Batches) -> Floats:
    """When each batch arrives, in seconds."""
    return workload.times


def build_world(scenario: ClustersScenario, batches: Batches, seed: int) -> World:
    """Draws the task time and memory of each batch and class: the same for all policies.

    A class draws by its name, so that its position among the others and their distributions do not
    matter.
    """
    count, classes = batches.tasks.shape

    def drawn(distribution: Distribution, purpose: str, name: str) -> Floats:
        factors = distribution.factors(stream(seed, f"{purpose}/{name}"), count)
        return np.asarray(distribution.mean * factors)

    times = [drawn(one.seconds, "task times", one.name) for one in scenario.classes]
    memory = [drawn(one.memory_mb, "memory", one.name) for one in scenario.classes]
    tasks = batches.tasks.astype(np.float64)
    seconds = np.ascontiguousarray(np.maximum(np.transpose(times), LEAST_SECONDS))
    groups = scenario.groups
    cluster_of = np.zeros(classes, np.int64)
    for index, group in enumerate(groups):
        cluster_of[list(group.classes)] = index
    cluster_vms = np.array([group.vms for group in groups], np.int64)
    changes, up_before = changes_of(scenario.vms, outages(scenario, batches, seed))
    return World(
        rules=Rules(
            vms=scenario.vms,
            allow_idle=scenario.allow_idle,
            squared=scenario.memory == "theta_squared",
            oracle=scenario.information == "oracle",
            pipelined=scenario.pipelined,
            decide_seconds=scenario.decide_seconds,
            stage_s=scenario.stage_s,
            least_stage_s=scenario.least_stage_s,
        ),
        times=read_only(batches.times),
        tasks=read_only(tasks),
        arrived=read_only(np.insert(np.cumsum(tasks, axis=0), 0, 0.0, axis=0)),
        seconds=read_only(seconds),
        memory_mb=read_only(np.ascontiguousarray(np.transpose(memory))),
        mean_seconds=read_only(np.array([one.seconds.mean for one in scenario.classes])),
        mean_memory_mb=read_only(np.array([one.memory_mb.mean for one in scenario.classes])),
        changes=read_only(changes),
        up_before=read_only(up_before),
        start=np.full(tasks.shape, np.nan),
        finish=np.full(tasks.shape, np.nan),
        head=np.zeros(classes, np.int64),
        left=tasks[0] * seconds[0],
        done=np.zeros(classes),
        totals=np.zeros(len(Total)),
        class_totals=np.zeros((classes, len(Total))),
        cluster_of=read_only(cluster_of),
        cluster_vms=read_only(cluster_vms),
        cluster_first=read_only(np.cumsum(cluster_vms) - cluster_vms),
        largest_work=np.zeros(len(groups)),
        next_vm=np.zeros(len(groups), np.int64),
        clock=np.zeros(1, CLOCK),
        plans=np.zeros(FIRST_ROOM, PLAN),
        plan_shares=np.zeros((FIRST_ROOM, classes), np.int64),
        stages=np.zeros(FIRST_ROOM, STAGE),
        stage_done=np.zeros((FIRST_ROOM, classes)),
        works=np.zeros((len(Works), classes)),
        rule_shares=np.zeros((RULE_COUNT, classes), np.int64),
        rule_has=np.zeros(RULE_COUNT, np.int64),
    )


def memory_needs(scenario: ClustersScenario, record: RecordLevel) -> tuple[float, str]:
    """Nothing is known before the batches are drawn or read."""
    return 0.0, ""
