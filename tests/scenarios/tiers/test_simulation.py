"""Runs worked by hand: booting, draining, warm-up, rent, SLA; and what a run refuses."""

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import SpecError
from cloudarena.base.measures import AtLeast
from cloudarena.contract import InvalidAction
from cloudarena.learn.env import CloudEnv
from cloudarena.scenarios.tiers import TiersScenario

from .decisions import service


@pytest.fixture
def start(monkeypatch):
    """Begins a run of one tier, with one fat VM and service of exactly 1 / rate."""

    def begin(times, rate, room=200, **others):
        build = "cloudarena.scenarios.tiers.build.arrivals_by_rate"
        monkeypatch.setattr(build, lambda *_: np.array(times))
        spec = {
            "scenario": "tiers",
            "arrivals": {"source": "constant", "rate": 1.0},
            "service": "deterministic",
            "tiers": [
                {
                    "name": "only",
                    "fat": {"rate": rate, "max": 2, "start": 1},
                    "thin": {"rate": rate / 2, "max": 2, "start": 0},
                    "room": room,
                }
            ],
            "period_s": 10,
            "duration_s": 60,
        }
        return TiersScenario.parse(spec | others).start(0, "full")

    return begin


def test_a_queue_by_hand(start):
    # 2 s of service each: 0 to 2, 2 to 4, 4 to 6; the one at 8 finds nobody.
    run = start([0.0, 1.0, 1.5, 8.0], rate=0.5)
    run.play(lambda decision: None)
    table = run.result().tables["requests"].to_pydict()
    assert table["finish"] == pytest.approx([2.0, 4.0, 6.0, 10.0])
    assert table["outcome"] == ["served"] * 4
    first = run.periods[0]
    assert first.held[0] == pytest.approx((2.0 + 3.0 + 4.5 + 2.0) / 10)
    assert first.utilisation[0] == pytest.approx(0.8)
    assert run.metrics()["response_mean_s"] == pytest.approx(11.5 / 4)
    assert run.metrics()["cost_usd"] == pytest.approx(0.0287)
    assert run.metrics()["vm_minutes"] == pytest.approx(1.0)


def test_who_finds_no_room_is_blocked(start):
    run = start([0.0, 1.0, 2.0, 11.0], rate=0.1, room=2)
    run.play(lambda decision: None)
    table = run.result().tables["requests"].to_pydict()
    # At 2 two are there; at 10 the first has left.
    assert table["outcome"] == ["served", "served", "blocked", "served"]
    assert table["response"] == pytest.approx([10.0, 19.0, 0.0, 19.0])
    metrics = run.metrics()
    assert (metrics["arrived"], metrics["served"], metrics["blocked"]) == (4, 3, 1)
    assert metrics["sla_requests_ok"] == pytest.approx(1 / 4)


def test_booting_and_draining_are_paid_for(start):
    run = start([9.0, 21.0], rate=0.04, boot_s=5)
    # At 10 the fat VM, busy until 34, is to be replaced by a thin one, which is up at 15.
    run.apply([[0, 1]])
    assert run.counts.tolist() == [[0, 1]]
    run.play(lambda decision: None)
    table = run.result().tables["requests"].to_pydict()
    assert table["finish"] == pytest.approx([34.0, 21.0 + 50.0])
    fat, thin = run.rented_minutes()
    assert fat == pytest.approx(34 / 60)
    # Rent ends with the run, at 60, though the last request is served at 71.
    assert thin == pytest.approx(50 / 60)
    assert run.metrics()["changes"] == 2


def test_the_warm_up_is_not_counted(start):
    run = start([0.0, 1.0, 1.5, 8.0], rate=0.5, warmup_s=1.2)
    run.play(lambda decision: None)
    metrics = run.metrics()
    assert (metrics["arrived"], metrics["served"]) == (2, 2)
    assert metrics["response_mean_s"] == pytest.approx((4.5 + 2.0) / 2)


