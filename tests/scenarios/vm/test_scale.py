"""What makes large clouds quick changes nothing: the index, and use that does not vary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import PolicyError
from cloudarena.contract import Result
from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.prefetch import FEW
from cloudarena.scenarios.vm import POLICIES, VmScenario
from cloudarena.scenarios.vm.build import index
from cloudarena.scenarios.vm.kernel.choice import is_checked
from cloudarena.scenarios.vm.state import Ranks
from cloudarena.testing.policy import it_ranks_as_it_says
from cloudarena.workloads.vm.columns import VmWorkload, offsets

from .cases import Case, cases
from .test_properties import assert_same

RANKED = [name for name in POLICIES.array_names() if POLICIES.resolve(name).ranks_by]
NO_LIMIT = 10**9


@jit_uncounted
def is_checked_now(world):
    """Calls the kernel's own."""
    return is_checked(world)


def run_with(monkeypatch: Any, index_from: int, *arguments: Any, **options: Any) -> Result:
    """A run with an index from so many machines on."""
    with monkeypatch.context() as patch:
        patch.setattr(index, "INDEX_FROM", index_from)
        return cloudarena.simulate(*arguments, **options)


def constant(case: Case, percent: float, with_readings: bool) -> VmScenario:
    """The cloud of a case, all of whose VMs use a percentage of their cores all their lives."""
    rows = case.rows
    lifetime = np.array([row["lifetime"] for row in rows], np.int64)
    none = np.full(len(rows), -1, np.int64)
    workload = VmWorkload(
        ids=pa.array([row["id"] for row in rows]),
        subscription=np.zeros(len(rows), np.int64),
        deployment=np.zeros(len(rows), np.int64),
        created=np.array([row["created"] for row in rows], np.int64),
        lifetime=lifetime,
        category=np.array([row["category"] for row in rows], np.int64),
        cores=np.array([row["cores"] for row in rows]),
        memory_gb=np.array([row["memory_gb"] for row in rows]),
        first_reading=offsets(lifetime) if with_readings else none,
        readings=np.full(int(lifetime.sum()) if with_readings else 0, percent),
        cpu_percent=percent,
    )
    vms = [{"created": 0, "lifetime": 1, "cores": 1, "memory_gb": 1}]
    scenario = cloudarena.load({**case.spec, "workload": {"source": "inline", "vms": vms}})
    return scenario.with_workload(workload)


def test_the_policies_that_rank_say_so():
    assert RANKED == [
        "random",
        "first-fit",
        "best-fit",
        "best-fit-memory",
        "best-fit-energy",
        "best-fit-cores-energy",
        "worst-fit",
        "round-robin",
    ]


@pytest.mark.slow  # a minute of compiling each
@pytest.mark.parametrize("record", ["full", "none"])
@settings(max_examples=16, deadline=None)
@given(
    case=cases(),
    name=st.sampled_from([*RANKED, "best-fit:ties=random"]),
    percent=st.sampled_from([None, 0.0, 40.0, 100.0]),
)
def test_an_index_chooses_what_a_scan_chooses(record, case, name, percent):
    scenario = case.load() if percent is None else constant(case, percent, False)
    with pytest.MonkeyPatch.context() as patch:
        found = run_with(patch, 1, scenario, name, record=record)
        scanned = run_with(patch, NO_LIMIT, scenario, name, record=record)
    assert_same(found, scanned)


@pytest.mark.parametrize(
    ("name", "machines"),
    [*((name, 150) for name in RANKED), ("first-fit", FEW), ("worst-fit", FEW)],
)
def test_an_index_chooses_what_a_scan_chooses_on_many_machines(monkeypatch, name, machines):
    """On more than ``FEW`` machines the memory is asked ahead for what comes next."""
    rng = np.random.default_rng(7)
    arrivals = 20 * machines // 150
    count, kinds = 200 * arrivals, ({"cores": 16, "memory_gb": 64}, {"cores": 12, "memory_gb": 96})
    rows = [
        {
            "id": vm,
            "created": vm // arrivals,
            "lifetime": int(rng.integers(1, 160)),
            "cores": float(rng.choice([0.5, 1, 2, 4, 8])),
            "memory_gb": float(rng.choice([0.75, 3.5, 7, 28])),
            "category": int(rng.integers(0, 3)),
        }
        for vm in range(count)
    ]
    spec = {
        "scenario": "vm",
        "ticks": 220,
        "machines": [{"count": machines, **kind} for kind in kinds],
        "oversubscription": {"cpu": 1.25, "memory": 1.1, "utilisation": 1.0},
        "off_after_ticks": 3,
        "buffer": {"budget_ticks": 6, "delay_ticks": 2},
    }
    scenario = constant(Case(spec, rows, None), 60.0, False)
    found = run_with(monkeypatch, 1, scenario, name)
    assert found.metrics["delay_ticks"] > 0
    assert found.metrics["boots"] > 0
    assert_same(found, run_with(monkeypatch, NO_LIMIT, scenario, name))


@settings(max_examples=25, deadline=None)
@given(
    case=cases(may_warm_up=True),
    percent=st.sampled_from([0.0, 5.0, 50.0, 100.0]),
    name=st.sampled_from(RANKED),
)
def test_constant_use_is_as_readings_that_are_all_the_same(case, percent, name):
    slow = cloudarena.simulate(constant(case, percent, True), name)
    quick = cloudarena.simulate(constant(case, percent, False), name)
    assert slow.metrics == pytest.approx(quick.metrics, rel=1e-12, abs=0, nan_ok=True)
    for table in slow.tables:
        for column in slow.tables[table].column_names:
            one, other = (run.tables[table][column].to_pylist() for run in (slow, quick))
            is_float = one and isinstance(one[0], float)
            assert one == (pytest.approx(other, rel=1e-12, abs=1e-12) if is_float else other), (
                column
            )


