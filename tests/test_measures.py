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
    (median,) = censored_quantiles([5.0, 6.0, 7.0], [0.1, 0.1], (0.5,))
    assert isinstance(median, AtLeast)  # 5 if the two end now, 7 if they never end
    assert median == 5.0


def test_a_bound_survives_the_way_to_another_process() -> None:
    assert isinstance(pickle.loads(pickle.dumps(AtLeast(2.0))), AtLeast)


@given(TIMES, st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=6))
def test_bounds_hold_however_long_the_unfinished_take(
    finished: list[float], unfinished: list[tuple[float, float]]
) -> None:
    waited = [so_far for so_far, _ in unfinished]
    at_last = [*finished, *(so_far + more for so_far, more in unfinished)]
    if not at_last:
        return
    truth = np.quantile(at_last, (0.25, 0.5, 0.95))
    for known, true in zip(
        censored_quantiles(finished, waited, (0.25, 0.5, 0.95)), truth, strict=True
    ):
        assert known <= true * (1 + 1e-12) + 1e-9
        if not isinstance(known, AtLeast):
            assert math.isclose(known, true, rel_tol=1e-9, abs_tol=1e-9)
    assert censored_mean(finished, waited) <= np.mean(at_last) * (1 + 1e-12) + 1e-9
