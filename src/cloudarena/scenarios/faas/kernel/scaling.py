"""The built-in scalers: how many replicas a function should have.

Each looks, every ``interval_s``, at the last ``window`` intervals. With n replicas as decided last:

- ``request-rate``: the function's requests a second; at ``threshold`` or more by ``step`` up, below
  ``lower_threshold`` by ``step`` down (at least one).
- ``average-requests``: requests a second for each replica, against ``threshold`` of it;
- ``queue-length``: waiting requests for each replica, on average, against ``threshold``;
- ``cpu-utilisation``: CPU used over CPU asked for by its replicas, against ``threshold``;
- ``concurrency``: requests in the system, as Knative counts them; see ``by_concurrency``.

The three before the last follow the rule of Kubernetes: ``ceil(n * value / threshold)``, unless the
ratio is within ``tolerance`` of 1, and by ``step`` at most where one is given. Replicas that are
not ready count with no load; ``by_utilisation`` says what else Kubernetes makes of them. Fewer
replicas only after ``cooldown_s`` without a change, and only as few as the most that was suggested
within ``stabilisation_s``, or that there were at the start, as the autoscaler of Kubernetes does.
``per-request`` starts a replica for each request that finds none free and ends those that were idle
for ``expiry_s``, or as ``keep`` says; see requests and warm.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_call, jitable
from cloudarena.engine.indexed_heap import set_time, time_of
from cloudarena.scenarios.faas.kernel.execution import meter_function
from cloudarena.scenarios.faas.kernel.lifecycle import remove_replica
from cloudarena.scenarios.faas.kernel.replicas import least_needed
from cloudarena.scenarios.faas.kernel.requests import record_change
from cloudarena.scenarios.faas.kernel.routing import work_of
from cloudarena.scenarios.faas.kernel.warm import next_look_s
from cloudarena.scenarios.faas.state import (
    HISTORY,
    INSIDE,
    SUGGESTED,
    Keep,
    Record,
    Scaler,
    Scaling,
    World,
)


@jit_call
def tick(world: World, which: int) -> None:
    """Keeps what a scaler looks at, and sets when it is due next."""
    function, clock = world.functions[which], world.clock[0]
    meter_function(function, clock.now)
    function.ticks += 1
    slot = function.ticks % HISTORY
    for k in range(4):
        function.history[slot, k] = function.integrals[k]
    function.history[slot, INSIDE] = function.inside * clock.now - function.stamps
    set_time(world.due.scalers, which, next_look_s(function))
    clock.suggested = suggestion(function, clock.now)


@jitable
def window_mean(function: Record, k: int) -> float:
    """The mean over the window of what is added up in the k-th integral."""
    return mean_over(function, k, function["window"])


@jitable
def mean_over(function: Record, k: int, window: int) -> float:
    """The mean over so many intervals of what is added up in the k-th integral."""
    ticks, intervals = function["ticks"], min(function["ticks"], window)
    if intervals == 0:
        return 0.0
    last = function["history"][ticks % HISTORY, k]
    first = function["history"][(ticks - intervals) % HISTORY, k]
    return float(last - first) / (intervals * function["interval_s"])


@jitable
def used_cpu(function: Record) -> float:
    """CPU that was used in the window of what the replicas asked for."""
    asked = window_mean(function, 3)  # millicores
    used = window_mean(function, 2) / 1000.0  # from millionths of cores
    return used / asked if asked > 0.0 else 0.0


@jit_call
def by_concurrency(function: Record, now: float) -> int:
    """The replicas that Knative's autoscaler gives a function.

    The requests in the system over the target, rounded up, on average over the window, and within
    what the ready replicas may grow to or shrink to at once. When that of the short panic window
    reaches the panic threshold times the ready replicas, it is a surge: until there was none for a
    whole window the larger of both counts, and replicas never get fewer.
    """
    ready = max(function.ready, 1)
    most = np.ceil(function.most_up * ready)
    least = np.floor(ready / function.most_down)
    calm = np.ceil(mean_over(function, INSIDE, function.window) / function.threshold - 1e-9)
    surge = np.ceil(mean_over(function, INSIDE, function.panic_window) / function.threshold - 1e-9)
    count = int(min(max(calm, least), most))
    if surge >= function.panic_threshold * ready:
        function.panic_s = now
    elif function.panic_s + function.window * function.interval_s < now:
        function.panic_s, function.panic_most = -np.inf, 0
    if function.panic_s > -np.inf:
        count = max(count, int(min(max(surge, least), most)), function.panic_most)
        function.panic_most = count
    return count


@jit_call
def by_utilisation(function: Record) -> int:
    """The replicas that the autoscaler of Kubernetes gives a function by its use of CPU.

    Those that are ready are measured; without any, nothing changes. Where they are above the
    threshold, those that are not ready, and those that no node has taken, count with no load: there
    are more replicas only if all of them together are above it, and no fewer for that reason.
    """
    replicas, ready = function.wanted, function.ready
    if ready == 0:
        return int(replicas)
    needed = used_cpu(function) * function.placed / function.threshold
    ratio = needed / ready
    if ratio > 1.0 and ready < replicas:
        ratio = max(needed / replicas, 1.0)
    if abs(ratio - 1.0) <= function.tolerance:
        return int(replicas)
    return int(np.ceil(needed - 1e-9))


@jit_call
def stabilised(function: Record, count: int) -> int:
    """The most that was suggested within the time of stabilisation, of fewer replicas.

    Before the first suggestion it was as many as there were at the start.
    """
    slot = function.ticks % HISTORY
    function.history[slot, SUGGESTED] = count
    if count >= function.wanted:
        return count
    most = count
    for back in range(1, min(function.stabilisation, function.ticks) + 1):
        most = max(most, int(function.history[(function.ticks - back) % HISTORY, SUGGESTED]))
    return min(most, function.wanted)


@jit_call
def suggestion(function: Record, now: float) -> int:
    """How many replicas the scaler of the spec gives a function; by request, the fewest."""
    replicas, scaler, step = function.wanted, function.scaler, function.step
    if scaler in (Scaler.NONE, Scaler.PER_REQUEST):
        return function.floor if scaler == Scaler.PER_REQUEST else replicas
    rate = window_mean(function, 0)
    count = replicas
    if scaler == Scaler.REQUEST_RATE:
        if rate >= function.threshold:
            count = replicas + max(step, 1)
        elif rate < function.lower_threshold:
            count = replicas - max(step, 1)
    elif scaler == Scaler.CONCURRENCY:
        count = by_concurrency(function, now)
    elif replicas > 0:
        if scaler == Scaler.CPU_UTILISATION:
            count = by_utilisation(function)
        else:
            value = window_mean(function, 1) if scaler == Scaler.QUEUE_LENGTH else rate
            ratio = value / (replicas * function.threshold)
            if abs(ratio - 1.0) > function.tolerance:
                count = int(np.ceil(replicas * ratio - 1e-9))
        if step > 0:
            count = min(max(count, replicas - step), replicas + step)
    if function.stabilisation > 0:
        count = stabilised(function, count)
    if scaler == Scaler.CPU_UTILISATION:
        most = max(np.ceil(function.most_up * replicas), replicas + function.most_more)
        count = int(min(count, max(most, 1)))
    if count < replicas and now - function.changed_s < function.cooldown_s:
        count = replicas
    if count == 0 and function.waiting + function.held > 0:
        count = 1  # what is under way needs a replica
    return min(max(count, function.minimum), function.maximum)


@jitable
def scaling_of(world: World) -> Scaling:
    """The function whose scaler is due."""
    clock = world.clock[0]
    function = world.functions[clock["function"]]
    return Scaling(
        int(clock["function"]),
        int(clock["suggested"]),
        int(function["wanted"]),
        int(function["ready"]),
        int(function["minimum"]),
        int(function["maximum"]),
        window_mean(function, 0),
        window_mean(function, 1),
        used_cpu(function),
        int(function["held"]),
        int(function["waiting"] + function["queued"]),
        float(clock["now"] - function["changed_s"]),
        float(clock["now"]),
    )


@jit_call
def set_replicas(world: World, which: int, count: int) -> None:
    """A function should have so many replicas: more are placed, the least needed ones drain."""
    function, clock = world.functions[which], world.clock[0]
    by_request = function.scaler == Scaler.PER_REQUEST
    before = function.floor if by_request else function.wanted
    if count == before:
        return
    function.changed_s = clock.now
    record_change(world, which, before, count, True)
    if by_request:
        set_fewest(world, which, count)
        return
    function.wanted, world.lacking[which] = count, True
    while function.placed > count:
        remove_replica(world, least_needed(world, which))
    clock.may_place = True


@jit_call
def set_fewest(world: World, which: int, count: int) -> None:
    """A function that scales by request has so many replicas at least; others end when idle."""
    function, clock = world.functions[which], world.clock[0]
    function.floor, clock.may_place = count, True
    world.blocked[which], world.lacking[which] = False, True
    for k in range(function.ready):
        index = world.members[which, k]
        stays = function.keep == Keep.FOREVER or work_of(world.replicas[index]) > 0
        if not stays and time_of(world.due.replicas, index) == np.inf:
            set_time(world.due.replicas, index, clock.now)  # it had been idle for too long
