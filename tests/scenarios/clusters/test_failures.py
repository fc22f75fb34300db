"""VMs that fail and come back."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.scenarios.clusters import UNTIL_DONE, Plan
from cloudarena.scenarios.clusters.build.outages import Down

from .cases import clusters, play


def down(*outages):
    """The spec of VMs that are down from a time on, for some seconds."""
    return {"outages": [{"vm": vm, "time_s": at, "seconds": long} for vm, at, long in outages]}


def test_the_only_vm_of_a_class_is_down():
    # a has VM 0: 3 of 12 s, nothing until 7, and 9 s more; b has VMs 1 to 3 and 4 s of work.
    # Memory: 10 MB of a for the 12 s that it is up, 15 of b throughout.
    scenario = clusters([(0, [6, 12])], (2, 1), (10, 5), failures=down((0, 3, 4)))
    run = play(scenario, [Plan([1, 3], UNTIL_DONE)])
    metrics = run.metrics()
    assert metrics["makespan_s"] == 16
    assert metrics["memory_mb"] == (10 * 12 + 15 * 16) / 16
    assert metrics["utilisation"] == 24 / (4 * 16)
    assert run.tables()["outages"].to_pylist() == [{"vm": 0, "begin_s": 3, "end_s": 7}]


def test_one_of_several_vms_is_down_across_a_stage():
    # b: 3 tasks in the first second, 2 a second until 3 s, then 3 a second: 5 are left.
    scenario = clusters([(0, [1, 12])], (2, 1), (10, 5), failures=down((3, 1, 2)))
    run = scenario.start()
    run.apply(Plan([1, 3], 2))
    assert run.decision.down.tolist() == [0, 1]
    assert run.backlog().tolist() == [0, 7]
    run.apply(Plan([1, 3], UNTIL_DONE))
    assert run.metrics()["makespan_s"] == pytest.approx(3 + 5 / 3)


def test_who_gets_the_vm_is_up_to_the_shares():
    scenario = clusters([(0, [6, 6])], failures=down((2, 0, 100)))
    assert play(scenario, [Plan([2, 2], UNTIL_DONE)]).metrics()["makespan_s"] == 6  # b has VM 2
    assert play(scenario, [Plan([3, 1], UNTIL_DONE)]).metrics()["makespan_s"] == 6  # a has it


def test_times_of_a_vm_that_overlap_are_one():
    scenario = clusters([(0, [6, 6])], failures=down((1, 2, 4), (1, 5, 3), (0, 8, 1)))
    assert scenario.start().outages == [Down(1, 2, 8), Down(0, 8, 9)]


@pytest.mark.parametrize("seed", range(5))
def test_random_failures_take_just_the_time_that_vms_are_down(seed):
    random = {"mean_up_s": 20, "mean_down_s": 10}
    scenario = clusters([(0, [60, 90]), (30, [20, 50])], (2, 1), failures=random)
    plans = [Plan([2, 2], 7.0), Plan([1, 3], 11.0), Plan([2, 2], UNTIL_DONE)]
    run = scenario.start(seed)
    for plan in plans:
        run.apply(plan)
    assert run.outages == scenario.start(seed).outages != scenario.start(seed + 1).outages
    expected = slow_finish(run.outages, [(0, [120, 90]), (30, [40, 50])], plans)
    assert run.now == pytest.approx(expected, abs=0.02)


def slow_finish(outages, batches, plans, step=0.001, most_s=300.0):
    """When all work is done, by small steps of time."""
    times = np.arange(0.0, most_s, step)
    is_up = np.ones((4, len(times)), bool)
    for one in outages:
        is_up[one.vm] &= (times < one.begin) | (one.end <= times)
    up = np.vstack([np.zeros(len(times), int), np.cumsum(is_up, axis=0)]).T.tolist()
    left, begun, coming, plans = [0.0, 0.0], 0.0, list(batches), list(plans)
    for now, up_among_first in zip(times.tolist(), up, strict=True):
        if not coming and max(left) == 0.0:
            return now
        while coming and coming[0][0] <= now:
            left = [one + more for one, more in zip(left, coming.pop(0)[1], strict=True)]
        while now >= begun + plans[0].length_s:
            begun += plans.pop(0).length_s
        mine = up_among_first[plans[0].shares[0]]
        left = [
            max(left[0] - step * mine, 0.0),
            max(left[1] - step * (up_among_first[4] - mine), 0),
        ]
    raise AssertionError("the work takes longer")


def test_failures_cost_time_and_no_tasks_and_seeds_repeat_them():
    batches = [(0, [60, 90]), (30, [20, 50])]
    plan = [Plan([2, 2], UNTIL_DONE)]
    whole = play(clusters(batches), plan).metrics()
    broken = clusters(batches, failures={"mean_up_s": 20, "mean_down_s": 10})
    once, again = (play(broken, plan).metrics() for _ in range(2))
    assert once == again
    assert once["makespan_s"] > whole["makespan_s"]
    assert once["tasks"] == whole["tasks"]


def test_what_is_not_allowed():
    with pytest.raises(SpecError, match=r"failures.outages\[0\].vm: 4 is not allowed: at most 3"):
        clusters([(0, [6, 6])], failures=down((4, 0, 1)))
    many = {"mean_up_s": 1, "mean_down_s": 1, "until_s": 1e8}
    with pytest.raises(SpecError, match="are too many; fewer VMs, a longer time"):
        clusters([(0, [6, 6])], failures=many).start()
