"""The state of a run before its first event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Ints, read_only
from cloudarena.base.errors import SpecError
from cloudarena.contract import RecordLevel
from cloudarena.contract.window import HOURS, SECONDS_PER_HOUR, Window
from cloudarena.engine.bit_sets import make_bit_sets
from cloudarena.engine.hashing import make_key
from cloudarena.engine.indexed_heap import make_indexed_heap, set_time
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.faas.build.classes import Classes, classes_of, forbid
from cloudarena.scenarios.faas.build.extras import build_extras, grids_of
from cloudarena.scenarios.faas.build.functions import build_functions, build_variants
from cloudarena.scenarios.faas.build.growth import empty_replica_rows, free_list
from cloudarena.scenarios.faas.build.network import (
    Infrastructure,
    build_infrastructure,
    build_paths,
)
from cloudarena.scenarios.faas.sources import MOST_AT_ONCE
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.spec.own import own_or
from cloudarena.scenarios.faas.spec.power import GRIDS, MOST_POINTS, Curve, Points
from cloudarena.scenarios.faas.state import (
    CHANGE,
    FUNCTION_SERIES,
    IMAGE,
    INVOCATION,
    METERS,
    MOVED,
    NODE,
    NODE_SERIES,
    NONE,
    POWERED,
    REPLICA_SLOT,
    REQUEST_SLOT,
    RULES,
    SAMPLE,
    TOTALS,
    WHOLE,
    Accelerator,
    Due,
    Evict,
    ImageState,
    Keep,
    Paths,
    PowerModel,
    Predicate,
    Priority,
    Records,
    Resource,
    Router,
    Tier,
    World,
    carbon_type,
    clock_type,
    member,
    seen_nodes,
    word,
)
from cloudarena.workloads.faas.devices import Device
from cloudarena.workloads.faas.drawing import draw_topology
from cloudarena.workloads.faas.requests import Requests
from cloudarena.workloads.faas.topology import mbit

SLOTS = 64
HISTOGRAM = Keep.HYBRID_HISTOGRAM
REPLICA_SLOTS = 256
ROWS = 1024
ROUTE_BYTES = 300.0
"""The least bytes of a route with its links."""
SUMMARY_ROWS = 100_000
"""Invocations and transfers that are kept when not everything is recorded: the first ones."""


WINDOWS = (HOURS,)
"""What the length of a window may be given in."""


def places(scenario: FaasScenario, workload: tuple[Requests, ...], window: Window) -> Ints:
    """The seconds at which windows may begin."""
    if len(workload) > 1:
        raise SpecError("window: is not allowed: there are too many requests to keep them")
    if len(carbon_rows(grids_of(scenario))) > 1:
        raise SpecError("window: is not allowed: the carbon of the grid changes with time")
    return np.arange(max(0, int(scenario.duration_s - window.length * SECONDS_PER_HOUR)) + 1)


def cut(
    scenario: FaasScenario, workload: tuple[Requests, ...], window: Window, place: int
) -> FaasScenario:
    """The scenario of a window, which begins at a second."""
    requests = workload[0]
    length_s = min(window.length * SECONDS_PER_HOUR, scenario.duration_s - place)
    first, behind = np.searchsorted(requests.arrival_s, (place, place + length_s))
    part = Requests(
        requests.arrival_s[first:behind] - place,
        requests.function[first:behind],
        requests.duration_s[first:behind],
        None if requests.held_s is None else requests.held_s[first:behind],
    )
    return scenario.with_workload(part, duration_s=length_s, warmup_s=0.0, load_from_s=None)


def build_world(
    scenario: FaasScenario,
    infrastructure: Infrastructure,
    seed: int,
    record: RecordLevel,
    drawn: tuple[Requests, int],
) -> World:
    """Lays out the arrays, with all requests that will arrive, and no replica.

    Requests are drawn before: the first of them, and in how many windows the others will be.
    """
    requests, later = drawn
    weights = scenario.scheduler.weights()
    known = scenario.devices.known
    classes = classes_of(scenario, infrastructure)
    types = [known[name] for name, _ in classes.kinds]
    devices = [known[name] for name in infrastructure.devices]
    paths, latency_distributions = build_paths(scenario, infrastructure)
    variants, fits, distributions = build_variants(scenario, types)
    forbid(scenario, fits, classes)
    hops = paths.routes._replace(
        distributions=read_only(paths.routes.distributions + len(distributions))
    )
    functions = build_functions(scenario)
    most_bins = int(functions["bins"].max(initial=0, where=functions["keep"] == HISTOGRAM))
    clock = np.zeros(1, clock_type(GRIDS if scenario.has_extras else 1))
    clock["may_place"], clock["changed_node"] = True, NONE
    clock["next_sample"] = np.inf if record == "none" else scenario.sample_s
    grids = grids_of(scenario)
    carbon = carbon_rows(grids)
    by_flows = scenario.topology.kind != "none" and len(carbon) > 1
    clock["next_carbon"] = carbon["begin"][1] if by_flows else np.inf
    clock["next_count"] = scenario.warmup_s or np.inf
    clock["next_look"] = min(clock[f"next_{what}"][0] for what in ("sample", "carbon", "count"))
    clock["windows"] = later
    due = Due(
        nodes=make_indexed_heap(len(devices)),
        replicas=make_indexed_heap(REPLICA_SLOTS),
        finishes=make_indexed_heap(SLOTS),
        timeouts=make_indexed_heap(SLOTS),
        scalers=make_indexed_heap(len(functions)),
    )
    for function in np.flatnonzero(functions["interval_s"] < np.inf):
        set_time(due.scalers, function, functions["interval_s"][function])
    if scenario.power.off_after_s is not None:
        for node in range(len(devices)):
            set_time(due.nodes, node, scenario.power.off_after_s)
    nodes = build_nodes(scenario, devices, classes, paths)
    records = build_records(record, len(devices), len(functions))
    samples = len(records.nodes)
    extras = None
    if scenario.has_extras:
        extras = build_extras(scenario, infrastructure, nodes, samples, REPLICA_SLOTS)
    images = np.zeros((len(devices), int(variants["image"].max()) + 1), IMAGE)
    images["state"] = ImageState.THERE if scenario.network.preloaded else ImageState.ABSENT
    return World(
        clock=clock,
        rules=build_rules(scenario, seed, record, int(functions["workers"].max())),
        carbon=carbon,
        weights=np.array([weights.get(word(priority), 0.0) for priority in Priority]),
        arrivals=read_only(requests.arrival_s),
        arriving=read_only(requests.function.astype(np.int32)),
        nodes=nodes,
        scores=np.zeros((len(Priority), len(devices))),
        images=images,
        variants=variants,
        fits=fits,
        distributions=np.concatenate((distributions, latency_distributions)),
        functions=functions,
        lacking=np.ones(len(functions), np.bool_),
        blocked=np.zeros(len(functions), np.bool_),
        gaps=np.zeros((len(functions), most_bins + 1), np.int64),
        members=np.zeros((len(functions), REPLICA_SLOTS), np.int64),
        idle=make_bit_sets(len(functions), REPLICA_SLOTS),
        replicas=free_list(np.zeros(REPLICA_SLOTS, REPLICA_SLOT), 0),
        slots=free_list(np.zeros(SLOTS, REQUEST_SLOT), 0),
        due=due,
        paths=paths._replace(routes=hops),
        responses=np.empty(len(requests.arrival_s)),
        responded=np.empty(len(requests.arrival_s), np.int32),
        records=records,
        seen=seen_nodes(np.zeros((len(Priority), len(devices)))),
        extras=extras,
    )


def drawing(scenario: FaasScenario, seed: int) -> str:
    """The topology of a seed as a tree; the empty string without one."""
    topology = build_infrastructure(scenario, seed).topology
    return "" if topology is None else draw_topology(topology)


def build_rules(
    scenario: FaasScenario, seed: int, record: RecordLevel, most_workers: int
) -> NDArray[np.void]:
    """The numbers of the spec."""
    rules, off = np.zeros(1, RULES), scenario.power.off_after_s
    rules["end_s"] = scenario.duration_s
    rules["most_workers"] = most_workers
    rules["router"] = member(Router, own_or(scenario.router))
    rules["evict"] = member(Evict, own_or(scenario.evict))
    rules["contention"] = scenario.contention.model == "shared"
    rules["requests_on_network"] = scenario.network.requests
    rules["network"] = scenario.topology.kind != "none"
    rules["bandwidth"] = mbit(scenario.network.bandwidth_mbps)
    rules["scheduling_s"] = scenario.scheduler.delay_s
    rules["off_after_s"] = np.inf if off is None else off
    rules["sample_s"], rules["horizon_s"] = scenario.sample_s, scenario.scheduler.horizon_s
    rules["rows"], rules["all_rows"] = record != "none", record == "full"
    rules["measures"] = scenario.measure is not None
    for purpose in ("execution", "latency", "origin", "router", "start", "setup", "failure"):
        rules[f"{purpose}_key"] = make_key(seed, purpose)
    most_j = scenario.scheduler.most_invocation_j
    rules["most_invocation_j"] = np.inf if most_j is None else most_j
    rules["limited"] = most_j is not None or bool(scenario.scheduler.most_node_w)
    rules["neighbours"] = any(
        one.placement.near or one.placement.apart or one.placement.per_node
        for one in scenario.functions
    )
    rules["predicates"] = [word(one) in scenario.scheduler.predicates for one in Predicate]
    return rules


def carbon_rows(grids: Sequence[Sequence[tuple[float, float]]]) -> NDArray[np.void]:
    """The intensities of grids from each time on at which one changes, and their integrals."""
    begin = np.array(sorted({time for grid in grids for time, _ in grid}))
    rows = np.zeros(len(begin), carbon_type(len(grids)))
    rows["begin"] = begin
    for k, grid in enumerate(grids):
        times, grams = np.array(grid, np.float64).T
        held = np.searchsorted(times, begin, side="right") - 1
        rows["g_per_j"][:, k] = grams[held] / JOULES_PER_KWH
    steps = rows["g_per_j"][:-1] * np.diff(begin)[:, None]
    rows["total"][1:] = np.cumsum(steps, axis=0)
    return rows


def build_nodes(
    scenario: FaasScenario, devices: list[Device], classes: Classes, paths: Paths
) -> NDArray[np.void]:
    """All nodes on, without replicas, their meters at zero."""
    nodes, power = np.zeros(len(devices), NODE), scenario.power
    nodes["device_type"] = classes.of_node
    nodes["tier"] = [member(Tier, device.tier) for device in devices]
    nodes["accelerator"] = [member(Accelerator, device.accelerator) for device in devices]
    nodes["cores"] = [device.cores for device in devices]
    nodes["free_cpu"] = nodes["cores"] * 1000
    nodes["memory"] = nodes["free_memory"] = [device.memory_bytes for device in devices]
    nodes["accelerator_memory"] = [accelerator_room(device) for device in devices]
    nodes["free_accelerator_memory"] = nodes["accelerator_memory"]
    of_type = {device: _power(scenario, device) for device in set(devices)}
    models = [of_type[device] for device in devices]
    for name in (
        *("idle_w", "model", "coefficient_w", "exponent"),
        *("points", "points_at", "segments"),
    ):
        nodes[name] = [model[name] for model in models]
    nodes["slope_w"] = nodes["coefficient_w"] / WHOLE
    bytes_s = np.array([device.nic_bytes_s for device in devices])
    nodes["byte_j"] = nodes["coefficient_w"][:, Resource.NETWORK] / bytes_s
    nodes["transfer_w"] = nodes["byte_j"] * mbit(scenario.network.bandwidth_mbps)
    boot_w = nodes["idle_w"] + [model["busy_w"] for model in models]
    nodes["boot_w"] = boot_w if power.boot_w is None else power.boot_w
    nodes["off_w"], nodes["boot_s"] = power.off_w, power.boot_s
    budgets = scenario.scheduler.most_node_w
    nodes["most_w"] = [budgets.get(device.name, np.inf) for device in devices]
    nodes["cap_w"] = [
        _cap_w(scenario, device.name, idle)
        for device, idle in zip(devices, nodes["idle_w"], strict=True)
    ]
    nodes["throttle"] = nodes["slowed"] = 1.0
    nodes["supply"] = NONE
    for name in ("power_w", "base_w", "share_w"):
        nodes[name] = nodes["idle_w"]
    nodes["first_slot"] = nodes["first_replica"] = NONE
    nodes["stretch"] = 1.0
    if scenario.topology.kind != "none":
        nodes["pull"] = np.arange(len(devices))
        nodes["pull_byte_s"] = 1.0 / paths.routes.bytes_s[: len(devices)]
    return nodes


def _cap_w(scenario: FaasScenario, device: str, idle_w: float) -> float:
    """The most that a node can draw, which is more than idle."""
    cap = scenario.power.caps.get(device, np.inf)
    if cap <= idle_w:
        raise SpecError(
            f"power.caps: {device}: {cap:g} is not allowed: more than its idle power, {idle_w:g}"
        )
    return cap


def accelerator_room(device: Device) -> int:
    """Memory of an accelerator; one without a known size has room for one replica."""
    return 0 if device.accelerator == "none" else max(1, device.accelerator_memory_bytes)


def _power(scenario: FaasScenario, device: Device) -> dict[str, Any]:
    """The power model of a device: the spec's, or the published one."""
    given = scenario.power_of(device)
    kind, exponent, segments = PowerModel.LINEAR, 1.0, 0
    points, points_at = np.zeros(MOST_POINTS), np.zeros(MOST_POINTS)
    if isinstance(given, Points):
        levels = np.array(given.levels())
        idle, cpu = float(levels[0]), float(levels[-1] - levels[0])
        kind = PowerModel.POINTS
        points[: len(levels)] = levels - idle
        if given.points is not None:
            kind, segments = PowerModel.LINES, len(levels) - 1
            points_at[: len(levels)] = [use for use, _ in given.points]
    elif isinstance(given, Curve):
        kind, exponent = PowerModel.CURVE, given.r
        idle, cpu = given.idle_w, given.busy_w - given.idle_w
    else:
        idle, cpu = given.idle_w, given.cpu_w
    return {
        "model": kind,
        "idle_w": idle,
        "busy_w": cpu,
        "coefficient_w": (cpu, *given.others_w(device)),
        "exponent": exponent,
        "points": points,
        "points_at": points_at,
        "segments": segments,
    }


