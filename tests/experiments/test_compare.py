import numpy as np
import pytest
from scipy import stats

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.contract import Metric
from cloudarena.experiments.compare import Comparison, interval

CHANGES = {"ticks": 300, "workload.vms": 600, "workload.concurrent": 100, "machines[0].count": 12}
PROFIT = Metric("profit_usd", "", "higher")
ENERGY = Metric("energy_kwh", "", "lower")


@pytest.fixture(scope="module")
def scenario():
    return cloudarena.load("vm/azure-like-10k", CHANGES)


def made(scenario, **values):
    policies = tuple("abc"[: len(next(iter(values.values())))])
    blank = {m.name: np.zeros((len(policies), 4)) for m in scenario.kind.metrics}
    arrays = {name: np.array(rows, float) for name, rows in values.items()}
    return Comparison(scenario, policies, 0, {**blank, **arrays}, {})


def test_the_interval_is_students():
    values = np.array([3.0, 5.0, 4.0, 8.0])
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert interval(values) == pytest.approx((5.0, low, high))


def test_one_replication_has_no_interval():
    mean, low, high = interval(np.array([3.0]))
    assert mean == 3.0
    assert np.isnan(low)
    assert np.isnan(high)


def test_equal_values_have_an_interval_without_width():
    assert interval(np.full(5, 0.1)) == (0.1, 0.1, 0.1)


def test_differences_are_paired(scenario):
    # Both vary by 100 from replication to replication, and differ by about 1.
    comparison = made(scenario, profit_usd=[[100, 200, 300, 400], [101, 201.1, 300.9, 401]])
    assert comparison.difference("b", "profit_usd").mean == pytest.approx(1.0)
    assert comparison.verdict("b", PROFIT) == "better"
    assert comparison.leaders(PROFIT) == ("b",)
    assert comparison.conclusion().startswith("b wins: highest profit_usd")


def test_a_direction_turns_the_verdict(scenario):
    comparison = made(scenario, energy_kwh=[[1, 2, 3, 4], [2, 3, 4.1, 5]])
    assert comparison.verdict("b", ENERGY) == "worse"
    assert comparison.leaders(ENERGY) == ("a",)


def test_noise_tells_nobody_apart(scenario):
    comparison = made(scenario, profit_usd=[[1, 2, 3, 4], [4, 1, 2, 3.1]])
    assert comparison.verdict("b", PROFIT) == "not told apart"
    assert comparison.conclusion() == (
        "profit_usd does not tell the policies apart (95%): the difference from b is between "
        "-5.37 $ and +5.32 $."
    )


def test_the_result_does_not_depend_on_the_workers(scenario):
    one = cloudarena.compare(scenario, ["best-fit", "random"], replications=3, workers=1)
    two = cloudarena.compare(scenario, ["best-fit", "random"], replications=3, workers=2)
    for name, values in one.values.items():
        np.testing.assert_array_equal(values, two.values[name])
    assert one.summary() == two.summary()


def test_replication_r_is_the_run_with_seed_plus_r(scenario):
    comparison = cloudarena.compare(scenario, ["first-fit"], replications=3, seed=4, workers=1)
    alone = cloudarena.simulate(scenario, "first-fit", seed=6).metrics
    np.testing.assert_equal({name: row[0, 2] for name, row in comparison.values.items()}, alone)


def test_all_policies_see_the_same_requests(scenario):
    comparison = cloudarena.compare(scenario, replications=2, workers=1)
    requests = comparison.values["requests"]
    assert len(requests) == len(scenario.kind.policies.array_names())
    assert (requests == requests[0]).all()


def test_a_trace_with_policies_that_draw_nothing_is_called_deterministic():
    toy = cloudarena.compare("vm/toy", ["first-fit", "best-fit"], replications=3, workers=1)
    assert toy.is_deterministic


def test_bounds_are_kept_and_what_a_policy_saw(scenario, monkeypatch):
    from cloudarena.base.measures import AtLeast
    from cloudarena.contract import Result

    def simulate(scenario, policy, seed, record):
        metrics = {metric.name: 1.0 for metric in scenario.kind.metrics}
        metrics["energy_kwh"] = AtLeast(5.0) if (policy, seed) == ("random", 1) else 5.0
        return Result(metrics, {}, "made", seed)

    monkeypatch.setattr("cloudarena.experiments.compare.simulate", simulate)
    names = ["random", "oracle-ilp"]
    comparison = cloudarena.compare(scenario, names, replications=2, workers=1)
    assert {name: flags.tolist() for name, flags in comparison.bounds.items()} == {
        "energy_kwh": [[False, True], [False, False]]
    }
    assert comparison.is_bounded("random", "energy_kwh")
    assert comparison.saw == {"oracle-ilp": "the future"}
    assert comparison.table()["energy_kwh_is_at_least"].to_pylist() == [False, True, False, False]


def test_who_needs_true_durations_saw_them_if_the_spec_lets_it():
    saw = {
        known: cloudarena.compare(
            cloudarena.load("jobs/alibaba-like-10", {"known": [known]}),
            ["first-fit", "sjf"],
            replications=1,
            workers=1,
        ).saw
        for known in ("durations", "estimates")
    }
    assert saw == {"durations": {"sjf": "durations"}, "estimates": {}}


def test_a_function_can_be_compared_too(scenario):
    def last_valid(decision):
        return int(decision.valid.nonzero()[0][-1])

    comparison = cloudarena.compare(scenario, ["first-fit", last_valid], 2, workers=1)
    assert comparison.policies == ("first-fit", "last_valid")


def test_progress_is_told(scenario):
    seen = []
    cloudarena.compare(
        scenario, ["first-fit"], 2, workers=1, progress=lambda done, of: seen.append((done, of))
    )
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replications": 0}, "replications: 0 is not allowed: at least 1"),
        ({"workers": 0}, "workers: 0 is not allowed"),
        ({"policies": ["random", "random"]}, "policies: 'random' is a duplicate"),
        ({"policies": ["randm"]}, "Did you mean 'random'"),
    ],
)
def test_bad_arguments_are_named(scenario, arguments, message):
    with pytest.raises(CloudarenaError, match=message):
        cloudarena.compare(scenario, **arguments)


def test_without_names_all_are_compared_where_none_is_compiled():
    short = cloudarena.load("tiers/rubis-hour", {"duration_s": 120})
    comparison = cloudarena.compare(short, replications=1)
    assert "model-based" in comparison.policies
    assert "oracle" not in comparison.policies
