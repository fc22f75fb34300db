"""What each policy does, in cases worked by hand."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import PolicyError
from cloudarena.queueing import TierChain, evaluate

from .decisions import ask, decision, service

APP = (("app", (36.0, 2, 0), (20.0, 4, 1)),)
PRICES = np.array([0.0287, 0.0127])


@pytest.mark.parametrize(
    ("use", "before", "after"),
    [
        (0.951, [0, 1], [1, 1]),  # one fat more
        (0.951, [2, 1], [2, 2]),  # no fat one is left: a thin one
        (0.951, [2, 4], [2, 4]),  # nothing is left
        (0.95, [0, 1], [0, 2]),  # not above 95 %: a thin one
        (0.851, [1, 1], [1, 2]),
        (0.851, [1, 4], [1, 4]),  # no thin one is left
        (0.85, [1, 1], [1, 1]),  # not above 85 %
        (0.60, [1, 1], [1, 1]),  # not below 60 %
        (0.599, [1, 2], [1, 1]),
        (0.599, [2, 0], [2, 0]),  # no thin one to release
        (0.45, [1, 2], [1, 1]),  # not below 45 %
        (0.449, [2, 1], [1, 1]),
        (0.449, [0, 3], [0, 3]),  # no fat one to release
        (0.449, [1, 0], [1, 0]),  # the last VM stays
        (0.0, [0, 1], [0, 1]),
    ],
)
def test_the_thresholds_of_utilisation(use, before, after):
    assert ask("utilisation", service(APP), [before], [use]) == [after]


def test_utilisation_looks_at_each_tier_and_takes_other_thresholds():
    scenario = service()
    counts = [[0, 1], [1, 1], [1, 0]]
    assert ask("utilisation", scenario, counts, [0.96, 0.5, 0.99]) == [[1, 1], [1, 0], [1, 0]]
    other = "utilisation:high=0.8:raised=0.7:lowered=0.3:low=0.2"
    assert ask(other, scenario, counts, [0.75, 0.5, 0.1]) == [[0, 1], [1, 1], [1, 0]]
    assert ask(other, scenario, counts, [0.81, 0.25, 0.1]) == [[1, 1], [1, 0], [1, 0]]


def test_utilisation_keeps_limits_in_total():
    scenario = service(max_fat=2, max_thin=3)
    counts = [[0, 1], [1, 1], [1, 0]]
    # Two fat ones are there already: none is added; the thin one that is left goes to a tier.
    assert ask("utilisation", scenario, counts, [0.96, 0.96, 0.5]) == counts
    assert ask("utilisation", scenario, counts, [0.5, 0.9, 0.5]) == [[0, 1], [1, 2], [1, 0]]


def test_what_a_tier_keeps_does_not_break_the_other_limit_in_total():
    """The first tier may not swap its fat VM for a thin one; so the second gets no fat one more."""
    tiers = (("a", (30.0, 1, 1), (20.0, 2, 0)), ("b", (30.0, 2, 1), (20.0, 2, 2)))
    scenario = service(tiers, max_fat=2, max_thin=2)
    counts = [[1, 0], [1, 2]]
    policy = "target-tracking:tolerance=0:cooldown=0"
    assert ask(policy, scenario, counts, [0.0, 0.88]) == counts


def test_target_tracking():
    scenario = service(APP)
    # 20 requests a second at 0.9: 20 * 0.9 / 0.6 = 30 are wanted, and two thin VMs are cheapest.
    assert ask("target-tracking", scenario, [[0, 1]], [0.9]) == [[0, 2]]
    assert ask("target-tracking:target=0.5", scenario, [[1, 0]], [0.9]) == [[0, 4]]
    # Within a tenth of the target nothing changes.
    assert ask("target-tracking", scenario, [[1, 1]], [0.65]) == [[1, 1]]
    assert ask("target-tracking", scenario, [[2, 4]], [1.0]) == [[2, 4]]


def test_target_tracking_waits_before_it_releases():
    scenario = service(APP)
    policy = scenario.kind.policies.resolve("target-tracking:cooldown=5")
    policy.start(scenario, 0)
    assert policy(decision(scenario, [[0, 1]], [0.9], number=1)).tolist() == [[0, 2]]
    assert policy(decision(scenario, [[0, 2]], [0.2], number=5)).tolist() == [[0, 2]]
    assert policy(decision(scenario, [[0, 2]], [0.2], number=6)).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("use", "before", "after"),
    [
        (0.75, [0, 1], [0, 1]),
        (0.8, [0, 1], [0, 2]),  # above 0.75: a thin one
        (0.88, [0, 1], [1, 1]),  # more than half way to 1: a fat one
        (0.88, [2, 1], [2, 2]),
        (0.8, [0, 4], [1, 4]),  # no thin one is left
        (0.9, [2, 4], [2, 4]),
        (0.35, [1, 2], [1, 2]),
        (0.34, [1, 2], [1, 1]),
        (0.34, [2, 0], [1, 0]),
        (0.34, [1, 0], [1, 0]),
    ],
)
def test_steps(use, before, after):
    assert ask("step", service(APP), [before], [use]) == [after]


def test_static_changes_nothing():
    scenario = cloudarena.load("tiers/rubis-hour", {"duration_s": 300})
    result = cloudarena.simulate(scenario, "static", record="none")
    assert result.metrics["changes"] == 0
    assert result.metrics["cost_usd"] == pytest.approx(5 * (0.0127 + 0.0127 + 0.0287))


def brute_force(scenario, rate, capacity=0.0):
    """The cheapest of all configurations that keep the SLA and lose at most 5 % at each tier."""
    tiers = scenario.tiers
    sizes = [list(np.ndindex(t.fat.max + 1, t.thin.max + 1))[1:] for t in tiers]
    rates = [[t.fat.rate, t.thin.rate] for t in tiers]
    chain = TierChain(rates, scenario.routing.forward, [t.room for t in tiers])
    every = np.array(list(itertools.product(*sizes)))
    seen = evaluate(chain, rate, every)
    good = (seen.response_s <= scenario.sla.seconds) & (seen.blocked <= 0.05).all(axis=1)
    good &= ((every * rates).sum(axis=2) >= capacity).all(axis=1)
    cost = (every.sum(axis=1) @ PRICES)[good]
    order = np.lexsort((seen.response_s[good], np.round(cost, 9)))
    return len(every), every[good][order[0]].tolist() if good.any() else None


@given(st.floats(0.1, 95.0), st.sampled_from([0.3, 1.0, 10.0]))
@settings(max_examples=60, deadline=None)
def test_model_based_is_the_best_of_all_42_configurations(rate, seconds):
    scenario = service(sla={"seconds": seconds})
    counts = [[0, 1], [0, 1], [1, 0]]
    number, best = brute_force(scenario, 1.15 * rate)
    assert number == 42
    if best is not None:
        assert ask("model-based", scenario, counts, rates=[rate]) == best
    number, best = brute_force(scenario, rate)
    if best is not None:
        assert ask("model-based:margin=1.0", scenario, counts, rates=[rate]) == best


def test_a_backlog_gets_the_capacity_to_be_served_within_the_period():
    scenario = service(sla={"seconds": 10.0})
    counts = [[0, 1], [0, 1], [1, 0]]
    calm = ask("model-based:margin=1.0", scenario, counts, rates=[14.0])
    assert calm[1] == [0, 1]
    # 14 * 1.28 + 600 / 60 = 27.9 requests a second: more than a thin VM serves.
    behind = ask("model-based:margin=1.0", scenario, counts, rates=[14.0], held_at_end=[0, 600, 0])
    assert behind == [[0, 1], [0, 2], [1, 0]]
    assert behind == brute_force(scenario, 14.0, [0.0, 27.92, 0.0])[1]


def test_what_is_more_than_there_is_gets_all_there_is():
    everything = [[1, 1], [2, 4], [1, 0]]
    assert ask("model-based", service(), everything, rates=[500.0]) == everything
    limited = service(max_fat=2, max_thin=3)
    counts = np.array(ask("model-based", limited, [[0, 1], [0, 1], [1, 0]], rates=[500.0]))
    assert (counts.sum(axis=0) <= [2, 3]).all()
    assert (counts.sum(axis=1) >= 1).all()


def test_the_oracle_knows_the_highest_rate_of_the_next_period():
    arrivals = {"source": "piecewise", "rates_at": [[0, 5], [100, 60], [120, 5]]}
    scenario = service(arrivals=arrivals)
    start = [[0, 1], [0, 1], [1, 0]]
    assert ask("oracle", scenario, start, number=1) == brute_force(scenario, 60.0)[1]
    assert ask("oracle", scenario, start, number=2) == brute_force(scenario, 5.0)[1]


def test_estimates_come_near_the_truth():
    scenario = service(arrivals={"source": "constant", "rate": 12.0}, duration_s=3600)
    run = scenario.start(0)
    policy = scenario.kind.policies.resolve("model-based:estimate=true")
    policy.start(scenario, 0)
    run.play(policy)
    chain = policy._estimates.chain()
    assert chain.forward == pytest.approx([0.8, 0.6], abs=0.05)
    seen = policy._estimates.served >= 5_000
    assert seen.sum() >= 3
    known = np.array([[220.0, 120.0], [36.0, 20.0], [80.0, 40.0]])
    assert chain.rates[seen] == pytest.approx(known[seen], rel=0.03)
    unseen = policy._estimates.served < 30
    assert (chain.rates[unseen] == known[unseen]).all()


def test_estimates_begin_at_one_half_and_need_thirty_visits():
    scenario = service()
    policy = scenario.kind.policies.resolve("model-based:estimate=true")
    policy.start(scenario, 0)
    seen = decision(scenario, [[0, 1], [0, 1], [1, 0]])
    seen.last.forward, seen.last.turned = np.array([9, 0, 0]), np.array([1, 0, 0])
    seen.last.served_by_size = np.array([[0, 29], [0, 30], [0, 0]])
    seen.last.service_s = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    policy(seen)
    chain = policy._estimates.chain()
    assert chain.forward == pytest.approx([0.5 + 0.5 * (0.9 - 0.5), 0.5])
    assert chain.rates.tolist() == [[220.0, 120.0], [36.0, 30.0], [80.0, 40.0]]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("model-based:forecast=linea", "linear"),
        ("model-based:margin=0", "margin"),
        ("model-based:margin=abc", "margin"),
        ("model-based:margin=.inf", "margin"),
        ("model-based:estimate=maybe", "estimate: 'maybe' is not allowed: true or false"),
        ("utilisation:high=2", "high: 2 is not allowed: from 0 to 1"),
        ("utilisation:low=abc", "low"),
        ("step:cooldown=1.5", "cooldown"),
        ("target-tracking:target=0", "target"),
        ("target-tracking:target=1.5", "target"),
        ("utilisation:hi=0.9", "high"),
        ("utilisation:lowered=0.9", "lowered: 0.9 is not allowed: at most 0.85, above which"),
        ("utilisation:low=0.9:lowered=0.1", "low: 0.9 is not allowed"),
    ],
)
def test_bad_parameters_are_named(policy, words):
    with pytest.raises(PolicyError, match=words):
        service().kind.policies.resolve(policy)


def test_replay_repeats_a_run(tmp_path):
    scenario = cloudarena.load("tiers/rubis-hour", {"duration_s": 900})
    first = cloudarena.simulate(scenario, "model-based")
    first.save(tmp_path / "run")
    again = cloudarena.simulate(scenario, f"replay:{tmp_path}/run/decisions.parquet")
    assert again.metrics == first.metrics
    file = tmp_path / "mine.csv"
    file.write_text("time_s,tier,fat,thin\n60,nowhere,1,0\n")
    with pytest.raises(PolicyError, match=r"line 2: tier: 'nowhere' is not in the scenario"):
        cloudarena.simulate("tiers/rubis-hour", f"replay:{file}")


def test_a_replay_may_be_in_any_order_and_tiers_have_any_name(tmp_path):
    rows = [("NaN", (4.0, 2, 1), (2.0, 2, 0)), ("01", (4.0, 1, 1), (2.0, 1, 0))]
    scenario = service(rows, duration_s=300, arrivals={"source": "constant", "rate": 5.0})
    played = cloudarena.simulate(scenario, "utilisation")
    decisions = played.tables["decisions"]
    backwards = decisions.take(pa.array(range(len(decisions) - 1, -1, -1)))
    for table in (decisions, backwards):
        pacsv.write_csv(table, tmp_path / "decisions.csv")
        replayed = cloudarena.simulate(scenario, f"replay:{tmp_path / 'decisions.csv'}")
        assert replayed.metrics == played.metrics
        assert replayed.tables == played.tables
    (tmp_path / "never.csv").write_text("time_s,tier,fat,thin\nnan,01,1,0\n")
    with pytest.raises(PolicyError, match="line 2: time_s: nan is not allowed"):
        cloudarena.simulate(scenario, f"replay:{tmp_path / 'never.csv'}")
