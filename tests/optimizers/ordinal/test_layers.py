"""Non-dominated layers equal slow peeling, ties and duplicates included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import front_of
from cloudarena.optimizers import layers
from cloudarena.optimizers.ordinal.layers import first_in_order, up_to_layer, whole_layers

from ..reference import peeled_layers


@st.composite
def point_sets(draw):
    """Few values, so that there are ties and duplicates, or many."""
    objectives = draw(st.integers(1, 4))
    value = draw(st.sampled_from([st.integers(0, 3).map(float), st.floats(-1e6, 1e6)]))
    point = st.lists(value, min_size=objectives, max_size=objectives)
    return draw(st.lists(point, min_size=1, max_size=30))


@settings(max_examples=150)
@given(point_sets())
def test_layers_equal_peeling(points):
    expected = peeled_layers(points)
    assert layers(points).tolist() == expected
    assert front_of(np.array(points)).tolist() == [
        place for place, layer in enumerate(expected) if layer == 0
    ]
    for most in (1, 2):
        assert layers(points, most).tolist() == [min(layer, most) for layer in expected]


@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("decimals", [1, 15])
def test_layers_of_many_points_equal_peeling(objectives, decimals):
    points = np.random.default_rng(objectives).random((400, objectives)).round(decimals)
    assert layers(points).tolist() == peeled_layers(points.tolist())


def test_by_hand():
    #    (1, 4) and (2, 2) and (4, 1) are the front, (2, 2) twice; (2, 3) is behind (2, 2) only;
    #    (4, 4) is behind (2, 3).
    points = [(1, 4), (2, 2), (2, 2), (4, 1), (2, 3), (4, 4)]
    assert layers(points).tolist() == [0, 0, 0, 0, 1, 2]
    assert up_to_layer(layers(points)).tolist() == [4, 4, 4, 4, 5, 6]


def test_the_first_so_many():
    losses = np.array([(1, 4), (2, 2), (4, 1), (2, 5), (3, 4), (5, 2)], float)
    layer = layers(losses)
    assert layer.tolist() == [0, 0, 0, 1, 1, 1]
    assert whole_layers(layer, 3).tolist() == [0, 1, 2]
    assert whole_layers(layer, 4).tolist() == [0, 1, 2, 3, 4, 5]
    # Of the second layer the ends along the first objective.
    assert first_in_order(losses, 5).tolist() == [0, 1, 2, 3, 5]
    assert first_in_order(losses, 4).tolist() == [0, 1, 2, 3]
    assert first_in_order(losses, 2).tolist() == [0, 2]


@given(point_sets(), st.integers(1, 30))
def test_the_first_so_many_are_so_many_and_no_worse_than_the_rest(points, count):
    losses = np.array(points)
    count = min(count, len(losses))
    first = first_in_order(losses, count)
    layer = layers(losses)
    assert len(first) == len(set(first.tolist())) == count
    rest = np.setdiff1d(np.arange(len(losses)), first)
    assert not len(rest) or layer[first].max() <= layer[rest].min()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([(1, np.nan)], r"points\[0, 1\]: nan is not allowed: a finite number"),
        ([1, 2], r"points: the shape \(2,\) is not allowed: points x objectives"),
        ([], r"points: the shape \(0,\)"),
        ([("a", "b")], "points: is not allowed: numbers only"),
    ],
)
def test_errors(points, message):
    with pytest.raises(SpecError, match=message):
        layers(points)
