"""How many machines are needed: bisection on the same work, the curve, and the words."""

import math
import re

import numpy as np
import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.experiments import size as module
from cloudarena.experiments.limits import least_probability
from cloudarena.experiments.size import size

TOY = {
    "scenario": "vm",
    "ticks": 4,
    "machines": [
        {"name": "host", "count": 2, "cores": 4, "memory_gb": 16, "price": {"hour_usd": 1}}
    ],
    "workload": {
        "source": "inline",
        "vms": [{"created": 0, "lifetime": 4, "cores": 2, "memory_gb": 1} for _ in range(10)],
    },
}
LIMIT = ["unserved_share<=0"]


def fake(monkeypatch, unserved):
    """Replaces runs by a function from the number of machines to the share left undone."""

    def measured(scenario, policy, seed, names):
        counts = {one.name: one.count for one in scenario.machines}
        share = unserved(counts)
        cost = sum(one.count * one.price.hourly_usd for one in scenario.machines)
        return [(share + 1e-9 * seed, False)] * len(names) + [(cost, False)]

    monkeypatch.setattr(module, "_measured", measured)
    monkeypatch.setattr(module, "compile_once", lambda *_: None)


def test_the_fewest_machines_for_ten_vms_of_two_cores():
    found = size(TOY, LIMIT, policy="first-fit", replications=3, workers=1)
    assert found.best.counts == (5,)  # two on each
    assert found.is_fixed
    assert found.best.runs == 1
    assert found.best.cost_usd == pytest.approx(5 * 4 * 300 / 3600)
    tried = {one.counts[0]: one.is_enough for one in found.curve}
    assert tried[4] is False
    assert all(enough == (count >= 5) for count, enough in tried.items())
    assert found.conclusion().startswith(
        "5 \N{MULTIPLICATION SIGN} host keep unserved_share <= 0 under first-fit on this one trace "
        "(no claim beyond it)"
    )
    assert "4 do not: unserved_share is 0.2 at worst." in found.conclusion()


def test_random_work_that_keeps_a_limit_to_the_last_bit_is_not_one_trace():
    """The first two replications leave nothing undone and cost the same; others may not."""
    spec = {
        "scenario": "jobs",
        "machines": [{"name": "node", "count": 60, "cpu": 8, "memory": 64}],
        "workload": {"source": "alibaba-like", "jobs": 5},
    }
    found = size(spec, ["unserved_share<=0"], policy="first-fit", replications=3, workers=1)
    assert not found.is_fixed
    assert found.best.runs == 3
    assert "nothing in the spec has a price: set machines[0].price" in found.conclusion()
    assert "they cost" not in found.conclusion()


def test_what_is_said_of_a_mix_holds_for_other_runs(monkeypatch):
    """A run needs so many of each of two types; a mix just enough for five is not for 55 %."""
    machines = [
        {"name": "small", "count": 8, "cores": 4, "memory_gb": 16, "price": {"hour_usd": 1}},
        {"name": "large", "count": 8, "cores": 8, "memory_gb": 32, "price": {"hour_usd": 5}},
    ]
    needs = np.random.default_rng(3).integers(1, 500, (10_000, 2))

    def measured(scenario, policy, seed, names):
        counts = {one.name: one.count for one in scenario.machines}
        small, large = needs[seed]
        enough = counts.get("small", 0) >= small and counts.get("large", 0) >= large
        return [(0.0 if enough else 1.0 + 1e-9 * seed, False)] * len(names) + [(1.0, False)]

    monkeypatch.setattr(module, "_measured", measured)
    monkeypatch.setattr(module, "compile_once", lambda *_: None)
    runs, wrong, fitted = 100, 0, 0
    for run in range(runs):
        found = size(
            {**TOY, "machines": machines}, ["unserved_share<=0.5"], seed=20 * run, workers=1
        )
        truly = (found.best.counts >= needs).all(axis=1).mean()
        wrong += truly < least_probability(found.checked.kept, found.checked.runs)
        fitted += truly < least_probability(found.best.kept, found.best.runs)
    assert "of 5 new ones" in found.conclusion()
    assert fitted > 0.1 * runs  # of its own replications more was said than is so
    assert wrong <= 0.05 * runs + 2.0 * (0.05 * 0.95 * runs) ** 0.5


