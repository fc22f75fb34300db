"""NUMA nodes and the queue, beside a slow and obvious model of both, and by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import CloudarenaError, InvalidAction
from cloudarena.scenarios.vm import REFUSE, VmRun, on_node, postpone

LONG = 10_000


class Placed(NamedTuple):
    """Where a VM went, and when; no node if it was split."""

    start: int
    machine: int
    node: int | None


def spec_of(
    vms: list[dict[str, Any]], *, count: int = 2, split_above_gb: float | None = 6.0, **more: Any
) -> dict[str, Any]:
    """Machines with two nodes of 4 cores and 8 GB each, and a queue."""
    return {
        "scenario": "vm",
        "ticks": 200,
        "machines": [{"count": count, "cores": 8, "memory_gb": 16, "nodes": 2}],
        "queue": "wait",
        "split_above_gb": split_above_gb,
        "workload": {"source": "inline", "vms": vms},
        **more,
    }


def vm(created: int, lifetime: int, cores: float, memory_gb: float) -> dict[str, Any]:
    """A VM of a spec."""
    return {"created": created, "lifetime": lifetime, "cores": cores, "memory_gb": memory_gb}


def free_of(placed: list[Placed], vms: list[dict[str, Any]], count: int, tick: int) -> Any:
    """What is free of each node of each machine, summed anew from all VMs that live."""
    free = [[[Fraction(4), Fraction(8)] for _ in range(2)] for _ in range(count)]
    for one, of in zip(placed, vms, strict=False):
        if one is None or not one.start <= tick < one.start + of["lifetime"]:
            continue
        for node in (0, 1) if one.node is None else (one.node,):
            parts = 2 if one.node is None else 1
            free[one.machine][node][0] -= Fraction(of["cores"]) / parts
            free[one.machine][node][1] -= Fraction(of["memory_gb"]) / parts
    return free


def rooms_of(free: Any, of: dict[str, Any], is_split: bool) -> list[tuple[int, int | None]]:
    """The machines and nodes that can take a VM, in order."""
    need = Fraction(of["cores"]), Fraction(of["memory_gb"])
    if is_split:
        return [
            (m, None)
            for m, nodes in enumerate(free)
            if all(n[0] >= need[0] / 2 and n[1] >= need[1] / 2 for n in nodes)
        ]
    return [
        (m, k)
        for m, nodes in enumerate(free)
        for k, n in enumerate(nodes)
        if n[0] >= need[0] and n[1] >= need[1]
    ]


def share(free: Any, machine: int, node: int) -> Fraction:
    """The smaller of the free shares of a node's cores and memory."""
    return min(free[machine][node][0] / 4, free[machine][node][1] / 8)


