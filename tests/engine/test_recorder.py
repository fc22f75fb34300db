"""Rows that a kernel appends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cloudarena.engine.recorder import Log, append, grown, is_full, make_log, recorded

NUMBERS = st.integers(-(2**63), 2**63 - 1)


def record(log: Log, rows: list[tuple[int, ...]]) -> Log:
    """As a kernel and its caller do: make room when there is none, then append."""
    for row in rows:
        if is_full(log):
            log = grown(log)
        append(log, row)
    return log


@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=40), room=st.integers(1, 8))
def test_what_was_appended_is_recorded_in_order(rows: list[tuple[int, ...]], room: int) -> None:
    log = record(make_log(3, room), rows)
    assert [tuple(row) for row in recorded(log).tolist()] == rows
    assert recorded(log).shape == (len(rows), 3)


def test_a_log_is_full_when_there_is_no_room_for_the_next_row() -> None:
    log = make_log(1, 2)
    assert not is_full(log)
    append(log, (1,))
    assert not is_full(log)
    append(log, (2,))
    assert is_full(log)
    larger = grown(log)
    assert not is_full(larger)
    assert len(larger.rows) == 4
    assert recorded(larger).tolist() == [[1], [2]]


def test_a_log_without_room_is_off() -> None:
    log = make_log(3, 0)
    assert not is_full(log)
    append(log, (1, 2, 3))
    assert not is_full(log)
    assert recorded(log).shape == (0, 3)
