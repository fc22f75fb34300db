"""Requests that wait for a greener grid."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import SpecError
from cloudarena.scenarios.faas.spec.shifting import greenest
from tests.scenarios.faas.cases import column, function, scenario

GRID = [[0, 500], [30, 100], [50, 400], [60, 100]]


@settings(max_examples=50)
@given(
    grams=st.lists(st.sampled_from([10.0, 20.0, 30.0, 40.0]), min_size=1, max_size=12),
    lengths=st.lists(st.floats(0.5, 20.0), min_size=12, max_size=12),
    asked=st.lists(st.floats(0.0, 80.0), min_size=1, max_size=20),
    within_s=st.floats(0.1, 90.0),
    share=st.floats(0.0, 0.99),
)
def test_the_greenest_step_is_found_by_looking_at_all(grams, lengths, asked, within_s, share):
    begins = np.concatenate(([0.0], np.cumsum(lengths)))[: len(grams)].tolist()
    rows = list(zip(begins, grams, strict=True))
    found = greenest(np.array(asked), rows, within_s, 100.0, np.full(len(asked), share))
    for time, let_go in zip(asked, found, strict=True):
        latest = min(time + within_s, 100.0)
        now = max(k for k, (begin, _) in enumerate(rows) if begin <= time)
        reached = [now, *(k for k, (begin, _) in enumerate(rows) if time < begin < latest)]
        best = min(reached, key=lambda k: (rows[k][1], k))
        until = min(latest, rows[best + 1][0] if best + 1 < len(rows) else math.inf)
        begin = rows[best][0]
        expected = time if best == now else begin + share * (until - begin)
        assert let_go == pytest.approx(expected)
        assert time <= let_go <= latest + 1e-9


def shifted(within_s, **changes):
    """A request a second for a node that draws nothing when it is idle."""
    work = function(0.5, 1.0, workers=50, image={"cpu_millicores": 0, "use": {"cpu": 0.01}})
    if within_s:
        work["delay"] = {"within_s": within_s}
    power = {"devices": {"nuc": {"model": "linear", "idle_w": 0, "cpu_w": 28}}}
    return scenario(work, power=power, carbon={"series": GRID}, **changes)


def test_carbon_by_hand():
    """Requests of the first 30 s go from 30 to 50 s, those of 50 to 60 s from 60 s on."""
    at_once, later = (simulate(shifted(w), "first-fit", record="full") for w in (0, 40))
    joules, kwh = 0.5 * 0.01 * 28, 3.6e6
    assert at_once.metrics["energy_wh"] == pytest.approx(later.metrics["energy_wh"], rel=1e-9)
    assert later.metrics["requests"] == at_once.metrics["requests"] == 100
    # Requests at 0, 1, ... 99 s, of half a second; some of those that were held cross a step.
    assert later.metrics["carbon_g"] == pytest.approx(100 * joules * 100 / kwh, rel=0.02)
    assert at_once.metrics["carbon_g"] == pytest.approx(
        (30 * 500 + 20 * 100 + 10 * 400 + 40 * 100) * joules / kwh, rel=1e-9
    )
    let_go = np.array(column(later, "invocations", "arrival_s"))
    held = np.array(column(later, "invocations", "held_s"))
    assert sorted((let_go - held).round(9)) == sorted(column(at_once, "invocations", "arrival_s"))
    assert held.max() <= 40
    assert ((let_go >= 30) & ((let_go < 50) | (let_go >= 60))).all()
    number = np.array(column(later, "invocations", "request"))
    asked = (let_go - held)[np.argsort(number)]
    assert (np.diff(asked) > 0).all(), "who came first is let go first, by number"
    assert later.metrics["held_mean_s"] == pytest.approx(held.mean())
    assert column(later, "functions", "held_mean_s") == [pytest.approx(held.mean()), None]
    assert at_once.metrics["held_mean_s"] == 0
    assert "held_s" not in at_once.tables["invocations"].column_names


def test_requests_of_a_trace_and_many_requests_are_held_as_a_whole(monkeypatch):
    from cloudarena.scenarios.faas import sources

    monkeypatch.setattr(sources, "MOST_AT_ONCE", 20)
    monkeypatch.setattr(sources, "WINDOW_REQUESTS", 10)
    spec = shifted(40).model_dump(mode="json", exclude_none=True)
    spec["functions"][0]["requests"] = {"source": "poisson", "rate": 1.0}
    made = cloudarena.load(spec)
    (drawn,) = made.load_workload(3)
    assert (np.diff(drawn.arrival_s) >= 0).all()
    plain = {**spec, "functions": [{k: v for k, v in spec["functions"][0].items() if k != "delay"}]}
    windows = list(cloudarena.load(plain).load_workload(3))
    assert len(windows) > 1
    came = np.concatenate([window.arrival_s for window in windows])
    assert (drawn.arrival_s - drawn.held_s) == pytest.approx(came)


def test_the_grid_of_a_zone_and_the_warm_up():
    """Only requests that were let go after the warm-up count in the mean."""
    spec = shifted(40, warmup_s=5, topology="industrial-iot", devices={"mix": "hybrid", "count": 9})
    zone = "factory-0"
    spec = spec.model_dump(mode="json", exclude_none=True)
    spec["carbon"]["zones"] = {zone: {"series": [[0, 9], [80, 1]]}}
    spec["functions"][0]["delay"]["zone"] = zone
    result = simulate(cloudarena.load(spec), "first-fit", record="full")
    let_go = np.array(column(result, "invocations", "arrival_s"))
    asked = let_go - np.array(column(result, "invocations", "held_s"))
    assert (let_go[asked > 40] >= 80).all()
    assert (let_go[asked < 39] == asked[asked < 39]).all()


@pytest.mark.parametrize(
    ("delay", "words"),
    [
        ({"within_s": 0}, r"functions\[0\].delay.within_s: 0 is not allowed: more than 0"),
        ({"within_s": 9, "zone": "hal"}, r"delay.zone: 'hal' is not allowed: one of hall. Did you"),
        ({"within_s": 7}, r"functions\[0\].delay: is not allowed without requests: calls by"),
        ({"within": 9}, "unknown key 'within'. Did you mean 'within_s'"),
    ],
)
def test_what_is_wrong_is_said(delay, words):
    made = scenario(function(), topology="city", carbon={"zones": {"hall": {"g_per_kwh": 3}}})
    spec = made.model_dump(mode="json", exclude_none=True)
    spec["functions"][0]["delay"] = delay
    if delay == {"within_s": 7}:
        spec["functions"][0]["requests"] = {"source": "none"}
    with pytest.raises(SpecError, match=words):
        cloudarena.load(spec)
