"""What a verdict may claim: one level for all, constants as constants, nothing from rounding."""

import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats

from cloudarena.base.statistics import Estimate
from cloudarena.contract import TradeOff
from cloudarena.experiments.comparison import TIES
from cloudarena.experiments.pairs import holm
from cloudarena.report.terminal.comparison import comparison_tables
from tests.experiments.made import COST, MEASURES, PROFIT, SHARE, TIME, made

FRONT = TradeOff("", "cost_usd", "response_s")


def test_constant_rows_are_compared_as_constants_beside_a_random_policy():
    pair = {"cost_usd": [[100.0] * 3, [91.6] * 3]}
    alone = made("best-fit best-fit-memory", **pair)
    with_random = made(
        "best-fit best-fit-memory random", cost_usd=[*pair["cost_usd"], [150.0, 160.0, 152.0]]
    )
    claim = "by 8.40 $, the same in all replications: one trace, so no claim beyond it"
    assert alone.conclusion() == f"best-fit-memory wins: lowest cost_usd, {claim}."
    assert with_random.conclusion() == (
        "best-fit-memory wins: lowest cost_usd, by more than chance (95%) from random, and by "
        "8.40 $ from best-fit, the same in all replications: one trace, so no claim beyond it."
    )
    for comparison in (alone, with_random):
        found = comparison.pair("best-fit-memory", "cost_usd", "best-fit")
        assert found.basis == "constant"
        assert found.difference == pytest.approx((-8.4, -8.4, -8.4))


def test_a_constant_metric_of_random_work_is_not_called_one_trace():
    work = [[5.0, 6.0, 7.0, 4.0, 9.0]] * 2
    comparison = made("a b", cost_usd=[[1.0] * 5, [3.0] * 5], requests=work)
    assert comparison.conclusion() == (
        "a wins: lowest cost_usd, by 2.00 $, the same in all replications."
    )


def test_a_few_numbers_of_random_work_may_be_the_same_by_chance():
    comparison = made("a b", cost_usd=[[1.0] * 3, [3.0] * 3], requests=[[5.0, 6.0, 7.0]] * 2)
    assert comparison.pair("b", "cost_usd").basis == "test"
    assert comparison.verdict("b", COST) == "not told apart"


def test_a_constant_row_against_a_random_one_is_an_ordinary_paired_test():
    comparison = made("a b", cost_usd=[[1.0] * 4, [3.0, 3.2, 2.9, 3.1]])
    assert comparison.pair("b", "cost_usd").basis == "test"
    assert comparison.conclusion() == "a wins: lowest cost_usd, by more than chance (95%)."


def test_two_differences_that_happen_to_be_the_same_prove_nothing():
    rows = [[5.0, 7.0], [6.0, 8.0]]
    assert made("a b", cost_usd=rows).verdict("b", COST) == "not told apart"
    ten = np.arange(10.0) ** 2
    assert made("a b", cost_usd=[ten, ten + 1]).verdict("b", COST) == "worse"


@pytest.mark.parametrize("noise", [1.8e-15, 1e-12, -3e-12])
def test_rounding_is_no_difference_and_printed_as_zero(noise):
    rent = np.full(5, 11.985)
    spread = noise * np.array([1, 0, 1, 0.5, 1])
    comparison = made("a b", cost_usd=[rent, rent + spread], response_s=[rent, rent + noise])
    for metric in (COST, TIME):
        assert comparison.difference("b", metric.name) == (0, 0, 0)
        assert comparison.verdict("b", metric) == "no difference"
        assert comparison.starred(metric) == ()
    assert comparison.conclusion() == (
        "No difference in cost_usd between the policies (all replications gave the same)."
    )
    assert comparison.is_deterministic
    assert "e-1" not in printed(comparison)


def test_rounding_of_random_rows_is_no_difference_either():
    rows = np.array([100.0, 250.0, 175.0])
    comparison = made("a b", cost_usd=[rows, rows * (1 + 2e-16) + 1e-13])
    assert comparison.difference("b", "cost_usd") == (0, 0, 0)
    assert "e-1" not in printed(comparison)


def test_a_small_true_difference_is_not_taken_for_rounding():
    comparison = made("a b", cost_usd=[[1e6] * 3, [1e6 + 0.01] * 3])
    assert comparison.verdict("b", COST) == "worse"


