"""Toy clusters worked by hand: the arithmetic stands beside each."""

from __future__ import annotations

import math
from typing import Any

import pytest

import cloudarena
from cloudarena.base.measures import AtLeast

from .clusters import cluster, column, job, outage, places, play, starts, task


@pytest.mark.parametrize(
    ("duration", "interval", "expected", "makespan"),
    [
        (1, 0, [0, 0, 1, 1, 2], 3),
        (2, 0, [0, 0, 2, 2, 4], 6),
        (1.5, 0, [0, 0, 1.5, 1.5, 3], 4.5),
        (1, 1, [0, 0, 1, 1, 2], 3),  # what ends at an instant of the grid is over by then
        (1.5, 1, [0, 0, 2, 2, 4], 5.5),
        (1.5, 5, [0, 0, 5, 5, 10], 11.5),
    ],
)
def test_five_instances_on_two_cores(
    duration: float, interval: float, expected: list[float], makespan: float
) -> None:
    result = play(cluster(job(task(duration, instances=5)), scheduling_interval=interval))
    assert starts(result) == expected
    assert column(result, "finish") == [start + duration for start in expected]
    assert result.metrics["makespan_s"] == makespan


def test_jobs_start_in_the_very_second_of_their_submission() -> None:
    submissions = [0, 0, 1, 3, 4, 4, 5, 7]
    result = play(cluster(*(job(task(10), submit=s) for s in submissions), cpu=100))
    assert starts(result) == submissions
    assert result.metrics["makespan_s"] == 17
    assert result.metrics["wait_mean_s"] == 0


def test_time_begins_with_the_first_submission_and_jobs_stand_in_that_order() -> None:
    # b and c are submitted together: they stay as they stand.
    jobs = [job(task(1), submit=s, name=name) for name, s in [("a", 9), ("b", 5), ("c", 5)]]
    result = play(cluster(*jobs, cpu=1))
    assert column(result, "job", "jobs") == ["b", "c", "a"]
    assert column(result, "submit", "jobs") == [0, 0, 4]
    assert starts(result) == [0, 1, 4]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # Lowest machine first: task 1 fills machine 0; the last three find all machines free.
        ("first-fit", [0, 0, 1, 1, 2, 2, 0, 0, 1]),
        # The most aligned machine is the emptiest one; of two tasks that are alike, the first.
        ("tetris", [0, 1, 2, 0, 1, 2, 0, 1, 2]),
        ("worst-fit", [0, 1, 2, 0, 1, 2, 0, 1, 2]),
        ("best-fit", [0, 0, 1, 1, 2, 2, 0, 0, 1]),
    ],
)
def test_the_order_of_machines(policy: str, expected: list[int]) -> None:
    spec = cluster(job(task(10, instances=2), task(10, instances=7)), cpu=2, count=3)
    result = play(spec, policy)
    assert places(result) == expected
    assert starts(result) == [0] * 6 + [10] * 3


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # Machines of 4 and 2 cores. 3 of 4 cores are taken: one small one beside it, two elsewhere.
        ("first-fit", [0, 0, 1, 1]),
        # Alignment of the big one on machine 0: 3/4 * 4/4. Then of the small ones on machine 0:
        # 1/4 * 1/4, on machine 1: 1/2 * 2/2 and 1/2 * 1/2.
        ("tetris", [0, 1, 1, 0]),
        # The small ones: machine 0 has 1 core free, machine 1 has 2.
        ("best-fit", [0, 0, 1, 1]),
        ("worst-fit", [0, 1, 0, 1]),
    ],
)
def test_small_instances_beside_a_big_one(policy: str, expected: list[int]) -> None:
    machines = [{"cpu": 4}, {"cpu": 2}]
    result = play(cluster(job(task(cpu=3), task(instances=3)), machines=machines), policy)
    assert places(result) == expected
    assert starts(result) == [0] * 4


