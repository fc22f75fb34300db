"""On many machines an index finds the machine that a scan of all of them would."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.contract import Result
from cloudarena.engine.prefetch import FEW
from cloudarena.engine.segment_tree import LOWEST
from cloudarena.scenarios.jobs import POLICIES
from cloudarena.scenarios.jobs.build import index

from .test_input import assert_same
from .test_properties import any_specs

RANKED = [name for name in POLICIES.array_names() if POLICIES.resolve(name).ranks_by]
NO_LIMIT = 10**9


def slowly(name: str) -> Any:
    """Marks a policy for validation: each takes many seconds of compiling."""
    return pytest.param(name, marks=pytest.mark.slow)


def run_with(index_from: int, *arguments: Any, **options: Any) -> Result:
    """A run with an index from so many machines on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "INDEX_FROM", index_from)
        return cloudarena.simulate(*arguments, **options)


def test_the_policies_that_rank_say_so():
    assert RANKED == ["random", "best-fit", "worst-fit"]


@pytest.mark.slow  # a minute and a half of compiling
@settings(max_examples=40, deadline=None)
@given(spec=any_specs(), name=st.sampled_from([*RANKED, "best-fit:ties=random"]))
def test_an_index_chooses_what_a_scan_chooses(spec, name):
    assert_same(run_with(1, spec, name), run_with(NO_LIMIT, spec, name))


@pytest.mark.parametrize("count", [150, FEW])
@pytest.mark.parametrize("name", ["best-fit", *(slowly(n) for n in RANKED if n != "best-fit")])
def test_an_index_chooses_what_a_scan_chooses_on_many_machines(name, count):
    """With machines that fail, and demands in which now one resource is short, now another.

    On more than ``FEW`` machines the memory is asked ahead for what comes next.
    """
    machines = [
        {"name": "wide", "count": count, "cpu": 16, "memory": 1},
        {"name": "tall", "count": count, "cpu": 8, "memory": 3, "speed": 2},
    ]
    spec = {
        "scenario": "jobs",
        "machines": machines,
        "failures": {"mtbf_s": 3000, "mttr_s": 200},
        "workload": {"source": "alibaba-like", "jobs": 60},
    }
    found = run_with(1, spec, name, record="none")
    assert found.metrics["lost_instances"] > 0
    assert found.metrics == run_with(NO_LIMIT, spec, name, record="none").metrics


def test_a_run_goes_on_by_hand_after_a_ranking_policy(monkeypatch):
    monkeypatch.setattr(index, "INDEX_FROM", 1)
    run = cloudarena.load("jobs/toy").start(0)
    run.play(POLICIES.resolve("best-fit"))
    assert run.decision is None
    assert run.world.rooms is None


def test_a_stepped_policy_may_ask_one_that_ranks(monkeypatch):
    """It gets no index that its own steps would not keep up to date."""
    monkeypatch.setattr(index, "INDEX_FROM", 1)
    built_in = POLICIES.resolve("best-fit")
    stepped = cloudarena.simulate("jobs/toy", lambda decision: built_in(decision))
    assert_same(stepped, cloudarena.simulate("jobs/toy", "best-fit"))


def test_machines_with_room_are_not_looked_at_where_nothing_waits_for_them():
    """Each would be, for each task that arrives, and the cost of a decision grow with machines."""
    spec = {
        "scenario": "jobs",
        "machines": [{"count": 20, "cpu": 32, "memory": 128}],
        "workload": {"source": "poisson-jobs", "jobs": 300, "rate": 0.05, "duration_s": 500},
    }
    run = cloudarena.load(spec).start(0, record="none")
    worst_fit = POLICIES.resolve("worst-fit")
    kept = []
    while run.decision is not None:
        dirty = run.world.queue.dirty.nodes
        kept.append(int((dirty[len(dirty) // 2 :, 0] > LOWEST).sum()))
        run.apply(worst_fit(run.decision))
    assert max(kept) <= 1
