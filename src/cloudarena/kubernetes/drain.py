"""Where the pods of a node would go if it were drained, and which would not fit, and why.

Pods are put one after the other on nodes that kube-scheduler's filters allow, in two ways: in the
order of priority and age on the emptiest node, and the largest first on the fullest. If neither
places all, an integer program over resources, taints, selectors and anti-affinity says how many can
be placed at most: it leaves out what binds pods to the others that move (affinity, spread), so its
number is a bound, and proves that no placement of all exists if it is too small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cloudarena.kubernetes.fits import Cluster, Filter, refusal
from cloudarena.kubernetes.placing import most_placeable
from cloudarena.kubernetes.snapshot import Node, Pod, Snapshot, not_modelled, some


@dataclass(frozen=True)
class Drain:
    """What becomes of the pods of a node."""

    node: str
    moves: Mapping[Pod, str]
    """The node that takes each pod."""
    stuck: Mapping[Pod, str]
    """Pods that fit nowhere, with the reasons."""
    most: int
    """No more pods than these can be placed by anyone."""
    stays: tuple[Pod, ...]
    """Pods of daemon sets and static pods, which are there because the node is."""
    bare: tuple[Pod, ...]
    """Pods that nothing makes again."""
    ending: tuple[Pod, ...]
    """Pods that are being deleted anyway."""
    notes: tuple[str, ...]

    @property
    def is_proven(self) -> bool:
        """Whether no one could place more of them."""
        return len(self.moves) == self.most

    def conclusion(self) -> str:
        """The answer in a sentence."""
        pods = len(self.moves) + len(self.stuck)
        if not pods:
            return f"{self.node} has no pods that would have to move."
        if not self.stuck:
            return f"All {pods:,} pods of {self.node} fit elsewhere."
        if self.is_proven:
            proof = "no placement has room for more (proven)"
        else:
            proof = f"at most {self.most:,} could be placed (not proven that so many can)"
        return f"{len(self.stuck):,} of {pods:,} pods of {self.node} do not fit elsewhere: {proof}."

    def summary(self) -> dict[str, Any]:
        """The answer as plain values."""
        moving = [*self.moves, *self.stuck]
        return {
            "node": self.node,
            "fits": not self.stuck,
            "proven": self.is_proven,
            "most": self.most,
            "moves": [{"pod": str(pod), "node": node} for pod, node in self.moves.items()],
            "stuck": [{"pod": str(pod), "why": why} for pod, why in self.stuck.items()],
            "stays": [str(pod) for pod in self.stays],
            "bare": [str(pod) for pod in self.bare],
            "ending": [str(pod) for pod in self.ending],
            "loses_local_data": [str(pod) for pod in moving if pod.has_local_data],
            "not_modelled": list(not_modelled(moving)),
            "notes": list(self.notes),
        }


def drain(snapshot: Snapshot, name: str) -> Drain:
    """What becomes of the pods of a node when it is drained and goes."""
    node = snapshot.node(name)
    here = [pod for pod in snapshot.pods if pod.node == node.name]
    stays = tuple(pod for pod in here if pod.is_tied)
    ending = tuple(pod for pod in here if pod.is_ending and not pod.is_tied)
    bare = tuple(pod for pod in here if pod.is_bare and not pod.is_ending)
    gone = {*stays, *ending, *bare}
    moving = [pod for pod in here if pod not in gone]
    start = _Start(
        tuple(one for one in snapshot.nodes if one is not node),
        tuple(pod for pod in snapshot.pods if pod.node not in ("", node.name)),
    )
    best = max((_place(start, moving, way) for way in (_by_age, _by_size)), key=len)
    most = len(moving)
    if len(best) < most:
        most, hints = most_placeable(start.cluster(), moving)
        if most > len(best):
            best = max(best, _follow(start, moving, hints), key=len)
    end = start.cluster()
    for pod, target in best.items():
        end.add(pod, end.nodes[target])
    stuck = {}
    for pod in moving:
        if pod not in best:
            asks = Filter(end, pod)
            stuck[pod] = refusal({one.name: asks.why_not(one) for one in start.nodes})
    pending = [str(pod) for pod in snapshot.pods if not pod.node and not pod.is_tied]
    notes = list(snapshot.notes)
    if pending:
        notes.append(f"{len(pending):,} pods are pending and not counted: {some(pending)}")
    return Drain(name, best, stuck, max(most, len(best)), stays, bare, ending, tuple(notes))


@dataclass(frozen=True)
class _Start:
    """The cluster without the node and its pods."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]

    def cluster(self) -> Cluster:
        """The cluster before anything has moved."""
        return Cluster(self.nodes, self.pods)


Way = Callable[[Sequence[Pod], Cluster], tuple[Sequence[Pod], int]]
"""Gives the order of pods, and 1 if the emptiest node is taken or -1 for the fullest."""


def _by_age(pods: Sequence[Pod], cluster: Cluster) -> tuple[Sequence[Pod], int]:
    return sorted(pods, key=lambda pod: (-pod.priority, pod.created, str(pod))), 1


def _by_size(pods: Sequence[Pod], cluster: Cluster) -> tuple[Sequence[Pod], int]:
    largest: dict[str, int] = {}
    for node in cluster.nodes.values():
        for name, value in node.allocatable.items():
            largest[name] = max(largest.get(name, 1), value)

    def size(pod: Pod) -> float:
        return max(value / largest.get(name, 1) for name, value in pod.requests.items())

    return sorted(pods, key=lambda pod: (-size(pod), str(pod))), -1


def _place(start: _Start, pods: Sequence[Pod], way: Way) -> dict[Pod, str]:
    """The node of each pod that finds one; who finds none tries again after the others."""
    cluster = start.cluster()
    order, sign = way(pods, cluster)
    placed: dict[Pod, str] = {}
    before = -1
    while len(placed) > before:
        before = len(placed)
        for pod in order:
            if pod in placed:
                continue
            asks = Filter(cluster, pod)
            fitting = [node for node in start.nodes if not asks.why_not(node)]
            if fitting:
                target = max(fitting, key=lambda node: sign * _emptiness(cluster, node, pod))
                cluster.add(replace(pod, node=target.name), target)
                placed[pod] = target.name
    return placed


def _emptiness(cluster: Cluster, node: Node, pod: Pod) -> float:
    """The mean share of CPU and memory that is left: kube-scheduler's least-allocated score."""
    names = [name for name in ("cpu", "memory") if node.allocatable.get(name, 0) > 0]
    left = [
        (cluster.free(node, name) - pod.requests.get(name, 0)) / node.allocatable[name]
        for name in names
    ]
    return sum(left) / max(len(left), 1)


def _follow(start: _Start, pods: Sequence[Pod], hints: Mapping[Pod, str]) -> dict[Pod, str]:
    """Pods on the nodes of a plan where the filters allow it; the others wherever they fit."""
    cluster = start.cluster()
    placed: dict[Pod, str] = {}
    for hinted in (True, False):
        before = -1
        while len(placed) > before:
            before = len(placed)
            for pod in pods:
                if pod in placed or (hinted and pod not in hints):
                    continue
                asks = Filter(cluster, pod)
                wanted = [cluster.nodes[hints[pod]]] if hinted else start.nodes
                target = next((node for node in wanted if not asks.why_not(node)), None)
                if target is not None:
                    cluster.add(replace(pod, node=target.name), target)
                    placed[pod] = target.name
    return placed
