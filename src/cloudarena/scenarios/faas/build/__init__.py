"""The state of a run before its first event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract import RecordLevel
from cloudarena.engine.alarms import make_alarms, set_alarm
from cloudarena.engine.hashing import make_key
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.faas.build.functions import build_functions, build_variants
from cloudarena.scenarios.faas.build.growth import empty_replica_rows, free_list
from cloudarena.scenarios.faas.build.network import Ground, build_paths
from cloudarena.scenarios.faas.sources import MOST_AT_ONCE, count_windows, draw_requests
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import (
    CARBON,
    CHANGE,
    CLOCK,
    IMAGE,
    INVOCATION,
    METERS,
    MOVED,
    NODE,
    NONE,
    REPLICA_SLOT,
    REQUEST_SLOT,
    RULES,
    SAMPLE,
    TOTALS,
    WHOLE,
    Accelerator,
    Due,
    ImageState,
    Paths,
    PowerModel,
    Predicate,
    Priority,
    Records,
    Resource,
    Router,
    Tier,
    World,
    member,
    word,
)
from cloudarena.workloads.faas.devices import DEVICES, Device
from cloudarena.workloads.faas.topology import mbit

SLOTS = 64
REPLICA_SLOTS = 256
ROWS = 1024
ROUTE_BYTES = 300.0
"""At least, of a route with its links."""
SUMMARY_ROWS = 100_000
"""Invocations and transfers that are kept when not everything is recorded: the first ones."""


def build_world(scenario: FaasScenario, ground: Ground, seed: int, record: RecordLevel) -> World:
    """Lays out the arrays, with all requests that will arrive, and no replica."""
    span = (scenario.functions, scenario.trace, scenario.duration_s)
    requests = draw_requests(*span, seed, scenario.load_scale)
    weights = scenario.scheduler.weights()
    types = [DEVICES[name] for name in ground.types]
    devices = [DEVICES[name] for name in ground.devices]
    paths, latency_laws = build_paths(scenario, ground)
    variants, fits, laws = build_variants(scenario, types)
    hops = paths.routes._replace(laws=paths.routes.laws + len(laws))
    functions = build_functions(scenario)
    clock = np.zeros(1, CLOCK)
    clock["looks"], clock["unsettled"] = True, NONE
    clock["next_sample"] = np.inf if record == "none" else scenario.sample_s
    carbon = carbon_rows(scenario.carbon.series or ((0.0, scenario.carbon.g_per_kwh),))
    by_flows = scenario.topology.kind != "none" and len(carbon) > 1
    clock["next_carbon"] = carbon["begin"][1] if by_flows else np.inf
    clock["next_look"] = np.minimum(clock["next_sample"], clock["next_carbon"])
    clock["windows"] = count_windows(*span, scenario.load_scale) - 1
    due = Due(
        nodes=make_alarms(len(devices)),
        replicas=make_alarms(REPLICA_SLOTS),
        finishes=make_alarms(SLOTS),
        timeouts=make_alarms(SLOTS),
        scalers=make_alarms(len(functions)),
    )
    for function in np.flatnonzero(functions["interval_s"] < np.inf):
        set_alarm(due.scalers, function, functions["interval_s"][function])
    if scenario.power.off_after_s is not None:
        for node in range(len(devices)):
            set_alarm(due.nodes, node, scenario.power.off_after_s)
    images = np.zeros((len(devices), int(variants["image"].max()) + 1), IMAGE)
    images["state"] = ImageState.THERE if scenario.network.preloaded else ImageState.ABSENT
    return World(
        clock=clock,
        rules=build_rules(scenario, seed, record, int(functions["workers"].max())),
        carbon=carbon,
        weights=np.array([weights.get(word(priority), 0.0) for priority in Priority]),
        arrivals=requests.arrival_s,
        arriving=requests.function.astype(np.int32),
        nodes=build_nodes(scenario, ground, devices, paths),
        scores=np.zeros((len(Priority), len(devices))),
        images=images,
        variants=variants,
        fits=fits,
        laws=np.concatenate((laws, latency_laws)),
        functions=functions,
        members=np.zeros((len(functions), REPLICA_SLOTS), np.int64),
        replicas=free_list(np.zeros(REPLICA_SLOTS, REPLICA_SLOT), 0),
        slots=free_list(np.zeros(SLOTS, REQUEST_SLOT), 0),
        due=due,
        paths=paths._replace(routes=hops),
        responses=np.empty(len(requests.arrival_s)),
        responded=np.empty(len(requests.arrival_s), np.int32),
        records=build_records(record, len(devices)),
    )


def build_rules(
    scenario: FaasScenario, seed: int, record: RecordLevel, most_workers: int
) -> NDArray[np.void]:
    """The numbers of the spec."""
    rules, off = np.zeros(1, RULES), scenario.power.off_after_s
    rules["end_s"] = scenario.duration_s
    rules["most_workers"] = most_workers
    rules["router"] = member(Router, scenario.router)
    rules["contention"] = scenario.contention.model == "shared"
    rules["requests_on_network"] = scenario.network.requests
    rules["network"] = scenario.topology.kind != "none"
    rules["bandwidth"] = mbit(scenario.network.bandwidth_mbps)
    rules["scheduling_s"] = scenario.scheduler.delay_s
    rules["off_after_s"] = np.inf if off is None else off
    rules["sample_s"], rules["horizon_s"] = scenario.sample_s, scenario.scheduler.horizon_s
    rules["rows"], rules["all_rows"] = record != "none", record == "full"
    for purpose in ("execution", "latency", "origin", "router", "start"):
        rules[f"{purpose}_key"] = make_key(seed, purpose)
    rules["predicates"] = [word(one) in scenario.scheduler.predicates for one in Predicate]
    return rules


def carbon_rows(series: Sequence[tuple[float, float]]) -> NDArray[np.void]:
    """The grid's intensity, and its integral up to each row."""
    rows = np.zeros(len(series), CARBON)
    begin, grams = np.array(series, np.float64).T
    rows["begin"], rows["g_per_j"] = begin, grams / JOULES_PER_KWH
    rows["total"][1:] = np.cumsum(rows["g_per_j"][:-1] * np.diff(begin))
    return rows


