"""Chains of tiers: flows with and without loss, and mean response times."""

import numpy as np
import pytest
from hypothesis import given

from cloudarena.base.errors import SpecError
from cloudarena.queueing import (
    TierChain,
    configurations,
    departure_n_over_ast,
    evaluate,
    jackson,
    mm1c,
)
from cloudarena.queueing.routing import steps

from . import reference
from .fleets import FORWARD, RATES, configured, rubis, thesis_offer


def test_two_tiers_by_hand():
    # One VM each, room for one: a visit takes a service time, and finds room with probability
    # mu / (lambda + mu). P = 1/2: visits 3/2 and 1/2, so at rate 2 flows of 3 and 1.
    chain = TierChain([[5.0], [4.0]], [0.5], 1)
    measures = evaluate(chain, 2, [[1], [1]])
    assert measures.flows == pytest.approx([3, 1])
    assert measures.blocked == pytest.approx([3 / 8, 1 / 5])
    assert measures.utilisation == pytest.approx(np.array([[3 / 8], [1 / 5]]))
    assert measures.visit_s == pytest.approx([0.2, 0.25])
    assert measures.response_s == pytest.approx(1.5 * 0.2 + 0.5 * 0.25)
    # Half ends after one visit; half needs room three times.
    assert measures.served == pytest.approx(0.5 * 5 / 8 + 0.5 * (5 / 8) ** 2 * 4 / 5)


def test_two_tiers_with_losses_by_hand():
    # As above, but lost requests do not come back. With acceptances a and b: in at tier 1 come 2,
    # then a at tier 2, and b a at tier 1 again: a = 5 / (5 + 2 + a b), b = 4 / (4 + a).
    chain = TierChain([[5.0], [4.0]], [0.5], 1)
    a = b = 0.5
    for _ in range(200):
        a, b = 5 / (7 + a * b), 4 / (4 + a)
    measures = evaluate(chain, 2, [[1], [1]], losses=True)
    assert measures.flows == pytest.approx([2 + a * b, a])
    assert measures.blocked == pytest.approx([1 - a, 1 - b])
    served = 0.5 * a, 0.5 * a * b * a
    assert measures.served == pytest.approx(sum(served))
    time = served[0] * 0.2 + served[1] * (0.2 + 0.25 + 0.2)
    assert measures.response_s == pytest.approx(time / sum(served))


def test_one_tier_is_its_vms():
    # Fat and thin weighted by rates: both have the load 8 / 12.
    chain = TierChain([[9.0, 3.0]], [], 7)
    fat, thin = mm1c(6, 9, 7), mm1c(2, 3, 7)
    for losses in (False, True):
        measures = evaluate(chain, 8, [[1, 1]], losses)
        assert measures.utilisation[0] == pytest.approx([fat.utilisation, thin.utilisation])
        assert measures.blocked == pytest.approx([fat.blocked])
        assert measures.response_s == pytest.approx(0.75 * fat.response_s + 0.25 * thin.response_s)
        assert measures.served == pytest.approx(1 - fat.blocked)


def test_equal_balancing_overloads_thin_vms():
    # 4 each: the thin VM has the load 4/3. The mean is over the requests that find room.
    chain = TierChain([[9.0, 3.0]], [], 7, balance="equal")
    fat, thin = mm1c(4, 9, 7), mm1c(4, 3, 7)
    measures = evaluate(chain, 8, [[1, 1]])
    assert measures.utilisation[0] == pytest.approx([fat.utilisation, thin.utilisation])
    assert measures.blocked == pytest.approx([(fat.blocked + thin.blocked) / 2])
    served = fat.throughput + thin.throughput
    time = fat.throughput * fat.response_s + thin.throughput * thin.response_s
    assert measures.response_s == pytest.approx(time / served)
    assert measures.response_s > evaluate(TierChain([[9.0, 3.0]], [], 7), 8, [[1, 1]]).response_s


def test_a_tiers_time_is_a_mean_of_sojourns_not_the_inverse_of_a_rate():
    # 2 fat and 4 thin VMs of the application tier at 60 requests a second, balanced equally: the
    # mean of sojourns is 0.107 s, while (3.6) and (3.7) of the thesis give 0.0133 s.
    measures = evaluate(rubis(balance="equal"), 60, [[1, 1], [2, 4], [1, 0]])
    assert measures.visit_s[1] == pytest.approx(0.107, abs=5e-4)
    sojourns = mm1c(measures.flows[1] / 6, [36, 20], 200).response_s
    assert 1 / departure_n_over_ast([2, 4], sojourns) == pytest.approx(0.0133, abs=5e-5)


