import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.measures import AtLeast
from cloudarena.experiments.compare import Estimate
from cloudarena.report.numbers import UNKNOWN, format_estimate, format_number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (10_000, "10,000"),
        (10_000.0, "10,000"),
        (-338.0, "-338"),
        (9448.1, "9,448.1"),
        (9448.1234, "9,448.1"),
        (171_360.667, "171,360.7"),
        (1_234_567.8, "1,234,568"),
        (412.26, "412.3"),
        (22.114, "22.11"),
        (1.4883, "1.488"),
        (2.5, "2.5"),
        (0.157, "0.157"),
        (0.15723, "0.157"),
        (0.5, "0.5"),
        (0.99999, "1.000"),
        (0.00559, "0.00559"),
        (0.000157, "0.000157"),
        (1.2e-05, "1.2e-05"),
        (-2.2345e-07, "-2.23e-07"),
        (1.5e16, "1.5e+16"),
        (math.nan, UNKNOWN),
        (AtLeast(185.0), "> 185"),
        (AtLeast(9448.1234), "> 9,448.1"),
        (AtLeast(math.nan), UNKNOWN),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
    ],
)
def test_a_number_alone(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (9475.844, 21.3, "9,476 ± 21"),
        (171_360.667, 3093.4, "171,361 ± 3,093"),
        (13.2, 15.1, "13 ± 15"),
        (20.04, 9.26, "20.0 ± 9.3"),
        (0.11783, 0.00364, "0.1178 ± 0.0036"),
        (0.748, 0.0103, "0.748 ± 0.010"),
        (0.0, 0.5, "0.00 ± 0.50"),
        (1.2e-05, 3.04e-07, "1.200e-05 ± 3.0e-07"),
        (9e-06, 1.1e-05, "9e-06 ± 1.1e-05"),
        (0.5, 5e-05, "0.500000 ± 0.000050"),
        (10_000.0, 0.0, "10,000"),
        (9475.844, 0.0, "9,475.8"),
        (9475.844, 1e-9, "9,475.8"),
        (9475.844, math.nan, "9,475.8"),
    ],
)
def test_a_mean_ends_where_its_interval_does(mean, half, text):
    assert format_estimate(Estimate(mean, mean - half, mean + half)) == text


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (2.82, 33.4, "+3 ± 33"),
        (-7914.2, 965.2, "-7,914 ± 965"),
        (-0.2, 48.0, "0 ± 48"),
        (0.2, 48.0, "0 ± 48"),
        (0.0, 0.0, "0"),
        (306.0, 0.0, "+306"),
    ],
)
def test_a_difference_shows_its_sign_but_zero_has_none(mean, half, text):
    assert format_estimate(Estimate(mean, mean - half, mean + half), signed=True) == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(125.0, 100.0, math.inf), "> +125"),
        (Estimate(125.0, math.nan, math.inf), "> +125"),
        (Estimate(-125.0, -math.inf, -3.0), "< -125"),
        (Estimate(math.nan, math.nan, math.nan), UNKNOWN),
    ],
)
def test_a_difference_that_is_a_bound_says_so(estimate, text):
    assert format_estimate(estimate, signed=True) == text


@given(st.floats(-1e300, 1e300))
def test_a_number_read_back_is_near(value):
    read = float(format_number(value).replace(",", ""))
    assert read == pytest.approx(value, rel=0.006, abs=0)


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e9))
def test_a_mean_read_back_lies_within_its_interval(mean, half):
    text = format_estimate(Estimate(mean, mean - half, mean + half))
    read = float(text.split(" ± ")[0].replace(",", ""))
    assert abs(read - mean) <= max(0.51 * half, 0.006 * abs(mean))


@pytest.mark.parametrize("half_width", [None, 0.01])
def test_what_differs_by_rounding_only_is_written_alike(half_width):
    """The rent of all policies was 11.985 $, and printed as 11.99 and 11.98."""
    numbers = (11.985, 11.985000000000001, 11.984999999999998)
    assert len({format_number(one, half_width) for one in numbers}) == 1
    assert format_number(0.1 + 0.2) == format_number(0.3) == "0.3"
