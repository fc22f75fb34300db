"""The built-in scalers: how many replicas a function should have.

Each looks, every ``interval_s``, at the last ``window`` intervals. With n replicas as decided last:

- ``request-rate``: the function's requests a second; at ``threshold`` or more by ``step`` up, below
  ``lower_threshold`` by ``step`` down (at least one).
- ``average-requests``: requests a second for each replica, against ``threshold`` of it;
- ``queue-length``: waiting requests for each replica, on average, against ``threshold``;
- ``cpu-utilisation``: CPU used over CPU asked for by its replicas, against ``threshold``.

The last three follow the rule of Kubernetes: ``ceil(n * value / threshold)``, unless the ratio is
within ``tolerance`` of 1, and by ``step`` at most where one is given. Replicas that are not ready
count with no load. Fewer replicas only after ``cooldown_s`` without a change. ``per-request``
starts a replica for each request that finds none free and ends those that were idle for
``expiry_s``; see requests.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.alarms import set_alarm
from cloudarena.engine.compiled import lean, separate
from cloudarena.scenarios.faas.lifecycle import remove_replica
from cloudarena.scenarios.faas.replicas import least_needed, meter_function
from cloudarena.scenarios.faas.requests import record_change
from cloudarena.scenarios.faas.state import (
    CPU_UTILISATION,
    HISTORY,
    QUEUE_LENGTH,
    REQUEST_RATE,
    Scaling,
    World,
)


@separate
def tick(world: World, function: int) -> None:
    """Keeps what a scaler looks at, and sets when it is due next."""
    functions, now = world.functions, world.clock[0].now
    meter_function(world, function)
    functions[function].ticks += 1
    place = functions[function].ticks % HISTORY
    for k in range(4):
        functions[function].history[place, k] = functions[function].integrals[k]
    due = (functions[function].ticks + 1) * functions[function].interval_s
    set_alarm(world.due.scalers, function, due)
    world.clock[0].suggested = suggestion(functions, function, now)


@lean
def window_mean(functions: NDArray[np.void], function: int, k: int) -> float:
    """The mean over the window of what is added up in the k-th integral."""
    ticks = functions[function].ticks
    intervals = min(ticks, functions[function].window)
    if intervals == 0:
        return 0.0
    last = functions[function].history[ticks % HISTORY, k]
    first = functions[function].history[(ticks - intervals) % HISTORY, k]
    return (last - first) / (intervals * functions[function].interval_s)


@lean
def used_cpu(functions: NDArray[np.void], function: int) -> float:
    """CPU that was used in the window of what the replicas asked for."""
    asked = window_mean(functions, function, 3)
    return window_mean(functions, function, 2) / asked if asked > 0.0 else 0.0


@lean
def suggestion(functions: NDArray[np.void], function: int, now: float) -> int:
    """How many replicas the scaler of the spec gives a function."""
    replicas, scaler = functions[function].wanted, functions[function].scaler
    threshold, step = functions[function].threshold, functions[function].step
    rate = window_mean(functions, function, 0)
    count = replicas
    if scaler == REQUEST_RATE:
        if rate >= threshold:
            count = replicas + max(step, 1)
        elif rate < functions[function].lower_threshold:
            count = replicas - max(step, 1)
    elif replicas > 0:
        value = rate
        if scaler == QUEUE_LENGTH:
            value = window_mean(functions, function, 1)
        elif scaler == CPU_UTILISATION:
            value = used_cpu(functions, function) * replicas
        ratio = value / (replicas * threshold)
        if abs(ratio - 1.0) > functions[function].tolerance:
            count = int(np.ceil(replicas * ratio - 1e-9))
        if step > 0:
            count = min(max(count, replicas - step), replicas + step)
    if count < replicas and now - functions[function].changed_s < functions[function].cooldown_s:
        count = replicas
    if count == 0 and functions[function].waiting + functions[function].held > 0:
        count = 1  # what is under way needs a replica
    return min(max(count, functions[function].minimum), functions[function].maximum)


@lean
def scaling_of(world: World) -> Scaling:
    """The function whose scaler is due."""
    clock, functions = world.clock[0], world.functions
    function = clock.function
    return Scaling(
        function,
        clock.suggested,
        functions[function].wanted,
        functions[function].ready,
        functions[function].minimum,
        functions[function].maximum,
        window_mean(functions, function, 0),
        window_mean(functions, function, 1),
        used_cpu(functions, function),
        functions[function].held,
        functions[function].waiting + functions[function].queued,
        clock.now - functions[function].changed_s,
        clock.now,
    )


@separate
def set_replicas(world: World, function: int, count: int) -> None:
    """A function should have so many replicas: more are placed, the least needed ones drain."""
    functions, before = world.functions, world.functions[function].wanted
    if count == before:
        return
    functions[function].wanted = count
    functions[function].changed_s = world.clock[0].now
    record_change(world, function, before, count, True)
    while functions[function].placed > count:
        remove_replica(world, least_needed(world, function))
    world.clock[0].looks = True
