"""The cheapest configuration: against trying all, and by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from cloudarena.base.errors import SpecError
from cloudarena.queueing import (
    Offer,
    Sla,
    TierChain,
    cheapest,
    configurations,
    evaluate,
    response_quantile,
    response_tail,
)
from cloudarena.queueing.chain import BALANCES
from cloudarena.queueing.offers import price_units

from . import reference
from .fleets import FORWARD, MOST, PRICES, RATES, rubis, thesis_offer


def check_against_trying(problem, seconds, most_blocked):
    rates, forward, room, balance, arrival, prices, most, in_total, most_vms = problem
    chain = TierChain(rates, forward, room, balance=balance)
    offer = Offer(prices, most, in_total, most_vms)
    expected = reference.cheapest_by_trying(problem, seconds, most_blocked)
    if expected is None:
        with pytest.raises(SpecError, match="no configuration gives every tier a VM"):
            cheapest(chain, offer, arrival, Sla(seconds), most_blocked)
        return
    meets, cost, response = expected
    choice = cheapest(chain, offer, arrival, Sla(seconds), most_blocked)
    assert choice.meets_sla == meets
    assert choice.is_exact
    assert choice.cost == pytest.approx(cost, rel=1e-12, abs=1e-15)
    assert choice.response_s == pytest.approx(response, rel=1e-9)


@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("rate", [0.5, 10, 25, 40, 55, 70, 85, 95, 110, 200])
@pytest.mark.parametrize("seconds", [0.1, 0.25, 1.0, 10.0])
def test_the_42_configurations_of_the_thesis(balance, rate, seconds):
    problem = (RATES, FORWARD, 60, balance, rate, PRICES, MOST, None, None)
    check_against_trying(problem, seconds, 0.05)


@st.composite
def problems(draw):
    tiers, sizes = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    # At most some hundreds of configurations, for the sake of the one that tries all.
    highest = {1: 3, 2: 2 if tiers < 4 else 1, 3: 1}[sizes]
    row = st.lists(st.integers(0, highest), min_size=sizes, max_size=sizes).filter(any)
    most = draw(st.lists(row, min_size=tiers, max_size=tiers))
    # Few different numbers, so that costs and responses are often equal.
    rate = st.sampled_from([1.0, 2.0, 3.0, 5.0, 8.0])
    rates = draw(
        st.lists(st.lists(rate, min_size=sizes, max_size=sizes), min_size=tiers, max_size=tiers)
    )
    forward = draw(
        st.lists(st.sampled_from([0.0, 0.3, 0.8, 1.0]), min_size=tiers - 1, max_size=tiers - 1)
    )
    prices = draw(
        st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7]), min_size=sizes, max_size=sizes)
    )
    limit = st.integers(0, 2 * tiers)
    in_total = draw(st.none() | st.lists(limit, min_size=sizes, max_size=sizes))
    most_vms = draw(st.none() | st.integers(tiers, 2 * tiers))
    return (
        rates, forward, draw(st.integers(1, 6)), draw(st.sampled_from(BALANCES)),
        draw(st.floats(0.05, 8)), prices, most, in_total, most_vms,
    )  # fmt: skip


@settings(max_examples=150)
@given(problems(), st.floats(0.2, 8), st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_random_fleets(problem, seconds, most_blocked):
    check_against_trying(problem, seconds, most_blocked)


def test_the_example_of_the_documentation():
    # 72, 51.2 and 19.2 a second: 1.8 / (120 - 72) + 1.28 / (20 - 51.2 / 3) + 0.48 / (80 - 19.2).
    counts = [[0, 1], [0, 3], [1, 0]]
    now = evaluate(rubis(), 40, counts)
    assert now.flows == pytest.approx([72, 51.2, 19.2])
    assert now.response_s == pytest.approx(0.4818, abs=5e-5)
    assert response_quantile(rubis(), 40, counts, 0.95) == pytest.approx(1.419, abs=5e-4)
    choice = cheapest(rubis(), thesis_offer(), 40, Sla(seconds=0.3))
    assert choice.counts.tolist() == [[0, 1], [0, 4], [1, 0]]
    assert choice.response_s == pytest.approx(0.2232, abs=5e-5)
    assert choice.cost == pytest.approx(5 * 0.0127 + 0.0287)


def test_seven_tiers_against_integer_programming():
    tiers, rng = 7, np.random.default_rng(3)
    rates = np.column_stack((rng.uniform(30, 60, tiers), rng.uniform(10, 30, tiers)))
    chain = TierChain(rates, [0.9] * (tiers - 1), 100)
    offer = Offer(PRICES, [[4, 6]] * tiers)
    options = [vms for vms in itertools.product(range(5), range(7)) if any(vms)]
    evaluated = evaluate(chain, 45, np.repeat(np.array(options)[:, None], tiers, axis=1))
    cost = np.tile(np.array(options) @ PRICES, tiers)
    response = (chain.visits * evaluated.visit_s).T.ravel()
    allowed = (evaluated.blocked <= 0.05).T.ravel()
    for seconds in (0.6, 1.0, 1.7, 3.0):
        choice = cheapest(chain, offer, 45, Sla(seconds))
        solution = optimize.milp(
            cost,
            integrality=np.ones(len(cost)),
            bounds=optimize.Bounds(0, allowed.astype(float)),
            constraints=[
                optimize.LinearConstraint(np.kron(np.eye(tiers), np.ones(len(options))), 1, 1),
                optimize.LinearConstraint(response, 0, seconds),
            ],
        )
        assert choice.meets_sla
        assert choice.response_s <= seconds
        assert choice.cost == pytest.approx(solution.fun, abs=1e-6)


def test_of_equally_cheap_ones_the_quickest():
    # A fat VM costs as much as three thin ones, though 3 * 0.1 > 0.3 in floating point. The thin
    # ones take 1 / (4 - 1) s, the fat one 1 / (5 - 3); two thin ones, 1 / (4 - 1.5), are too slow.
    chain = TierChain([[5.0, 4.0]], [], 1000)
    choice = cheapest(chain, Offer([0.3, 0.1], [[1, 3]]), 3.0, Sla(0.39))
    assert choice.counts.tolist() == [[0, 3]]
    assert choice.response_s == pytest.approx(1 / 3)
    # With a faster fat VM both would do, and it is the quicker one.
    chain = TierChain([[7.0, 4.0]], [], 1000)
    choice = cheapest(chain, Offer([0.3, 0.1], [[1, 3]]), 3.0, Sla(0.39))
    assert choice.counts.tolist() == [[1, 0]]
    assert choice.response_s == pytest.approx(1 / 4)


def test_of_equally_cheap_and_quick_ones_the_fewest_vms():
    chain = TierChain([[5.0], [4.0]], [0.5], 10)
    choice = cheapest(chain, Offer([0.0], [[3], [3]]), 0.0, Sla(1.0))
    assert choice.counts.tolist() == [[1], [1]]
    # With load more VMs are quicker, and cost no more.
    choice = cheapest(chain, Offer([0.0], [[3], [3]]), 1.0, Sla(1.0))
    assert choice.counts.tolist() == [[3], [3]]


def test_a_bound_that_cannot_be_met_gives_the_quickest():
    choice = cheapest(rubis(), thesis_offer(), 40, Sla(0.01))
    counts = configurations(thesis_offer())
    measures = evaluate(rubis(), 40, counts)
    assert not choice.meets_sla
    assert choice.response_s == pytest.approx(measures.response_s.min(), rel=1e-12)
    assert choice.response_s > 0.01


def test_in_overload_what_loses_least_comes_first():
    # A fat VM alone would answer the few that it accepts sooner than fat and thin ones together.
    chain = TierChain([[36.0, 20.0]], [], 200)
    choice = cheapest(chain, Offer(PRICES, [[2, 4]]), 1000, Sla(10))
    assert not choice.meets_sla
    assert choice.counts.tolist() == [[2, 4]]
    assert evaluate(chain, 1000, [[1, 0]]).response_s < choice.response_s
    # Without a bound on losses it is the quickest, two fat ones.
    choice = cheapest(chain, Offer(PRICES, [[2, 4]]), 1000, Sla(1), most_blocked=1.0)
    assert choice.counts.tolist() == [[2, 0]]


def test_losses_are_bounded_tier_by_tier():
    chain = TierChain([[10.0]], [], 1)
    offer = Offer([1.0], [[40]])
    # n servers with room for one each lose r / (r + 10 n): 5 % at r = 10 needs 19.
    assert cheapest(chain, offer, 10.0, Sla(1)).counts.tolist() == [[19]]
    assert cheapest(chain, offer, 10.0, Sla(1), most_blocked=0.5).counts.tolist() == [[1]]


def test_limits_in_total():
    chain = TierChain([[10.0, 4.0]] * 3, [1.0, 1.0], 100)
    free = cheapest(chain, Offer([0.1, 1.0], [[2, 2]] * 3), 3.0, Sla(10))
    assert free.counts.tolist() == [[1, 0]] * 3
    # Two cheap fat VMs in all: the thin one goes to the tier that is passed once only.
    limited = Offer([0.1, 1.0], [[2, 2]] * 3, most_in_total=[2, 6])
    assert cheapest(chain, limited, 3.0, Sla(10)).counts.tolist() == [[1, 0], [1, 0], [0, 1]]
    scarce = Offer([0.1, 1.0], [[2, 2]] * 3, most_vms=3)
    assert cheapest(chain, scarce, 3.0, Sla(0.1)).counts.tolist() == [[1, 0]] * 3


def test_what_meets_the_bound_without_losses_meets_it_with_losses():
    for rate in np.linspace(5, 150, 12):
        for seconds in (0.3, 2.0):
            choice = cheapest(rubis(room=8), thesis_offer(), rate, Sla(seconds))
            real = evaluate(rubis(room=8), rate, choice.counts, losses=True)
            if choice.meets_sla:
                assert real.response_s <= seconds
                assert real.blocked.max() <= 0.05


@pytest.mark.parametrize("rate", [5, 40, 70, 95, 150])
@pytest.mark.parametrize("seconds", [0.3, 0.7, 2.0])
def test_a_bound_on_a_quantile_is_met_by_trying_all(rate, seconds):
    sla = Sla(seconds, "quantile", 0.95)
    choice = cheapest(rubis(), thesis_offer(), rate, sla)
    counts = configurations(thesis_offer())
    within = 1 - response_tail(rubis(), rate, counts, seconds)
    measures = evaluate(rubis(), rate, counts)
    allowed = measures.blocked.max(axis=1) <= 0.05
    meets = (within >= 0.95) & allowed
    assert choice.is_exact
    assert choice.meets_sla == meets.any()
    if meets.any():
        cost = counts.sum(axis=1) @ np.array(PRICES)
        assert choice.cost == pytest.approx(cost[meets].min())
        assert choice.within >= 0.95
    elif allowed.any():
        assert choice.within == pytest.approx(within[allowed].max(), abs=1e-8)
    else:
        assert choice.counts.tolist() == MOST


def test_a_quantile_in_a_large_space_is_met_but_not_proved_best():
    chain = TierChain([[60.0, 25.0]] * 6, [0.9] * 5, 100)
    offer = Offer(PRICES, [[4, 6]] * 6)
    choice = cheapest(chain, offer, 50, Sla(2.0, "quantile", 0.95))
    assert choice.meets_sla
    assert not choice.is_exact
    assert choice.within == pytest.approx(
        1 - response_tail(chain, 50, choice.counts, 2.0), abs=1e-9
    )
    # Dearer than for the same bound on the mean.
    assert choice.cost >= cheapest(chain, offer, 50, Sla(2.0)).cost
    hopeless = cheapest(chain, offer, 50, Sla(0.01, "quantile", 0.95))
    assert not hopeless.meets_sla


@pytest.mark.parametrize(
    ("most", "limits", "number"),
    [
        (MOST, {}, 42),
        (MOST, {"most_vms": 3}, 4),
        (MOST, {"most_in_total": [1, 9]}, 4),
        ([[2]], {}, 2),
        ([[1, 1, 1]] * 2, {}, 49),
    ],
)
def test_configurations_within_limits(most, limits, number):
    # Three VMs: one in each tier, 2 x 2 x 1. One fat VM, the database: thin ones in the others,
    # one web and 1 to 4 application.
    offer = Offer(np.ones(len(most[0])), most, **limits)
    counts = configurations(offer)
    assert len(counts) == number
    assert len(np.unique(counts, axis=0)) == number
    assert (counts.sum(axis=2) >= 1).all()
    assert (counts <= np.array(most)).all()


def test_prices_are_whole_numbers():
    assert price_units(np.array([0.0287, 0.0127])).tolist() == [287 * 10**9, 127 * 10**9]
    units = price_units(np.array([0.3, 0.1, 0.0]))
    assert units[0] == 3 * units[1]
    assert units[2] == 0
    assert price_units(np.zeros(2)).tolist() == [0, 0]
    assert price_units(np.array([1e9, 1.0])).tolist() == [10**11, 100]
    assert price_units(np.array([3e-300, 1e-300])).tolist() == [3 * 10**11, 10**11]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Sla(0), "sla.seconds: 0 is not allowed: a finite number, more than 0"),
        (lambda: Sla([1, 2]), r"sla.seconds: the shape \(2,\) is not allowed: one number"),
        (lambda: Sla("1"), "sla.seconds: '1' is not allowed: numbers only"),
        (lambda: Sla(1, "median"), "sla.metric: 'median' is not allowed: one of mean, quantile"),
        (lambda: Sla(1, "quantile", 1.0), "sla.level: 1 is not allowed: more than 0"),
        (
            lambda: Offer([-1], [[1]]),
            r"prices\[0\]: -1 is not allowed: a finite number, at least 0",
        ),
        (lambda: Offer([1, 2], [[1]]), r"prices: the shape \(2,\) is not allowed: 1 prices"),
        (lambda: Offer([1], [1]), r"most: the shape \(1,\) is not allowed: tiers x sizes"),
        (lambda: Offer([1], [[1], [0]]), r"most\[1\]: \[0\] is not allowed: at least one VM"),
        (lambda: Offer([1], [[1.5]]), r"most\[0, 0\]: 1.5 is not allowed: a whole number"),
        (lambda: Offer([1], [[1]], [1, 2]), r"most_in_total: the shape \(2,\) is not allowed"),
        (lambda: Offer([1], [[1], [1]], most_vms=1), "most_vms: 1 is not allowed: .* from 2"),
        (lambda: configurations(Offer([1], [[99]] * 4)), "most: 96,059,601 configurations are not"),
        (
            lambda: cheapest(rubis(), Offer([1, 1], [[999, 1001]] * 3), 1, Sla(1)),
            r"most: \[999, 1001\] is not allowed: 1,002,000 options for a tier",
        ),
        (
            lambda: cheapest(rubis(), Offer([1], [[1]] * 3), 1, Sla(1)),
            "most: the shape .* as rates",
        ),
        (lambda: cheapest(rubis(), thesis_offer(), -1, Sla(1)), "arrival_rate: -1 is not allowed"),
        (lambda: cheapest(rubis(), thesis_offer(), [1], Sla(1)), "arrival_rate: the shape .* one"),
        (lambda: cheapest(rubis(), thesis_offer(), 1, Sla(1), 2), "most_blocked: 2 is not allowed"),
        (
            lambda: cheapest(rubis(), thesis_offer(most_in_total=[0, 9]), 1, Sla(1)),
            r"most_in_total, most_vms: \[0\] is not allowed: no configuration gives every tier",
        ),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()


def test_a_least_capacity_is_kept_where_it_can_be():
    chain, offer = rubis(), thesis_offer()
    free = cheapest(chain, offer, 10, Sla(10.0))
    assert free.counts.tolist() == [[0, 1], [0, 1], [1, 0]]
    # Two thin VMs serve 40, as many as are asked for.
    forced = cheapest(chain, offer, 10, Sla(10.0), least_capacity=[0, 40, 0])
    assert forced.counts.tolist() == [[0, 1], [0, 2], [1, 0]]
    # No tier can serve a million: each comes as near as it can.
    most = cheapest(chain, offer, 10, Sla(10.0), least_capacity=1e6)
    assert most.counts.tolist() == [[1, 1], [2, 4], [1, 0]]
    # Limits in total come first.
    few = Offer(PRICES, MOST, most_in_total=[2, 2])
    assert cheapest(chain, few, 10, Sla(10.0), least_capacity=1e6).meets_sla
    with pytest.raises(SpecError, match="least_capacity: -1 is not allowed"):
        cheapest(chain, offer, 10, Sla(10.0), least_capacity=-1)
