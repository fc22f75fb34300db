"""Cases worked by hand."""

import math

import numpy as np
import pytest

from cloudarena.base.errors import PolicyError
from cloudarena.base.measures import AtLeast
from cloudarena.contract import InvalidAction
from cloudarena.scenarios.clusters import UNTIL_DONE, Plan
from cloudarena.scenarios.clusters.policies import Fixed, by_weight

from .cases import clusters, play


def test_one_batch_is_the_formula():
    # max(6 * 2 / 1, 12 * 1 / 3) = 12 s; memory 10 * 1 + 5 * 3 = 25 MB throughout.
    # Busy: 12 + 12 of 4 * 12 VM-seconds. Backlog: (6 * 12 / 2 + 12 * 4 / 2) / 12 = 5.
    run = play(clusters([(0, [6, 12])], (2, 1), (10, 5)), [Plan([1, 3], UNTIL_DONE)])
    assert run.decision is None
    assert run.metrics() == {
        "unserved_share": 0,
        "tasks": 18,
        "throughput_per_s": 1.5,
        "makespan_s": 12,
        "cost_usd": pytest.approx(4 * 12 / 3600 * 0.096),
        "backlog_mean_tasks": 5,
        "memory_mb": 25,
        "utilisation": 0.5,
        "stages": 1,
        "decisions": 1,
        "evaluations": 0,
        "deciding_share": 0,
    }


def test_tasks_that_are_not_done_are_told_while_a_run_goes_on():
    # By 4 s a has done 4 of 10 tasks, b its 4; 6 more of b come at 5 and are not counted yet.
    run = clusters([(0, [10, 4]), (5, [0, 6])]).start()
    metrics = run.metrics()
    assert metrics["unserved_share"] == 1.0
    for name in ("throughput_per_s", "backlog_mean_tasks", "memory_mb", "utilisation"):
        assert math.isnan(metrics[name])
    run.apply(Plan([1, 3], 4))
    metrics = run.metrics()
    assert metrics["unserved_share"] == pytest.approx(6 / 14)
    assert metrics["makespan_s"] == 4
    assert isinstance(metrics["makespan_s"], AtLeast)
    run.apply(Plan([3, 1], UNTIL_DONE))
    metrics = run.metrics()
    assert (metrics["unserved_share"], metrics["makespan_s"]) == (0.0, 11)
    assert not isinstance(metrics["makespan_s"], AtLeast)
    assert run.scenario.kind.highlights[0] == "unserved_share"


def test_nobody_earns_by_waiting():
    """Each class keeps a VM and the run ends with the last task: the reward is the time."""
    scenario = clusters([(0, [10, 4])])
    for reward in ("makespan_s", "throughput_per_s"):
        observer, run = scenario.observer(reward), scenario.start()
        assert observer.value(run) == 0.0
        run.apply(Plan([2, 2], UNTIL_DONE))
        assert observer.value(run) == {"makespan_s": -5, "throughput_per_s": 14 / 5}[reward]


def test_memory_may_be_counted_as_the_thesis_does():
    scenario = clusters([(0, [6, 12])], (2, 1), (10, 5), memory="theta_squared")
    assert play(scenario, [Plan([1, 3], UNTIL_DONE)]).metrics()["memory_mb"] == 10 * 1 + 5 * 9


def test_unfinished_work_is_carried_over_once():
    # Stage 0: a does 4 of 10 tasks, b all 4 by 4/3 s. Stage 1 with 3 VMs for a: 6 / 3 = 2 s more.
    run = play(clusters([(0, [10, 4])]), [Plan([1, 3], 4)])
    decision = run.decision
    assert decision.now == 4
    assert decision.backlog.tolist() == [6, 0]
    assert decision.shares.tolist() == [1, 3]
    run.apply(Plan([3, 1], 100))
    assert run.decision is None
    assert run.now == 6
    stages = run.result().tables["stages"]
    assert stages["backlog_tasks"].to_pylist() == [14, 6]
    assert stages["done_tasks"].to_pylist() == [8, 6]
    assert stages["end_s"].to_pylist() == [4, 6]


def test_work_that_ends_inside_a_stage_leaves_its_vms_idle():
    # a: 2 tasks on 2 VMs, done at 1; idle to 5; the batch at 5 takes 1 s more. b likewise.
    run = play(clusters([(0, [2, 2]), (5, [2, 4])], memory_mb=(3, 1)), [Plan([2, 2], UNTIL_DONE)])
    assert run.now == 7
    batches = run.result().tables["batches"]
    assert batches["finish_s"].to_pylist() == [1, 7]
    metrics = run.metrics()
    assert metrics["utilisation"] == pytest.approx(10 / 28)
    assert metrics["memory_mb"] == pytest.approx(8)


