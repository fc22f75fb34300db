"""Small clusters, as kubectl prints them."""

from cloudarena.kubernetes.snapshot import snapshot_of

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def node(name, cpu="4", memory="16Gi", pods="110", zone="a", labels=None, ready="True", **spec):
    room = {"cpu": cpu, "memory": memory, "pods": pods}
    more = spec.pop("more", {})
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, ZONE: zone, **(labels or {})}},
        "spec": spec,
        "status": {
            "allocatable": {**room, **more},
            "capacity": {**room, **more},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def pod(name, cpu="1", memory="1Gi", on="", owner=("ReplicaSet", "web-abc"), app="web", **spec):
    labels = {"app": app}
    owners = []
    if owner:
        owners = [{"kind": owner[0], "name": owner[1], "controller": True}]
        labels |= {"pod-template-hash": "abc"} if owner[0] == "ReplicaSet" else {}
    requests = {"cpu": cpu, "memory": memory, **spec.pop("more", {})}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": spec.pop("namespace", "shop"),
            "labels": labels,
            "ownerReferences": owners,
        },
        "spec": {
            "nodeName": on,
            "containers": [{"name": "c", "resources": {"requests": requests}}],
            **spec,
        },
        "status": {"phase": "Running" if on else "Pending"},
    }


def terms(which, key=HOST, app="web"):
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {which: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(key=ZONE, skew=1, app="web"):
    return {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }


def snapshot(*items):
    return snapshot_of([(item["kind"], item) for item in items])
