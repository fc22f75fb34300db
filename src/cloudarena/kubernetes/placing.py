"""How many of some pods can be placed at most: an integer program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from cloudarena.base.quiet import quiet_output
from cloudarena.kubernetes.fits import Cluster, Filter
from cloudarena.kubernetes.snapshot import Node, Pod

NODE_LIMIT = 2000
"""Nodes of the search tree, after which the bound stands as it is: the same on every machine."""


class _Alike:
    """Pods that ask for the same, may go to the same nodes and keep each other off alike."""

    def __init__(self, pods: list[Pod], nodes: list[Node]):
        self.pods, self.nodes = pods, nodes
        self.columns: list[int] = []


def most_placeable(cluster: Cluster, pods: Sequence[Pod]) -> tuple[int, dict[Pod, str]]:
    """A number of pods that no placement exceeds, and the nodes of a placement that has them.

    Affinity and spread among the pods are left out, so the placement need not be allowed.
    """
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    alike, labelled = _classes(cluster, pods)
    rows: list[dict[int, float]] = []
    limits: list[float] = []
    columns: list[tuple[_Alike, Node]] = []
    for one in alike:
        for node in one.nodes:
            one.columns.append(len(columns))
            columns.append((one, node))
        rows.append(dict.fromkeys(one.columns, 1.0))
        limits.append(len(one.pods))
    if not columns:
        return 0, {}
    on_node: dict[str, list[int]] = defaultdict(list)
    for column, (_, node) in enumerate(columns):
        on_node[node.name].append(column)
    for name, here in on_node.items():
        node = cluster.nodes[name]
        for resource in {key for column in here for key in columns[column][0].pods[0].requests}:
            free = cluster.free(node, resource)
            # In parts of what is free, so that bytes and cores are numbers of the same size.
            need = {
                column: columns[column][0].pods[0].requests.get(resource, 0) / free
                for column in here
                if columns[column][0].pods[0].requests.get(resource, 0) > 0
            }
            if need:
                rows.append(need)
                limits.append(1.0)
    for members, topologies in labelled:
        for topology in topologies:
            places: dict[str, list[int]] = defaultdict(list)
            for one in members:
                for column in one.columns:
                    value = columns[column][1].labels.get(topology)
                    if value is not None:
                        places[value].append(column)
            for here in places.values():
                rows.append(dict.fromkeys(here, 1.0))
                limits.append(1.0)
    entries = [(r, column, value) for r, row in enumerate(rows) for column, value in row.items()]
    at, column_of, values = zip(*entries, strict=True)
    with quiet_output():
        solution = milp(
            -np.ones(len(columns)),
            constraints=LinearConstraint(
                csr_array((values, (at, column_of)), shape=(len(rows), len(columns))), ub=limits
            ),
            integrality=np.ones(len(columns)),
            bounds=Bounds(0, [len(one.pods) for one, _ in columns]),
            options={"node_limit": NODE_LIMIT, "mip_rel_gap": 0.0},
        )
    bound = len(pods)
    if solution.mip_dual_bound is not None and np.isfinite(solution.mip_dual_bound):
        bound = min(bound, int(np.floor(-solution.mip_dual_bound + 1e-6)))
    hints: dict[Pod, str] = {}
    if solution.x is not None:
        left = {id(one): list(one.pods) for one in alike}
        for (one, node), value in zip(columns, solution.x, strict=True):
            for _ in range(round(value)):
                hints[left[id(one)].pop()] = node.name
    return bound, hints


def _classes(
    cluster: Cluster, pods: Sequence[Pod]
) -> tuple[list[_Alike], list[tuple[list[_Alike], set[str]]]]:
    """Pods that are alike, and those that keep their like off, with the labels by which they do."""
    found: dict[tuple[object, ...], _Alike] = {}
    families: dict[tuple[object, ...], tuple[list[_Alike], set[str]]] = {}
    for pod in pods:
        asks = Filter(cluster, pod)
        nodes = [
            node
            for node in cluster.nodes.values()
            if not (asks.unwanted(node) or asks.short_of(node) or asks.repelled(node))
        ]
        apart = {term.topology for term in pod.anti_affinity if term.is_about(pod)}
        family: tuple[object, ...] = ()
        if apart:
            family = (pod.namespace, tuple(sorted(pod.labels.items())), pod.anti_affinity)
        names = tuple(node.name for node in nodes)
        key = (tuple(sorted(pod.requests.items())), names, family)
        if key in found:
            found[key].pods.append(pod)
            continue
        found[key] = one = _Alike([pod], nodes)
        if apart:
            families.setdefault(family, ([], apart))[0].append(one)
    return list(found.values()), list(families.values())
