"""The kernel equals the slow and obvious reference, request by request, under any actions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.base.measures import AtLeast
from cloudarena.scenarios.tiers import TiersScenario

from .reference import Service

PERIOD, PERIODS = 4.0, 6


@st.composite
def services(draw):
    """A small service with little room, and an action for each of its periods."""
    tiers = draw(st.integers(1, 3))
    rate = st.floats(0.5, 4.0)
    rows, actions = [], []
    for number in range(tiers):
        most = draw(st.tuples(st.integers(0, 3), st.integers(1, 3)))
        counts = st.tuples(st.integers(0, most[0]), st.integers(0, most[1])).filter(any)
        start, *later = draw(st.lists(counts, min_size=PERIODS, max_size=PERIODS))
        rows.append(
            {
                "name": f"tier-{number}",
                "fat": {"rate": draw(rate), "max": most[0], "start": start[0]},
                "thin": {"rate": draw(rate), "max": most[1], "start": start[1]},
                "room": draw(st.integers(1, 5)),
            }
        )
        actions.append(later)
    spec = {
        "scenario": "tiers",
        "duration_s": PERIOD * PERIODS,
        "period_s": PERIOD,
        "arrivals": {"source": "constant", "rate": draw(st.floats(0.5, 6.0))},
        "routing": {
            "kind": draw(st.sampled_from(["depth", "random_walk"])),
            "forward": [draw(st.floats(0.0, 0.9)) for _ in range(tiers - 1)],
        },
        "balance": draw(st.sampled_from(["weighted", "equal"])),
        "service": draw(
            st.sampled_from(["exponential", "deterministic", "log-normal", "hyper-exponential"])
        ),
        "service_scv": draw(st.floats(1.1, 4.0)),
        "boot_s": draw(st.sampled_from([0.0, 1.5, 6.5])),
        "sla": {
            "metric": draw(st.sampled_from(["mean", "quantile"])),
            "seconds": draw(st.floats(0.2, 5.0)),
            "level": draw(st.sampled_from([0.5, 0.9])),
        },
        "tiers": rows,
    }
    return TiersScenario.parse(spec), np.array(actions).swapaxes(0, 1)


@given(services(), st.integers(0, 1000))
@settings(max_examples=120, deadline=None)
def test_the_kernel_equals_the_reference(service, seed):
    scenario, actions = service
    run = scenario.start(seed, "full")
    slow = Service(scenario, seed, run.world.requests["arrival"])
    slow.run_until(PERIOD)
    assert run.periods[-1].keeps_sla == slow.keeps_sla()
    for number, action in enumerate(actions):
        assert run.counts.tolist() == slow.counts()
        up_s, busy_s = list(slow.up_s), list(slow.busy_s)
        run.apply(action)
        slow.decide(action.tolist())
        slow.run_until((number + 2) * PERIOD)
        last = run.periods[-1]
        if run.decision is not None:
            assert last.keeps_sla == slow.keeps_sla()
            there = [r for r in slow.requests if r.arrival < slow.now and r.outcome == "in system"]
            waited = [slow.now - request.arrival for request in there]
            assert sorted(run.waited(0)) == pytest.approx(sorted(waited))
            metrics, served = run.metrics(), [r for r in slow.requests if r.outcome == "served"]
            arrived = sum(request.arrival < slow.now for request in slow.requests)
            unserved = 1 - len(served) / arrived if arrived else 0.0
            assert metrics["unserved_share"] == pytest.approx(unserved)
            times = [r.finish - r.arrival for r in served] + waited
            mean = sum(times) / len(times) if times else math.nan
            assert metrics["response_mean_s"] == pytest.approx(mean, nan_ok=True)
            assert isinstance(metrics["response_mean_s"], AtLeast) == bool(waited)
            use = np.subtract(slow.busy_s, busy_s) / np.subtract(slow.up_s, up_s)
            assert last.utilisation == pytest.approx(use, rel=1e-6, abs=1e-9)
            held = [sum(len(v.queue) for v in slow.vms if v.tier == t) for t in range(len(use))]
            assert last.held_at_end.tolist() == held
    slow.run_until(math.inf)
    assert run.periods[-1].keeps_sla == slow.keeps_sla()
    table = run.result().tables["requests"].to_pydict()
    assert table["outcome"] == [request.outcome for request in slow.requests]
    assert table["visits"] == [request.visits for request in slow.requests]
    finish = [request.finish for request in slow.requests]
    assert table["finish"] == pytest.approx(finish, rel=1e-9)
    assert run.world.tiers["blocked"].tolist() == slow.blocked
    assert run.world.tiers["held_s"] == pytest.approx(slow.held_s, rel=1e-6, abs=1e-9)
    assert run.rented_minutes() == pytest.approx([s / 60 for s in slow.rented()], rel=1e-9)
    metrics = run.metrics()
    assert metrics["served"] + metrics["blocked"] == metrics["arrived"] == len(slow.requests)
