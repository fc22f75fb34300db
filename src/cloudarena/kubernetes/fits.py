"""Whether a pod fits on a node, by the filters of kube-scheduler and in their order.

These are: taints (cordoned and not ready nodes have one), node selector and required node affinity,
resources with the number of pods, topology spread with ``DoNotSchedule``, required pod affinity,
and required anti-affinity in both directions. The first filter that refuses gives the reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from cloudarena.kubernetes.quantity import PODS
from cloudarena.kubernetes.requests import Amounts
from cloudarena.kubernetes.selectors import Spread, Taint, matches
from cloudarena.kubernetes.snapshot import CORDONED, NOT_READY, UNREACHABLE, Node, Pod

Reasons = tuple[str, ...]
"""Why a pod does not fit on a node; empty if it does."""


class Cluster:
    """Nodes, and the pods on them; pods can be added."""

    def __init__(self, nodes: Sequence[Node], pods: Iterable[Pod]):
        self.nodes = {node.name: node for node in nodes}
        self.pods: dict[str, list[Pod]] = {node.name: [] for node in nodes}
        self.used: dict[str, Amounts] = {node.name: {} for node in nodes}
        self.repelling: list[tuple[Pod, Node]] = []
        """Pods with a required anti-affinity, and their nodes."""
        for pod in pods:
            if pod.node in self.nodes:
                self.add(pod, self.nodes[pod.node])

    def add(self, pod: Pod, node: Node) -> None:
        """Puts a pod on a node, whether it fits or not."""
        self.pods[node.name].append(pod)
        used = self.used[node.name]
        for name, value in pod.requests.items():
            used[name] = used.get(name, 0) + value
        if pod.anti_affinity:
            self.repelling.append((pod, node))

    def free(self, node: Node, resource: str) -> int:
        """What is left of a resource; less than 0 if more is used than there is."""
        return node.allocatable.get(resource, 0) - self.used[node.name].get(resource, 0)


class Filter:
    """What keeps a pod off the nodes of a cluster as it is, and as pods are added."""

    def __init__(self, cluster: Cluster, pod: Pod):
        self.cluster, self.pod = cluster, pod
        self._near: Counter[tuple[str, str]] = Counter()
        """Pods that all terms of the affinity are about, by label and value of their nodes."""
        self._repelled: Counter[tuple[str, str]] = Counter()
        """Pods that the anti-affinity is about."""
        self._repelling: Counter[tuple[str, str]] = Counter()
        """Pods whose anti-affinity is about this one."""
        self._spreads = [_Domains(spread, pod, cluster) for spread in pod.spread]
        if pod.affinity or pod.anti_affinity or pod.spread:
            for name, others in cluster.pods.items():
                for other in others:
                    self.count(other, cluster.nodes[name])
        else:
            for other, node in cluster.repelling:
                self.count(other, node)

    def count(self, other: Pod, node: Node) -> None:
        """Takes account of a pod on a node."""
        pod, labels = self.pod, node.labels
        if pod.affinity and all(term.is_about(other) for term in pod.affinity):
            for term in pod.affinity:
                if term.topology in labels:
                    self._near[term.topology, labels[term.topology]] += 1
        for term in pod.anti_affinity:
            if term.topology in labels and term.is_about(other):
                self._repelled[term.topology, labels[term.topology]] += 1
        for term in other.anti_affinity:
            if term.topology in labels and term.is_about(pod):
                self._repelling[term.topology, labels[term.topology]] += 1
        for domains in self._spreads:
            domains.count(other, node)

    @property
    def begins_alone(self) -> bool:
        """Whether the pod asks to be near its like, of which there is none yet."""
        pod = self.pod
        return (
            bool(pod.affinity)
            and not self._near
            and all(term.is_about(pod) for term in pod.affinity)
        )

    def why_not(self, node: Node) -> Reasons:
        """Why the pod does not fit on a node now; nothing if it does."""
        return (
            self.unwanted(node)
            or self.short_of(node)
            or self.uneven(node)
            or self.lonely(node)
            or self.repelled(node)
        )

    def unwanted(self, node: Node) -> Reasons:
        """Refusals that no other pod can change: taints, selector, node affinity."""
        taint = untolerated(self.pod, node)
        if taint is not None:
            return (said(taint),)
        return () if is_selected(self.pod, node) else ("node selector or affinity",)

    def short_of(self, node: Node) -> Reasons:
        """The resources of which too little is left."""
        return tuple(
            "too many pods" if name == PODS else f"too little {name}"
            for name, value in self.pod.requests.items()
            if value > 0 and value > self.cluster.free(node, name)
        )

    def uneven(self, node: Node) -> Reasons:
        """The spread constraints that would be broken."""
        for domains in self._spreads:
            reasons = domains.why_not(node)
            if reasons:
                return reasons
        return ()

    def lonely(self, node: Node) -> Reasons:
        """Whether the pods are missing that the affinity asks for."""
        terms = self.pod.affinity
        if not all(term.topology in node.labels for term in terms):
            return ("pod affinity",)
        near = all(self._near[term.topology, node.labels[term.topology]] > 0 for term in terms)
        return () if near or self.begins_alone else ("pod affinity",)

    def repelled(self, node: Node) -> Reasons:
        """Whether an anti-affinity keeps the pod off: its own, or that of a pod there."""
        labels = node.labels
        for term in self.pod.anti_affinity:
            if term.topology in labels and self._repelled[term.topology, labels[term.topology]]:
                return ("pod anti-affinity",)
        for (key, value), number in self._repelling.items():
            if number and labels.get(key) == value:
                return ("anti-affinity of a pod there",)
        return ()


class _Domains:
    """The pods of a spread constraint in each of the places that count."""

    def __init__(self, spread: Spread, pod: Pod, cluster: Cluster):
        self.spread, self.pod = spread, pod
        keys = [one.topology for one in pod.spread]
        self._counted = {
            node.name
            for node in cluster.nodes.values()
            if all(key in node.labels for key in keys)
            and (not spread.honours_affinity or is_selected(pod, node))
            and (not spread.honours_taints or untolerated(pod, node) is None)
        }
        self._numbers = {cluster.nodes[name].labels[spread.topology]: 0 for name in self._counted}
        self._own = int(matches(spread.selector, pod.labels))
        self._least: int | None = None

    def count(self, other: Pod, node: Node) -> None:
        if (
            node.name in self._counted
            and other.namespace == self.pod.namespace
            and not other.is_ending
            and matches(self.spread.selector, other.labels)
        ):
            self._numbers[node.labels[self.spread.topology]] += 1
            self._least = None

    def why_not(self, node: Node) -> Reasons:
        key = self.spread.topology
        if key not in node.labels:
            return (f"no label {key} to spread by",)
        if self._least is None:
            enough = len(self._numbers) >= self.spread.min_domains
            self._least = min(self._numbers.values(), default=0) if enough else 0
        number = self._numbers.get(node.labels[key], 0)
        skew = number + self._own - self._least
        return (f"spread over {key}",) if skew > self.spread.max_skew else ()


def untolerated(pod: Pod, node: Node) -> Taint | None:
    """The first taint of a node that a pod does not tolerate."""
    for taint in node.taints:
        if not any(one.tolerates(taint) for one in pod.tolerations):
            return taint
    return None


def is_selected(pod: Pod, node: Node) -> bool:
    """Whether a node satisfies the selector and the required node affinity of a pod."""
    if any(node.labels.get(key) != value for key, value in (pod.selector or {}).items()):
        return False
    return pod.terms is None or any(term.holds(node.name, node.labels) for term in pod.terms)


def said(taint: Taint) -> str:
    """A taint as a reason."""
    if taint.key == CORDONED.key:
        return "cordoned"
    return "not ready" if taint.key in (NOT_READY.key, UNREACHABLE) else f"taint {taint}"


def refusal(reasons: Mapping[str, Reasons]) -> str:
    """Why a pod fits on none of some nodes: ``0/8 nodes: 5 taint gpu, 3 too little cpu``."""
    counts = Counter(reason for one in reasons.values() for reason in one)
    parts = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return f"0/{len(reasons)} nodes: " + ", ".join(f"{number} {word}" for word, number in parts)