def test_holms_steps_by_hand():
    # 0.01 <= 0.05/4; 0.015 <= 0.05/3; 0.03 > 0.05/2 ends it, so 0.04 is not looked at.
    rejected, levels = holm([0.03, 0.01, 0.04, 0.015], [1, 1, 1, 1])
    assert rejected == [False, True, False, True]
    assert levels == pytest.approx([0.025, 0.0125, 0.025, 0.05 / 3])
    # With weights 3 and 1, 0.03 is below 3/4 of 5 %, and then 0.05 is left for the other.
    assert holm([0.03, 0.05], [3, 1])[0] == [True, True]
    assert holm([0.03, 0.05], [1, 3])[0] == [False, False]
    assert holm([], []) == ([], [])


def t_of(p, freedom):
    return stats.t.isf(p / 2, freedom)


def rows_with(t, replications=6):
    """A row of zeros, and one whose paired t statistic is t."""
    noise = np.array([1.0, -1, 0.5, -0.5, 0.2, -0.2])[:replications]
    noise = noise - noise.mean()
    error = noise.std(ddof=1) / replications**0.5
    return noise + t * error


@pytest.mark.parametrize(("factor", "verdict"), [(1.02, "worse"), (0.98, "not told apart")])
def test_the_level_counts_exactly_the_comparisons_that_are_made(factor, verdict):
    """Three policies, two metrics that vary: three pairs of the headline share half of 5 %."""
    zero = np.zeros(6)
    other = np.array([3.0, 1, 2, 2, 1, 3.5])
    row = rows_with(factor * t_of(0.025 / 3, 5))
    comparison = made("a b c", cost_usd=[zero, row, zero + 0.4 * row], response_s=[other] * 3)
    # a against b has the smallest p of the headline; c is on the line between, with the same t.
    assert comparison.family.tests == 6
    assert comparison.verdict("b", COST) == verdict


@pytest.mark.parametrize(("factor", "verdict"), [(1.02, "worse"), (0.98, "not told apart")])
def test_a_metric_besides_the_headline_shares_the_other_half(factor, verdict):
    other = np.array([3.0, 1, 2, 2, 1, 3.5])
    row = rows_with(factor * t_of(0.025 / 2, 5))
    comparison = made(
        "a b", cost_usd=[other, other], response_s=[0 * row, row], profit_usd=[other, other]
    )
    assert comparison.family.tests == 3
    assert comparison.verdict("b", TIME) == verdict


def test_one_comparison_alone_is_at_the_plain_level():
    for factor, verdict in ((1.01, "worse"), (0.99, "not told apart")):
        row = rows_with(factor * t_of(0.05, 5))
        comparison = made("a b", cost_usd=[0 * row, row])
        assert comparison.verdict("b", COST) == verdict
        low, high = comparison.difference("b", "cost_usd")[1:]
        assert (low > 0) == (verdict == "worse")
        expected = stats.t.interval(0.95, 5, row.mean(), stats.sem(row))
        assert (low, high) == pytest.approx(expected)


def random_comparison(rng):
    """Policies that may differ, be the same, be constant, have no value, or be bounds."""
    policies, replications = int(rng.integers(2, 5)), int(rng.integers(1, 7))
    shape = policies, replications
    rows, bounds = {}, {}
    for metric in MEASURES[:4]:
        shift = rng.choice([0.0, 0.3, 5.0]) * rng.integers(0, 3, (policies, 1))
        values = 10 + shift + rng.standard_normal((1, replications))
        values = values + rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal(shape)
        if rng.random() < 0.3:
            k = rng.integers(policies)
            values[k] = values[k, 0]
        if rng.random() < 0.2:
            values[:] = values[:, :1]
        if metric.name != "unserved_share":
            if rng.random() < 0.2:
                values[rng.integers(policies), rng.integers(replications)] = np.nan
            if rng.random() < 0.2:
                bounds[metric.name] = rng.random(shape) < 0.3
        else:
            values = np.clip(values / 40, 0, 1) if rng.random() < 0.5 else 0 * values
        rows[metric.name] = values
    return made(" ".join("abcd"[:policies]), bounds=bounds, **rows)


