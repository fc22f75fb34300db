"""``cloudarena map``: what people type, and what they get."""

import json

import pyarrow.parquet as pq
import pytest

from cloudarena.mapping import HEURISTICS, generate_etc, map_tasks, read_etc

SMALL = ["--class", "inconsistent-high-low", "--tasks", "12", "--machines", "3"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "etc.csv"
    path.write_text("task,fast,slow\na,2,4\nb,3,1\nc,5,6\nd,4,9\n")
    return path


def test_a_file_gives_a_table_of_the_wanted_heuristics(cloudarena, file):
    code, out, err = cloudarena("map", file, "--heuristic", "min-min, olb,met")
    assert code == 0
    assert err == ""
    rows = [line.split()[:4] for line in out.splitlines() if line[2:9].strip() in HEURISTICS]
    # By hand in test_by_hand.py; mean ends: min-min (2 + 6 + 1 + 7) / 4, met (2 + 6 + 11 + 1) / 4.
    assert rows == [
        ["min-min", "7", "1.000", "4"], ["olb", "7", "1.000", "4"], ["met", "11", "1.571", "5"],
    ]  # fmt: skip
    assert "4 tasks on 2 machines, seed 0" in out
    assert "No mapping can end before 6 s." in out


def test_json_is_one_object_and_all_heuristics_by_default(cloudarena, file):
    code, out, err = cloudarena("map", file, "--json")
    assert code == 0
    assert err == ""
    summary = json.loads(out)
    assert summary["tasks"] == 4
    assert summary["lower_bound_s"] == 6
    assert list(summary["heuristics"]) == list(HEURISTICS)
    assert summary["heuristics"]["met"] == {
        "makespan_s": 11, "relative_makespan": 11 / 7, "flowtime_s": 20, "mean_finish_s": 5,
        "assignment": [0, 1, 0, 0],
    }  # fmt: skip


def test_a_matrix_of_a_class_is_drawn_by_the_seed(cloudarena):
    _, first, _ = cloudarena("map", *SMALL, "--json", "--seed", 4)
    _, second, _ = cloudarena("map", *SMALL, "--json", "--seed", 4)
    _, other, _ = cloudarena("map", *SMALL, "--json", "--seed", 5)
    assert first == second
    assert first != other
    etc = generate_etc("inconsistent-high-low", 12, 3, seed=4).times
    makespan = json.loads(first)["heuristics"]["ga"]["makespan_s"]
    assert makespan == map_tasks(etc, "ga", seed=4).makespan


def test_out_writes_a_table_per_heuristic(cloudarena, file, tmp_path):
    folder = tmp_path / "out"
    code, out, _ = cloudarena("map", file, "--heuristic", "met,min-min", "--out", folder)
    assert code == 0
    assert "metrics.json and 2 tables" in out
    assert {path.name for path in folder.iterdir()} == {
        "metrics.json", "met.parquet", "min-min.parquet",
    }  # fmt: skip
    assert pq.read_table(folder / "met.parquet").to_pydict() == {
        "task": ["a", "b", "c", "d"],
        "machine": ["fast", "slow", "fast", "fast"],
        "time_s": [2.0, 1.0, 5.0, 4.0],
        "finish_s": [2.0, 1.0, 11.0, 6.0],
    }
    summary = json.loads((folder / "metrics.json").read_text())
    assert list(summary["heuristics"]) == ["met", "min-min"]


def test_a_matrix_that_was_drawn_is_written_too_and_can_be_read(cloudarena, tmp_path):
    folder = tmp_path / "out"
    cloudarena("map", *SMALL, "--heuristic", "mct", "--out", folder)
    drawn = read_etc(folder / "etc.csv")
    assert (drawn.times == generate_etc("inconsistent-high-low", 12, 3).times).all()
    _, first, _ = cloudarena("map", *SMALL, "--json")
    _, second, _ = cloudarena("map", folder / "etc.csv", "--json")
    assert json.loads(first)["heuristics"] == json.loads(second)["heuristics"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["map"], "nothing to map: give a CSV file, or --class"),
        (["map", "missing.csv"], "missing.csv: does not exist"),
        (["map", "FILE", "--heuristic", "mim-min"], "Did you mean 'min-min'"),
        (["map", "FILE", "--heuristic", "min-min,"], "heuristic: '' is not allowed"),
        (["map", "FILE", "--class", "consistent-low-low"], "--class: is not allowed together"),
        (["map", "FILE", "--tasks", "3"], "--tasks: is not allowed together with a file"),
        (["map", "--class", "consistent-lo-low"], "Did you mean 'consistent-low-low'"),
        (["map", *SMALL, "--tasks", "0"], "tasks: 0 is not allowed: at least 1"),
        (["map", *SMALL, "--seed", "-1"], "-1"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cloudarena, file, arguments, message):
    code, out, err = cloudarena(*[str(file) if word == "FILE" else word for word in arguments])
    assert code == 2
    assert message in err
    assert out == ""
    assert "Traceback" not in err


def test_help_has_an_example(cloudarena):
    code, out, _ = cloudarena("map", "--help")
    assert code == 0
    assert "cloudarena map etc.csv" in out
