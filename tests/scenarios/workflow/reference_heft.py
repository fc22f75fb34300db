"""HEFT, slowly and obviously: every node keeps a list of what it has promised, from when to when.

A start is tried at once and at the end of each promise, and looked at instant by instant.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from .reference import Function, Node, Question, exact


class Promise(NamedTuple):
    start: Fraction
    end: Fraction
    cores: int
    memory: int


def seconds_on(function: Function, node: Node, memory: int) -> Fraction:
    """How long a function takes on a node that has as many cores free as it can use."""
    cores = min(function.parallelism, node.sharing.cores)
    slower = max(Fraction(1), Fraction(function.memory_req, memory))
    return Fraction(function.computation, cores * node.sharing.core_speed) * slower


def option_of(spec: Any, function: Function, node: Node) -> int:
    """The smallest memory option that is enough, or the largest; at most what the node has."""
    enough = [option for option in spec.memory_options if option >= function.memory_req]
    return min(min(enough, default=max(spec.memory_options)), node.memory)


def rank(spec: Any, question: Question, function: Function) -> Fraction:
    """Mean time over the nodes, and the longest of mean transfer and rank of the successors."""
    nodes = question.nodes
    times = [seconds_on(function, node, option_of(spec, function, node)) for node in nodes]
    pairs = [(one, other) for one in nodes for other in nodes if one is not other]
    behind = [
        rank(spec, question, child) + sum(
            (size / question.bandwidths.between(*pair) for pair in pairs), Fraction(0)
        ) / max(1, len(pairs))
        for child in function.children
        for parent, size in child.parents
        if parent is function
    ]  # fmt: skip
    return sum(times, Fraction(0)) / len(times) + max(behind, default=Fraction(0))


def fits(node: Node, promises: list[Promise], wanted: Promise) -> bool:
    """Whether a node has the cores and the memory all the time."""
    moments = [wanted.start] + [it.start for it in promises if wanted.start < it.start < wanted.end]
    for moment in moments:
        here = [it for it in promises if it.start <= moment < it.end]
        if wanted.cores + sum(it.cores for it in here) > node.sharing.cores:
            return False
        if wanted.memory + sum(it.memory for it in here) > node.memory:
            return False
    return True


def plan(spec: Any, question: Question) -> dict[int, tuple[int, Fraction]]:
    """Node and start of each function of the first workflow, when nothing is rented yet.

    Servers of the cases boot when the first function is submitted to them.
    """
    nodes, now = question.nodes, question.now
    promises: list[list[Promise]] = [[] for _ in nodes]
    submitted: dict[Any, list[Fraction]] = {}
    found: dict[int, tuple[int, Fraction]] = {}
    ends: dict[int, Fraction] = {}
    functions = sorted(question.workflow.functions, key=lambda it: -rank(spec, question, it))
    for function in functions:
        submission = max([now, *(ends[parent.number] for parent, _ in function.parents)])
        options = []
        for place, node in enumerate(nodes):
            memory = option_of(spec, function, node)
            boots = [time for time in submitted.get(node.server, []) if time <= submission]
            begin = max(submission, min([*boots, submission]) + node.server.latency)
            times = [
                size / question.bandwidths.between(nodes[found[parent.number][0]], node)
                for parent, size in function.parents
            ]
            one_by_one = question.bandwidths.one_by_one
            begin += sum(times) if one_by_one else max(times, default=Fraction(0))
            seconds = seconds_on(function, node, memory)
            cores = min(function.parallelism, node.sharing.cores)
            starts = [begin, *(it.end for it in promises[place] if it.end > begin)]
            tried = [Promise(start, start + seconds, cores, memory) for start in sorted(starts)]
            first = next(it for it in tried if fits(node, promises[place], it))
            options.append((first.end, place, first))
        end, place, promise = min(options, key=lambda it: it[:2])
        promises[place].append(promise)
        submitted.setdefault(nodes[place].server, []).append(submission)
        found[function.number], ends[function.number] = (place, promise.start), end
    return found


def textbook(
    seconds: list[list[float]], edges: dict[tuple[int, int], float]
) -> tuple[list[int], list[Fraction]]:
    """HEFT as published: tasks on single processors, data comes from each parent when it ends."""
    costs = [[exact(value) for value in row] for row in seconds]
    parents: list[list[tuple[int, Fraction]]] = [[] for _ in costs]
    ranks: dict[int, Fraction] = {}
    for (source, target), size in edges.items():
        parents[target].append((source, exact(size)))

    def upward(task: int) -> Fraction:
        if task not in ranks:
            behind = [exact(size) + upward(b) for (a, b), size in edges.items() if a == task]
            ranks[task] = sum(costs[task]) / len(costs[task]) + max(behind, default=Fraction(0))
        return ranks[task]

    taken: list[list[tuple[Fraction, Fraction]]] = [[] for _ in costs[0]]
    where, end = [-1] * len(costs), [Fraction(0)] * len(costs)
    starts = [Fraction(0)] * len(costs)
    for task in sorted(range(len(costs)), key=lambda task: -upward(task)):
        options = []
        for place, cost in enumerate(costs[task]):
            ready = max(
                [Fraction(0)]
                + [end[p] + (0 if where[p] == place else size) for p, size in parents[task]]
            )
            tried = sorted([ready, *(stop for _, stop in taken[place] if stop > ready)])
            begin = next(
                t for t in tried if all(t + cost <= a or t >= b for a, b in taken[place])
            )  # fmt: skip
            options.append((begin + cost, place, begin))
        end[task], where[task], starts[task] = min(options)
        taken[where[task]].append((starts[task], end[task]))
    return where, starts
