"""The tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cloudarena.base.arrow import arrow_column, arrow_table
from cloudarena.engine.gpu_scores import WHOLE
from cloudarena.engine.recorder import recorded
from cloudarena.scenarios.vm.metrics import machine_ticks, machine_watt_ticks
from cloudarena.scenarios.vm.metrics.warm_up import ticks_since
from cloudarena.scenarios.vm.state import REFUSE, SERIES_COLUMNS, Outcome, World
from cloudarena.workloads.vm.columns import CATEGORIES

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.run import VmRun

OUTCOMES = np.array([outcome.name.lower().replace("_", " ") for outcome in Outcome])


def make_tables(run: VmRun) -> dict[str, pa.Table]:
    """All tables; ``machines_series`` only with full recording.

    Of a stream no VM is kept that is over, and no decision.
    """
    tables = {"machines": machines_table(run), "series": series_table(run)}
    if not run.is_streamed:
        tables = {"vms": vms_table(run), "decisions": decisions_table(run), **tables}
    if run.record == "full":
        tables["machines_series"] = machines_series_table(run)
    return tables


def vms_table(run: VmRun) -> pa.Table:
    """One row per request that arrived; ticks; null where it does not apply."""
    vms, workload = run.world.vms, run.workload
    arrived = int(run.world.clock[0]["arrived"])
    outcome = vms.outcome[:arrived]
    placed = vms.machine[:arrived] >= 0
    going_on = (Outcome.WAITING, Outcome.STARTING, Outcome.RUNNING)
    ended = np.isin(outcome, going_on, invert=True)
    nodes = run.world.nodes
    node = {}
    if nodes is not None:
        on_one = placed & ~nodes.is_split[:arrived]
        node["node"] = arrow_column(nodes.of_vm[:arrived], mask=~on_one)
    gpus = run.world.gpus
    if gpus is not None:
        shares = placed & (gpus.wanted[:arrived] == 1) & (gpus.milli[:arrived] < WHOLE)
        node["gpus"] = gpus.wanted[:arrived] * gpus.milli[:arrived] / WHOLE
        node["device"] = arrow_column(gpus.device[:arrived], mask=~shares)
    return arrow_table(
        {
            "vm": run.world.demand.vm_id[:arrived],
            "id": workload.ids[:arrived],
            "arrival": workload.created[:arrived],
            "start": arrow_column(vms.start[:arrived], mask=~placed),
            "end": arrow_column(vms.end[:arrived], mask=~ended),
            "machine": arrow_column(vms.machine[:arrived], mask=~placed),
            **node,
            "outcome": arrow_column(OUTCOMES[outcome]),
            "delay": vms.delay[:arrived],
            "cores": workload.cores[:arrived],
            "memory_gb": workload.memory_gb[:arrived],
            "category": arrow_column(np.array(CATEGORIES)[workload.category[:arrived]]),
            "lifetime": workload.lifetime[:arrived],
        }
    )


def decisions_table(run: VmRun) -> pa.Table:
    """One row per decision, in order: a file for ``--policy replay:FILE``."""
    tick, vm, action, valid = recorded(run.world.decisions).T
    machines = len(run.world.fleet.cores)
    node = np.where(action >= 0, action // machines - 1, -1)
    part = (
        "node" if run.world.nodes is not None else "device" if run.world.gpus is not None else None
    )
    action = np.where(action >= 0, action % machines, action)
    kind = np.where(action >= 0, 0, np.where(action == REFUSE, 1, 2))
    return arrow_table(
        {
            "tick": tick,
            "time_s": tick * run.scenario.tick_seconds,
            "vm": run.world.demand.vm_id[vm],
            "action": arrow_column(np.array(("place", "refuse", "postpone"))[kind]),
            "machine": arrow_column(action, mask=kind != 0),
            **({} if part is None else {part: arrow_column(node, mask=node < 0)}),
            "delays": arrow_column(REFUSE - action, mask=kind != 2),
            "valid_machines": valid,
        }
    )


def machines_table(run: VmRun) -> pa.Table:
    """One row per machine, with its place in the hierarchy; without what a warm-up leaves out."""
    world, scenario = run.world, run.scenario
    counts = int(ticks_since(run) > 0)
    core_ticks = 100.0 * max(1, ticks_since(run)) * world.fleet.cores
    ticks = machine_ticks(run)
    demand = counts * (world.machine_demand_ticks + ticks * world.used)
    oversubscribed = ticks * (world.allocated_cores > world.fleet.cores)
    kinds = scenario.machines
    names = np.repeat(np.array([kind.name for kind in kinds]), [kind.count for kind in kinds])
    levels = scenario.hierarchy
    rack = world.machines.rack
    cluster = rack // levels.racks
    data_centre = cluster // levels.clusters
    zone = data_centre // levels.data_centres
    return arrow_table(
        {
            "machine": np.arange(len(rack)),
            "name": arrow_column(names),
            "region": zone // levels.zones,
            "zone": zone,
            "data_centre": data_centre,
            "cluster": cluster,
            "rack": rack,
            "cores": world.machines.cores,
            "memory_gb": world.machines.memory_gb,
            "energy_kwh": machine_watt_ticks(run) * scenario.tick_seconds / 3.6e6,
            "mean_cpu_utilisation": np.minimum(
                1.0, (demand - counts * world.machine_excess_ticks) / core_ticks
            ),
            "mean_cpu_demand": demand / core_ticks,
            "oversubscribed_ticks": counts * (world.machine_oversubscribed + oversubscribed),
            "overloaded_ticks": counts * world.machine_overloaded,
        }
    )


def series_table(run: VmRun) -> pa.Table:
    """The whole data centre in every recorded tick."""
    ticks = _recorded_ticks(run.world)
    totals = run.world.series.totals[: len(ticks)]
    columns = {name: totals[:, k] for k, name in enumerate(SERIES_COLUMNS)}
    for name in ("live_vms", "waiting", "machines_on"):
        columns[name] = columns[name].astype(np.int64)
    return arrow_table({"tick": ticks, **columns})


def machines_series_table(run: VmRun) -> pa.Table:
    """Every machine in every recorded tick."""
    ticks, machines = _recorded_ticks(run.world), len(run.world.fleet.cores)
    columns = run.world.series._asdict()
    del columns["totals"]
    return arrow_table(
        {
            "tick": np.repeat(ticks, machines),
            "machine": np.tile(np.arange(machines), len(ticks)),
            **{name: values[: len(ticks)].ravel() for name, values in columns.items()},
        }
    )


def _recorded_ticks(world: World) -> np.ndarray:
    return np.arange(0, int(world.clock[0]["tick"]), world.rules.series_every)
