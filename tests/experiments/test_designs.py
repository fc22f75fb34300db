"""Spaces of designs: which designs there are, in which order, under which rules."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError
from cloudarena.experiments.designs import DesignSpace, Range


def test_parameters_belong_to_their_policy_and_the_last_key_runs_fastest():
    space = DesignSpace({"policy": ["step", "static"], "step.upper": [0.7, 0.8], "boot_s": [0, 9]})
    assert list(space) == [
        {"policy": "step", "step.upper": 0.7, "boot_s": 0},
        {"policy": "step", "step.upper": 0.7, "boot_s": 9},
        {"policy": "step", "step.upper": 0.8, "boot_s": 0},
        {"policy": "step", "step.upper": 0.8, "boot_s": 9},
        {"policy": "static", "boot_s": 0},
        {"policy": "static", "boot_s": 9},
    ]
    assert space[-1] == space[5]
    assert space[1:3] == [space[1], space[2]]
    with pytest.raises(IndexError):
        space[6]


def test_a_rule_holds_for_the_designs_that_have_its_keys():
    levels = {"policy": ["a", "b"], "a.low": [1, 2], "a.high": [1, 2, 3]}
    space = DesignSpace(levels, ["a.low < a.high <= 2"])
    assert list(space) == [{"policy": "a", "a.low": 1, "a.high": 2}, {"policy": "b"}]


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True),
    st.sampled_from(["<", "<="]),
    st.integers(0, 6),
)
def test_rules_keep_what_a_loop_would_keep(first, second, sign, bound):
    kept = [
        (a, b)
        for a, b in itertools.product(first, second)
        if (a < b if sign == "<" else a <= b) and b <= bound
    ]
    levels = {"policy": ["p"], "x": first, "y": second}
    rules = [f"x {sign} y", f"y <= {bound}"]
    if not kept:
        with pytest.raises(SpecError, match="no design keeps all rules"):
            DesignSpace(levels, rules)
        return
    space = DesignSpace(levels, rules)
    assert [(design["x"], design["y"]) for design in space] == kept


def test_a_sample_has_each_design_once_and_keeps_the_rules():
    levels = {"policy": ["a", "b"], "a.x": range(100), "y": range(1000)}
    space = DesignSpace(levels, ["a.x <= y"], sample=300, seed=3)
    designs = [tuple(design.items()) for design in space]
    assert len(set(designs)) == len(designs) == 300
    assert all(design["a.x"] <= design["y"] for design in space if design["policy"] == "a")
    again = DesignSpace(levels, ["a.x <= y"], sample=300, seed=3)
    assert list(again) == list(space)
    other = DesignSpace(levels, ["a.x <= y"], sample=300, seed=4)
    assert list(other) != list(space)
    few = DesignSpace({"policy": ["a"], "y": [1, 2, 3]}, sample=10)
    assert len(few) == 3


def test_a_space_may_be_huge_unless_rules_must_be_tried():
    levels = {"policy": ["a"], **{f"k{k}": range(100) for k in range(5)}}
    space = DesignSpace(levels)
    assert len(space) == 10**10
    assert space[10**10 - 1]["k4"] == 99
    unchecked = DesignSpace(levels, ["k0 < k1"])
    assert len(unchecked) == 10**10
    for index in unchecked.some(20).tolist():
        assert unchecked[index]["k0"] < unchecked[index]["k1"]
    for look in (unchecked.check_each, lambda: unchecked.encoding):
        with pytest.raises(SpecError, match="take fewer steps, or a sample"):
            look()
    assert len(DesignSpace(levels, ["k0 < k1"], sample=5)) == 5


def test_genes_that_break_a_rule_stand_for_the_next_design():
    space = DesignSpace({"policy": ["p"], "x": [1, 2, 3], "y": [1, 2, 3]}, ["x < y"])
    encoding = space.encoding
    assert encoding.levels == (1, 3, 3)
    numbers = encoding.decode(np.array([[0, 0, 0], [0, 0, 2], [0, 2, 2]]))
    assert numbers.tolist() == [0, 1, 2]
    assert DesignSpace({"policy": ["p", "q"]}).encoding is None


@pytest.mark.parametrize(
    ("spec", "levels"),
    [
        ({"from": 0.8, "to": 0.95, "steps": 4}, [0.8, 0.85, 0.9, 0.95]),
        ({"from": 10, "to": 35, "step": 10}, [10, 20, 30]),
        ({"from": 0, "to": 0.3, "step": 0.1}, [0.0, 0.1, 0.2, 0.3]),
        ({"from": 2, "to": 2, "steps": 1}, [2.0]),
    ],
)
def test_ranges(spec, levels):
    found = Range.model_validate(spec).levels()
    assert found == levels
    assert [type(value) for value in found] == [type(value) for value in levels]


def test_a_range_without_steps_is_fine():
    levels = Range.model_validate({"from": 0, "to": 1}).levels()
    assert len(levels) == 1001
    assert levels[1] == 0.001


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("x", "keys and numbers with < or <= between"),
        ("x < z", "'z' is neither a key of designs nor a number"),
        ("x < word", "word has the level 'one', which is no number"),
        ("x > y", "keys and numbers with < or <= between"),
        ("x < __import__('os')", "is neither a key"),
    ],
)
def test_bad_rules(rule, message):
    with pytest.raises(SpecError, match=message):
        DesignSpace({"policy": ["p"], "x": [1, 2], "y": [3], "word": ["one"]}, [rule])


def test_regions_are_the_designs_of_a_policy_each():
    """Points, numbers and designs go together, with rules and without."""
    levels = {"policy": ["a", "b"], "a.x": [1, 2, 3], "a.y": [1, 2, 3], "count": [4, 5]}
    space = DesignSpace(levels, ["a.x < a.y"], continuous=["a.x"])
    first, second = space.regions
    assert [axis.is_ordered for axis in first.axes] == [False, True, True, True]
    assert [axis.is_continuous for axis in first.axes] == [False, True, False, False]
    seen = []
    for region in (first, second):
        points = np.array(list(np.ndindex(*region.levels.tolist())))
        points = points[region.allowed(points)]
        for point, number in zip(points, region.numbers(points).tolist(), strict=True):
            design = space[number]
            seen.append(number)
            assert design["count"] == [4, 5][point[-1]]
            if design["policy"] == "a":
                assert design["a.x"] == point[1] + 1 < design["a.y"]
    assert seen == list(range(len(space)))
    assert DesignSpace(levels, sample=3).regions is None