def test_who_is_blocked_in_the_warm_up_is_unserved(start):
    """Its rent counts, so who saved it there by renting little would lead with nothing undone."""
    run = start([0.0, 1.0, 2.0, 35.0], rate=0.1, room=1, warmup_s=30)
    run.play(lambda decision: None)
    metrics = run.metrics()
    assert (metrics["arrived"], metrics["served"], metrics["blocked"]) == (1, 1, 0)
    assert metrics["unserved_share"] == pytest.approx(2 / 4)


@pytest.mark.parametrize(
    ("sla", "kept"),
    [
        ({"metric": "mean", "seconds": 2.9}, 1.0),
        ({"metric": "mean", "seconds": 2.5}, 5 / 6),
        ({"metric": "quantile", "level": 0.5, "seconds": 2.5}, 1.0),
        ({"metric": "quantile", "level": 0.9, "seconds": 2.5}, 5 / 6),
    ],
)
def test_a_minute_keeps_the_sla_by_mean_or_quantile(start, sla, kept):
    # Responses 2, 3, 4.5, 2: the mean is 2.875, the median 2.5. Periods without requests keep it.
    run = start([0.0, 1.0, 1.5, 7.5], rate=0.5, sla=sla)
    run.play(lambda decision: None)
    assert run.metrics()["sla_minutes_ok"] == pytest.approx(kept)


def test_who_waits_beyond_the_bound_breaks_the_sla_before_being_served(start):
    # One VM takes 25 s for a request; the second waits from 1 on and is served at 50. At the ends
    # of periods, 10 to 60, those are late that have waited more than 12 s.
    run = start([0.0, 1.0], rate=0.04, sla={"seconds": 12.0})
    run.play(lambda decision: None)
    kept = run.result().tables["periods"]["keeps_sla"].to_pylist()
    # 10: nobody is late. 20: both are. 30: the first came back after 25 s, the second is late.
    # 40: it still is. 50, 60: served at 50, which is in the period from 50 on; by 50 it was late.
    assert kept == [True, False, False, False, False, False]
    assert run.metrics()["total_cost_usd"] == pytest.approx(0.0287 + 5 * 1.0)


@pytest.mark.parametrize("metric", ["mean", "quantile"])
def test_who_blocks_keeps_no_sla_by_it(start, metric):
    # A room of one and 9 s of service: of ten requests a second apart, nine are blocked at once.
    run = start([float(k) for k in range(10)], 1 / 9, 1, sla={"metric": metric, "seconds": 30.0})
    assert run.periods[0].responses.tolist() == [9.0]
    assert run.periods[0].blocked.tolist() == [8]
    assert not run.periods[0].keeps_sla
    run.play(lambda decision: None)
    metrics = run.metrics()
    assert metrics["unserved_share"] == 0.8
    assert metrics["sla_minutes_ok"] == pytest.approx(5 / 6)
    assert metrics["response_mean_s"] == 9.0


@pytest.mark.parametrize(("blocked", "kept"), [(1, True), (2, False)])
def test_a_few_may_be_blocked_as_the_level_says(start, blocked, kept):
    # Of twenty requests in ten seconds the level lets one be blocked: it finds one in service.
    times = [0.5 * k for k in range(20 - blocked)] + [0.01 + 0.5 * k for k in range(blocked)]
    run = start(sorted(times), rate=4.0, room=1, sla={"seconds": 5.0, "level": 0.95})
    assert run.periods[0].blocked.tolist() == [blocked]
    assert run.periods[0].keeps_sla is kept


def test_nothing_served_is_not_a_response_time_of_nothing(start):
    run = start([1.0, 2.0], rate=0.001)
    metrics = run.metrics()
    assert (metrics["arrived"], metrics["served"], metrics["unserved_share"]) == (2, 0, 1.0)
    # Both have waited, 9 s and 8 s, at the end of the first period.
    assert metrics["response_mean_s"] == pytest.approx(8.5)
    assert isinstance(metrics["response_mean_s"], AtLeast)
    assert isinstance(metrics["response_p95_s"], AtLeast)
    assert metrics["sla_requests_ok"] == 0.0
    table = run.result().tables["periods"].to_pydict()
    assert np.isnan(table["response_mean_s"][0])
    assert np.isnan(table["response_quantile_s"][0])


