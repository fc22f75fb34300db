"""Weights from judgements in pairs, and from files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.experiments.metric_table import MetricTable, read_weights, reduce_table
from cloudarena.reduction import priorities, synthetic_metrics

NAMES = ("cost", "delay", "energy", "waste")


@given(st.lists(st.floats(0.05, 20), min_size=1, max_size=16))
def test_consistent_judgements_give_back_their_weights(values):
    weights = np.array(values) / np.sum(values)
    found = priorities(np.divide.outer(weights, weights))
    assert found.weights == pytest.approx(weights, rel=1e-9)
    assert found.consistency_ratio == pytest.approx(0, abs=1e-9)


def test_by_hand():
    # The circle a > b > c > a by 2 each: all weigh alike; the largest eigenvalue is 1 + 2 + 1/2,
    # so the index is (3.5 - 3) / 2 = 0.25, and 0.25 / 0.58 of judgements at random.
    found = priorities([[1, 2, 1 / 2], [1 / 2, 1, 2], [2, 1 / 2, 1]])
    assert found.weights == pytest.approx([1 / 3] * 3)
    assert found.consistency_ratio == pytest.approx(0.25 / 0.58)


@pytest.mark.parametrize(
    ("judgements", "message"),
    [
        ([[1, 2], [2, 1]], r"judgements\[0, 1\]: 2 is not allowed: the reciprocal of .* 0.5"),
        ([[1, 2]], "judgements: the shape"),
        ([[1, -2], [-0.5, 1]], r"judgements\[0, 1\]: -2 is not allowed"),
    ],
)
def test_bad_judgements(judgements, message):
    with pytest.raises(SpecError, match=message):
        priorities(judgements)


def table() -> MetricTable:
    return MetricTable("made", NAMES, synthetic_metrics(60, 4, seed=1), ("lower",) * 4)


def test_weights_from_a_file_count_in_the_score(tmp_path: Path) -> None:
    file = tmp_path / "weights.csv"
    file.write_text("metric,weight\ndelay,3\ncost,1\n")
    weights = read_weights(file, table())
    assert weights.values.tolist() == [1, 3, 0, 0]
    done = reduce_table(table(), keep=2, weights=weights)
    assert sorted(done.chosen) == ["cost", "delay"]  # the score follows from these alone
    assert done.reduction.step.residual_sd == pytest.approx(0, abs=1e-6)
    assert done.summary()["weights"] == {"cost": 1, "delay": 3, "energy": 0, "waste": 0}
    assert "consistency" not in done.conclusion()


def test_judgements_from_a_file_are_said_to_agree_or_not(tmp_path: Path) -> None:
    file = tmp_path / "judgements.csv"
    file.write_text("metric,cost,delay\ncost,1,3\ndelay,0.33,1\n")
    weights = read_weights(file, table())
    assert weights.values == pytest.approx([0.75, 0.25, 0, 0], abs=0.002)
    said = reduce_table(table(), keep=2, weights=weights).conclusion()
    assert "The consistency ratio of the judgements is 0: they agree." in said
    file.write_text("metric,cost,delay,energy\ncost,1,9,0.111\ndelay,0.111,1,9\nenergy,9,0.111,1\n")
    said = reduce_table(table(), keep=3, weights=read_weights(file, table())).conclusion()
    assert "they contradict each other" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metric,weight\nprice,1\n", "metric: 'price' is not allowed"),
        ("metric,weight\ncost,-1\n", "weight: -1 is not allowed: at least 0"),
        ("metric,weight\ncost,1\ncost,2\n", "2 rows are not allowed: one for each metric"),
        ("metric,weight\ncost,much\n", "weight: is not allowed: a number in each row"),
        ("metric,cost\ncost,1\ndelay,2\n", "the columns metric, cost are not allowed"),
    ],
)
def test_bad_files_of_weights(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "weights.csv"
    file.write_text(text)
    with pytest.raises(CloudarenaError, match=message):
        read_weights(file, table())
