"""A snapshot of a cluster: ``kubectl get nodes,pods -A -o json``, in one file or in several."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cloudarena.base.documents import decoded, read_bytes, read_json
from cloudarena.base.errors import CloudarenaError, TraceError, nearest
from cloudarena.kubernetes.quantity import PODS
from cloudarena.kubernetes.requests import Amounts, amounts_of, requested
from cloudarena.kubernetes.selectors import (
    BLOCKING,
    NAMESPACE_NAME,
    NodeTerm,
    PodTerm,
    Spread,
    Taint,
    Toleration,
    node_terms,
    pod_terms,
    spreads,
)

COMMAND = "kubectl get nodes,pods -A -o json"
INSTANCE = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
ENDED = ("Succeeded", "Failed")
"""Phases of pods that hold nothing any more."""
TIED = ("DaemonSet", "Node")
"""Owners of pods that have their node by what they are: daemon sets, and nodes of static pods."""
YAML = re.compile(r"(---\s*\n)?(apiVersion|kind|items):")
"""How a file of kubectl begins that is YAML."""
REVISION = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{6,10}$")
"""What a deployment puts behind the names of its replica sets; these letters alone."""
NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")
UNREACHABLE = "node.kubernetes.io/unreachable"
CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
KUBELET_PODS = 110
"""The pods that a node takes if it does not say: the default of the kubelet."""
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
UNMODELLED: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "preferred affinity": lambda spec: any(
        (part or {}).get(PREFERRED) for part in (spec.get("affinity") or {}).values()
    ),
    "spread that only ranks": lambda spec: any(
        one.get("whenUnsatisfiable") == "ScheduleAnyway"
        for one in spec.get("topologySpreadConstraints") or ()
    ),
    "volumes that bind to a zone or a node": lambda spec: any(
        "persistentVolumeClaim" in one or "ephemeral" in one for one in spec.get("volumes") or ()
    ),
    "host ports": lambda spec: any(
        port.get("hostPort")
        for container in spec.get("containers") or ()
        for port in container.get("ports") or ()
    ),
    "claims of devices": lambda spec: spec.get("resourceClaims"),
    "a scheduler of their own": lambda spec: (
        spec.get("schedulerName", "default-scheduler") != "default-scheduler"
    ),
}
"""What pods may ask for that the answers take no account of."""


@dataclass(frozen=True, eq=False)
class Node:
    """A node, with what it has for pods."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    """The taints that keep pods off, with those that a cordoned or unready node should have."""
    allocatable: Amounts
    capacity: Amounts

    @property
    def instance(self) -> str:
        """The instance type; empty if no label tells."""
        return next((self.labels[key] for key in INSTANCE if key in self.labels), "")

    @property
    def is_in_service(self) -> bool:
        """Whether it is ready and not cordoned."""
        return not {taint.key for taint in self.taints} & {
            CORDONED.key,
            NOT_READY.key,
            UNREACHABLE,
        }


@dataclass(frozen=True, eq=False)
class Pod:
    """A pod that has not ended, with what it asks of nodes."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    namespace_labels: Mapping[str, str]
    requests: Amounts
    owner: tuple[str, str] = ("", "")
    """Kind and name of what made it; empty for a bare pod."""
    node: str = ""
    """Where it is; empty if it is pending."""
    selector: Mapping[str, str] | None = None
    terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    priority: int = 0
    created: str = ""
    is_ending: bool = False
    has_local_data: bool = False
    """Whether it has an emptyDir, whose contents are lost with the pod."""
    unmodelled: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_tied(self) -> bool:
        """Whether it has its node by what it is, and no choice."""
        return self.owner[0] in TIED

    @property
    def is_bare(self) -> bool:
        """Whether nothing would make it again."""
        return not self.owner[0]

    @property
    def workload(self) -> str:
        """What it belongs to, as in ``deployment/web``."""
        kind, name = self.owner
        revision = self.labels.get("pod-template-hash", "")
        if kind == "ReplicaSet" and revision and name.endswith(f"-{revision}"):
            return f"deployment/{name.removesuffix(f'-{revision}')}"
        if kind == "ReplicaSet" and not revision and REVISION.search(name):
            return f"deployment/{REVISION.sub('', name)}"
        return f"{kind.lower()}/{name}" if kind else f"pod/{self.name}"