def test_a_big_task_is_passed_over_by_first_fit_and_not_by_fcfs() -> None:
    # 4 cores: A holds 3 until 10; B needs 2, C and D need 1 for 10 s.
    spec = cluster(job(task(cpu=3)), job(task(cpu=2)), job(task()), job(task()), cpu=4)
    # C starts beside A. At 10 A and C are over: B and D.
    assert starts(play(spec, "first-fit")) == [0, 10, 0, 10]
    # At 10: B, C and D fill the machine.
    assert starts(play(spec, "fcfs")) == [0, 10, 10, 10]


def test_what_fits_exactly_starts_in_every_dimension() -> None:
    machine = {"cpu": 0.3, "memory": 0.6, "disk": 0.9, "gpu": 3}
    whole = task(5, cpu=0.1, memory=0.2, disk=0.3, gpu=1, instances=3)
    result = play(cluster(job(whole), job(task(1, cpu=0)), machines=[machine]))
    assert starts(result) == [0, 0, 0, 0]  # what needs nothing fits a full machine
    for name in ("cpu", "memory", "disk", "gpu"):
        assert result.metrics[f"mean_{name}_utilisation"] == pytest.approx(1, rel=1e-12)
        more = {**whole, name: whole[name] + 1e-6}  # one millionth too much
        assert starts(play(cluster(job(more), machines=[machine]))) == [0, 0, 5]
        # A millionth is what counts: less is rounded off.
        less = {**whole, name: whole[name] + 4e-7}
        assert starts(play(cluster(job(less), machines=[machine]))) == [0, 0, 0]


@pytest.mark.parametrize("resource", ["cpu", "memory", "disk", "gpu"])
def test_each_resource_can_be_the_one_that_is_short(resource: str) -> None:
    machine = {"cpu": 9, "memory": 9, "disk": 9, "gpu": 9, resource: 2}
    alike = task(4, cpu=1, memory=1, disk=1, gpu=1, instances=3)
    assert starts(play(cluster(job(alike), machines=[machine]))) == [0, 0, 4]


def test_a_machine_serves_what_arrives_when_something_ends() -> None:
    # Both at 5: the end comes first, so that the arrival finds the machine free.
    spec = cluster(job(task(5, cpu=2)), job(task(1, cpu=2), submit=5))
    result = play(spec)
    assert starts(result) == [0, 5]
    assert result.metrics["wait_mean_s"] == 0
    assert column(result, "time_s", "series") == [0, 5, 6]


def test_a_finished_task_readies_its_children_at_that_instant() -> None:
    # a (2 s) and b (3 s) before c (1 s); d (4 s) stands first in the job and waits for c.
    diamond = job(
        task(4, name="d", parents=["c"]),
        task(2, name="a"),
        task(3, name="b"),
        task(1, name="c", parents=["a", "b"], instances=2),
    )
    result = play(cluster(diamond, cpu=2))
    rows = {row["task"]: row for row in result.tables["tasks"].to_pylist()}
    assert [rows[name]["ready"] for name in "abcd"] == [0, 0, 3, 4]
    assert [rows[name]["start"] for name in "abcd"] == [0, 0, 3, 4]
    assert result.metrics["makespan_s"] == 8
    assert column(result, "shortest", "jobs") == [8]
    assert result.metrics["slowdown_mean"] == 1


def test_speed_divides_durations() -> None:
    machines = [{"cpu": 1, "speed": 0.5}, {"cpu": 1, "speed": 4}]
    result = play(cluster(job(task(2, instances=4)), machines=machines))
    # 4 s on machine 0, 0.5 s on machine 1.
    assert places(result) == [0, 1, 1, 1]
    assert starts(result) == [0, 0, 0.5, 1]
    assert column(result, "finish") == [4, 0.5, 1, 1.5]
    assert column(result, "shortest", "jobs") == [0.5]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("first-fit", [0, 4, 6, 9]),  # as they stand: 4, 2, 3, 2 s
        ("sjf", [7, 0, 4, 2]),  # 2, 2, 3, 4 s
        ("ljf", [0, 7, 4, 9]),  # 4, 3, 2, 2 s
    ],
)
def test_orders_by_duration(policy: str, expected: list[float]) -> None:
    jobs = [job(task(duration)) for duration in (4, 2, 3, 2)]
    assert starts(play(cluster(*jobs, cpu=1), policy)) == expected


