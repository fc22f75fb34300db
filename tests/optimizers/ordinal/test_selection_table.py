"""The table of selection sizes, and that it is what its calibration makes."""

import numpy as np
import pytest
from tools.calibrate_selection_table import (
    MOST_LAYERS,
    MOST_WANTED,
    NOISES,
    calibrate,
    fit,
    requirements,
)

from cloudarena.optimizers.ordinal.selection_table import ROWS, Row, layers_to_select
from cloudarena.optimizers.synthetic import GOODNESS


def test_there_is_a_row_for_each_kind_and_noise():
    assert [(row.kind, row.noise) for row in ROWS] == [
        (kind, noise) for kind in GOODNESS for noise in NOISES
    ]


def test_a_fit_finds_what_made_the_requirements():
    made = Row("steep", 0.5, 0.3, 0.7, -0.6, 0.5, 50)
    wanted, good = np.arange(1, MOST_WANTED + 1), np.arange(1, MOST_LAYERS + 1)
    needed = np.array([[made.layers_needed(k, g) for g in good] for k in wanted])
    assert fit(needed) == pytest.approx([0.3, 0.7, -0.6, 0.5], abs=1e-4)


def test_without_noise_as_many_layers_are_needed_as_are_good():
    needed, layers = requirements("neutral", 0.0, 200, 3, 0.95, np.random.default_rng(0))
    assert needed[0, 0] == 1
    assert layers > 5


def test_the_shipped_rows_come_out_of_the_calibration():
    for found, shipped in zip(calibrate(runs=20, seed=1), ROWS, strict=True):
        assert found.layers == pytest.approx(shipped.layers, abs=2)
        for wanted, good in ((1, 1), (10, 3), (40, 10)):
            needed = found.layers_needed(wanted, good)
            assert needed == pytest.approx(shipped.layers_needed(wanted, good), rel=0.4, abs=1.5)


def test_a_row_is_met_at_its_own_noise():
    row = ROWS[3]
    assert (row.kind, row.noise) == ("steep", 0.5)
    expected = int(np.ceil(row.layers_needed(5, 1)))
    assert layers_to_select("steep", 0.5, 1000, row.layers, 5, 1) == expected


def test_between_and_beyond_rows():
    sizes = [layers_to_select("flat", noise, 1000, 60, 5) for noise in (0.05, 0.3, 0.8, 2.5, 9.0)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == sizes[-2]
    assert layers_to_select("flat", 0.0, 1000, 60, 5) == sizes[0]
    assert layers_to_select("bell", 0.3, 1000, 60) == layers_to_select("neutral", 0.3, 1000, 60)
    assert layers_to_select("flat", 2.5, 1000, 10, 500) == 10


def test_the_size_is_of_the_thesis_order_for_its_example():
    # 27,132 designs in some 340 layers, noise about 0.1; the thesis selects about 190 designs.
    assert 5 <= layers_to_select("neutral", 0.12, 27_132, 340) <= 10
