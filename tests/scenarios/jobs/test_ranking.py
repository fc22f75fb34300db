"""Policies that rank the waiting jobs: against the slow reference, and worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import CloudarenaError, InvalidAction, PolicyError
from cloudarena.scenarios.jobs import NEXT, POLICIES, JobsDecision, ranked

from .batch_reference import SCORES, Job, simulate
from .clusters import Spec, cluster, column, job, outage, play, task

PROCESSORS = 8
BACKFILLS = ("none", "strict", "greedy")


@st.composite
def logs(draw: Any) -> list[Job]:
    """A small log with many ties: of submissions, of ends, of sizes."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5]),
                st.sampled_from([1, 1, 2, 3, 4, 6, 10, 15]),
                st.sampled_from([0.5, 1, 1, 2, 4]),
                st.sampled_from([1, 1, 2, 3, 4, 5, 8]),
                st.integers(0, 2),
            ),
            min_size=1,
            max_size=14,
        )
    )
    jobs, now = [], 0.0
    for gap, run, factor, processors, user in rows:
        now += gap
        jobs.append(Job(now, run, max(1.0, run * factor), processors, user))
    for one in jobs:
        one.submit -= jobs[0].submit
    return jobs


def as_spec(jobs: list[Job], machines: Spec, **more: Any) -> Spec:
    """The same log as a scenario."""
    rows = [
        job(
            task(
                one.run,
                instances=one.processors,
                gang=one.processors > 1,
                estimate=one.request,
            ),
            submit=one.submit,
            user=one.user,
        )
        for one in jobs
    ]
    return cluster(*rows, machines=[machines], **more)


def job_starts(spec: Spec, policy: str) -> list[float]:
    """When each job starts."""
    return column(play(spec, policy), "start", "jobs")


@pytest.mark.parametrize("policy", list(SCORES))
@settings(max_examples=25)
@given(
    jobs=logs(),
    backfill=st.sampled_from(BACKFILLS),
    simultaneous=st.sampled_from(["together", "one-by-one"]),
)
@example(
    # Two ends at once: one by one, the third job is backfilled between them, and delays the second.
    jobs=[
        Job(0, 2, 20, 4, 0), Job(0, 2, 20, 4, 0), Job(1, 5, 5, 8, 1), Job(1, 9, 9, 4, 1),
    ],
    backfill="strict",
    simultaneous="one-by-one",
)  # fmt: skip
def test_starts_are_those_of_the_reference(
    policy: str, jobs: list[Job], backfill: str, simultaneous: str
) -> None:
    spec = as_spec(jobs, {"cpu": PROCESSORS}, simultaneous=simultaneous)
    expected = simulate(jobs, PROCESSORS, SCORES[policy], backfill, simultaneous == "one-by-one")
    assert job_starts(spec, f"{policy}:backfill={backfill}") == expected