def test_orders_by_estimate_where_only_estimates_are_known() -> None:
    jobs = [job(task(4, estimate=1)), job(task(2, estimate=9)), job(task(3, estimate=2))]
    exact, estimated = (
        play(cluster(*jobs, cpu=1, known=[known]), "sjf") for known in ("durations", "estimates")
    )
    assert starts(exact) == [5, 0, 2]
    assert starts(estimated) == [0, 7, 4]


@pytest.mark.parametrize(
    ("policy", "expected", "makespan"),
    [
        ("first-fit", [0, 0, 100, 200, 300], 400),
        ("critical-path", [0, 100, 0, 100, 200], 300),  # paths of 100, 100, 300, 200, 100 s
        ("max-weight", [0, 100, 0, 100, 200], 300),  # weights 0, 0, 8, 5, 0
    ],
)
def test_the_toy_of_the_catalogue(policy: str, expected: list[float], makespan: float) -> None:
    result = cloudarena.simulate("jobs/toy", policy)
    assert starts(result) == expected
    assert result.metrics["makespan_s"] == makespan


def test_weights_count_children_and_all_descendants_once() -> None:
    # top -> left, right -> bottom (3 instances).
    # bottom: 0. left, right: 1 child + 3 instances + path 1 + 1 descendant + 3 = 9.
    # top: 2 children + 2 instances + path 2 + 3 descendants + (1 + 1 + 3) = 14.
    tasks = [
        task(name="bottom", instances=3, parents=["left", "right"]),
        task(name="left", parents=["top"]),
        task(name="right", parents=["top"]),
        task(name="top"),
    ]
    run = cloudarena.load(cluster(job(*tasks))).start()
    assert run.decision.tasks.weight.tolist() == [0, 9, 9, 14]
    assert run.decision.tasks.path.tolist() == [10, 20, 20, 30]


def test_tetris_prefers_the_job_with_the_least_work_left() -> None:
    # One core. Job 1: 1 s * 1 core = 1. Job 2: 9. Alignment is 1 for both, so mean a = 1,
    # mean p = 5: scores 1 - 1/5 and 1 - 9/5, whichever stands first.
    for durations, expected in (((9, 1), [1, 0]), ((1, 9), [0, 1])):
        spec = cluster(*(job(task(duration)) for duration in durations), cpu=1)
        assert starts(play(spec, "tetris")) == expected


def test_tetris_weighs_alignment_against_the_work_left() -> None:
    # 4 cores, memory 1. A: 2 cores, 4 s; B: 4 cores, 3 s.
    # a: 2/4 and 4/4, mean 3/4. p: 4 * 1/2 = 2 and 3 * 1 = 3, mean 5/2; weight 3/10.
    # Scores: 0.5 - 0.6 = -0.1 and 1 - 0.9 = 0.1: B goes first.
    spec = cluster(job(task(4, cpu=2)), job(task(3, cpu=4)), cpu=4)
    assert starts(play(spec, "tetris")) == [3, 0]
    # With 2 instances more in a second task of B's job, which are not even ready, p is
    # 3 + 2 * 3 = 9; mean 11/2; weight 3/22: 0.5 - 6/22 = 0.23 and 1 - 27/22 = -0.23.
    longer = job(
        task(3, cpu=4, name="b"), task(3, cpu=4, instances=2, parents=["b"]),
    )  # fmt: skip
    spec = cluster(job(task(4, cpu=2)), longer, cpu=4)
    assert starts(play(spec, "tetris")) == [0, 4, 7, 10]


