"""The scenario jobs from the command line."""

import json

import pyarrow.parquet as pq
import pytest

SMALL = ["--set", "workload.jobs=2"]


@pytest.mark.parametrize(("policy", "makespan"), [("first-fit", 400), ("critical-path", 300)])
def test_run_as_json(cloudarena, policy, makespan):
    code, out, err = cloudarena("run", "jobs/toy", "--policy", policy, "--json")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["policy"] == policy
    assert summary["metrics"]["makespan_s"] == makespan
    assert summary["metrics"]["jobs_finished"] == 1


def test_run_writes_its_tables(cloudarena, tmp_path):
    folder = tmp_path / "out"
    code, _, _ = cloudarena("run", "jobs/toy", "--record", "full", "--out", folder)
    assert code == 0
    tables = ("instances", "tasks", "jobs", "machines", "decisions", "series", "machines_series")
    files = {"metrics.json", "report.html", "spec.yaml", *(f"{name}.parquet" for name in tables)}
    assert {file.name for file in folder.iterdir()} == files
    assert pq.read_table(folder / "instances.parquet")["start"].to_pylist() == [0, 0, 100, 200, 300]


def test_a_run_can_be_replayed_from_its_own_decisions(cloudarena, tmp_path):
    jobs = ["jobs/alibaba-like-10", *SMALL, "--seed", 4, "--json"]
    _, first, _ = cloudarena("run", *jobs, "--policy", "random", "--out", tmp_path / "a")
    replay = f"replay:{tmp_path / 'a' / 'decisions.parquet'}"
    _, second, _ = cloudarena("run", *jobs, "--policy", replay)
    assert json.loads(second)["metrics"] == pytest.approx(json.loads(first)["metrics"], rel=1e-12)


def test_compare_as_json(cloudarena):
    code, out, _ = cloudarena(
        "compare", "jobs/alibaba-like-10", *SMALL, "--policies", "first-fit,sjf,min-min",
        "--replications", 2, "--workers", 1, "--json",
    )  # fmt: skip
    assert code == 0
    summary = json.loads(out)
    assert summary["policies"] == ["first-fit", "sjf", "min-min"]
    for policy in summary["policies"]:
        assert summary["metrics"][policy]["jobs_finished"]["mean"] == 2
    assert "completion_mean_s" in summary["conclusion"]


def test_describe_as_json(cloudarena):
    code, out, err = cloudarena("trace", "describe", "jobs/alibaba-like-10", "--json")
    assert (code, err) == (0, "")
    figures = json.loads(out)["jobs/alibaba-like-10"]
    assert figures["jobs"] == 10
    assert figures["instances"] > figures["tasks"] >= 10


def test_policies_are_listed(cloudarena):
    _, out, _ = cloudarena("policies", "jobs", "--json")
    assert {"first-fit", "easy-backfilling", "drf-users", "min-min"} <= set(json.loads(out))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "machines[0].cpu=0.5"], "job 'nightly', task 'clean'"),
        (
            ["--set", "known=[]", "--policy", "sjf"],
            "policy sjf: needs known: [estimates] or [durations]",
        ),
        (["--policy", "drf-user"], "Did you mean 'drf-users'"),
        (["--set", "scheduling_interval=-1"], "scheduling_interval: -1 is not allowed"),
        (["--set", "failures.mtbf_s=1"], "failures: mttr_s: is required"),
        (["--set", "failures.path=none.csv"], "none.csv: does not exist"),
        (["--policy", "replay:none.csv"], "none.csv: does not exist"),
        (["--set", "workload.jobs[0].tasks[0].parents=[x]"], "'x' is not allowed: one of clean"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cloudarena, arguments, message):
    code, out, err = cloudarena("run", "jobs/toy", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
