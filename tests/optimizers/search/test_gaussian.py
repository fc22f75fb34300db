"""The process behind the search."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from cloudarena.optimizers.search.gaussian import (
    Measured,
    _squared,
    _unlikely,
    doubted,
    extended,
    fit,
)


def measured(count=50, seed=0):
    rng = np.random.default_rng(seed)
    points = np.column_stack((rng.random((count, 2)), rng.integers(0, 3, count)))
    truth = np.sin(5.0 * points[:, 0]) + points[:, 1] ** 2 + 0.5 * (points[:, 2] == 1)
    return points, truth, truth + rng.normal(0.0, 0.1, count)


ORDERED = np.array([True, True, False])


@pytest.mark.parametrize("turns", [None, 3])
def test_the_gradient_is_that_of_the_likelihood(turns):
    points, _, losses = measured(20)
    squared = _squared(points, points, ORDERED)
    shared = None if turns is None else in_turns(20, turns) / 2.0
    seen = Measured(points, losses, np.arange(1, 21), shared)
    at = np.array([-0.3, 0.2, 0.1, 0.3, -2.0, -1.0][: 5 if turns is None else 6])

    def value(parameters):
        return _unlikely(parameters, squared, seen)[0]

    gradient = _unlikely(at, squared, seen)[1]
    assert gradient == pytest.approx(approx_fprime(at, value, 1e-6), abs=1e-3)


def in_turns(count, turns):
    """Whether two of so many points have the same replications."""
    turn = np.arange(count) % turns
    return (turn[:, None] == turn).astype(float)


def test_what_a_replication_does_to_all_points_is_not_taken_for_their_own():
    """A replication is farther off than the points are apart: without it nothing is seen."""
    points, truth, losses = measured()
    luck = np.array([3.0, -2.0, 0.5, -4.0])[np.arange(50) % 4]
    every, one = np.full(50, 1), in_turns(50, 4)
    told, untold = (
        fit(Measured(points, losses + luck, every, shared), ORDERED) for shared in (one, None)
    )
    others, truth, _ = measured(100, seed=1)

    def off(process):
        error = process.predict(others)[0] - truth
        return (error - error.mean()).std()

    assert off(told) < 0.15
    assert off(untold) > 3.0 * off(told)
    assert told.noise < 0.3


def test_a_fit_predicts_what_it_did_not_see_and_knows_how_well():
    points, _, losses = measured()
    process = fit(Measured(points, losses, np.full(50, 1)), ORDERED)
    others, truth, _ = measured(100, seed=1)
    mean, deviation = process.predict(others)
    assert np.abs(mean - truth).mean() < 0.1
    assert np.mean(np.abs(mean - truth) < 3.0 * deviation) > 0.9


def test_what_is_believed_or_doubted_of_a_point():
    points, _, losses = measured()
    process = fit(Measured(points, losses, np.full(50, 5), in_turns(50, 5) / 5.0), ORDERED)
    new = np.array([[0.5, 0.5, 0.0]])
    mean, before = process.predict(new)
    sure, after = extended(process, new, mean).predict(new)
    assert after < before
    assert sure == pytest.approx(mean, abs=0.02)
    assert doubted(process, 0.7).predict(new)[1] > before