def build_nodes(
    scenario: FaasScenario, ground: Ground, devices: list[Device], paths: Paths
) -> NDArray[np.void]:
    """All nodes on, without replicas, their meters at zero."""
    nodes, power = np.zeros(len(devices), NODE), scenario.power
    nodes["device_type"] = [ground.types.index(name) for name in ground.devices]
    nodes["tier"] = [member(Tier, device.tier) for device in devices]
    nodes["accelerator"] = [member(Accelerator, device.accelerator) for device in devices]
    nodes["cores"] = [device.cores for device in devices]
    nodes["free_cpu"] = nodes["cores"] * 1000
    nodes["memory"] = nodes["free_memory"] = [device.memory_bytes for device in devices]
    nodes["accelerator_memory"] = [accelerator_room(device) for device in devices]
    nodes["free_accelerator_memory"] = nodes["accelerator_memory"]
    models = [_power(scenario, device) for device in devices]
    for name in ("idle_w", "model", "coefficient_w", "exponent", "points"):
        nodes[name] = [model[name] for model in models]
    nodes["slope_w"] = nodes["coefficient_w"] / WHOLE
    bytes_s = np.array([device.nic_bytes_s for device in devices])
    nodes["byte_j"] = nodes["coefficient_w"][:, Resource.NETWORK] / bytes_s
    nodes["transfer_w"] = nodes["byte_j"] * mbit(scenario.network.bandwidth_mbps)
    boot_w = nodes["idle_w"] + [model["busy_w"] for model in models]
    nodes["boot_w"] = boot_w if power.boot_w is None else power.boot_w
    nodes["off_w"], nodes["boot_s"] = power.off_w, power.boot_s
    for name in ("power_w", "base_w", "share_w"):
        nodes[name] = nodes["idle_w"]
    nodes["first_slot"] = nodes["first_replica"] = NONE
    nodes["stretch"] = 1.0
    if scenario.topology.kind != "none":
        nodes["pull"] = np.arange(len(devices))
        nodes["pull_byte_s"] = 1.0 / paths.routes.bytes_s[: len(devices)]
    return nodes


def accelerator_room(device: Device) -> int:
    """Memory of an accelerator; one without a known size has room for one replica."""
    return 0 if device.accelerator == "none" else max(1, device.accelerator_memory_bytes)


def _power(scenario: FaasScenario, device: Device) -> dict[str, Any]:
    """The power model of a device: the spec's, or the published one."""
    given = scenario.power.devices.get(device.name)
    published = device.power
    if given is None:
        cpu, idle = published.cpu_w, published.idle_w
        others = (published.accelerator_w, 0.0, published.network_w, published.memory_w)
    else:
        others = (given.accelerator_w, given.disk_w, given.network_w, given.memory_w)
    kind, exponent, points = PowerModel.LINEAR, 1.0, np.zeros(11)
    if given is not None and given.model == "points":
        kind, idle, cpu = PowerModel.POINTS, given.watts[0], given.watts[-1] - given.watts[0]
        points = np.array(given.watts) - idle
    elif given is not None and given.model == "curve":
        kind, idle, cpu, exponent = (
            PowerModel.CURVE,
            given.idle_w,
            given.busy_w - given.idle_w,
            given.r,
        )
    elif given is not None:
        idle, cpu = given.idle_w, given.cpu_w
    return {
        "model": kind,
        "idle_w": idle,
        "busy_w": cpu,
        "coefficient_w": (cpu, *others),
        "exponent": exponent,
        "points": points,
    }


def build_records(record: RecordLevel, nodes: int) -> Records:
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
        nodes=np.zeros((rows if full else 0, nodes, 2)),
        meters=np.zeros((2, nodes), METERS),
        totals=np.zeros(2, TOTALS),
    )


def memory_needs(scenario: FaasScenario, record: RecordLevel) -> tuple[float, str]:
    """The most of what routes, requests and rows take at least."""
    nodes, requests = scenario.devices.number, scenario.expected_requests()
    forget = all(f.requests.source in ("none", "poisson", "sine") for f in scenario.functions)
    held = min(requests, MOST_AT_ONCE) if forget else requests
    full = record == "full"
    samples, topology = scenario.duration_s / scenario.sample_s, scenario.topology.kind
    return max(
        (scenario.routes() * ROUTE_BYTES, f"devices: {nodes}, topology: {topology}"),
        (held * 24.0, f"requests: {requests:.3g}"),
        (full * requests * INVOCATION.itemsize, f"record: full, requests: {requests:.3g}"),
        (full * samples * nodes * 16.0, f"record: full, sample_s: {scenario.sample_s:g}"),
    )