@pytest.mark.parametrize("policy", ["drf", "drf-users"])
def test_the_example_of_dominant_resource_fairness(policy: str) -> None:
    # Ghodsi et al. 2011: 9 cpu, 18 GB; A's tasks take <1 cpu, 4 GB>, 2/9 of the memory each;
    # B's take <3 cpu, 1 GB>, 1/3 of the cpu each. Shares: A 2/9, B 1/3, A 4/9, B 2/3, A 6/9.
    spec = cluster(
        job(task(10, cpu=1, memory=4, instances=9), user=0),
        job(task(10, cpu=3, memory=1, instances=9), user=1),
        machines=[{"cpu": 9, "memory": 18}],
    )
    result = play(spec, policy)
    first = [row for row in result.tables["instances"].to_pylist() if row["start"] == 0]
    assert [row["job"] for row in first] == ["job-1"] * 3 + ["job-2"] * 2
    decisions = [row for row in result.tables["decisions"].to_pylist() if row["time_s"] == 0]
    assert [row["job"] for row in decisions] == ["job-1", "job-2", "job-1", "job-2", "job-1"]


def test_fairness_is_over_jobs_or_over_users() -> None:
    # Six cores. User 0 has jobs 1 and 2, user 1 has job 3; all want everything.
    jobs = [job(task(10, instances=6), user=user) for user in (0, 0, 1)]
    by_job, by_user = (play(cluster(*jobs, cpu=6), policy) for policy in ("drf", "drf-users"))

    def at_first(result: Any) -> list[int]:
        first = [row["job"] for row in result.tables["instances"].to_pylist() if row["start"] == 0]
        return [first.count(f"job-{number}") for number in (1, 2, 3)]

    assert at_first(by_job) == [2, 2, 2]
    assert at_first(by_user) == [3, 0, 3]


def test_a_job_of_which_nothing_fits_is_passed_over_by_fairness() -> None:
    # Job 1 holds nothing, but needs 2 cores at once where 1 is left.
    spec = cluster(job(task(1, cpu=3)), job(task(5, cpu=2)), job(task(5, instances=2)), cpu=4)
    # 0 s: job 1 (3), job 2 does not fit, job 3 takes 1. At 1 s job 2 has the least share: 2,
    # then the rest of job 3.
    assert starts(play(spec, "drf")) == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("need", "duration", "begins"),
    [
        (4, 10, 0),  # ends just when the head can start
        (4, 10.5, 15),  # would hold it up: behind it
        (3, 99, 0),  # holds a core that the head does not need
    ],
)
@pytest.mark.parametrize("policy", ["easy-backfilling", "conservative-backfilling"])
def test_backfilling_does_not_hold_up_the_head(
    policy: str, need: int, duration: float, begins: float
) -> None:
    # 4 cores; A holds 3 for 10 s, the head B needs 3 or 4 for 5 s from 10 on, C one.
    spec = cluster(job(task(10, cpu=3)), job(task(5, cpu=need)), job(task(duration)), cpu=4)
    assert starts(play(spec, policy)) == [0, 10, begins]


def test_easy_looks_at_the_head_alone_conservative_at_all_before() -> None:
    # 4 cores. A: 3 for 10 s. B: 2 for 10 s, at 10. C: all 4 for 5 s, at 20. D: 1 for 25 s.
    # Beside A and B there is a core for D, but not beside C: C would wait until 25.
    spec = cluster(
        job(task(10, cpu=3)), job(task(10, cpu=2)), job(task(5, cpu=4)), job(task(25)), cpu=4
    )
    assert starts(play(spec, "easy-backfilling")) == [0, 10, 25, 0]
    assert starts(play(spec, "conservative-backfilling")) == [0, 10, 20, 25]


def test_backfilling_starts_no_more_instances_than_do_no_harm() -> None:
    # 6 cores. A: 3 for 10 s; the head needs 4 at 10, when 6 are free: 2 of C's 3 may stay longer.
    spec = cluster(job(task(10, cpu=3)), job(task(5, cpu=4)), job(task(20, instances=3)), cpu=6)
    for policy in ("easy-backfilling", "conservative-backfilling"):
        assert starts(play(spec, policy)) == [0, 10, 0, 0, 15]