def printed(comparison, width=250):
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    for part in comparison_tables(comparison):
        console.print(part)
    return stream.getvalue()


@pytest.mark.parametrize("seed", range(100))
def test_table_sentence_intervals_and_json_say_the_same(seed):
    rng = np.random.default_rng(seed)
    comparison = random_comparison(rng)
    summary, sentence = comparison.summary(), comparison.conclusion()
    winner = comparison.winner(COST)
    assert (f"{winner} wins" in sentence) == (winner is not None)
    assert sentence.count(" wins") == (winner is not None)
    assert summary["winner"] == winner
    assert summary["conclusion"] == sentence
    out = set(comparison.out_of_the_running)
    for metric in MEASURES[:4]:
        leaders, starred = comparison.leaders(metric), comparison.starred(metric)
        assert starred in ((), leaders)
        for policy in leaders:
            assert metric.name == "unserved_share" or policy not in out
            assert not np.isnan(
                comparison.values[metric.name][comparison.policies.index(policy)]
            ).any()
            for other in comparison.policies:
                if other in leaders or other not in out:
                    assert comparison.verdict(policy, metric, other) != "worse"
        for policy in comparison.policies[1:]:
            pair, verdict = comparison.pair(policy, metric.name), comparison.verdict(policy, metric)
            low, high = pair.difference[1:]
            if verdict in ("better", "worse"):
                assert low > 0 or high < 0
            if verdict in TIES:
                assert low <= 0 <= high
            assert summary["differences"][policy][metric.name]["verdict"] == verdict
        if winner is not None and metric is COST:
            assert starred == (winner,)
    if any(words in sentence for words in ("No difference", "not tell", "cannot be told")):
        assert len(comparison.leaders(COST)) > 1
    text = printed(comparison)
    assert sentence in " ".join(text.split())
    for name in out:
        assert f"{name} ⊘" in text
    for metric in MEASURES[:4]:
        row = next(line for line in text.splitlines() if line.startswith(metric.name))
        assert row.count("*") == len(comparison.starred(metric))


def test_no_claim_is_made_of_policies_that_are_the_same_in_more_than_five_of_a_hundred():
    """Three policies, four metrics, five replications: any verdict at all would be wrong."""
    rng, runs = np.random.default_rng(0), 600
    wrong = 0
    for _ in range(runs):
        rows = {
            metric.name: rng.standard_normal((1, 5)) + rng.standard_normal((3, 5))
            for metric in MEASURES[:4]
        }
        rows["unserved_share"] = 0.2 + 0.01 * rows["unserved_share"]
        comparison = made("a b c", **rows)
        wrong += any(pair.sign for pair in comparison.family.pairs.values())
        if comparison.winner(COST):
            assert any(pair.sign for pair in comparison.family.pairs.values())
    assert wrong / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)
    assert wrong > 0  # the tests are not so careful that they never say anything


@pytest.mark.parametrize("replications", [2, 3, 5])
def test_counts_that_happen_to_be_equal_make_no_claim_either(replications):
    """Rare failures: 0 or 1 in most replications, under policies that are the same."""
    rng, runs = np.random.default_rng(replications), 300
    wrong = 0
    for _ in range(runs):
        rows = {m.name: rng.poisson(0.3, (3, replications)) for m in MEASURES[:4]}
        rows["unserved_share"] = rows["unserved_share"] / 100
        work = rng.standard_normal((1, replications)).repeat(3, axis=0)
        comparison = made("a b c", requests=work, **rows)
        wrong += any(pair.sign for pair in comparison.family.pairs.values())
    assert wrong / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)


def test_no_value_never_leads_and_the_sentence_says_where_there_is_none():
    comparison = made(
        "none some a b",
        cost_usd=[[np.nan] * 4, [1, np.nan, 1.1, 0.9], [5, 5.1, 4.9, 5], [6, 6.2, 5.9, 6]],
    )
    assert comparison.leaders(COST) == ("a",)
    assert comparison.winner(COST) is None
    assert comparison.conclusion() == (
        "a has the lowest cost_usd of those that have one in all replications: there is no winner. "
        "none has no cost_usd; some has none in 1 of 4 replications."
    )
    assert comparison.counted("some", "cost_usd") == 3
    assert comparison.estimate("some", "cost_usd").mean == pytest.approx(1.0)
    assert comparison.pair("a", "cost_usd", "some").replications == 3
    assert comparison.verdict("some", COST, "a") == ""
    summary = comparison.summary()
    assert summary["metrics"]["none"]["cost_usd"] == {
        "mean": None, "low": None, "high": None, "replications": 0
    }  # fmt: skip
    assert summary["metrics"]["some"]["cost_usd"]["replications"] == 3
    text = printed(comparison)
    assert "(3 of 4)" in text
    assert "nan" not in text


