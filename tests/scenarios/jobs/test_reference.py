"""The kernel and its policies against the slow and obvious reference: every start, every number."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.measures import AtLeast
from cloudarena.contract import Result
from cloudarena.scenarios.jobs import JobsDecision

from . import reference
from .cases import Spec, specs
from .reference import RESOURCES, Bound, Cluster, Outcome, Question, Start
from .reference_policies import POLICIES, tetris, tetris_scores


def close(expected: Any) -> Any:
    """Equal but for the order in which floats were added."""
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


def check_result(result: Result, outcome: Outcome) -> None:
    """The metrics and all tables of a run are those of the reference."""
    cluster = outcome.cluster
    jobs, tasks = cluster.jobs, cluster.tasks

    def named(task: int) -> dict[str, Any]:
        return {"job": jobs[tasks[task].job].name, "task": tasks[task].name, "task_index": task}

    ordered = sorted(cluster.finished, key=lambda run: (run.task, run.instance))
    assert result.tables["instances"].to_pylist() == [
        {**named(run.task), "instance": run.instance, "machine": run.machine,
         "start": run.start, "finish": run.end}
        for run in ordered
    ]  # fmt: skip
    assert result.tables["decisions"].to_pylist() == [
        {"time_s": time, **named(task), "machine": machine, "instances": count}
        for time, task, machine, count in outcome.starts
    ]
    assert result.tables["tasks"].to_pylist() == [
        {**named(number), "instances": task.instances, "finished": task.finished,
         "duration": task.duration, "ready": task.ready, "start": task.first_start,
         "finish": task.finish}
        for number, task in enumerate(tasks)
    ]  # fmt: skip
    for row, job in zip(result.tables["jobs"].to_pylist(), jobs, strict=True):
        started = [tasks[number].first_start for number in job.tasks]
        assert row.pop("shortest") == close(reference.shortest(cluster, job))
        assert row == {
            "job": job.name,
            "user": job.user,
            "tasks": len(job.tasks),
            "submit": job.submit,
            "start": min((time for time in started if time is not None), default=None),
            "finish": job.finish,
            "completion": None if job.finish is None else job.finish - job.submit,
        }
    for number, row in enumerate(result.tables["machines"].to_pylist()):
        machine, seconds = cluster.machines[number], reference.span(cluster)
        assert row == {
            "machine": number,
            "name": machine.name,
            "speed": machine.speed,
            "starts": machine.starts,
            **{
                f"{name}_utilisation": close(
                    reference.held_seconds(cluster, r, number) / (machine.capacity[r] * seconds)
                    if machine.capacity[r] and seconds
                    else 0
                )
                for r, name in enumerate(RESOURCES)
            },
        }
    check_series(result, outcome)
    assert list(result.metrics) == list(outcome.metrics)
    for name, value in outcome.metrics.items():
        if isinstance(value, int):
            assert result.metrics[name] == value, name
            assert isinstance(result.metrics[name], int), name
        else:
            assert result.metrics[name] == pytest.approx(value, rel=1e-9, abs=1e-12, nan_ok=True)
        assert isinstance(result.metrics[name], AtLeast) == isinstance(value, Bound), name


def check_series(result: Result, outcome: Outcome) -> None:
    """What was held over time, by the cluster and by each machine."""
    cluster = outcome.cluster
    assert result.tables["series"].to_pylist() == [close(row) for row in outcome.series]
    attempts = cluster.finished + cluster.lost
    rows = []
    changes = {(time, run.machine) for run in attempts for time in (run.start, run.end)}
    for time, machine in sorted(changes):
        there = [run for run in attempts if run.machine == machine and run.start <= time < run.end]
        held = [sum(cluster.tasks[run.task].demand[r] for run in there) for r in range(4)]
        sizes = {name: size / 10**6 for name, size in zip(RESOURCES, held, strict=True)}
        rows.append({"time_s": time, "machine": machine, "instances": len(there), **sizes})
    assert result.tables["machines_series"].to_pylist() == [close(row) for row in rows]


def follow(name: str, result: Result) -> Callable[[Cluster], Start | None]:
    """The reference's policy; where Tetris's scores are equal but for rounding, as in the run."""
    if name != "tetris":
        return POLICIES[name]
    rows = result.tables["decisions"].to_pylist()
    made = iter([row for row in rows for _ in range(row["instances"])])

    def decide(cluster: Cluster) -> Start:
        scores = tetris_scores(cluster)
        best = max(scores.values())
        row = next(made)
        for (task, machine), score in scores.items():
            it = cluster.tasks[task]
            names = cluster.jobs[it.job].name, it.name, machine
            if names == (row["job"], row["task"], row["machine"]) and best - score < 1e-12:
                for _ in range(it.waiting() - 1 if it.gang else 0):
                    next(made)  # it starts whole
                return task, machine, 1
        return tetris(cluster)

    return decide


def with_whole_gpus(spec: Spec) -> Spec:
    """The spec without shares of GPUs: reservations count the GPUs of a machine together."""

    def whole(task: Spec) -> Spec:
        gpus = math.floor(task.get("gpu", 0))
        kept = {k: value for k, value in task.items() if gpus or k != "gpu_models"}
        return {**kept, "gpu": gpus}

    rows = [{**job, "tasks": [*map(whole, job["tasks"])]} for job in spec["workload"]["jobs"]]
    return {**spec, "workload": {**spec["workload"], "jobs": rows}}


def check_policy(name: str, spec: Spec) -> None:
    """A run under a policy is that of the reference."""
    if "backfilling" in name:
        spec = with_whole_gpus(spec)
    result = cloudarena.simulate(spec, name)
    check_result(result, reference.simulate(spec, follow(name, result)))


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=25)
@given(spec=specs(may_warm_up=True))
def test_policies_make_the_schedules_of_the_reference(name: str, spec: Spec) -> None:
    check_policy(name, spec)


def check_decision(decision: JobsDecision, question: Question) -> None:
    """What the kernel shows at a decision is what the reference has."""
    cluster, tasks, machines = question.cluster, decision.tasks, decision.machines
    numbers = range(len(cluster.machines))
    ready = cluster.ready()
    assert decision.now == machines.now == cluster.now
    assert decision.may_wait == question.may_wait
    assert decision.ready.tolist() == tasks.ready.tolist() == ready
    could = [task for task in ready if cluster.could_start(task)]
    assert tasks.first == could[0]
    assert decision.fits.tolist() == [
        [task in could and cluster.fits(task, m) for m in numbers] for task in ready
    ]
    for number, task in enumerate(cluster.tasks):
        running = sum(run.task == number for run in cluster.running)
        assert tasks.waiting[number] == task.waiting()
        assert tasks.running[number] == running
        assert tasks.finished[number] == task.finished
        assert tasks.duration[number] == task.known
        users = sorted({job.user for job in cluster.jobs})
        assert (tasks.job[number], tasks.user[number]) == (task.job, users.index(task.user))
    for job in range(len(cluster.jobs)):
        demands = [cluster.tasks[run.task].demand for run in cluster.running
                   if cluster.tasks[run.task].job == job]  # fmt: skip
        assert tasks.job_held[job].tolist() == [sum(d[r] for d in demands) for r in range(4)]
    assert machines.up.tolist() == [machine.up for machine in cluster.machines]
    for m in numbers:
        up = cluster.machines[m].up
        assert machines.free[m].tolist() == (list(cluster.free(m)) if up else [-1] * 4)
    up = [cluster.free(m) for m in numbers if cluster.machines[m].up]
    assert machines.free_total.tolist() == [sum(free[r] for free in up) for r in range(4)]
    rows = machines.rows[machines.active]
    assert rows["count"].sum() == len(cluster.running)
    shown = sorted(
        (int(row["task"]), int(row["first"]) + k, int(row["machine"]), float(row["start"]))
        for row in rows
        for k in range(row["count"])
    )
    assert shown == sorted((r.task, r.instance, r.machine, r.start) for r in cluster.running)


def moody(seed: int, patience: float) -> Any:
    """A policy that starts anything anywhere, some instances at a time, or waits."""
    rng = random.Random(seed)

    def decide(question: Question) -> Start | None:
        cluster = question.cluster
        if question.may_wait and rng.random() < patience:
            return None
        task = rng.choice([task for task in cluster.ready() if cluster.could_start(task)])
        machine = rng.choice([m for m in range(len(cluster.machines)) if cluster.fits(task, m)])
        return task, machine, rng.randint(1, cluster.copies(task, machine))

    return decide


def run_both(spec: Spec, seed: int, patience: float) -> None:
    """Plays a spec in kernel and reference side by side and compares everything."""
    run, steps, decide = cloudarena.load(spec).start(), reference.steps(spec), moody(seed, patience)
    try:
        question = next(steps)
        while True:
            decision = run.decision
            assert decision is not None, "the reference has a decision and the kernel has none"
            check_decision(decision, question)
            action = decide(question)
            run.apply(action)
            question = steps.send(action)
    except StopIteration as end:
        outcome = end.value
    assert run.decision is None
    check_result(run.result(), outcome)


@given(
    spec=specs(may_warm_up=True), seed=st.integers(0, 99), patience=st.sampled_from([0.0, 0.2, 0.6])
)
def test_kernel_and_reference_agree_whatever_is_started(
    spec: Spec, seed: int, patience: float
) -> None:
    run_both(spec, seed, patience)


@pytest.mark.slow
@settings(max_examples=1500)
@given(
    spec=specs(may_warm_up=True),
    seed=st.integers(0, 10**6),
    patience=st.sampled_from([0.0, 0.1, 0.5]),
)
def test_kernel_and_reference_agree_on_thousands_of_cases(
    spec: Spec, seed: int, patience: float
) -> None:
    run_both(spec, seed, patience)


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=500)
@given(spec=specs(most_jobs=10, may_warm_up=True))
def test_policies_make_the_schedules_of_the_reference_in_thousands_of_cases(
    name: str, spec: Spec
) -> None:
    check_policy(name, spec)