def test_backfilling_goes_by_estimates_where_only_they_are_known() -> None:
    # A is said to take 20 s and takes 10; C is said to take 15 and does. C does not hold up the
    # head, due at 20, and yet the head then waits for C until 15.
    jobs = [job(task(10, cpu=3, estimate=20)), job(task(5, cpu=4)), job(task(15))]
    for policy in ("easy-backfilling", "conservative-backfilling"):
        exact = cluster(*jobs, cpu=4, known=["durations"])
        assert starts(play(exact, policy)) == [0, 10, 15]
        assert starts(play(cluster(*jobs, cpu=4), policy)) == [0, 15, 0]


def test_what_runs_longer_than_estimated_is_expected_to_end_at_the_next_moment() -> None:
    # A is said to take 5 s and takes 10. At 6 the head is expected any moment: C, of 1 s, waits.
    jobs = [job(task(10, cpu=3, estimate=5)), job(task(5, cpu=4)), job(task(1), submit=6)]
    for policy in ("easy-backfilling", "conservative-backfilling"):
        spec = cluster(*jobs, cpu=4, known=["estimates"])
        assert starts(play(spec, policy)) == [0, 10, 15]


@pytest.mark.parametrize(("speed", "begins"), [(2, 0), (1, 13)])
@pytest.mark.parametrize("policy", ["easy-backfilling", "conservative-backfilling"])
def test_backfilling_counts_with_the_speed_of_a_machine(
    policy: str, speed: float, begins: float
) -> None:
    # 2 cores, of which A holds one until 10; the head needs both for 3 s. C has 20 s of work.
    spec = cluster(
        job(task(10 * speed)), job(task(3 * speed, cpu=2)), job(task(20)),
        machines=[{"cpu": 2, "speed": speed}],
    )  # fmt: skip
    assert starts(play(spec, policy)) == [0, 10, begins]


def test_a_gang_waits_until_all_of_it_fits() -> None:
    # Two machines of 2 cores. A holds one until 5: the gang of 4 waits, the single one does not.
    spec = cluster(job(task(5)), job(task(3, instances=4, gang=True)), job(task(9)), count=2)
    result = play(spec)
    assert starts(result) == [0, 9, 9, 9, 9, 0]
    assert places(result) == [0, 0, 0, 1, 1, 0]
    assert starts(play(spec, "fcfs")) == [0, 5, 5, 5, 5, 8]


def test_a_gang_fills_the_machines_from_the_given_one_on() -> None:
    run = cloudarena.load(cluster(job(task(instances=5, gang=True)), count=3)).start()
    run.apply((0, 1))
    result = run.result()
    assert places(result) == [1, 1, 2, 2, 0]
    assert result.tables["decisions"].to_pylist() == [
        {"time_s": 0, "job": "job-1", "task": "task-1", "task_index": 0, "machine": 1,
         "instances": 5}
    ]  # fmt: skip


def test_the_gang_policy_treats_every_task_as_a_gang() -> None:
    # Two machines of 2 cores. A: 1 core. B: 4 instances do not fit beside A; C: 3 do.
    spec = cluster(job(task(5)), job(task(3, instances=4)), job(task(4, instances=3)), count=2)
    assert starts(play(spec, "gang")) == [0, 5, 5, 5, 5, 0, 0, 0]
    # First-fit starts what it can of B, the rest and C as they go.
    assert starts(play(spec, "first-fit")) == [0, 0, 0, 0, 3, 3, 3, 5]


def test_the_gang_policy_begins_what_never_fits_whole_when_nothing_runs() -> None:
    # Two cores. B has 3 instances: more than the cluster has room for.
    spec = cluster(job(task(2)), job(task(4, instances=3)), job(task(1)))
    # A and C fit whole at 0. At 2 nothing runs: two of B, the third at 6.
    assert starts(play(spec, "gang")) == [0, 2, 2, 6, 0]


