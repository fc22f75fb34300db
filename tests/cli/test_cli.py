"""What people type, and what they get."""

import errno
import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

SMALL = ["--set", "ticks=200", "--set", "workload.vms=300", "--set", "machines[0].count=3"]


def test_help_fits_one_screen(cloudarena):
    code, out, _ = cloudarena("--help")
    assert code == 0
    assert len(out.splitlines()) <= 40
    for command in ("scenarios", "policies", "run", "compare", "trace"):
        assert command in out


@pytest.mark.parametrize(
    "command",
    [["scenarios"], ["policies"], ["run"], ["compare"],
     ["trace", "describe"], ["trace", "convert"], ["trace", "generate"]],
)  # fmt: skip
def test_the_help_of_each_command_has_an_example(cloudarena, command):
    code, out, _ = cloudarena(*command, "--help")
    assert code == 0
    assert f"cloudarena {' '.join(command)}" in out


def test_scenarios_and_policies_are_listed_with_a_line_each(cloudarena):
    _, out, _ = cloudarena("scenarios")
    assert "vm/toy" in out
    assert "worked by hand" in out
    _, out, _ = cloudarena("policies", "vm")
    assert "best-fit" in out
    assert "The valid machine with the fewest free cores." in out
    _, out, _ = cloudarena("policies", "vm", "--json")
    assert "oracle-ilp" in json.loads(out)


def test_run_prints_one_json_object_and_nothing_else(cloudarena):
    code, out, err = cloudarena("run", "vm/toy", "--policy", "first-fit", "--json")
    assert code == 0
    assert err == ""
    summary = json.loads(out)
    assert summary["policy"] == "first-fit"
    assert summary["metrics"]["profit_usd"] == pytest.approx(0.59)


def test_run_prints_a_table_for_people(cloudarena):
    code, out, _ = cloudarena("run", "vm/toy")
    assert code == 0
    assert "profit_usd" in out
    assert "0.59" in out


def test_run_writes_metrics_and_tables(cloudarena, tmp_path):
    folder = tmp_path / "out"
    code, _, _ = cloudarena("run", "vm/toy", "--out", folder)
    assert code == 0
    names = {file.name for file in folder.iterdir()}
    assert names == {
        "metrics.json", "vms.parquet", "decisions.parquet", "machines.parquet", "series.parquet",
        "report.html", "spec.yaml",
    }  # fmt: skip
    assert json.loads((folder / "metrics.json").read_text())["metrics"]["failed"] == 1
    assert pq.read_table(folder / "series.parquet").num_rows == 4
    cloudarena("run", "vm/toy", "--record", "full", "--out", folder)
    assert (folder / "machines_series.parquet").exists()


def test_a_run_can_be_replayed_from_its_own_decisions(cloudarena, tmp_path):
    _, first, _ = cloudarena(
        "run", "vm/azure-like-10k", *SMALL, "--policy", "random", "--out", tmp_path / "a", "--json"
    )
    replay = f"replay:{tmp_path / 'a' / 'decisions.parquet'}"
    _, second, _ = cloudarena("run", "vm/azure-like-10k", *SMALL, "--policy", replay, "--json")
    assert json.loads(first)["metrics"] == json.loads(second)["metrics"]


def test_compare_writes_a_report_and_names_it(cloudarena, tmp_path):
    folder = tmp_path / "out"
    code, out, _ = cloudarena(
        "compare", "vm/azure-like-10k", *SMALL, "--policies", "best-fit,random",
        "--replications", 3, "--workers", 1, "--out", folder,
    )  # fmt: skip
    assert code == 0
    assert "report.html" in out
    assert "best-fit" in out
    assert (folder / "report.html").read_text().lower().startswith("<!doctype html>")
    assert pq.read_table(folder / "replications.parquet").num_rows == 6
    summary = json.loads((folder / "metrics.json").read_text())
    assert summary["policies"] == ["best-fit", "random"]


def test_compare_as_json(cloudarena):
    code, out, _ = cloudarena(
        "compare", "vm/toy", "--policies", "best-fit,random", "--replications", 2, "--json"
    )
    assert code == 0
    summary = json.loads(out)
    assert summary["metrics"]["random"]["failed"]["mean"] == 1
    assert "conclusion" in summary


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "vm/toi"], "Did you mean 'vm/toy'"),
        (["run", "vm/toy", "--policy", "best"], "policy: 'best' is not allowed"),
        (["run", "vm/toy", "--set", "ticks=0"], "ticks: 0 is not allowed: at least 1"),
        (["run", "vm/toy", "--record", "all"], "one of none, summary, full"),
        (["run", "missing.yaml"], "missing.yaml: does not exist"),
        (["policies", "vn"], "Did you mean 'vm'"),
        (["compare", "vm/toy", "--replications", "0"], "replications: 0 is not allowed"),
        (["run", "vm/toy", "--seed", "-1"], "seed: -1 is not allowed: a whole number, at least 0"),
        (["run"], "SPEC: is required"),
        (["runn"], "is not allowed: one of scenarios, policies"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cloudarena, arguments, message):
    code, out, err = cloudarena(*arguments)
    assert code == 2
    assert message in err
    assert out == ""
    assert "Traceback" not in err


