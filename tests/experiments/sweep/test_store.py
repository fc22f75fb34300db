"""The store: whatever happens, in whichever order, it ends the same, and nothing is lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.measures import AtLeast
from cloudarena.experiments.sweep.ledger import Ledger, Outcome
from cloudarena.experiments.sweep.results import open_results
from cloudarena.experiments.sweep.rows import joined, part_name, table_of
from cloudarena.experiments.sweep.run_key import run_key
from cloudarena.experiments.sweep.store import Store, write_part

from .small import rows

Row = tuple[str, dict[str, Any], int, dict[str, float]]


def row(number: int) -> Row:
    level: Any = [1, 1.5, 2, "auto", True, None][number % 6]
    columns = {"cell": "0", "scenario": "x", "case": "", "policy": f"p{number % 3}", "a.key": level}
    time = AtLeast(float(number)) if number % 4 == 0 else float(number) / 7
    cost = float("nan") if number % 5 == 0 else 1.0 / (number + 1)
    return run_key(b"cell", number), columns, number, {"cost_usd": cost, "time_s": time}


def outcomes(numbers: list[int], error: str = "") -> list[Outcome]:
    return [Outcome(row(number)[0], error, 0.1, "{}", number) for number in numbers]


def put(store: Store, numbers: list[int], noted: bool = True) -> None:
    """What a worker does, and, if it is noted, the sweep."""
    table = table_of([row(number) for number in numbers])
    name = part_name("x", table["key"].to_pylist())
    write_part(store.runs, name, table)
    if noted:
        store.note(outcomes(numbers), name, len(numbers))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a store of 30 runs that were put there at once."""
    home = tmp_path_factory.mktemp("whole")
    with Store(home) as store:
        put(store, list(range(30)))
        store.compact()
    return rows(home)


STEPS = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 29), st.integers(1, 12)),
    st.tuples(st.just("killed before noting"), st.integers(0, 29), st.integers(1, 12)),
    st.tuples(st.just("failed"), st.integers(0, 29), st.integers(1, 12)),
    st.tuples(st.just("compact"), st.just(0), st.just(0)),
    st.tuples(st.just("open again"), st.just(0), st.just(0)),
)


@settings(max_examples=15)
@given(st.lists(STEPS, max_size=12))
def test_any_history_ends_in_the_same_bytes(
    whole: dict[str, bytes], steps: list[tuple[str, int, int]]
) -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder) / "store"
        done: set[int] = set()
        store = Store(home)
        for what, start, count in steps:
            numbers = list(range(start, min(30, start + count)))
            if what == "put":
                put(store, numbers)
                done.update(numbers)
            elif what == "killed before noting":
                put(store, numbers, noted=False)
                store.ledger.close()
                store = Store(home)  # which notes what was written
                done.update(numbers)
            elif what == "failed":
                store.note(outcomes(numbers, "no luck"), "", 0)
            elif what == "compact":
                store.compact()
            else:
                store.ledger.close()
                store = Store(home)
            assert store.ledger.keys("done") == {row(number)[0] for number in done}
            found = open_results(home).arrow()
            assert sorted(found["seed"].to_pylist() if len(done) else []) == sorted(done)
        missing = [number for number in range(30) if number not in done]
        if missing:
            put(store, missing)
        store.compact()
        assert store.ledger.counts() == {"done": 30, "failed": 0}
        store.ledger.close()
        assert rows(home) == whole


def test_a_merge_that_is_killed_before_the_exchange_changes_nothing(
    tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    store = Store(tmp_path / "s")
    put(store, list(range(20)))
    put(store, list(range(20, 30)))
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "replace_parts", killed)
        with pytest.raises(KeyboardInterrupt):
            store.compact()
    store.ledger.close()
    assert len(rows(tmp_path / "s")) == 3
    with Store(tmp_path / "s") as again:  # the merged file holds what is noted already: it goes
        assert len(rows(tmp_path / "s")) == 2
        again.compact()
    assert rows(tmp_path / "s") == whole


