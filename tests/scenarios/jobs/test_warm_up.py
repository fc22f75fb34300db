"""The first part of a run counts in no metric, and nobody gains by what was put off past it."""

from __future__ import annotations

import math

import pytest

import cloudarena
from cloudarena.base.errors import SpecError
from cloudarena.scenarios.jobs import KIND, WindowRuns
from cloudarena.scenarios.jobs.observe import EARNINGS

from .clusters import cluster, job, outage, play, task


def four(**more):
    """One machine: A at 0-4 s, B (from 1 s) at 4-14, C (from 12) at 14-16, D at 20-25."""
    return cluster(
        job(task(4)), job(task(10), submit=1), job(task(2), submit=12), job(task(5), submit=20),
        machines=[{"cpu": 1, **more.pop("machine", {})}], warmup_s=10, **more,
    )  # fmt: skip


def test_by_hand():
    # C and D were submitted after 10 s. B ends after that, and takes the place of the shortest of
    # the two, but not in waits, which it left at 4 s.
    expected = {
        "unserved_share": 0,
        "jobs": 2,
        "jobs_finished": 2,
        "instances": 2,
        "instances_finished": 2,
        "makespan_s": 25 - 10,
        "cost_usd": 0,
        "wait_mean_s": (2 + 0) / 2,
        "wait_p50_s": 1,
        "wait_p95_s": 1.9,
        "completion_mean_s": (13 + 5) / 2,
        "completion_p50_s": 9,
        "completion_p95_s": 12.6,
        "slowdown_mean": (4 / 2 + 13 / 10) / 2,
        "bounded_slowdown_mean": (13 / 10 + 1) / 2,
        "bounded_slowdown_p95": 1 + 0.95 * 0.3,
        "fairness_jain": 3.3**2 / (2 * (4 + 1.69)),
        "mean_cpu_utilisation": (2 + 5) / 15,
        "mean_memory_utilisation": 0,
        "mean_disk_utilisation": 0,
        "mean_gpu_utilisation": 0,
        "lost_instances": 0,
        "lost_work_s": 0,
        "instance_wait_mean_s": (2 + 0) / 2,
        "task_completion_mean_s": (13 + 5) / 2,
        "task_slowdown_mean": (4 / 2 + 13 / 10) / 2,
        "task_completion_from_first_start_s": (10 + 5) / 2,
        "task_slowdown_from_first_start": 1,
    }
    assert play(four()).metrics == pytest.approx(expected, rel=1e-14)
    assert play(four(record="none")).metrics == play(four()).metrics


def test_money_by_hand():
    def cost(basis, **prices):
        price = {"terms": basis, "hour_usd": 3.6}
        return play(four(machine={"price": price}, prices=prices)).metrics["cost_usd"]

    assert cost("reserved") == pytest.approx(15 * 0.001)
    assert cost("on-demand") == pytest.approx((16 - 10 + 5) * 0.001)
    # C waited for 2 s; that B waited for 3 was before.
    assert cost("on-demand", late_after_s=1, late_usd=7) == pytest.approx(7.011)


def test_what_overlaps_on_a_machine_is_paid_for_once():
    spec = cluster(
        job(task(4)), job(task(20), submit=1), job(task(2), submit=12), job(task(5), submit=30),
        job(task(1), submit=31),
        machines=[{"cpu": 2, "price": {"terms": "on-demand", "hour_usd": 3.6}}, {"cpu": 1}],
        warmup_s=10,
    )  # fmt: skip
    assert play(spec).metrics["cost_usd"] == pytest.approx((21 - 10 + 5) * 0.001)


def test_a_run_is_the_same_and_all_of_it_is_in_its_tables():
    spec = four()
    without = play({**spec, "warmup_s": 0})
    assert play(spec).tables == without.tables
    del spec["warmup_s"]
    assert play(spec).metrics == without.metrics


def last_come(decision):
    """Starts what was submitted last, and what came in the warm-up when nothing else will come."""
    ready = sorted(decision.ready.tolist(), reverse=True)
    late = [k for k in ready if decision.tasks.submit[k] >= 100]
    if late or decision.now >= 290:
        return (late or ready)[0], 0
    return None if decision.may_wait else (ready[0], 0)


