"""``cloudarena`` on workflows: what people type, and what they get."""

import json

import pyarrow.parquet as pq
import pytest

SMALL = ["--set", "workload.workflows=3"]
TABLES = {"functions", "workflows", "leases", "nodes", "decisions", "series"}


def test_run_as_json(cloudarena):
    code, out, err = cloudarena("run", "workflow/demo", "--json")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["policy"] == "earliest-finish"
    assert summary["metrics"]["workflows"] == 20
    assert summary["metrics"]["functions"] == 400
    assert summary["metrics"]["slowdown_mean"] >= 1
    assert summary["metrics"]["rent_usd"] > 0


def test_run_prints_a_table_for_people(cloudarena):
    code, out, _ = cloudarena("run", "workflow/demo", *SMALL, "--policy", "heft")
    assert code == 0
    assert "makespan_mean_s" in out
    assert "rent_usd" in out


def test_a_run_is_written_and_can_be_replayed(cloudarena, tmp_path):
    folder = tmp_path / "out"
    _, first, _ = cloudarena(
        "run", "workflow/demo", *SMALL, "--policy", "random", "--seed", 4, "--record", "full",
        "--out", folder, "--json",
    )  # fmt: skip
    names = {file.stem for file in folder.glob("*.parquet")}
    assert names == TABLES
    assert pq.read_table(folder / "functions.parquet").num_rows == 60
    for table in ("decisions", "functions"):
        replay = f"replay:{folder / table}.parquet"
        code, second, err = cloudarena(
            "run", "workflow/demo", *SMALL, "--seed", 4, "--policy", replay, "--json"
        )
        assert (code, err) == (0, "")
        assert json.loads(first)["metrics"] == json.loads(second)["metrics"]


def test_compare_as_json(cloudarena):
    code, out, _ = cloudarena(
        "compare", "workflow/demo", *SMALL, "--policies", "cheapest,round-robin",
        "--replications", 3, "--workers", 1, "--json",
    )  # fmt: skip
    assert code == 0
    summary = json.loads(out)
    means = {name: values["rent_usd"]["mean"] for name, values in summary["metrics"].items()}
    assert means["cheapest"] < means["round-robin"]


def test_trace_describe(cloudarena):
    code, out, err = cloudarena("trace", "describe", "workflow/demo", "--json")
    assert (code, err) == (0, "")
    figures = json.loads(out)["workflow/demo"]
    assert figures["workflows"] == 20
    assert figures["functions"] == 400
    assert figures["critical_path_max_s"] >= figures["critical_path_mean_s"] > 0
    code, out, _ = cloudarena("trace", "describe", "workflow/demo")
    assert code == 0
    assert any(line.split() == ["workflows", "20"] for line in out.splitlines())


def test_policies_are_listed_with_a_line_each(cloudarena):
    code, out, _ = cloudarena("policies", "workflow")
    assert code == 0
    for name in ("round-robin", "earliest-finish", "cheapest", "critical-path-first", "heft"):
        assert name in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "workflow/demoo"], "Did you mean 'workflow/demo'"),
        (["run", "workflow/demo", "--policy", "chepest"], "Did you mean 'cheapest'"),
        (["run", "workflow/demo", "--policy", "replay:no.csv"], "no.csv: does not exist"),
        (["run", "workflow/demo", "--set", "work=float"], "work: 'float' is not allowed"),
        (
            ["run", "workflow/demo", "--set", "cluster.servers[0].count=-1"],
            "cluster.servers[0].count: -1 is not allowed: at least 0",
        ),
        (
            ["run", "workflow/demo", "--set", "cluster.numa_bandwidth=1"],
            "each must be more than the next",
        ),
        (["run", "workflow/demo", "--set", "memory_options=[4,2]"], "rising numbers"),
        (["run", "workflow/demo", "--set", "workload.shapes=[montag]"], "is not allowed: one of"),
        (
            ["run", "workflow/demo", "--set", "workload=missing.json"],
            "missing.json: does not exist",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cloudarena, arguments, message):
    code, out, err = cloudarena(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1
