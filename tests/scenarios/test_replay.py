"""Files of decisions: rows, and errors that say where."""

import pyarrow as pa
import pytest

from cloudarena.base.errors import PolicyError, TraceError
from cloudarena.scenarios import replay
from cloudarena.scenarios.replay import DecisionFile


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "decisions.csv"
    file.write_text("vm,machine\na,0\nb,1\n")
    return file


def test_rows_come_with_their_numbers(path):
    file = DecisionFile(path, {"vm": None, "machine": pa.int64()})
    assert file.name == f"replay:{path}"
    assert list(file._rows()) == [(0, {"vm": "a", "machine": 0}), (1, {"vm": "b", "machine": 1})]


def test_an_error_says_where(path):
    file = DecisionFile(path, {"vm": None, "machine": None})
    assert isinstance(file._error("is wrong"), PolicyError)
    assert str(file._error("is wrong")) == f"{path}: is wrong"
    assert str(file._error("vm: is wrong", 1)) == f"{path}, line 3: vm: is wrong"


def test_a_column_that_is_missing_is_an_error(path):
    with pytest.raises(TraceError, match="column 'tick' is missing"):
        DecisionFile(path, {"vm": None, "tick": None}, {"machine": None})


def test_a_line_is_not_looked_for_without_need(path, monkeypatch):
    """To find a line of a CSV means to read up to it: for each row that would take for ever."""
    monkeypatch.setattr(replay, "location", None)
    assert len(list(DecisionFile(path, {"vm": None, "machine": None})._rows())) == 2