def first_fit(free: Any, rooms: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    """The first room."""
    return rooms[0]


def balance_fit(free: Any, rooms: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    """The machine whose nodes differ most, then its emptier node; else the first room."""

    def difference(machine: int) -> Fraction:
        return abs(share(free, machine, 0) - share(free, machine, 1))

    most = max(difference(m) for m, _ in rooms)
    if rooms[0][1] is None or most == 0:
        return rooms[0]
    machine = next(m for m, _ in rooms if difference(m) == most)
    nodes = [k for m, k in rooms if m == machine and k is not None]
    return machine, max(nodes, key=lambda k: (share(free, machine, k), -k))


def free_cores(free: Any, machine: int) -> Fraction:
    """The free cores of all nodes of a machine."""
    return sum((node[0] for node in free[machine]), Fraction(0))


def packed(free: Any, rooms: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    """The machine whose nodes are fullest in all, then its emptier node."""
    machine = min((m for m, _ in rooms), key=lambda m: (share(free, m, 0) + share(free, m, 1), m))
    nodes = [k for m, k in rooms if m == machine]
    if nodes[0] is None:
        return machine, None
    return machine, max(nodes, key=lambda k: (share(free, machine, k), -k))


def by_cores(free: Any, rooms: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    """The machine with the fewest free cores, then its node with the most of them."""
    machine = min((m for m, _ in rooms), key=lambda m: (free_cores(free, m), m))
    nodes = [k for m, k in rooms if m == machine]
    if nodes[0] is None:
        return machine, None
    return machine, max(nodes, key=lambda k: (free[machine][k][0], -k))


def packed_level(free: Any, rooms: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    """The fullest machine, of equals that with the emptiest node, then that node."""

    def rank(room: tuple[int, int | None]) -> Any:
        machine, node = room
        emptiest = 0 if node is None else -free[machine][node][0]
        return free_cores(free, machine), emptiest, machine, node or 0

    return min(rooms, key=rank)


RULES = {
    "numa-first-fit": first_fit,
    "numa-balance-fit": balance_fit,
    "numa-packed": packed,
    "numa-packed-level": packed_level,
    "best-fit": by_cores,  # the kernel takes the node with the most free cores
}


def model(spec: dict[str, Any], rule: Any) -> list[Placed]:
    """Where all VMs go, one after the other: nobody overtakes, and who does not fit waits."""
    vms, count, above = (
        spec["workload"]["vms"],
        spec["machines"][0]["count"],
        spec["split_above_gb"],
    )
    placed: list[Placed] = []
    tick = 0
    for of in vms:
        tick = max(tick, of["created"])
        is_split = above is not None and of["memory_gb"] > above
        while True:
            free = free_of(placed, vms, count, tick)
            rooms = rooms_of(free, of, is_split)
            if rooms:
                placed.append(Placed(tick, *rule(free, rooms)))
                break
            tick += 1
            assert tick < LONG
    return placed


@st.composite
def specs(draw: Any) -> dict[str, Any]:
    """Small clouds whose VMs all fit an empty machine."""
    above = draw(st.sampled_from([None, 3.0, 6.0]))
    most = 8.0 if above is None else 16.0
    vms = []
    for created in sorted(draw(st.lists(st.integers(0, 12), min_size=1, max_size=25))):
        memory = draw(st.sampled_from([0.5, 1.0, 2.0, 3.0, 4.0, 7.0, 8.0, 12.0, 16.0]))
        memory = min(memory, most)
        cores = draw(st.sampled_from([0.25, 0.5, 1.0, 1.75, 2.0, 3.0, 4.0]))
        if above is not None and memory > above:
            cores *= draw(st.sampled_from([1, 2]))
        vms.append(vm(created, draw(st.integers(1, 6)), cores, memory))
    for one in vms:
        one["cores"] = round(one["cores"], 6)
    return spec_of(vms, count=draw(st.integers(1, 3)), split_above_gb=above)


@settings(max_examples=60, deadline=None)
@given(spec=specs(), policy=st.sampled_from(sorted(RULES)))
def test_the_kernel_equals_the_slow_model(spec: dict[str, Any], policy: str) -> None:
    for one in spec["workload"]["vms"]:  # as a person would write them, in the model too
        one["cores"] = float(one["cores"])
    exact = {**spec, "workload": {"vms": [dict(one) for one in spec["workload"]["vms"]]}}
    for one in exact["workload"]["vms"]:
        one["cores"] = Fraction(str(one["cores"]))
    wanted = model(exact, RULES[policy])
    result = cloudarena.simulate(spec, policy)
    table = result.tables["vms"]
    found = [
        Placed(*row)
        for row in zip(*(table[name].to_pylist() for name in ("start", "machine", "node")),
                       strict=True)
    ]  # fmt: skip
    assert found == wanted
    vms = spec["workload"]["vms"]
    wait = [one.start - of["created"] for one, of in zip(wanted, vms, strict=True)]
    slow = [1 + w / of["lifetime"] for w, of in zip(wait, vms, strict=True)]
    assert table["delay"].to_pylist() == wait
    assert result.metrics["delay_ticks"] == sum(wait)
    assert result.metrics["wait_ticks_mean"] == pytest.approx(sum(wait) / len(vms))
    assert result.metrics["slowdown_mean"] == pytest.approx(sum(slow) / len(vms))
    assert result.metrics["failed"] == result.metrics["waiting_at_end"] == 0


def test_a_vm_that_does_not_fit_blocks_those_behind_it() -> None:
    vms = [vm(0, 10, 4, 4), vm(0, 10, 4, 4), vm(1, 2, 1, 1), vm(2, 2, 3, 1)]
    result = cloudarena.simulate(spec_of(vms, count=1), "numa-first-fit")
    assert result.tables["vms"]["start"].to_pylist() == [0, 0, 10, 10]
    assert result.tables["vms"]["node"].to_pylist() == [0, 1, 0, 0]
    assert result.metrics["wait_ticks_mean"] == (9 + 8) / 4
    assert result.metrics["slowdown_mean"] == (1 + 1 + 1 + 9 / 2 + 1 + 8 / 2) / 4


def test_a_queue_needs_no_nodes_and_waits_at_the_end() -> None:
    spec = spec_of([vm(0, 9, 8, 4), vm(1, 2, 8, 4), vm(2, 2, 1, 1)], count=1, split_above_gb=None)
    spec["machines"][0].pop("nodes")
    result = cloudarena.simulate({**spec, "ticks": 5}, "best-fit")
    assert result.metrics["waiting_at_end"] == 2
    assert result.metrics["wait_ticks_mean"] == (4 + 3) / 3
    assert "node" not in result.tables["vms"].column_names


def test_actions_name_a_node_or_leave_it_and_what_does_not_fit_is_refused() -> None:
    vms = [vm(0, 10, 3, 4), vm(0, 10, 2, 4), vm(0, 10, 2, 7), vm(0, 9, 1, 0.5), vm(0, 9, 1, 0.5)]
    run = VmRun(cloudarena.load(spec_of(vms, count=1)), 0, "summary")
    run.apply(on_node(run.decision.machines, 0, 1))
    with pytest.raises(InvalidAction, match="node 1 has no room for 2 cores, 4 GB"):
        run.apply(on_node(run.decision.machines, 0, 1))
    with pytest.raises(InvalidAction, match="machine 3 is not allowed: 0 to 0"):
        run.apply(3)
    run.apply(0)  # the kernel takes node 0
    assert run.decision.machines.node_free_cores.tolist() == [[2.0, 1.0]]
    assert run.decision.request.is_split
    run.apply(0)
    assert run.decision.machines.node_free_cores.tolist() == [[1.0, 0.0]]
    run.apply(postpone(1))
    assert run.decision.request.tick == 1
    run.apply(REFUSE)
    run.apply(0)
    assert run.decision is None
    assert run.world.vms.delay.tolist() == [0, 0, 0, 0, 1]


def test_a_replay_puts_vms_on_the_same_nodes(tmp_path: Any) -> None:
    import pyarrow.parquet as pq

    vms = [vm(k // 2, 3 + k % 4, 1 + k % 3, 1 + k % 8) for k in range(12)]
    result = cloudarena.simulate(spec_of(vms), "numa-balance-fit")
    pq.write_table(result.tables["decisions"], tmp_path / "decisions.parquet")
    again = cloudarena.simulate(spec_of(vms), f"replay:{tmp_path / 'decisions.parquet'}")
    assert again.tables["vms"].equals(result.tables["vms"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"machines": [{"count": 1, "cores": 1e-6, "memory_gb": 2, "nodes": 2}]}, "cores: 1e-06"),
        ({"buffer": {"budget_ticks": 3}}, "budget_ticks: 3 is not allowed: 0 where queue is wait"),
        ({"oversubscription": {"cpu": 1.5}}, "at most 1 on machines with nodes"),
        (
            {"machines": [{"count": 1, "cores": 8, "memory_gb": 8}]},
            "split_above_gb: 6 is not allowed: machines have one node only",
        ),
        (
            {
                "machines": [
                    {"count": 1, "cores": 8, "memory_gb": 8, "nodes": 2},
                    {"count": 1, "cores": 8, "memory_gb": 8, "nodes": 4},
                ]
            },
            "nodes: not the same on all machines",
        ),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CloudarenaError, match=message):
        cloudarena.load(spec_of([vm(0, 1, 1, 1)], **change))
