"""GPUs are devices: shares lie on one of them, and whole ones are those that nobody shares."""

from __future__ import annotations

import pytest

import cloudarena
from cloudarena.base.errors import SpecError

from .clusters import cluster, job, play, starts, task

TWO = [{"cpu": 9, "gpu": 2}]


def begun(*gpus: float, policy: str = "first-fit", machines: list[dict] = TWO) -> list[float]:
    """When tasks of 10 s that ask for so many GPUs begin."""
    jobs = [job(task(10, cpu=0, gpu=gpu)) for gpu in gpus]
    return starts(play(cluster(*jobs, machines=machines), policy))


@pytest.mark.parametrize("policy", ["first-fit", "easy-backfilling", "conservative-backfilling",
                                    "tetris", "min-min", "ranked-sjf", "gang"])  # fmt: skip
def test_three_shares_of_0_6_do_not_start_together_on_two_gpus(policy: str) -> None:
    assert begun(0.6, 0.6, 0.6, policy=policy) == [0, 0, 10]


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([0.6, 0.6, 0.4, 0.4], [0, 0, 0, 0]),  # shares fill both
        ([0.3, 0.4, 0.3, 1], [0, 0, 0, 0]),  # the fullest device with room is taken
        ([0.6, 0.6, 1], [0, 0, 10]),  # 0.8 are free, and no whole one
        ([1.5, 0.5, 0.5], [0, 0, 10]),  # a whole one and a half of the other
        ([0.3] * 7, [0] * 6 + [10]),  # three on each
    ],
)
def test_what_starts_at_once_on_two_gpus(gpus: list[float], expected: list[float]) -> None:
    assert begun(*gpus) == expected


def test_machines_of_one_gpu_each_are_no_machine_of_two() -> None:
    assert begun(0.6, 0.6, 0.6, machines=[{"cpu": 9, "gpu": 1, "count": 2}]) == [0, 0, 10]
    assert begun(0.6, 0.6, 0.6, machines=[{"cpu": 9, "gpu": 1, "count": 3}]) == [0, 0, 0]


def test_instances_of_a_task_and_gangs_need_devices_too() -> None:
    share = task(10, cpu=0, gpu=0.6, instances=3)
    assert starts(play(cluster(job(share), machines=TWO))) == [0, 0, 10]
    with pytest.raises(SpecError, match=r"3 instances at once \(gpu 0.6 each\): the machines"):
        play(cluster(job({**share, "gang": True}), machines=TWO))
    pair = {**share, "gang": True, "instances": 2}
    assert starts(play(cluster(job(pair), job(pair), machines=TWO))) == [0, 0, 10, 10]


def test_a_machine_that_fails_gives_its_gpus_back() -> None:
    spec = cluster(job(task(10, cpu=0, gpu=0.6, instances=2)), job(task(1, cpu=0, gpu=1)),
                   machines=TWO)  # fmt: skip
    spec["failures"] = {"outages": [{"machine": 0, "down_s": 5, "up_s": 6}]}
    assert starts(play(spec)) == [6, 6, 16]


def test_a_decision_shows_which_pairs_fit() -> None:
    jobs = [job(task(10, cpu=0, gpu=gpu)) for gpu in (0.6, 0.6, 0.7, 0.4)]
    run = cloudarena.load(cluster(*jobs, machines=TWO)).start()
    run.apply((0, 0))
    run.apply((1, 0))
    assert run.decision.fits.tolist() == [[False], [True]]
    with pytest.raises(cloudarena.InvalidAction, match="there is room for 0"):
        run.apply((2, 0))


def test_too_many_gpus_to_keep_one_by_one_are_refused() -> None:
    with pytest.raises(SpecError, match=r"machines\[0\]\.gpu: 5000 is not allowed: at most 1024"):
        begun(0.5, machines=[{"cpu": 1, "gpu": 5000}])
    assert begun(1, machines=[{"cpu": 1, "gpu": 5000}]) == [0]  # nobody shares: sums do
