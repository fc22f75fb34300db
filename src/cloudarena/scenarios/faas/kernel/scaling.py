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

from cloudarena.engine.alarms import set_alarm
from cloudarena.engine.compiled import plain, separate
from cloudarena.scenarios.faas.kernel.execution import meter_function
from cloudarena.scenarios.faas.kernel.lifecycle import remove_replica
from cloudarena.scenarios.faas.kernel.replicas import least_needed
from cloudarena.scenarios.faas.kernel.requests import record_change
from cloudarena.scenarios.faas.state import HISTORY, Record, Scaler, Scaling, World


@separate
def tick(world: World, which: int) -> None:
    """Keeps what a scaler looks at, and sets when it is due next."""
    function, clock = world.functions[which], world.clock[0]
    meter_function(function, clock.now)
    function.ticks += 1
    place = function.ticks % HISTORY
    for k in range(4):
        function.history[place, k] = function.integrals[k]
    set_alarm(world.due.scalers, which, (function.ticks + 1) * function.interval_s)
    clock.suggested = suggestion(function, clock.now)


@plain
def window_mean(function: Record, k: int) -> float:
    """The mean over the window of what is added up in the k-th integral."""
    ticks, intervals = function["ticks"], min(function["ticks"], function["window"])
    if intervals == 0:
        return 0.0
    last = function["history"][ticks % HISTORY, k]
    first = function["history"][(ticks - intervals) % HISTORY, k]
    return float(last - first) / (intervals * function["interval_s"])


@plain
def used_cpu(function: Record) -> float:
    """CPU that was used in the window of what the replicas asked for."""
    asked = window_mean(function, 3)  # millicores
    used = window_mean(function, 2) / 1000.0  # from millionths of cores
    return used / asked if asked > 0.0 else 0.0


@separate
def suggestion(function: Record, now: float) -> int:
    """How many replicas the scaler of the spec gives a function."""
    replicas, scaler, step = function.wanted, function.scaler, function.step
    rate = window_mean(function, 0)
    count = replicas
    if scaler == Scaler.REQUEST_RATE:
        if rate >= function.threshold:
            count = replicas + max(step, 1)
        elif rate < function.lower_threshold:
            count = replicas - max(step, 1)
    elif replicas > 0:
        value = rate
        if scaler == Scaler.QUEUE_LENGTH:
            value = window_mean(function, 1)
        elif scaler == Scaler.CPU_UTILISATION:
            value = used_cpu(function) * replicas
        ratio = value / (replicas * function.threshold)
        if abs(ratio - 1.0) > function.tolerance:
            count = int(np.ceil(replicas * ratio - 1e-9))
        if step > 0:
            count = min(max(count, replicas - step), replicas + step)
    if count < replicas and now - function.changed_s < function.cooldown_s:
        count = replicas
    if count == 0 and function.waiting + function.held > 0:
        count = 1  # what is under way needs a replica
    return min(max(count, function.minimum), function.maximum)


@plain
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


@separate
def set_replicas(world: World, which: int, count: int) -> None:
    """A function should have so many replicas: more are placed, the least needed ones drain."""
    function, clock = world.functions[which], world.clock[0]
    before = function.wanted
    if count == before:
        return
    function.wanted, function.changed_s = count, clock.now
    record_change(world, which, before, count, True)
    while function.placed > count:
        remove_replica(world, least_needed(world, which))
    clock.looks = True
