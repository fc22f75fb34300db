"""How many more pods like one fit in a cluster, and what stops them on each node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from cloudarena.kubernetes.fits import Cluster, Filter, Reasons, refusal
from cloudarena.kubernetes.snapshot import Node, Pod, Snapshot, not_modelled, some


class Room(NamedTuple):
    """How many more pods a node takes."""

    node: str
    pods: int
    stopped_by: Reasons
    """What keeps one more off."""


@dataclass(frozen=True)
class Headroom:
    """How many more pods of one kind fit."""

    pod: Pod
    rooms: tuple[Room, ...]
    is_exact: bool
    """Whether no more can fit; if not, these do, and another order could fit more."""
    notes: tuple[str, ...]

    @property
    def pods(self) -> int:
        """How many more fit in all."""
        return sum(room.pods for room in self.rooms)

    def conclusion(self) -> str:
        """The answer in a sentence."""
        why = refusal({room.node: room.stopped_by for room in self.rooms})
        least = "" if self.is_exact else "at least "
        return f"{least}{self.pods:,} more of {self.pod.workload} fit. The next one: {why}."

    def summary(self) -> dict[str, Any]:
        """The answer as plain values."""
        return {
            "pod": str(self.pod),
            "workload": self.pod.workload,
            "requests": dict(self.pod.requests),
            "pods": self.pods,
            "exact": self.is_exact,
            "nodes": [
                {"node": room.node, "pods": room.pods, "stopped_by": list(room.stopped_by)}
                for room in self.rooms
            ],
            "not_modelled": list(not_modelled([self.pod])),
            "notes": list(self.notes),
        }


def headroom(snapshot: Snapshot, pod: Pod) -> Headroom:
    """How many more pods fit, one after the other, while all others stay where they are.

    Pods that ask to be near their like, of which there is none yet, begin where most fit.
    """
    beginning = Cluster(snapshot.nodes, snapshot.pods)
    asks = Filter(beginning, pod)
    if asks.begins_alone:
        groups: dict[tuple[str | None, ...], list[Node]] = defaultdict(list)
        for node in snapshot.nodes:
            groups[tuple(node.labels.get(term.topology) for term in pod.affinity)].append(node)
        fillings = [_fill(snapshot, pod, nodes) for nodes in groups.values()]
        counts = max(fillings, key=lambda counts: sum(counts.values()))
    else:
        counts = _fill(snapshot, pod, snapshot.nodes)
    end = Cluster(snapshot.nodes, snapshot.pods)
    for name, number in counts.items():
        for _ in range(number):
            end.add(pod, end.nodes[name])
    asks = Filter(end, pod)
    rooms = tuple(
        Room(node.name, counts.get(node.name, 0), asks.why_not(node)) for node in snapshot.nodes
    )
    pending = [str(one) for one in snapshot.pods if not one.node and not one.is_tied]
    notes = list(snapshot.notes)
    if pending:
        notes.append(f"{len(pending):,} pods are pending and not counted: {some(pending)}")
    return Headroom(pod, rooms, _is_exact(pod), tuple(notes))


def _is_exact(pod: Pod) -> bool:
    """Whether the number of pods that fit does not depend on where the first ones go.

    It does not if only one thing binds the pods to each other: one spread constraint, or an
    anti-affinity over one label.
    """
    apart = {term.topology for term in pod.anti_affinity if term.is_about(pod)}
    near = any(term.is_about(pod) for term in pod.affinity)
    return len(pod.spread) + len(apart) + near <= 1


def _fill(snapshot: Snapshot, pod: Pod, candidates: Iterable[Node]) -> dict[str, int]:
    """Pods that are added to each of some nodes, in rounds, until none takes another."""
    cluster = Cluster(snapshot.nodes, snapshot.pods)
    asks = Filter(cluster, pod)
    nodes = [node for node in _alternating(candidates, pod) if not asks.unwanted(node)]
    if not (pod.affinity or pod.anti_affinity or pod.spread):
        return {node.name: _slots(cluster, pod, node) for node in nodes if not asks.repelled(node)}
    counts: dict[str, int] = defaultdict(int)
    before = -1
    while sum(counts.values()) > before:
        before = sum(counts.values())
        nodes = [node for node in nodes if not asks.short_of(node)]
        for node in nodes:
            if not asks.why_not(node):
                cluster.add(pod, node)
                asks.count(pod, node)
                counts[node.name] += 1
    return counts


def _slots(cluster: Cluster, pod: Pod, node: Node) -> int:
    """How many pods the resources of a node suffice for."""
    needs = ((name, value) for name, value in pod.requests.items() if value > 0)
    return max(0, min(cluster.free(node, name) // value for name, value in needs))


def _alternating(nodes: Iterable[Node], pod: Pod) -> list[Node]:
    """Nodes in an order in which the places over which pods are spread take turns."""
    seen: dict[tuple[str | None, ...], int] = defaultdict(int)
    turns = []
    for index, node in enumerate(nodes):
        place = tuple(node.labels.get(one.topology) for one in pod.spread)
        turns.append((seen[place], index, node))
        seen[place] += 1
    return [node for _, _, node in sorted(turns, key=lambda turn: turn[:2])]
