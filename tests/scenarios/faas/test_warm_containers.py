"""How long idle replicas stay, and which make room: cases by hand."""

import numpy as np
import pytest

from cloudarena import simulate
from cloudarena.base.errors import SpecError
from tests.scenarios.faas.cases import column, function, scenario

BY_REQUEST = {"by": "per-request", "minimum": 0, "maximum": 5}


def warm(name="f", start_s=1.0, rate=0.1, **changes):
    """A function of 100 MB and half a NUC that scales by request."""
    image = {"cpu_millicores": 2000, "memory_mb": 100.0}
    rule = {**BY_REQUEST, **changes.pop("scaling", {})}
    return function(
        1.0, rate, name=name, start_s=start_s, workers=1, image=image, scaling=rule, **changes
    )


def test_the_histogram_starts_a_replica_ahead():
    # Every 10 s a request of 1 s. The first is cold and ends at 1.5 s; as nothing is known, its
    # replica stays, and serves the second at 10 s: an idle time of 8.5 s. At 11 s it ends, another
    # starts at 11 + 0.9 * 8 = 18.2 s and is ready 1.3 s before the third request, and so on.
    times = {"range_s": 20, "bin_s": 1}
    made = warm(start_s=0.5, scaling={"keep": "hybrid-histogram", "idle_times": times})
    result = simulate(scenario(made), record="full")
    assert (result.metrics["requests"], result.metrics["cold_starts"]) == (10, 1)
    assert column(result, "replicas", "scheduled_s")[:3] == pytest.approx([0, 18.2, 28.2])
    assert column(result, "replicas", "stopped_s")[:3] == pytest.approx([11, 21, 31])
    assert result.metrics["wasted_mb_s"] == pytest.approx(100 * (8.5 + 9 * 1.3))
    there = 11 + 8 * 2.8 + 1.8  # from 18.2 to 21 s and so on, and from 98.2 s to the end
    assert result.metrics["memory_mb_s"] == pytest.approx(100 * there)


def test_idle_times_that_tell_nothing_keep_the_replica_for_the_range():
    times = {"range_s": 20, "bin_s": 1, "least_variation": 100}
    made = warm(start_s=0.5, scaling={"idle_times": times})
    metrics = simulate(scenario(made, keep="hybrid-histogram")).metrics
    assert metrics["cold_starts"] == 1
    assert metrics["wasted_mb_s"] == pytest.approx(100 * (8.5 + 9 * 9))


def at_times(folder, times, *made, **changes):
    """Functions whose requests come at times: pairs of a time and a name."""
    path = folder / "requests.csv"
    rows = [f"{time},{name}" for time, name in times]
    path.write_text("\n".join(["time_s,function", *rows, ""]))
    trace = {"source": "invocations", "path": str(path)}
    return simulate(scenario(*made, trace=trace, **changes), record="full")


def test_windows_of_the_histogram_move_with_what_is_seen(tmp_path):
    # Bins of 1 s, a quarter and three quarters, a margin of a tenth; after each idle time it says:
    #   3.2 s          bin 3 alone: 0.9 * 3 = 2.7 to 1.1 * 4 = 4.4 s after the last invocation
    #   3.2, 3.7       the same
    #   and 7.1        three quarters of three are in bins 3 and 7: 2.7 to 1.1 * 8 = 8.8 s
    #   and 12.5       three of four still are
    #   and 25         beyond the range: 1 of 5
    #   and 26, 27, 28 beyond: 4 of 8 are not more than half
    #   and 29         5 of 9 are: it tells nothing, and the replica stays for the range of 20 s
    idle = [3.2, 3.7, 7.1, 12.5, 25, 26, 27, 28, 29]
    ends, windows = [1.5], [(2.7, 4.4)] * 2 + [(2.7, 8.8)] * 6 + [(0, 20)]
    there, times, ready, gone = [[0, 0]], [0.0], 0.5, 21.5
    for gap, (begin, until) in zip(idle, windows, strict=True):
        came = ends[-1] + gap
        times.append(came)
        if came >= gone:  # it was too late: another is cold
            ready = came + 0.5
            there.append([came, 0])
        end = max(came, ready) + 1
        ends.append(end)
        ready, gone = end + begin + 0.5, end + until
        if begin:
            there[-1][1] = end
            there.append([end + begin, gone])
        else:
            there[-1][1] = gone
    rule = {"keep": "hybrid-histogram", "idle_times": {"range_s": 20, "bin_s": 1}}
    rule["idle_times"] |= {"head": 0.25, "tail": 0.75}
    made = warm(start_s=0.5, scaling=rule)
    result = at_times(tmp_path, [(time, "f") for time in times], made, duration_s=300)
    found = [column(result, "replicas", name) for name in ("scheduled_s", "stopped_s")]
    assert np.array(found).T.tolist() == [pytest.approx(one) for one in there]
    # Those that the first window left and those that came later than the last edge were cold.
    assert result.metrics["cold_starts"] == 8