def held_back(decision):
    """Starts in order, but what came just before the end of the warm-up only after it."""
    first = int(decision.ready[0])
    if 80 < decision.tasks.submit[first] < 100 and decision.now < 100 and decision.may_wait:
        return None
    return first, 0


def test_nobody_gains_by_putting_off_what_came_in_the_warm_up():
    early = [job(task(4), submit=6 * k) for k in range(14)]
    early += [job(task(0.01), submit=90 + 0.4 * k) for k in range(20)]
    spec = cluster(
        *early, *(job(task(10), submit=100 + 12 * k) for k in range(16)), job(task(1), submit=300),
        job(task(30), submit=101), job(task(50), submit=102), cpu=1, warmup_s=100,
        prices={"late_after_s": 30, "late_usd": 1},
    )  # fmt: skip
    spec["machines"][0]["price"] = {"terms": "on-demand", "hour_usd": 3.6}
    honest = play(spec, "first-fit").metrics
    for cheat in (last_come, held_back):
        found = play(spec, cheat).metrics
        assert found["jobs"] == honest["jobs"] == 19
        assert found["unserved_share"] == honest["unserved_share"] == 0
        for name in (
            "wait_mean_s",
            "wait_p95_s",
            "completion_mean_s",
            "completion_p95_s",
            "bounded_slowdown_mean",
            "cost_usd",
            "makespan_s",
            "instance_wait_mean_s",
        ):
            assert found[name] >= honest[name] - 1e-9, (cheat, name)
        assert found["mean_cpu_utilisation"] <= honest["mean_cpu_utilisation"] + 1e-9


def test_what_came_in_the_warm_up_and_is_left_undone_is_unserved():
    # The machine is gone for good at 25 s: B (submitted in the warm-up) or D is left.
    spec = four(outages=[outage(0, 25.5)])
    spec["workload"]["jobs"][1] = job(task(10), submit=1)

    def without_b(decision):
        others = [int(k) for k in decision.ready if k != 1]
        return (others[0], 0) if others else None if decision.now < 25 else (1, 0)

    assert play(spec).metrics["unserved_share"] == 0
    metrics = play(spec, without_b).metrics
    assert metrics["unserved_share"] == 1 / 4
    assert (metrics["jobs"], metrics["jobs_finished"]) == (2, 2)


def test_rewards_are_finite_from_the_first_decision_on_and_end_as_the_metrics():
    spec = cloudarena.load(four())
    run, rewards = (
        spec.start(0),
        {m.name: spec.kind.reward(m.name) for m in spec.kind.metrics if m.better},
    )
    while run.decision is not None:
        assert all(math.isfinite(reward(run)) for reward in rewards.values())
        run.apply((int(run.decision.ready[0]), 0))
    metrics = run.metrics()
    for name, reward in rewards.items():
        sign = -1 if KIND.metric[name].better == "lower" else 1
        assert reward(run) == pytest.approx(sign * metrics[name]), name
    assert not EARNINGS.applies(spec)
    assert EARNINGS.applies(cloudarena.load(four(record="none")).with_workload(None, warmup_s=0.0))


def test_a_warm_up_ends_before_the_last_job_comes():
    assert play({**four(), "warmup_s": 20}).metrics["jobs"] == 1
    with pytest.raises(SpecError, match=r"warmup_s: 20.5 is not .*: at most 20, when"):
        play({**four(), "warmup_s": 20.5})
    with pytest.raises(SpecError, match="warmup_s: -1 is not allowed"):
        cloudarena.load("jobs/toy", {"warmup_s": -1})
    with pytest.raises(SpecError, match="warmup_s: is not allowed: windows count from"):
        WindowRuns(cloudarena.load(four()), "first-fit")
    stream = {"source": "poisson-jobs", "jobs": 9, "rate": 1, "duration_s": 1, "stream": True}
    with pytest.raises(SpecError, match="warmup_s: 3 is not allowed with stream: true"):
        cloudarena.load({**four(), "workload": stream, "warmup_s": 3})