def test_a_class_without_tasks_holds_a_vm():
    run = play(clusters([(0, [0, 6])]), [Plan([1, 3], 10)])
    assert run.now == 2
    assert run.metrics()["memory_mb"] == 4


def test_vms_may_be_left_idle_if_the_spec_says_so():
    scenario = clusters([(0, [2, 2])], allow_idle=True)
    run = play(scenario, [Plan([1, 1], UNTIL_DONE)])
    assert run.now == 2
    assert run.metrics()["memory_mb"] == 2
    with pytest.raises(InvalidAction, match="2 VMs are not allowed: exactly 4 in all"):
        clusters([(0, [2, 2])]).start().apply(Plan([1, 1], UNTIL_DONE))


def test_a_batch_at_the_end_of_a_stage_belongs_to_the_next():
    run = play(clusters([(0, [1, 1]), (3, [3, 1])]), [Plan([1, 3], 3)])
    assert run.decision.backlog.tolist() == [3, 1]
    assert run.decision.arrivals.tolist() == [3, 1]
    run.apply(Plan([3, 1], 9))
    assert run.now == 4
    assert run.result().tables["batches"]["stage"].to_pylist() == [0, 1]


def test_tasks_are_served_in_the_order_of_their_batches():
    # a has 4 + 2 tasks on 1 VM: the second batch, there from 1 on, must wait until 4.
    run = clusters([(0, [4, 1]), (1, [2, 1])]).start(record="full")
    run.apply(Plan([1, 3], UNTIL_DONE))
    work = run.result().tables["work"].to_pylist()
    times = [(row["start_s"], row["finish_s"]) for row in work if row["class"] == "a"]
    assert times == [(0, 4), (4, 6)]


def test_thinking_goes_on_beside_the_stage_before():
    # An evaluation takes 0.5 s. The first plan is thought out beforehand and costs nothing. The
    # second takes 4 evaluations, 2 s, within the 3 s of stage 0; the third takes 8, 4 s, so that
    # stage 1 lasts 4 s and not 1. Then all is done in the last stage.
    # a: 3 s at 1 VM, 4 s at 3 VMs: 15 of 20 tasks; 5 left at 1 VM: 12 s in all.
    run = play(clusters([(0, [20, 1])], decide_seconds=0.5), [Plan([1, 3], 3, 100)])
    assert run.now == 0
    assert run.decision.now == 0
    assert run.decision.allowed_s == 3
    assert run.decision.begins == 3
    run.apply(Plan([3, 1], 1, 4))
    assert run.now == 3
    assert run.decision.backlog.tolist() == [17, 0]
    run.apply(Plan([1, 3], UNTIL_DONE, 8))
    assert run.decision is None
    assert run.now == 12
    metrics = run.metrics()
    assert metrics["decisions"] == 3
    assert metrics["evaluations"] == 12
    assert metrics["deciding_share"] == pytest.approx(6 / 12)
    stages = run.result().tables["stages"]
    assert stages["length_s"].to_pylist() == [3, 4, 5]
    assert stages["planned_s"].to_pylist() == [3, 1, math.inf]
    assert stages["thinking_s"].to_pylist() == [2, 4, 0]


def test_thinking_that_comes_too_late_changes_nothing():
    run = play(clusters([(0, [4, 1])], decide_seconds=1), [Plan([1, 3], 1), Plan([3, 1], 1, 50)])
    assert run.decision is None
    assert run.now == 4
    assert run.metrics()["deciding_share"] == 1


def test_what_is_known_of_the_future():
    batches = [(0, [5, 1]), (2, [1, 5]), (8, [3, 3])]
    oracle = clusters(batches, information="oracle").start().decision
    assert oracle.batch_times.tolist() == [0, 2, 8]
    assert oracle.work(4).tolist() == [6, 6]
    assert not oracle.all_arrived
    run = clusters(batches, information="lagged").start()
    assert run.decision.batch_times.tolist() == [0]
    assert run.decision.work(4).tolist() == [5, 1]
    # At 4 with 2 VMs each b has done 4 of the 5 that came at 2. The last 4 s brought that batch.
    run.apply(Plan([2, 2], 4))
    assert run.decision.backlog.tolist() == [0, 1]
    assert run.decision.work(2).tolist() == [0, 1]
    assert run.decision.work(4).tolist() == [1, 6]
    run.apply(Plan([2, 2], 4))
    assert run.decision.all_arrived
    assert run.decision.work(4).tolist() == [3, 3]