@settings(max_examples=20)
@given(jobs=logs(), backfill=st.sampled_from(BACKFILLS), policy=st.sampled_from(list(SCORES)))
def test_a_pool_is_one_machine_or_many(jobs: list[Job], backfill: str, policy: str) -> None:
    name = f"{policy}:backfill={backfill}"
    one = job_starts(as_spec(jobs, {"cpu": PROCESSORS}), name)
    assert job_starts(as_spec(jobs, {"cpu": 1, "count": PROCESSORS}), name) == one
    assert job_starts(as_spec(jobs, {"cpu": 2, "count": PROCESSORS // 2}), name) == one


@settings(max_examples=20)
@given(jobs=logs(), backfill=st.sampled_from(BACKFILLS), policy=st.sampled_from(list(SCORES)))
def test_both_speeds_start_the_same(jobs: list[Job], backfill: str, policy: str) -> None:
    spec = as_spec(jobs, {"cpu": PROCESSORS}, simultaneous="one-by-one")
    chosen = POLICIES.resolve(f"{policy}:backfill={backfill}")
    run = cloudarena.load(spec).start(0)
    while (decision := run.decision) is not None:
        run.apply(chosen(decision))
    stepped, compiled = run.result(), play(spec, chosen)
    assert stepped.tables["decisions"].equals(compiled.tables["decisions"])
    assert stepped.metrics == compiled.metrics


# Four processors. A holds three of them for 10 s, said to be 20. B needs all four.
HELD = (
    job(task(10, instances=3, gang=True, estimate=20), submit=0),
    job(task(5, instances=4, gang=True, estimate=5), submit=1),
)


def four(*jobs: Spec, **more: Any) -> Spec:
    return cluster(*HELD, *jobs, cpu=4, **more)


def test_the_next_job_blocks_all_others() -> None:
    spec = four(job(task(2), submit=2))
    # B was chosen at 1 s, when it was alone; C would fit, and would be shorter.
    assert job_starts(spec, "ranked-sjf") == [0, 10, 15]
    assert job_starts(spec, "ranked-sjf:backfill=greedy") == [0, 10, 2]


def test_backfilled_is_what_ends_before_the_expected_start() -> None:
    # B is expected at 20 s. Said to take 17.5 s from 2 s on: before; 18 s: at 20 s, not before.
    for estimate, start in ((17.5, 2), (18, 15)):
        spec = four(job(task(4, estimate=estimate), submit=2))
        assert job_starts(spec, "ranked-fcfs:backfill=strict") == [0, 10, start]


def test_what_is_backfilled_may_delay_the_next_job_that_ends_earlier_than_said() -> None:
    # A ends at 10 s, not 20 s; C, backfilled at 2 s, holds a processor until 16 s.
    spec = four(job(task(14, estimate=15), submit=2))
    assert job_starts(spec, "ranked-fcfs:backfill=strict") == [0, 16, 2]


def test_the_start_is_expected_once() -> None:
    # At 20 s A is overdue: nothing is backfilled any more, however short.
    jobs = (
        job(task(30, instances=3, gang=True, estimate=20), submit=0),
        job(task(5, instances=4, gang=True), submit=1),
        job(task(1), submit=19.5),
    )
    assert job_starts(cluster(*jobs, cpu=4), "ranked-fcfs:backfill=strict") == [0, 30, 35]


def test_one_by_one_a_choice_is_made_before_the_next_arrival_is_seen() -> None:
    jobs = [job(task(9, cpu=4)), job(task(3, cpu=4)), job(task(1, cpu=4), submit=20)]
    assert job_starts(cluster(*jobs, cpu=4), "ranked-sjf") == [3, 0, 20]
    spec = cluster(*jobs, cpu=4, simultaneous="one-by-one")
    assert job_starts(spec, "ranked-sjf") == [0, 9, 20]


def test_predicted_times_are_the_mean_of_the_last_two_runs_of_the_user() -> None:
    seen: dict[float, list[float]] = {}

    def watch(decision: JobsDecision) -> Any:
        tasks = decision.tasks
        seen[decision.now] = tasks.user_predicted[tasks.user[tasks.ready]].tolist()
        return int(tasks.ready[0]), 0

    runs = [4, 8, 2]
    jobs = [job(task(run, estimate=100), submit=10 * k, user=7) for k, run in enumerate(runs)]
    play(cluster(*jobs, job(task(1), submit=30, user=7), job(task(1), submit=40, user=3)), watch)
    assert seen == {0: [np.inf], 10: [4], 20: [6], 30: [5], 40: [np.inf]}


def test_predicted_area_goes_by_what_users_did() -> None:
    # User 1 asks for an hour and runs a second; user 2 asks for a minute and takes it.
    first = [
        job(task(1, cpu=2, estimate=3600), user=1),
        job(task(60, cpu=2, estimate=60), user=2, submit=1),
    ]
    later = [
        job(task(60, cpu=2, estimate=60), user=2, submit=10),
        job(task(1, cpu=2, estimate=3600), user=1, submit=10),
    ]
    spec = cluster(*first, *later, cpu=2)
    assert job_starts(spec, "smallest-area") == [0, 1, 61, 121]
    assert job_starts(spec, "predicted-area") == [0, 1, 62, 61]
    assert job_starts({**spec, "known": []}, "predicted-area") == [0, 1, 62, 61]


def test_tasks_of_many_instances_are_next_until_all_have_started() -> None:
    # Five instances on two processors; the second task fits beside the fifth, and then starts.
    spec = cluster(job(task(10, instances=5)), job(task(1), submit=1), cpu=2)
    result = play(spec, "ranked-fcfs")
    assert column(result, "start") == [0, 0, 10, 10, 20, 20]


def test_a_task_whose_machines_are_gone_does_not_block_for_ever() -> None:
    jobs = (job(task(5, instances=2, gang=True), submit=2), job(task(5), submit=3))
    spec = cluster(*jobs, cpu=1, count=2, outages=[outage(0, 1, None)])
    # The clock begins with the first job, at 2 s; from 3 s on nothing else can happen.
    assert job_starts(spec, "ranked-fcfs") == [None, 1]


def test_a_task_waits_for_a_machine_that_comes_back() -> None:
    jobs = (job(task(5, instances=2, gang=True), submit=2), job(task(5), submit=3))
    spec = cluster(*jobs, cpu=1, count=2, outages=[outage(0, 1, 22)])
    assert job_starts(spec, "ranked-fcfs") == [20, 25]


def test_a_score_of_a_user_runs_compiled_and_has_parameters(
    recwarn: pytest.WarningsRecorder,
) -> None:
    @ranked(sign=1.0)
    def by_size(job: Any, p: Any) -> float:
        """The smallest, or the largest, is next."""
        return float(p.sign) * job.processors

    jobs = [job(task(1, cpu=2))] + [job(task(10, cpu=cpu), submit=0.5) for cpu in (2, 1)]
    spec = cluster(*jobs, cpu=2)
    assert job_starts(spec, by_size) == [0, 11, 1]  # type: ignore[arg-type]
    assert not recwarn.list


def test_who_is_next_can_be_said_by_a_plain_policy() -> None:
    def last(decision: JobsDecision) -> Any:
        return int(decision.ready[-1]), NEXT

    def last_and_backfill(decision: JobsDecision) -> Any:
        return int(decision.ready[-1]), NEXT, 1

    jobs = [job(task(4, cpu=4)), job(task(1)), job(task(9, cpu=4))]
    assert job_starts(cluster(*jobs, cpu=4), last) == [10, 9, 0]  # type: ignore[arg-type]
    assert job_starts(cluster(*jobs, cpu=4), last_and_backfill) == [10, 9, 0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ((5, NEXT), "task 5 is not allowed: 0 to 1"),
        ((0, NEXT, 2), r"the next with 2 is not allowed: 0, or 1 to backfill"),
        ((1, NEXT, 0), r"task 1 .* is not allowed: it is not ready"),
    ],
)
def test_what_cannot_be_next_is_refused(action: Any, words: str) -> None:
    run = cloudarena.load(cluster(job(task(1)), job(task(1), submit=5))).start(0)
    assert run.decision is not None
    with pytest.raises(InvalidAction, match=words):
        run.apply(action)
    run.apply((0, NEXT))


def test_rows_grow_while_the_kernel_backfills() -> None:
    # Three thousand short jobs go ahead of the one that needs all, at one instant.
    many = [job(task(1, cpu=0.0001), submit=2) for _ in range(3000)]
    spec = cluster(job(task(50, cpu=1)), job(task(1, cpu=2), submit=1), *many, cpu=2, record="none")
    result = cloudarena.simulate(spec, "ranked-fcfs:backfill=strict")
    assert result.metrics["jobs_finished"] == 3002
    assert result.metrics["wait_p50_s"] == 0
    assert result.metrics["makespan_s"] == 51


def test_bad_words_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"f1: backfill: 'easy' is not allowed: one of none, str"):
        play(four(), "f1:backfill=easy")
    with pytest.raises(CloudarenaError, match=r"'one-by-one' is not allowed with a scheduling_int"):
        play(four(simultaneous="one-by-one", scheduling_interval=1))
