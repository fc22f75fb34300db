"""What learners are shown of a vm decision: by hand, and on random clouds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.contract import Candidates, Feature
from cloudarena.policies.parameters import named
from cloudarena.scenarios.vm import KIND, POLICIES, REFUSE, Machines, Request, postpone
from cloudarena.scenarios.vm.state import empty_machines
from cloudarena.testing.candidates import CANDIDATE_CHECKS, walk

from .cases import Case, cases
from .clouds import batch, cloud, machine, vm

VM = KIND.candidates["vm"]


def look(scenario, *actions, most=None):
    """The candidates after these actions: their rows by name, the context by name, the actions."""
    run = scenario.start(0)
    for action in actions:
        run.apply(action)
    decision = run.decision
    features, context, chosen = VM.make_arrays(most)
    count = VM.fill(decision.machines, decision.request, features, context, chosen)
    rows = [
        dict(zip([one.name for one in VM.features], map(float, row), strict=True))
        for row in features[:count]
    ]
    shared = dict(zip([one.name for one in VM.context], map(float, context), strict=True))
    return rows, shared, chosen[:count, 0].tolist()


def test_machines_in_equal_state_are_one_candidate_and_refusing_is_the_last():
    scenario = cloud(vm(0, 3), vm(0, 3), machines=[machine(4, 16, count=5)])
    _, context, actions = look(scenario)
    assert actions == [0, REFUSE]
    assert context["machines_valid"] == context["machines_empty"] == 1
    _, context, actions = look(scenario, 2)
    assert actions == [0, 2, REFUSE]
    assert context["machines_empty"] == pytest.approx(0.8)


def test_the_features_of_a_machine_are_those_worked_out_by_hand():
    """A busy VM of 1 core and 4 GB runs on the machine; one of 1 core and 3 GB asks."""
    first, second = vm(0, 3, readings=[100] * 3, memory_gb=4), vm(0, 3, memory_gb=3)
    (row, refuse), context, actions = look(cloud(first, second), 0)
    assert actions == [0, REFUSE]
    wanted = {
        "cores_left": 2 / 4, "memory_left": 9 / 16, "cores_free": 2 / 4, "memory_free": 9 / 16,
        "balance": 1 / 16, "fits_again": 2 / 8, "takes": 1 / 4, "utilisation": 1 / 8,
        "utilisation_if_busy": 2 / 8, "power": 125 / 200, "power_added": 25 / 125,
        "vms": 1 / 9, "empty": 0, "shared": 0, "off": 0, "size": 4 / 36,
        "quiet": 0, "wait": 0, "refuse": 0, "memory_takes": 3 / 16, "refuse_full": 0,
    }  # fmt: skip
    assert {name: row[name] for name in wanted} == pytest.approx(wanted, rel=1e-6)
    wanted = {
        **dict.fromkeys(refuse, 0.0),
        "refuse": 1, "refuse_cores": 1 / 8, "refuse_core_heavy": (1 / 4) / (1 / 4 + 3 / 16),
        "refuse_known": 0, "refuse_full": 1 / 4, "refuse_tight": 0.25**10,
    }  # fmt: skip
    assert refuse == pytest.approx(wanted, rel=1e-6)
    assert context["cores"] == pytest.approx(1 / 8)
    assert context["memory"] == pytest.approx(2 / 12)
    assert context["unknown"] == 1
    assert context["cores_allocated"] == pytest.approx(0.5 * 1 / 4)
    assert context["memory_allocated"] == pytest.approx(0.5 * 4 / 16)
    assert context["demand"] == pytest.approx(0.5 * 1 / 4)


def test_an_oversubscribed_machine_has_cores_left_but_none_free():
    vms = [batch(0, 3, cores=3) for _ in range(2)]
    (row, refuse), context, _ = look(
        cloud(*vms, oversubscription={"cpu": 2, "memory": 1, "utilisation": 2}), 0
    )
    assert row["cores_left"] == pytest.approx((8 - 6) / 8)
    assert row["cores_free"] == pytest.approx(-2 / 4)
    assert row["shared"] == context["delay_insensitive"] == refuse["refuse_known"] == 1


def test_waiting_is_a_candidate_while_the_buffer_leaves_a_reserve():
    buffered = cloud(vm(0, 3), buffer={"budget_ticks": 2, "delay_ticks": 1})
    rows, context, actions = look(buffered)
    assert actions == [0, postpone(1), REFUSE]
    assert rows[1]["wait"] == 1
    assert context["buffer"] == 1
    assert context["delays"] == pytest.approx(2 / 6)
    _, context, actions = look(buffered, postpone(1))
    assert actions == [0, REFUSE]  # the last delay is kept for the case that nothing has room
    assert context["buffer"] == pytest.approx(1 / 2)


def test_with_no_room_only_waiting_and_refusing_are_left():
    full = cloud(vm(0, 3, 4), vm(0, 3, 4), decide_when_full=True, buffer={"budget_ticks": 1})
    assert look(full, 0)[2] == [postpone(1), REFUSE]


def test_a_machine_that_is_off_says_so_and_adds_its_idle_power():
    scenario = cloud(vm(3, 2), off_after_ticks=1)
    (row, _), context, _ = look(scenario)
    assert row["off"] == context["machines_off"] == 1
    assert row["power_added"] == pytest.approx((100 + 25) / 225)


def test_a_known_life_and_a_deployment_are_shown():
    scenario = cloud(vm(0, 3), vm(0, 7), known=["lifetimes"])
    _, context, _ = look(scenario)
    assert context["lifetime_known"] == 1
    assert context["lifetime"] == pytest.approx(np.log2(4) / 14)
    (row, _), _, _ = look(scenario, 0)
    assert row["same_deployment"] in (0, 1)
    unknown = cloud(vm(0, 3))
    assert look(unknown)[1]["lifetime_known"] == look(unknown)[1]["lifetime"] == 0


@st.composite
def states(draw):
    """Machines in any state, more than there are candidates."""
    count = draw(st.integers(1, 40))
    numbers = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    choices = draw(st.integers(1, 6))  # few values make many equal states
    pms: Machines = empty_machines(count)
    pms.cores[:], pms.memory_gb[:] = 16, 64
    pms.limit_cores[:], pms.limit_memory_gb[:] = 16, 64
    pms.idle_w[:], pms.busy_w[:], pms.curve_r[:] = 100, 200, 1.4
    pms.vms[:] = numbers.integers(0, choices, count)
    some = pms.vms > 0
    pms.free_cores[:] = np.where(some, numbers.integers(1, 1 + 2 * choices, count), 16)
    pms.free_memory_gb[:] = np.where(some, numbers.integers(1, 1 + 2 * choices, count), 64)
    pms.utilisation[:] = np.where(some, numbers.integers(0, choices, count) / 8, 0)
    pms.power_w[:] = 100 + 100 * (2 * pms.utilisation - pms.utilisation**1.4)
    pms.allocated_cores[:] = 16 - pms.free_cores
    pms.allocated_memory_gb[:] = 64 - pms.free_memory_gb
    pms.sharing[:] = np.where(some, -1, 0)
    pms.state[:] = 2
    pms.last_tick[:] = pms.last_deployment[:] = -1
    pms.valid[:] = numbers.random(count) < 0.8
    return pms


@settings(deadline=None)
@given(states(), st.sampled_from([8, 16, 128]))
def test_what_the_built_in_rules_would_choose_is_among_the_candidates(pms, most):
    wanted = Request(0, 1.0, 1.0, 2, 0, 0, 0, 0, -1, -1)
    features, context, actions = VM.make_arrays(most)
    count = VM.compiled(pms, wanted, features, context, actions)
    machines = [one for one in actions[:count, 0].tolist() if one >= 0]
    assert machines == sorted(machines)
    assert pms.valid[machines].all()
    names = ("first-fit", "best-fit", "worst-fit", "best-fit-memory", "best-fit-energy",
             "best-fit-cores-energy")  # fmt: skip
    for name in names if pms.valid.any() else ():
        policy = POLICIES.resolve(name)
        assert policy.function(pms, wanted, named(policy.parameters), None) in machines, name
    rows = {row.tobytes() for row in features[: len(machines)]}
    if len(machines) < most - 2:  # then every state is there, once
        assert len(rows) == len(machines)
        whole, _, chosen = VM.make_arrays(128)
        for m in np.flatnonzero(pms.valid):
            only = pms._replace(valid=np.arange(len(pms.valid)) == m)
            VM.compiled(only, wanted, whole, context, chosen)
            assert whole[0].tobytes() in rows


def check_smaller(scenario, seed):
    """Any number of candidates that one may ask for is filled, with the same context."""
    for candidates, _, shown in walk(scenario, seed):
        whole, context, _ = candidates.make_arrays(128)
        count = int(
            candidates.compiled(
                *shown, whole, context, np.zeros((128, candidates.numbers), np.int64)
            )
        )
        for most in (4, 16):
            features, part, actions = candidates.make_arrays(most)
            found = int(candidates.compiled(*shown, features, part, actions))
            assert found == count if count <= most else 1 <= found <= most
            assert part.tobytes() == context.tobytes(), "the context depends on the candidates"
            known = {row.tobytes() for row in whole[:count]}
            if count <= 128 - 2:
                assert all(row.tobytes() in known for row in features[:found]), "an unknown row"


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(cases())
def test_candidates_of_random_clouds_pass_the_checks(case: Case):
    scenario = case.load()
    for check in (*CANDIDATE_CHECKS, check_smaller):
        check(scenario, 0)


def test_what_makes_no_candidates_is_named():
    with pytest.raises(SpecError, match="most: 3 is not allowed: 4 to 128 candidates"):
        VM.make_arrays(3)
    twice = (Feature("a", "one"), Feature("a", "other"))
    with pytest.raises(CloudarenaError, match="not unique"):
        Candidates("x", twice, twice[:1], 1, 16, VM.fill)
    with pytest.raises(CloudarenaError, match="bounds"):
        Candidates("x", twice[:1], (Feature("b", "none", 1.0, 1.0),), 1, 16, VM.fill)
