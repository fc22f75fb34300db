"""Requests: from their arrival to their end.

A request is routed at its arrival to a replica that is ready, waits there for a worker, first in
first out, and may be rejected when the queue is full. While a function has no replica that is
ready, its requests wait for one, and later ones wait behind them; a worker that is free takes from
its replica's queue first and then from these.

Most requests arrive, execute and complete without a network. That way is short and becomes part of
the kernel's loop: ``arrive`` and ``complete`` return the request that a worker takes up now, and
the kernel hands it to ``begin_service``. What happens less often are calls.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.hashing import uniform
from cloudarena.engine.indexed_heap import set_time
from cloudarena.engine.linked_list import append, take_out
from cloudarena.scenarios.faas.kernel.calls import (
    answer_caller,
    begin_again,
    begins_calls,
    call_number,
    count_uncalled,
    forget_caller,
    has_calls,
    note_caller,
)
from cloudarena.scenarios.faas.kernel.execution import (
    begin_execution,
    end_execution,
    meter_function,
    update_node_call,
)
from cloudarena.scenarios.faas.kernel.replicas import stop
from cloudarena.scenarios.faas.kernel.routing import newest_free, note_idle, route, work_of
from cloudarena.scenarios.faas.kernel.transfers import (
    ask_message,
    end_flow,
    end_transfer,
    latency_s,
    transfer_s,
)
from cloudarena.scenarios.faas.kernel.warm import become_idle, count_gap
from cloudarena.scenarios.faas.state import (
    NONE,
    Evict,
    Extras,
    Keep,
    Outcome,
    Phase,
    Record,
    RequestState,
    Scaler,
    Transfer,
    World,
)


@jit_inline
def count_requests(clock: Record, change: int) -> None:
    """Adds up how many requests are in the system, and changes their number."""
    clock.in_system_s += clock.in_system * (clock.now - clock.metered_s)
    clock.metered_s = clock.now
    clock.in_system += change


@jit_inline
def arrive(world: World, which: int) -> int:
    """A request for a function arrives; returns it if a worker takes it up now, else NONE."""
    function = world.functions[which]
    return enter(world, which, function.arrived - function.called, NONE)


@jit_inline
def enter(world: World, which: int, number: int, caller: int) -> int:
    """A request, of a caller or NONE, comes; returns it if a worker takes it up now, else NONE."""
    clock, function = world.clock[0], world.functions[which]
    index = clock.free_slot
    slot = world.slots[index]
    clock.free_slot = slot.next
    count_requests(clock, 1)
    slot.function, slot.number = which, number
    note_caller(world, world.extras, index, caller)
    slot.replica, slot.flow, slot.cold = NONE, NONE, False
    slot.arrival = slot.since = clock.now
    slot.waited = slot.executed = slot.energy_j = 0.0
    slot.start = np.nan
    function.arrived += 1
    function.inside += 1
    function.stamps += clock.now
    function.integrals[0] += 1.0
    if function.timeout_s < np.inf:
        set_time(world.due.timeouts, index, clock.now + function.timeout_s)
    if function.scaler == Scaler.PER_REQUEST:
        if function.keep == Keep.HYBRID_HISTOGRAM:
            count_gap(world, which)
        replica = newest_free(world, which) if function.waiting == 0 else NONE
        if replica == NONE:
            wait_or_reject(world, index)
            return NONE
    elif function.ready == 0 or function.waiting > 0:
        wait(world, index)
        return NONE
    else:
        replica = route(world, which, slot.number)
    return dispatch(world, index, replica)


@jit_call
def wait_or_reject(world: World, index: int) -> None:
    """No worker is free: a request waits, for a new replica if need be.

    It is rejected if all workers that the function may have are busy or waited for.
    """
    function = world.functions[world.slots[index].function]
    if function.waiting >= (function.maximum - function.ready) * function.workers:
        reject(world, index)
        return
    wait(world, index)
    want_for_waiting(function)
    if function.wanted > function.placed:
        world.clock[0].may_place = True


@jit_inline
def want_for_waiting(function: Record) -> None:
    """A function that scales by request should have a worker for each of those that wait."""
    needed = (function.waiting + function.workers - 1) // function.workers
    wanted = max(function.ready + needed, function.placed, function.floor, function.ahead)
    function.wanted = min(wanted, function.maximum)


@jit_call
def wait(world: World, index: int) -> None:
    """A request waits until its function has a replica that is ready."""
    clock, slot = world.clock[0], world.slots[index]
    function = world.functions[slot.function]
    meter_function(function, clock.now)
    slot.state = RequestState.WAITING
    append(world.slots, function, index)
    function.waiting += 1
    world.lacking[slot.function] = True
    if function.wanted == 0:
        function.wanted, function.changed_s = 1, clock.now
        record_change(world, slot.function, 0, 1, False)
        clock.may_place = True
    if world.rules[0].evict != Evict.NONE:  # an idle replica may make room
        world.blocked[slot.function], clock.may_place = False, True


@jit_inline
def record_change(world: World, function: int, before: int, after: int, by_scaler: bool) -> None:
    """Keeps that the number of replicas that a function should have has changed."""
    clock = world.clock[0]
    if world.rules[0].rows:
        row = world.records.changes[clock.changes]
        row.time, row.function, row.before, row.after = clock.now, function, before, after
        row.by_scaler = by_scaler
        clock.changes += 1


@jit_inline
def dispatch(world: World, index: int, to: int) -> int:
    """A request is sent to a replica, or rejected; returns it if a worker takes it up now."""
    slot, replica = world.slots[index], world.replicas[to]
    function = world.functions[slot.function]
    if work_of(replica) - function.workers >= function.queue_limit:
        reject(world, index)
        return NONE
    slot.replica, slot.replica_number, slot.node = to, replica.number, replica.node
    if function.scaler == Scaler.PER_REQUEST:
        set_time(world.due.replicas, to, np.inf)
    if world.rules[0].requests_on_network:
        send(world, index)
        return NONE
    return reach(world, index)


@jit_inline
def reach(world: World, index: int) -> int:
    """A request is at its replica; returns it if there is a worker for it, else it waits."""
    slot = world.slots[index]
    function, replica = world.functions[slot.function], world.replicas[slot.replica]
    if replica.busy < function.workers:
        return index
    meter_function(function, world.clock[0].now)
    slot.state = RequestState.QUEUED
    append(world.slots, replica, index)
    replica.queued += 1
    function.queued += 1
    return NONE


@jit_call
def send(world: World, index: int) -> None:
    """A request goes over the network to its replica."""
    slot, now = world.slots[index], world.clock[0].now
    slot.state = RequestState.REQUESTING
    world.replicas[slot.replica].coming += 1
    slot.waited += now - slot.since
    set_time(world.due.finishes, index, now + latency_s(world, index))


@jit_inline
def begin_service(world: World, index: int) -> None:
    """A worker takes up a request: fetches its data, or executes it at once."""
    slot, now = world.slots[index], world.clock[0].now
    replica, function = world.replicas[slot.replica], world.functions[slot.function]
    variant = world.variants[replica.variant]
    if replica.busy == 0:
        function.wasted_s += variant.memory * (now - replica.idle_s)
    replica.busy += 1
    replica.served += 1
    function.held += 1
    function.uses += 1
    slot.waited += now - slot.since
    slot.start = now
    if variant.input_bytes > 0.0:
        fetch(world, index)
    else:
        begin_execution(world, index)


@jit_call
def begin_service_call(world: World, index: int) -> None:
    """Calls ``begin_service``, which is large, for what happens less often."""
    begin_service(world, index)


@jit_call
def execute(world: World, index: int) -> None:
    """A request has its data and executes."""
    begin_execution(world, index)


@jit_call
def fetch(world: World, index: int) -> None:
    """A request fetches its data."""
    slot = world.slots[index]
    slot.state = RequestState.DOWNLOADING
    variant = world.variants[world.replicas[slot.replica].variant]
    if not moves_data(world, index, variant.input_bytes):
        execute(world, index)


@jit_inline
def moves_data(world: World, index: int, amount: float) -> bool:
    """Data of a request moves; whether that takes time."""
    slot, now = world.slots[index], world.clock[0].now
    purpose = Transfer.UPLOAD if slot.state == RequestState.UPLOADING else Transfer.DOWNLOAD
    node = world.replicas[slot.replica].node
    seconds = transfer_s(world, purpose, index, slot.function, node, amount)
    if seconds > 0.0:
        slot.since = now
        set_time(world.due.finishes, index, now + seconds)
    return seconds > 0.0


@jit_inline
def complete(world: World, index: int) -> int:
    """A request has executed; returns the one that its worker takes up now, or NONE."""
    end_execution(world, index)
    which = world.slots[index].replica
    if breaks(world, world.extras, index):
        break_off(world, index)
        return NONE
    stores = world.variants[world.replicas[which].variant].output_bytes > 0.0
    calls = has_calls(world.extras, world.functions[world.slots[index].function])
    if stores or world.rules[0].requests_on_network or calls:
        store(world, index)
        return NONE
    world.slots[index].outcome = Outcome.COMPLETED
    finish(world, index)
    return free_worker(world, which)


@jit_inline
def breaks(world: World, extras: Extras | None, index: int) -> bool:
    """Whether an invocation that has executed fails, by its number and try alone."""
    if extras is not None:
        slot = world.slots[index]
        function = world.functions[slot.function]
        if function.failure_share > 0.0:
            share = uniform(world.rules[0].failure_key, function.key + slot.tries, slot.number)
            return share < function.failure_share
    return False


@jit_call
def break_off(world: World, index: int) -> None:
    """An invocation has failed: its worker is free, and it is tried again if it may be."""
    slot = world.slots[index]
    which, called = slot.replica, slot.function
    fail_or_retry(world, index)
    free_worker_call(world, which)
    if world.clock[0].changed_node != NONE:
        update_node_call(world)
    serve_all_waiting(world, called)


@jit_call
def fail_or_retry(world: World, index: int) -> None:
    """A request that has lost its worker waits for a replica again, or ends as failed."""
    slot = world.slots[index]
    function = world.functions[slot.function]
    if slot.tries < function.retries:
        slot.tries += 1
        function.retried += 1
        slot.since, slot.start, slot.executed = world.clock[0].now, np.nan, 0.0
        slot.replica = NONE
        begin_again(world, slot)
        wait(world, index)
    else:
        slot.outcome = Outcome.FAILED
        finish(world, index)


@jit_call
def serve_all_waiting(world: World, which: int) -> None:
    """Free workers of all replicas of a function take up requests that wait for one."""
    function = world.functions[which]
    for k in range(function.ready):
        replica = world.members[which, k]
        if function.waiting > 0 and work_of(world.replicas[replica]) < function.workers:
            serve_waiting(world, replica)
            if world.clock[0].changed_node != NONE:
                update_node_call(world)


@jit_call
def store(world: World, index: int) -> None:
    """The data of a request is stored before its response."""
    slot = world.slots[index]
    slot.state = RequestState.UPLOADING
    variant = world.variants[world.replicas[slot.replica].variant]
    if not moves_data(world, index, variant.output_bytes):
        output_stored(world, index)


@jit_call
def output_stored(world: World, index: int) -> None:
    """A request is done with its worker once its calls are, and its response is sent."""
    slot, which = world.slots[index], world.slots[index].replica
    if begins_calls(world, world.extras, index):
        return
    if world.rules[0].requests_on_network:
        slot.state = RequestState.RESPONDING
        response = world.clock[0].now + latency_s(world, index)
        set_time(world.due.finishes, index, response)
    else:
        slot.outcome = Outcome.COMPLETED
        finish(world, index)
    free_worker_call(world, which)


@jit_inline
def free_worker(world: World, which: int) -> int:
    """A worker of a replica is free; returns the request of its queue that it takes up now."""
    replica = world.replicas[which]
    function = world.functions[replica.function]
    replica.busy -= 1
    function.held -= 1
    if replica.busy == 0:
        replica.idle_s = world.clock[0].now
        note_idle(world, replica)
    if replica.queued > 0:
        index = replica.first
        meter_function(function, world.clock[0].now)
        take_out(world.slots, replica, index)
        replica.queued -= 1
        function.queued -= 1
        return index
    if replica.state == Phase.RUNNING and function.waiting == 0:
        set_expiry(world, which)
    else:
        find_work(world, which)
    return NONE


@jit_call
def free_worker_call(world: World, which: int) -> None:
    """A worker of a replica is free, and takes up the next request of its queue."""
    following = free_worker(world, which)
    if following != NONE:
        begin_service_call(world, following)


@jit_call
def find_work(world: World, which: int) -> None:
    """A replica with a free worker and no queue takes what waits, or ends if it drains."""
    replica = world.replicas[which]
    if replica.state == Phase.RUNNING:
        serve_waiting(world, which)
        set_expiry(world, which)
    elif replica.state == Phase.DRAINING and work_of(replica) == 0:
        stop(world, which)


@jit_call
def serve_waiting(world: World, which: int) -> None:
    """Free workers of a replica that is ready take up requests that wait for one."""
    replica = world.replicas[which]
    function = world.functions[replica.function]
    while function.waiting > 0 and work_of(replica) < function.workers:
        index = function.first
        meter_function(function, world.clock[0].now)
        take_out(world.slots, function, index)
        function.waiting -= 1
        world.slots[index].cold = replica.ready_s >= world.slots[index].arrival
        if dispatch(world, index, which) != NONE:
            begin_service_call(world, index)


@jit_inline
def set_expiry(world: World, which: int) -> None:
    """A replica of a function that scales by request ends when it has been idle for long."""
    replica = world.replicas[which]
    if world.functions[replica.function].scaler == Scaler.PER_REQUEST and work_of(replica) == 0:
        become_idle(world, which)


@jit_inline
def finish(world: World, index: int) -> None:
    """A request ends, with the outcome that its slot holds; the slot is free."""
    clock, slot = world.clock[0], world.slots[index]
    function = world.functions[slot.function]
    count_requests(clock, -1)
    function.outcomes[slot.outcome] += 1
    function.inside -= 1
    function.stamps -= clock.now
    if slot.outcome == Outcome.COMPLETED:
        response = clock.now - slot.arrival
        world.responses[clock.completed] = response
        world.responded[clock.completed] = slot.function
        clock.completed += 1
        function.response_s += response
        function.waited_s += slot.waited
        function.executed_s += slot.executed
        if world.extras is not None:
            function.again_done += slot.again
        if slot.late or slot.arrival < clock.counted_from_s:
            function.late += 1
        else:
            function.cold += slot.cold
    else:
        count_uncalled(world, world.extras, index)
    if clock.invocations < len(world.records.invocations):
        record_invocation(world, index)
    if function.timeout_s < np.inf:
        set_time(world.due.timeouts, index, np.inf)
    answer_caller(world, world.extras, index)
    slot.state = RequestState.UNUSED
    slot.next = clock.free_slot
    clock.free_slot = index


@jit_call
def record_invocation(world: World, index: int) -> None:
    """Keeps what became of a request."""
    clock, slot = world.clock[0], world.slots[index]
    row = world.records.invocations[clock.invocations]
    clock.invocations += 1
    row.function, row.number, row.outcome = slot.function, slot.number, slot.outcome
    row.cold, row.replica, row.node = slot.cold, NONE, NONE
    if slot.replica != NONE:
        row.replica, row.node = slot.replica_number, slot.node
    row.arrival, row.start, row.finish = slot.arrival, slot.start, clock.now
    row.waited, row.executed, row.energy = slot.waited, slot.executed, slot.energy_j
    row.tries, row.caller, row.caller_number = slot.tries, slot.caller_function, slot.caller_number


@jit_call
def reject(world: World, index: int) -> None:
    """There is no room for a request."""
    world.slots[index].outcome = Outcome.REJECTED
    finish(world, index)


@jit_call
def withdraw(world: World, index: int) -> int:
    """A request leaves wherever it is; returns its state. What it held is not given on."""
    clock, slot, which = world.clock[0], world.slots[index], world.slots[index].replica
    function, state = world.functions[slot.function], slot.state
    meter_function(function, clock.now)
    set_time(world.due.finishes, index, np.inf)
    if which != NONE:
        note_idle(world, world.replicas[which])
    if slot.flow != NONE:
        end_flow(world, slot.flow)
        slot.flow = NONE
    elif state in (RequestState.DOWNLOADING, RequestState.UPLOADING):
        end_transfer(world, slot.node, slot.function, slot.since)
    if state == RequestState.WAITING:
        take_out(world.slots, function, index)
        function.waiting -= 1
        slot.waited += clock.now - slot.since
    elif state == RequestState.QUEUED:
        take_out(world.slots, world.replicas[which], index)
        world.replicas[which].queued -= 1
        function.queued -= 1
        slot.waited += clock.now - slot.since
    elif state == RequestState.REQUESTING:
        world.replicas[which].coming -= 1
    elif state == RequestState.EXECUTING:
        end_execution(world, index)
    elif state == RequestState.CALLING:
        forget_caller(world, world.extras, index)
    return state


@jit_inline
def holds_worker(state: int) -> bool:
    """Whether a request of a state holds a worker of its replica."""
    return state in (
        RequestState.DOWNLOADING,
        RequestState.EXECUTING,
        RequestState.UPLOADING,
        RequestState.CALLING,
    )


@jit_call
def time_out(world: World, index: int) -> None:
    """A request is given up wherever it is; a worker that it held is free."""
    slot, which = world.slots[index], world.slots[index].replica
    state = withdraw(world, index)
    slot.outcome = Outcome.TIMED_OUT
    finish(world, index)
    if holds_worker(state):
        free_worker_call(world, which)
    elif state == RequestState.REQUESTING:
        find_work(world, which)


@jit_call
def request_due(world: World, index: int) -> None:
    """A request has its data or has stored it, or its latency is over and its bytes move."""
    slot = world.slots[index]
    set_time(world.due.finishes, index, np.inf)
    if slot.state == RequestState.CALLING:
        call_due(world, world.extras, index)
        return
    if slot.state in (RequestState.DOWNLOADING, RequestState.UPLOADING):
        end_transfer(world, slot.node, slot.function, slot.since)
    if slot.state == RequestState.DOWNLOADING:
        execute(world, index)
    elif slot.state == RequestState.UPLOADING:
        output_stored(world, index)
    else:
        ask_message(world, index)


@jit_call
def call_due(world: World, extras: Extras | None, index: int) -> None:
    """A request that has executed makes its next call, or has all answers that it waits for."""
    if extras is not None:
        slot, which = world.slots[index], world.slots[index].replica
        function = world.functions[slot.function]
        if slot.call < function.end_call:
            row = slot.call
            slot.call += 1
            callee = world.functions[extras.calls[row].function]
            callee.called += 1
            slot.open += extras.calls[row].waits
            if slot.call < function.end_call or slot.open == 0:
                set_time(world.due.finishes, index, world.clock[0].now)
            which_call = row - function.first_call
            number = call_number(function.key, slot.number, which_call, slot.tries)
            following = enter(world, extras.calls[row].function, number, index)
            if following != NONE:
                begin_service_call(world, following)
        elif slot.broken:
            slot.outcome = Outcome.FAILED
            finish(world, index)
            free_worker_call(world, which)
        else:
            output_stored(world, index)


@jit_call
def flow_arrived(world: World, index: int) -> None:
    """The flow of a request has got there."""
    slot = world.slots[index]
    slot.flow = NONE
    if slot.state == RequestState.DOWNLOADING:
        execute(world, index)
    elif slot.state == RequestState.UPLOADING:
        output_stored(world, index)
    elif slot.state == RequestState.RESPONDING:
        slot.outcome = Outcome.COMPLETED
        finish(world, index)
    else:
        world.replicas[slot.replica].coming -= 1
        slot.since = world.clock[0].now
        if reach(world, index) != NONE:
            begin_service_call(world, index)
