"""Means and quantiles of times of which some had not ended."""

from __future__ import annotations

import math
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.measures import AtLeast, censored_mean, censored_quantiles, ratio

TIMES = st.lists(st.floats(0, 1e6), max_size=12)


def test_over_nothing_there_is_no_number() -> None:
    assert math.isnan(ratio(1.0, 0.0))
    assert math.isnan(censored_mean([]))
    assert all(math.isnan(value) for value in censored_quantiles([], [], (0.5, 0.95)))


def test_all_ended_is_the_ordinary_mean_and_quantile() -> None:
    assert censored_mean([1.0, 3.0]) == 2.0
    assert not isinstance(censored_mean([1.0, 3.0]), AtLeast)
    assert censored_quantiles([1.0, 2.0, 9.0], [], (0.5,)) == (2.0,)


def test_a_mean_with_unfinished_work_is_a_bound() -> None:
    mean = censored_mean([1.0, 2.0], [6.0])
    assert isinstance(mean, AtLeast)
    assert mean == 3.0
    assert repr(mean) == "AtLeast(3.0)"


def test_a_quantile_below_the_unfinished_is_exact_and_above_it_a_bound() -> None:
    finished, waited = [1.0, 2.0, 3.0, 4.0], [50.0]
    median, tail = censored_quantiles(finished, waited, (0.5, 0.95))
    assert median == 3.0
    assert not isinstance(median, AtLeast)
    assert isinstance(tail, AtLeast)


def test_a_quantile_that_is_one_of_the_finished_is_exact() -> None:
    (median,) = censored_quantiles([0.0, 9.0], [11.0], (0.5,))
    assert median == 9.0
    assert not isinstance(median, AtLeast)


def test_who_waited_briefly_may_yet_take_long() -> None:
    # Three of five had ended within 7, whatever becomes of the two; four had not.
    median, tail = censored_quantiles([5.0, 6.0, 7.0], [0.1, 0.1], (0.5, 0.75))
    assert (type(median), median) == (float, 7.0)
    assert (type(tail), tail) == (AtLeast, 6.0)  # the quantile if the two ended now


def test_a_share_that_had_just_ended_is_no_bound_by_rounding() -> None:
    for done in range(1, 400):
        ended = np.arange(1.0, done + 1)
        for open_ended in range(1, 30):
            level = (done - 1) / (done + open_ended - 1)  # the last of those that ended
            (known,) = censored_quantiles(ended, np.zeros(open_ended), (level,))
            assert not isinstance(known, AtLeast), (done, open_ended)
            assert math.isclose(known, done)


def test_a_bound_survives_the_way_to_another_process() -> None:
    assert isinstance(pickle.loads(pickle.dumps(AtLeast(2.0))), AtLeast)


@given(TIMES, st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=6))
def test_what_is_said_is_true_however_long_the_unfinished_take(
    finished: list[float], unfinished: list[tuple[float, float]]
) -> None:
    waited = [so_far for so_far, _ in unfinished]
    at_last = [*finished, *(so_far + more for so_far, more in unfinished)]
    if not at_last:
        return
    levels = (0.25, 0.5, 0.95)
    truth = np.quantile(at_last, levels)
    for known, true in zip(censored_quantiles(finished, waited, levels), truth, strict=True):
        if isinstance(known, AtLeast):
            assert known <= true * (1 + 1e-12) + 1e-9
        else:
            assert known >= true * (1 - 1e-12) - 1e-9
        if not waited:
            assert math.isclose(known, true, rel_tol=1e-12)
    assert censored_mean(finished, waited) <= np.mean(at_last) * (1 + 1e-12) + 1e-9


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=12), st.data())
def test_nobody_has_a_lower_quantile_for_work_left_waiting(
    times: list[float], data: st.DataObject
) -> None:
    """Those that are held back, and had lasted any time when the run ended, are no help."""
    held = data.draw(st.sets(st.integers(0, len(times) - 1)))
    finished = [time for k, time in enumerate(times) if k not in held]
    waited = [data.draw(st.floats(0, 1e6)) for _ in held]
    levels = (0.1, 0.5, 0.95)
    honest = censored_quantiles(times, (), levels)
    for known, true in zip(censored_quantiles(finished, waited, levels), honest, strict=True):
        assert isinstance(known, AtLeast) or known >= true * (1 - 1e-12) - 1e-9


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 5)), min_size=1, max_size=8),
    st.lists(st.floats(0, 1e6), max_size=4),
)
def test_times_that_are_counted_are_as_often_there(
    counted: list[tuple[float, int]], waited: list[float]
) -> None:
    times, counts = zip(*counted, strict=True)
    all_times = np.repeat(times, counts)
    levels = (0.0, 0.1, 0.5, 0.95, 1.0)
    found = censored_quantiles(times, waited, levels, counts)
    expected = censored_quantiles(all_times, waited, levels)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        assert math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    mean = censored_mean(times, waited, counts)
    assert math.isclose(mean, censored_mean(all_times, waited), rel_tol=1e-9, abs_tol=1e-9)
    assert isinstance(mean, AtLeast) == bool(waited)
