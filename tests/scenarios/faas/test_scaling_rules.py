"""Scaling by concurrency, stabilisation, names of autoscalers, and scalers that are asked."""

import pytest

from cloudarena import simulate
from cloudarena.base.errors import SpecError
from tests.scenarios.faas.cases import column, function, scenario


def by_trace(folder, times, rule, seconds=1.0, workers=1, **changes):
    """A function on a NUC with requests at some times, which scales by a rule."""
    path = folder / "requests.csv"
    path.write_text("\n".join(["time_s,function", *(f"{time},f" for time in times), ""]))
    made = function(
        seconds,
        workers=workers,
        image={"use": {"cpu": 0.01}, "cpu_millicores": 10},
        scaling={"maximum": 10, **rule},
        requests={"source": "none"},
    )
    if not times:
        return scenario(made, **changes)
    trace = {"source": "invocations", "path": str(path)}
    return scenario(made, trace=trace, **changes)


def changes_of(result):
    """The changes of the number of replicas: when, from, to."""
    return list(
        zip(*(column(result, "scaling", name) for name in ("time_s", "before", "after")))  # noqa: B905
    )


def test_concurrency_with_a_surge(tmp_path):
    # Six requests come at 1 s and leave from 2 s on, one a second: the only replica holds them.
    # Every 2 s: in the system on average over the last 2 s (panic), over the last 4 s (calm).
    #  2 s: 3, 3     a surge: 3 >= 2 times the one replica
    #  4 s: 4.5, 3.75  no new surge with three replicas, but within a window of the last: 5
    #  6 s: 2.5, 3.5   still: as many as there were
    #  8 s: 0.5, 1.5   calm: 2, and at least half of five
    # 10 s: 0, 0.25    1
    rule = {"by": "concurrency", "interval_s": 2, "window_s": 4, "panic_s": 2}
    result = simulate(by_trace(tmp_path, [1] * 6, rule), record="full")
    assert changes_of(result) == [(2, 1, 3), (4, 3, 5), (8, 5, 2), (10, 2, 1)]


def test_a_surge_that_goes_on_keeps_replicas_for_a_whole_window_more(tmp_path):
    # Four requests from 1 to 4.5 s. In the system over the last 2 s, over the last 4 s:
    #  2 s: 2, 2    a surge: 2 >= 2 times the one replica
    #  4 s: 4, 3    still one, by two replicas
    #  6 s: 1, 2.5  within a window of the last
    #  8 s: 0, 0.5  the window is not over: it has to be longer ago
    # 10 s: 0, 0    calm: none, but half of what there is
    rule = {"by": "concurrency", "interval_s": 2, "window_s": 4, "panic_s": 2, "threshold": 1}
    alone = {"contention": {"model": "none"}, "workers": 10}
    result = simulate(by_trace(tmp_path, [1] * 4, rule, seconds=3.5, **alone), record="full")
    assert changes_of(result) == [(2, 1, 2), (4, 2, 4), (10, 4, 2), (12, 2, 1)]


def test_a_surge_grows_by_no_more_than_is_allowed(tmp_path):
    # Ten requests want ten replicas; each time ceil(1.5 n) of n that are ready.
    rule = {"by": "concurrency", "interval_s": 2, "window_s": 4, "panic_s": 2, "most_up": 1.5}
    result = simulate(by_trace(tmp_path, [1] * 10, rule, seconds=1000), record="full")
    steps = [1, 2, 3, 5, 8, 10]
    expected = [(2 * k + 2, *steps[k : k + 2]) for k in range(5)]
    assert changes_of(result) == expected


def test_fewer_replicas_only_as_all_suggestions_of_the_time_of_stabilisation_say(tmp_path):
    # Four requests a second for 5 s, then one, then none: 4, 1, 0, 0, ... replicas every 5 s.
    times = [k / 4 for k in range(20)] + [5 + k for k in range(5)]
    rule = {"by": "average-requests", "interval_s": 5, "stabilisation_s": 10}
    result = simulate(by_trace(tmp_path, times, rule, seconds=0.01), record="full")
    assert changes_of(result) == [(5, 1, 4), (20, 4, 1)]


