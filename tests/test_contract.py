"""What a simulation of one's own gets from the contract, and what it may do itself."""

import json
import math

import pyarrow as pa
import pytest

import cloudarena
from cloudarena.base.measures import AtLeast
from cloudarena.contract import Result, Run


class Over(Run):
    """A run that has ended before it began."""

    now, is_deciding = 0.0, False

    def show(self):
        raise AssertionError("there is nothing to decide")

    def take(self, action):
        raise AssertionError("there is nothing to decide")

    def metrics(self):
        return {"profit_usd": 1.0}

    def tables(self):
        return {}


class Recorded(Over):
    def tables(self):
        return {"rows": pa.table({"row": [1, 2]})}


class OnItsOwn(Over):
    """Keeps nothing that the contract would keep for it."""

    def __init__(self):
        pass

    def result(self):
        return Result(self.metrics(), {}, "mine", 7)


@pytest.fixture
def scenario():
    return cloudarena.load("vm/toy")


def test_a_result_says_what_made_it(scenario):
    result = Over(scenario, 3, "full").result()
    assert result == Result(
        {"profit_usd": 1.0},
        {},
        "vm/toy",
        3,
        version=cloudarena.__version__,
        tick_seconds=3600.0,
        spec=scenario,
    )


def test_a_result_is_valid_json_that_says_which_metrics_are_bounds_or_have_no_value(tmp_path):
    metrics = {"profit_usd": 1.5, "makespan_s": AtLeast(185.0), "response_p95_s": math.nan}
    result = Result(metrics, {}, "made", 0)
    expected = {
        "metrics": {"profit_usd": 1.5, "makespan_s": 185.0, "response_p95_s": None},
        "at_least": ["makespan_s"],
    }
    written = (result.save(tmp_path / "out") / "metrics.json").read_text()
    for text in (written, json.dumps(result.summary(), allow_nan=False)):
        plain = json.loads(text, parse_constant=pytest.fail)
        assert {key: plain[key] for key in expected} == expected
    assert isinstance(result.metrics["makespan_s"], AtLeast)


@pytest.mark.parametrize(("record", "names"), [("none", []), ("summary", ["rows"])])
def test_tables_are_there_if_they_are_recorded(scenario, record, names):
    assert list(Recorded(scenario, 0, record).result().tables) == names


def test_a_simulation_may_make_its_result_itself():
    assert OnItsOwn().result().scenario == "mine"