@pytest.mark.parametrize("routing", ["depth", "random_walk"])
def test_with_much_room_a_chain_is_a_jackson_network(routing):
    # Single VMs; on a random walk a tier is a station, by depth its visits are added up.
    chain = TierChain([[30.0], [40.0], [20.0]], FORWARD, 10**6, routing)
    walk = steps(chain.forward, routing)
    flows = evaluate(chain, 2, [[1], [1], [1]]).flows
    if routing == "random_walk":
        network = jackson([2, 0, 0], walk.matrix, [30, 40, 20])
        assert flows == pytest.approx(network.flows, rel=1e-9)
        response = network.response_s
    else:
        number = sum(
            mm1c(flow, rate, 10**6).in_system
            for flow, rate in zip(flows, (30, 40, 20), strict=True)
        )
        response = number / 2
    for losses in (False, True):
        measures = evaluate(chain, 2, [[1], [1], [1]], losses)
        assert measures.response_s == pytest.approx(response, rel=1e-9)
        assert measures.served == pytest.approx(1)


@pytest.mark.parametrize("balance", ["weighted", "equal"])
def test_the_42_configurations_are_those_of_a_loop_over_states(balance):
    counts = configurations(thesis_offer())
    assert len(counts) == 42
    measures = evaluate(rubis(balance=balance, room=40), 40, counts)
    for index, configuration in enumerate(counts.tolist()):
        blocked, response = reference.evaluate_by_states(
            RATES, FORWARD, 40, balance, 40, configuration
        )
        assert measures.response_s[index] == pytest.approx(response, rel=1e-9)
        assert measures.blocked[index] == pytest.approx(blocked, rel=1e-9, abs=1e-12)


def test_with_equal_balancing_more_load_may_be_served_sooner():
    # Room for one: visits take 1 / 100 and 1 s at any load. The more arrives, the more of it the
    # thin VM turns away: half of what is served at first, in the end 1 in 101.
    chain = TierChain([[100.0, 1.0]], [], 1, balance="equal")
    times = evaluate(chain, [0, 1e9], [[[1, 1]]] * 2).response_s
    assert times == pytest.approx([(0.01 + 1) / 2, (100 * 0.01 + 1 * 1) / 101])


@given(configured())
def test_losses_leave_less_to_do(case):
    chain, rate, counts = case
    without, with_losses = evaluate(chain, rate, counts), evaluate(chain, rate, counts, True)
    slack = 1 + 1e-9
    assert (with_losses.flows <= without.flows * slack).all()
    assert (with_losses.blocked <= without.blocked * slack + 1e-12).all()
    assert (with_losses.served * slack >= without.served).all()
    if chain.balance == "weighted":
        # The bound that decisions rely on, see docs/queueing.md.
        assert (with_losses.response_s <= without.response_s * slack).all()


@given(configured())
def test_flows_with_losses_are_conserved(case):
    # What is served to the end, plus what is lost at each tier, is what arrives.
    chain, rate, counts = case
    measures = evaluate(chain, rate, counts, True)
    lost = (measures.flows * measures.blocked).sum(axis=-1)
    assert measures.served * rate + lost == pytest.approx(np.full(2, rate), rel=1e-9, abs=1e-9)


@given(configured())
def test_utilisation_is_the_accepted_flow_over_the_capacity(case):
    chain, rate, counts = case
    for losses in (False, True):
        measures = evaluate(chain, rate, counts, losses)
        capacity = (counts * measures.utilisation * chain.rates).sum(axis=-1)
        accepted = measures.flows * (1 - measures.blocked)
        assert capacity == pytest.approx(accepted, rel=1e-6, abs=1e-9)
        assert (measures.utilisation <= 1 + 1e-12).all()


@given(configured())
def test_configurations_are_evaluated_one_by_one_or_together(case):
    chain, rate, counts = case
    for losses in (False, True):
        together = evaluate(chain, [rate, rate / 2], counts, losses)
        for index, one in enumerate((rate, rate / 2)):
            alone = evaluate(chain, one, counts[index], losses)
            for ours, theirs in zip(together, alone, strict=True):
                assert ours[index] == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@given(configured())
def test_more_requests_take_longer_with_weighted_balancing(case):
    chain, rate, counts = case
    chain = TierChain(chain.rates, chain.forward, chain.room, chain.routing)
    less, more = evaluate(chain, rate, counts), evaluate(chain, rate * 1.3, counts)
    assert (less.response_s <= more.response_s * (1 + 1e-9)).all()
    assert (less.blocked <= more.blocked * (1 + 1e-9)).all()
    assert (less.served * (1 + 1e-9) >= more.served).all()