def test_a_merge_that_is_killed_after_the_exchange_is_swept(
    tmp_path: Path, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "s")
    put(store, list(range(20)))
    put(store, list(range(20, 30)))
    with monkeypatch.context() as patch:
        patch.setattr(Store, "_remove_merged", lambda _: None)
        store.compact()
    store.ledger.close()
    assert len(open_results(tmp_path / "s").arrow()) == 30
    with Store(tmp_path / "s"):
        pass
    assert rows(tmp_path / "s") == whole


def test_types_are_joined_whatever_comes_first() -> None:
    tables = [table_of([row(number)]) for number in range(12)]
    forward, backward = joined(tables), joined(tables[::-1])
    assert forward.equals(backward)
    assert joined([joined(tables[:5]), joined(tables[5:])]).equals(forward)
    assert forward["a.key"].to_pylist().count("1") == 2
    assert joined([table_of([row(0)]), table_of([row(1)])])["a.key"].type == pa.float64()
    assert joined([table_of([row(0)]), table_of([row(2)])])["a.key"].type == pa.int64()


def test_bounds_and_missing_values_are_kept() -> None:
    table = table_of([row(0), row(4)])
    assert table["at_least"].to_pylist() == ["time_s", "time_s"]
    assert table["cost_usd"].to_pylist() == [None, 0.2]


def test_a_key_of_the_spec_that_is_called_as_a_metric_is_told_apart() -> None:
    cell = {"cell": "0", "scenario": "x", "case": "", "policy": "p", "seed": 5}
    one = ("00", cell, 1, {"boots": 2.0})
    assert table_of([one])["set.seed"].to_pylist() == [5]


def test_runs_that_another_sweep_is_at_are_left_to_it(tmp_path: Path) -> None:
    keys = [row(number)[0] for number in range(4)]
    with Store(tmp_path / "s") as store, Ledger(tmp_path / "s" / "ledger.sqlite") as other:
        assert store.ledger.claim(keys[:3]) == (keys[:3], [])
        assert other.claim(keys) == (keys[3:], keys[:3])
        store.ledger.record(outcomes([0]))
        assert other.claim(keys[:2]) == ([], keys[1:2])
        store.ledger._base.execute("UPDATE owners SET beat = 0")  # it has been silent for long
        assert other.claim(keys[1:2]) == (keys[1:2], [])


def test_a_run_that_fails_and_then_succeeds_is_done(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.note(outcomes([1], "no luck"), "", 0)
        store.note(outcomes([1], "no luck again"), "", 0)
        (failure,) = store.ledger.failures()
        assert (failure.tries, failure.error) == (2, "no luck again")
        put(store, [1])
        assert store.ledger.counts() == {"done": 1, "failed": 0}
        store.note(outcomes([1], "too late"), "", 0)
        assert store.ledger.counts() == {"done": 1, "failed": 0}


def test_a_ledger_that_is_none_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_text("this is not a database, of which SQLite has some")
    with pytest.raises(CloudarenaError, match="cannot be used: file is not a database"):
        Store(tmp_path)


def test_a_ledger_of_another_version_is_a_line(tmp_path: Path) -> None:
    with Store(tmp_path):
        pass
    base = sqlite3.connect(tmp_path / "ledger.sqlite")
    base.execute("UPDATE meta SET value='99'")
    base.commit()
    base.close()
    with pytest.raises(CloudarenaError, match="is not of this version: format 99"):
        Store(tmp_path)


def test_a_store_that_may_not_be_written_to_is_read(tmp_path: Path) -> None:
    home = tmp_path / "s"
    with Store(home) as store:
        put(store, [1, 2, 3])
        store.compact()
    home.chmod(0o555)
    try:
        assert open_results(home).arrow().num_rows == 3
    finally:
        home.chmod(0o755)


def test_a_folder_without_a_store_is_a_line(tmp_path: Path) -> None:
    with pytest.raises(CloudarenaError, match=r"holds no results of a sweep: ledger.sqlite"):
        open_results(tmp_path)
    with pytest.raises(CloudarenaError, match="does not exist"):
        open_results(tmp_path / "none")


def test_a_ledger_that_is_being_made_is_not_ready_for_who_reads(tmp_path: Path):
    with sqlite3.connect(tmp_path / "ledger.sqlite") as base:
        base.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)")
    with pytest.raises(CloudarenaError, match="is not ready"):
        Ledger(tmp_path / "ledger.sqlite", read_only=True)
