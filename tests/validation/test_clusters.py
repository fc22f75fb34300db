"""What is reproduced of chapters 5 and 6 of the thesis: deciders that think stage by stage.

The acceptance is that of our own prototype, not the thesis's figures: it gives none of its
workloads. The quick tests are small versions of the slow ones.
"""

import numpy as np
import pytest

import cloudarena

HORIZON_S = 3600.0
MONTE_CARLO, BLIND_PICK = "iterative-monte-carlo", "iterative-blind-pick"
SHARES = {12: 462, 20: 27_132, 64: 30_000}
"""Of 12 and 20 VMs over 7 classes; of 64 a sample."""


def runs(workload, policy, seeds, thinking=0.0, vms=20, replications=1000, **keys):
    """Throughput and decisions, a row for each seed.

    ``thinking`` is how long Monte Carlo thinks about a stage, in horizons.
    """
    changes = {
        "vms": vms,
        "decide_seconds": thinking * HORIZON_S / (SHARES[vms] * replications),
        **{key.replace("__", "."): value for key, value in keys.items()},
    }
    scenario = cloudarena.load(f"clusters/{workload}", changes)
    name, _, settings = policy.partition(":")
    policy = f"{name}:replications={replications}:designs=30000" + (settings and f":{settings}")
    metrics = [
        cloudarena.simulate(scenario, policy, s, record="none").metrics for s in range(seeds)
    ]
    return np.array([(one["throughput_per_s"], one["decisions"]) for one in metrics])


def gain(mine, other):
    """By how much throughput is above another's, the mean over pairs of one seed."""
    return float((mine[:, 0] / other[:, 0]).mean() - 1.0)


def test_without_thinking_time_ilos_is_as_good_as_monte_carlo():
    case = {"vms": 12, "seeds": 4, "replications": 200, "information": "oracle", "stage_s": 180}
    monte_carlo = runs("hfhc", MONTE_CARLO, **case)
    ilos = runs("hfhc", "ilos:selected=30", **case)
    assert abs(gain(ilos, monte_carlo)) < 0.01


def test_with_thinking_time_elos_is_ahead_of_monte_carlo_and_level_with_ilos():
    case = {"vms": 12, "seeds": 4, "replications": 200, "thinking": 0.5, "information": "oracle"}
    monte_carlo = runs("hfhc", MONTE_CARLO, **case)
    ilos = runs("hfhc", "ilos:rough=4:selected=5", **case)
    elos = runs("hfhc", "elos:rough=4:selected=5", **case)
    assert gain(elos, monte_carlo) > 0.05
    assert gain(elos, ilos) > -0.015
    assert elos[:, 1].mean() < 0.5 * ilos[:, 1].mean()


def test_a_rough_look_that_is_too_rough_hurts():
    case = {"vms": 12, "seeds": 6, "replications": 50, "information": "oracle", "stage_s": 180}
    loud = {f"classes[{c}]__seconds__cv": 1.2 for c in range(7)}
    monte_carlo = runs("hfhc", MONTE_CARLO, **case, **loud)
    assert gain(runs("hfhc", "ilos:rough=1:selected=10", **case, **loud), monte_carlo) < -0.03


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["lflc", "lfhc", "hflc", "hfhc"])
def test_setting_1_methods_are_alike(workload):
    case = {"seeds": 6, "information": "oracle", "stage_s": 180}
    monte_carlo = runs(workload, MONTE_CARLO, **case)
    assert abs(gain(runs(workload, "ilos", **case), monte_carlo)) < 0.01
    assert -0.05 < gain(runs(workload, BLIND_PICK, **case), monte_carlo) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["lfhc", "hfhc"])
def test_setting_2_elos_is_well_ahead_of_monte_carlo_where_batches_differ(workload):
    case = {"seeds": 10, "thinking": 0.5, "information": "lagged"}
    assert gain(runs(workload, "elos", **case), runs(workload, MONTE_CARLO, **case)) >= 0.10


@pytest.mark.slow
def test_setting_2_in_the_best_case():
    case = {"seeds": 10, "vms": 64, "thinking": 0.5, "information": "lagged"}
    case["workload__regime_s"] = HORIZON_S / 3
    assert gain(runs("hfhc", "elos", **case), runs("hfhc", MONTE_CARLO, **case)) >= 0.20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "thinking"), [("lfhc", 0.5), ("hfhc", 0.25), ("hfhc", 0.5), ("hfhc", 1.0)]
)
def test_setting_2_elos_is_level_with_ilos_at_half_the_decisions(workload, thinking):
    case = {"seeds": 10, "thinking": thinking, "information": "oracle"}
    ilos, elos = (runs(workload, policy, **case) for policy in ("ilos", "elos"))
    assert gain(elos, ilos) >= -0.015
    assert elos[:, 1].mean() <= 0.5 * ilos[:, 1].mean()


@pytest.mark.slow
def test_calm_batches_in_excess_give_thinking_no_advantage():
    case = {"seeds": 10, "thinking": 0.5, "information": "oracle", "workload__load": 1.3}
    assert gain(runs("hflc", "elos", **case), runs("hflc", MONTE_CARLO, **case)) < 0.01


@pytest.mark.slow
def test_setting_2_elos_is_ahead_of_ilos_where_it_has_stages_to_split():
    """Ten times as many batches, and stages of iLOS long enough to hold several regimes."""
    case = {"seeds": 10, "thinking": 10.0, "information": "oracle", "workload__batches": 1600}
    ilos, elos = (runs("hfhc", policy, **case) for policy in ("ilos", "elos"))
    assert gain(elos, ilos) > 0.0
    assert elos[:, 1].mean() > 1.5 * ilos[:, 1].mean()  # stages were split, not merged