def test_the_work_of_a_later_stage_is_what_will_be_left_and_what_comes():
    # Stage 0 lasts 2 s with 1 VM for a and 3 for b; the stage after it has the batch at 2.
    scenario = clusters([(0, [5, 1]), (2, [1, 5])], information="oracle", decide_seconds=0.1)
    run = play(scenario, [Plan([1, 3], 2)])
    assert run.decision.work(1).tolist() == [3 + 1, 0 + 5]


@pytest.mark.parametrize(
    ("weights", "vms", "shares"),
    [
        ([1, 1, 1], 7, [3, 2, 2]),
        ([3, 1, 0], 7, [4, 2, 1]),
        ([1, 1], 2, [1, 1]),
        ([5, 1, 4], 13, [6, 2, 5]),
    ],
)
def test_shares_by_weight(weights, vms, shares):
    assert by_weight(np.array(weights, float), vms).tolist() == shares


@pytest.mark.parametrize(
    ("policy", "shares"),
    [
        # Work 12 and 2 seconds. 6 spare VMs: 6 * 12 / 14 = 5.14 and 0.86.
        ("equal", [4, 4]),
        ("proportional", [6, 2]),
        # Gains of a: 6, 2, 1, 0.6, 0.4, 0.29; of b: 1, 0.33. Six of them: a to 6, b to 2.
        ("greedy", [6, 2]),
        # Makespans 12/7 = 1.71 with 1 VM for b (2 s) or 12/6 = 2 = 2/1: [6, 2] has 2, [7, 1] has 2.
        # Equal makespans of 2 s: what is left over goes where it holds less, to a.
        ("mean-optimum", [7, 1]),
    ],
)
def test_policies(policy, shares):
    scenario = clusters([(0, [6, 2])], (2, 1), (1, 9), vms=8)
    plan = scenario.kind.policies.resolve(policy)(scenario.start().decision)
    assert np.asarray(plan.shares).tolist() == shares
    assert plan.length_s == UNTIL_DONE
    assert plan.evaluations == 0


def test_a_fixed_share():
    scenario = clusters([(0, [6, 12]), (3, [1, 1])], (2, 1))
    for shares in ("1-3", [1, 3]):
        run = scenario.start()
        run.play(Fixed(shares))
        assert run.metrics()["decisions"] == 1
        assert run.metrics()["makespan_s"] == 14
    assert np.asarray(Fixed()(scenario.start().decision).shares).tolist() == [2, 2]
    with pytest.raises(PolicyError, match="shares: '1-x' is not allowed: whole numbers with hyph"):
        Fixed("1-x")
    with pytest.raises(InvalidAction, match="5 VMs are not allowed: exactly 4 in all"):
        scenario.start().play(scenario.kind.policies.resolve("fixed:shares=2-3"))
    with pytest.raises(InvalidAction, match="for each of 2 classes"):
        scenario.start().play(scenario.kind.policies.resolve("fixed:shares=4"))


def test_the_mean_optimum_leaves_vms_idle_where_they_do_not_help():
    scenario = clusters([(0, [6, 2])], (2, 1), (1, 9), vms=8, allow_idle=True)
    plan = scenario.kind.policies.resolve("mean-optimum")(scenario.start().decision)
    assert np.asarray(plan.shares).tolist() == [6, 1]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Plan([0, 4], 1), "a: 0 VMs are not allowed: at least 1"),
        (Plan([3, 2], 1), "5 VMs are not allowed: exactly 4 in all"),
        (Plan([1, 3], 0), "length_s: 0 is not allowed: at least 0.001"),
        (Plan([1, 3], float("nan")), "length_s: nan is not allowed"),
        (Plan([1, 3], 1, -1), "evaluations: -1 is not allowed: at least 0"),
        (Plan([1.5, 2.5], 1), "whole numbers of VMs for each of 2 classes"),
        (([1, 3],), "is not allowed: a Plan"),
        (([1, 3], 1, 1, 1), "is not allowed: a Plan"),
        (Plan([1, 3], 1, 0.5), "is not allowed: a Plan"),
    ],
)
def test_bad_plans(action, words):
    run = clusters([(0, [1, 1])]).start()
    with pytest.raises(InvalidAction, match=words):
        run.apply(action)
    assert run.now == 0
    assert run.metrics()["decisions"] == 0
