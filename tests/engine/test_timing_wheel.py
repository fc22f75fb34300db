"""Events leave a timing wheel in the order of their ticks, and within one as they came."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.engine.timing_wheel import (
    EPOCH,
    NONE,
    begin_epoch,
    make_timing_wheel,
    plan,
    renumbered,
    take_next,
)

LATER = st.one_of(st.integers(1, 5), st.integers(1, 3 * EPOCH))


@settings(max_examples=25, deadline=None)
@given(delays=st.lists(LATER, min_size=1, max_size=40), renumber_at=st.integers(0, 40))
def test_events_leave_in_order(delays, renumber_at):
    ticks = 4 * EPOCH
    wheel, names = make_timing_wheel(len(delays), ticks), list(range(len(delays)))
    planned, left, number = [], [], 0
    for now in range(ticks):
        if now % EPOCH == 0:
            begin_epoch(wheel, now)
        while (event := take_next(wheel, now)) != NONE:
            left.append((now, names[event]))
        if now % 7 == 0 and number < len(delays):
            plan(wheel, now, now + delays[number], number)
            planned.append((now + delays[number], number))
            number += 1
            if number == renumber_at:  # all events keep their names under new numbers
                wheel = renumbered(wheel, np.arange(len(delays)), len(delays) + 3)
    assert left == sorted(one for one in planned if one[0] < ticks)


def test_what_is_gone_leaves_no_gap_in_the_numbers():
    wheel = make_timing_wheel(4, 100)
    for event, time in ((0, 1), (1, 9), (2, 1), (3, 9)):
        plan(wheel, 0, time, event)
    assert [take_next(wheel, 1) for _ in range(3)] == [0, 2, NONE]
    wheel = renumbered(wheel, np.array([1, 3]), 3)
    plan(wheel, 1, 9, 2)
    assert [take_next(wheel, 9) for _ in range(4)] == [0, 1, 2, NONE]