def test_periods_have_the_response_that_the_model_predicts_beside_the_measured_one():
    """Of an M/M/1 queue in the long run that is 1 / (service rate - arrival rate)."""
    spec = {
        "scenario": "tiers",
        "duration_s": 40_000,
        "period_s": 20_000,
        "arrivals": {"source": "constant", "rate": 3},
        "tiers": [
            {"name": "web", "room": 10_000, "fat": {"rate": 5, "max": 1, "start": 1},
             "thin": {"rate": 1, "max": 1, "start": 0}}
        ],
    }  # fmt: skip
    tables = cloudarena.simulate(spec, "static", seed=1).tables
    for row in tables["periods"].to_pylist():
        assert row["response_predicted_s"] == pytest.approx(1.0 / (5.0 - row["rate"]), rel=1e-6)
        assert row["response_mean_s"] == pytest.approx(row["response_predicted_s"], rel=0.1)
    assert tables["tiers"]["time_s"].to_pylist() == [0.0, 20_000.0]


def test_a_period_in_which_nobody_came_has_no_prediction(start):
    run = start([15.0], rate=1.0)
    run.play(lambda decision: None)
    predicted = run.result().tables["periods"]["response_predicted_s"].to_pylist()
    assert np.isnan(predicted[0])
    assert predicted[1] > 0.0


def test_nobody_came(start):
    run = start([], rate=1.0)
    run.play(lambda decision: None)
    metrics = run.metrics()
    assert (metrics["unserved_share"], metrics["sla_minutes_ok"]) == (0.0, 1.0)
    for name in ("response_mean_s", "response_p95_s", "sla_requests_ok"):
        assert np.isnan(metrics[name])


def test_doing_nothing_earns_less_than_serving():
    """A VM for each tier blocks most requests: the environment pays for that."""
    scenario = cloudarena.load("tiers/rubis-hour", {"duration_s": 900})
    earned = {}
    for name, policy in (("least", None), ("model", "model-based")):
        run = scenario.start(0)
        if policy is None:
            run.play(lambda decision: np.where(decision.limits[:, 1:] > 0, [[0, 1]], [[1, 0]]))
        else:
            chosen = scenario.kind.policies.resolve(policy)
            chosen.start(scenario, 0)
            run.play(chosen)
        earned[name] = scenario.observer().value(run)
        assert np.isfinite(earned[name])
    assert earned["model"] > earned["least"]
    with pytest.raises(SpecError, match=r"reward: 'cost' is not allowed: .* Did you mean"):
        scenario.observer("cost")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ([[0, 1], [0, 0], [1, 0]], "app: no VM is not allowed: at least one"),
        ([[2, 1], [0, 1], [1, 0]], "web: 2 fat VMs are not allowed: 0 to 1"),
        ([[0, 1], [0, 5], [1, 0]], "app: 5 thin VMs are not allowed: 0 to 4"),
        ([[0, 1], [0, 1]], "fat and thin VMs for each of 3 tiers"),
        ([[0, 1], [0, 1.5], [1, 0]], "whole numbers"),
        ([[1, 1], [2, 0], [1, 0]], "4 fat VMs are not allowed: at most 2 in all tiers"),
    ],
)
def test_what_is_not_allowed_changes_nothing(action, words):
    run = service(max_fat=2).start(0)
    before, counts = run.metrics(), run.counts.tolist()
    with pytest.raises(InvalidAction, match=words):
        run.apply(action)
    assert run.metrics() == before
    assert run.counts.tolist() == counts


