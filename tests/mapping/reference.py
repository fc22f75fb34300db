"""Slow and obvious heuristics in plain Python, written from their descriptions alone."""

from __future__ import annotations

import itertools
import math


def completion(etc, loads, task, machine):
    return loads[machine] + etc[task][machine]


def best_machine(etc, loads, task):
    """The first machine on which the task ends first."""
    return min(range(len(loads)), key=lambda machine: completion(etc, loads, task, machine))


def _one_by_one(etc, ready, choose):
    """Commits one task at a time to its best machine, as ``choose`` picks from (time, task)."""
    loads, assignment = list(ready), {}
    while len(assignment) < len(etc):
        candidates = []
        for task in range(len(etc)):
            if task not in assignment:
                machine = best_machine(etc, loads, task)
                candidates.append((completion(etc, loads, task, machine), task))
        time, task = choose(candidates)
        machine = best_machine(etc, loads, task)
        assignment[task] = machine
        loads[machine] = time
    return [assignment[task] for task in range(len(etc))]


def min_min(etc, ready):
    return _one_by_one(etc, ready, lambda pairs: min(pairs))


def max_min(etc, ready):
    return _one_by_one(etc, ready, lambda pairs: min(pairs, key=lambda pair: (-pair[0], pair[1])))


def sufferage(etc, ready):
    loads, assignment = list(ready), {}
    while len(assignment) < len(etc):
        asked = {}
        for task in range(len(etc)):
            if task in assignment:
                continue
            times = sorted(completion(etc, loads, task, machine) for machine in range(len(loads)))
            loss = times[1] - times[0] if len(times) > 1 else 0.0
            asked.setdefault(best_machine(etc, loads, task), []).append((-loss, task))
        for machine, tasks in asked.items():
            _, task = min(tasks)
            assignment[task] = machine
            loads[machine] += etc[task][machine]
    return [assignment[task] for task in range(len(etc))]


def finish(etc, assignment, ready):
    loads = list(ready)
    for task, machine in enumerate(assignment):
        loads[machine] += etc[task][machine]
    return loads


def optimum(etc, ready):
    """The smallest makespan of all mappings."""
    machines = range(len(ready))
    return min(
        max(finish(etc, assignment, ready))
        for assignment in itertools.product(machines, repeat=len(etc))
    )


def tabu(etc, ready, rng, hops=1200, tries=100):
    """Tabu search that tries every pair of tasks on every pair of machines."""
    tasks, machines = len(etc), len(ready)
    searched, done = [], 0
    while True:
        for _ in range(tries):
            mapping = [int(rng.random() * machines) for _ in range(tasks)]
            if all(
                2 * sum(a != b for a, b in zip(mapping, other, strict=True)) >= tasks
                for other in searched
            ):
                break
        else:
            break
        done += bool(searched)
        done += _descend(etc, ready, mapping, hops - done)
        searched.append(mapping)
        if done >= hops:
            break
    return min(searched, key=lambda mapping: max(finish(etc, mapping, ready)))


def _descend(etc, ready, mapping, hops):
    pairs = list(itertools.combinations_with_replacement(range(len(etc)), 2))
    done, in_vain, place = 0, 0, 0
    while done < hops and in_vain < len(pairs):
        i, j = pairs[place % len(pairs)]
        place += 1
        in_vain += 1
        if _improve(etc, ready, mapping, i, j):
            done += 1
            in_vain = 0
    return done


def _improve(etc, ready, mapping, i, j):
    latest = max(finish(etc, mapping, ready))
    for machine_i, machine_j in itertools.product(range(len(ready)), repeat=2):
        changed = list(mapping)
        changed[i], changed[j] = machine_i, machine_j
        if i == j:
            changed[i] = machine_i
        if max(finish(etc, changed, ready)) < latest:
            mapping[:] = changed
            return True
    return False


def annealing(etc, ready, rng):
    """Simulated annealing that adds up all loads again for each mapping."""
    tasks, machines = len(etc), len(ready)
    mapping = [int(rng.random() * machines) for _ in range(tasks)]
    temperature = max(finish(etc, mapping, ready))
    seen, unchanged = [mapping], 0
    while unchanged < 150 and temperature >= 1e-200:
        task = int(rng.random() * tasks)
        changed = list(mapping)
        changed[task] = int(rng.random() * machines)
        old, new = max(finish(etc, mapping, ready)), max(finish(etc, changed, ready))
        if new < old or rng.random() > 1.0 / (1.0 + math.exp((old - new) / temperature)):
            mapping = changed
            seen.append(mapping)
            unchanged = unchanged + 1 if new == old else 0
        else:
            unchanged += 1
        temperature *= 0.9
    return min(seen, key=lambda mapping: max(finish(etc, mapping, ready)))