def test_nobody_leads_where_nobody_has_a_value():
    comparison = made("a b", cost_usd=[[np.nan] * 3, [1, np.nan, 2]])
    assert comparison.leaders(COST) == ()
    assert comparison.conclusion().startswith("No policy has a value of cost_usd that is known")
    assert comparison.front(FRONT) == ()


def test_a_bound_is_never_called_the_lower_of_two_but_may_be_the_higher():
    unfinished = [[True, True, True], [False] * 3]
    rows = [[60.0, 61, 59], [185.0, 186, 184.5]]
    low = made("sjf fcfs", "response_s", bounds={"response_s": unfinished}, response_s=rows)
    assert low.verdict("sjf", TIME, "fcfs") == ""
    assert low.leaders(TIME) == ("fcfs", "sjf")
    assert low.conclusion() == (
        "Which of the policies has the lowest response_s is not known: work had not finished."
    )
    assert low.estimate("sjf", "response_s").is_at_least
    assert "> 60" in printed(low)
    plain = low.summary()["metrics"]["sjf"]["response_s"]
    assert (plain["at_least"], plain["high"]) == (True, None)

    high = made("sjf fcfs", "response_s", bounds={"response_s": unfinished}, response_s=rows[::-1])
    assert high.verdict("sjf", TIME, "fcfs") == "worse"
    assert high.winner(TIME) == "fcfs"
    assert high.difference("sjf", "response_s", "fcfs").is_at_least
    assert high.difference("fcfs", "response_s", "sjf").is_at_most


def test_a_bound_may_win_where_higher_is_better():
    unfinished = {"profit_usd": [[True] * 3, [False] * 3]}
    comparison = made("a b", bounds=unfinished, profit_usd=[[9.0, 9.1, 8.9], [1.0, 1.2, 1.1]])
    assert comparison.winner(PROFIT) == "a"
    lower = made("a b", bounds=unfinished, profit_usd=[[1.0, 1.2, 1.1], [9.0, 9.1, 8.9]])
    assert lower.winner(PROFIT) is None
    assert lower.verdict("b", PROFIT) == ""


def test_constant_bounds_are_not_compared_as_constants():
    bounds = {"cost_usd": [[True] * 3, [False] * 3]}
    comparison = made("a b", bounds=bounds, cost_usd=[[60.0] * 3, [185.0] * 3])
    assert comparison.winner(COST) is None
    assert comparison.verdict("a", COST, "b") == ""


def test_two_bounds_say_nothing_of_each_other():
    comparison = made(
        "a b", bounds={"cost_usd": [[True] * 3] * 2}, cost_usd=[[1.0, 1.1, 1.2], [8.0, 8.1, 8.3]]
    )
    assert math.isnan(comparison.difference("b", "cost_usd").mean)
    assert comparison.leaders(COST) == ()


def test_a_front_has_each_point_once_and_nobody_who_is_as_good_in_one_and_worse_in_the_other():
    comparison = made(
        "a twin slower dearer cheap",
        cost_usd=[[2.0] * 2, [2.0] * 2, [2.0] * 2, [3.0] * 2, [1.0] * 2],
        response_s=[[4.0] * 2, [4.0] * 2, [5.0] * 2, [4.0] * 2, [9.0] * 2],
    )
    assert comparison.front(FRONT) == ("cheap", "a")


def test_rounding_puts_nobody_on_a_front():
    up = 1 + 1e-15
    comparison = made(
        "a b", cost_usd=[[2.0] * 2, [2.0 * up] * 2], response_s=[[4.0 * up] * 2, [4.0] * 2]
    )
    assert len(comparison.front(FRONT)) == 1


