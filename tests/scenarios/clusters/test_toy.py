"""``clusters/toy``: two batches of two classes, worked by hand in docs/clusters.md."""

import itertools

import pytest

import cloudarena
from cloudarena.scenarios.clusters import UNTIL_DONE, Plan

SHARES = ([1, 3], [2, 2], [3, 1])


def makespan(first, second):
    """One share up to the second batch, another from there on."""
    run = cloudarena.load("clusters/toy").start(0)
    run.apply(Plan(first, 6.0))
    run.apply(Plan(second, UNTIL_DONE))
    assert run.decision is None
    return run.metrics()["makespan_s"]


def test_the_optimum_follows_the_work():
    """48 VM-seconds of work on four VMs: no plan is done before 12 s, and one is."""
    times = {
        (tuple(first), tuple(second)): makespan(first, second)
        for first, second in itertools.product(SHARES, SHARES)
    }
    assert min(times, key=times.get) == ((3, 1), (1, 3))
    assert min(times.values()) == 12.0
    assert sorted(times.values())[1] > 12.0


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [
        ("mean-optimum", 12.0),
        ("equal", 15.0),
        ("fixed:shares=3-1", 24.0),
        ("fixed:shares=1-3", 24.0),
        ("ilos", 12.0),
        ("elos", 12.0),
    ],
)
def test_what_the_policies_take(policy, seconds):
    metrics = cloudarena.simulate("clusters/toy", policy).metrics
    assert metrics["makespan_s"] == pytest.approx(seconds)


def test_what_is_measured_of_the_optimum():
    """All VMs work all the time; 3 * 10 + 30 MB up to 6 s and 10 + 3 * 30 MB from there on."""
    metrics = cloudarena.simulate("clusters/toy", "mean-optimum").metrics
    assert metrics["utilisation"] == 1.0
    assert metrics["throughput_per_s"] == 36 / 12
    assert metrics["memory_mb"] == (60 + 100) / 2
    assert metrics["decisions"] == 2
