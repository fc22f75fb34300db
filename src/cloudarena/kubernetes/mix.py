"""The cheapest mix of node types that holds all pods of a snapshot, and what today's nodes cost.

A new node has what one of its type has in the snapshot; for other types the smallest share of the
nominal CPU and memory that a node here leaves to pods. What daemon sets and static pods ask for
that run on most nodes is taken off each new one. Pods whose anti-affinity keeps their like off a
node are at most one to a node. Other selectors, taints, affinities and spreads are left out, and
counted in the answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cloudarena.base.errors import CloudarenaError
from cloudarena.kubernetes.packing import pack
from cloudarena.kubernetes.patterns import Bin, Item, Pattern, cost_of, fits
from cloudarena.kubernetes.quantity import CPU, MEMORY, PODS, written
from cloudarena.kubernetes.requests import Amounts, total
from cloudarena.kubernetes.selectors import HOSTNAME, PodTerm
from cloudarena.kubernetes.snapshot import Node, Pod, Snapshot, not_modelled, some
from cloudarena.workloads.prices.instances import Instance
from cloudarena.workloads.prices.machine import MONTH_H

MICRO = 1_000_000
"""Prices are counted in millionths of a dollar."""


class NewNode(NamedTuple):
    """A node of the mix, with its pods."""

    instance: Instance
    pods: tuple[Pod, ...]


class Today(NamedTuple):
    """The nodes of one type that there are."""

    instance: str
    number: int
    hour_usd: float | None
    """The price of one; None if the list has not the type."""


@dataclass(frozen=True)
class Mix:
    """A mix of nodes, and how far from the cheapest it can be."""

    nodes: tuple[NewNode, ...]
    bound_usd: float
    """No mix costs less an hour."""
    today: tuple[Today, ...]
    left_out: Mapping[Pod, str]
    """Pods that no type has room for."""
    overhead: Mapping[str, int]
    """What daemon sets and static pods take of each node."""
    notes: tuple[str, ...]

    @property
    def hour_usd(self) -> float:
        """What the mix costs an hour."""
        return round(sum(node.instance.hour_usd for node in self.nodes), 6)

    @property
    def today_usd(self) -> float | None:
        """What today's nodes cost an hour; None if the price of one is not known."""
        if any(one.hour_usd is None for one in self.today):
            return None
        return round(sum(one.number * (one.hour_usd or 0.0) for one in self.today), 6)

    @property
    def gap(self) -> float:
        """The part of its cost that the cheapest mix could be cheaper by, at most."""
        return (self.hour_usd - self.bound_usd) / self.hour_usd if self.hour_usd else 0.0

    @property
    def numbers(self) -> dict[str, int]:
        """How many nodes of each type, the most first."""
        return dict(Counter(node.instance.name for node in self.nodes).most_common())

    def conclusion(self) -> str:
        """The answer in a sentence or two."""
        mix = ", ".join(f"{number} x {name}" for name, number in self.numbers.items()) or "no node"
        pods = sum(len(node.pods) for node in self.nodes)
        text = f"{mix}: {pods:,} pods for ${self.hour_usd:,.4f} an hour, "
        text += f"${self.hour_usd * MONTH_H:,.2f} a month"
        if self.today_usd:
            less = round(self.today_usd - self.hour_usd, 6)
            word = "less than" if less > 0 else "more than"
            by = f"${abs(less):,.4f} ({abs(less) / self.today_usd:.1%}) {word}"
            today = f"{sum(one.number for one in self.today)} nodes (${self.today_usd:,.4f})"
            text += f"; {by if less else 'as much as'} today's {today}"
        if self.gap <= 0:
            return f"{text}. No mix is cheaper (proven)."
        return f"{text}. No mix costs less than ${self.bound_usd:,.4f}: a gap of {self.gap:.2%}."

    def summary(self) -> dict[str, Any]:
        """The answer as plain values."""
        pods = [pod for node in self.nodes for pod in node.pods]
        return {
            "mix": self.numbers,
            "hour_usd": self.hour_usd,
            "month_usd": self.hour_usd * MONTH_H,
            "bound_hour_usd": self.bound_usd,
            "gap": self.gap,
            "today": [one._asdict() for one in self.today],
            "today_hour_usd": self.today_usd,
            "nodes": [
                {"type": node.instance.name, "pods": [str(pod) for pod in node.pods]}
                for node in self.nodes
            ],
            "left_out": [{"pod": str(pod), "why": why} for pod, why in self.left_out.items()],
            "overhead": dict(self.overhead),
            "not_modelled": list(_not_modelled(pods)),
            "notes": list(self.notes),
        }