def test_the_length_of_a_wave_has_an_old_name_too():
    wave = {"source": "sine", "mean": 4, "amplitude": 0.5}
    old = service(arrivals={**wave, "cycle_s": 900})
    assert old == service(arrivals={**wave, "period_s": 900})
    assert "cycle_s" not in old.to_yaml()


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"routing": {"forward": [0.8]}}, "routing.forward: .* 2 shares"),
        ({"warmup_s": 3600}, "warmup_s: 3600 is not allowed: less than duration_s"),
        ({"period_s": 1e-9}, "period_s: 1e-09 is not allowed: at most 1,000,000 periods"),
        (
            {"arrivals": {"source": "sine", "mean": 4, "cycle_s": 9, "period_s": 9}},
            "arrivals: unknown key 'cycle_s'. Allowed: .*period_s",
        ),
        (
            {"arrivals": {"source": "bursts", "base": 4, "burst": 9, "every_s": 1e-9}},
            "arrivals.every_s: 1e-09 is not allowed: at least 1",
        ),
        ({"max_fat": 0}, "max_fat: 0 is not allowed: 1 are there at the start"),
        ({"service": "hyper-exponential", "service_scv": 1.0}, "service_scv: 1 is not allowed"),
        ({"arrivals": {"source": "worldcup", "peak": 1}}, "worldcup-hour"),
        ({"balanced": "equal"}, "balance"),
    ],
)
def test_bad_specs_are_named(others, words):
    with pytest.raises(SpecError, match=words):
        service(**others)


@pytest.mark.parametrize("changes", [{"period_s": 1e18}, {"duration_s": 1e-12}])
def test_a_period_that_is_far_longer_than_the_run_is_one_period(changes):
    result = cloudarena.simulate(service(**{"duration_s": 60, **changes}))
    assert result.tables["periods"].num_rows == 1
    assert result.tables["decisions"].num_rows == 0


def test_metrics_and_tables_have_their_names():
    scenario = cloudarena.load("tiers/rubis-hour", {"duration_s": 300})
    result = cloudarena.simulate(scenario, "utilisation", record="full")
    assert list(result.metrics)[:12] == [
        "unserved_share", "arrived", "served", "blocked",
        "response_mean_s", "response_p95_s", "response_p99_s",
        "sla_minutes_ok", "sla_requests_ok", "cost_usd", "vm_minutes", "changes",
    ]  # fmt: skip
    assert set(result.tables) == {"periods", "tiers", "decisions", "requests"}
    periods = result.tables["periods"].to_pydict()
    assert sum(periods["cost_usd"]) == pytest.approx(result.metrics["cost_usd"])
    assert sum(periods["served"]) == result.metrics["served"]
    assert sum(periods["blocked"]) == result.metrics["blocked"]


def test_gymnasium_takes_back_what_is_too_much():
    env = CloudEnv(service(max_fat=2, max_thin=2, duration_s=180), observation="flat")
    observation, _ = env.reset(seed=0)
    assert observation.shape == (4 + 6 * 3,)
    env.step(np.array([1, 1, 2, 4, 1, 0]))
    # From the last tier on, but never the last VM of one.
    assert env._run.counts.tolist() == [[1, 1], [0, 1], [1, 0]]


def test_two_policies_serve_the_same_requests():
    scenario = cloudarena.load("tiers/rubis-hour", {"duration_s": 300})
    runs = [cloudarena.simulate(scenario, p, 3, "full") for p in ("static", "model-based")]
    tables = [run.tables["requests"] for run in runs]
    assert tables[0]["arrival"].equals(tables[1]["arrival"])
    served = [np.array(t["outcome"].to_pylist()) == "served" for t in tables]
    both = served[0] & served[1]
    visits = [t["visits"].to_numpy()[both] for t in tables]
    assert (visits[0] == visits[1]).all()


def test_the_rules_of_the_kernel_are_plain_numbers():
    """Numba finds the type of anything else again at every call, which takes longer than a step."""
    rules = cloudarena.load("tiers/toy").start(0).world.rules
    assert {type(value) for value in rules} <= {bool, int, float, np.uint64}