@cloudarena.ranks_by("vms")
def emptiest(pms, vm, rng):
    """The valid machine with the fewest VMs."""
    best = -2
    for m in range(len(pms.valid)):
        if pms.valid[m] and (best < 0 or pms.vms[m] < pms.vms[best]):
            best = m
    return best


@settings(max_examples=15, deadline=None)
@given(case=cases())
def test_a_policy_of_a_users_may_rank_too(case):
    scenario = case.load()
    with pytest.MonkeyPatch.context() as patch:
        found = run_with(patch, 1, scenario, emptiest)
        assert_same(found, run_with(patch, NO_LIMIT, scenario, emptiest))


@pytest.mark.parametrize(
    "by",
    ["size", "-size", "any", "-index", 3, ("free_cores", "vms", "power_w"), ("vms", "index")],
)
def test_what_machines_cannot_be_ranked_by_is_refused(by):
    @cloudarena.ranks_by(*(by if isinstance(by, tuple) else (by,)))
    def mine(pms, vm, rng):
        """Takes the first."""
        return 0

    words = r"ranks_by: .* is not allowed: index, next, or at most 2 of free_cores, .* the highest$"
    with pytest.raises(PolicyError, match=words):
        POLICIES.resolve(mine)


def test_a_run_goes_on_by_hand_after_a_ranking_policy(monkeypatch):
    """The mask of valid machines is there again when the index is gone."""
    monkeypatch.setattr(index, "INDEX_FROM", 1)
    scenario = cloudarena.load("vm/toy")
    run = scenario.start(0)
    run.play(POLICIES.resolve("first-fit"))
    assert run.decision is None
    assert run.world.rooms is None


@cloudarena.ranks_by("vms")
def last_of_the_emptiest(pms, vm, rng):
    """Ties go to the highest index, not to the lowest."""
    best = -2
    for m in range(len(pms.valid)):
        if pms.valid[m] and (best < 0 or pms.vms[m] <= pms.vms[best]):
            best = m
    return best


@cloudarena.ranks_by("-vms")
def emptiest_by_the_wrong_sign(pms, vm, rng):
    """The valid machine with the fewest VMs, which says the most."""
    best = -2
    for m in range(len(pms.valid)):
        if pms.valid[m] and (best < 0 or pms.vms[m] < pms.vms[best]):
            best = m
    return best


@cloudarena.ranks_by("vms")
def emptiest_at_first(pms, vm, rng):
    """Ranks as it says until tick 60, then takes the last valid machine."""
    best = -2
    for m in range(len(pms.valid)):
        if pms.valid[m] and (best < 0 or vm.tick >= 60 or pms.vms[m] < pms.vms[best]):
            best = m
    return best


@cloudarena.ranks_by("index")
def refuses_large_ones(pms, vm, rng):
    """The first valid machine, but none for large VMs."""
    if vm.cores >= 8:
        return -1
    for m in range(len(pms.valid)):
        if pms.valid[m]:
            return m
    return -2


LIARS = [last_of_the_emptiest, emptiest_by_the_wrong_sign, emptiest_at_first, refuses_large_ones]


def many_machines() -> VmScenario:
    """A cloud on which policies that rank find their choice in an index."""
    source = {"source": "poisson-vms", "vms": 3000, "per_tick": 20, "lifetime_ticks": 60}
    machines = [{"count": index.INDEX_FROM, "cores": 32, "memory_gb": 128}]
    return cloudarena.load(
        {"scenario": "vm", "ticks": 150, "machines": machines, "workload": source}
    )


@pytest.mark.parametrize("policy", LIARS)
def test_a_ranking_that_is_not_what_a_policy_does_ends_the_run(policy):
    words = rf"^policy {policy.__name__}: ranks_by: '.*' is not what it does: for VM \d+ it returns"
    with pytest.raises(PolicyError, match=words) as raised:
        cloudarena.simulate(many_machines(), policy, record="none")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("policy", LIARS)
def test_the_checks_of_a_policy_find_a_ranking_that_is_none_on_few_machines(policy):
    source = {"source": "poisson-vms", "vms": 300, "per_tick": 2, "lifetime_ticks": 20}
    machines = [{"count": 8, "cores": 32, "memory_gb": 128}]
    scenario = cloudarena.load(
        {"scenario": "vm", "ticks": 150, "machines": machines, "workload": source}
    )
    with pytest.raises(AssertionError, match=r"by its ranks_by '.*' machine"):
        it_ranks_as_it_says(policy, scenario, 0)


@pytest.mark.parametrize("policy", [emptiest, *RANKED])
def test_the_checks_of_a_policy_let_pass_what_ranks_as_it_says(policy):
    it_ranks_as_it_says(policy, cloudarena.load("vm/toy"), 0)


def test_a_run_checks_few_choices_of_an_index():
    """The first, those at powers of two, and one in so many as there are machines / 8."""
    scenario, asked = many_machines(), []
    run = scenario.start(0, record="none")
    run.prepare(POLICIES.resolve(emptiest))
    every = index.INDEX_FROM // index.CHECKED_PER_MACHINE
    assert run.world.ranking[Ranks.CHECKED_EVERY] == every
    for _ in range(1000):
        asked.append(bool(is_checked_now(run.world)))
    numbers = np.flatnonzero(asked) + 1
    powers = [2**k for k in range(10)]
    assert numbers.tolist() == sorted({*range(1, 17), *powers, *range(every, 1001, every)})
    run.prepare(POLICIES.resolve("best-fit"))  # held by the tests above
    assert not is_checked_now(run.world)