def cheapest_mix(
    snapshot: Snapshot, instances: Sequence[Instance], max_pods: int | None = None
) -> Mix:
    """The cheapest mix of instance types that holds all pods, those that are pending too.

    Args:
        snapshot: the pods, and nodes that show what is left of one to pods.
        instances: the types that may be used.
        max_pods: pods of a node; by default as of its type, or the fewest of a node in the
            snapshot.
    """
    for instance in instances:
        if instance.hour_usd <= 0:
            raise CloudarenaError(
                f"--types: {instance.name}: hour_usd: {instance.hour_usd:g} is not allowed: "
                "more than 0"
            )
    movable = [pod for pod in snapshot.pods if not pod.is_tied and not pod.is_ending]
    if not movable:
        raise CloudarenaError("the snapshot has no pods that could be on another node")
    used = {pod.node for pod in movable}
    workers = [node for node in snapshot.nodes if node.name in used or not node.taints]
    notes = [*snapshot.notes]
    others = [node.name for node in snapshot.nodes if node not in workers]
    if others:
        notes.append(f"{len(others):,} nodes stay as they are, not counted: {some(others)}")
    overhead = _overhead(snapshot, workers, notes)
    rooms = _rooms(workers, instances, max_pods)
    names = sorted({name for pod in movable for name, value in pod.requests.items() if value > 0})
    usable, bins = [], []
    for instance in instances:
        room = tuple(rooms[instance.name].get(name, 0) - overhead.get(name, 0) for name in names)
        if min(room) >= 0:
            usable.append(instance)
            bins.append(Bin(room, round(instance.hour_usd * MICRO)))
    groups = _groups(movable, names)
    items, members = [], []
    left_out: dict[Pod, str] = {}
    for item, pods in groups:
        if any(fits([item], (1,), bin) for bin in bins):
            items.append(item)
            members.append(pods)
        else:
            asks = ", ".join(
                f"{name} {written(name, size)}"
                for name, size in zip(names, item.sizes, strict=True)
                if size and name != PODS
            )
            left_out |= dict.fromkeys(pods, f"no type of the list has room for {asks}")
    packing = pack(items, bins)
    nodes = tuple(_assigned(packing.patterns, members, usable))
    prices = {instance.name: instance.hour_usd for instance in instances}
    kinds = Counter(node.instance for node in workers)
    today = tuple(
        Today(kind or "unknown", number, prices.get(kind)) for kind, number in kinds.items()
    )
    unknown = [one.instance for one in today if one.hour_usd is None]
    if unknown:
        notes.append(f"today's cost is not known: the list has no price of {some(unknown)}")
    assert cost_of(packing.patterns, bins) >= packing.bound
    return Mix(nodes, packing.bound / MICRO, today, left_out, overhead, tuple(notes))


