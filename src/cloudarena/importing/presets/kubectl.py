"""Kubernetes: ``kubectl get nodes,pods -A -o json``, in one file or in two.

A pod asks for the larger of its containers and sidecars together and its largest init container
(each with the sidecars that began before it), and the overhead of its runtime class. Pods that have
ended are left out. Pods of daemon sets and static pods are no choice of a scheduler: what they ask
for is taken off their node. Nodes that are cordoned or not ready are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cloudarena.base.errors import TraceError
from cloudarena.importing.file import File, Found
from cloudarena.importing.guess import Machines
from cloudarena.importing.mapping import Column
from cloudarena.importing.sheet import Bad, Sheet, sheet_of_records
from cloudarena.importing.units import GIB
from cloudarena.kubernetes.quantity import CPU, MEMORY
from cloudarena.kubernetes.requests import Amounts, requested, total
from cloudarena.kubernetes.snapshot import ENDED, TIED, items_of, node_of
from cloudarena.workloads.prices.instances import nearest_instance, read_instances

DESCRIPTION = "Kubernetes: kubectl get nodes,pods -A -o json"
NOT_MODELLED: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "a node selector": lambda spec: spec.get("nodeSelector"),
    "an affinity": lambda spec: spec.get("affinity"),
    "a topology spread": lambda spec: spec.get("topologySpreadConstraints"),
    "a scheduler of their own": lambda spec: (
        spec.get("schedulerName", "default-scheduler") != "default-scheduler"
    ),
}
"""What pods may ask for that a vm scenario does not have."""


def recognises(file: File) -> bool:
    """Recognises a list of nodes or pods."""
    if not file.holds("items"):
        return False
    items = file.document["items"]
    kind = str(file.document.get("kind", ""))
    kinds = {str(one.get("kind", "")) for one in items[:50] if isinstance(one, dict)}
    return bool({"Node", "Pod"} & kinds) or kind in ("NodeList", "PodList")


def read(files: Sequence[File]) -> Found:
    """The pods as VMs, the nodes as machines."""
    items = items_of([file.document for file in files])
    nodes = [item for kind, item in items if kind == "Node"]
    pods = [item for kind, item in items if kind == "Pod"]
    if not pods:
        raise TraceError(f"{files[0].path}: has no pods: kubectl get nodes,pods -A -o json")
    notes, records, bad, tied = [], [], [], dict[str, Amounts]()
    lacking = dict.fromkeys([*NOT_MODELLED, "GPUs or other extended resources"], 0)
    for index, pod in enumerate(pods, 1):
        spec, meta, status = pod.get("spec", {}), pod.get("metadata", {}), pod.get("status", {})
        name = f"{meta.get('namespace', 'default')}/{meta.get('name', index)}"
        try:
            asks = requested(spec)
        except ValueError as error:
            bad.append(Bad(index, f"{error} is no quantity", name))
            continue
        owner = next((one.get("kind") for one in meta.get("ownerReferences", [])), "")
        if status.get("phase") in ENDED:
            bad.append(Bad(index, f"has ended: {status['phase']}", name))
        elif owner in TIED:
            node = str(spec.get("nodeName", ""))
            tied[node] = total(tied.get(node, {}), asks)
            where = "what it asks for is taken off its node" if nodes else "no scheduler's choice"
            bad.append(Bad(index, f"of a {owner}: {where}", name))
        elif not asks.get(CPU) and not asks.get(MEMORY):
            bad.append(Bad(index, "asks for neither CPU nor memory: it takes no room", name))
        else:
            for words, asked in NOT_MODELLED.items():
                lacking[words] += bool(asked(spec))
            lacking["GPUs or other extended resources"] += any("/" in name for name in asks)
            records.append(_record(name, meta, status, spec, asks))
    for words, number in lacking.items():
        if number:
            notes.append(f"{number:,} pods ask for {words}, which the model has not: it is ignored")
    machines = tuple(_machines(nodes, tied, notes))
    if not records:
        raise TraceError(f"{files[0].path}: has no pods that ask for anything: {bad[0].reason}")
    sheet = sheet_of_records(
        files[0].path, records, remarks=(f"{len(nodes)} nodes, {len(pods)} pods",)
    )
    sheet = Sheet(sheet.path, sheet.columns, None, tuple(bad), sheet.remarks)
    mapping = {
        "id": Column("pod"),
        "start": Column("started"),
        "end": Column("ended"),
        "cores": Column("cores"),
        "memory": Column("memory_gb", "gb"),
        "user": Column("namespace"),
    }
    return Found(sheet, "vm", mapping, machines, tuple(notes))


def _record(
    name: str,
    meta: Mapping[str, Any],
    status: Mapping[str, Any],
    spec: Mapping[str, Any],
    asks: Amounts,
) -> dict[str, Any]:
    return {
        "pod": name,
        "started": status.get("startTime") or meta.get("creationTimestamp"),
        "ended": meta.get("deletionTimestamp") or "",
        "cores": repr(max(asks.get(CPU, 0) / 1000, 1e-6)),
        "memory_gb": repr(max(asks.get(MEMORY, 0) / GIB, 1e-6)),
        "namespace": meta.get("namespace", "default"),
        "node": spec.get("nodeName") or "",
    }


def _machines(
    nodes: Sequence[Mapping[str, Any]], tied: Mapping[str, Amounts], notes: list[str]
) -> Iterator[Machines]:
    """The nodes that take pods, those that are alike together, with what is left of them."""
    counts: dict[tuple[str, float, float], int] = {}
    left_out, tainted = [], 0
    for item in nodes:
        try:
            node = node_of(item)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            notes.append(f"a node is left out: {error} cannot be understood")
            continue
        if not node.is_in_service:
            left_out.append(node.name)
            continue
        tainted += any(taint.effect == "NoSchedule" for taint in node.taints)
        taken = tied.get(node.name, {})
        free = [node.allocatable.get(name, 0) - taken.get(name, 0) for name in (CPU, MEMORY)]
        if min(free) > 0:
            key = node.instance or "node", free[0] / 1000, round(free[1] / GIB, 6)
            counts[key] = counts.get(key, 0) + 1
    if left_out:
        notes.append(
            f"nodes that are cordoned or not ready are left out: {', '.join(left_out[:5])}"
        )
    if tainted:
        notes.append(f"{tainted} nodes have taints, which the model has not: they are ignored")
    known = read_instances()
    seen: dict[str, int] = {}
    for (kind, cores, memory), count in counts.items():
        instance = known.get(kind) or nearest_instance(cores, memory)
        seen[kind] = seen.get(kind, 0) + 1
        # Nodes of one type can differ in what is left of them: each line has a name of its own.
        name = kind if seen[kind] == 1 else f"{kind}#{seen[kind]}"
        yield Machines(name, count, cores, memory, instance)
