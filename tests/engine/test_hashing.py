"""Random numbers by keys and counters follow their distributions."""

import math

import numpy as np
import pytest
from scipy import stats

from cloudarena.engine.compiled import jit
from cloudarena.engine.hashing import LAYERS, TAIL, WIDTHS, exponential, make_key, normal, uniform

NUMBERS = 400_000


@jit
def drawn(key, numbers):
    """Uniform, normal and exponential numbers, (distribution, number): by requests and visits."""
    values = np.empty((3, numbers))
    for k in range(numbers):
        values[0, k] = uniform(key, k // 4, k % 4)
        values[1, k] = normal(key, k // 4, k % 4)
        values[2, k] = exponential(key, k // 4, k % 4)
    return values


@pytest.mark.parametrize(
    ("row", "distribution"), [(0, stats.uniform), (1, stats.norm), (2, stats.expon)]
)
def test_numbers_follow_their_distribution(row, distribution):
    values = drawn(make_key(0, "law"), NUMBERS)[row]
    assert stats.kstest(values, distribution.cdf).pvalue > 0.001
    assert len(np.unique(values)) == NUMBERS
    # Neighbours have nothing to do with each other.
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 4 / math.sqrt(NUMBERS)


def test_layers_are_of_one_area_and_the_tail_is_exponential():
    edges = np.exp(-WIDTHS)
    areas = WIDTHS[1:LAYERS] * np.diff(edges[1:])
    tail = TAIL * math.exp(-TAIL) + math.exp(-TAIL)
    assert areas == pytest.approx(tail, rel=1e-9)
    values = drawn(make_key(1, "law"), 4_000_000)[2]
    beyond = values[values > TAIL] - TAIL
    assert stats.binomtest(len(beyond), len(values), math.exp(-TAIL)).pvalue > 0.001
    assert stats.kstest(beyond, stats.expon.cdf).pvalue > 0.001
