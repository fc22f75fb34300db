"""Slow and obvious: Markov chains solved as linear systems, configurations tried one by one."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from fractions import Fraction

import numpy as np


def stationary(rates):
    """The stationary distribution of a Markov chain, from its matrix of transition rates."""
    rates = np.array(rates, float)
    np.fill_diagonal(rates, 0.0)
    generator = rates - np.diag(rates.sum(axis=1))
    states = len(rates)
    system = np.vstack((generator.T, np.ones(states)))
    return np.linalg.lstsq(system, np.append(np.zeros(states), 1.0), rcond=None)[0]


def birth_death(arrival, service, servers, room):
    """The distribution of the number of requests in M/M/c/K."""
    rates = np.zeros((room + 1, room + 1))
    for number in range(room):
        rates[number, number + 1] = arrival
        rates[number + 1, number] = service * min(number + 1, servers)
    return stationary(rates)


def mm1c_by_states(arrival, service, room):
    """The blocked share and the mean response of M/M/1/C: a loop over its states."""
    weights = [(arrival / service) ** number for number in range(room + 1)]
    found = weights[:-1]
    services = sum((number + 1) * weight for number, weight in enumerate(found)) / sum(found)
    return weights[-1] / sum(weights), services / service


def evaluate_by_states(rates, forward, room, balance, arrival, counts):
    """Each tier's blocked share and the mean response of a configuration, by depth, lossless."""
    onward = [*forward, 0.0]
    reach, response, blocked = 1.0, 0.0, []
    for tier, vms in enumerate(counts):
        visits = reach * (1.0 + onward[tier])
        reach *= onward[tier]
        parts = rates[tier] if balance == "weighted" else [1.0] * len(vms)
        total = sum(vm * part for vm, part in zip(vms, parts, strict=True))
        accepted = time = 0.0
        for size, vm in enumerate(vms):
            if vm:
                share = parts[size] / total
                lost, sojourn = mm1c_by_states(arrival * visits * share, rates[tier][size], room)
                accepted += vm * share * (1.0 - lost)
                time += vm * share * (1.0 - lost) * sojourn
        blocked.append(1.0 - accepted)
        response += visits * time / accepted
    return blocked, response


def cheapest_by_trying(problem, seconds, most_blocked):
    """The best configuration: (meets, cost, response), by the documented order."""
    rates, forward, room, balance, arrival, prices, most, in_total, most_vms = problem
    onward = [*forward, 0.0]
    visits = [math.prod(forward[:tier]) * (1.0 + onward[tier]) for tier in range(len(rates))]
    tiers = [
        [vms for vms in itertools.product(*(range(limit + 1) for limit in row)) if any(vms)]
        for row in most
    ]
    best = {}
    for counts in itertools.product(*tiers):
        totals = [sum(vms[size] for vms in counts) for size in range(len(prices))]
        if in_total and any(a > b for a, b in zip(totals, in_total, strict=True)):
            continue
        if most_vms is not None and sum(totals) > most_vms:
            continue
        blocked, response = evaluate_by_states(rates, forward, room, balance, arrival, counts)
        cost = sum(n * Fraction(str(price)) for n, price in zip(totals, prices, strict=True))
        excess = sum(
            visit * max(0.0, share - most_blocked)
            for visit, share in zip(visits, blocked, strict=True)
        )
        meets = excess == 0.0 and response <= seconds
        order = (cost, response, sum(totals)) if meets else (excess, response, cost, sum(totals))
        if meets not in best or order < best[meets][0]:
            best[meets] = (order, cost, response)
    if not best:
        return None
    meets = True in best
    _, cost, response = best[meets]
    return meets, float(cost), response


def simulate(chain, arrival_rate, counts, requests, seed):
    """Response times of the requests served, and the share of those lost: an event at a time."""
    rng = np.random.default_rng(seed)
    rates, room = chain.rates, chain.room
    onward = [*chain.forward, 0.0]
    vms = [
        [rates[tier][size] for size in range(len(row)) for _ in range(row[size])]
        for tier, row in enumerate(counts)
    ]
    weights = [
        np.cumsum(np.array(row if chain.balance == "weighted" else np.ones(len(row))))
        for row in vms
    ]
    queues = [[deque() for _ in row] for row in vms]
    events, times, lost, order = [], [], 0, itertools.count()

    def enter(now, tier, request):
        nonlocal lost
        pick = rng.random() * weights[tier][-1]
        vm = int(np.searchsorted(weights[tier], pick, side="right"))
        queue = queues[tier][vm]
        if len(queue) >= room[tier]:
            lost += 1
            return
        queue.append(request)
        if len(queue) == 1:
            start(now, tier, vm)

    def start(now, tier, vm):
        service = rng.exponential(1.0 / vms[tier][vm])
        heapq.heappush(events, (now + service, next(order), tier, vm))

    def leave(now, tier, vm):
        born, is_outward = queues[tier][vm].popleft()
        if queues[tier][vm]:
            start(now, tier, vm)
        if chain.routing == "random_walk":
            is_outward = False
        if not is_outward and rng.random() < onward[tier]:
            enter(now, tier + 1, (born, False))
        elif tier:
            enter(now, tier - 1, (born, True))
        else:
            times.append(now - born)

    heapq.heappush(events, (rng.exponential(1.0 / arrival_rate), next(order), -1, 0))
    arrived = 0
    while events:
        now, _, tier, vm = heapq.heappop(events)
        if tier >= 0:
            leave(now, tier, vm)
        elif arrived < requests:
            arrived += 1
            enter(now, 0, (now, False))
            heapq.heappush(events, (now + rng.exponential(1.0 / arrival_rate), next(order), -1, 0))
    return np.array(times), lost / requests