@dataclass(frozen=True)
class Snapshot:
    """Nodes and pods of a cluster at one time."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    """The pods that have not ended."""
    notes: tuple[str, ...] = ()
    """What could not be used."""

    def node(self, name: str) -> Node:
        """The node of a name."""
        names = {one.name: one for one in self.nodes}
        if name not in names:
            raise CloudarenaError(
                f"NODE: {name!r} is not in the snapshot: one of {some(names)}."
                + nearest(name, names)
            )
        return names[name]


def some(names: Iterable[str], most: int = 8) -> str:
    """The first of some names, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - most:,} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def document_of(path: Path, text: str) -> Any:
    """What kubectl printed, as JSON or as YAML; several lists one after the other are one."""
    if YAML.match(text):
        try:
            read = list(yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        except yaml.YAMLError as error:
            raise TraceError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
        # Times that are not in quotes are texts too.
        read = json.loads(json.dumps(read, default=str))
        document = read[0] if len(read) == 1 else read
    else:
        document = read_json(path, text)
    if isinstance(document, list) and all(_is_object(part) for part in document):
        items = [{"kind": kind, **item} for kind, item in items_of(document)]
        return {"kind": "List", "items": items} if items else document
    return document


def _is_object(part: Any) -> bool:
    return isinstance(part, Mapping) and "kind" in part and bool({"items", "metadata"} & set(part))


def items_of(documents: Sequence[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The objects of lists, or of files with one object, each with its kind."""
    found = []
    for document in documents:
        parts = document if isinstance(document, list) else [document]
        for part in parts:
            if not isinstance(part, Mapping):
                continue
            of_list = str(part.get("kind", "")).removesuffix("List")
            items = part.get("items") if isinstance(part.get("items"), list) else [part]
            for item in items or ():
                if isinstance(item, Mapping):
                    found.append((str(item.get("kind") or of_list), item))
    return found


def read_snapshot(paths: Sequence[str | Path]) -> Snapshot:
    """The snapshot of files: lists of nodes and pods, and of namespaces if there are any."""
    files = [Path(path) for path in paths]
    documents = [document_of(path, decoded(read_bytes(path))) for path in files]
    items = items_of(documents)
    kinds = {kind for kind, _ in items}
    for kind in ("Node", "Pod"):
        if kind not in kinds:
            raise TraceError(
                f"{some(map(str, files))}: has no {kind.lower()}s: a snapshot is made by {COMMAND}"
            )
    return snapshot_of(items)


def snapshot_of(items: Sequence[tuple[str, Mapping[str, Any]]]) -> Snapshot:
    """The snapshot of objects; what is not in order is noted and left out."""
    spaces = {_name(item): _labels(item) for kind, item in items if kind == "Namespace"}
    nodes: dict[str, Node] = {}
    pods: dict[str, Pod] = {}
    notes = []
    for kind, item in items:
        if kind not in ("Node", "Pod"):
            continue
        try:
            if kind == "Node":
                node = node_of(item)
                nodes[node.name] = node
            elif (item.get("status") or {}).get("phase") not in ENDED:
                pod = pod_of(item, spaces)
                pods[str(pod)] = pod
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            notes.append(f"{kind.lower()} {_name(item)}: left out: {error} cannot be understood")
    lost = [str(pod) for pod in pods.values() if pod.node and pod.node not in nodes]
    if lost:
        notes.append(f"{len(lost):,} pods are on nodes that are not in the snapshot: {some(lost)}")
    asks = any(
        term.namespace_selector
        for pod in pods.values()
        for term in (*pod.affinity, *pod.anti_affinity)
    )
    if asks and not spaces:
        notes.append("pod affinities select namespaces by labels, which the snapshot has not")
    return Snapshot(tuple(nodes.values()), tuple(pods.values()), tuple(notes))


def _name(item: Mapping[str, Any]) -> str:
    meta = item.get("metadata")
    return str(meta.get("name", "")) if isinstance(meta, Mapping) else ""


def _labels(item: Mapping[str, Any]) -> dict[str, str]:
    labels = (item.get("metadata") or {}).get("labels") or {}
    return {str(key): str(value) for key, value in labels.items()}


def is_ready(item: Mapping[str, Any]) -> bool:
    """Whether a node says that it is ready, or says nothing."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    return all(one.get("status") == "True" for one in conditions if one.get("type") == "Ready")


def node_of(item: Mapping[str, Any]) -> Node:
    """A node of its object."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    taints = [
        Taint(str(one["key"]), str(one.get("value") or ""), str(one["effect"]))
        for one in spec.get("taints") or ()
        if one.get("effect") in BLOCKING
    ]
    keys = {taint.key for taint in taints}
    if not is_ready(item) and not keys & {NOT_READY.key, UNREACHABLE}:
        taints.append(NOT_READY)
    if spec.get("unschedulable") and CORDONED.key not in keys:
        taints.append(CORDONED)
    capacity = amounts_of(status.get("capacity") or status.get("allocatable"))
    allocatable = amounts_of(status.get("allocatable") or status.get("capacity"))
    return Node(
        _name(item), _labels(item), tuple(taints), {PODS: KUBELET_PODS, **allocatable}, capacity
    )


def pod_of(item: Mapping[str, Any], spaces: Mapping[str, Mapping[str, str]] | None = None) -> Pod:
    """A pod of its object; ``spaces`` are the labels of namespaces."""
    meta, spec = item.get("metadata") or {}, item.get("spec") or {}
    namespace, labels = str(meta.get("namespace") or "default"), _labels(item)
    owners = meta.get("ownerReferences") or ()
    first: Mapping[str, Any] = next(iter(owners), {})
    owner = next((one for one in owners if one.get("controller")), first)
    is_static = "kubernetes.io/config.mirror" in (meta.get("annotations") or {})
    kind = "Node" if is_static else str(owner.get("kind") or "")
    return Pod(
        namespace=namespace,
        name=_name(item),
        labels=labels,
        namespace_labels={NAMESPACE_NAME: namespace, **(spaces or {}).get(namespace, {})},
        requests=requested(spec),
        owner=(kind, str(owner.get("name") or "")),
        node=str(spec.get("nodeName") or ""),
        selector={str(k): str(v) for k, v in (spec.get("nodeSelector") or {}).items()},
        terms=node_terms(spec),
        tolerations=tuple(
            Toleration(*(str(one.get(key) or "") for key in ("key", "operator", "value", "effect")))
            for one in spec.get("tolerations") or ()
        ),
        affinity=pod_terms(spec, "podAffinity", namespace),
        anti_affinity=pod_terms(spec, "podAntiAffinity", namespace),
        spread=spreads(spec, labels),
        priority=int(spec.get("priority") or 0),
        created=str(meta.get("creationTimestamp") or ""),
        is_ending=bool(meta.get("deletionTimestamp")),
        has_local_data=any("emptyDir" in one for one in spec.get("volumes") or ()),
        unmodelled=tuple(words for words, asks in UNMODELLED.items() if asks(spec)),
    )


def not_modelled(pods: Iterable[Pod]) -> tuple[str, ...]:
    """What an answer about some pods takes no account of, with how many ask for it."""
    counts: dict[str, int] = {}
    for pod in pods:
        for words in pod.unmodelled:
            counts[words] = counts.get(words, 0) + 1
    asked = [f"{words} ({number:,} pods)" for words, number in counts.items()]
    return (*asked, "preemption", "disruption budgets", "quotas")
