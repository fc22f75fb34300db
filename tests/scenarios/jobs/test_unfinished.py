"""Work that is left undone is never counted as if it had not been there."""

from __future__ import annotations

import math
from typing import Any

import pytest

import cloudarena
from cloudarena.base.errors import InvalidAction
from cloudarena.base.measures import AtLeast
from cloudarena.scenarios.jobs import KIND

from .clusters import cluster, job, outage, play, starts, task

# A small machine that is up from 125 s on, and a big one that is gone for good at 150 s. The first
# job fits the big one alone, for 125 s; the second fits both, for 60 s.
GONE = cluster(
    job(task(125, cpu=2)), job(task(60)),
    machines=[{"cpu": 1}, {"cpu": 2}], outages=[outage(0, 0, 125), outage(1, 150)],
)  # fmt: skip


def test_who_finishes_half_of_the_jobs_does_not_look_better() -> None:
    all_done, half_done = play(GONE, "first-fit").metrics, play(GONE, "sjf").metrics
    # First-fit: the long one from 0 to 125, the short one from 125 to 185.
    assert (all_done["unserved_share"], all_done["makespan_s"]) == (0, 185)
    assert all_done["completion_mean_s"] == (125 + 185) / 2
    # Shortest first: it is over at 60, the long one began then and is lost at 150.
    assert half_done["unserved_share"] == 0.5
    assert half_done["completion_mean_s"] == AtLeast((60 + 150) / 2)
    for name in ("completion_mean_s", "completion_p95_s", "slowdown_mean", "makespan_s"):
        assert isinstance(half_done[name], AtLeast), name
        assert not isinstance(all_done[name], AtLeast), name
    assert half_done["makespan_s"] == 150


def test_what_is_left_stands_first_in_the_short_table() -> None:
    assert KIND.highlights[0] == "unserved_share"
    assert {"wait_mean_s", "wait_p95_s", "bounded_slowdown_mean"} < set(KIND.highlights)


def test_where_nothing_finished_there_are_bounds_and_no_zeros() -> None:
    # One of two machines is gone for good at once; who then starts nothing ends the run.
    spec = cluster(job(task(10)), job(task(10), submit=4), cpu=1, count=2, outages=[outage(1, 1)])
    metrics = cloudarena.simulate(spec, lambda decision: None).metrics
    assert metrics["unserved_share"] == 1
    # The run ends at 4: the first job has been there for 4 s, the second for 0 s.
    assert metrics["makespan_s"] == 4
    assert metrics["completion_mean_s"] == metrics["wait_mean_s"] == 2
    assert metrics["slowdown_mean"] == 1  # no job takes less than its shortest time
    assert math.isnan(metrics["fairness_jain"])
    for name, value in metrics.items():
        if name.startswith(("completion", "wait", "slowdown", "bounded", "task_", "instance_wait")):
            assert isinstance(value, AtLeast), name


def test_before_anything_has_arrived_or_finished_nothing_is_claimed() -> None:
    run = cloudarena.load(cluster(job(task(10)), job(task(10), submit=3), cpu=1)).start()
    metrics = run.metrics()
    assert metrics["unserved_share"] == 1
    assert isinstance(metrics["makespan_s"], AtLeast)
    assert math.isnan(metrics["completion_mean_s"]) or metrics["completion_mean_s"] == AtLeast(0)
    run.apply((0, 0))
    # At 10 the first is over; the second has waited for 7 s.
    assert run.metrics()["completion_mean_s"] == (10 + 7) / 2
    assert run.metrics()["instance_wait_mean_s"] == 7 / 2


def test_a_job_waits_until_its_first_instance_starts_an_instance_until_it_starts() -> None:
    # One core. Job A: 3 instances of 10 s at 0; job B: one at 5.
    result = play(cluster(job(task(10, instances=3)), job(task(10), submit=5), cpu=1))
    assert starts(result) == [0, 10, 20, 30]
    assert result.metrics["wait_mean_s"] == (0 + 25) / 2
    assert result.metrics["wait_p95_s"] == pytest.approx(0.95 * 25)
    assert result.metrics["instance_wait_mean_s"] == (0 + 10 + 20 + 25) / 4


def test_a_policy_cannot_wait_for_ever_where_machines_come_and_go() -> None:
    # With ten machines that are down half of the time one is always down, so waiting is allowed.
    jobs = [job(task(1)), job(task(1), submit=1000)]
    spec = cluster(*jobs, count=10, failures={"mtbf_s": 5, "mttr_s": 5})
    asked = 0

    def lazy(decision: Any) -> Any:
        nonlocal asked
        asked += 1
        return (
            None if decision.may_wait else (int(decision.ready[0]), int(decision.fits[0].argmax()))
        )

    assert cloudarena.simulate(spec, lazy, record="none").metrics["jobs_finished"] == 2
    assert asked > 1000
    with pytest.raises(InvalidAction, match="to start nothing is not allowed"):
        cloudarena.simulate(spec, lambda decision: None, record="none")


@pytest.mark.parametrize("name", [one.name for one in KIND.metrics if one.better is not None])
def test_each_job_that_is_left_costs_every_reward(name: str) -> None:
    """Makespans and quantiles were the same for one job left of ten and for all of them left."""
    jobs = [job(task(10)) for _ in range(10)]
    spec = cloudarena.load(cluster(*jobs, cpu=1, count=2, outages=[outage(1, 0)]))
    earned = []
    for finished in (0, 1, 5, 9, 10):
        run = spec.start()
        for number in range(finished):
            run.apply((number, 0))
        if run.decision is not None:
            run.apply(None)
        assert run.decision is None
        assert run.metrics()["jobs_finished"] == finished
        earned.append(KIND.metric[name].earned(run))
    if name in ("lost_instances", "lost_work_s") or earned != [0.0] * 5:
        assert earned == sorted(earned)
        assert earned[0] < earned[1]
        assert name.endswith("utilisation") or len(set(earned)) == 5
