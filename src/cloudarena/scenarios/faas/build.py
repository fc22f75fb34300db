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
from cloudarena.scenarios.faas.build_functions import build_functions, build_variants
from cloudarena.scenarios.faas.build_network import Ground, build_paths
from cloudarena.scenarios.faas.policies import PARAMETERS
from cloudarena.scenarios.faas.sources import draw_requests
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.state import (
    ACCELERATORS,
    CARBON,
    CHANGE,
    CLOCK,
    CURVE,
    INVOCATION,
    LINEAR,
    METER,
    MOVED,
    NODE,
    NONE,
    POINTS,
    PREDICATES,
    PRIORITIES,
    REPLICA,
    REPLICA_SLOT,
    REQUEST_SLOT,
    RESOURCES,
    ROUTERS,
    SAMPLE,
    TIERS,
    Due,
    Images,
    Paths,
    Records,
    Rules,
    World,
)
from cloudarena.workloads.faas_devices import DEVICES, Device
from cloudarena.workloads.faas_topology import mbit

SLOTS = 1024
REPLICA_SLOTS = 256
ROWS = 1024
SUMMARY_ROWS = 100_000
"""Invocations and transfers that are kept when not everything is recorded: the first ones."""


def build_world(scenario: FaasScenario, ground: Ground, seed: int, record: RecordLevel) -> World:
    """Lays out the arrays, with all requests that will arrive, and no replica."""
    requests = draw_requests(
        scenario.functions, scenario.trace, scenario.duration_s, seed, scenario.load_scale
    )
    types = [DEVICES[name] for name in ground.types]
    devices = [DEVICES[name] for name in ground.devices]
    paths, latency_laws = build_paths(scenario, ground)
    variants, fits = build_variants(scenario, types)
    hops = paths.routes._replace(laws=paths.routes.laws + len(fits.laws))
    nodes = build_nodes(scenario, ground, devices)
    clock = np.zeros(1, CLOCK)
    clock["looks"] = True
    clock["spare_slots"], clock["spare_replicas"] = SLOTS, REPLICA_SLOTS
    functions = build_functions(scenario)
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
    shape = (len(devices), int(variants["image"].max()) + 1)
    return World(
        rules=build_rules(scenario, seed, int(functions["workers"].max())),
        arrivals=requests.arrival_s,
        arriving=requests.function.astype(np.int32),
        nodes=nodes,
        load=np.zeros((len(devices), len(RESOURCES)), np.int64),
        scores=np.zeros((len(PRIORITIES), len(devices))),
        meters=build_meters(scenario, nodes, devices, paths),
        images=Images(np.full(shape, 2 if scenario.network.preloaded else 0), np.zeros(shape)),
        variants=variants,
        fits=fits._replace(laws=np.concatenate((fits.laws, latency_laws))),
        functions=functions,
        members=np.zeros((len(functions), REPLICA_SLOTS), np.int64),
        replicas=np.zeros(REPLICA_SLOTS, REPLICA_SLOT),
        slots=np.zeros(SLOTS, REQUEST_SLOT),
        spare_replicas=np.arange(REPLICA_SLOTS)[::-1].copy(),
        spare_slots=np.arange(SLOTS)[::-1].copy(),
        due=due,
        paths=paths._replace(routes=hops),
        responses=np.empty(ROWS),
        responded=np.empty(ROWS, np.int32),
        records=build_records(record, len(devices)),
        clock=clock,
    )


def build_rules(scenario: FaasScenario, seed: int, most_workers: int) -> Rules:
    """The numbers of the spec."""
    predicates = np.array([name in scenario.scheduler.predicates for name in PREDICATES])
    off = scenario.power.off_after_s
    return Rules(
        end_s=scenario.duration_s,
        most_workers=most_workers,
        router=ROUTERS.index(scenario.router),
        contention=scenario.contention.model == "shared",
        requests_on_network=scenario.network.requests,
        network=scenario.topology.kind != "none",
        bandwidth=mbit(scenario.network.bandwidth_mbps),
        scheduling_s=scenario.scheduler.delay_s,
        off_after_s=np.inf if off is None else off,
        sample_s=scenario.sample_s,
        execution_key=make_key(seed, "execution"),
        latency_key=make_key(seed, "latency"),
        origin_key=make_key(seed, "origin"),
        router_key=make_key(seed, "router"),
        predicates=predicates,
        weights=np.array(scenario.scheduler.weights()),
        parameters=np.zeros(PARAMETERS),
        carbon=carbon_rows(scenario.carbon.series or ((0.0, scenario.carbon.g_per_kwh),)),
    )


