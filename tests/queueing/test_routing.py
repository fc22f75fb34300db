"""Walks along a chain of tiers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.queueing import forward_probabilities, reach, visits
from cloudarena.queueing.routing import ROUTINGS, steps, traverse

FORWARD = st.lists(st.floats(0, 0.95), max_size=6)


def test_by_hand():
    # P = (0.8, 0.6). By depth: 1, 0.8 and 0.48 come to the tiers, and 0.8, 0.48 pass again. On a
    # random walk V3 = 0.6 V2, V2 = 0.8 V1 + V3, V1 = 1 + 0.4 V2: (5, 10, 6).
    assert reach([0.8, 0.6]) == pytest.approx([1, 0.8, 0.48])
    assert visits([0.8, 0.6]) == pytest.approx([1.8, 1.28, 0.48])
    assert visits([0.8, 0.6], "random_walk") == pytest.approx([5, 10, 6])


def test_one_tier_is_visited_once():
    for routing in ROUTINGS:
        assert visits([], routing).tolist() == [1]
    assert reach([]).tolist() == [1]


def test_no_request_comes_further_than_a_probability_of_0():
    for routing in ROUTINGS:
        assert visits([0.5, 0.0, 0.5], routing)[2:].tolist() == [0, 0]
    assert visits([1.0, 1.0]) == pytest.approx([2, 2, 1])


@given(FORWARD)
def test_depths_are_those_of_the_formula(forward):
    onward = np.append(forward, 0.0)
    assert visits(forward) == pytest.approx(reach(forward) * (1 + onward), rel=1e-9, abs=1e-15)


@given(FORWARD)
def test_a_random_walk_satisfies_its_equations(forward):
    onward = np.append(forward, 0.0)
    times = visits(forward, "random_walk")
    for tier in range(len(times)):
        arrivals = float(tier == 0)
        if tier:
            arrivals += onward[tier - 1] * times[tier - 1]
        if tier + 1 < len(times):
            arrivals += (1 - onward[tier + 1]) * times[tier + 1]
        assert times[tier] == pytest.approx(arrivals, rel=1e-9, abs=1e-15)


@given(FORWARD)
def test_the_mean_depth_formula_of_the_thesis(forward):
    # (3.16): a share Q[j] (1 - P[j]) has depth j and takes 2 sum over l <= j of W[l] - W[j].
    times = np.linspace(1, 3, len(forward) + 1)
    onward, reached = np.append(forward, 0.0), reach(forward)
    mean = sum(
        reached[j] * (1 - onward[j]) * (2 * times[: j + 1].sum() - times[j])
        for j in range(len(times))
    )
    assert visits(forward) @ times == pytest.approx(mean, rel=1e-9)


@given(FORWARD, st.sampled_from(ROUTINGS))
def test_all_walks_end(forward, routing):
    whole = traverse(np.array(forward), routing, np.ones(len(forward) + 1))
    assert whole == pytest.approx(1, rel=1e-9)


@given(FORWARD, st.sampled_from(ROUTINGS), st.integers(0, 2**32 - 1))
def test_products_along_walks_are_sums_over_powers_of_the_matrix(forward, routing, seed):
    passage = np.random.default_rng(seed).uniform(0, 1, len(forward) + 1)
    walk = steps(np.array(forward), routing)
    along = passage[walk.tier]
    ends = 1 - walk.matrix.sum(axis=1)
    product = np.linalg.solve(np.eye(len(along)) - along[:, None] * walk.matrix, along * ends)
    assert traverse(np.array(forward), routing, passage) == pytest.approx(product[0], rel=1e-9)


def test_probabilities_from_depths():
    # Of 10 requests 2 have depth 1, 3 depth 2 and 5 depth 3: 8 / 10 go on, then 5 / 8.
    assert forward_probabilities([2, 3, 5]) == pytest.approx([0.8, 0.625])
    assert reach(forward_probabilities([2, 3, 5])) == pytest.approx([1, 0.8, 0.5])
    assert forward_probabilities([4, 0, 0]).tolist() == [0, 0]
    assert forward_probabilities([0, 0]).tolist() == [0]
    assert forward_probabilities([7]).tolist() == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: visits([0.5, 1.5]), r"forward\[1\]: 1.5 is not allowed: from 0 to 1"),
        (
            lambda: visits([0.5], "deep"),
            "routing: 'deep' is not allowed: one of depth, random_walk",
        ),
        (lambda: visits([0.5, 1], "random_walk"), r"forward\[1\]: 1 is not allowed: less than 1"),
        (lambda: visits([[0.5]]), r"forward: the shape \(1, 1\) is not allowed"),
        (lambda: reach([-1]), r"forward\[0\]: -1 is not allowed"),
        (lambda: forward_probabilities([]), r"depths: the shape \(0,\) is not allowed"),
        (lambda: forward_probabilities([1, -1]), r"depths\[1\]: -1 is not allowed"),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()
