"""What the thesis claims for its model against the rule by utilisation (chapter 3)."""

import numpy as np
import pytest

from cloudarena import load, simulate

SEEDS = range(10)


@pytest.mark.parametrize("name", ["tiers/rubis-hour", "tiers/rubis-slow"])
def test_the_model_keeps_the_sla_better_at_no_higher_cost(name):
    scenario = load(name)
    kept, cost = (
        {
            policy: np.mean([simulate(scenario, policy, k, "none").metrics[m] for k in SEEDS])
            for policy in ("model-based:margin=1.15", "utilisation")
        }
        for m in ("sla_minutes_ok", "cost_usd")
    )
    assert kept["model-based:margin=1.15"] >= 0.97
    assert kept["model-based:margin=1.15"] >= kept["utilisation"] + 0.08
    assert cost["model-based:margin=1.15"] <= cost["utilisation"]
