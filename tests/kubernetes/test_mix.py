"""The cheapest mix of nodes: by hand, and against every packing of small ones."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import CloudarenaError
from cloudarena.kubernetes.mix import cheapest_mix
from cloudarena.kubernetes.packing import pack
from cloudarena.kubernetes.patterns import Bin, Item, cost_of, fits, undominated
from cloudarena.workloads.prices.instances import Instance
from tests.kubernetes.clusters import HOST, node, pod, snapshot, spread, terms

TYPE = "node.kubernetes.io/instance-type"


def test_by_hand():
    # 6 pods of 1 core and 1 GB, 2 of 1 core and 12 GB; a daemon set takes half a core of each node.
    taken = snapshot(
        node("a", cpu="8", memory="32Gi", labels={TYPE: "large"}),
        node("b", cpu="8", memory="32Gi", labels={TYPE: "large"}),
        *(pod(f"w{i}", on="a") for i in range(5)), pod("waiting"),
        *(pod(f"m{i}", memory="12Gi", on="b") for i in range(2)),
        *(pod(f"d{n}", cpu="500m", on=n, owner=("DaemonSet", "agent")) for n in "ab"),
    )  # fmt: skip
    types = [Instance("large", 8, 32, 0.8), Instance("small", 4, 8, 0.2)]
    found = cheapest_mix(taken, types)
    # 24 GB need a large one (7.5 cores), which takes 5 others; one small one takes the last.
    assert found.numbers == {"large": 1, "small": 1}
    assert (found.hour_usd, found.bound_usd, found.gap) == (1.0, 1.0, 0.0)
    assert found.today_usd == 1.6
    assert found.overhead["cpu"] == 500
    assert found.conclusion() == (
        "1 x large, 1 x small: 8 pods for $1.0000 an hour, $730.50 a month; $0.6000 (37.5%) less "
        "than today's 2 nodes ($1.6000). No mix is cheaper (proven)."
    )
    placed = sorted(str(pod) for node in found.nodes for pod in node.pods)
    assert placed == sorted(str(pod) for pod in taken.pods if not pod.is_tied)


def test_what_the_kubelet_keeps_is_kept_on_other_types_too():
    kept = node("a", cpu="3", memory="16Gi", labels={TYPE: "seen"})
    taken = snapshot(kept, *(pod(f"w{i}", cpu="1500m", on="a") for i in range(2)))
    types = [Instance("seen", 4, 16, 1.0), Instance("other", 2, 8, 0.4)]
    # Of 2 cores 3/4 are left: one pod each, and two of them are cheaper.
    assert cheapest_mix(taken, types).numbers == {"other": 2}
    assert cheapest_mix(taken, types[:1]).numbers == {"seen": 1}
    assert cheapest_mix(taken, types[:1], max_pods=1).numbers == {"seen": 2}


def test_pods_that_keep_their_like_off_are_on_nodes_of_their_own():
    apart = {"affinity": terms("podAntiAffinity", HOST)}
    taken = snapshot(
        node("a", labels={TYPE: "t"}), *(pod(f"w{i}", cpu="100m", **apart) for i in range(3))
    )
    found = cheapest_mix(taken, [Instance("t", 4, 16, 1.0)])
    assert found.numbers == {"t": 3}
    assert found.gap == 0


def test_what_does_not_fit_is_left_out_and_said():
    gpu = {"nvidia.com/gpu": "1"}
    taken = snapshot(
        node("a", labels={TYPE: "t"}), node("cp", taints=[{"key": "x", "effect": "NoSchedule"}]),
        pod("w", on="a", topologySpreadConstraints=[spread()]), pod("g", more=gpu),
    )  # fmt: skip
    found = cheapest_mix(taken, [Instance("t", 4, 16, 1.0)])
    assert list(found.left_out.values()) == [
        "no type of the list has room for cpu 1, memory 1 Gi, nvidia.com/gpu 1"
    ]
    assert any("1 nodes stay as they are, not counted: cp" in note for note in found.notes)
    assert "spread constraints (1 pods)" in found.summary()["not_modelled"]
    with pytest.raises(CloudarenaError, match="--types: t: hour_usd: 0 is not allowed"):
        cheapest_mix(taken, [Instance("t", 4, 16, 0.0)])


def cheapest(items, bins):
    """The least cost of all packings."""
    numbers = tuple(item.number for item in items)

    def patterns(bin):
        counts = [()]
        for item in items:
            counts = [(*one, n) for one in counts for n in range(item.number + 1)]
        return [one for one in counts if any(one) and fits(items, one, bin)]

    possible = [(bin.price, one) for bin in bins for one in patterns(bin)]

    @cache
    def least(left):
        if not any(left):
            return 0
        first = next(i for i, n in enumerate(left) if n)
        return min(
            price + least(tuple(max(0, a - b) for a, b in zip(left, one, strict=True)))
            for price, one in possible
            if one[first]
        )

    return least(numbers)


ITEMS = st.lists(
    st.builds(
        Item,
        st.tuples(st.integers(1, 5), st.integers(0, 5)),
        st.integers(1, 4),
        st.sampled_from([-1, -1, 0]),
    ),
    min_size=1,
    max_size=3,
)
BINS = st.lists(
    st.builds(Bin, st.tuples(st.integers(1, 9), st.integers(1, 9)), st.integers(1, 20)), max_size=3
)


@given(items=ITEMS, bins=BINS, last=st.integers(5, 20))
def test_no_packing_is_cheaper_than_the_bound(items, bins, last):
    bins = [*bins, Bin((5, 5), last)]
    packing = pack(items, bins)
    for pattern in packing.patterns:
        assert fits(items, pattern.counts, bins[pattern.bin])
    for i, item in enumerate(items):
        assert sum(pattern.counts[i] for pattern in packing.patterns) >= item.number
    assert packing.bound <= cheapest(items, bins) <= cost_of(packing.patterns, bins)


def test_a_packing_of_many_kinds_is_near_its_bound_and_always_the_same():
    cores, memory = (100, 250, 500, 1000), (128, 256, 512, 1024, 4096)
    items = [Item((c, m, 1), 2 + (c + m) % 7) for c in cores for m in memory if c < m]
    bins = [Bin((1930, 7000, 29), 96), Bin((3920, 15000, 58), 192), Bin((1930, 3300, 29), 85)]
    packing = pack(items, bins)
    cost = cost_of(packing.patterns, bins)
    assert packing.bound <= cost <= packing.bound * 1.05
    assert pack(items, bins) == packing


def test_types_that_others_beat_are_left_out():
    bins = [Bin((4, 4), 10), Bin((4, 3), 10), Bin((4, 4), 10), Bin((8, 4), 9), Bin((1, 9), 12)]
    assert undominated(bins) == [3, 4]
    assert undominated(bins[:3]) == [0]
    assert undominated([]) == []
