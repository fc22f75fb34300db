"""Which machine each built-in policy takes, on small states by hand; stepped and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cloudarena.base.arrays import locked
from cloudarena.engine.streams import stream
from cloudarena.policies.parameters import named
from cloudarena.scenarios.vm import POLICIES, Machines, Request, postpone
from cloudarena.scenarios.vm.state import empty_machines

from .clouds import cloud, column, machine, play, vm

Choose = Callable[..., int]


def state(**columns: list[float]) -> Machines:
    """Machines of 8 cores and 32 GB, all valid and empty but for what is said."""
    machines = empty_machines(len(next(iter(columns.values()))))
    filled = {"valid": True, "cores": 8, "memory_gb": 32, "free_cores": 8, "free_memory_gb": 32}
    for name, value in {**filled, **columns}.items():
        getattr(machines, name)[:] = value
    if "limit_cores" not in columns:
        machines.limit_cores[:] = machines.cores
    machines.allocated_cores[:] = machines.cores - machines.free_cores
    machines.allocated_memory_gb[:] = machines.memory_gb - machines.free_memory_gb
    return machines


def request(cores: float = 1.0, memory_gb: float = 1.0, last_machine: int = -1) -> Request:
    """A request for a VM."""
    return Request(0, float(cores), float(memory_gb), 2, 0, 0, 0, 0, -1, last_machine)


@pytest.fixture(params=["stepped", "compiled"])
def choose(request: pytest.FixtureRequest) -> Choose:
    """Asks a policy by name, as a Python function or as machine code."""

    def ask(name: str, machines: Machines, wanted: Request, seed: int = 0) -> int:
        built_in: Any = POLICIES.resolve(name)
        rng = np.random.default_rng(seed)
        if request.param == "stepped":
            return int(built_in.function(locked(machines), wanted, named(built_in.parameters), rng))
        return int(built_in.machine_code(locked(machines), wanted, built_in.values, rng))

    return ask


@pytest.mark.parametrize(
    ("name", "columns", "chosen"),
    [
        ("first-fit", {"free_cores": [1, 2, 3]}, 0),
        ("first-fit", {"valid": [False, True, True]}, 1),
        ("best-fit", {"free_cores": [5, 2, 3, 2]}, 1),
        ("best-fit", {"free_cores": [5, 2, 3, 1], "valid": [True, False, True, False]}, 2),
        # More allocated than there is: the fewest free cores of all.
        ("best-fit", {"free_cores": [5, -2, 0]}, 1),
        ("best-fit-memory", {"free_memory_gb": [9, 4, 4], "free_cores": [1, 8, 7]}, 1),
        ("best-fit-energy", {"power_w": [120, 150, 180, 180]}, 2),
        ("best-fit-energy", {"power_w": [0, 0, 0]}, 0),
        ("best-fit-cores-energy", {"free_cores": [2, 1, 1], "power_w": [300, 120, 130]}, 2),
        ("best-fit-cores-energy", {"free_cores": [1, 2, 1], "power_w": [120, 300, 120]}, 0),
        ("best-fit-cores-energy", {"free_cores": [3, 1, 2], "power_w": [9, 0, 5]}, 1),
        ("worst-fit", {"free_cores": [5, 7, 3, 7]}, 1),
        ("worst-fit", {"free_cores": [5, 7, 3], "valid": [True, False, True]}, 0),
        ("worst-fit", {"free_cores": [-5, -7, -6]}, 0),
    ],
)
def test_the_machine_taken(
    choose: Choose, name: str, columns: dict[str, list[float]], chosen: int
) -> None:
    assert choose(name, state(**columns), request()) == chosen


@pytest.mark.parametrize(
    ("last", "valid", "chosen"),
    [
        (-1, [1, 1, 1], 0),  # begins with machine 0
        (0, [1, 1, 1], 1),
        (2, [1, 1, 1], 0),  # round
        (0, [1, 0, 0], 0),  # all the way round
        (1, [1, 1, 0], 0),
    ],
)
def test_round_robin_goes_on_after_the_last_machine(
    choose: Choose, last: int, valid: list[int], chosen: int
) -> None:
    machines = state(valid=valid)
    assert choose("round-robin", machines, request(last_machine=last)) == chosen


def test_round_robin_goes_round_in_a_run() -> None:
    # Machine 1 is too small for the VMs of 2 cores, not for the last one.
    scenario = cloud(
        *[vm(0, 9, cores=2) for _ in range(4)],
        vm(0, 9, cores=1),
        machines=[machine(8), machine(1), machine(8)],
    )
    result = scenario.start()
    result.play(POLICIES.resolve("round-robin"))
    assert column(result.result(), "machine") == [0, 2, 0, 2, 0]


def test_dot_product_takes_the_best_aligned_machine(choose: Choose) -> None:
    # The VM asks for 4 of 8 cores and 2 of 32 GB: shares (1/2, 1/16).
    # Machine 0, free (2/8, 32/32): 1/2 * 1/4 + 1/16 * 1   = 0.1875
    # Machine 1, free (6/8,  8/32): 1/2 * 3/4 + 1/16 * 1/4 = 0.390625
    # Machine 2, free (5/8, 32/32): 1/2 * 5/8 + 1/16 * 1   = 0.375
    machines = state(free_cores=[2, 6, 5], free_memory_gb=[32, 8, 32])
    assert choose("dot-product", machines, request(cores=4, memory_gb=2)) == 1
    # A VM of 1 core and 32 GB, shares (1/8, 1): 1/32 + 1, 3/32 + 1/4, 5/64 + 1.
    assert choose("dot-product", machines, request(cores=1, memory_gb=32)) == 2


def test_dot_product_measures_by_the_size_of_each_machine(choose: Choose) -> None:
    # 2 cores, 2 GB. Machine 0 has 4 cores, all free: 2/4 * 1 + 2/32 = 0.5625.
    # Machine 1 has 16, all free: 2/16 * 1 + 2/32 = 0.1875.
    machines = state(cores=[16, 4], free_cores=[16, 4])
    assert choose("dot-product", machines, request(cores=2, memory_gb=2)) == 1


def test_dot_product_gives_ties_to_the_lowest_number(choose: Choose) -> None:
    assert choose("dot-product", state(valid=[False, True, True]), request()) == 1


def test_bin_packing_keeps_the_sizes_left_even(choose: Choose) -> None:
    # Cores left: 4, 4, 4, 2; one machine has 2, three have 4. A VM of 2 moves one machine
    # from 4 to 2: counts (0, 0, 2, 0, 2), squares 8; or from 2 to 0: (1, 0, 0, 0, 3), squares 10.
    machines = state(cores=[4] * 4, free_cores=[4, 4, 4, 2])
    assert {choose("bin-packing", machines, request(2), seed) for seed in range(40)} == {0, 1, 2}


def test_bin_packing_gives_ties_to_the_smaller_size(choose: Choose) -> None:
    # Cores left: 4, 4, 2, 1. From 4 to 2: (0, 1, 2, 0, 1); from 2 to 0: (1, 1, 0, 0, 2).
    # Both have squares 6.
    machines = state(cores=[4] * 4, free_cores=[4, 4, 2, 1], valid=[1, 1, 1, 0])
    assert {choose("bin-packing", machines, request(2), seed) for seed in range(10)} == {2}


def test_bin_packing_counts_all_machines_and_takes_a_valid_one(choose: Choose) -> None:
    # As above, but machines 0 and 1 take other VMs only.
    machines = state(cores=[4] * 4, free_cores=[4, 4, 4, 2], valid=[0, 0, 1, 1])
    assert {choose("bin-packing", machines, request(2), seed) for seed in range(10)} == {2}


def test_bin_packing_measures_by_what_may_be_allocated(choose: Choose) -> None:
    # Capacity 4, limit 8, allocated 4, 4, 6: 4, 4, 2 are left. A VM of 2 moves 4 to 2,
    # counts (0, 0, 2, 0, 1), squares 5; or 2 to 0, (1, 0, 0, 0, 2), squares 5: the smaller.
    machines = state(cores=[4] * 3, limit_cores=[8] * 3, free_cores=[0, 0, -2])
    assert choose("bin-packing", machines, request(2)) == 2


def test_bin_packing_sees_whole_cores_through_binary_fractions(choose: Choose) -> None:
    # 4.1 - 1.1 = 3 cores are left on machine 0 (2.9999999999999996 in floats), 3 on 1, 4 on 2.
    # A VM of 1 moves 3 to 2: (0, 0, 1, 1, 1), squares 3; 4 to 3: (0, 0, 0, 3, 0), squares 9.
    machines = state(cores=[4.1, 3, 4], free_cores=[3, 3, 4])
    machines.allocated_cores[:] = [1.1, 0, 0]
    assert {choose("bin-packing", machines, request(1), seed) for seed in range(20)} == {0, 1}


def test_bin_packing_places_interactive_vms_where_the_limit_is_below_the_capacity() -> None:
    # The rate of 0.5 limits delay-insensitive VMs alone: 3 + 1 of 4 cores fit.
    scenario = cloud(vm(0, 9, cores=3), vm(1, 9, cores=1), oversubscription={"cpu": 0.5})
    run = scenario.start()
    run.play(POLICIES.resolve("bin-packing"))
    assert run.metrics()["allocated"] == 2


def test_bin_packing_never_looks_beyond_its_counts() -> None:
    # 16 cores, limit 1, 8 allocated to interactive VMs. Stepped, where NumPy checks each index.
    machines = state(cores=[16, 16], limit_cores=[1, 1], free_cores=[8, 16])
    built_in: Any = POLICIES.resolve("bin-packing")
    assert built_in.function(machines, request(1), named({}), np.random.default_rng(0)) in (0, 1)


@given(
    left=st.lists(st.integers(0, 8), min_size=1, max_size=8),
    closed=st.lists(st.booleans(), min_size=8, max_size=8),
    need=st.integers(1, 4),
)
def test_bin_packing_minimises_the_variance_of_the_counts(
    left: list[int], closed: list[bool], need: int
) -> None:
    valid = [cores >= need and not shut for cores, shut in zip(left, closed, strict=False)]
    assume(any(valid))
    counts = np.bincount(left, minlength=9)

    def variance(size: int) -> float:
        moved = counts.copy()
        moved[size] -= 1
        moved[size - need] += 1
        return float(np.var(moved)) + 1e-9 * size  # ties: the smaller size

    sizes = {cores for cores, fits in zip(left, valid, strict=True) if fits}
    chosen: Any = POLICIES.resolve("bin-packing")
    number = chosen.function(
        state(free_cores=left, valid=valid), request(need), named({}), np.random.default_rng(0)
    )
    assert valid[number]
    assert left[number] == min(sizes, key=variance)


def test_random_takes_each_valid_machine_equally_often() -> None:
    machines = state(valid=[1, 0, 1, 1])
    built_in: Any = POLICIES.resolve("random")
    rng = stream(0, "policy")
    taken = np.bincount(
        [built_in.function(machines, request(), named({}), rng) for _ in range(3000)]
    )
    assert taken[1] == 0
    # 1000 each; the standard deviation is 26.
    assert np.all(np.abs(taken[[0, 2, 3]] - 1000) < 100)


@pytest.mark.parametrize("name", POLICIES.array_names())
def test_where_no_machine_is_valid_the_request_is_put_off(choose: Choose, name: str) -> None:
    assert choose(name, state(valid=[False, False]), request()) == postpone(1)


@pytest.mark.parametrize("name", POLICIES.array_names())
@given(
    cores=st.lists(st.integers(1, 16), min_size=1, max_size=6),
    rate=st.sampled_from([0.1, 0.5, 1.0, 1.15, 2.0]),
    shares=st.lists(st.floats(0, 1), min_size=6, max_size=6),
    valid=st.lists(st.booleans(), min_size=6, max_size=6),
    need=st.sampled_from([0.1, 0.5, 1.0, 2.5, 8.0]),
    last=st.integers(-1, 5),
)
def test_where_a_machine_is_valid_one_is_taken(
    name: str,
    cores: list[int],
    rate: float,
    shares: list[float],
    valid: list[bool],
    need: float,
    last: int,
) -> None:
    count = len(cores)
    assume(any(valid[:count]))
    machines = state(
        cores=cores,
        limit_cores=[rate * c for c in cores],
        free_cores=[c - share * max(1, rate) * c for c, share in zip(cores, shares, strict=False)],
        valid=valid[:count],
    )
    built_in: Any = POLICIES.resolve(name)
    wanted = request(need, last_machine=min(last, count - 1))
    chosen = built_in.function(
        machines, wanted, named(built_in.parameters), np.random.default_rng(0)
    )
    assert 0 <= chosen < count
    assert valid[chosen]


def test_best_fit_choices_in_a_run() -> None:
    # A (3 cores) opens machine 0 with 1 core left, B (2) goes to machine 1, which is the first
    # it fits: 2 left. C (1) fits both: machine 0 has fewer left. D (1) then goes to 1.
    scenario = cloud(
        vm(0, 9, cores=3),
        vm(0, 9, cores=2),
        vm(0, 9, cores=1),
        vm(0, 9, cores=1),
        machines=[machine(4, count=3)],
    )
    run = scenario.start()
    run.play(POLICIES.resolve("best-fit"))
    assert column(run.result(), "machine") == [0, 1, 0, 1]
    assert column(play(scenario), "machine") == [0, 1, 0, 1]
    run = scenario.start()
    run.play(POLICIES.resolve("worst-fit"))
    assert column(run.result(), "machine") == [0, 1, 2, 2]
