"""M/G/1 by Pollaczek and Khinchine, and processor sharing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.queueing import md1, mg1, mg1_ps, mm1

LOADS = st.floats(0.0, 0.999)
TIMES = st.floats(1e-3, 1e3)


def test_mg1_by_hand():
    # Load 1/2, service 1 s: constant service waits (1/2) / (2 * 1/2) = 1/2 s, exponential 1 s; a
    # squared coefficient of variation of 4 waits (1/2 * 5) / (2 * 1/2) = 5/2 s.
    assert mg1(0.5, 1, [0, 1, 4]).wait_s == pytest.approx([0.5, 1, 2.5], rel=1e-15)
    assert mg1(0.5, 1, 4).response_s == pytest.approx(3.5, rel=1e-15)
    assert mg1(0.5, 1, 4).in_system == pytest.approx(1.75, rel=1e-15)
    assert md1(0.5, 1).response_s == pytest.approx(1.5, rel=1e-15)


@given(LOADS, TIMES)
def test_exponential_service_is_mm1_and_constant_service_waits_half_as_long(load, service):
    exponential = mg1(load / service, service, 1)
    assert exponential == pytest.approx(mm1(load / service, 1 / service), rel=1e-9)
    assert md1(load / service, service).wait_s == pytest.approx(exponential.wait_s / 2, rel=1e-12)


@given(LOADS, TIMES)
def test_processor_sharing_has_the_mean_of_mm1(load, service):
    shared = mg1_ps(load / service, service)
    assert shared == pytest.approx(mm1(load / service, 1 / service), rel=1e-9)
    assert shared.response_s == pytest.approx(service / (1 - load), rel=1e-9)


@given(LOADS, TIMES, st.floats(0, 100))
def test_littles_law(load, service, scv):
    queue = mg1(load / service, service, scv)
    assert queue.in_system == pytest.approx(queue.throughput * queue.response_s, rel=1e-12)
    assert queue.utilisation == pytest.approx(load, rel=1e-12)


def test_overload_is_infinite_and_nothing_is_quick():
    for distribution in (md1, mg1_ps):
        assert distribution([2, 3], 0.5).response_s.tolist() == [np.inf, np.inf]
        assert distribution([2, 3], 0.5).throughput.tolist() == [2, 2]
        assert distribution(0, 0.5).response_s == 0.5
        assert distribution(0, 0.5).in_system == 0


def test_shapes_are_broadcast():
    assert all(values.shape == (3,) for values in mg1(0.5, 1, [0, 1, 4]))
    assert all(np.shape(values) == () for values in mg1_ps(0.5, 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mg1(-1, 1, 1), "arrival_rate: -1 is not allowed"),
        (lambda: mg1(1, 0, 1), "service_s: 0 is not allowed: a finite number, more than 0"),
        (lambda: mg1(1, 1, -1), "scv: -1 is not allowed: a finite number, at least 0"),
        (lambda: mg1_ps(1, [1, np.inf]), r"service_s\[1\]: inf is not allowed"),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()
