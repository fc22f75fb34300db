"""The series of a run: means over intervals, so that a sum over them is what was used.

Samples only look at meters and never move them, so that a run that records nothing gives the same
numbers to the last bit. What each function uses of nodes is counted for the series alone.
"""

from __future__ import annotations

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.max_min import left_of
from cloudarena.scenarios.faas.kernel.execution import count_use
from cloudarena.scenarios.faas.kernel.supplies import sample_charges
from cloudarena.scenarios.faas.state import (
    FUNCTION_SERIES,
    NONE,
    POWERED,
    WHOLE,
    ImageState,
    NodeState,
    Record,
    RequestState,
    Resource,
    World,
)


@jit_inline
def read_meters(node: Record, now: float, shown: Record) -> None:
    """What the meters of a node show now, but for flows under way."""
    seconds, with_state = now - node.since, now - node.base_since
    network = node.transfers * node.transfer_w * (now - node.transfers_since)
    shown.network = node.network_j + network
    shown.energy = node.energy_j + node.power_w * seconds + network
    shown.idle = node.base_j + node.base_w * with_state
    shown.on = node.on_s
    if node.state == NodeState.ON or node.state == NodeState.BOOTING:
        shown.on += with_state
    shown.running = node.running_s + node.running * seconds
    for resource in range(POWERED):
        use = node.use_s[resource] + min(node.load[resource], WHOLE) * seconds
        shown.use[resource] = use / WHOLE


@jit_call
def read_flows(world: World) -> None:
    """Adds what flows under way have used, and nobody has counted yet, at both their ends."""
    paths, now, shown = world.paths, world.clock[0].now, world.records.meters[1]
    spent = world.records.spent
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
                if len(spent) > 0:
                    spent[1, what.function, 2] += energy


@jit_call
def read_functions(world: World) -> None:
    """What each function has used so far: executions, cold starts, network, idle shares.

    What flows under way have used is added after it.
    """
    now, spent, by_itself = world.clock[0].now, world.records.spent[1], not world.rules[0].network
    for index in range(len(world.functions)):
        function = world.functions[index]
        spent[index, 0], spent[index, 1] = function.dynamic_j, function.start_j
        spent[index, 2], spent[index, 3] = function.network_j, function.idle_j
    for index in range(len(world.nodes)):
        node = world.nodes[index]
        seconds, with_state = now - node.since, now - node.base_since
        cpu_j = node.unit_j[Resource.CPU] + node.unit_w[Resource.CPU] * seconds
        following = node.first_replica
        while following != NONE:
            replica = world.replicas[following]
            used = spent[replica.function]
            used[1] += replica.claim * (cpu_j - replica.claim_j)
            used[3] += node.share_j + node.share_w * with_state - replica.share_j
            if by_itself and replica.fetching:
                used[2] += node.transfer_w * (now - replica.fetching_s)
            following = replica.next
        for image in range(world.images.shape[1]):
            pull = world.images[index, image]
            if by_itself and pull.state == ImageState.ON_ITS_WAY:
                spent[pull.function, 2] += node.transfer_w * (now - pull.since)
    for index in range(len(world.slots)):
        slot = world.slots[index]
        if slot.state == RequestState.EXECUTING:
            replica = world.replicas[slot.replica]
            node = world.nodes[replica.node]
            fit = world.fits[replica.variant, node.device_type]
            for resource in range(POWERED):
                unit = node.unit_j[resource] + node.unit_w[resource] * (now - node.since)
                spent[slot.function, 0] += fit.claim[resource] * (unit - slot.unit_j[resource])
        elif by_itself and (
            slot.state == RequestState.DOWNLOADING or slot.state == RequestState.UPLOADING
        ):
            spent[slot.function, 2] += world.nodes[slot.node].transfer_w * (now - slot.since)


@jit_call
def sample(world: World) -> None:
    """Keeps the means over the time since the last sample."""
    clock, records, rules = world.clock[0], world.records, world.rules[0]
    begin = clock.samples * rules.sample_s
    seconds = clock.now - begin
    clock.next_sample = (clock.samples + 2) * rules.sample_s
    if seconds <= 0.0:
        return
    now, totals = clock.now, records.totals
    for index in range(len(world.nodes)):
        read_meters(world.nodes[index], now, records.meters[1, index])
    if len(records.spent) > 0:
        read_functions(world)
    if rules.network:
        read_flows(world)
    totals[1].replicas = clock.replicas_s + clock.replicas * (now - clock.replicas_until_s)
    totals[1].waiting = 0.0
    for index in range(len(world.functions)):
        function = world.functions[index]
        waits = function.waiting + function.queued
        totals[1].waiting += function.integrals[1] + waits * (now - function.metered_s)
    row = records.samples[clock.samples]
    row.time, row.seconds = begin, seconds
    row.replicas = (totals[1].replicas - totals[0].replicas) / seconds
    row.waiting = (totals[1].waiting - totals[0].waiting) / seconds
    row.power = row.idle = row.network = row.nodes_on = row.running = 0.0
    for index in range(len(world.nodes)):
        before, after = records.meters[0, index], records.meters[1, index]
        power = (after.energy - before.energy) / seconds
        row.power += power
        row.idle += (after.idle - before.idle) / seconds
        row.network += (after.network - before.network) / seconds
        row.nodes_on += (after.on - before.on) / seconds
        row.running += (after.running - before.running) / seconds
        if len(records.nodes) > 0:
            figures = records.nodes[clock.samples, index]
            figures[0], figures[1] = power, (after.idle - before.idle) / seconds
            figures[2] = (after.network - before.network) / seconds
            for resource in range(POWERED):
                used = after.use[resource] - before.use[resource]
                figures[3 + resource] = used / seconds
        records.meters[0, index] = after
    if len(records.spent) > 0:
        for index in range(len(world.nodes)):
            count_use(world, index)
        for index in range(len(world.functions)):
            for resource in range(POWERED):
                records.uses[clock.samples, index, resource] = (
                    records.used[index, resource] / seconds
                )
                records.used[index, resource] = 0.0
            for part in range(FUNCTION_SERIES):
                used = records.spent[1, index, part] - records.spent[0, index, part]
                records.functions[clock.samples, index, part] = used / seconds
                records.spent[0, index, part] = records.spent[1, index, part]
    records.totals[0] = totals[1]
    sample_charges(world, world.extras)
    clock.samples += 1
