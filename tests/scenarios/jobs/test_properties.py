"""What holds in every run of jobs, under every policy."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.measures import AtLeast
from cloudarena.contract import Result
from cloudarena.scenarios.jobs import POLICIES
from cloudarena.scenarios.jobs.policies import ConservativeBackfilling
from cloudarena.scenarios.jobs.policies.mapping import moved_to_fit

from . import reference
from .cases import Spec, specs
from .clusters import cluster, column, job, task
from .reference import RESOURCES, Cluster

BUILT_IN = list(POLICIES)
COMPILED = POLICIES.array_names()
FAILURES = st.builds(
    lambda up, down, shape: {"mtbf_s": up, "mttr_s": down, "shape": shape},
    st.sampled_from([20, 100]),
    st.sampled_from([0.5, 5, 30]),
    st.sampled_from([0.7, 1, 3]),
)


@st.composite
def any_specs(draw: Any) -> Spec:
    """Outages by a list, by a distribution, or none."""
    spec = draw(specs(most_jobs=4))
    if draw(st.integers(0, 2)) == 0:
        spec["failures"] = draw(FAILURES)
    return spec


class Schedule:
    """A run and what it should have done, in numbers instead of names."""

    def __init__(self, spec: Spec, name: str, seed: int = 0) -> None:
        self.spec = spec
        self.result: Result = cloudarena.simulate(spec, name, seed)
        self.cluster: Cluster = reference.build(spec)
        self.number = {
            (self.cluster.jobs[task.job].name, task.name): number
            for number, task in enumerate(self.cluster.tasks)
        }
        self.rows = self.result.tables["instances"].to_pylist()
        for row in self.rows:
            row["demand"] = self.task(row).demand

    def task(self, row: dict[str, Any]) -> reference.Task:
        return self.cluster.tasks[self.number[row["job"], row["task"]]]

    def total(self, r: int) -> int:
        return sum(machine.capacity[r] for machine in self.cluster.machines)


def check_instances(schedule: Schedule) -> None:
    """Every instance ends exactly once, after its duration, or its job is left unfinished."""
    result, metrics = schedule.result, schedule.result.metrics
    counted = Counter((row["job"], row["task"], row["instance"]) for row in schedule.rows)
    assert set(counted.values()) <= {1}
    assert len(schedule.rows) == metrics["instances_finished"]
    for row in schedule.rows:
        task, machine = schedule.task(row), schedule.cluster.machines[row["machine"]]
        assert 0 <= row["instance"] < task.instances
        assert row["finish"] == row["start"] + task.duration / machine.speed
        assert row["start"] >= schedule.cluster.jobs[task.job].submit
    listed = schedule.spec.get("failures", {}).get("outages", [])
    if all(outage["up_s"] is not None for outage in listed):
        assert metrics["jobs_finished"] == metrics["jobs"]
    if metrics["jobs_finished"] == metrics["jobs"]:
        assert len(schedule.rows) == sum(task.instances for task in schedule.cluster.tasks)
    for row in result.tables["tasks"].to_pylist():
        mine = [r for r in schedule.rows if (r["job"], r["task"]) == (row["job"], row["task"])]
        assert row["finished"] == len(mine) <= row["instances"]
        if len(mine) == row["instances"]:
            assert row["finish"] == max(r["finish"] for r in mine)
        else:
            assert row["finish"] is None
    for row in result.tables["jobs"].to_pylist():
        finishes = [
            task["finish"]
            for task in result.tables["tasks"].to_pylist()
            if task["job"] == row["job"]
        ]
        assert row["finish"] == (None if None in finishes else max(finishes))
    # Starts are what finished, what was lost, and nothing else.
    started = sum(column(result, "instances", "decisions"))
    assert started == len(schedule.rows) + metrics["lost_instances"]
    assert started == sum(column(result, "starts", "machines"))


def check_capacity(schedule: Schedule) -> None:
    """No machine ever holds more than it has, of anything."""
    for number, machine in enumerate(schedule.cluster.machines):
        mine = [row for row in schedule.rows if row["machine"] == number]
        for moment in {row["start"] for row in mine}:
            there = [row for row in mine if row["start"] <= moment < row["finish"]]
            for r in range(4):
                assert sum(row["demand"][r] for row in there) <= machine.capacity[r]
    for row in schedule.result.tables["machines_series"].to_pylist():
        capacity = schedule.cluster.machines[row["machine"]].capacity
        for r, name in enumerate(RESOURCES):
            assert 0 <= round(row[name] * 10**6) <= capacity[r]


def check_order(schedule: Schedule) -> None:
    """No instance starts before all parents of its task have finished; gangs start whole."""
    finish = {
        schedule.number[row["job"], row["task"]]: row["finish"]
        for row in schedule.result.tables["tasks"].to_pylist()
    }
    for row in schedule.rows:
        for parent in schedule.task(row).parents:
            assert finish[parent] is not None
            assert finish[parent] <= row["start"]
    if "failures" not in schedule.spec:
        whole = {}
        for row in schedule.rows:
            if schedule.task(row).gang:
                whole.setdefault((row["job"], row["task"]), set()).add(row["start"])
        assert all(len(moments) == 1 for moments in whole.values())


def check_outages(schedule: Schedule) -> None:
    """What finished did not run while its machine was down."""
    begin = min(job["submit"] for job in schedule.spec["workload"]["jobs"])
    for outage in schedule.spec.get("failures", {}).get("outages", []):
        up = math.inf if outage["up_s"] is None else outage["up_s"]
        for row in schedule.rows:
            if row["machine"] == outage["machine"]:
                assert row["finish"] <= outage["down_s"] - begin or row["start"] >= up - begin
    for row in schedule.result.tables["series"].to_pylist():
        assert 0 <= row["machines_up"] <= len(schedule.cluster.machines)


def check_bounds(schedule: Schedule) -> None:
    """No job beats its critical path, no schedule the capacity of the cluster."""
    cluster, metrics = schedule.cluster, schedule.result.metrics
    for row, it in zip(schedule.result.tables["jobs"].to_pylist(), cluster.jobs, strict=True):
        if row["finish"] is not None:
            least = reference.shortest(cluster, it)
            assert row["completion"] >= least * (1 - 1e-12)
            assert metrics["makespan_s"] >= it.submit + least * (1 - 1e-12)
    if metrics["jobs_finished"] == metrics["jobs"]:
        for r in range(4):
            work = sum(task.instances * task.demand[r] * task.duration for task in cluster.tasks)
            rate = sum(machine.capacity[r] * machine.speed for machine in cluster.machines)
            assert metrics["makespan_s"] * rate >= work * (1 - 1e-9)
    left = metrics["jobs"] - metrics["jobs_finished"]
    assert metrics["unserved_share"] == left / metrics["jobs"]
    assert math.isnan(metrics["fairness_jain"]) if left else metrics["fairness_jain"] <= 1 + 1e-12
    assert metrics["slowdown_mean"] >= 1 - 1e-12
    for name in ("makespan_s", "completion_mean_s", "slowdown_mean", "bounded_slowdown_mean"):
        assert isinstance(metrics[name], AtLeast) == (left > 0)


def check_held(schedule: Schedule) -> None:
    """Utilisation is what finished and what was lost; all tables tell the same."""
    result, metrics = schedule.result, schedule.result.metrics
    rows = result.tables["machines_series"].to_pylist()
    finished = metrics["jobs_finished"] == metrics["jobs"]
    span = metrics["makespan_s"] if finished else column(result, "time_s", "series")[-1]
    lost = metrics["lost_instances"] > 0
    for r, name in enumerate(RESOURCES):
        held = metrics[f"mean_{name}_utilisation"] * schedule.total(r) * span
        done = sum(row["demand"][r] * (row["finish"] - row["start"]) for row in schedule.rows)
        assert held == pytest.approx(done, rel=1e-9) if not lost else held >= done * (1 - 1e-9)
        integral = 0.0
        for number in range(len(schedule.cluster.machines)):
            mine = [(row["time_s"], row[name]) for row in rows if row["machine"] == number]
            for (time, size), (after, _) in itertools.pairwise(mine):
                integral += size * 10**6 * (after - time)
            assert not mine or mine[-1][1] == 0
        assert held == pytest.approx(integral, rel=1e-9, abs=1e-6)
    # The series shows at its instants what the machines hold together.
    for row in result.tables["series"].to_pylist():
        last = {}
        for machine_row in rows:
            if machine_row["time_s"] <= row["time_s"]:
                last[machine_row["machine"]] = machine_row
        for name in RESOURCES:
            assert row[name] == pytest.approx(sum(machine[name] for machine in last.values()))
        running = sum(machine["instances"] for machine in last.values())
        there = sum(r["start"] <= row["time_s"] < r["finish"] for r in schedule.rows)
        assert running == there if not lost else running >= there


def check_all(spec: Spec, name: str, seed: int = 0) -> None:
    """Everything that holds in a run."""
    schedule = Schedule(spec, name, seed)
    check_instances(schedule)
    check_capacity(schedule)
    check_order(schedule)
    check_outages(schedule)
    check_bounds(schedule)
    check_held(schedule)
    unrecorded = cloudarena.simulate(spec, name, seed, record="none")
    assert unrecorded.tables == {}
    assert unrecorded.metrics == schedule.result.metrics
    summary = cloudarena.simulate(spec, name, seed, record="summary")
    assert summary.metrics == schedule.result.metrics
    assert set(schedule.result.tables) - set(summary.tables) == {"machines_series"}
    for table in summary.tables:
        assert summary.tables[table].equals(schedule.result.tables[table])


@settings(max_examples=100)
@given(spec=any_specs(), name=st.sampled_from(COMPILED), seed=st.integers(0, 99))
def test_every_run_under_a_compiled_policy_is_sound(spec: Spec, name: str, seed: int) -> None:
    check_all(spec, name, seed)


@settings(max_examples=24)
@given(
    spec=any_specs(),
    name=st.sampled_from([name for name in BUILT_IN if name not in COMPILED]),
    seed=st.integers(0, 99),
)
def test_every_run_under_a_mapping_heuristic_is_sound(spec: Spec, name: str, seed: int) -> None:
    check_all(spec, name, seed)


def test_a_search_that_begins_at_random_ends_where_everything_fits() -> None:
    possible = np.array([[False, True, False], [True, True, True], [False, True, True]])
    times = np.where(possible, 1.0, 1e6)
    fixed = moved_to_fit(np.array([0, 1, 0]), times, possible, np.zeros(3))
    assert fixed.tolist() == [1, 1, 2]  # who fits stays; the others go where they end first


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
@settings(max_examples=200)
@given(spec=any_specs(), seed=st.integers(0, 99))
def test_every_run_is_sound_in_thousands_of_cases(name: str, spec: Spec, seed: int) -> None:
    check_all(spec, name, seed)


@settings(max_examples=10)
@given(spec=any_specs(), name=st.sampled_from(COMPILED), seed=st.integers(0, 99))
def test_a_run_repeats_itself_stepped_and_compiled(spec: Spec, name: str, seed: int) -> None:
    compiled = cloudarena.simulate(spec, name, seed)
    run = cloudarena.load(spec).start(seed)
    built_in = POLICIES.resolve(name)
    run.prepare(built_in)  # who is asked early is so from the first decision on
    while (decision := run.decision) is not None:
        run.apply(built_in(decision))
    stepped = run.result()
    assert stepped.metrics == compiled.metrics
    for table in compiled.tables:
        assert stepped.tables[table].equals(compiled.tables[table])


def test_random_outages_do_not_depend_on_the_policy() -> None:
    # Two long jobs on machines that fail now and then. Both runs see the same machines up.
    jobs = [{"tasks": [{"duration": 40, "instances": 30}]} for _ in range(2)]
    spec = {
        "scenario": "jobs",
        "machines": [{"cpu": 2, "count": 3}],
        "workload": {"source": "inline", "jobs": jobs},
        "failures": {"mtbf_s": 100, "mttr_s": 10},
    }
    down = {}
    for name in ("first-fit", "worst-fit", "random"):
        rows = cloudarena.simulate(spec, name, seed=3).tables["series"].to_pylist()
        changes = [
            (row["time_s"], row["machines_up"] - before["machines_up"])
            for before, row in itertools.pairwise(rows)
            if row["machines_up"] != before["machines_up"]
        ]
        down[name] = changes[:8]
        assert len(changes) >= 8
    assert down["first-fit"] == down["worst-fit"] == down["random"]
    other = cloudarena.simulate(spec, "first-fit", seed=4).tables["series"].to_pylist()
    assert [row["time_s"] for row in other] != [row["time_s"] for row in rows]


def test_random_failures_have_the_means_that_they_are_given() -> None:
    # 200 machines that idle from one short job to the next, 20,000 s later.
    jobs = [
        {"tasks": [{"duration": 1}]},
        {"submit": 20000, "tasks": [{"duration": 1}]},
    ]
    for shape in (1, 2):
        spec = {
            "scenario": "jobs",
            "machines": [{"cpu": 1, "count": 200}],
            "workload": {"source": "inline", "jobs": jobs},
            "failures": {"mtbf_s": 90, "mttr_s": 10, "shape": shape},
        }
        rows = cloudarena.simulate(spec, seed=1).tables["series"].to_pydict()
        times, up = np.array(rows["time_s"]), np.array(rows["machines_up"])
        share = (np.diff(times) * up[:-1]).sum() / (200 * (times[-1] - times[0]))
        assert share == pytest.approx(0.9, abs=0.01)  # 90 / (90 + 10)


def test_the_series_of_a_long_run_is_thinned_and_true() -> None:
    # One instance after the other, 3 s each: an instant every 3 s.
    spec = cluster(job(task(3, instances=50_000)), cpu=1, record="summary")
    rows = cloudarena.simulate(spec).tables["series"].to_pydict()
    assert 1_000 < len(rows["time_s"]) < 25_000
    steps = set(np.diff(rows["time_s"][:-1]))
    assert len(steps) == 1
    assert steps.pop() % 3 == 0
    assert rows["time_s"][-1] == 150_000
    assert set(rows["jobs"][:-1]) == set(rows["cpu"][:-1]) == {1}
    assert rows["jobs"][-1] == rows["cpu"][-1] == 0


@pytest.mark.parametrize("known", ["durations", "estimates"])
@pytest.mark.parametrize("seed", range(3))
def test_a_plan_that_is_kept_is_the_one_that_would_be_made_anew(seed: int, known: str) -> None:
    class Forgetful(ConservativeBackfilling):
        def __call__(self, decision: Any) -> Any:
            self._plan = None
            return super().__call__(decision)

    machines = [{"count": 2, "cpu": 32, "memory": 1.0}]
    changes = {"workload.jobs": 15, "machines": machines, "known": [known]}
    scenario = cloudarena.load("jobs/alibaba-like-10", changes)
    kept = cloudarena.simulate(scenario, "conservative-backfilling", seed)
    anew = cloudarena.simulate(scenario, Forgetful(), seed)
    assert len(kept.tables["decisions"]) > 100
    assert kept.tables["decisions"].equals(anew.tables["decisions"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"failures": {"mtbf_s": 400, "mttr_s": 50}},
        {
            "machines": [
                {"count": 3, "cpu": 16, "memory": 0.4, "speed": 1.5},
                {"count": 1, "cpu": 8},
            ]
        },
    ],
)
def test_what_is_not_planned_would_not_have_started(seed: int, changes: Spec) -> None:
    class Thorough(ConservativeBackfilling):
        def __call__(self, decision: Any) -> Any:
            self._plan, self._is_exact = None, True  # as if the plan was worth keeping: for all
            return super().__call__(decision)

    base = {"workload.jobs": 12, "machines": [{"count": 2, "cpu": 32, "memory": 1.0}]}
    scenario = cloudarena.load("jobs/alibaba-like-10", base | changes)
    assert scenario.known == ("estimates",)
    found = cloudarena.simulate(scenario, "conservative-backfilling", seed)
    expected = cloudarena.simulate(scenario, Thorough(), seed)
    assert len(found.tables["decisions"]) > 100
    assert found.tables["decisions"].equals(expected.tables["decisions"])