def by_use(start, use, cores, load=2, **changes):
    """A function on a NUC, which scales by its use of CPU; all requests take a second."""
    made = function(
        rate=load,
        workers=1,
        image={"use": {"cpu": use}, "cpu_millicores": round(1000 * cores)},
        scaling={"by": "hpa", "start": start, "maximum": 40, **changes.pop("scaling", {})},
        **changes,
    )
    return simulate(scenario(made, contention={"model": "none"}), record="full")


def test_hpa_doubles_at_most_or_adds_four():
    # One request a second keeps a fifth of a core busy: 25 replicas at .8 of .01 cores.
    result = by_use(1, 0.05, 0.01, load=1)
    assert changes_of(result) == [(15, 1, 5), (30, 5, 10), (45, 10, 20), (60, 20, 25)]


def test_hpa_changes_nothing_before_a_replica_is_ready():
    # Ready at 40 s, without a request: at 45 s all five are seen to be idle.
    result = by_use(5, 0.05, 0.01, load=0, start_s=40, scaling={"stabilisation_s": 0})
    assert changes_of(result) == [(45, 5, 1)]


def test_hpa_stays_at_what_there_was_at_the_start_for_the_time_of_stabilisation():
    result = by_use(3, 0.05, 0.01, load=0, scaling={"stabilisation_s": 30})
    assert changes_of(result) == [(45, 3, 1)]


@pytest.mark.parametrize(
    ("start", "changes"),
    [
        # Two replicas have room, each uses 2.4 cores of its 2: at .8 that is the work of three,
        (2, [(15, 2, 3)]),
        # and of four, of which two wait for room, all together are below the threshold.
        (4, []),
    ],
)
def test_hpa_counts_replicas_that_no_node_has_taken_without_load(start, changes):
    assert changes_of(by_use(start, 0.6, 2)) == changes


def test_autoscalers_by_name():
    made = function(workers=10, scaling={"by": "knative", "maximum": 7})
    rule = scenario(made).rule_of(scenario(made).functions[0])
    assert (rule.by, rule.threshold, rule.maximum) == ("concurrency", 7.0, 7)
    assert (rule.interval_s, rule.window, rule.panic_window) == (2, 30, 3)
    for_all = scenario(function(scaling={"by": "queue-length", "threshold": 0.5}), scaler="hpa")
    rule = for_all.rule_of(for_all.functions[0])
    assert (rule.by, rule.threshold, rule.stabilisation) == ("cpu-utilisation", 0.5, 20)
    with pytest.raises(SpecError, match=r"scaler: 'keda' is not allowed"):
        scenario(function(), scaler="keda")
    with pytest.raises(SpecError, match=r"panic_s: 30 is not allowed: at most window_s, 15"):
        scenario(function(scaling={"by": "concurrency", "panic_s": 30}))
    with pytest.raises(SpecError, match=r"stabilisation_s: 9999 is not allowed: at most 64"):
        scenario(function(scaling={"by": "hpa", "stabilisation_s": 9999}))


def two_for_a_while(scaling, rng):
    """Two replicas, then none that nobody needs."""
    return 2 if scaling.now < 50 else scaling.minimum


@pytest.mark.parametrize(
    ("rule", "stopped"),
    [
        ({"by": "none", "minimum": 0}, [60, 60]),
        ({"by": "per-request", "minimum": 0, "expiry_s": 5}, [60, 60]),
    ],
)
def test_a_scaler_of_ones_own_is_asked_in_every_mode(tmp_path, rule, stopped):
    spec = by_trace(tmp_path, [], {**rule, "ask": True})
    assert column(simulate(spec, record="full"), "replicas", "node") == []
    result = simulate(spec, two_for_a_while, record="full")
    assert column(result, "replicas", "scheduled_s") == [15, 15]
    assert column(result, "replicas", "stopped_s") == stopped
    assert changes_of(result) == [(15, 0, 2), (60, 2, 0)]


def test_the_fewest_of_a_scaler_hold_beside_the_histogram(tmp_path):
    times = {"range_s": 20, "bin_s": 1}
    keep = {"keep": "hybrid-histogram", "idle_times": times, "ask": True, "interval_s": 7}
    rule = {"by": "per-request", "minimum": 0, **keep}
    result = simulate(by_trace(tmp_path, range(0, 100, 10), rule), two_for_a_while, record="full")
    assert result.metrics["cold_starts"] == 1
    assert changes_of(result)[-2:] == [(7, 0, 2), (56, 2, 0)]