def test_what_is_lost_is_tried_again_before_what_is_new() -> None:
    # Two machines of 2 cores, 6 instances of 10 s. Instances 0, 1 and 2, 3 start at 0. Machine 0
    # is down from 4 to 6: 0 and 1 start again at 6, 4 and 5 at 10 on machine 1.
    spec = cluster(job(task(instances=6)), count=2, outages=[outage(0, 4, 6)])
    result = play(spec)
    assert starts(result) == [6, 6, 0, 0, 10, 10]
    assert places(result) == [0, 0, 1, 1, 1, 1]
    assert result.metrics["lost_instances"] == 2
    assert result.metrics["lost_work_s"] == 8
    assert result.metrics["makespan_s"] == 20
    assert result.metrics["instances_finished"] == 6
    # Held: 2 * 4 lost, 6 * 10; of 4 cores for 20 s.
    assert result.metrics["mean_cpu_utilisation"] == 68 / 80
    assert column(result, "starts", "machines") == [4, 4]
    assert column(result, "machines_up", "series") == [2, 1, 2, 2, 2, 2]
    # Waits: 6, 6, 0, 0, 10, 10. The first start of the task was at 0 though that try was lost.
    assert result.metrics["instance_wait_mean_s"] == 32 / 6
    assert result.metrics["wait_mean_s"] == 0
    assert result.metrics["task_completion_from_first_start_s"] == 20


def test_lost_instances_start_again_in_order_of_their_numbers_and_may_be_lost_again() -> None:
    # One core each. At 0: instance 0 on machine 0, 1 on 1, 2 on 2. Machine 2 fails at 1,
    # machine 1 at 2, and both are back at 3: the lower number goes to the lower machine.
    # Machine 1 fails at 4 again, for 1 s: instance 1 once more; 3 starts when 0 is over.
    rows = [outage(2, 1, 3), outage(1, 2, 3), outage(1, 4, 5)]
    result = play(cluster(job(task(instances=4)), cpu=1, count=3, outages=rows))
    assert places(result) == [0, 1, 2, 0]
    assert starts(result) == [0, 5, 3, 10]
    assert result.metrics["lost_instances"] == 3
    assert result.metrics["lost_work_s"] == 1 + 2 + 1


def test_what_is_lost_again_keeps_its_place_before_what_still_waits() -> None:
    # 0 to 3 start on machine 0, which fails for good at 1: 0 goes to machine 1, 1 to machine 2.
    # Machine 2 is down from 2 to 3: 1 is lost once more, and is still the lowest index then.
    machines = [{"cpu": 4}, {"cpu": 1}, {"cpu": 1}]
    rows = [outage(0, 1), outage(2, 2, 3)]
    result = play(cluster(job(task(instances=4)), machines=machines, outages=rows))
    assert places(result) == [1, 2, 1, 2]
    assert starts(result) == [1, 3, 11, 13]


def test_what_ends_when_its_machine_fails_is_not_lost() -> None:
    result = play(cluster(job(task(5)), job(task(1), submit=5), cpu=1, outages=[outage(0, 5, 7)]))
    assert result.metrics["lost_instances"] == 0
    assert starts(result) == [0, 7]
    result = play(cluster(job(task(5)), cpu=1, outages=[outage(0, 4.999, 7)]))
    assert result.metrics["lost_instances"] == 1
    assert starts(result) == [7]


def test_a_machine_takes_work_at_the_instant_it_comes_back() -> None:
    rows = [outage(0, 0, 3), outage(0, 3, 4)]  # up and down again at 3: nothing could start
    assert starts(play(cluster(job(task(1)), cpu=1, outages=rows))) == [4]


