"""The simulation agrees with queueing theory, over 20 replications of each case.

Of comparisons by 95 % intervals one in twenty misses by chance: not more of them may miss than that
explains, and none by a 99.9 % interval. ``python -m benchmarks.theory`` shows them all.
"""

import numpy as np
import pytest
from scipy import stats

from cloudarena import simulate
from cloudarena.reproduce.queues import LOADS, compare, service


def agrees(comparisons):
    """Holds that what was measured differs from theory by chance only."""
    assert [row for row in comparisons if row.chance < 0.001] == []
    outside = sum(row.chance < 0.05 for row in comparisons)
    assert stats.binomtest(outside, len(comparisons), 0.05, "greater").pvalue > 0.001


def test_simulations_agree_with_theory():
    agrees(list(compare(0.6)))


@pytest.mark.slow
def test_simulations_agree_with_theory_under_all_loads():
    comparisons = [row for load in LOADS for row in compare(load)]
    agrees(comparisons)
    # Chances are as likely to be high as low: there is no trend, and errors are not too large.
    assert stats.kstest([row.chance for row in comparisons], "uniform").pvalue > 0.001


def test_littles_law_is_exact_and_requests_add_up():
    scenario = service(
        45.0,
        600.0,
        0.0,
        ((0, 1), (2, 1), (1, 0)),
        ((220.0, 120.0), (20.0, 10.0), (80.0, 40.0)),
        (0.8, 0.6),
        room=20,
        period_s=60.0,
    )
    result = simulate(scenario, "static", record="full")
    requests = result.tables["requests"].to_pydict()
    metrics = result.metrics
    assert metrics["blocked"] > 0
    assert metrics["served"] + metrics["blocked"] == metrics["arrived"] == len(requests["arrival"])
    end = max(requests["finish"])
    # The number in the system, integrated over time, is the sum of the times spent in it. Blocked
    # requests leave when they are blocked.
    moments = np.concatenate((requests["arrival"], requests["finish"]))
    changes = np.concatenate((np.ones(len(moments) // 2), -np.ones(len(moments) // 2)))
    order = np.argsort(moments, kind="stable")
    inside = np.cumsum(changes[order])
    area = float(np.sum(inside[:-1] * np.diff(moments[order])))
    assert area == pytest.approx(sum(requests["response"]), rel=1e-9)
    tiers = result.tables["tiers"].to_pydict()
    held = np.array(tiers["held"]).reshape(-1, 3)
    lengths = np.append(np.full(9, 60.0), end - 540.0)
    spent = np.array(tiers["sojourn_s"]) * np.array(tiers["served"])
    assert (held * lengths[:, None]).sum() == pytest.approx(spent.sum(), rel=1e-9)
