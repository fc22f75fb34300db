"""Requests: profiles by their statistics, traces by tiny files, errors with file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cloudarena.base.errors import SpecError, TraceError
from cloudarena.engine.streams import stream
from cloudarena.workloads.arrivals.azure_functions_2021 import read_timed_invocations
from cloudarena.workloads.faas.arrivals import (
    Bursts,
    Constant,
    Poisson,
    Profile,
    RandomWalk,
    Recorded,
    Sine,
)
from cloudarena.workloads.faas.requests import (
    Requests,
    azure_2019_requests,
    azure_2021_requests,
    draw_requests,
    merge,
)

DAY = "HashOwner,HashApp,HashFunction,Trigger," + ",".join(map(str, range(1, 1441)))


def day_file(path: Path, rows: dict[str, dict[int, int]], trigger: str = "http") -> Path:
    """A day of invocations: counts by minute for each function."""
    lines = [DAY]
    for name, counts in rows.items():
        minutes = (str(counts.get(minute, 0)) for minute in range(1, 1441))
        lines.append(f"o,a,{name},{trigger}," + ",".join(minutes))
    path.write_text("\n".join(lines) + "\n")
    return path


def trace_file(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(("app,func,end_timestamp,duration", *rows)) + "\n")
    return path


def one(profile: Profile, duration_s: float, seed: int = 0, load_scale: float = 1.0) -> Requests:
    return draw_requests({"f": profile}, duration_s, seed, load_scale)


def test_constant_requests() -> None:
    assert one(Constant(2.0), 2.0).arrival_s.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert one(Constant(2.0), 1.0, load_scale=2.0).arrival_s.tolist() == [0.0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("profile", "rate", "spread"),
    [
        (Constant(20.0), 20.0, 0.0),
        (Poisson(20.0), 20.0, 4.0),
        (Sine(20.0, 100.0), 20.0, 4.0),
        (Bursts(10.0, 110.0, 9.0, 1.0), 20.0, 20.0),
        (RandomWalk(20.0, 0.0, 0.0, 40.0), 20.0, 4.0),
    ],
)
@pytest.mark.parametrize("load_scale", [0.5, 1.0, 3.0])
def test_rates(profile: Profile, rate: float, spread: float, load_scale: float) -> None:
    requests = one(profile, 5000.0, 3, load_scale)
    expected = rate * load_scale * 5000.0
    assert abs(len(requests.arrival_s) - expected) <= spread * expected**0.5
    assert (np.diff(requests.arrival_s) >= 0).all()
    assert requests.arrival_s[0] >= 0
    assert requests.arrival_s[-1] < 5000.0


def test_a_trough_does_not_end_a_sine() -> None:
    # The static generator of faas-sim gives no requests after some periods.
    requests = one(Sine(14.0, 200.0), 2000.0)
    periods = np.histogram(requests.arrival_s, 10, (0.0, 2000.0))[0]
    assert (abs(periods - 2800) < 4 * 2800**0.5).all()
    phase = requests.arrival_s % 200.0
    assert np.sum(phase < 100.0) > 3 * np.sum(phase >= 100.0)  # 1 + 2/pi against 1 - 2/pi


def test_a_walk_stays_within_its_bounds_and_comes_back() -> None:
    walk = RandomWalk(5.0, 3.0, 0.0, 10.0, 2.0)
    rates = walk.rates(np.random.default_rng(1), 2001.0)
    assert len(rates) == 1001
    assert (rates.min(), rates.max()) == (0.0, 10.0)
    assert ((rates[:-1] == 0.0) & (rates[1:] > 0.0)).any()
    requests = one(walk, 2001.0, 1)
    # The walk is drawn first, so its rates are those of the same stream.
    rates = walk.rates(stream(1, "requests/f"), 2001.0)
    expected = np.cumsum(rates)[-1] * 2.0
    assert abs(len(requests.arrival_s) - expected) < 4 * expected**0.5 + 10


def test_recorded_gaps(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("inter_arrival_s\n1\n0\n2.5\n")
    assert one(Recorded(path), 100.0).arrival_s.tolist() == [1.0, 1.0, 3.5]
    assert one(Recorded(path), 3.5).arrival_s.tolist() == [1.0, 1.0]
    assert one(Recorded(path), 100.0, load_scale=2.0).arrival_s.tolist() == [0.5, 0.5, 1.75]
    repeated = one(Recorded(path, repeat=True), 8.0)
    assert repeated.arrival_s.tolist() == [1.0, 1.0, 3.5, 4.5, 4.5, 7.0]


def test_functions_do_not_change_each_other() -> None:
    alone = draw_requests({"b": Poisson(3.0)}, 50.0, 1)
    both = draw_requests({"a": Poisson(5.0), "b": Poisson(3.0)}, 50.0, 1)
    assert (both.arrival_s[both.function == 1] == alone.arrival_s).all()
    assert (np.diff(both.arrival_s) >= 0).all()
    assert (draw_requests({"b": Poisson(3.0)}, 50.0, 2).arrival_s[:5] != alone.arrival_s[:5]).all()


def test_requests_of_one_instant_stay_in_the_order_of_functions() -> None:
    requests = draw_requests({"a": Constant(1.0), "b": Constant(2.0)}, 2.0, 0)
    assert requests.function.tolist() == [0, 1, 1, 0, 1, 1]
    assert len(merge([]).arrival_s) == 0


@pytest.mark.parametrize("profile", [Constant(0.0), Poisson(0.0), Sine(0.0, 9.0), Bursts(0.0, 0.0)])
def test_a_rate_of_zero_gives_none(profile: Profile) -> None:
    assert len(one(profile, 10.0).arrival_s) == 0
    assert len(one(Poisson(5.0), 10.0, load_scale=0.0).arrival_s) == 0


def test_azure_2019_by_the_minute(tmp_path: Path) -> None:
    path = day_file(
        tmp_path / "day.csv", {"slow": {1: 1, 3: 1}, "busy": {1: 5, 2: 7, 4: 9}, "mid": {2: 4}}
    )
    requests = azure_2019_requests(path, ["a", "b"], 120.0, 0)
    assert np.bincount(requests.function).tolist() == [12, 4]  # busy, mid
    assert np.sum(requests.arrival_s[requests.function == 0] < 60.0) == 5
    later = azure_2019_requests(path, ["a"], 180.0, 0, first_minute=2, spread="even")
    assert np.histogram(later.arrival_s, 3, (0.0, 180.0))[0].tolist() == [7, 0, 9]
    dealt = azure_2019_requests(path, ["a", "b"], 240.0, 0, assignment="dealt")
    assert np.bincount(dealt.function).tolist() == [6, 21]  # slow and mid, busy
    double = azure_2019_requests(path, ["a"], 240.0, 0, 2.0)
    assert len(double.arrival_s) == 42
    some = [len(azure_2019_requests(path, ["a"], 240.0, s, 1.5).arrival_s) for s in range(3)]
    assert np.mean(some) == pytest.approx(31.5, abs=5.3)  # 4 deviations of a mean of 3


def test_azure_2021_with_durations(tmp_path: Path) -> None:
    path = trace_file(
        tmp_path / "trace.txt",
        *("x,f,103,3", "y,f,101.5,1.0", "x,f,104,0.5", "x,g,110,10", "x,f,111,1"),
    )
    trace = read_timed_invocations(path)
    assert trace.names == ("x/f", "y/f", "x/g")
    assert trace.arrival_s.tolist() == [0.0, 0.0, 0.5, 3.5, 10.0]
    assert trace.function.tolist() == [0, 2, 1, 0, 0]
    requests = azure_2021_requests(path, ["a", "b"], 10.0, 0)
    assert requests.arrival_s.tolist() == [0.0, 0.5, 3.5]  # x/f twice, then y/f, first in file
    assert requests.function.tolist() == [0, 1, 0]
    assert requests.duration_s.tolist() == [3.0, 1.0, 0.5]
    window = azure_2021_requests(path, ["a"], 8.0, 0, first_s=3.0, assignment="dealt")
    assert window.arrival_s.tolist() == [0.5, 7.0]
    tripled = azure_2021_requests(path, ["a"], 20.0, 0, 3.0)
    assert len(tripled.arrival_s) == 9
    assert sorted(tripled.duration_s.tolist()) == [0.5] * 3 + [1.0] * 3 + [3.0] * 3
    assert tripled.arrival_s[0] == 0.0
    assert (tripled.arrival_s[:3] < 3.5).all()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("x,f,ten,1", r"trace.csv, line 3: end_timestamp: 'ten' is not allowed: a number"),
        ("x,f,10,-1", r"trace.csv, line 3: duration: -1.* is not allowed: at least 0"),
        ("x,f,10,", r"trace.csv, line 3: duration: is empty"),
        ("x,f,10", r"trace.csv, line 3: has 3 columns: 4 are needed"),
    ],
)
def test_rows_that_are_wrong_are_named(tmp_path: Path, row: str, words: str) -> None:
    path = trace_file(tmp_path / "trace.csv", "x,f,5,1", row)
    with pytest.raises(TraceError, match=words):
        azure_2021_requests(path, ["a"], 10.0, 0)


def test_files_that_are_wrong_are_named(tmp_path: Path) -> None:
    path = trace_file(tmp_path / "trace.csv", "x,f,5,1")
    with pytest.raises(TraceError, match="has 1 functions: 2 are needed"):
        azure_2021_requests(path, ["a", "b"], 10.0, 0)
    with pytest.raises(TraceError, match="has no invocations"):
        read_timed_invocations(trace_file(tmp_path / "none.csv"))
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("inter_arrival_s\n1\n-2\n")
    with pytest.raises(TraceError, match=r"gaps.csv, line 3: inter_arrival_s: -2"):
        one(Recorded(gaps), 10.0)
    gaps.write_text("inter_arrival_s\n0\n0\n")
    with pytest.raises(TraceError, match="all gaps are 0"):
        one(Recorded(gaps, repeat=True), 10.0)
    gaps.write_text("inter_arrival_s\n")
    with pytest.raises(TraceError, match="has no gaps"):
        one(Recorded(gaps), 10.0)
    with pytest.raises(TraceError, match="does not exist"):
        one(Recorded(tmp_path / "no.csv"), 10.0)


@pytest.mark.parametrize(
    ("profile", "duration_s", "load_scale", "words"),
    [
        (Poisson(-1.0), 10.0, 1.0, "rate: -1 is not allowed"),
        (Sine(-1.0, 10.0), 10.0, 1.0, "mean: -1 is not allowed"),
        (Sine(1.0, 0.0), 10.0, 1.0, "period_s: 0 is not allowed"),
        (Sine(1.0, 10.0, 1.5), 10.0, 1.0, "amplitude: 1.5 is not allowed"),
        (RandomWalk(5.0, 1.0, 6.0, 9.0), 10.0, 1.0, "start: 5 is not allowed"),
        (RandomWalk(5.0, 1.0, 0.0, 9.0, 0.0), 10.0, 1.0, "step_s: 0 "),
        (Bursts(-1.0, 0.5), 10.0, 1.0, "base: -1 is not allowed"),
        (Bursts(1.0, 2.0, 0.0), 10.0, 1.0, "every_s: 0 is not allowed"),
        (Poisson(1.0), 0.0, 1.0, "duration_s: 0 is not allowed"),
        (Poisson(1.0), 10.0, -1.0, "load_scale: -1 is not allowed"),
        (Poisson(1e9), 1e6, 1.0, "arrivals: .* are not allowed"),
    ],
)
def test_profiles_that_cannot_be(
    profile: Profile, duration_s: float, load_scale: float, words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        one(profile, duration_s, load_scale=load_scale)


def test_traces_are_assigned_in_two_ways(tmp_path: Path) -> None:
    path = trace_file(tmp_path / "trace.csv", "x,f,5,1")
    with pytest.raises(SpecError, match="assignment: 'all' is not allowed: one of busiest, dealt"):
        azure_2021_requests(path, ["a"], 10.0, 0, assignment="all")  # type: ignore[arg-type]
    day = day_file(tmp_path / "day.csv", {"f": {1: 1}})
    with pytest.raises(SpecError, match="first_minute: 0 is not allowed"):
        azure_2019_requests(day, ["a"], 60.0, 0, first_minute=0)
