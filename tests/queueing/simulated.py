"""Slow and obvious simulations of queues and closed networks: what formulas approximate."""

from __future__ import annotations

import heapq
from collections import deque

import numpy as np


def waits(between, services, servers):
    """The waits in G/G/c, first come, first served: each takes the server that is free first."""
    free = [0.0] * servers
    now, found = 0.0, []
    for gap, service in zip(between, services, strict=True):
        now += gap
        begin = max(now, heapq.heappop(free))
        heapq.heappush(free, begin + service)
        found.append(begin - now)
    return np.array(found)


def mean_wait(draw_between, draw_service, servers, requests, seeds):
    """The mean wait over all requests but the first tenth, and its standard error over seeds."""
    means = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        found = waits(draw_between(rng, requests), draw_service(rng, requests), servers)
        means.append(found[requests // 10 :].mean())
    return np.mean(means), np.std(means, ddof=1) / np.sqrt(seeds)


def with_scv(mean, scv):
    """Draws gamma times of a mean and a squared coefficient of variation; constants for 0."""
    if scv == 0.0:
        return lambda _, count: np.full(count, mean)
    return lambda rng, count: rng.gamma(1.0 / scv, mean * scv, count)


def layered(demands, servers, threads, customers, think, rounds, seed):
    """Throughput and mean wait for a thread; a request visits all stations once, in order."""
    rng = np.random.default_rng(seed)
    events, order = [], 0
    for one in range(customers):
        heapq.heappush(events, (rng.exponential(think), order, one, -1))
        order += 1
    pool, waiting = threads, deque()
    idle, queues = list(servers), [deque() for _ in servers]
    asked, done, total, begun = {}, 0, [], 0.0

    def enter(one, station, now):
        nonlocal order
        if idle[station]:
            idle[station] -= 1
            heapq.heappush(events, (now + rng.exponential(demands[station]), order, one, station))
            order += 1
        else:
            queues[station].append(one)

    warm = rounds // 10
    while done < rounds:
        now, _, one, station = heapq.heappop(events)
        if station == -1:
            asked[one] = now
            waiting.append(one)
        else:
            idle[station] += 1
            if queues[station]:
                enter(queues[station].popleft(), station, now)
            if station + 1 < len(demands):
                enter(one, station + 1, now)
            else:
                pool += 1
                done += 1
                begun = now if done == warm else begun
                heapq.heappush(events, (now + rng.exponential(think), order, one, -1))
                order += 1
        while pool and waiting:
            pool -= 1
            chosen = waiting.popleft()
            if done >= warm:
                total.append(now - asked[chosen])
            enter(chosen, 0, now)
    return (rounds - warm) / (now - begun), np.mean(total)
