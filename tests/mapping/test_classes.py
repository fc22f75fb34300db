"""Heuristics over several matrices of each of the twelve classes."""

import json

import numpy as np
import pytest

from cloudarena.experiments.mapping_classes import map_classes
from cloudarena.mapping import CLASSES, generate_etc, map_tasks


def test_each_cell_is_the_mean_over_matrices_of_the_class():
    done = map_classes(["min-min", "olb"], None, 20, 4, 3, seed=7, workers=1)
    assert done.classes == CLASSES
    assert done.makespans.shape == (12, 3, 2)
    name = "inconsistent-high-low"
    wanted = [
        map_tasks(generate_etc(name, 20, 4, seed).times, "olb", seed).makespan for seed in (7, 8, 9)
    ]
    estimate = done.makespan(name, "olb")
    assert estimate.mean == pytest.approx(np.mean(wanted))
    assert estimate.low < estimate.mean < estimate.high
    assert min(done.relative(name, one).mean for one in done.heuristics) >= 1.0
    assert done.table().num_rows == 12 * 3 * 2
    both = map_classes(["min-min", "olb"], None, 20, 4, 3, seed=7, workers=2)
    assert (both.makespans == done.makespans).all()


def test_the_command_has_all_twelve_classes_in_one_table(cloudarena, tmp_path):
    words = ("map", "--replications", 2, "--heuristic", "min-min,mct", "--tasks", 12)
    words += ("--machines", 3, "--workers", 1)
    code, out, _ = cloudarena(*words, "--out", tmp_path / "r")
    assert code == 0
    for name in CLASSES:
        assert name in out
    assert (tmp_path / "r" / "mappings.parquet").is_file()
    code, out, _ = cloudarena(*words, "--class", CLASSES[0], "--json")
    said = json.loads(out)
    assert list(said["classes"]) == [CLASSES[0]]
    assert {"mean", "low", "high"} <= set(said["classes"][CLASSES[0]]["mct"]["makespan_s"])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("etc.csv", "--replications", 2), "--replications: is not allowed together with a file"),
        (("--replications", 0), "replications: 0 is not allowed"),
        (("--replications", 2, "--class", "odd"), "class: 'odd' is not allowed"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(cloudarena, words, error):
    code, _, err = cloudarena("map", *words)
    assert code == 2
    assert error in err
    assert len(err.splitlines()) == 1
