"""What LOS claims comes true: a quick version of ``tests/validation/test_optimize.py``."""

import numpy as np
import pytest

from cloudarena.optimizers import los
from cloudarena.optimizers.synthetic import SyntheticProblem

RUNS, ROUGH = 40, 10


@pytest.mark.parametrize("kind", ["steep", "neutral", "flat"])
@pytest.mark.parametrize("noise", [0.1, 0.5])
@pytest.mark.parametrize("common_share", [0.0, 0.8])
def test_the_selected_hold_as_many_good_designs_as_claimed(kind, noise, common_share):
    hits, claims = [], []
    for seed in range(RUNS):
        problem = SyntheticProblem(kind, 200, noise * ROUGH**0.5, seed, common_share)
        good = problem.good()
        wanted = max(1, len(good) // 3)
        selection = los(problem, rough=ROUGH, replications=2, at_least=wanted, seed=seed)
        hits.append(len(np.intersect1d(good, selection.selected)) >= wanted)
        claims.append(selection.alignment.probability)
    claim = np.mean(claims)
    assert np.mean(hits) >= claim - 2.0 * (claim * (1.0 - claim) / RUNS) ** 0.5
