"""The state of a run before its first event."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import SpecError
from cloudarena.contract import RecordLevel
from cloudarena.contract.window import HOURS, Window, end_of_window, whole_windows
from cloudarena.engine.calendar import make_calendar
from cloudarena.engine.dag import child_lists
from cloudarena.engine.linked_list import ENDS, NONE
from cloudarena.scenarios.workflow.spec import WorkflowScenario
from cloudarena.scenarios.workflow.state import (
    CLOCK,
    LEASE,
    MOMENT,
    PLACEMENT,
    TOTALS,
    Containers,
    Demand,
    Nodes,
    Progress,
    Rules,
    Servers,
    World,
    empty_nodes,
)
from cloudarena.workloads.workflow.columns import (
    WorkflowWorkload,
    slice_workflows,
    workflows_of_functions,
)
from cloudarena.workloads.workflow.paths import critical_path_s, remaining_path_s
from cloudarena.workloads.workflow.template import offsets

SLOTS = 1024
ROWS = 4096
WINDOWS = ("workflows", HOURS)
"""What the length of a window may be given in."""


def places(scenario: WorkflowScenario, workload: WorkflowWorkload, window: Window) -> Ints:
    """The workflows with which windows may begin."""
    return np.arange(max(1, whole_windows(workload.arrival, window.unit, window.length)))


def cut(
    scenario: WorkflowScenario, workload: WorkflowWorkload, window: Window, place: int
) -> WorkflowScenario:
    """The scenario of a window, which begins with a workflow."""
    end = end_of_window(workload.arrival, place, window.unit, window.length)
    return scenario.with_workload(slice_workflows(workload, place, end - place))


def arrivals_s(scenario: WorkflowScenario, workload: WorkflowWorkload) -> Floats:
    """When each workflow arrives, in seconds."""
    return workload.arrival


def build_world(
    scenario: WorkflowScenario, workload: WorkflowWorkload, record: RecordLevel
) -> World:
    """Lays out the arrays; refuses numbers that cannot be counted with."""
    cluster, functions = scenario.cluster, len(workload.computation)
    most = int(workload.parallelism.max()) * cluster.single_core_speed
    if most * max(kind.numa_nodes.memory for kind, _ in scenario.servers) >= 2**63:
        raise SpecError(
            f"cluster.single_core_speed: {cluster.single_core_speed} is not allowed: times the "
            "largest memory and parallelism it must be less than 2^63"
        )
    nodes = _nodes(scenario)
    servers = len(scenario.servers)
    clock = np.zeros(1, CLOCK)
    clock["pending"] = clock["last_node"] = -1
    clock["spare"] = SLOTS
    recorded = record != "none"
    weight = scenario.objective.weight
    return World(
        rules=Rules(
            float(cluster.memory_bandwidth),
            float(cluster.numa_bandwidth),
            float(cluster.network_bandwidth),
            scenario.transfer == "parallel",
            scenario.admission == "strict",
            scenario.admission == "backfill",
            weight,
            (1 - weight) * scenario.objective.rent_scale,
        ),
        demand=_demand(scenario, workload),
        nodes=nodes,
        servers=Servers(
            first_node=offsets(np.array([kind.numa_nodes.count for kind, _ in scenario.servers])),
            latency=np.array([kind.cold_start_latency for kind, _ in scenario.servers]),
            expiry=np.zeros(servers),
            boot_end=np.zeros(servers),
            latest=np.full(len(nodes.server), -np.inf),
        ),
        containers=Containers(
            function=np.full(SLOTS, -1),
            node=np.full(SLOTS, -1),
            spare=np.arange(SLOTS)[::-1].copy(),
            waiting=np.full(len(nodes.server), NONE, np.dtype(ENDS)),
        ),
        progress=Progress(
            parents_left=np.diff(workload.first_parent),
            node=np.full(functions, -1),
            functions_left=np.diff(workload.first_function),
            completion=np.full(len(workload.arrival), np.inf),
        ),
        submissions=make_calendar(functions),
        creations=make_calendar(SLOTS),
        clock=clock,
        totals=np.zeros(1, TOTALS),
        placements=_placements(functions if recorded else 0),
        leases=np.zeros(ROWS if recorded else 0, LEASE),
        moments=np.zeros(ROWS if recorded else 0, MOMENT),
        last_moment=np.full(len(nodes.server), -1),
        bytes_on_node=np.zeros(len(nodes.server), np.int64),
        bytes_on_server=np.zeros(servers, np.int64),
    )


def _placements(functions: int) -> NDArray[np.void]:
    """Rows in which nothing has happened yet."""
    rows = np.zeros(functions, PLACEMENT)
    for name in PLACEMENT.names or ():
        if name != "memory":
            rows[name] = np.nan
    return rows


def _nodes(scenario: WorkflowScenario) -> Nodes:
    """All nodes idle, no server rented."""
    kinds = [kind for kind, _ in scenario.servers]
    repeat = [kind.numa_nodes.count for kind in kinds]

    def column(values: list[float]) -> NDArray[np.float64]:
        return np.repeat(np.array(values, np.float64), repeat)

    count = scenario.node_count
    speed = scenario.cluster.single_core_speed
    nodes = empty_nodes(count, SLOTS, speed, scenario.work == "integer")
    nodes.cores[:] = column([kind.numa_nodes.cpu for kind in kinds])
    nodes.memory[:] = nodes.free_memory[:] = column([kind.numa_nodes.memory for kind in kinds])
    nodes.hourly_rate[:] = column([kind.hourly_rate for kind in kinds])
    nodes.server[:] = np.repeat(np.arange(len(kinds)), repeat)
    return nodes._replace(memory_options=np.array(scenario.memory_options, np.int64))


def _demand(scenario: WorkflowScenario, workload: WorkflowWorkload) -> Demand:
    speed = scenario.cluster.single_core_speed
    first_child, children = child_lists(workload.first_parent, workload.parents)
    ids = np.array(workload.workflow_ids.to_pylist())
    by_id = np.argsort(ids, kind="stable")
    sizes = np.diff(workload.first_function)
    rank = np.empty(len(ids), np.int64)
    rank[by_id] = offsets(sizes[by_id])[:-1]
    shown_id = np.empty(len(ids), np.int64)
    shown_id[by_id] = ids[by_id] if ids.dtype.kind == "i" else np.arange(len(ids))
    return Demand(
        arrival=workload.arrival,
        shown_id=shown_id,
        rank=rank,
        first_function=workload.first_function,
        workflow=workflows_of_functions(workload),
        computation=workload.computation,
        memory_req=workload.memory_req,
        parallelism=workload.parallelism,
        first_parent=workload.first_parent,
        parents=workload.parents,
        parent_bytes=workload.parent_bytes,
        first_child=first_child,
        children=children,
        remaining_path=remaining_path_s(workload, speed),
        critical_path=critical_path_s(workload, speed),
    )


def memory_needs(scenario: WorkflowScenario, record: RecordLevel) -> tuple[float, str]:
    """Nothing is known before the workflows are: what a run holds grows with them."""
    return 0.0, ""
