"""The order-performance curve, its shape, and the noise."""

import numpy as np
import pytest

from cloudarena.optimizers import noise_level_411
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.ordinal.order_curve import noise_level, omega_of, order_curve, screen
from cloudarena.optimizers.synthetic import SyntheticProblem


def in_layers(sizes):
    """Designs in layers of given sizes, and points that are in them."""
    layer = np.repeat(np.arange(len(sizes)), sizes)
    along = np.concatenate([np.arange(size) for size in sizes]) / 1000.0
    return np.column_stack((layer + along, layer - along)), layer


@pytest.mark.parametrize(
    ("sizes", "shape", "area"),
    [
        ((10, 10, 10, 10), "neutral", 0.5),
        ((28, 8, 3, 1), "steep", 0.78125 - 0.03125 + 0.015625),
        ((1, 3, 8, 28), "flat", 0.25 - 0.015625),
        ((2, 18, 18, 2), "bell", 0.5),
        ((18, 2, 2, 18), "u-shaped", 0.5),
    ],
)
def test_shapes_by_hand(sizes, shape, area):
    points, layer = in_layers(sizes)
    curve = order_curve(points, layer)
    assert curve.share.tolist() == [0.0, *(np.cumsum(sizes) / sum(sizes))]
    omega = omega_of(curve, 0.1)
    assert omega.shape == shape
    assert omega.area == pytest.approx(area, abs=0.02)
    assert str(omega) == shape
    assert str(omega_of(curve, 0.5)) == f"{shape} (unreliable)"


def test_a_single_objective_goes_by_the_range_of_its_values():
    steep = np.linspace(0.0, 1.0, 200)[:, None] ** 3
    assert screen(noiseless(steep)).omega.shape == "steep"
    assert screen(noiseless(-steep)).omega.shape == "flat"
    assert screen(noiseless(np.linspace(0.0, 1.0, 200)[:, None])).omega.shape == "neutral"
    assert screen(noiseless(np.ones((5, 1)))).curve.area == 0.5


def noiseless(means):
    return Moments(np.full(len(means), 2), means, np.zeros(means.shape))


def test_noise_by_hand():
    # Half ranges 5 and 1, variances 25 and 1, standard errors 1 and 0.5. Of the variances
    # 24/25 and 3/4 are not noise.
    means = np.array([[0.0, 3.0], [10.0, 5.0]])
    errors = np.array([[1.0, 0.5], [1.0, 0.5]])
    assert noise_level(means[:, :1], errors[:, :1]) == pytest.approx(0.2 / 0.96**0.5)
    assert noise_level(means, errors) == pytest.approx(0.5 / 0.75**0.5)
    assert noise_level(means, 0.0 * errors) == 0.0
    assert noise_level(means, 30.0 * errors) == np.inf
    assert noise_level(np.ones((2, 1)), np.ones((2, 1))) == np.inf


@pytest.mark.parametrize("kind", ["steep", "neutral", "flat"])
@pytest.mark.parametrize("noise", [0.05, 0.1, 0.25, 0.5])
def test_noise_is_measured_against_the_true_range(kind, noise):
    problem = SyntheticProblem(kind, 1000, noise * 10**0.5)
    screening = screen(problem.estimate(range(1000), range(10)))
    assert screening.noise == pytest.approx(noise, rel=0.25)


def test_equation_411_is_large_without_any_noise():
    values = np.column_stack((np.linspace(3.0, 9.0, 1001), np.ones(1001)))
    # Uniform on [-1, 1]: 1 / sqrt(3).
    assert noise_level_411(values) == pytest.approx([3**-0.5, 0.0], abs=2e-3)
