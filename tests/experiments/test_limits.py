"""Limits that a policy must keep, and answers with amounts."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.limits import Limit
from cloudarena.contract.scenario import MachineGroup
from cloudarena.experiments.answer import dollars
from cloudarena.experiments.limits import kept, least_probability, limits_on
from tests.experiments.made import MEASURES, made

KIND = SimpleNamespace(metric={metric.name: metric for metric in MEASURES})
UNDER_TWO = Limit("response_s", "<=", 2.0)


def test_limits_are_read():
    texts = ["unserved_share<=0.1%", "response_s < 2, cost_usd>=1e3"]
    assert limits_on(KIND, texts) == (
        Limit("unserved_share", "<=", 0.001), Limit("response_s", "<", 2.0),
        Limit("cost_usd", ">=", 1000.0),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [("response_s=2", "a metric, <=, <, >= or >"), ("response_s<=fast", "a metric, <=, <, >= or >"),
     ("respons_s<=2", "Did you mean 'response_s'")],
)  # fmt: skip
def test_what_is_no_limit(text, words):
    with pytest.raises(CloudarenaError, match=re.escape(words)):
        limits_on(KIND, [text])


def test_no_value_and_a_lower_bound_do_not_keep_an_upper_limit():
    values = np.array([1.0, np.nan, 3.0, 1.0])
    assert kept(UNDER_TWO, values).tolist() == [True, False, False, True]
    flags = np.array([False, False, False, True])
    assert kept(UNDER_TWO, values, flags).tolist() == [True, False, False, False]
    assert kept(Limit("response_s", ">=", 0.5), values, flags).tolist() == [True, False, True, True]


def test_how_sure_a_limit_is():
    assert least_probability(10, 10) == pytest.approx(0.05 ** (1 / 10))
    assert least_probability(0, 10) == 0.0
    assert least_probability(9, 10) == pytest.approx(0.6058, abs=1e-4)
    assert least_probability(10, 10, among=3) == pytest.approx((0.05 / 3) ** (1 / 10))


def test_what_is_said_of_other_runs_holds_for_the_one_of_many_that_kept_the_limit():
    """Ten policies that keep it in 70 % of runs: one of them does in all ten, in a quarter."""
    rng = np.random.default_rng(5)
    runs, policies, kept_truly, wrong, plain = 400, 10, 0.58, 0, 0
    for _ in range(runs):
        passed = (rng.random((policies, 10)) < kept_truly).all(axis=1).any()
        wrong += passed and least_probability(10, 10, policies) > kept_truly
        plain += (rng.random((policies, 10)) < 0.73).all(axis=1).any()
    assert least_probability(10, 10) > 0.73
    assert plain > 0.25 * runs  # what was said before was wrong so often
    assert wrong <= 0.05 * runs + 2.0 * (0.05 * 0.95 * runs) ** 0.5
    comparison = question(
        cost_usd=[noisy(10, 1), noisy(5, 2), noisy(8, 3)], response_s=np.ones((3, 10))
    )
    assert "(at least 66 % of such runs, 95 % sure)" in comparison.conclusion()


def test_a_fixed_best_says_nothing_of_other_runs_whoever_it_is_compared_with():
    comparison = question(
        cost_usd=[noisy(10, 1), [5.0] * 10, noisy(8, 3)], response_s=np.ones((3, 10))
    )
    assert "and keeps response_s <= 2 on this one trace." in comparison.conclusion()


def test_amounts_of_which_nothing_has_a_price_are_no_answer():
    comparison = question(cost_usd=np.zeros((3, 10)), response_s=np.ones((3, 10)))
    assert comparison.conclusion().startswith(
        "There is no winner by cost_usd. cost_usd is 0 in all runs, since nothing in the spec has "
        "a price: set prices.hour_usd."
    )
    assert comparison.winner(comparison.scenario.kind.metric["cost_usd"]) is None
    limited = question(
        limits=(Limit("cost_usd", "<=", 5.0),),
        cost_usd=np.zeros((3, 10)),
        response_s=[noisy(1, 1), noisy(2, 2), noisy(3, 3)],
    )
    assert "cost_usd is 0 in all runs" in limited.conclusion("response_s")


def noisy(level, seed):
    return level + np.random.default_rng(seed).normal(0, 0.05, 10)


def question(limits=(UNDER_TWO,), baseline=None, **rows):
    asked = {"by": "cost_usd", "limits": limits, "baseline": baseline}
    return made("old cheap new", asked=asked, **rows)


def test_the_cheapest_that_keeps_the_limits_wins_with_amounts():
    comparison = question(
        baseline="old",
        cost_usd=[noisy(10, 1), noisy(5, 2), noisy(8, 3)],
        response_s=[[1.0] * 10, [1.0] * 9 + [2.5], [1.5] * 10],
    )
    assert comparison.beyond_limits == ("cheap",)
    assert comparison.winner(comparison.scenario.kind.metric["cost_usd"]) == "new"
    said = comparison.conclusion()
    assert re.match(
        r"new costs \$[78]\.\d\d a run, \$[12]\.\d\d \(\d\d %\) less than old "
        r"\[\$\d\.\d\d to \$\d\.\d\d\], and "
        r"keeps response_s <= 2 in all 10 replications \(at least 66 % of such runs, 95 % sure\)\. "
        r"cheap breaks response_s <= 2 in 1 of 10 replications\.",
        said,
    ), said


def test_without_a_baseline_the_next_best_is_compared():
    comparison = question(
        limits=(), cost_usd=[noisy(10, 1), noisy(5, 2), noisy(8, 3)], response_s=np.ones((3, 10))
    )
    assert "less than new [" in comparison.conclusion()


def test_nobody_keeps_the_limits():
    comparison = question(cost_usd=np.ones((3, 4)), response_s=np.full((3, 4), 9.0))
    assert comparison.conclusion().startswith(
        "No policy keeps response_s <= 2 in all replications; of those that break them least "
        "often, old costs $1.00 a run. "
        "old, cheap and new break response_s <= 2 in all replications."
    )


@pytest.mark.parametrize(("runs", "every"), [(1, "the one replication"), (4, "all replications")])
def test_who_keeps_a_limit_by_leaving_work_undone_does_not_make_the_values_unknown(runs, every):
    """All have a cost in all replications; it said that no policy has one that is known."""
    comparison = question(
        cost_usd=np.ones((3, runs)),
        response_s=[[9.0] * runs, [1.0] * runs, [9.0] * runs],
        unserved_share=[[0.0] * runs, [1.0] * runs, [0.0] * runs],
    )
    assert comparison.conclusion().startswith(
        "No policy is in the running: who keeps response_s <= 2 leaves more undone than who does "
        f"not. old and new break response_s <= 2 in {every}."
    )


def test_a_value_of_who_is_out_of_the_running_is_known_but_does_not_count():
    comparison = question(
        limits=(),
        cost_usd=[[np.nan] * 6, [1.0] * 6, [np.nan] * 6],
        unserved_share=[[0.0] * 6, [1.0] * 6, [0.0] * 6],
    )
    assert comparison.conclusion().startswith(
        "No policy in the running has a value of cost_usd that is known in all replications."
    )


def test_a_limit_on_service_replaces_the_rule_on_service():
    limits = (Limit("unserved_share", "<=", 0.01),)
    comparison = question(
        limits=limits,
        cost_usd=[noisy(10, 1), noisy(5, 2), noisy(8, 3)],
        unserved_share=[[0.0] * 10, [0.005] * 10, [0.02] * 10],
    )
    assert comparison.out_of_the_running == ("new",)
    said = comparison.conclusion()
    assert said.startswith("cheap costs $")
    assert "cheap leaves 0.5 % of requests unserved, as the limit allows (old: 0 %)." in said


def test_a_limit_that_all_keep_is_kept_by_nobody_alone():
    """Who serves nothing keeps a limit on costs, and is out of the running for another reason."""
    comparison = question(
        limits=(Limit("cost_usd", "<=", 100.0),),
        cost_usd=[noisy(10, 1), [0.0] * 10, [0.0] * 10],
        unserved_share=[[0.0] * 10, [1.0] * 10, [1.0] * 10],
    )
    said = comparison.conclusion()
    assert said.startswith("old costs $")
    assert ", and keeps cost_usd <= 100 in all 10 replications" in said


def test_a_lower_limit_on_service_allows_nothing():
    comparison = question(
        limits=(Limit("unserved_share", ">=", 0.0),),
        cost_usd=[noisy(10, 1), [0.0] * 10, [0.0] * 10],
        unserved_share=[[0.0] * 10, [1.0] * 10, [1.0] * 10],
    )
    assert comparison.out_of_the_running == ("cheap", "new")
    assert "as the limit allows" not in comparison.conclusion()


def test_an_answer_with_amounts_knows_who_may_serve_less():
    """Where no test can tell, who left more undone does not win, whatever it costs."""
    comparison = question(
        limits=(),
        baseline="old",
        cost_usd=[noisy(10, 1), noisy(5, 2), noisy(8, 3)],
        unserved_share=[[0.0] * 10, [0.0] * 9 + [0.15], [0.0] * 10],
    )
    assert comparison.winner(comparison.scenario.kind.metric["cost_usd"]) is None
    said = comparison.conclusion()
    assert said.startswith("cheap costs $")
    assert "But it left 1.5 % of requests unserved, old 0 %: there is no winner until" in said


def test_machines_without_a_price_beside_others_are_named():
    comparison = question(limits=(), cost_usd=[noisy(10, 1), noisy(5, 2), noisy(8, 3)])
    groups = (MachineGroup("paid", "a", 1, 2.0), MachineGroup("free", "b", 1))
    comparison.scenario.machine_groups = groups
    assert "free has no price in the spec." in comparison.conclusion()


def test_one_trace_claims_nothing_beyond_it():
    comparison = question(limits=(), cost_usd=[[10.0] * 3, [5.0] * 3, [8.0] * 3])
    assert "on this one trace (no claim beyond it)" in comparison.conclusion()


@pytest.mark.parametrize(
    ("value", "text"),
    [(66.561, "$66.56"), (1234.5, "$1,234"), (0.00423, "$0.00423"), (0, "$0.00"), (-3, "-$3.00")],
)
def test_amounts_of_money(value, text):
    assert dollars(value) == text