def carbon_rows(series: Sequence[tuple[float, float]]) -> NDArray[np.void]:
    """The grid's intensity, and its integral up to each row."""
    rows = np.zeros(len(series), CARBON)
    begin, grams = np.array(series, np.float64).T
    rows["begin"], rows["g_per_j"] = begin, grams / JOULES_PER_KWH
    rows["total"][1:] = np.cumsum(rows["g_per_j"][:-1] * np.diff(begin))
    return rows


def build_nodes(scenario: FaasScenario, ground: Ground, devices: list[Device]) -> NDArray[np.void]:
    """All nodes on, without replicas."""
    nodes = np.zeros(len(devices), NODE)
    nodes["device_type"] = [ground.types.index(name) for name in ground.devices]
    nodes["tier"] = [TIERS.index(device.tier) for device in devices]
    nodes["accelerator"] = [ACCELERATORS.index(device.accelerator) for device in devices]
    nodes["cores"] = [device.cores for device in devices]
    nodes["free_cpu"] = nodes["cores"] * 1000
    nodes["memory"] = nodes["free_memory"] = [device.memory_bytes for device in devices]
    nodes["accelerator_memory"] = [accelerator_room(device) for device in devices]
    nodes["free_accelerator_memory"] = nodes["accelerator_memory"]
    nodes["idle_w"] = [_power(scenario, device)["idle"] for device in devices]
    nodes["power_w"] = nodes["idle_w"]
    return nodes


def accelerator_room(device: Device) -> int:
    """Memory of an accelerator; one without a known size has room for one replica."""
    return 0 if device.accelerator == "none" else max(1, device.accelerator_memory_bytes)


def build_meters(
    scenario: FaasScenario, nodes: NDArray[np.void], devices: list[Device], paths: Paths
) -> NDArray[np.void]:
    """All meters at zero."""
    power, meters = scenario.power, np.zeros(len(devices), METER)
    models = [_power(scenario, device) for device in devices]
    for name in ("model", "coefficient_w", "exponent", "points"):
        meters[name] = [model[name] for model in models]
    boot_w = nodes["idle_w"] + [model["busy"] for model in models]
    meters["boot_w"] = boot_w if power.boot_w is None else power.boot_w
    meters["off_w"], meters["boot_s"] = power.off_w, power.boot_s
    meters["first_slot"] = meters["first_replica"] = NONE
    meters["stretch"] = 1.0
    meters["share_w"] = nodes["idle_w"]
    if scenario.topology.kind != "none":
        meters["pull"] = np.arange(len(devices))
        meters["pull_byte_s"] = 1.0 / paths.routes.bytes_s[: len(devices)]
    return meters


def _power(scenario: FaasScenario, device: Device) -> dict[str, Any]:
    """The power model of a device: the spec's, or the published one."""
    given = scenario.power.devices.get(device.name)
    published = device.power
    if given is None:
        cpu, idle = published.cpu_w, published.idle_w
        others = (published.accelerator_w, 0.0, published.network_w, published.memory_w)
    else:
        others = (given.accelerator_w, given.disk_w, given.network_w, given.memory_w)
    kind, exponent, points = LINEAR, 1.0, np.zeros(11)
    if given is not None and given.model == "points":
        kind, idle, cpu = POINTS, given.watts[0], given.watts[-1] - given.watts[0]
        points = np.array(given.watts) - idle
    elif given is not None and given.model == "curve":
        kind, idle, cpu, exponent = CURVE, given.idle_w, given.busy_w - given.idle_w, given.r
    elif given is not None:
        idle, cpu = given.idle_w, given.cpu_w
    return {
        "model": kind,
        "idle": idle,
        "busy": cpu,
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
        all_rows=full,
    )


def empty_replica_rows(count: int) -> NDArray[np.void]:
    """Rows of replicas for which nothing has happened."""
    rows = np.zeros(count, REPLICA)
    for name in REPLICA.names or ():
        if REPLICA[name].kind == "f":
            rows[name] = np.nan
    return rows
