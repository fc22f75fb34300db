"""What learners are shown of a jobs decision: by hand, and on random clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings

import cloudarena
from cloudarena.learn.env import CloudEnv
from cloudarena.scenarios.jobs import KIND
from cloudarena.testing.candidates import CANDIDATE_CHECKS

from .cases import Spec, specs
from .clusters import cluster, job, task

JOBS = KIND.candidates["jobs"]


def look(spec, *actions, most=None):
    """The candidates after these actions: their rows by name, the context by name, the actions."""
    run = cloudarena.load(spec).start(0)
    for action in actions:
        run.apply(action)
    assert run.is_deciding
    features, context, chosen = JOBS.make_arrays(most)
    count = run.fill(JOBS, features, context, chosen)
    names = [one.name for one in JOBS.features]
    rows = [dict(zip(names, map(float, row), strict=True)) for row in features[:count]]
    shared = dict(zip([one.name for one in JOBS.context], map(float, context), strict=True))
    return rows, shared, [tuple(row) for row in chosen[:count].tolist()]


def test_pairs_of_tasks_and_machines_in_different_states_and_starting_nothing():
    spec = cluster(
        job(task(3, instances=2), task(6, cpu=2)), job(task(5), submit=1),
        machines=[{"cpu": 2}, {"cpu": 2}, {"cpu": 4}],
    )  # fmt: skip
    rows, context, actions = look(spec)
    # Machines 0 and 1 are alike, so 0 stands for both. An eighth of a machine is less than one.
    assert actions == [(0, 0, 1), (0, 2, 1), (1, 0, 1), (1, 2, 1), (-1, -1, 0)]
    assert [row["nothing"] for row in rows] == [0, 0, 0, 0, 1]
    assert context["may_wait"] == 1
    assert rows[0]["cpu_left"] == pytest.approx(0.5)
    assert rows[1]["cpu_left"] == pytest.approx(0.75)
    assert rows[0]["cpu_takes"] == pytest.approx(0.5)
    assert rows[0]["starts"] == pytest.approx(0.5)
    assert rows[0]["duration_of_longest"] == pytest.approx(0.5)
    assert rows[2]["duration_of_longest"] == 1
    assert rows[2]["duration"] == pytest.approx(6 / 106)
    assert context["longest"] == pytest.approx(6 / 106)
    assert context["cpu_used"] == 0


def test_an_eighth_of_a_machine_starts_where_there_is_a_choice_and_all_where_there_is_none():
    many, other = job(task(instances=40)), job(task())
    _, _, actions = look(cluster(many, other, cpu=32))
    assert actions == [(0, 0, 4), (1, 0, 1)]
    _, _, actions = look(cluster(many, cpu=32))
    assert actions == [(0, 0, 32)]


def test_proportions_of_resources_and_the_horizon_of_all_waiting_work():
    """On 4 cores and 8 of memory: 300 s of 3 cores, and 100 s of 1 core with 4 of memory."""
    spec = cluster(
        job(task(300, cpu=3), task(100, cpu=1, memory=4)),
        machines=[{"cpu": 4, "memory": 8, "disk": 0}],
    )
    rows, context, actions = look(spec)
    assert actions == [(0, 0, 1), (1, 0, 1)]
    # Work in seconds of the machine: 225 + 25 by cpu, 50 by memory; the longest task is longer.
    assert context["horizon"] == pytest.approx(300 / 400)
    assert [row["of_horizon"] for row in rows[:2]] == pytest.approx([1, 1 / 3])
    assert [row["beyond_half"] for row in rows[:2]] == pytest.approx([1, 0])
    assert rows[0]["log_duration"] == pytest.approx(np.log(301) / 20)
    assert rows[0]["log_alone"] == pytest.approx(np.log(301) / 20)
    # Shares of cpu and memory: (1, 0) and (1/3, 2/3) are asked for, (1/2, 1/2) is free, and of all
    # work (5/6, 1/6).
    assert [row["unlike_free"] for row in rows[:2]] == pytest.approx([1 / 2, 1 / 6])
    assert [row["unlike_work"] for row in rows[:2]] == pytest.approx([1 / 6, 1 / 2])
    assert [row["use_unlike_work"] for row in rows[:2]] == pytest.approx([1 / 6, 1 / 2])
    assert rows[0]["ahead"] == 0


def test_instances_that_run_already_are_ahead_of_those_that_wait():
    rows, _, _ = look(cluster(job(task(100, instances=3), task(50, cpu=2)), cpu=4), (0, 0, 1))
    # 200 s of one core and 50 s of two make 75 s on four: the longest task takes 100 s.
    assert rows[0]["ahead"] == pytest.approx(1 / (1 + 2))


def test_depth_children_and_path_are_those_of_the_graph():
    spec = cluster(
        job(
            task(1, name="a"),
            task(2, name="b", parents=["a"]),
            task(3, name="c", parents=["a"]),
            task(4, name="d", parents=["c"]),
        ),
        cpu=4,
    )
    rows, _, actions = look(spec)
    assert actions[0][0] == 0
    assert rows[0]["depth"] == pytest.approx(2 / 6)
    assert rows[0]["children"] == pytest.approx(2 / 6)
    assert rows[0]["path"] == pytest.approx(8 / 108)


def test_a_users_last_run_times_predict_the_next():
    jobs = [job(task(seconds), submit=k, user=7) for k, seconds in enumerate((4, 8, 5))]
    spec = cluster(*jobs, cpu=1)
    rows, _, _ = look(spec)
    assert rows[0]["predicted_known"] == rows[0]["predicted"] == 0
    rows, _, _ = look(spec, (0, 0), (1, 0))
    assert rows[0]["predicted_known"] == 1
    assert rows[0]["predicted"] == pytest.approx(6 / 106)


def test_a_gang_is_one_candidate_and_must_start_when_nothing_else_can_happen():
    spec = cluster(job(task(instances=4, gang=True)), count=2, cpu=2)
    rows, context, actions = look(spec)
    assert actions == [(0, 0, 4)]
    assert rows[0]["gang"] == 1
    assert context["may_wait"] == 0


def test_of_many_tasks_the_special_ones_stay():
    """With 7 rows for starts, 3 are tasks: the first, and with what is kept, the extremes."""
    lengths = [5, 6, 7, 1, 8, 99, 4, 3]
    jobs = [job(task(seconds)) for seconds in lengths]
    _, _, actions = look(cluster(*jobs, cpu=8), most=16)
    shown = {task for task, _, _ in actions if task >= 0}
    assert {0, 3, 5} <= shown  # the first, the shortest, the longest


@settings(max_examples=20, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(specs())
def test_candidates_of_random_clusters_pass_the_checks(spec: Spec):
    scenario = cloudarena.load(spec)
    for check in CANDIDATE_CHECKS:
        check(scenario, 0)


def test_an_environment_shows_what_fill_writes_and_ends_all_jobs():
    env = CloudEnv("jobs/alibaba-like-10", overrides={"workload.jobs": 4})
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    ended = False
    while not ended:
        features, context, actions = JOBS.make_arrays()
        count = JOBS.compiled(*env.run.views(), features, context, actions)
        assert (observation["candidates"] == features).all()
        assert (observation["context"] == context).all()
        assert int(env.action_masks().sum()) == count
        observation, _, ended, _, info = env.step(env.action_space.sample())
    assert info["metrics"]["unserved_share"] == 0
    assert not np.any(observation["candidates"])
