"""Deploy first, load later: the warm-up is left out of metrics, and nothing else changes."""

import pytest

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import SpecError
from cloudarena.scenarios.faas.observe import FaasObserver
from tests.scenarios.faas.cases import column, function, scenario

POWER = {"devices": {"nuc": {"model": "linear", "idle_w": 6.0, "cpu_w": 28.0, "network_w": 0.0}}}


def test_by_hand():
    # The container takes 8 s to start. Without a warm-up the first requests wait for it.
    made = function(0.5, start_s=8.0)
    cold = simulate(scenario(made, duration_s=20, power=POWER)).metrics
    assert (cold["requests"], cold["cold_starts"]) == (
        20,
        9,
    )  # that at 8 s too: it stands behind others
    warm = simulate(scenario(made, duration_s=20, warmup_s=10, power=POWER)).metrics
    assert (warm["requests"], warm["completed"], warm["cold_starts"]) == (10, 10, 0)
    assert warm["response_mean_s"] == pytest.approx(0.5)
    assert warm["replicas_mean"] == pytest.approx(1.0)
    # 10 s of 6 W, and ten times half a second of a quarter of 28 W.
    assert warm["energy_wh"] * 3600 == pytest.approx(10 * 6 + 10 * 0.5 * 7)
    assert warm["cost_usd"] == pytest.approx(95 / 3.6e6 * 0.25)


def test_requests_come_as_ever_but_later():
    made = function(requests={"source": "poisson", "rate": 2.0})
    plain = simulate(scenario(made, duration_s=30), record="full")
    later = simulate(scenario(made, duration_s=37, warmup_s=7), record="full")
    expected = [7 + time for time in column(plain, "invocations", "arrival_s")]
    assert column(later, "invocations", "arrival_s") == pytest.approx(expected)


def test_a_loaded_warm_up_leaves_out_what_has_ended():
    made = function(3.0, rate=0.5, workers=4)
    result = simulate(
        scenario(made, duration_s=20, warmup_s=10, load_from_s=0, power=POWER), record="full"
    )
    # Of the arrivals at 0, 2, ..., 18 s those at 0, 2, 4 and 6 s have ended at 10 s.
    assert column(result, "invocations", "arrival_s") == [8, 10, 12, 14, 16, 18]
    # That at 8 s takes the place of another in response times, and counts nowhere else.
    assert (result.metrics["requests"], result.metrics["completed"]) == (5, 4)
    (row, _) = result.tables["functions"].to_pylist()
    assert (row["requests"], row["completed"], row["unfinished"]) == (5, 4, 1)
    assert result.metrics["response_mean_s"] == pytest.approx((4 * 3 + 2) / 5)
    assert row["response_mean_s"] == result.metrics["response_mean_s"]
    assert result.metrics["unserved_share"] == 1 / 10  # of all that came


def test_what_came_in_the_warm_up_takes_the_place_of_the_shortest_response_times():
    # One worker: those at 0, 4, 8, 12 and 16 s wait for the one before, and take 5, 6, 7, 8 s ...
    made = function(5.0, rate=0.25, workers=1)
    result = simulate(scenario(made, duration_s=30, warmup_s=11, load_from_s=0))
    # They end at 5, 10, 15, 20, 25 and 30 s; that at 8 s is late, those at 20, 24 and 28 s go on.
    assert (result.metrics["completed"], result.metrics["unfinished"]) == (2, 3)
    times = sorted([25 - 16, 20 - 12, 15 - 8])[1:]  # the shortest is left out, whoever it is of
    waited = [10, 6, 2]
    assert result.metrics["response_mean_s"] == pytest.approx((sum(times) + sum(waited)) / 5)
    assert result.metrics["unserved_share"] == 3 / 8


