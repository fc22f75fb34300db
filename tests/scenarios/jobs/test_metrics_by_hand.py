"""Metrics and decisions worked by hand: the arithmetic stands beside each."""

from __future__ import annotations

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import InvalidAction
from cloudarena.scenarios.jobs import NOTHING

from .clusters import cluster, job, outage, places, play, starts, task


def test_metrics_of_two_jobs() -> None:
    # One machine of 2 cores, memory 4, speed 2.
    # A @0: 3 instances, 1 core, 8 s -> 4 s each: 0-4, 0-4, 4-8.
    # B @2: x 1 core, memory 1, 12 s -> 4-10; then y 2 cores, 4 s -> 10-12.
    spec = cluster(
        job(task(8, instances=3)),
        job(task(12, memory=1, name="x"), task(4, cpu=2, name="y", parents=["x"]), submit=2),
        machines=[{"cpu": 2, "memory": 4, "speed": 2}],
    )
    result = play(spec)
    assert starts(result) == [0, 0, 4, 4, 10]
    # Completions 8 and 10; shortest 4 and 8; slowdowns 2 and 5/4.
    expected = {
        "unserved_share": 0,
        "jobs": 2,
        "jobs_finished": 2,
        "instances": 5,
        "instances_finished": 5,
        "makespan_s": 12,
        "cost_usd": 0,
        "wait_mean_s": (0 + 2) / 2,  # the first start of A at 0, of B at 4
        "wait_p50_s": 1,
        "wait_p95_s": 1.9,
        "completion_mean_s": 9,
        "completion_p50_s": 9,
        "completion_p95_s": 9.9,
        "slowdown_mean": (2 + 1.25) / 2,
        "bounded_slowdown_mean": 1,  # max(1, 8 / 10), max(1, 10 / 10)
        "bounded_slowdown_p95": 1,
        "fairness_jain": 3.25**2 / (2 * (4 + 1.5625)),
        "mean_cpu_utilisation": (3 * 4 + 6 + 2 * 2) / (2 * 12),
        "mean_memory_utilisation": 6 / (4 * 12),
        "mean_disk_utilisation": 0,
        "mean_gpu_utilisation": 0,
        "lost_instances": 0,
        "lost_work_s": 0,
        "instance_wait_mean_s": (0 + 0 + 4 + 2 + 0) / 5,
        "task_completion_mean_s": (8 + 8 + 10) / 3,
        "task_slowdown_mean": (8 / 8 + 8 / 12 + 10 / 4) / 3,
        "task_completion_from_first_start_s": (8 + 6 + 2) / 3,
        "task_slowdown_from_first_start": (8 / 8 + 6 / 12 + 2 / 4) / 3,
    }
    assert list(result.metrics) == list(expected)
    assert result.metrics == pytest.approx(expected, rel=1e-14)
    rows = result.tables["series"].to_pylist()
    assert [(row["time_s"], row["jobs"], row["ready_tasks"], row["cpu"]) for row in rows] == [
        (0, 1, 1, 2), (2, 2, 2, 2), (4, 2, 0, 2), (8, 1, 0, 1), (10, 1, 0, 2), (12, 0, 0, 0),
    ]  # fmt: skip


def test_the_bounded_slowdown_of_long_jobs() -> None:
    # 20 s, then 5 s that waited for 20: 20 / 20 and 25 / max(10, 5).
    result = play(cluster(job(task(20)), job(task(5)), cpu=1))
    assert result.metrics["bounded_slowdown_mean"] == (1 + 2.5) / 2
    assert result.metrics["slowdown_mean"] == (1 + 5) / 2


def test_a_policy_may_wait_until_nothing_else_can_happen() -> None:
    run = cloudarena.load(cluster(job(task(10)), job(task(10), submit=3))).start()
    assert run.decision.may_wait
    run.apply(None)
    assert run.now == 3
    assert not run.decision.may_wait
    before = run.metrics()
    for nothing in (None, NOTHING):
        with pytest.raises(InvalidAction, match="nothing"):
            run.apply(nothing)
    assert run.metrics() == before
    run.apply((0, 0))
    assert run.decision.may_wait  # task 0 will end
    run.apply(NOTHING)
    assert run.now == 13
    run.apply((1, 0))
    assert starts(run.result()) == [3, 13]


def test_a_policy_may_wait_for_a_machine_that_is_down() -> None:
    spec = cluster(job(task(1)), count=2, outages=[outage(1, 0, 5)])
    run = cloudarena.load(spec).start()
    run.apply(None)
    assert run.now == 5
    assert not run.decision.may_wait
    run.apply((0, 1))
    assert places(run.result()) == [1]


def test_nothing_is_asked_where_nothing_can_start() -> None:
    # 2 cores: A holds both until 5, B arrives at 1: the next decision is at 5.
    run = cloudarena.load(cluster(job(task(5, cpu=2)), job(task(1), submit=1))).start()
    run.apply((0, 0))
    assert run.now == 5


def test_what_a_decision_shows() -> None:
    spec = cluster(
        job(task(3, memory=0.5, instances=4, estimate=7), user=2), job(task(1, cpu=2), submit=9),
        count=2,
    )  # fmt: skip
    decision = cloudarena.load({**spec, "known": ["durations"]}).start().decision
    assert decision.kind == "start"
    assert decision.ready.tolist() == [0]
    assert decision.fits.tolist() == [[True, True]]
    assert decision.tasks.duration.tolist() == [3, 1]
    assert decision.tasks.demand[0].tolist() == [10**6, 5 * 10**5, 0, 0]
    assert decision.machines.free.tolist() == [[2 * 10**6, 10**6, 10**6, 0]] * 2
    estimated = cloudarena.load(spec).start().decision  # what is known by default
    assert estimated.tasks.duration.tolist() == [7, 1]
    unknown = cloudarena.load({**spec, "known": []}).start().decision
    assert np.isnan(unknown.tasks.duration).all()
    assert np.isnan(unknown.tasks.path).all()