def test_a_full_disk_leaves_nothing_half_written(cloudarena, tmp_path, monkeypatch):
    written = []

    def full(table, path, **_):
        path.write_bytes(b"half")
        written.append(path)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    code, _, err = cloudarena("run", "vm/toy", "--out", tmp_path / "out")
    assert code == 2
    assert "cannot be written: No space left on device" in err
    assert list(tmp_path.iterdir()) == []


def test_results_of_an_earlier_run_stay_when_the_next_cannot_be_written(
    cloudarena, tmp_path, monkeypatch
):
    cloudarena("run", "vm/toy", "--out", tmp_path / "out")
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    assert cloudarena("run", "vm/toy", "--seed", 1, "--out", tmp_path / "out")[0] == 2
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


def test_help_does_not_import_what_it_does_not_need():
    script = (
        "import sys; sys.argv = ['cloudarena', '--help']\n"
        "from cloudarena.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'scipy', 'pyarrow', 'pandas', 'torch'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_core_never_imports_the_extras():
    script = (
        "import sys, cloudarena, cloudarena.testing, cloudarena.report.pages.comparison\n"
        "cloudarena.compare('vm/toy', ['first-fit'], 2, workers=1)\n"
        # pandas is not looked for: pyarrow imports it by itself where it is installed.
        "extras = {'torch', 'plotly', 'fastapi', 'polars', 'duckdb'} & set(sys.modules)\n"
        "sys.exit(f'imported {extras}' if extras else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run", "vm/toy", "--seed", "x"], "--seed: 'x' is not allowed: a whole number"),
        (["run", "vm/toy", "--seed=1.5"], "--seed: '1.5' is not allowed: a whole number"),
        (["compare", "vm/toy", "--workers", "many"], "--workers: 'many' is not allowed: a whole"),
        (["optimize", "vm/toy", "--confidence", "x"], "--confidence: 'x' is not allowed: a number"),
        (["metrics", "reduce", "t.csv", "--ap", "x"], "--ap: 'x' is not allowed: a number"),
        (["run", "vm/toy", "--seed"], "--seed: needs a value"),
        (["run"], "SPEC: is required"),
        (["metrics", "reduce"], "TABLE: is required"),
        (
            ["run", "vm/toy", "--polcy", "x"],
            "--polcy: is not an option of cloudarena run. Did you mean '--policy'?",
        ),
        (["run", "vm/toy", "extra"], "cloudarena run: 'extra' is not allowed: no further argument"),
        (["rnu"], "cloudarena: 'rnu' is not allowed: one of scenarios, policies, run,"),
        (["metrics", "redcue"], "cloudarena metrics: 'redcue' is not allowed: one of reduce."),
        (["run", "vm/toy", "--json=yes"], "option '--json' does not take a value"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_one_line(cloudarena, arguments, line):
    code, out, err = cloudarena(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {line}")
    assert err.count("\n") == 1


def test_help_and_version_end_well(cloudarena):
    for arguments in (["--help"], ["run", "-h"], ["--version"]):
        code, out, err = cloudarena(*arguments)
        assert (code, err) == (0, "")
        assert out


LAZY = """
def lazy(decision):
    \"\"\"Refuses every VM.\"\"\"
    return -1
"""


def test_compare_does_not_crown_who_serves_nothing_unless_asked(cloudarena, tmp_path):
    (tmp_path / "mine.py").write_text(LAZY)
    names = f"first-fit,{tmp_path / 'mine.py'}:lazy"
    arguments = ("compare", "vm/azure-like-10k", *SMALL, "--policies", names, "--replications", "3")
    _, out, _ = cloudarena(*arguments, "--workers", "1", "--json", "--out", tmp_path / "out")
    summary = json.loads(out, parse_constant=pytest.fail)
    written = (tmp_path / "out" / "metrics.json").read_text()
    assert json.loads(written, parse_constant=pytest.fail) == {"format": 1, **summary}
    assert summary["confidence"] == 0.95
    assert summary["ignore_service"] is False
    _, out, _ = cloudarena(*arguments, "--workers", "1", "--json", "--ignore-service")
    ignoring = json.loads(out)
    assert ignoring["ignore_service"] is True
    assert ignoring["out_of_the_running"] == []
    if "unserved_share" in summary["metrics"]["first-fit"]:
        lazy = names.split(",")[1]
        assert summary["out_of_the_running"] == [lazy]
        assert summary["winner"] == "first-fit"
        assert (
            f"{lazy} leaves 100 % of VMs unserved and is out of the running"
            in summary["conclusion"]
        )
