"""A pod fits on a node exactly when kube-scheduler's filters let it."""

import pytest

from cloudarena.kubernetes.fits import Cluster, Filter, refusal
from tests.kubernetes.clusters import HOST, ZONE, node, pod, snapshot, spread, terms


def why(*items, who="new"):
    """Why the pod ``new`` does not fit on each node."""
    taken = snapshot(*items)
    asked = next(one for one in taken.pods if one.name == who)
    asks = Filter(Cluster(taken.nodes, taken.pods), asked)
    return {one.name: asks.why_not(one) for one in taken.nodes}


def test_resources_and_the_number_of_pods():
    found = why(
        node("small", cpu="500m", memory="512Mi"), node("full", cpu="3"), node("few", pods="1"),
        node("room"), pod("a", cpu="2001m", on="full"), pod("b", on="few"), pod("new"),
    )  # fmt: skip
    assert found == {
        "small": ("too little cpu", "too little memory"),
        "full": ("too little cpu",),
        "few": ("too many pods",),
        "room": (),
    }
    assert refusal(found).startswith("0/4 nodes: 2 too little cpu, 1 too little memory, 1 too many")


def test_what_is_not_there_cannot_be_asked_for():
    gpu = {"nvidia.com/gpu": "1"}
    found = why(node("plain"), node("gpu", more=gpu), pod("new", more=gpu))
    assert found == {"plain": ("too little nvidia.com/gpu",), "gpu": ()}


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({}, {"plain", "prefer"}),
        ({"key": "team", "operator": "Exists"}, {"plain", "prefer", "team", "now"}),
        ({"key": "team", "value": "x"}, {"plain", "prefer", "team"}),
        (
            {"key": "team", "operator": "Equal", "value": "x", "effect": "NoExecute"},
            {"plain", "prefer"},
        ),
        ({"operator": "Exists"}, {"plain", "prefer", "team", "now", "cordoned", "lost"}),
        (
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
            {"plain", "prefer", "cordoned"},
        ),
    ],
)
def test_taints(toleration, fits):
    found = why(
        node("plain"),
        node("prefer", taints=[{"key": "team", "effect": "PreferNoSchedule"}]),
        node("team", taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}]),
        node("now", taints=[{"key": "team", "value": "y", "effect": "NoExecute"}]),
        node("cordoned", unschedulable=True),
        node("lost", ready="Unknown"),
        pod("new", tolerations=[toleration] if toleration else []),
    )
    assert {name for name, reasons in found.items() if not reasons} == fits
    if not toleration:
        assert found["team"] == ("taint team=x",)
        assert found["cordoned"] == ("cordoned",)
        assert found["lost"] == ("not ready",)


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [
        ("In", ["8"], {"eight"}),
        ("NotIn", ["8"], {"none", "ten", "word"}),
        ("Exists", None, {"eight", "ten", "word"}),
        ("DoesNotExist", None, {"none"}),
        ("Gt", ["8"], {"ten"}),
        ("Lt", ["9"], {"eight"}),
    ],
)
def test_the_operators_of_node_affinity(operator, values, fits):
    term = {"matchExpressions": [{"key": "size", "operator": operator, "values": values}]}
    required = {"nodeSelectorTerms": [{}, term]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    found = why(
        node("none"), node("eight", labels={"size": "8"}), node("ten", labels={"size": "10"}),
        node("word", labels={"size": "big"}), pod("new", affinity=affinity),
    )  # fmt: skip
    assert {name for name, reasons in found.items() if not reasons} == fits


def test_selector_and_the_name_of_a_node():
    fields = [{"key": "metadata.name", "operator": "In", "values": ["b", "c"]}]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    found = why(
        node("a", labels={"disk": "ssd"}), node("b", labels={"disk": "ssd"}), node("c"),
        pod("new", affinity=affinity, nodeSelector={"disk": "ssd"}),
    )  # fmt: skip
    assert [name for name, reasons in found.items() if not reasons] == ["b"]
    assert found["c"] == ("node selector or affinity",)


def test_anti_affinity_in_both_directions():
    away = terms("podAntiAffinity", ZONE, app="db")
    found = why(
        node("a", zone="1"), node("b", zone="1"), node("c", zone="2"), node("d", zone="3"),
        pod("db", app="db", on="a"),
        pod("shy", app="shy", on="c", affinity=terms("podAntiAffinity", HOST, app="web")),
        pod("new", affinity=away),
    )  # fmt: skip
    assert found == {
        "a": ("pod anti-affinity",),
        "b": ("pod anti-affinity",),
        "c": ("anti-affinity of a pod there",),
        "d": (),
    }


def test_affinity_is_to_pods_of_the_same_namespace():
    near = {"affinity": terms("podAffinity", ZONE, app="db")}
    nodes = node("a", zone="1"), node("b", zone="2")
    assert why(*nodes, pod("db", app="db", on="a"), pod("new", **near)) == {
        "a": (),
        "b": ("pod affinity",),
    }
    elsewhere = pod("db", app="db", on="a", namespace="other")
    assert set(why(*nodes, elsewhere, pod("new", **near)).values()) == {("pod affinity",)}
    near["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0][
        "namespaceSelector"
    ] = {}
    assert why(*nodes, elsewhere, pod("new", **near))["a"] == ()


def test_the_first_of_those_that_want_to_be_together_may_go_anywhere():
    near = {"affinity": terms("podAffinity", ZONE)}
    nodes = node("a", zone="1"), node("b", zone="2")
    assert why(*nodes, pod("new", **near)) == {"a": (), "b": ()}
    assert why(*nodes, pod("one", on="b"), pod("new", **near))["a"] == ("pod affinity",)


def test_spread():
    nodes = node("a", zone="1"), node("b", zone="2"), node("c", zone="3", labels={"x": "y"})
    pods = [pod("1", on="a"), pod("2", on="b")]
    even = {"topologySpreadConstraints": [spread()]}
    assert why(*nodes, *pods, pod("new", **even)) == {
        "a": (f"spread over {ZONE}",), "b": (f"spread over {ZONE}",), "c": (),
    }  # fmt: skip
    # Only the zones count that the pod may go to.
    only = {**even, "nodeSelector": {HOST: "a"}}
    assert why(*nodes, *pods, pod("new", **only))["a"] == ()
    ignoring = [{**spread(), "nodeAffinityPolicy": "Ignore"}]
    only = {"topologySpreadConstraints": ignoring, "nodeSelector": {HOST: "a"}}
    assert why(*nodes, *pods, pod("new", **only))["a"] == (f"spread over {ZONE}",)
    # Too few domains: the least is taken as 0.
    more = {"topologySpreadConstraints": [{**spread(skew=1), "minDomains": 4}]}
    assert why(*nodes, *pods, pod("3", on="c"), pod("new", **more))["c"] == (f"spread over {ZONE}",)
    assert why(*nodes, *pods, pod("3", on="c"), pod("new", **even))["c"] == ()
    found = why({**node("d"), "metadata": {"name": "d"}}, pod("new", **even))
    assert found["d"] == (f"no label {ZONE} to spread by",)
    soft = [{**spread(), "whenUnsatisfiable": "ScheduleAnyway"}]
    assert why(*nodes, *pods, pod("new", topologySpreadConstraints=soft))["a"] == ()
