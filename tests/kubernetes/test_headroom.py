"""How many more pods fit: by hand, and against every order of placing them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import CloudarenaError
from cloudarena.kubernetes.find import find_pod, plain_pod
from cloudarena.kubernetes.fits import Cluster, Filter
from cloudarena.kubernetes.headroom import headroom
from tests.kubernetes.clusters import HOST, ZONE, node, pod, snapshot, spread, terms


def test_by_hand():
    taken = snapshot(
        node("a", cpu="4"), node("b", cpu="8", memory="4Gi"), node("c", pods="2"),
        node("d", taints=[{"key": "gpu", "effect": "NoSchedule"}]),
        pod("web-1", cpu="1500m", memory="1Gi", on="a"), pod("waiting"),
        pod("agent", cpu="500m", memory="512Mi", on="b", owner=("DaemonSet", "agent")),
        pod("old", cpu="4", on="a") | {"status": {"phase": "Succeeded"}},
    )  # fmt: skip
    found = headroom(taken, find_pod(taken, "pod/web-1"))
    assert [(room.node, room.pods, room.stopped_by) for room in found.rooms] == [
        ("a", 1, ("too little cpu",)),
        ("b", 3, ("too little memory",)),
        ("c", 2, ("too little cpu", "too many pods")),
        ("d", 0, ("taint gpu",)),
    ]
    assert found.conclusion() == (
        "6 more of deployment/web fit. The next one: 0/4 nodes: 2 too little cpu, 1 taint gpu, "
        "1 too little memory, 1 too many pods."
    )
    assert any("1 pods are pending" in note for note in found.notes)


def test_spread_and_anti_affinity_stop_before_resources_do():
    nodes = node("a", zone="1"), node("b", zone="1"), node("c", zone="2", cpu="1")
    one = snapshot(*nodes, pod("web", on="a", topologySpreadConstraints=[spread()]))
    found = headroom(one, find_pod(one, "deployment/web"))
    assert {room.node: room.pods for room in found.rooms} == {"a": 0, "b": 1, "c": 1}
    assert found.is_exact
    apart = snapshot(*nodes, pod("web", on="a", affinity=terms("podAntiAffinity")))
    found = headroom(apart, find_pod(apart, "deployment/web"))
    assert [room.pods for room in found.rooms] == [0, 1, 1]
    assert found.rooms[0].stopped_by == ("pod anti-affinity",)


def test_pods_that_want_to_be_together_begin_where_most_fit():
    near = pod("new", affinity=terms("podAffinity", ZONE))
    taken = snapshot(node("a", zone="1"), node("b", zone="2"), node("c", zone="2"), near)
    found = headroom(taken, find_pod(taken, "deployment/web"))
    assert [room.pods for room in found.rooms] == [0, 4, 4]


def test_the_names_of_pods():
    taken = snapshot(
        node("a"), pod("web-abc-1", on="a"), pod("db-0", owner=("StatefulSet", "db")),
        pod("web-abc-2", namespace="test"), pod("agent", owner=("DaemonSet", "agent")),
        pod("alone", owner=None),
    )  # fmt: skip
    assert str(find_pod(taken, "statefulset/db")) == "shop/db-0"
    assert str(find_pod(taken, "sts/db")) == "shop/db-0"
    assert str(find_pod(taken, "test/deployment/web")) == "test/web-abc-2"
    assert str(find_pod(taken, "pod/shop/alone")) == "shop/alone"
    assert str(find_pod(taken, "shop/replicaset/web-abc")) == "shop/web-abc-1"
    assert find_pod(taken, "shop/deployment/web").node == ""
    for name, words in {
        "deployment/web": "in several namespaces: shop/deployment/web, test/deployment/web",
        "deployment/wep": "has no pods in the snapshot: there are shop/deployment/web, shop/stat",
        "web": "as in deployment/web",
        "daemonset/agent": "one pod on each node",
    }.items():
        with pytest.raises(CloudarenaError, match=words):
            find_pod(taken, name)


def test_a_pod_that_only_asks_for_resources():
    taken = snapshot(node("a"), pod("web", on="a"))
    assert headroom(taken, plain_pod("cpu=500m,memory=1Gi")).pods == 6
    for text in ("cpu", "cpu=-1", "=3", "cpu=x"):
        with pytest.raises(CloudarenaError, match="--request"):
            plain_pod(text)


def most(taken, asked):
    """The most pods that any order of placing reaches."""
    seen = {}

    def beyond(counts):
        if counts not in seen:
            cluster = Cluster(taken.nodes, taken.pods)
            for place, number in zip(taken.nodes, counts, strict=True):
                for _ in range(number):
                    cluster.add(asked, place)
            asks = Filter(cluster, asked)
            further = [
                1 + beyond((*counts[:i], counts[i] + 1, *counts[i + 1 :]))
                for i, place in enumerate(taken.nodes)
                if not asks.why_not(place)
            ]
            seen[counts] = max(further, default=0)
        return seen[counts]

    return beyond((0,) * len(taken.nodes))


BOUND = st.sampled_from(
    [
        {},
        {"topologySpreadConstraints": [spread()]},
        {"topologySpreadConstraints": [spread(HOST, 2)]},
        {"topologySpreadConstraints": [spread(), spread(HOST)]},
        {"affinity": terms("podAntiAffinity", HOST)},
        {"affinity": terms("podAntiAffinity", ZONE)},
        {"affinity": terms("podAffinity", ZONE)},
        {"affinity": terms("podAffinity", ZONE, app="db")},
        {"affinity": terms("podAntiAffinity", HOST, app="db")},
        {"affinity": terms("podAffinity", ZONE), "topologySpreadConstraints": [spread(HOST)]},
    ]
)


@given(
    nodes=st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz")), min_size=1, max_size=4),
    pods=st.lists(st.tuples(st.sampled_from(["web", "db"]), st.integers(0, 3)), max_size=3),
    bound=BOUND,
)
def test_no_order_places_more(nodes, pods, bound):
    taken = snapshot(
        *(node(f"n{i}", cpu=str(cpu), zone=zone) for i, (cpu, zone) in enumerate(nodes)),
        *(
            pod(f"p{i}", cpu="500m", app=app, on=f"n{on % len(nodes)}")
            for i, (app, on) in enumerate(pods)
        ),
        pod("new", **bound),
    )
    asked = find_pod(taken, "pod/new")
    found = headroom(taken, asked)
    best = most(taken, asked)
    assert found.pods <= best
    if found.is_exact:
        assert found.pods == best
    assert all(room.stopped_by for room in found.rooms)
