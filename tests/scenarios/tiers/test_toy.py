"""``tiers/toy``: three minutes with a rush in the second, worked by hand in docs/tiers.md."""

import itertools

import pytest

import cloudarena

THIN, FAT, BOTH = [[0, 1]], [[1, 0]], [[1, 1]]


def play(first, second, seed=0):
    run = cloudarena.load("tiers/toy").start(seed)
    run.apply(first)
    run.apply(second)
    assert run.decision is None
    return run.metrics()


def test_the_optimum_is_a_fat_vm_for_the_rush():
    """A cent for each calm minute and five for the rush; all other plans cost more."""
    choices = (THIN, FAT, BOTH)
    costs = {
        (choices.index(first), choices.index(second)): play(first, second)["total_cost_usd"]
        for first, second in itertools.product(choices, choices)
    }
    assert min(costs, key=costs.get) == (choices.index(FAT), choices.index(THIN))
    assert sorted(costs.values())[0] == pytest.approx(0.07)
    assert sorted(costs.values())[1] == pytest.approx(0.08)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("policy", "cost"),
    [
        ("oracle", 0.01 + 0.05 + 0.01),
        ("static", 3 * 0.01 + 1.00),  # a dollar for the minute that breaks the SLA
        ("model-based", 0.01 + (0.01 + 1.00) + 0.05),  # a minute late with the fat VM
    ],
)
def test_what_the_policies_pay(policy, cost, seed):
    metrics = cloudarena.simulate("tiers/toy", policy, seed).metrics
    assert metrics["total_cost_usd"] == pytest.approx(cost)


def test_a_thin_vm_serves_what_it_can_hold_of_the_rush():
    """It serves 300 in the 30 s of the rush and then the 200 that it holds; the rest is lost."""
    metrics = play(THIN, THIN)
    calm = play(FAT, THIN)
    assert calm["blocked"] == 0
    rush = 300 + 200
    lost = metrics["blocked"] / (metrics["arrived"] - 60)
    assert lost == pytest.approx(1 - rush / 3000, abs=0.02)
    assert metrics["sla_minutes_ok"] == pytest.approx(2 / 3)
