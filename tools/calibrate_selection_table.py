"""Calibrates the table of selection sizes: ``python -m tools.calibrate_selection_table``.

For each kind of synthetic problem and level of noise, ``runs`` problems of ``designs`` designs are
drawn and observed once. The requirement for (k, g) is the ``confidence`` quantile of the k-th
smallest observed layer, counted from 1, among the designs of the first g true layers. To these
requirements, for k to 50 and g to 15, is fitted

    s = e^z0 * k^rho * g^beta + eta        with rho >= 0, beta <= 0, eta >= 0

by least squares of the relative error, the form of Lau and Ho, "Universal alignment probabilities
and subset selection for ordinal optimization", JOTA 93(3), 1997.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_probability, check_whole
from cloudarena.engine.streams import stream
from cloudarena.optimizers.ordinal.layers import layers_of
from cloudarena.optimizers.ordinal.selection_table import DESIGNS, Row
from cloudarena.optimizers.synthetic import GOODNESS, draw_truth

NOISES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
RUNS, CONFIDENCE = 1000, 0.95
MOST_WANTED, MOST_LAYERS = 50, 15
STARTS = tuple(itertools.product((-3.0, 1.0), (0.7, 1.2), (-0.5,), (0.5,)))


def requirements(
    kind: str, noise: float, designs: int, runs: int, confidence: float, rng: np.random.Generator
) -> tuple[Floats, int]:
    """The layers needed for each (k, g), NaN where there are not so many good; all layers."""
    needed = np.full((runs, MOST_WANTED, MOST_LAYERS), np.nan)
    observed_layers = np.empty(runs)
    for run in range(runs):
        truth = draw_truth(kind, designs, rng)
        observed = layers_of(truth + noise * rng.standard_normal(truth.shape), designs)
        layer = layers_of(truth, MOST_LAYERS)
        observed_layers[run] = observed.max() + 1
        for good_layers in range(1, MOST_LAYERS + 1):
            places = np.sort(observed[layer < good_layers])[:MOST_WANTED] + 1
            needed[run, : len(places), good_layers - 1] = places
    quantile = np.quantile(needed, confidence, axis=0, method="higher")
    return quantile, int(np.median(observed_layers))


def fit(needed: Floats) -> Floats:
    """z0, rho, beta and eta with the least sum of squared relative errors."""
    from scipy.optimize import least_squares

    wanted, good_layers = np.nonzero(np.isfinite(needed))
    target = needed[wanted, good_layers]
    log_k, log_g = np.log(wanted + 1.0), np.log(good_layers + 1.0)

    def errors(parameters: Floats) -> Floats:
        z0, rho, beta, eta = parameters
        return np.asarray((np.exp(z0 + rho * log_k + beta * log_g) + eta) / target - 1.0)

    bounds = ([-10.0, 0.0, -5.0, 0.0], [10.0, 5.0, 0.0, 50.0])
    fits = [least_squares(errors, start, bounds=bounds) for start in STARTS]
    return np.asarray(min(fits, key=lambda found: found.cost).x)


def calibrate(
    designs: int = DESIGNS, runs: int = RUNS, confidence: float = CONFIDENCE, seed: int = 0
) -> Iterator[Row]:
    """Yields a row for each kind and level of noise."""
    check_whole("designs", designs, MOST_WANTED)
    check_whole("runs", runs, 1)
    check_probability("confidence", confidence)
    for kind in GOODNESS:
        for noise in NOISES:
            rng = stream(seed, f"calibrate {kind} {noise}")
            needed, observed_layers = requirements(kind, noise, designs, runs, confidence, rng)
            z0, rho, beta, eta = fit(needed).tolist()
            yield Row(kind, noise, z0, rho, beta, eta, observed_layers)


def main() -> None:
    """Prints the rows as they stand in ``selection_table.py``."""
    parser = argparse.ArgumentParser(description="Calibrates the table of selection sizes.")
    parser.add_argument("--runs", type=int, default=RUNS, help="problems for each row")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for row in calibrate(runs=arguments.runs, seed=arguments.seed):
        fitted = ", ".join(f"{value:.3f}" for value in row[2:6])
        print(f'    Row("{row.kind}", {row.noise}, {fitted}, {row.layers}),', flush=True)


if __name__ == "__main__":
    main()