def test_nothing_arrives():
    measures = evaluate(rubis(), 0, [[0, 1], [0, 1], [1, 0]], losses=True)
    assert measures.flows.tolist() == [0, 0, 0]
    assert measures.response_s == pytest.approx(1.8 / 120 + 1.28 / 20 + 0.48 / 80)
    assert measures.served == pytest.approx(1)


@pytest.mark.parametrize("routing", ["depth", "random_walk"])
@pytest.mark.parametrize("balance", ["weighted", "equal"])
@pytest.mark.parametrize("rate", [1e3, 1e6, 1e9])
def test_flows_with_losses_in_hopeless_overload(routing, balance, rate):
    chain = TierChain([[10.0, 3.0]] * 6, [0.9] * 5, [1, 50, 300, 5, 10**5, 20], routing, balance)
    measures = evaluate(chain, rate, [[1, 2]] * 6, losses=True)
    assert measures.flows[0] >= rate
    # No more goes on from tier 1 than its VMs can do.
    assert measures.flows[0] * (1 - measures.blocked[0]) <= 16 * (1 + 1e-6)
    lost = measures.flows @ measures.blocked
    assert measures.served * rate + lost == pytest.approx(rate, rel=1e-9)


def test_leading_axes_are_free():
    counts = configurations(thesis_offer()).reshape(6, 7, 3, 2)
    measures = evaluate(rubis(), 40, counts, losses=True)
    assert measures.response_s.shape == (6, 7)
    assert measures.flows.shape == (6, 7, 3)
    assert measures.utilisation.shape == (6, 7, 3, 2)
    assert evaluate(rubis(), 40, counts[:0]).response_s.shape == (0, 7)


def test_a_chain_keeps_its_own_arrays():
    rates = np.array(RATES, float)
    chain = TierChain(rates, FORWARD, 200)
    rates[:] = 1
    assert chain.rates.tolist() == RATES
    with pytest.raises(ValueError, match="read-only"):
        chain.rates[0, 0] = 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TierChain([[1], [0]], [0.5], 9), r"rates\[1, 0\]: 0 is not allowed: a finite"),
        (lambda: TierChain([1, 2], [0.5], 9), r"rates: the shape \(2,\) is not allowed: tiers x"),
        (lambda: TierChain([[1], [1, 2]], [0.5], 9), "rates: .* is not allowed: numbers only"),
        (
            lambda: TierChain([[1], [1]], [0.5, 0.5], 9),
            "forward: 2 probabilities are not .* 1, one",
        ),
        (lambda: TierChain([[1], [1]], [1.0], 9, "random_walk"), r"forward\[0\]: 1 is not allowed"),
        (lambda: TierChain([[1]], [], 0), "room: 0 is not allowed: a whole number from 1"),
        (lambda: TierChain([[1]], [], [1, 2]), r"room: the shape \(2,\) is not allowed"),
        (lambda: TierChain([[1]], [], 1, "depht"), "routing: .* Did you mean 'depth'"),
        (lambda: TierChain([[1]], [], 1, balance="even"), "balance: 'even' is not allowed: one of"),
        (lambda: evaluate(rubis(), -1, [[1, 0]] * 3), "arrival_rate: -1 is not allowed"),
        (lambda: evaluate(rubis(), [1, 2], [[1, 0]] * 3), r"arrival_rate: the shape \(2,\) is not"),
        (lambda: evaluate(rubis(), 1, [[1, 0]] * 2), r"counts: the shape \(2, 2\) is not allowed"),
        (lambda: evaluate(rubis(), 1, [[1, 0], [0, 0], [1, 0]]), r"counts\[1\]: \[0, 0\] is not"),
        (lambda: evaluate(rubis(), 1, [[1, -1]] * 3), r"counts\[0, 1\]: -1 is not allowed"),
        (lambda: evaluate(rubis(), 1, [[1.5, 0]] * 3), r"counts\[0, 0\]: 1.5 is not allowed"),
        (lambda: departure_n_over_ast([1, 1], [1, 0]), r"sojourn_s\[1\]: 0 is not allowed"),
        (lambda: departure_n_over_ast([1, 1], [1, 1, 1]), "shapes that do not go together"),
    ],
)
def test_what_is_not_allowed_is_named(call, message):
    with pytest.raises(SpecError, match=message):
        call()
