"""HEFT: the plan is that of the book, it fills gaps, and the run keeps its times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.contract import InvalidAction
from cloudarena.scenarios.workflow.policies.heft import Heft
from cloudarena.scenarios.workflow.policies.timetable import (
    Machines,
    Tasks,
    Transfer,
    empty_timetable,
    plan_workflow,
    upward_ranks,
    with_pieces,
)

from . import reference, reference_heft
from .cases import Case, cases
from .clusters import column, flow, fn, play, server, toy

TOPCUOGLU_SECONDS = [
    [14, 16, 9], [13, 19, 18], [11, 13, 19], [13, 8, 17], [12, 13, 10],
    [13, 16, 9], [7, 15, 11], [5, 11, 14], [18, 12, 20], [21, 7, 16],
]  # fmt: skip
TOPCUOGLU_EDGES = {
    (0, 1): 18, (0, 2): 12, (0, 3): 9, (0, 4): 11, (0, 5): 14, (1, 7): 19, (1, 8): 16, (2, 6): 23,
    (3, 7): 27, (3, 8): 23, (4, 8): 13, (5, 7): 15, (6, 9): 17, (7, 9): 11, (8, 9): 13,
}  # fmt: skip
"""The graph of figure 2 and table 2 of Topcuoglu, Hariri and Wu (2002)."""


def single_processors(seconds, edges):
    """Tasks on processors of one core, whose data takes no time where it is."""
    tasks, nodes = np.shape(seconds)
    rows = sorted((child, parent, size) for (parent, child), size in edges.items())
    counts = np.bincount([child for child, _, _ in rows], minlength=tasks)
    machines = Machines(
        np.arange(nodes), np.ones(nodes, np.int64), np.ones(nodes, np.int64), np.zeros(nodes),
        math.inf, 1.0, 1.0, int(Transfer.EACH_WHEN_READY),
    )  # fmt: skip
    ones = np.ones((tasks, nodes), np.int64)
    first = np.concatenate(([0], np.cumsum(counts)))
    parents, sizes = (np.array([row[k] for row in rows], np.int64) for k in (1, 2))
    return machines, Tasks(np.array(seconds, float), ones, ones, first, parents, sizes)


def planned(seconds, edges):
    machines, tasks = single_processors(seconds, edges)
    ranks = upward_ranks(tasks, machines)
    order = np.argsort(-ranks, kind="stable")
    table = with_pieces(empty_timetable(len(machines.server), len(machines.server)), 2 * len(order))
    return (ranks, *plan_workflow(table, machines, tasks, order, 0.0))


def test_the_graph_of_the_book_takes_80():
    ranks, nodes, starts = planned(TOPCUOGLU_SECONDS, TOPCUOGLU_EDGES)
    published = [108.0, 77.0, 80.0, 80.0, 69.0, 63.333, 42.667, 35.667, 44.333, 14.667]
    assert ranks == pytest.approx(published, abs=0.001)
    assert nodes.tolist() == [2, 0, 2, 1, 2, 1, 2, 0, 1, 1]
    ends = starts + np.array(TOPCUOGLU_SECONDS)[np.arange(10), nodes]
    assert ends.max() == 80.0


@settings(max_examples=60)
@given(data=st.data())
def test_the_planner_is_that_of_the_book_on_any_graph(data):
    tasks, nodes = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 4))
    whole = st.integers(1, 30).map(float)
    seconds = data.draw(
        st.lists(st.lists(whole, min_size=nodes, max_size=nodes), min_size=tasks, max_size=tasks)
    )
    pairs = [(a, b) for b in range(tasks) for a in range(b)]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    edges = {pair: data.draw(st.integers(0, 30)) for pair in chosen}
    ranks, where, starts = planned(seconds, edges)
    # Ranks are means: equal ones may differ by rounding, and their order with them.
    gaps = np.diff(np.sort(ranks))
    assume(np.all((gaps == 0) | (gaps > 1e-9)))
    book_where, book_starts = reference_heft.textbook(seconds, edges)
    assert where.tolist() == book_where
    assert starts.tolist() == [float(start) for start in book_starts]


def test_a_short_function_fills_a_gap():
    # 1 and 2 wait for 0 (14 s) and take 16 s each, one on each core. 3 takes 8 s and has the lowest
    # rank: planned last, it fits before 2. Behind 1 or 2 it would end at 38.
    work = flow(fn(14_000), fn(16_000), fn(16_000), fn(8_000), edges=[(0, 1, 0), (0, 2, 0)])
    scenario = toy(work, servers=[server(nodes=2, cpu=1)])
    result = cloudarena.simulate(scenario, "heft")
    assert result.metrics["makespan_mean_s"] == 30.0
    assert column(result, "start") == [0.0, 14.0, 14.0, 0.0]
    for simple in ("earliest-finish", "least-loaded", "round-robin"):
        assert cloudarena.simulate(scenario, simple).metrics["makespan_mean_s"] == 30.0


def test_a_planned_start_is_kept_on_a_core_that_others_would_share():
    # One core: 0 (10 s, then 2) has the higher rank. 1 is there at 0 too and is held back until 10;
    # if they shared the core, 0 would end at 15 and 2 begin then.
    scenario = toy(
        flow(fn(10_000), fn(5_000), fn(1_000), edges=[(0, 2, 0)]), servers=[server(cpu=1)]
    )
    result = cloudarena.simulate(scenario, "heft")
    assert column(result, "start") == [0.0, 10.0, 15.0]
    assert column(result, "not_before") == [0.0, 10.0, 15.0]
    assert column(result, "completion") == [10.0, 15.0, 16.0]


def test_memory_is_planned_too():
    # Either core is free, but the node has memory for one of them at a time.
    scenario = toy(flow(fn(3_000, 100), fn(2_000, 100)), servers=[server(cpu=2, memory=150)])
    result = cloudarena.simulate(scenario, "heft")
    assert column(result, "start") == [0.0, 3.0]
    assert result.metrics["memory_wait_s"] == 0.0


def test_a_server_boots_when_the_first_function_is_sent_to_it():
    # At 0 both cores of a are taken. The children come at 10; b has not been rented and boots 2 s.
    servers = [server("a", cpu=1), server("b", cpu=1, latency=2)]
    work = flow(fn(10_000), fn(5_000), fn(5_000), edges=[(0, 1, 0), (0, 2, 0)])
    result = cloudarena.simulate(toy(work, servers=servers), "heft")
    assert column(result, "server_type") == ["a", "a", "b"]
    assert column(result, "start") == [0.0, 10.0, 12.0]


@settings(max_examples=40)
@given(case=cases())
def test_the_plan_of_a_workflow_is_that_of_the_reference(case: Case):
    """On an idle cluster; sums of transfers and of boots are compared but for rounding."""
    lone = Case(case.spec, [{**case.workflows[0], "arrival": 0.0}])
    spec = lone.load()
    question = next(reference.steps(spec, lone.workflows))
    ranks = [reference_heft.rank(spec, question, it) for it in question.workflow.functions]
    assume(len(set(ranks)) == len(ranks))
    assume(min((abs(a - b) for a in ranks for b in ranks if a is not b), default=1) > 1e-6)
    wanted = reference_heft.plan(spec, question)
    short = max(float(start) for _, start in wanted.values()) < 3000
    assume(short)  # within the first hour of every lease
    heft = Heft()
    heft.start(spec, 0)
    run = spec.start()
    while (decision := run.decision) is not None:
        run.apply(heft(decision))
    for number, (node, start) in wanted.items():
        assert heft._start[number] == pytest.approx(float(start), abs=1e-6)
        assert heft._node[number] == node


def test_montage_takes_no_longer_than_under_simple_policies():
    """One workflow at a time, as HEFT is meant."""
    for seed in range(3):
        scenario = cloudarena.load("workflow/montage-100", ["workload.workflows=1"])
        spans = {
            name: cloudarena.simulate(scenario, name, seed, "none").metrics["makespan_mean_s"]
            for name in ("heft", "earliest-finish", "least-loaded", "round-robin")
        }
        assert spans["heft"] == min(spans.values()), spans


def test_the_times_of_the_plan_are_kept_among_many_workflows():
    scenario = cloudarena.load("workflow/montage-100", ["workload.workflows=10"])
    heft = Heft()
    heft.start(scenario, 0)
    run = scenario.start(0)
    while (decision := run.decision) is not None:
        run.apply(heft(decision))
    late = run.result().tables["functions"]["start"].to_numpy() - heft._start
    assert np.abs(late).max() < 1e-6


def test_a_function_is_held_back_until_a_time():
    # The data of 1 is there at 2; it is held back until 5. The server is rented from 0 on.
    scenario = toy(flow(fn(1_000), fn(1_000), edges=[(0, 1, 400)]))
    result = play(scenario, (0, 1, -1.0), (0, 1, 5))
    assert column(result, "creation") == [0.0, 5.0]
    assert column(result, "start") == [0.0, 5.0]
    assert result.metrics["memory_wait_s"] == 0.0
    assert column(result, "not_before") == [-1.0, 5.0]
    assert column(play(scenario, 0, (0, 1, 1.5)), "creation") == [0.0, 2.0]


@pytest.mark.parametrize("time", [math.nan, math.inf, 1.1e10, "soon", None, True])
def test_a_time_that_is_none_is_not_allowed(time):
    run = toy(flow(fn(1_000))).start()
    with pytest.raises(InvalidAction, match="not_before"):
        run.apply((0, 1, time))
    run.apply((0, 1, -math.inf))
    assert run.decision is None