def test_a_machine_that_is_down_for_good_leaves_jobs_unfinished() -> None:
    # One core. A (10 s) is over at 10, B (10 s) began then and is lost at 13; C never starts.
    spec = cluster(
        job(task()), job(task(), submit=1), job(task(), submit=2), cpu=1, outages=[outage(0, 13)]
    )
    result = play(spec)
    metrics = result.metrics
    assert (metrics["jobs"], metrics["jobs_finished"]) == (3, 1)
    assert (metrics["instances"], metrics["instances_finished"]) == (3, 1)
    assert (metrics["lost_instances"], metrics["lost_work_s"]) == (1, 3)
    # The run ends at 13, when B and C have taken 12 and 11 s, and more. C never started.
    assert metrics["unserved_share"] == 2 / 3
    for name, bound in {
        "makespan_s": 13,
        "completion_mean_s": (10 + 12 + 11) / 3,
        "completion_p50_s": 11,
        "wait_mean_s": (0 + 9 + 11) / 3,
        "slowdown_mean": (1 + 1.2 + 1.1) / 3,
        "instance_wait_mean_s": (0 + 12 + 11) / 3,
        "task_completion_mean_s": (10 + 12 + 11) / 3,
        "task_completion_from_first_start_s": (10 + 3 + 0) / 3,
    }.items():
        assert isinstance(metrics[name], AtLeast), name
        assert metrics[name] == pytest.approx(bound), name
    # A and B have begun: the median of 0, 9 and what C waits is 9, however long that will be.
    assert metrics["wait_p50_s"] == 9
    assert not isinstance(metrics["wait_p50_s"], AtLeast)
    assert math.isnan(metrics["fairness_jain"])
    assert starts(result) == [0]
    assert column(result, "finish", "jobs") == [10, None, None]
    assert column(result, "start", "jobs") == [0, 10, None]
    assert column(result, "completion", "jobs") == [10, None, None]


def test_a_gang_that_loses_some_instances_starts_those_again() -> None:
    # A gang of 2 on machines of one core; machine 1 is down from 3 to 4.
    spec = cluster(job(task(instances=2, gang=True)), cpu=1, count=2, outages=[outage(1, 3, 4)])
    result = play(spec)
    assert starts(result) == [0, 4]
    assert places(result) == [0, 1]


def test_a_grid_schedules_only_on_its_instants() -> None:
    # Every 2 s. A (3.25 s) starts at 0 and ends at 3.25: B starts at 4, C (submitted at 4.5) at 6.
    spec = cluster(job(task(3.25), task(1)), job(task(1), submit=4.5), cpu=1, scheduling_interval=2)
    result = play(spec)
    assert starts(result) == [0, 4, 6]
    assert result.metrics["makespan_s"] == 7
    assert result.metrics["instance_wait_mean_s"] == (0 + 4 + 1.5) / 3
    assert result.metrics["wait_mean_s"] == (0 + 1.5) / 2


@pytest.mark.parametrize("interval", [1e-16, 1.3e-17, 1e-300])
def test_a_grid_finer_than_the_times_themselves_is_no_grid(interval: float) -> None:
    spec = cluster(job(task(0.3)), job(task(1.1), submit=0.7), job(task(1.1), submit=0.7), cpu=1)
    result = play({**spec, "scheduling_interval": interval})
    assert starts(result) == starts(play(spec))


def test_a_grid_counts_from_the_first_submission() -> None:
    spec = cluster(job(task(1), submit=3), job(task(1), submit=4), cpu=1, scheduling_interval=5)
    assert starts(play(spec)) == [0, 5]


def test_a_run_on_a_grid_ends_with_its_last_job() -> None:
    # Half a second of work on half the cores; nothing is due at 2.
    run = cloudarena.load(cluster(job(task(0.5)), scheduling_interval=2)).start()
    run.apply((0, 0))
    result = run.result()
    assert result.metrics["mean_cpu_utilisation"] == 0.5
    assert column(result, "cpu_utilisation", "machines") == [0.5]
    assert run.now == result.metrics["makespan_s"] == 0.5


