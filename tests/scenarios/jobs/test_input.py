"""What cannot be run is said in words, and changes nothing; a run can be replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import CloudarenaError, InvalidAction, PolicyError, SpecError
from cloudarena.contract import Result
from cloudarena.scenarios.jobs import POLICIES

from .cases import Spec, specs
from .clusters import cluster, column, job, outage, play, starts, task

ONE = cluster(job(task()))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (cluster(job(task(cpu=3))), "job 'job-1', task 'task-1'.*cpu 3: no machine has room"),
        (
            # Each machine has one of the two that it needs.
            cluster(job(task(cpu=2, gpu=1)), machines=[{"cpu": 2}, {"cpu": 1, "gpu": 1}]),
            "cpu 2, gpu 1: no machine has room",
        ),
        (cluster(job(task(memory=1.001))), "memory 1.001: no machine has room"),
        (cluster(job(task(instances=3, gang=True))), "3 instances at once.*no room"),
        (
            # Three cores in all, but no two machines of 1.5.
            cluster(job(task(cpu=1.5, instances=2, gang=True)), machines=[{"cpu": 2}, {"cpu": 1}]),
            "2 instances at once.*no room",
        ),
        ({**ONE, "machine": []}, "unknown key 'machine'. Did you mean 'machines'"),
        (cluster(job({"duration": 1, "cpus": 1})), r"jobs\[0\].tasks\[0\]: unknown key 'cpus'"),
        (cluster(job({"cpu": 1})), r"jobs\[0\].tasks\[0\].duration: is required"),
        (cluster(job(task(0))), r"tasks\[0\].duration: 0 is not allowed: at least 1e-06"),
        (cluster(job(task(-1))), r"tasks\[0\].duration: -1 is not allowed"),
        (cluster(job(task(float("nan")))), r"duration: nan is not allowed: a finite number"),
        (cluster(job(task(1, instances=0))), r"instances: 0 is not allowed: at least 1"),
        (cluster(job(task(1, instances=1.5))), r"instances: 1.5 is not allowed: a whole number"),
        (cluster(job(task(1, cpu=-1))), r"cpu: -1 is not allowed: at least 0"),
        (cluster(job(task(), submit=-1)), r"jobs\[0\].submit: -1 is not allowed: at least 0"),
        (cluster(job()), r"jobs\[0\].tasks: .*at least 1 entries"),
        (cluster(), r"workload.jobs: .*at least 1 entries"),
        (cluster(job(task(parents=["x"]))), "'x' is not allowed: one of task-1"),
        (
            cluster(job(task(name="a"), task(name="a"))),
            "name: 'a' is not allowed: it is a duplicate",
        ),
        (cluster(job(task(name="task-2"), task())), "'task-2' is not allowed: it is a duplicate"),
        (cluster(job(task(parents=["task-1"]))), "wait for each other in a circle: task-1"),
        (
            cluster(job(task(parents=["task-2"]), task(parents=["task-1"]))),
            "wait for each other in a circle: task-1, task-2, task-1",
        ),
        (cluster(job(task()), machines=[{"cpu": 1, "speed": 0}]), r"speed: 0 is not allowed"),
        (cluster(job(task()), count=0), r"machines\[0\].count: 0 is not allowed: at least 1"),
        ({**ONE, "scheduling_interval": -1}, "scheduling_interval: -1 is not allowed: at least 0"),
        ({**ONE, "known": ["lifetimes"]}, "known.*'lifetimes' is not allowed"),
        ({**ONE, "known": ["durations", "estimates"]}, r"\[durations\], \[estimates\] or \[\]"),
        ({**ONE, "workload": {"source": "inlin", "jobs": []}}, "Did you mean 'inline'"),
        ({**ONE, "failures": {}}, "either mtbf_s and mttr_s, or outages, or path"),
        ({**ONE, "failures": {"mtbf_s": 9}}, "mttr_s: is required"),
        ({**ONE, "failures": {"mtbf_s": 0, "mttr_s": 1}}, "mtbf_s: 0 is not allowed: more than 0"),
        ({**ONE, "failures": {"mtbf_s": 9, "mttr_s": 1, "path": "x.csv"}}, "either mtbf_s"),
        (
            {**cluster(job(task(1000), task(1))), "failures": {"mtbf_s": 10, "mttr_s": 1}},
            "mtbf_s: 10 is not allowed: job 'job-1', task 'task-1' needs machines for 1000 s, and",
        ),
        # Numbers that no run could hold.
        (cluster(job(task(1e-320))), r"duration: 1e-320 is not allowed: at least 1e-06"),
        (cluster(job(task(1e308))), r"duration: 1e\+308 is not allowed: at most"),
        (cluster(job(task(instances=2**40))), "instances: 1099511627776 is not allowed: at most"),
        (
            cluster(job(task(cpu=0, instances=10**9))),
            "record: 'full' is not allowed: a table of 1,000,000,000 instances would need about 48",
        ),
        (
            {**ONE, "machines": [{"cpu": 2, "count": 600_000}] * 2},
            "machines: 1200000 of them are not allowed: at most 1000000",
        ),
        (
            {
                **cluster(job(task(1)), job(task(1), submit=1e10)),
                "failures": {"mtbf_s": 10, "mttr_s": 1},
            },
            "mtbf_s: 10 is not allowed: 1 machines would fail about 9e.08 times in 1e.10 s",
        ),
        (
            {**ONE, "workload": {"source": "alibaba-like", "jobs": 2**31}},
            "workload.jobs: 2147483648 is not allowed: at most 10000000",
        ),
        (
            {**ONE, "workload": {"source": "lublin-feitelson", "jobs": 1, "rate": 1e-300}},
            "workload.rate: 1e-300 is not allowed: at least 1e-06",
        ),
        (
            {**ONE, "workload": {"source": "deeprm", "jobs": 1, "estimate_deviation": 1e9}},
            "workload.estimate_deviation: 1000000000.0 is not allowed: at most 10",
        ),
        (
            {**ONE, "workload": {"source": "tpch-like", "jobs": 1, "estimates": "good"}},
            "workload.estimates: 'good' is not allowed",
        ),
        (cluster(job(task()), outages=[outage(1, 3)]), r"machine: 1 is not allowed: 0 to 0"),
        (cluster(job(task()), outages=[outage(0, 3, 3)]), r"up_s: 3 is not allowed: more than"),
        (cluster(job(task()), outages=[outage(0, -1)]), r"down_s: -1 is not allowed: at least 0"),
        (
            cluster(job(task()), outages=[outage(0, 3, 5), outage(0, 4, 6)]),
            r"outages\[1\]: down_s: 4 is not allowed: at least 5",
        ),
        (
            # The second one in time is named, wherever it stands.
            cluster(job(task()), outages=[outage(0, 4, 6), outage(0, 3, 5)]),
            r"outages\[0\]: down_s: 4 is not allowed: at least 5",
        ),
    ],
)
def test_what_is_wrong_is_named(spec: Spec, words: str) -> None:
    with pytest.raises(CloudarenaError, match=words):
        play(spec)


def test_what_does_not_fit_is_shown_to_the_millionth() -> None:
    with pytest.raises(SpecError, match=r"memory 1\.000001: no machine has room"):
        play(cluster(job(task(memory=1.000001))))


def test_an_outage_after_one_for_good_is_named() -> None:
    spec = cluster(job(task()), outages=[outage(0, 3), outage(0, 5, 6)])
    with pytest.raises(SpecError, match=r"outages\[1\]: .*for good"):
        play(spec)


def test_users_of_any_number_are_held(tmp_path: Path) -> None:
    # 2^50 users would need petabytes; there are three, one of whom is not known.
    path = tmp_path / "log.swf"
    lines = [f"{k} 0 -1 5 1 -1 -1 1 9 -1 1 {user} -1 -1 -1 -1 -1 -1"
             for k, user in enumerate((2**50, -1, 7, -1), 1)]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    spec = {"scenario": "jobs", "machines": [{"cpu": 2}],
            "workload": {"source": "swf", "path": str(path)}}  # fmt: skip
    result = play(spec, "drf-users")
    assert column(result, "user", "jobs") == [2**50, -1, 7, -1]
    assert cloudarena.load(spec).start().decision.tasks.user.tolist() == [2, 0, 1, 0]
    # Two of different users go first, then those of users who hold nothing: by the job's number.
    assert starts(result) == [0, 0, 5, 5]


def outages_file(folder: Path, text: str) -> Spec:
    (folder / "outages.csv").write_text(text)
    return cluster(job(task(5)), failures={"path": str(folder / "outages.csv")})


def test_outages_from_a_file(tmp_path: Path) -> None:
    spec = outages_file(tmp_path, "machine,down_s,up_s\n0,1,2\n0,7,\n")
    assert starts(play(spec)) == [2]
    for_good = outages_file(tmp_path, "machine,down_s\n0,7\n")
    assert play(for_good).metrics["lost_instances"] == 0
    spec = outages_file(tmp_path, "machine,down_s,up_s\n0,1,2\n0,7,\n")
    assert play(spec).metrics["lost_instances"] == 1
    written = cluster(job(task(5)), outages=[outage(0, 1, 2), outage(0, 7)])
    assert play(spec).metrics == play(written).metrics


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("machine,up_s\n0,1\n", "column 'down_s' is missing"),
        ("machine,down_s,up_s\n3,1,2\n", r"line 2.*machine: 3 is not allowed: 0 to 0"),
        ("machine,down_s,up_s\n0,1,2\n0,5,4\n", r"line 3.*up_s: 4 is not allowed"),
        ("machine,down_s,up_s\n0,1,2\n0,1.5,4\n", r"line 3.*down_s: 1.5 is not allowed"),
        ("machine,down_s,up_s\n0,x,2\n", r"line 2: down_s: 'x' is not allowed: a number"),
        ("machine,down_s,up_s\n0,-1,2\n", r"line 2.*down_s: -1 is not allowed"),
        ("machine,down_s,up_s\n0,nan,2\n", r"line 2.*down_s"),
        ("machine,down_s,up_s\n,1,2\n", r"line 2.*machine"),
    ],
)
def test_a_bad_file_of_outages_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(CloudarenaError, match=r"outages\.csv.*" + words):
        play(outages_file(tmp_path, text))


NEEDS_ESTIMATES = (
    "sjf", "ljf", "critical-path", "tetris", "easy-backfilling", "conservative-backfilling",
    "olb", "met", "mct", "min-min", "max-min", "duplex", "sufferage", "ga", "sa", "gsa", "tabu",
    "a-star", "ranked-fcfs", "ranked-sjf", "smallest-area", "f1", "f2", "f3", "f4", "wfp3", "uni",
    "linear",
)  # fmt: skip


@pytest.mark.parametrize("name", list(POLICIES))
def test_only_policies_that_need_no_durations_run_without_them(name: str) -> None:
    spec = cluster(job(task(3, instances=3), task(1, parents=["task-1"])), known=[])
    if name in NEEDS_ESTIMATES:
        needed = r"needs known: \[estimates\] or \[durations\] in the spec"
        with pytest.raises(PolicyError, match=f"policy {name}: {needed}"):
            play(spec, name)
    else:
        assert play(spec, name).metrics["jobs_finished"] == 1


BAD_ACTIONS = [
    (0, 0, 3), (0, 0, 0), (0, 0, -1), (0, 2), (0, -1), (4, 0), (1, 0), (2, 0), (3, 0),
    (3, 0, 2), (0,), (), (0, 0, 1, 1), (0.5, 0), (0, 0.0), (True, 0), ("0", 0), "first", 0, 1.5,
    ..., [0, 0, 0, 0], {0: 0}, (0, 0, None), (None, 0), (0, 2**70), (2**70, 0),
    (0, 0, 2**62),
    (-1, 0),
]  # fmt: skip


@pytest.mark.parametrize("action", BAD_ACTIONS, ids=repr)
def test_an_action_that_is_not_allowed_changes_nothing(action: Any) -> None:
    # Two machines of 2 cores. Task 1 waits for task 0, task 2 is a gang for which there is no
    # room, task 3 is not there yet.
    spec = cluster(
        job(task(3, instances=5), task(parents=["task-1"])),
        job(task(instances=4, gang=True)),
        job(task(), submit=2),
        count=2,
    )
    run = cloudarena.load(spec).start()
    run.apply((0, 1))
    before, decision = run.metrics(), run.decision
    state = [np.copy(array) for array in (decision.tasks.waiting, decision.machines.free)]
    with pytest.raises(InvalidAction):
        run.apply(action)
    assert run.metrics() == before
    assert run.now == 0
    for old, new in zip(state, (decision.tasks.waiting, decision.machines.free), strict=True):
        assert (old == new).all()
    run.play(POLICIES.resolve("first-fit"))
    expected = cloudarena.load(spec).start()
    expected.apply((0, 1))
    expected.play(POLICIES.resolve("first-fit"))
    assert run.result().tables["instances"].equals(expected.result().tables["instances"])


def test_actions_may_be_tuples_or_lists() -> None:
    for action in ((0, 0), [0, 0], (np.int64(0), np.int32(0)), (0, 0, 1)):
        run = cloudarena.load(ONE).start()
        run.apply(action)
        assert starts(run.result()) == [0]


def test_an_action_after_the_end_is_refused() -> None:
    run = cloudarena.load(ONE).start()
    run.apply((0, 0))
    for action in ((0, 0), None):
        with pytest.raises(InvalidAction):
            run.apply(action)


def test_a_machine_that_is_down_takes_nothing() -> None:
    run = cloudarena.load(cluster(job(task()), count=2, outages=[outage(0, 0, 5)])).start()
    with pytest.raises(InvalidAction, match="machine 0"):
        run.apply((0, 0))
    run.apply((0, 1))
    assert column(run.result(), "machine") == [1]


def test_a_task_whose_only_machine_is_down_at_the_start_waits_for_it() -> None:
    spec = cluster(
        job(task(1, cpu=2)), machines=[{"cpu": 1}, {"cpu": 2}], outages=[outage(1, 0, 4)]
    )
    assert starts(play(spec)) == [4]


def replayed(spec: Spec, result: Result, folder: Path, form: str, seed: int = 0) -> Result:
    """A run from the decisions of another."""
    path = folder / f"decisions.{form}"
    write = pq.write_table if form == "parquet" else pacsv.write_csv
    write(result.tables["decisions"], str(path))
    return cloudarena.simulate(spec, f"replay:{path}", seed)


def assert_same(one: Result, other: Result) -> None:
    """Equal to the last bit."""
    assert one.metrics == other.metrics
    assert one.tables.keys() == other.tables.keys()
    for name, table in one.tables.items():
        assert table.equals(other.tables[name]), name


@settings(max_examples=25)
@given(
    spec=specs(most_jobs=4),
    form=st.sampled_from(["csv", "parquet"]),
    name=st.sampled_from(POLICIES.array_names()),
    seed=st.integers(0, 9),
)
def test_the_decisions_of_a_run_replay_it(
    tmp_path_factory: Any, spec: Spec, form: str, name: str, seed: int
) -> None:
    result = cloudarena.simulate(spec, name, seed)
    assert_same(result, replayed(spec, result, tmp_path_factory.mktemp("r"), form, seed))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_run_of_the_catalogue_replays(tmp_path: Path, form: str) -> None:
    scenario = cloudarena.load(
        "jobs/alibaba-like-10", {"workload.jobs": 2, "failures": {"mtbf_s": 200, "mttr_s": 30}}
    )
    result = cloudarena.simulate(scenario, "random", seed=3)
    assert result.metrics["lost_instances"] > 0
    assert_same(result, replayed(scenario, result, tmp_path, form, seed=3))


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("cloudsimpy-csv", "submit_time,duration,cpu,memory,job_id,task_id,instances_num\n"
                           "0,9,1,0,1,7,2\n0,2,1,0,1,7,1\n5,4,1,0,2,7,1\n"),
        ("file", "job,submit_s,task,instances,cpu,memory,duration_s,parents\n"
                 "a,0,x,2,1,0,9,\na,0,x,1,1,0,2,\na,0,y,1,1,0,3,x\n"),
        ("swf", "1 0 -1 9 1 -1 -1 1 20 -1 1 3 -1 -1 -1 -1 -1 -1\n"
                "1 0 -1 2 1 -1 -1 1 20 -1 1 3 -1 -1 -1 -1 -1 -1\n"),
    ],
)  # fmt: skip
def test_two_tasks_of_one_name_replay(tmp_path: Path, source: str, text: str, form: str) -> None:
    path = tmp_path / "trace.txt" if source == "swf" else tmp_path / "trace.csv"
    path.write_text(text)
    spec = {
        "scenario": "jobs", "machines": [{"cpu": 1}],
        "workload": {"source": source, "path": str(path)},
    }  # fmt: skip
    for name in ("first-fit", "random"):
        result = cloudarena.simulate(spec, name, 3)
        assert_same(result, replayed(spec, result, tmp_path, form, 3))
    # Without the index nobody could say which of the two is meant.
    table = result.tables["decisions"].drop_columns("task_index")
    pq.write_table(table, tmp_path / "names.parquet")
    with pytest.raises(PolicyError, match="2 have that name: task_index says which"):
        cloudarena.simulate(spec, f"replay:{tmp_path / 'names.parquet'}", 3)


def test_a_task_has_one_number_in_decisions_tables_replay_and_messages(tmp_path: Path) -> None:
    spec = cluster(job(task(3), name="late", submit=2), job(task(5), task(1), name="early"), cpu=1)
    run = cloudarena.load(spec).start()
    assert run.decision.ready.tolist() == [0, 1]  # of the job that is submitted first
    with pytest.raises(InvalidAction, match=r"task 2 .job 'late', task 'task-1'. is not allowed"):
        run.apply((2, 0))
    run.apply((1, 0))
    run.play(POLICIES.resolve("first-fit"))
    result = run.result()
    names = [
        (row["task_index"], row["job"], row["task"]) for row in result.tables["tasks"].to_pylist()
    ]
    assert names == [(0, "early", "task-1"), (1, "early", "task-2"), (2, "late", "task-1")]
    for table in ("instances", "decisions"):
        for row in result.tables[table].to_pylist():
            assert (row["task_index"], row["job"], row["task"]) in names
    assert column(result, "task_index", "decisions")[0] == 1
    bad = "time_s,job,task,task_index,machine\n0,early,task-2,2,0\n"
    (tmp_path / "bad.csv").write_text(bad)
    with pytest.raises(
        PolicyError, match=r"line 2: task_index: 2 is not allowed: job 'early'.* is 1"
    ):
        play(spec, f"replay:{tmp_path / 'bad.csv'}")


def test_two_jobs_of_one_name_are_refused() -> None:
    spec = cluster(job(task(3), name="x"), job(task(5), name="x"), cpu=1)
    with pytest.raises(SpecError, match=r"jobs\[1\]\.name: 'x' is not allowed: it is a duplicate"):
        play(spec)


def test_names_that_look_like_numbers_replay_from_csv(tmp_path: Path) -> None:
    spec = cluster(job(task(name="01"), name="007"))
    result = play(spec)
    assert_same(result, replayed(spec, result, tmp_path, "csv"))


HEADER = "time_s,job,task,machine,instances\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER, "no start at 0.0 s, when nothing else can happen"),
        ("time_s,job,task\n0,job-1,task-1\n", "column 'machine' is missing"),
        (HEADER + "0,job-1,task-9,0,1\n", "line 2: job 'job-1', task 'task-9' is not in"),
        (HEADER + "0,job-1,task-1,0,1\n-1,job-1,task-1,1,1\n", "line 3: time_s: -1"),
        (HEADER + "0,job-1,task-1,0,1\n1,job-1,task-1,0,1\n", "a start at 1.0 s is not allowed"),
        (HEADER + "x,job-1,task-1,0,1\n", "line 2: time_s: 'x' is not allowed: a number"),
        (HEADER + "0,job-1,task-1,0,2\n", "2 instances of task 0 .job 'job-1', task 'task-1'. on"),
        (HEADER + "0,job-1,task-1,7,1\n", "machine 7 is not allowed"),
        (HEADER + "0,job-1,task-1,0,0\n", "0 instances"),
        (HEADER + "0,job-1,task-1,0,1.5\n", "line 2: instances"),
        (HEADER + "0,job-1,task-1,,1\n", "line 2: machine: is empty"),
    ],
)
def test_a_bad_replay_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "d.csv").write_text(text)
    spec = cluster(job(task(instances=2)), cpu=1)
    with pytest.raises(CloudarenaError, match=words):
        play(spec, f"replay:{tmp_path / 'd.csv'}")


@pytest.mark.parametrize("time", ["", "nan"])
def test_a_replay_without_a_time_is_named(tmp_path: Path, time: str) -> None:
    (tmp_path / "d.csv").write_text(f"{HEADER}{time},job-1,task-1,0,1\n")
    with pytest.raises(CloudarenaError, match="line 2: time_s"):
        play(ONE, f"replay:{tmp_path / 'd.csv'}")


def test_instances_are_one_each_where_the_replay_does_not_say(tmp_path: Path) -> None:
    table = pa.table({"time_s": [0.0, 0.0], "job": ["job-1"] * 2, "task": ["task-1"] * 2,
                      "machine": [1, 0]})  # fmt: skip
    pq.write_table(table, tmp_path / "d.parquet")
    result = play(
        cluster(job(task(instances=2)), cpu=1, count=2), f"replay:{tmp_path / 'd.parquet'}"
    )
    assert column(result, "machine") == [1, 0]


def test_a_task_that_fits_no_machine_is_refused_at_load(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cpu 3: no machine has room"):
        cloudarena.load(cluster(job(task(cpu=3))))
    path = tmp_path / "jobs.csv"
    path.write_text(
        "submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk\n0,5,65,0.1,1,1,2,0\n"
    )
    spec = {
        "scenario": "jobs",
        "machines": [{"count": 5, "cpu": 64, "memory": 1.0}],
        "workload": {"source": "cloudsimpy-csv", "path": str(path), "offset": 0, "jobs": 100},
    }
    with pytest.raises(SpecError, match=r"job 1, task 1.*cpu 65, memory 0\.1: no machine has room"):
        cloudarena.load(spec)
