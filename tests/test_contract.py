"""What a simulation of one's own gets from the contract, and what it may do itself."""

import pyarrow as pa
import pytest

import cloudarena
from cloudarena.contract import Result, Simulation


class Over(Simulation):
    """A run that has ended before it began."""

    now, decision = 0.0, None

    def apply(self, action):
        raise AssertionError("there is nothing to decide")

    def metrics(self):
        return {"profit_usd": 1.0}


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
    assert result == Result({"profit_usd": 1.0}, {}, "vm/toy", 3, version=cloudarena.__version__)


@pytest.mark.parametrize(("record", "names"), [("none", []), ("summary", ["rows"])])
def test_tables_are_there_if_they_are_recorded(scenario, record, names):
    assert list(Recorded(scenario, 0, record).result().tables) == names


def test_a_simulation_may_make_its_result_itself():
    assert OnItsOwn().result().scenario == "mine"