def test_conservative_backfilling_plans_each_instance_as_early_as_can_be() -> None:
    # Machines of 4 and 3 cores. X holds 2 cores of machine 0 until 30, A holds machine 1 until
    # 10. C's two instances (3 cores, 5 s) follow each other on machine 1, at 10 and 15: D, which
    # needs 2 cores for 34 s, holds up nothing on machine 0.
    spec = cluster(
        job(task(30, cpu=2)),
        job(task(10, cpu=3)),
        job(task(5, cpu=3, instances=2)),
        job(task(34, cpu=2)),
        machines=[{"cpu": 4}, {"cpu": 3}],
    )
    assert starts(play(spec, "conservative-backfilling")) == [0, 0, 10, 15, 0]


def test_easy_lets_gangs_pass_a_head_whose_machine_is_down() -> None:
    # The head needs machine 1, which is down until 50; nothing that runs now can help it.
    machines = [{"cpu": 1}, {"cpu": 2}]
    for gang in (False, True):
        jobs = [job(task(cpu=2)), job(task(gang=gang))]
        spec = cluster(*jobs, machines=machines, outages=[outage(1, 0, 50)])
        assert starts(play(spec, "easy-backfilling")) == [50, 0]


def test_mapping_heuristics_by_hand() -> None:
    # Machines of 1 core at speeds 1 and 2; tasks of 8, 4 and 2 s: 8, 4, 2 and 4, 2, 1 s.
    jobs = [job(task(8)), job(task(4)), job(task(2))]
    machines = [{"cpu": 1, "speed": 1}, {"cpu": 1, "speed": 2}]
    expected = {
        # Whichever machine is ready first, in order: 8 on 0, 4 on 1, 2 on 1 (ready at 2); each
        # machine's shortest first.
        "olb": ([0, 1, 1], [0, 1, 0]),
        # The fastest machine for all: 2, 4, 8.
        "met": ([1, 1, 1], [3, 1, 0]),
        # Earliest end: 8 on 1 (4); 4 on 0 (4), not on 1 (6); 2 on 1 (5), not on 0 (6).
        "mct": ([1, 0, 1], [1, 0, 0]),
        # 2 on 1 (1); 4 on 1 (3), not on 0 (4); 8 on 1 (7), not on 0 (8).
        "min-min": ([1, 1, 1], [3, 1, 0]),
        # 8 on 1 (4); 4 on 0 (4), not on 1 (6); 2 on 1 (5), not on 0 (6).
        "max-min": ([1, 0, 1], [1, 0, 0]),
    }
    for name, (machine, start) in expected.items():
        result = play(cluster(*jobs, machines=machines), name)
        assert places(result) == machine, name
        assert starts(result) == start, name


def test_olb_maps_only_to_machines_that_have_room() -> None:
    result = play(cluster(job(task(cpu=2)), machines=[{"cpu": 1}, {"cpu": 2}]), "olb")
    assert places(result) == [1]


def test_olb_maps_only_to_machines_that_are_up() -> None:
    result = play(cluster(job(task(instances=3)), cpu=1, count=2, outages=[outage(0, 0)]), "olb")
    assert starts(result) == [0, 10, 20]


def test_four_schedulers_on_five_jobs() -> None:
    # 4 cores. A: 2 for 10 s. B: all 4 for 5 s. C: 1 for 20 s. D and E: 1 for 10 s.
    jobs = [job(task(d, cpu=c)) for d, c in ((10, 2), (5, 4), (20, 1), (10, 1), (10, 1))]
    spec = cluster(*jobs, cpu=4)
    assert starts(play(spec, "fcfs")) == [0, 10, 15, 15, 15]
    # B is passed over until all is free: C and E hold it up until 20.
    assert starts(play(spec, "first-fit")) == [0, 20, 0, 0, 10]
    # B is due at 10: D and E are over by then, C is not.
    assert starts(play(spec, "easy-backfilling")) == [0, 10, 15, 0, 0]
    assert starts(play(spec, "conservative-backfilling")) == [0, 10, 15, 0, 0]
