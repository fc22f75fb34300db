"""The pod that a user means: ``deployment/web``, ``shop/statefulset/db``, ``pod/shop/db-0``."""

from __future__ import annotations

from dataclasses import replace

from cloudarena.base.errors import CloudarenaError, nearest
from cloudarena.kubernetes.quantity import PODS, amount
from cloudarena.kubernetes.snapshot import Pod, Snapshot, some

SHORT = {"deploy": "deployment", "sts": "statefulset", "rs": "replicaset", "po": "pod"}


def find_pod(snapshot: Snapshot, name: str) -> Pod:
    """A further pod like the newest one of a name; it is nowhere yet."""
    words = name.split("/")
    space = None
    if words[0] in ("pod", "po") and len(words) == 3:
        kind, space, last = words
    elif len(words) == 3:
        space, kind, last = words
    elif len(words) == 2:
        kind, last = words
    else:
        raise CloudarenaError(
            f"--pod: {name!r} is not allowed: as in deployment/web, NAMESPACE/deployment/web, "
            "statefulset/db, job/report or pod/NAMESPACE/NAME"
        )
    kind = SHORT.get(kind.lower(), kind.lower())
    found = [
        pod
        for pod in snapshot.pods
        if space in (None, pod.namespace) and f"{kind}/{last}" in _names(pod)
    ]
    if not found:
        known = list(dict.fromkeys(f"{pod.namespace}/{pod.workload}" for pod in snapshot.pods))
        raise CloudarenaError(
            f"--pod: {name!r} has no pods in the snapshot: there are {some(known)}."
            + nearest(name if len(words) == 3 else f"default/{name}", known)
        )
    spaces = sorted({pod.namespace for pod in found})
    if len(spaces) > 1:
        raise CloudarenaError(
            f"--pod: {name!r} is in several namespaces: "
            + some(f"{one}/{kind}/{last}" for one in spaces)
        )
    newest = max(found, key=lambda pod: (pod.created, pod.name))
    if newest.is_tied:
        raise CloudarenaError(
            f"--pod: {name!r} belongs to a {newest.owner[0]}, which has one pod on each node"
        )
    return replace(newest, node="", is_ending=False)


def _names(pod: Pod) -> set[str]:
    """What a pod may be called by."""
    kind, owner = pod.owner
    return {pod.workload, f"pod/{pod.name}", f"{kind.lower()}/{owner}"}


def plain_pod(text: str) -> Pod:
    """A pod that asks for resources and nothing else: ``cpu=500m,memory=1Gi``."""
    requests = {PODS: 1}
    for part in text.split(","):
        name, _, value = part.partition("=")
        try:
            requests[name.strip()] = amount(name.strip(), value)
        except ValueError:
            requests = {}
        if not name.strip() or requests.get(name.strip(), -1) < 0:
            raise CloudarenaError(
                f"--request: {part!r} is not allowed: as in cpu=500m,memory=1Gi,nvidia.com/gpu=1"
            )
    return Pod("default", "pod", {}, {}, requests)