def build_records(record: RecordLevel, nodes: int, functions: int) -> Records:
    """Room for rows, as far as they are recorded."""
    full = record == "full"
    rows = 0 if record == "none" else ROWS
    first = ROWS if full else (0 if record == "none" else SUMMARY_ROWS)
    return Records(
        invocations=np.zeros(first, INVOCATION),
        replicas=empty_replica_rows(rows),
        changes=np.zeros(rows, CHANGE),
        moved=np.zeros(first, MOVED),
        samples=np.zeros(rows, SAMPLE),
        nodes=np.zeros((rows if full else 0, nodes, NODE_SERIES)),
        functions=np.zeros((rows if full else 0, functions, FUNCTION_SERIES)),
        spent=np.zeros((2 if full else 0, functions, FUNCTION_SERIES)),
        uses=np.zeros((rows if full else 0, functions, POWERED)),
        used=np.zeros((functions if full else 0, POWERED)),
        used_since=np.zeros(nodes),
        meters=np.zeros((2, nodes), METERS),
        totals=np.zeros(2, TOTALS),
    )


def memory_needs(scenario: FaasScenario, record: RecordLevel) -> tuple[float, str]:
    """The most of what routes, requests and rows take at least."""
    nodes, requests = scenario.node_count, scenario.expected_requests()
    forget = all(f.requests.source in ("none", "poisson", "sine") for f in scenario.functions)
    held = min(requests, MOST_AT_ONCE) if forget else requests
    full, functions = record == "full", len(scenario.functions)
    samples, topology = scenario.duration_s / scenario.sample_s, scenario.topology.kind
    return max(
        (scenario.routes() * ROUTE_BYTES, f"devices: {nodes}, topology: {topology}"),
        (held * 24.0, f"requests: {requests:.3g}"),
        (full * requests * INVOCATION.itemsize, f"record: full, requests: {requests:.3g}"),
        (
            full * samples * 8.0 * (nodes * NODE_SERIES + functions * (FUNCTION_SERIES + POWERED)),
            f"record: full, sample_s: {scenario.sample_s:g}",
        ),
    )
