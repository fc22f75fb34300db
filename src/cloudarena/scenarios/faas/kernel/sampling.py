"""The series of a run: means over intervals, so that a sum over them is what was used.

Samples only look at meters and never move them, so that a run that records nothing gives the same
numbers to the last bit.
"""

from __future__ import annotations

from cloudarena.engine.compiled import inner, separate
from cloudarena.engine.flows import left_of
from cloudarena.scenarios.faas.state import NONE, WHOLE, NodeState, Record, Resource, World


@inner
def read_meters(node: Record, now: float, shown: Record) -> None:
    """What the meters of a node show now, but for flows under way."""
    seconds, with_state = now - node.since, now - node.base_since
    network = node.transfers * node.transfer_w * (now - node.transfers_since)
    shown.network = node.network_j + network
    shown.energy = node.energy_j + node.power_w * seconds + network
    shown.idle = node.base_j + node.base_w * with_state
    shown.on = node.on_s
    if node.state != NodeState.OFF:
        shown.on += with_state
    shown.running = node.running_s + node.running * seconds
    shown.cpu = (node.cpu_s + min(node.load[Resource.CPU], WHOLE) * seconds) / WHOLE


@separate
def read_flows(world: World) -> None:
    """Adds what flows under way have used, and nobody has counted yet, at both their ends."""
    paths, now, shown = world.paths, world.clock[0].now, world.records.meters[1]
    for flow in range(len(paths.purposes)):
        what = paths.purposes[flow]
        if paths.flows.slots[flow].route == NONE or what.node == what.other:
            continue
        amount = what.bytes - left_of(paths.flows, flow, now) - what.metered
        for k in range(2):
            end = what.node if k == 0 else what.other
            if end < len(world.nodes):
                energy = amount * world.nodes[end].byte_j
                shown[end].network += energy
                shown[end].energy += energy


@separate
def sample(world: World) -> None:
    """Keeps the means over the time since the last sample."""
    clock, records, rules = world.clock[0], world.records, world.rules[0]
    begin = clock.samples * rules.sample_s
    seconds = clock.now - begin
    clock.next_sample = (clock.samples + 2) * rules.sample_s
    if seconds <= 0.0:
        return
    now, totals = clock.now, records.totals
    for number in range(len(world.nodes)):
        read_meters(world.nodes[number], now, records.meters[1, number])
    if rules.network:
        read_flows(world)
    totals[1].replicas = clock.replicas_s + clock.replicas * (now - clock.replicas_until_s)
    totals[1].waiting = 0.0
    for number in range(len(world.functions)):
        function = world.functions[number]
        waits = function.waiting + function.queued
        totals[1].waiting += function.integrals[1] + waits * (now - function.metered_s)
    row = records.samples[clock.samples]
    row.time, row.seconds = begin, seconds
    row.replicas = (totals[1].replicas - totals[0].replicas) / seconds
    row.waiting = (totals[1].waiting - totals[0].waiting) / seconds
    row.power = row.idle = row.network = row.nodes_on = row.running = 0.0
    for number in range(len(world.nodes)):
        before, after = records.meters[0, number], records.meters[1, number]
        power = (after.energy - before.energy) / seconds
        row.power += power
        row.idle += (after.idle - before.idle) / seconds
        row.network += (after.network - before.network) / seconds
        row.nodes_on += (after.on - before.on) / seconds
        row.running += (after.running - before.running) / seconds
        if len(records.nodes) > 0:
            records.nodes[clock.samples, number, 0] = power
            records.nodes[clock.samples, number, 1] = (after.cpu - before.cpu) / seconds
        records.meters[0, number] = after
    records.totals[0] = totals[1]
    clock.samples += 1