def _overhead(snapshot: Snapshot, workers: Sequence[Node], notes: list[str]) -> Amounts:
    """What the daemon sets and static pods ask for that run on more than half of the nodes."""
    names = {node.name for node in workers}
    sets: dict[str, list[Pod]] = defaultdict(list)
    for pod in snapshot.pods:
        if pod.is_tied and pod.node in names:
            kind, owner = pod.owner
            own = owner if kind == "DaemonSet" else pod.name.removesuffix(f"-{pod.node}")
            sets[f"{pod.namespace}/{own}"].append(pod)
    overhead: Amounts = {}
    rare = []
    for name, pods in sets.items():
        if 2 * len(pods) > len(workers):
            newest = max(pods, key=lambda pod: (pod.created, pod.name))
            overhead = total(overhead, newest.requests)
        else:
            rare.append(name)
    if rare:
        notes.append(f"daemon sets on half of the nodes or fewer are not counted: {some(rare)}")
    return overhead


def _rooms(
    workers: Sequence[Node], instances: Iterable[Instance], max_pods: int | None
) -> dict[str, Amounts]:
    """What a node of each type has for pods."""
    known = {instance.name: instance for instance in instances}
    seen: dict[str, Amounts] = {}
    shares = {CPU: 1.0, MEMORY: 1.0}
    disks: Amounts = {}
    for node in workers:
        nominal = dict(node.capacity)
        if node.instance in known:
            nominal |= _nominal(known[node.instance])
            before = seen.get(node.instance, node.allocatable)
            seen[node.instance] = {
                name: min(value, before.get(name, 0)) for name, value in node.allocatable.items()
            }
        for name in shares:
            if nominal.get(name, 0) > 0:
                share = node.allocatable.get(name, 0) / nominal[name]
                shares[name] = min(shares[name], share)
        for name, value in node.allocatable.items():
            if name not in shares and "/" not in name:
                disks[name] = min(value, disks.get(name, value))
    rooms = {}
    for instance in known.values():
        nominal = _nominal(instance)
        guess = {**disks, **{name: int(nominal[name] * share) for name, share in shares.items()}}
        rooms[instance.name] = dict(seen.get(instance.name, guess))
        if max_pods is not None:
            rooms[instance.name][PODS] = max_pods
    return rooms


def _nominal(instance: Instance) -> Amounts:
    """What an instance type is sold as."""
    return {CPU: round(instance.vcpu * 1000), MEMORY: round(instance.memory_gb * 2**30)}


def _groups(pods: Iterable[Pod], names: Sequence[str]) -> list[tuple[Item, list[Pod]]]:
    """Pods that ask for the same; those that keep their like off a node are families."""
    families: dict[tuple[PodTerm, ...], int] = {}
    found: dict[tuple[tuple[int, ...], int], list[Pod]] = defaultdict(list)
    for pod in pods:
        family = -1
        apart = [t for t in pod.anti_affinity if t.topology == HOSTNAME and t.is_about(pod)]
        if apart:
            family = families.setdefault(tuple(apart), len(families))
        found[tuple(pod.requests.get(name, 0) for name in names), family].append(pod)
    return [(Item(sizes, len(pods), family), pods) for (sizes, family), pods in found.items()]


def _assigned(
    patterns: Sequence[Pattern], members: Sequence[Sequence[Pod]], usable: Sequence[Instance]
) -> Iterable[NewNode]:
    """The nodes of a packing with the pods on each; the last ones may have room left."""
    left = [list(pods) for pods in members]
    for pattern in patterns:
        here = []
        for group, number in zip(left, pattern.counts, strict=True):
            here += group[:number]
            del group[:number]
        yield NewNode(usable[pattern.bin], tuple(here))


def _not_modelled(pods: Sequence[Pod]) -> tuple[str, ...]:
    """What the mix takes no account of."""
    counts = {
        "node selectors and affinities": sum(bool(p.selector or p.terms) for p in pods),
        "pod affinities": sum(bool(p.affinity) for p in pods),
        "anti-affinities other than to their like on a node": sum(
            any(term.topology != HOSTNAME or not term.is_about(p) for term in p.anti_affinity)
            for p in pods
        ),
        "spread constraints": sum(bool(p.spread) for p in pods),
    }
    asked = [f"{words} ({number:,} pods)" for words, number in counts.items() if number]
    return ("taints of nodes", *asked, *not_modelled(pods))
