"""kube-scheduler's scorers: scores worked by hand, and the choices that follow."""

from __future__ import annotations

import pytest

from cloudarena.scenarios.vm.policies import kube

from .test_choices import Choose, choose, request, state

__all__ = ["choose"]

GB = 2**30


def test_scores_by_hand() -> None:
    # 4 cores and 16 GB, of which 1.5 cores and 10 GB are requested.
    assert kube.least_score(1500, 4000) == 62  # 62.5 rounded down
    assert kube.least_score(10 * GB, 16 * GB) == 37
    assert kube.weighted(62, 37, 1.0, 1.0) == 49
    assert kube.weighted(62, 37, 3.0, 1.0) == 55  # (186 + 37) / 4 = 55.75
    assert kube.most_score(1500, 4000) == 37
    assert kube.most_score(5000, 4000) == 100
    assert kube.least_score(5000, 4000) == kube.least_score(0, 0) == kube.most_score(1, 0) == 0
    assert kube.balanced_score(1500, 4000, 10 * GB, 16 * GB) == 87  # 100 (1 - 0.25 / 2)
    assert kube.balanced_score(8000, 4000, 16 * GB, 16 * GB) == 100
    assert kube.ratio_score(1500, 4000, 0, 100) == 37
    assert kube.ratio_score(5000, 4000, 0, 100) == 100
    assert kube.ratio_score(1500, 4000, 100, 0) == 63  # 100 - 37: Go divides towards 0
    assert kube.ratio_score(1500, 4000, 50, 20) == 39  # 50 - 11, of 11.1


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("kube-least-allocated", 0),  # 50, 45, 37
        ("kube-least-allocated:cpu_weight=0", 1),  # 50, 75, 25
        ("kube-most-allocated", 2),  # 50, 53, 62
        ("kube-balanced", 0),  # 100, 70, 87
        ("kube-requested-to-capacity", 2),
        ("kube-requested-to-capacity:score_at_0=10:score_at_100=0", 0),
        ("kube-default", 0),
    ],
)
def test_choices(choose: Choose, name: str, chosen: int) -> None:
    """With the request, 8, 16.8 and 8 of 16, 20 and 16 cores; 16, 8 and 24 of 32 GB are used."""
    machines = state(
        cores=[16, 20, 16], free_cores=[9, 4.2, 9], free_memory_gb=[18, 26, 10], memory_gb=[32] * 3
    )
    assert choose(name, machines, request(1, 2)) == chosen


def test_equals_by_chance_or_the_first(choose: Choose) -> None:
    machines = state(free_cores=[8, 8, 8, 2], valid=[False, True, True, True])
    names = ("kube-least-allocated", "kube-balanced", "kube-default")
    for name in names[::2]:
        assert {choose(name, machines, request(), seed) for seed in range(12)} == {1, 2}
        assert {choose(f"{name}:ties=first", machines, request(), seed) for seed in range(3)} == {1}
    nothing = state(valid=[False, False])
    assert all(choose(name, nothing, request()) == -2 for name in names)
