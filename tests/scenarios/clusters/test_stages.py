"""Likeness of mixes, splitting and merging of stages: by hand, and what must always hold."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.scenarios.clusters.policies.model.stages import (
    Timeline,
    least_similarity,
    merge,
    partition,
    similarities,
    thresholds,
)

A, B = [1.0, 0.0], [0.0, 1.0]
HALF = [1.0, 1.0]


def timeline(*mixes):
    """A mix each second, in the middle of it."""
    return Timeline(np.arange(len(mixes)) + 0.5, np.array(mixes, float))


def test_the_similarity_is_the_cosine():
    assert similarities([3, 4], [4, 3]) == pytest.approx(24 / 25)
    assert similarities([A, A, HALF], [A, B, A]).tolist() == pytest.approx([1, 0, 0.5**0.5])
    assert similarities([1, 2, 3], [10, 20, 30]) == pytest.approx(1)


def test_sizes_count_only_if_they_are_to():
    assert similarities(A, [4.0, 0.0], intensity_weight=1.0) == pytest.approx(1 / 4)
    assert similarities(A, [4.0, 0.0], intensity_weight=0.5) == pytest.approx(1 / 2)


def test_mixes_of_nothing():
    assert similarities([0, 0], [0, 0]) == 1
    assert similarities([0, 0], A) == 0
    assert least_similarity(np.empty((0, 2))) == 1
    assert least_similarity([A]) == 1
    assert least_similarity([A, HALF, A]) == pytest.approx(0.5**0.5)


def test_a_stage_is_halved_until_its_batches_are_alike():
    # A A A B: halved to A A | A B, and the second half again.
    line = timeline(A, A, A, B)
    assert partition(line, 0, 4, split=0.9) == [0, 2, 3]
    assert partition(line, 0, 4, split=0.9, depth=1) == [0, 2]
    assert partition(line, 0, 4, split=0.9, narrowest=1.5) == [0, 2]
    assert partition(line, 0, 4, split=0.9, narrowest=2.5) == [0]
    assert partition(timeline(A, A, A, A), 0, 4, split=0.9) == [0]


def test_the_literal_rule_keeps_stages_with_a_pair_of_twins():
    line = timeline(A, A, A, B)
    assert partition(line, 0, 4, split=0.9, split_rule="max") == [0]
    assert partition(timeline(A, B), 0, 2, split=0.9, split_rule="max") == [0, 1]


def test_neighbours_that_are_alike_become_one():
    line = timeline(A, A, B, B, A)
    assert merge(line, [0, 1, 2, 3, 4], 5, 0.9) == [0, 2, 4]
    assert merge(line, [0, 1, 2, 3, 4], 5, 0.9, longest=1.5) == [0, 1, 2, 3, 4]
    assert merge(line, [0], 5, 0.9) == [0]
    # A stage without batches is like any: it joins the one before.
    assert merge(line, [0, 2, 2.2, 4], 5, 0.9) == [0, 2.2, 4]


def test_every_pair_must_be_alike_to_merge():
    # Cosines of neighbours are 0.95, of the outer ones 0.80.
    angles = np.arccos(0.95) * np.arange(3)
    line = timeline(*np.column_stack((np.cos(angles), np.sin(angles))))
    assert merge(line, [0, 1, 2], 3, 0.9) == [0, 2]


def test_thresholds_have_floors():
    calm = np.random.default_rng(1).dirichlet(np.full(5, 1000.0), 50)
    assert thresholds(calm).split == 0.90
    assert thresholds(calm).merge > 0.95
    wild = np.random.default_rng(1).dirichlet(np.full(5, 0.1), 50)
    assert thresholds(wild).split < 0.5
    assert thresholds(wild).merge == 0.95
    assert thresholds([A]) == (0.90, 0.95)
    assert thresholds(wild) == thresholds(wild)


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=1, max_size=9),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_stages_are_as_alike_as_promised(mixes, split, join):
    line = timeline(*mixes)
    end = float(len(mixes))
    begins = partition(line, 0.0, end, split, depth=4)
    assert begins[0] == 0
    assert begins == sorted(set(begins))
    for begin, after in zip(begins, [*begins[1:], end], strict=True):
        deep_enough = after - begin <= end / 16
        assert deep_enough or least_similarity(line.between(begin, after)) >= split
    kept = merge(line, begins, end, join)
    assert set(kept) <= set(begins)
    for begin, after in itertools.pairwise(kept):
        behind = begins[begins.index(after) + 1] if after != begins[-1] else end
        both = similarities(
            line.between(begin, after)[:, None], line.between(after, behind)[None, :]
        )
        assert (both < join).any()