def test_work_left_undone_is_told_where_no_limit_forbids_it(monkeypatch):
    """Who serves nothing uses no energy: one machine keeps such a limit, and serves nobody."""
    fake(monkeypatch, lambda counts: 0.25)
    found = size(TOY, ["energy_kwh<=1"], workers=1)
    assert found.best.counts == (1,)
    assert "It leaves 25 % of VMs unserved." in found.conclusion()
    assert found.summary()["unserved_share"] == pytest.approx(0.25, abs=1e-6)
    assert "unserved." not in size(TOY, ["unserved_share<=0.5"], workers=1).conclusion()


def test_more_machines_that_are_worse_are_told(monkeypatch):
    fake(
        monkeypatch, lambda counts: 0.0 if counts["host"] in (7, 16) or counts["host"] > 20 else 1.0
    )
    found = size(TOY, ["unserved_share<=0.5"], workers=1)
    assert found.best.counts[0] in (7, 9, 16)
    if found.best.counts[0] == 7:
        assert "More machines are not always better here" in found.conclusion()


@pytest.mark.parametrize(
    ("prices", "most_of_small", "counts"),
    [
        ((1, 5), 6, (6, 2)),  # the large ones are reduced first, as far as six small ones allow
        ((1, 5), 99, (10, 0)),  # small ones alone are cheaper than the mix of 8 and 1
        ((3, 5), 99, (0, 5)),  # large ones alone are
        ((2, 3), 1, (0, 5)),  # the mix of 1 and 5, of which the small one can be spared
        ((1.1, 2), 3, (0, 5)),
        ((0.9, 2), 3, (2, 4)),  # two small ones instead of the fifth large one
        ((0, 0), 99, (0, 5)),  # nothing has a price: in their order
    ],
)
def test_a_mix_is_reduced_the_dearest_first(monkeypatch, prices, most_of_small, counts):
    machines = [
        {
            "name": "small",
            "count": 8,
            "cores": 4,
            "memory_gb": 16,
            "price": {"hour_usd": prices[0]},
        },
        {
            "name": "large",
            "count": 8,
            "cores": 8,
            "memory_gb": 32,
            "price": {"hour_usd": prices[1]},
        },
    ]

    def unserved(n):
        return float(min(n.get("small", 0), most_of_small) + 2 * n.get("large", 0) < 10)

    fake(monkeypatch, unserved)
    found = size({**TOY, "machines": machines}, ["unserved_share<=0.5"], workers=1)
    assert found.best.counts == counts
    assert ("no type alone, and no exchange, is cheaper" in found.conclusion()) == any(prices)


def test_one_type_of_several_is_asked_for(monkeypatch):
    machines = [
        {"name": "small", "count": 8, "cores": 4, "memory_gb": 16, "price": {"hour_usd": 1}},
        {"name": "large", "count": 8, "cores": 8, "memory_gb": 32, "price": {"hour_usd": 5}},
    ]
    fake(monkeypatch, lambda n: float(n.get("small", 0) + 2 * n.get("large", 0) < 10))
    one = size({**TOY, "machines": machines}, ["unserved_share<=0.5"], machines="small", workers=1)
    assert [group.name for group in one.groups] == ["small"]
    assert one.best.counts == (1,)


@pytest.mark.parametrize(
    ("where", "options", "words"),
    [
        ([], {}, "where: is required"),
        (["unserved<=0"], {}, "Did you mean 'unserved_share'"),
        (LIMIT, {"machines": "hosts"}, "machines: 'hosts' is not allowed: one of host"),
        (["mean_cpu_utilisation>=2"], {}, "no number of machines up to"),
    ],
)
def test_errors(monkeypatch, where, options, words):
    fake(monkeypatch, lambda counts: 0.0)
    with pytest.raises(CloudarenaError, match=re.escape(words)):
        size(TOY, where, workers=1, **options)


def test_too_few_for_a_single_task_is_not_enough():
    spec = {
        "scenario": "jobs",
        "machines": [{"name": "node", "count": 4, "cpu": 2, "memory": 4}],
        "workload": {
            "source": "inline",
            "jobs": [
                {
                    "submit": 0,
                    "tasks": [
                        {"instances": 3, "cpu": 2, "memory": 1, "duration": 10, "gang": True}
                    ],
                }
            ],
        },
    }
    found = size(spec, ["unserved_share<=0"], policy="gang", workers=1)
    assert found.best.counts == (3,)
    assert any(math.isnan(one.cost_usd) for one in found.curve)