def test_fixed_and_forever():
    short = simulate(scenario(warm(scaling={"expiry_s": 3.0}))).metrics
    assert short["cold_starts"] == 10
    assert short["wasted_mb_s"] == pytest.approx(100 * 10 * 3)
    long = simulate(scenario(warm(scaling={"expiry_s": 3.0, "keep": "forever"}))).metrics
    assert long["cold_starts"] == 1
    assert long["wasted_mb_s"] == pytest.approx(100 * (8 + 9 * 9))


@pytest.fixture
def three(tmp_path):
    """Two of three functions fit; b takes long to start, a was used last when c comes."""
    rows = ["0,a", "0,b", "20,a", "30,c"]
    path = tmp_path / "requests.csv"
    path.write_text("\n".join(["time_s,function", *rows, ""]))

    def start(**changes):
        made = [warm("a"), warm("b", start_s=8.0), warm("c")]
        trace = {"source": "invocations", "path": str(path)}
        return simulate(scenario(*made, keep="forever", trace=trace, **changes), record="full")

    return start


def stopped(result):
    """The functions whose replicas have ended."""
    names = column(result, "replicas", "function")
    ends = column(result, "replicas", "stopped_s")
    return [(name, end) for name, end in zip(names, ends, strict=True) if end is not None]


def test_without_eviction_a_request_waits_beside_idle_replicas(three):
    result = three()
    assert (result.metrics["unfinished"], result.metrics["evictions"]) == (1, 0)
    assert stopped(result) == []


def test_the_least_recently_used_makes_room(three):
    result = three(evict="lru")
    assert (result.metrics["unfinished"], result.metrics["evictions"]) == (0, 1)
    assert stopped(result) == [("b", 30.0)]


def test_greedy_dual_keeps_what_is_dear_to_start(three):
    # a: 2 invocations, 1 s / 100 MB = 0.02; b: 1 invocation, 8 s / 100 MB = 0.08.
    assert stopped(three(evict="greedy-dual")) == [("a", 30.0)]


def test_greedy_dual_ages_what_nobody_uses(tmp_path):
    # Two have room; ranks in 1/100: what was evicted last, and uses times cold start over MB:
    #  20 s: a 2, b 6 (two uses): a goes, so c has 2 + 1.5 = 3.5
    #  40 s: c goes, a has 3.5 + 2 = 5.5;  60 s: a goes, c has 5.5 + 1.5 = 7;  80 s: b goes
    times = [(0, "a"), (0, "b"), (10, "b"), (20, "c"), (40, "a"), (60, "c"), (80, "a")]
    made = [warm("a", start_s=2), warm("b", start_s=3), warm("c", start_s=1.5)]
    result = at_times(tmp_path, times, *made, keep="forever", evict="greedy-dual")
    assert sorted(stopped(result), key=lambda one: one[1]) == [
        *(("a", 20.0), ("c", 40.0), ("a", 60.0), ("b", 80.0))
    ]


def test_one_that_is_not_idle_never_goes(three):
    made = [warm("a", scaling={"minimum": 1}), warm("b", 8.0, scaling={"minimum": 1}), warm("c")]
    metrics = simulate(scenario(*made, keep="forever", evict="lru")).metrics
    assert metrics["evictions"] == 0  # a and b have no more than their fewest


def test_cold_shares_of_functions(three):
    result = three(evict="lru")
    shares = dict(
        zip(
            column(result, "functions", "function"),
            column(result, "functions", "cold_share"),
            strict=True,
        )
    )
    assert shares == {"a": 0.5, "b": 1.0, "c": 1.0, "idle": None}
    assert result.metrics["cold_share_p75"] == 1.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"keep": "lru"}, "keep: 'lru' is not allowed"),
        ({"evict": "fifo"}, "evict: 'fifo' is not allowed"),
    ],
)
def test_words_that_are_not_known(changes, words):
    with pytest.raises(SpecError, match=words):
        scenario(warm(), **changes)


def test_what_only_functions_that_scale_by_request_have():
    for key, word in (("keep", "forever"), ("evict", "lru")):
        with pytest.raises(SpecError, match=f"{key}: '{word}' is not allowed: no function scales"):
            scenario(function(), **{key: word})
    with pytest.raises(SpecError, match="keep: 'forever' is not allowed with by: none"):
        scenario(function(scaling={"keep": "forever"}))
    with pytest.raises(SpecError, match=r"head: 0.9 is not allowed"):
        scenario(warm(scaling={"idle_times": {"head": 0.9, "tail": 0.5}}))
    with pytest.raises(SpecError, match="bin_s: 1 is not allowed: range_s, 14400, must be 1 to"):
        scenario(warm(scaling={"idle_times": {"bin_s": 1}}))
