"""Requests: from their arrival to their end.

A request is routed at its arrival to a replica that is ready, waits there for a worker, first in
first out, and may be rejected when the queue is full. While a function has no replica that is
ready, its requests wait for one, and later ones wait behind them; a worker that is free takes from
its replica's queue first and then from these.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import set_alarm
from cloudarena.engine.compiled import separate
from cloudarena.engine.hashing import uniform
from cloudarena.scenarios.faas.execution import begin_execution, end_execution
from cloudarena.scenarios.faas.replicas import is_empty, meter_function, stop
from cloudarena.scenarios.faas.state import (
    COMPLETED,
    DOWNLOAD,
    DOWNLOADING,
    DRAINING,
    EXECUTING,
    LEAST_LOADED,
    LOCALITY,
    NEWEST,
    NONE,
    PER_REQUEST,
    QUEUED,
    RANDOM,
    REJECTED,
    REQUEST,
    REQUESTING,
    RESPONDING,
    RESPONSE,
    RUNNING,
    TIMED_OUT,
    UNUSED,
    UPLOAD,
    UPLOADING,
    WAITING,
    World,
)
from cloudarena.scenarios.faas.transfers import (
    begin_data,
    begin_message,
    client_of,
    end_flow,
    latency_s,
)


@separate
def count_requests(world: World, change: int) -> None:
    """Adds up how many requests are in the system, and changes their number."""
    clock = world.clock[0]
    clock.in_system_s += clock.in_system * (clock.now - clock.metered_s)
    clock.metered_s = clock.now
    clock.in_system += change


@separate
def append(world: World, slot: int, firsts: np.ndarray, lasts: np.ndarray, line: int) -> None:
    """Puts a request at the end of a line."""
    slots, last = world.slots, lasts[line]
    slots[slot].next, slots[slot].before = NONE, last
    if last == NONE:
        firsts[line] = slot
    else:
        slots[last].next = slot
    lasts[line] = slot


@separate
def remove(world: World, slot: int, firsts: np.ndarray, lasts: np.ndarray, line: int) -> None:
    """Takes a request out of a line."""
    slots = world.slots
    before, following = slots[slot].before, slots[slot].next
    if before == NONE:
        firsts[line] = following
    else:
        slots[before].next = following
    if following == NONE:
        lasts[line] = before
    else:
        slots[following].before = before


@separate
def work_of(world: World, replica: int) -> int:
    """How many requests a replica has or is about to have."""
    replicas = world.replicas
    return replicas[replica].busy + replicas[replica].queued + replicas[replica].coming


@separate
def least_loaded(world: World, function: int, client: int) -> int:
    """The ready replica with the fewest requests; nearer ones first if a client is given."""
    functions, best, least, nearest = world.functions, NONE, 0, 0.0
    for k in range(functions[function].ready):
        replica = world.members[function, k]
        work, distance = work_of(world, replica), 0.0
        if client != NONE:
            distance = world.paths.clients[client, world.replicas[replica].node].latency_s
        if best == NONE or distance < nearest or (distance == nearest and work < least):
            best, least, nearest = replica, work, distance
    return best


@separate
def newest_free(world: World, function: int) -> int:
    """The ready replica that came last of those with a free worker; NONE if there is none."""
    functions, replicas = world.functions, world.replicas
    best = NONE
    for k in range(functions[function].ready):
        replica = world.members[function, k]
        free = work_of(world, replica) < functions[function].workers
        if free and (best == NONE or replicas[replica].number > replicas[best].number):
            best = replica
    return best


@separate
def route(world: World, function: int, number: int) -> int:
    """The ready replica that takes a request. There is at least one."""
    functions, router = world.functions, world.rules.router
    ready = functions[function].ready
    if router == LEAST_LOADED:
        return least_loaded(world, function, NONE)
    if router == LOCALITY:
        return least_loaded(world, function, client_of(world, function, number))
    if router == RANDOM:
        place = int(uniform(world.rules.router_key, function, number) * ready)
        return world.members[function, place]
    if router == NEWEST:
        free = newest_free(world, function)
        return free if free != NONE else least_loaded(world, function, NONE)
    place = functions[function].turn % ready
    functions[function].turn = place + 1
    return world.members[function, place]


@separate
def arrive(world: World, function: int) -> None:
    """A request arrives and is routed, or waits for a replica."""
    clock, functions, slots = world.clock[0], world.functions, world.slots
    number = functions[function].arrived
    functions[function].arrived += 1
    functions[function].integrals[0] += 1.0
    count_requests(world, 1)
    clock.spare_slots -= 1
    slot = world.spare_slots[clock.spare_slots]
    slots[slot].function, slots[slot].number = function, number
    slots[slot].replica, slots[slot].flow = NONE, NONE
    slots[slot].cold = False
    slots[slot].arrival = slots[slot].since = clock.now
    slots[slot].waited = slots[slot].executed = slots[slot].energy_j = 0.0
    slots[slot].start = np.nan
    if functions[function].timeout_s < np.inf:
        set_alarm(world.due.timeouts, slot, clock.now + functions[function].timeout_s)
    if functions[function].scaler == PER_REQUEST:
        arrive_at_new_or_free(world, slot, function)
    elif functions[function].ready == 0 or functions[function].waiting > 0:
        wait(world, slot, function)
    else:
        dispatch(world, slot, route(world, function, number))


@separate
def arrive_at_new_or_free(world: World, slot: int, function: int) -> None:
    """A request goes to the newest replica that is free; else a new one is started for it."""
    functions = world.functions
    free = newest_free(world, function)
    if free != NONE and functions[function].waiting == 0:
        dispatch(world, slot, free)
    elif functions[function].placed < functions[function].maximum:
        wait(world, slot, function)
        starting = functions[function].placed - functions[function].ready
        if functions[function].waiting > starting * functions[function].workers:
            functions[function].wanted = functions[function].placed + 1
            world.clock[0].looks = True
    else:
        finish(world, slot, REJECTED)


@separate
def wait(world: World, slot: int, function: int) -> None:
    """A request waits until its function has a replica that is ready."""
    functions = world.functions
    meter_function(world, function)
    world.slots[slot].state = WAITING
    append(world, slot, functions["first_waiting"], functions["last_waiting"], function)
    functions[function].waiting += 1
    if functions[function].wanted == 0:
        functions[function].wanted = 1
        functions[function].changed_s = world.clock[0].now
        record_change(world, function, 0, 1, False)
        world.clock[0].looks = True


@separate
def record_change(world: World, function: int, before: int, after: int, by_scaler: bool) -> None:
    """Keeps that the number of replicas that a function should have has changed."""
    clock, rows = world.clock[0], world.records.changes
    if len(rows) > 0:
        row = rows[clock.changes]
        row.time, row.function, row.before, row.after = clock.now, function, before, after
        row.by_scaler = by_scaler
        clock.changes += 1


@separate
def dispatch(world: World, slot: int, replica: int) -> None:
    """A request is sent to a replica; it is rejected if there is no room."""
    functions, replicas, slots = world.functions, world.replicas, world.slots
    function, now = slots[slot].function, world.clock[0].now
    free = functions[function].workers - replicas[replica].busy
    ahead = replicas[replica].queued + replicas[replica].coming - free
    if ahead >= functions[function].queue_limit:
        finish(world, slot, REJECTED)
        return
    slots[slot].replica = replica
    set_alarm(world.due.replicas, replica, np.inf)
    if not world.rules.requests_on_network:
        reach(world, slot)
        return
    slots[slot].state = REQUESTING
    replicas[replica].coming += 1
    slots[slot].waited += now - slots[slot].since
    set_alarm(world.due.finishes, slot, now + latency_s(world, slot, REQUEST))


@separate
def reach(world: World, slot: int) -> None:
    """A request is at its replica: it gets a worker, or waits for one."""
    functions, replicas, slots = world.functions, world.replicas, world.slots
    function, replica = slots[slot].function, slots[slot].replica
    if replicas[replica].busy < functions[function].workers:
        take_up(world, slot)
        return
    meter_function(world, function)
    slots[slot].state = QUEUED
    append(world, slot, replicas["first"], replicas["last"], replica)
    replicas[replica].queued += 1
    functions[function].queued += 1


@separate
def take_up(world: World, slot: int) -> None:
    """A worker takes up a request: fetches its data, or executes it at once."""
    functions, replicas, slots = world.functions, world.replicas, world.slots
    function, replica, now = slots[slot].function, slots[slot].replica, world.clock[0].now
    replicas[replica].busy += 1
    replicas[replica].served += 1
    functions[function].held += 1
    slots[slot].waited += now - slots[slot].since
    slots[slot].start = now
    slots[slot].state = DOWNLOADING
    node, bucket = replicas[replica].node, functions[function].bucket
    amount = world.variants[replicas[replica].variant].input_bytes
    slots[slot].flow, seconds = begin_data(world, DOWNLOAD, slot, bucket, node, amount)
    if seconds > 0.0:
        set_alarm(world.due.finishes, slot, now + seconds)
    else:
        execute(world, slot)


@separate
def execute(world: World, slot: int) -> None:
    """A request executes."""
    meter_function(world, world.slots[slot].function)
    world.slots[slot].state = EXECUTING
    begin_execution(world, slot)


@separate
def executed(world: World, slot: int) -> None:
    """A request has executed: its data is stored."""
    functions, slots = world.functions, world.slots
    function, now = slots[slot].function, world.clock[0].now
    meter_function(world, function)
    end_execution(world, slot)
    slots[slot].state = UPLOADING
    replica, bucket = slots[slot].replica, functions[function].bucket
    node = world.replicas[replica].node
    amount = world.variants[world.replicas[replica].variant].output_bytes
    slots[slot].flow, seconds = begin_data(world, UPLOAD, slot, bucket, node, amount)
    if seconds > 0.0:
        set_alarm(world.due.finishes, slot, now + seconds)
    else:
        stored(world, slot)


@separate
def stored(world: World, slot: int) -> None:
    """A request is done with its worker, and its response is sent."""
    slots, replica = world.slots, world.slots[slot].replica
    if world.rules.requests_on_network:
        slots[slot].state = RESPONDING
        set_alarm(world.due.finishes, slot, world.clock[0].now + latency_s(world, slot, RESPONSE))
        free_worker(world, replica)
        return
    finish(world, slot, COMPLETED)
    free_worker(world, replica)


@separate
def free_worker(world: World, replica: int) -> None:
    """A worker has nothing to do: it takes up the next request, or its replica may end."""
    functions, replicas = world.functions, world.replicas
    function = replicas[replica].function
    replicas[replica].busy -= 1
    functions[function].held -= 1
    if replicas[replica].queued > 0:
        slot = replicas[replica].first
        meter_function(world, function)
        remove(world, slot, replicas["first"], replicas["last"], replica)
        replicas[replica].queued -= 1
        functions[function].queued -= 1
        take_up(world, slot)
    elif replicas[replica].state == RUNNING:
        serve_waiting(world, replica)
        look_if_idle(world, replica)
    elif replicas[replica].state == DRAINING and is_empty(world, replica):
        stop(world, replica)


@separate
def serve_waiting(world: World, replica: int) -> None:
    """Free workers of a replica that is ready take up requests that wait for one."""
    functions, replicas = world.functions, world.replicas
    function = replicas[replica].function
    while functions[function].waiting > 0 and work_of(world, replica) < functions[function].workers:
        slot = functions[function].first_waiting
        meter_function(world, function)
        remove(world, slot, functions["first_waiting"], functions["last_waiting"], function)
        functions[function].waiting -= 1
        world.slots[slot].cold = replicas[replica].ready_s >= world.slots[slot].arrival
        dispatch(world, slot, replica)


@separate
def look_if_idle(world: World, replica: int) -> None:
    """A replica of a function that scales by request ends when it has been idle for long."""
    function = world.replicas[replica].function
    if world.functions[function].scaler == PER_REQUEST and is_empty(world, replica):
        expiry = world.clock[0].now + world.functions[function].expiry_s
        set_alarm(world.due.replicas, replica, expiry)


@separate
def finish(world: World, slot: int, outcome: int) -> None:
    """A request ends; its slot is free."""
    clock, functions, slots, records = world.clock[0], world.functions, world.slots, world.records
    function, replica = slots[slot].function, slots[slot].replica
    count_requests(world, -1)
    functions[function].outcomes[outcome] += 1
    if outcome == COMPLETED:
        response = clock.now - slots[slot].arrival
        world.responses[clock.completed] = response
        world.responded[clock.completed] = function
        clock.completed += 1
        functions[function].response_s += response
        functions[function].waited_s += slots[slot].waited
        functions[function].executed_s += slots[slot].executed
        functions[function].cold += slots[slot].cold
    if clock.invocations < len(records.invocations):
        row = records.invocations[clock.invocations]
        clock.invocations += 1
        row.function, row.number, row.outcome = function, slots[slot].number, outcome
        row.cold = slots[slot].cold
        row.replica = world.replicas[replica].number if replica != NONE else NONE
        row.node = world.replicas[replica].node if replica != NONE else NONE
        row.arrival, row.start, row.finish = slots[slot].arrival, slots[slot].start, clock.now
        row.waited, row.executed = slots[slot].waited, slots[slot].executed
        row.energy = slots[slot].energy_j
    set_alarm(world.due.timeouts, slot, np.inf)
    set_alarm(world.due.finishes, slot, np.inf)
    slots[slot].state = UNUSED
    world.spare_slots[clock.spare_slots] = slot
    clock.spare_slots += 1


@separate
def time_out(world: World, slot: int) -> None:
    """A request is given up wherever it is; a worker that it held is free."""
    functions, replicas, slots = world.functions, world.replicas, world.slots
    function, replica, state = slots[slot].function, slots[slot].replica, slots[slot].state
    now = world.clock[0].now
    meter_function(world, function)
    if slots[slot].flow != NONE:
        end_flow(world, slots[slot].flow, function)
        slots[slot].flow = NONE
    if state == WAITING:
        remove(world, slot, functions["first_waiting"], functions["last_waiting"], function)
        functions[function].waiting -= 1
        slots[slot].waited += now - slots[slot].since
    elif state == QUEUED:
        remove(world, slot, replicas["first"], replicas["last"], replica)
        replicas[replica].queued -= 1
        functions[function].queued -= 1
        slots[slot].waited += now - slots[slot].since
    elif state == REQUESTING:
        replicas[replica].coming -= 1
    elif state == EXECUTING:
        end_execution(world, slot)
    finish(world, slot, TIMED_OUT)
    if state in (DOWNLOADING, EXECUTING, UPLOADING):
        free_worker(world, replica)
    elif state == REQUESTING:
        if replicas[replica].state == DRAINING and is_empty(world, replica):
            stop(world, replica)
        elif replicas[replica].state == RUNNING:
            serve_waiting(world, replica)
            look_if_idle(world, replica)


@separate
def alarm_of_request(world: World, slot: int) -> None:
    """What a request was doing is done, or its latency has passed and its bytes begin to move."""
    functions, slots = world.functions, world.slots
    function, state = slots[slot].function, slots[slot].state
    set_alarm(world.due.finishes, slot, np.inf)
    if state == EXECUTING:
        executed(world, slot)
    elif state == DOWNLOADING:
        execute(world, slot)
    elif state == UPLOADING:
        stored(world, slot)
    else:
        outward = state == RESPONDING
        purpose = RESPONSE if outward else REQUEST
        amount = functions[function].request_bytes
        if outward:
            amount = functions[function].response_bytes
        slots[slot].flow = begin_message(world, purpose, slot, amount)


@separate
def moved(world: World, slot: int) -> None:
    """The flow of a request has got there."""
    slots, now = world.slots, world.clock[0].now
    end_flow(world, slots[slot].flow, slots[slot].function)
    slots[slot].flow = NONE
    state = slots[slot].state
    if state == DOWNLOADING:
        execute(world, slot)
    elif state == UPLOADING:
        stored(world, slot)
    elif state == RESPONDING:
        finish(world, slot, COMPLETED)
    else:
        world.replicas[slots[slot].replica].coming -= 1
        slots[slot].since = now
        reach(world, slot)