def test_a_bound_is_not_on_a_front_where_lower_is_better():
    comparison = made(
        "a b", bounds={"response_s": [[True] * 2, [False] * 2]},
        cost_usd=[[1.0] * 2, [2.0] * 2], response_s=[[1.0] * 2, [2.0] * 2],
    )  # fmt: skip
    assert comparison.front(FRONT) == ("b",)


def test_the_winner_that_saw_more_is_told():
    def told(saw):
        comparison = made("sjf fcfs drf", cost_usd=[[1, 1.1, 1], [5, 5.2, 5], [6, 6.1, 6.3]])
        comparison.saw.update(saw)
        assert comparison.summary()["saw"] == saw
        return comparison.conclusion()

    assert told({"sjf": "durations"}).endswith("sjf saw durations, which the others did not.")
    assert told({"sjf": "durations", "drf": "durations"}).endswith(
        "sjf saw durations, which fcfs did not."
    )
    assert "saw" not in told({"fcfs": "durations"})
    assert "saw" not in told(dict.fromkeys(("sjf", "fcfs", "drf"), "durations"))


def test_what_was_seen_is_not_told_where_nobody_leads():
    comparison = made("sjf fcfs", cost_usd=[[1, 5, 3.0], [2, 4, 3.5]])
    comparison.saw["sjf"] = "durations"
    assert comparison.conclusion() == (
        "cost_usd does not tell the policies apart (95%): the difference from sjf is between "
        "-5.16 $ and +5.49 $."
    )


def test_a_narrow_interval_is_called_no_difference_and_a_wide_one_is_said_with_its_ends():
    rng = np.random.default_rng(3)
    first = rng.normal(1000.0, 50.0, 10)
    near = made("a b", cost_usd=[first, first + rng.normal(0.0, 2.0, 10)])
    assert near.verdict("b", COST) == "no difference"
    assert near.conclusion() == "No difference in cost_usd between the policies (95%)."
    rows = [first, first + rng.normal(0.0, 40.0, 10), first + rng.normal(0.0, 2.0, 10)]
    far = made("a b c", cost_usd=rows)
    assert [far.verdict(one, COST) for one in "bc"] == ["not told apart", "no difference"]
    assert summary_verdicts(far) == ["not told apart", "no difference"]
    leader, *tied = far.leaders(COST)
    ends = [far.difference(one, "cost_usd", leader) for one in tied]
    low, high = min(one.low for one in ends), max(one.high for one in ends)
    assert far.conclusion() == (
        f"cost_usd does not tell the policies apart (95%): differences from {leader} are between "
        f"-{-low:.2f} $ and +{high:.2f} $."
    )
    assert "not told apart" in printed(far)
    assert far.starred(COST) == ()


def test_a_thousandth_of_the_work_is_no_difference_in_service():
    undone = np.array([[2e-4, 4e-4, 3e-4, 3e-4], [3e-4, 3e-4, 4e-4, 2.5e-4]])
    few = made("a b", unserved_share=undone)
    assert few.verdict("b", SHARE) == "no difference"
    many = made("a b", unserved_share=100 * undone)
    assert many.verdict("b", SHARE) == "not told apart"


def summary_verdicts(comparison):
    found = comparison.summary()["differences"]
    return [found[one]["cost_usd"]["verdict"] for one in comparison.policies[1:]]


@given(st.floats(0, 1))
def test_a_share_is_called_all_or_nothing_only_if_it_is(share):
    from cloudarena.experiments.conclusion import share_text

    text = share_text(share)
    assert (text == "0 %") == (share == 0)
    if share < 1 - 1e-9:
        assert text != "100 %"
    assert float(text.removesuffix(" %")) == pytest.approx(100 * share, rel=0.06, abs=1e-300)


def test_the_widths_of_means_are_plain_intervals_each_by_itself():
    comparison = made("a b c", cost_usd=[[1.0, 2, 4], [5.0, 5.5, 7], [9.0, 8.0, 8.5]])
    row = np.array([1.0, 2, 4])
    expected = stats.t.interval(0.95, 2, row.mean(), stats.sem(row))
    assert comparison.estimate("a", "cost_usd") == pytest.approx(Estimate(row.mean(), *expected))