def test_by_hand_what_is_lost_in_the_warm_up_is_left_undone():
    # One worker: that at 0 s is answered; that at 4 s is given up at 9.5 s, and so on.
    made = function(5.0, rate=0.25, workers=1, timeout_s=5.5)
    prices = {"kwh_usd": 0.0, "unserved_usd": 2.0}
    spec = scenario(made, duration_s=30, warmup_s=11, load_from_s=0, prices=prices)
    metrics = simulate(spec).metrics
    assert (metrics["requests"], metrics["timed_out"], metrics["unfinished"]) == (6, 5, 1)
    assert metrics["unserved_share"] == 7 / 8
    assert metrics["cost_usd"] == 7 * 2.0


def postponing(made, **keys):
    """Four replicas from the start, and one until just before the end of the warm-up."""
    spec = scenario(made, duration_s=160, warmup_s=100, load_from_s=0, **keys)

    def serves(decision):
        return 0 if decision.kind == "place" else 4

    def postpones(decision):
        return 0 if decision.kind == "place" else 4 if decision.now >= 99 else 1

    return cloudarena.compare(spec, [serves, postpones], replications=2, workers=1)


ASKED = {"by": "none", "ask": True, "minimum": 0, "maximum": 4, "start": 1, "interval_s": 1}


def test_nobody_gains_by_answering_after_the_warm_up_what_came_in_it():
    # One worker answers 95 in the warm-up, so that five were left to be answered after it.
    made = function(1.05, 1.0, workers=1, start_s=0.0, scaling=ASKED)
    made["image"]["cpu_millicores"] = 100
    comparison = postponing(made, power=POWER)
    undone = [comparison.share_unserved(name) for name in comparison.policies]
    assert undone[0] == undone[1]
    done = [comparison.estimate(name, "completed").mean for name in comparison.policies]
    assert done[1] <= done[0] <= 60
    better = ("completed", "energy_j_per_invocation", "response_p95_s", "cold_start_share")
    for metric in better:
        assert comparison.winner(comparison.scenario.kind.metric[metric]) != "postpones"


def test_who_loses_requests_of_the_warm_up_has_left_them_undone():
    made = function(1.05, 2.0, workers=1, start_s=0.0, scaling=ASKED, timeout_s=1.5)
    made["image"]["cpu_millicores"] = 100
    supplies = {"nuc": {"battery_wh": 1.0, "charge": 1.0}}
    for power in (POWER, {**POWER, "supplies": supplies}):
        assert postponing(made, power=power).out_of_the_running == ("postpones",)


def test_what_is_lost_early_in_the_warm_up_puts_out_of_the_running():
    """After it all is the same, so that nothing but what was lost can show it."""
    made = function(1.05, 2.0, workers=1, scaling=ASKED, timeout_s=1.5)
    made["image"]["cpu_millicores"] = 100
    spec = scenario(made, duration_s=160, warmup_s=100, load_from_s=0, power=POWER)

    def serves(decision):
        return 0 if decision.kind == "place" else 4

    def sleeps(decision):
        return 0 if decision.kind == "place" else 4 if decision.now >= 50 else 1

    comparison = cloudarena.compare(spec, [serves, sleeps], replications=2, workers=1)
    lost = [comparison.estimate(name, "timed_out").mean for name in comparison.policies]
    assert lost == [0.0, 0.0]
    assert comparison.out_of_the_running == ("sleeps",)


def test_quick_requests_put_off_to_the_end_of_the_warm_up_do_not_thin_out_slow_ones():
    quick = function(1.0, 2.0, name="quick", workers=1, scaling=ASKED)
    slow = function(60.0, 0.085, name="slow", workers=20)
    for one in (quick, slow):
        one["image"] |= {"use": {"cpu": 0.001}, "cpu_millicores": 100}
    spec = scenario(quick, slow, duration_s=300, warmup_s=100, load_from_s=0, power=POWER)

    def serves(decision):
        return 0 if decision.kind == "place" else 4

    def thins_out(decision):
        return 0 if decision.kind == "place" else 1 if 60 <= decision.now < 99 else 4

    comparison = cloudarena.compare(spec, [serves, thins_out], replications=2, workers=1)
    p95 = [comparison.estimate(name, "response_p95_s") for name in comparison.policies]
    assert p95[0] == p95[1] == pytest.approx((60.0,) * 3)
    assert comparison.less_served == ()


