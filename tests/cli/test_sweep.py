"""``cloudarena sweep`` and ``cloudarena results``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cloudarena.base.yaml import write_yaml
from tests.experiments.sweep.small import SPEC, experiment

HERE = ("--executor", "cloudarena.base.parallel:SerialExecutor")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.yaml"
    path.write_text(write_yaml(experiment(4)))
    return path


@pytest.fixture
def store(cloudarena, file: Path, tmp_path: Path) -> Path:
    code, _, err = cloudarena("sweep", file, "--store", tmp_path / "s", *HERE)
    assert code == 0, err
    return tmp_path / "s"


def said(outcome: tuple[int, str, str]) -> Any:
    code, out, err = outcome
    assert code == 0, err
    return json.loads(out)


def test_the_plan_is_printed_first_and_alone_when_asked(cloudarena, file, tmp_path) -> None:
    code, out, _ = cloudarena("sweep", file, "--dry-run")
    assert code == 0
    assert "policies: equal, proportional\nvaried: vms (grid)\n" in out
    assert "4 cells x 4 replications = 16 runs" in out
    assert said(cloudarena("sweep", file, "--dry-run", "--json"))["runs"] == 16
    assert not (tmp_path / "results").exists()


def test_a_sweep_says_what_came_out_and_writes_its_page(cloudarena, file, tmp_path) -> None:
    code, out, err = cloudarena("sweep", file, "--store", tmp_path / "s", *HERE)
    assert code == 0
    assert out.startswith("16 runs.\nclusters: ")
    assert "16 runs" in err
    page = (tmp_path / "s" / "report.html").read_text()
    assert "Responses" in page or "vms" in page
    again = said(cloudarena("sweep", file, "--store", tmp_path / "s", "--json", *HERE))
    assert (again["ran"], again["found"]) == (0, 16)


def test_a_run_that_fails_makes_the_exit_code_one(cloudarena, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def mine(decision):\n    raise ValueError('no idea')\n")
    file = tmp_path / "e.yaml"
    file.write_text(write_yaml({"spec": SPEC, "policies": ["mine.py:mine"], "replications": 2}))
    code, out, err = cloudarena("sweep", file, "--store", tmp_path / "s", *HERE)
    assert code == 1
    assert "2 runs failed:" in err
    assert "no idea" in err
    assert "--retry failed" in err
    assert "2 runs." in out
    rows = said(cloudarena("results", tmp_path / "s", "--failures", "--json"))["rows"]
    assert [row["seed"] for row in sorted(rows, key=lambda row: row["seed"])] == [0, 1]
    again = cloudarena("sweep", file, "--store", tmp_path / "s", "--json", *HERE)
    assert (again[0], json.loads(again[1])["found"]) == (1, 2)
    retried = cloudarena("sweep", file, "--store", tmp_path / "s", "--retry", "failed", *HERE)
    assert retried[0] == 1
    assert "2 runs." in retried[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--retry", "all"], "--retry: 'all' is not allowed: failed"),
        (["--timeout", "0"], "timeout: 0 is not allowed"),
        (["--memory", "lots"], "memory: 'lots' is not allowed"),
        (["--until", "soon"], "--until: 'soon' is not allowed"),
        (["--cluster", "x"], "--cluster: 'x' is not allowed"),
        (["--workers", "0"], "workers: 0 is not allowed"),
    ],
)
def test_what_cannot_be_used_is_a_line_and_leaves_nothing(
    cloudarena, file: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    code, out, err = cloudarena("sweep", file, "--store", tmp_path / "s", *options)
    assert (code, out) == (2, "")
    assert f"error: {words}" in err
    assert not (tmp_path / "s" / "runs").exists()


def test_an_experiment_that_is_not_there(cloudarena, tmp_path: Path) -> None:
    code, _, err = cloudarena("sweep", tmp_path / "none.yaml")
    assert code == 2
    assert "does not exist: a YAML file of an experiment is needed" in err


def test_results_show_cells_and_rows(cloudarena, store: Path) -> None:
    code, out, _ = cloudarena("results", store)
    assert code == 0
    assert "clusters: 4 cells, 16 runs" in out
    assert "proportional vms=4" in out
    cells = said(cloudarena("results", store, "--json"))["cells"]["clusters"]
    assert [cell["replications"] for cell in cells] == [4] * 4
    where = ("--where", "policy = 'equal' and vms = 3")
    assert len(said(cloudarena("results", store, *where, "--json"))["rows"]) == 4
    assert "equal" in cloudarena("results", store, *where)[1]
    query = "select policy, count(*) as n from runs group by 1 order by 1"
    assert said(cloudarena("results", store, "--sql", query, "--json"))["rows"] == [
        {"policy": "equal", "n": 8},
        {"policy": "proportional", "n": 8},
    ]


def test_results_compare_and_tell_what_matters(cloudarena, store: Path, tmp_path: Path) -> None:
    found = said(cloudarena("results", store, "--compare", "1,3", "--json"))
    assert found["policies"] == ["equal vms=3", "proportional vms=3"]
    assert cloudarena("results", store, "--compare", "all")[0] == 0
    tables = said(cloudarena("results", store, "--sensitivity", "--json"))["sensitivity"]
    assert [table["rows"][0]["key"] for table in tables] == ["vms", "vms"]
    assert "variance between levels" in cloudarena("results", store, "--sensitivity")[1]
    assert cloudarena("results", store, "--report", tmp_path / "page.html")[0] == 0
    assert (tmp_path / "page.html").stat().st_size > 100_000


def test_results_are_merged(cloudarena, store: Path) -> None:
    before = {file.name: file.read_bytes() for file in (store / "runs").iterdir()}
    assert said(cloudarena("results", store, "--compact", "--json")) == {
        "compacted": 16,
        "files": 1,
    }
    assert {file.name: file.read_bytes() for file in (store / "runs").iterdir()} == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sql", "selec"], "--sql: 'selec' is not allowed: Parser Error"),
        (["--where", "nothing = 3"], "--where: 'nothing = 3' is not allowed: Binder Error"),
        (["--compare", "9,1"], "compare: '9' is not allowed: a number of a cell, 1 to 4"),
        (["--metric", "profit"], "metric: 'profit' is not allowed: one of"),
    ],
)
def test_questions_that_make_no_sense(cloudarena, store, options, words) -> None:
    code, _, err = cloudarena("results", store, *options)
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1


def test_a_folder_that_is_no_store(cloudarena, tmp_path: Path) -> None:
    code, _, err = cloudarena("results", tmp_path)
    assert code == 2
    assert "holds no results of a sweep" in err
