"""Requests: from their arrival to their end.

A request is routed at its arrival to a replica that is ready, waits there for a worker, first in
first out, and may be rejected when the queue is full. While a function has no replica that is
ready, its requests wait for one, and later ones wait behind them; a worker that is free takes from
its replica's queue first and then from these.

Most requests arrive, execute and complete without a network. That way is short and becomes part of
the kernel's loop: ``arrive`` and ``complete`` return the request that a worker takes up now, and
the kernel hands it to ``take_up``. What happens less often are calls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.alarms import set_alarm
from cloudarena.engine.compiled import inner, separate
from cloudarena.scenarios.faas.kernel.execution import (
    begin_execution,
    end_execution,
    meter_function,
)
from cloudarena.scenarios.faas.kernel.replicas import stop
from cloudarena.scenarios.faas.kernel.routing import newest_free, route, work_of
from cloudarena.scenarios.faas.kernel.transfers import (
    ask_message,
    end_flow,
    end_transfer,
    latency_s,
    transfer_s,
)
from cloudarena.scenarios.faas.state import (
    NONE,
    Outcome,
    Phase,
    Record,
    RequestState,
    Scaler,
    Transfer,
    World,
)


@inner
def count_requests(clock: Record, change: int) -> None:
    """Adds up how many requests are in the system, and changes their number."""
    clock.in_system_s += clock.in_system * (clock.now - clock.metered_s)
    clock.metered_s = clock.now
    clock.in_system += change


@inner
def append(slots: NDArray[np.void], line: Record, number: int) -> None:
    """Puts a request at the end of a line: that of a function, or of a replica."""
    slot, last = slots[number], line.last
    slot.next, slot.before = NONE, last
    if last == NONE:
        line.first = number
    else:
        slots[last].next = number
    line.last = number


@inner
def remove(slots: NDArray[np.void], line: Record, number: int) -> None:
    """Takes a request out of a line."""
    before, following = slots[number].before, slots[number].next
    if before == NONE:
        line.first = following
    else:
        slots[before].next = following
    if following == NONE:
        line.last = before
    else:
        slots[following].before = before


@inner
def arrive(world: World, which: int) -> int:
    """A request for a function arrives; returns it if a worker takes it up now, else NONE."""
    clock, function = world.clock[0], world.functions[which]
    number = clock.free_slot
    slot = world.slots[number]
    clock.free_slot = slot.next
    count_requests(clock, 1)
    slot.function, slot.number = which, function.arrived
    slot.replica, slot.flow, slot.cold = NONE, NONE, False
    slot.arrival = slot.since = clock.now
    slot.waited = slot.executed = slot.energy_j = 0.0
    slot.start = np.nan
    function.arrived += 1
    function.integrals[0] += 1.0
    if function.timeout_s < np.inf:
        set_alarm(world.due.timeouts, number, clock.now + function.timeout_s)
    if function.scaler == Scaler.PER_REQUEST:
        replica = newest_free(world, which) if function.waiting == 0 else NONE
        if replica == NONE:
            wait_or_reject(world, number)
            return NONE
    elif function.ready == 0 or function.waiting > 0:
        wait(world, number)
        return NONE
    else:
        replica = route(world, which, slot.number)
    return dispatch(world, number, replica)


@separate
def wait_or_reject(world: World, number: int) -> None:
    """No worker is free: a request waits, for a new replica if need be.

    It is rejected if all workers that the function may have are busy or waited for.
    """
    function = world.functions[world.slots[number].function]
    if function.waiting >= (function.maximum - function.ready) * function.workers:
        reject(world, number)
        return
    wait(world, number)
    want_for_waiting(function)
    if function.wanted > function.placed:
        world.clock[0].looks = True


@inner
def want_for_waiting(function: Record) -> None:
    """A function that scales by request should have a worker for each of those that wait."""
    needed = (function.waiting + function.workers - 1) // function.workers
    wanted = max(function.ready + needed, function.placed, function.minimum)
    function.wanted = min(wanted, function.maximum)


@separate
def wait(world: World, number: int) -> None:
    """A request waits until its function has a replica that is ready."""
    clock, slot = world.clock[0], world.slots[number]
    function = world.functions[slot.function]
    meter_function(function, clock.now)
    slot.state = RequestState.WAITING
    append(world.slots, function, number)
    function.waiting += 1
    if function.wanted == 0:
        function.wanted, function.changed_s = 1, clock.now
        record_change(world, slot.function, 0, 1, False)
        clock.looks = True


@inner
def record_change(world: World, function: int, before: int, after: int, by_scaler: bool) -> None:
    """Keeps that the number of replicas that a function should have has changed."""
    clock = world.clock[0]
    if world.rules[0].rows:
        row = world.records.changes[clock.changes]
        row.time, row.function, row.before, row.after = clock.now, function, before, after
        row.by_scaler = by_scaler
        clock.changes += 1


@inner
def dispatch(world: World, number: int, to: int) -> int:
    """A request is sent to a replica, or rejected; returns it if a worker takes it up now."""
    slot, replica = world.slots[number], world.replicas[to]
    function = world.functions[slot.function]
    if work_of(replica) - function.workers >= function.queue_limit:
        reject(world, number)
        return NONE
    slot.replica, slot.replica_number, slot.node = to, replica.number, replica.node
    if function.scaler == Scaler.PER_REQUEST:
        set_alarm(world.due.replicas, to, np.inf)
    if world.rules[0].requests_on_network:
        send(world, number)
        return NONE
    return reach(world, number)


@inner
def reach(world: World, number: int) -> int:
    """A request is at its replica; returns it if there is a worker for it, else it waits."""
    slot = world.slots[number]
    function, replica = world.functions[slot.function], world.replicas[slot.replica]
    if replica.busy < function.workers:
        return number
    meter_function(function, world.clock[0].now)
    slot.state = RequestState.QUEUED
    append(world.slots, replica, number)
    replica.queued += 1
    function.queued += 1
    return NONE


@separate
def send(world: World, number: int) -> None:
    """A request goes over the network to its replica."""
    slot, now = world.slots[number], world.clock[0].now
    slot.state = RequestState.REQUESTING
    world.replicas[slot.replica].coming += 1
    slot.waited += now - slot.since
    set_alarm(world.due.finishes, number, now + latency_s(world, number))


@inner
def take_up(world: World, number: int) -> None:
    """A worker takes up a request: fetches its data, or executes it at once."""
    slot, now = world.slots[number], world.clock[0].now
    replica = world.replicas[slot.replica]
    replica.busy += 1
    replica.served += 1
    world.functions[slot.function].held += 1
    slot.waited += now - slot.since
    slot.start = now
    if world.variants[replica.variant].input_bytes > 0.0:
        fetch(world, number)
    else:
        begin_execution(world, number)


@separate
def take_up_apart(world: World, number: int) -> None:
    """As ``take_up``, which is large, for what happens less often."""
    take_up(world, number)


@separate
def execute(world: World, number: int) -> None:
    """A request has its data and executes."""
    begin_execution(world, number)


@separate
def fetch(world: World, number: int) -> None:
    """A request fetches its data."""
    slot = world.slots[number]
    slot.state = RequestState.DOWNLOADING
    variant = world.variants[world.replicas[slot.replica].variant]
    if not moves_data(world, number, variant.input_bytes):
        execute(world, number)


@inner
def moves_data(world: World, number: int, amount: float) -> bool:
    """Data of a request moves; whether that takes time."""
    slot, now = world.slots[number], world.clock[0].now
    purpose = Transfer.UPLOAD if slot.state == RequestState.UPLOADING else Transfer.DOWNLOAD
    node = world.replicas[slot.replica].node
    seconds = transfer_s(world, purpose, number, slot.function, node, amount)
    if seconds > 0.0:
        slot.since = now
        set_alarm(world.due.finishes, number, now + seconds)
    return seconds > 0.0


@inner
def complete(world: World, number: int) -> int:
    """A request has executed; returns the one that its worker takes up now, or NONE."""
    end_execution(world, number)
    which = world.slots[number].replica
    stores = world.variants[world.replicas[which].variant].output_bytes > 0.0
    if stores or world.rules[0].requests_on_network:
        store(world, number)
        return NONE
    world.slots[number].outcome = Outcome.COMPLETED
    finish(world, number)
    return free_worker(world, which)


@separate
def store(world: World, number: int) -> None:
    """The data of a request is stored before its response."""
    slot = world.slots[number]
    slot.state = RequestState.UPLOADING
    variant = world.variants[world.replicas[slot.replica].variant]
    if not moves_data(world, number, variant.output_bytes):
        stored(world, number)


@separate
def stored(world: World, number: int) -> None:
    """A request is done with its worker, and its response is sent."""
    slot, which = world.slots[number], world.slots[number].replica
    if world.rules[0].requests_on_network:
        slot.state = RequestState.RESPONDING
        response = world.clock[0].now + latency_s(world, number)
        set_alarm(world.due.finishes, number, response)
    else:
        slot.outcome = Outcome.COMPLETED
        finish(world, number)
    free_worker_apart(world, which)


@inner
def free_worker(world: World, which: int) -> int:
    """A worker of a replica is free; returns the request of its queue that it takes up now."""
    replica = world.replicas[which]
    function = world.functions[replica.function]
    replica.busy -= 1
    function.held -= 1
    if replica.queued > 0:
        number = replica.first
        meter_function(function, world.clock[0].now)
        remove(world.slots, replica, number)
        replica.queued -= 1
        function.queued -= 1
        return number
    if replica.state == Phase.RUNNING and function.waiting == 0:
        look_if_idle(world, which)
    else:
        look_for_work(world, which)
    return NONE


@separate
def free_worker_apart(world: World, which: int) -> None:
    """A worker of a replica is free, and takes up the next request of its queue."""
    following = free_worker(world, which)
    if following != NONE:
        take_up_apart(world, following)


@separate
def look_for_work(world: World, which: int) -> None:
    """A replica with a free worker and no queue takes what waits, or ends if it drains."""
    replica = world.replicas[which]
    if replica.state == Phase.RUNNING:
        serve_waiting(world, which)
        look_if_idle(world, which)
    elif replica.state == Phase.DRAINING and work_of(replica) == 0:
        stop(world, which)


@separate
def serve_waiting(world: World, which: int) -> None:
    """Free workers of a replica that is ready take up requests that wait for one."""
    replica = world.replicas[which]
    function = world.functions[replica.function]
    while function.waiting > 0 and work_of(replica) < function.workers:
        number = function.first
        meter_function(function, world.clock[0].now)
        remove(world.slots, function, number)
        function.waiting -= 1
        world.slots[number].cold = replica.ready_s >= world.slots[number].arrival
        if dispatch(world, number, which) != NONE:
            take_up_apart(world, number)


@inner
def look_if_idle(world: World, which: int) -> None:
    """A replica of a function that scales by request ends when it has been idle for long."""
    replica = world.replicas[which]
    function = world.functions[replica.function]
    if function.scaler == Scaler.PER_REQUEST and work_of(replica) == 0:
        set_alarm(world.due.replicas, which, world.clock[0].now + function.expiry_s)


@inner
def finish(world: World, number: int) -> None:
    """A request ends, with the outcome that its slot holds; the slot is free."""
    clock, slot = world.clock[0], world.slots[number]
    function = world.functions[slot.function]
    count_requests(clock, -1)
    function.outcomes[slot.outcome] += 1
    if slot.outcome == Outcome.COMPLETED:
        response = clock.now - slot.arrival
        world.responses[clock.completed] = response
        world.responded[clock.completed] = slot.function
        clock.completed += 1
        function.response_s += response
        function.waited_s += slot.waited
        function.executed_s += slot.executed
        function.cold += slot.cold
    if clock.invocations < len(world.records.invocations):
        record_invocation(world, number)
    if function.timeout_s < np.inf:
        set_alarm(world.due.timeouts, number, np.inf)
    slot.state = RequestState.UNUSED
    slot.next = clock.free_slot
    clock.free_slot = number


@separate
def record_invocation(world: World, number: int) -> None:
    """Keeps what became of a request."""
    clock, slot = world.clock[0], world.slots[number]
    row = world.records.invocations[clock.invocations]
    clock.invocations += 1
    row.function, row.number, row.outcome = slot.function, slot.number, slot.outcome
    row.cold, row.replica, row.node = slot.cold, NONE, NONE
    if slot.replica != NONE:
        row.replica, row.node = slot.replica_number, slot.node
    row.arrival, row.start, row.finish = slot.arrival, slot.start, clock.now
    row.waited, row.executed, row.energy = slot.waited, slot.executed, slot.energy_j


@separate
def reject(world: World, number: int) -> None:
    """There is no room for a request."""
    world.slots[number].outcome = Outcome.REJECTED
    finish(world, number)


@separate
def time_out(world: World, number: int) -> None:
    """A request is given up wherever it is; a worker that it held is free."""
    clock, slot, which = world.clock[0], world.slots[number], world.slots[number].replica
    function, state = world.functions[slot.function], slot.state
    meter_function(function, clock.now)
    set_alarm(world.due.finishes, number, np.inf)
    if slot.flow != NONE:
        end_flow(world, slot.flow)
        slot.flow = NONE
    elif state in (RequestState.DOWNLOADING, RequestState.UPLOADING):
        end_transfer(world, slot.node, slot.function, slot.since)
    if state == RequestState.WAITING:
        remove(world.slots, function, number)
        function.waiting -= 1
        slot.waited += clock.now - slot.since
    elif state == RequestState.QUEUED:
        remove(world.slots, world.replicas[which], number)
        world.replicas[which].queued -= 1
        function.queued -= 1
        slot.waited += clock.now - slot.since
    elif state == RequestState.REQUESTING:
        world.replicas[which].coming -= 1
    elif state == RequestState.EXECUTING:
        end_execution(world, number)
    slot.outcome = Outcome.TIMED_OUT
    finish(world, number)
    if state in (RequestState.DOWNLOADING, RequestState.EXECUTING, RequestState.UPLOADING):
        free_worker_apart(world, which)
    elif state == RequestState.REQUESTING:
        look_for_work(world, which)


@separate
def alarm_of_request(world: World, number: int) -> None:
    """A request has its data or has stored it, or its latency is over and its bytes move."""
    slot = world.slots[number]
    set_alarm(world.due.finishes, number, np.inf)
    if slot.state in (RequestState.DOWNLOADING, RequestState.UPLOADING):
        end_transfer(world, slot.node, slot.function, slot.since)
    if slot.state == RequestState.DOWNLOADING:
        execute(world, number)
    elif slot.state == RequestState.UPLOADING:
        stored(world, number)
    else:
        ask_message(world, number)


@separate
def moved(world: World, number: int) -> None:
    """The flow of a request has got there."""
    slot = world.slots[number]
    slot.flow = NONE
    if slot.state == RequestState.DOWNLOADING:
        execute(world, number)
    elif slot.state == RequestState.UPLOADING:
        stored(world, number)
    elif slot.state == RequestState.RESPONDING:
        slot.outcome = Outcome.COMPLETED
        finish(world, number)
    else:
        world.replicas[slot.replica].coming -= 1
        slot.since = world.clock[0].now
        if reach(world, number) != NONE:
            take_up_apart(world, number)