def test_calls_made_again_are_no_further_work():
    """The node of a caller fails: its first two calls were served, and are served again."""
    calls = [{"function": "called", "count": 2}, {"function": "long"}]
    caller = function(0.5, 0.1, name="caller", calls=calls, retries=1, timeout_s=9.5)
    called = function(0.1, name="called", requests={"source": "none"})
    long = function(8.0, name="long", requests={"source": "none"}, workers=2)
    failures = [{"node": "nuc-0", "at_s": 4.0, "for_s": 1.0}]
    keys = {"duration_s": 20, "devices": {"types": {"nuc": 2}}, "topology": {"failures": failures}}
    spec = scenario(caller, called, long, **keys)

    def spreads(decision):
        is_caller = decision.replica.function == 0
        return 0 if is_caller and decision.valid[0] else 1

    metrics = simulate(spec, spreads).metrics
    # The first is begun again at 4 s, makes its three calls again, and is given up at 9.5 s. That
    # at 10 s is answered, and so are all calls.
    assert (metrics["retries"], metrics["requests"], metrics["completed"]) == (1, 11, 10)
    assert metrics["unserved_share"] == 1 / 8


def test_series_cover_the_warm_up_and_sum_to_the_rest():
    made = function(3.0, rate=0.5, workers=4, start_s=1.0, start_cores=1.0)
    keys = {"duration_s": 30, "warmup_s": 12, "load_from_s": 3, "sample_s": 5, "power": POWER}
    result = simulate(scenario(made, **keys), record="full")
    for table in ("nodes_series", "energy_series"):
        columns = result.tables[table].to_pydict()
        rows = zip(columns["time_s"], columns["energy_j"], strict=True)
        assert all(joules >= -1e-9 for joules in columns["energy_j"])
        whole = simulate(scenario(made, **{**keys, "warmup_s": 0}), record="full").tables[table]
        assert columns["energy_j"] == pytest.approx(whole["energy_j"].to_pylist())
        assert sum(joules for _, joules in rows) > result.metrics["energy_wh"] * 3600
    assert sum(column(result, "functions", "energy_j")) == pytest.approx(
        result.metrics["energy_wh"] * 3600
    )
    assert sum(column(result, "phases", "energy_j")) == pytest.approx(
        result.metrics["energy_wh"] * 3600
    )


def test_a_run_is_the_same_without_its_warm_up_being_left_out():
    made = function(1.0, requests={"source": "poisson", "rate": 2.0}, start_s=2.0)
    keys = {"duration_s": 60, "load_from_s": 0, "power": POWER}
    all_of_it = simulate(scenario(made, **keys), record="full").tables["invocations"].to_pylist()
    rest = simulate(scenario(made, warmup_s=20, **keys), record="full").tables["invocations"]
    expected = [row for row in all_of_it if row["finish_s"] is None or row["finish_s"] >= 20]
    assert rest.to_pylist() == expected


def test_stepping_and_rewards_agree():
    spec = scenario(function(0.5, start_s=8.0), duration_s=20, warmup_s=10, power=POWER)
    run, decide = spec.start(0), spec.kind.policies.resolve("spec")
    observer = FaasObserver(spec, "energy_wh")
    while run.decision is not None:
        run.apply(decide(run.decision))
    assert run.metrics() == simulate(spec).metrics
    assert observer.value(run) == pytest.approx(-run.metrics()["energy_wh"])


def test_a_warm_up_ends_before_the_run():
    for key in ("warmup_s", "load_from_s"):
        with pytest.raises(SpecError, match=f"{key}: 100 is not allowed: less than duration_s"):
            scenario(function(), **{key: 100})
    with pytest.raises(SpecError, match="warmup_s: -1 is not allowed"):
        cloudarena.load("faas/toy", {"warmup_s": -1})
