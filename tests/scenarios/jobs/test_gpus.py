"""GPUs are devices: shares lie on one of them, and whole ones are those that nobody shares."""

from __future__ import annotations

from typing import Any

import pytest

import cloudarena
from cloudarena.base.errors import SpecError
from cloudarena.scenarios.jobs import KIND

from .clusters import cluster, job, places, play, starts, task

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


MODELS = [
    {"cpu": 9, "gpu": 2, "gpu_model": "T4"},
    {"cpu": 9, "gpu": 2, "gpu_model": "A10", "speed": 2},
]


def on(*models: str, gpu: float = 1, **more: Any) -> dict[str, Any]:
    """A task of 10 s that asks for a GPU of some models."""
    return task(10, cpu=0, gpu=gpu, gpu_models=list(models), **more)


@pytest.mark.parametrize("policy", ["first-fit", "best-fit", "easy-backfilling", "tetris",
                                    "conservative-backfilling", "min-min"])  # fmt: skip
def test_tasks_start_on_gpus_of_the_models_that_they_allow(policy: str) -> None:
    jobs = [job(on("A10", gpu=gpu)) for gpu in (1, 1, 1)] + [job(on("T4")), job(on("T4", "A10"))]
    result = play(cluster(*jobs, machines=MODELS), policy)
    assert places(result)[:4] == [1, 1, 1, 0]
    assert sorted(starts(result)[:3]) == [0, 0, 5]
    assert starts(result)[3] == 0


def test_a_reservation_waits_for_a_machine_of_the_right_model() -> None:
    # T4 has a whole GPU free, which is of no use to the second: it is due at 5 s on A10.
    jobs = [job(on("A10", gpu=2)), job(on("A10", gpu=1)), job({**on("A10"), "duration": 30})]
    for policy in ("easy-backfilling", "conservative-backfilling"):
        assert starts(play(cluster(*jobs, machines=MODELS), policy)) == [0, 5, 5]


def test_gangs_spread_over_machines_of_the_right_model_only() -> None:
    gang = on("A10", instances=3, gang=True)
    with pytest.raises(SpecError, match=r"3 instances at once \(gpu 1 of the model A10 each\)"):
        play(cluster(job(gang), machines=MODELS))
    assert places(play(cluster(job({**gang, "gpu_models": []}), machines=MODELS))) == [0, 0, 1]


def test_a_model_that_no_machine_has_is_refused() -> None:
    with pytest.raises(SpecError, match="gpu 1 of the model H100 or V100: no machine has room"):
        play(cluster(job(on("H100", "V100")), machines=MODELS))
    with pytest.raises(SpecError, match=r"gpu_models: \['T4'\] is not allowed: nothing where gpu"):
        play(cluster(job(on("T4", gpu=0)), machines=MODELS))
    with pytest.raises(SpecError, match=r"gpu_model: 'T4\|A10' is not allowed: a name without"):
        play(cluster(job(on("T4")), machines=[{"cpu": 1, "gpu": 1, "gpu_model": "T4|A10"}]))
    many = [{"cpu": 1, "gpu": 1, "gpu_model": f"model-{k}"} for k in range(63)]
    with pytest.raises(SpecError, match="63 models of GPUs are not allowed: at most 62"):
        play(cluster(job(on("model-1")), machines=many))
    assert starts(play(cluster(job(task(10, gpu=1)), machines=many))) == [0]  # nobody asks


def test_decisions_and_policies_see_models() -> None:
    run = cloudarena.load(cluster(job(on("A10")), job(on("T4")), job(task(10, gpu=1)),
                                  machines=MODELS)).start()  # fmt: skip
    decision = run.decision
    assert decision.machines.gpu_model.tolist() == [1, 0]  # A10 is the first in rising order
    assert decision.tasks.gpu_models.tolist() == [0b01, 0b10, -1]
    assert decision.fits.tolist() == [[False, True], [True, False], [True, True]]
    with pytest.raises(cloudarena.InvalidAction, match="there is room for 0"):
        run.apply((0, 0))


def test_learners_are_shown_machines_of_every_model() -> None:
    alike = [{"cpu": 9, "gpu": 2, "gpu_model": model} for model in ("T4", "A10")]
    run = cloudarena.load(cluster(job(task(10, gpu=1)), job(on("T4")), machines=alike)).start(0)
    assert run.is_deciding
    features, context, actions = KIND.candidates["jobs"].make_arrays()
    count = run.fill(KIND.candidates["jobs"], features, context, actions)
    assert actions[:count, :2].tolist() == [[0, 0], [0, 1], [1, 0]]


def test_who_asks_for_no_model_runs_as_before() -> None:
    jobs = [job(task(10, cpu=0, gpu=gpu)) for gpu in (0.6, 0.5, 1, 0.4)]
    plain = [{**kind, "gpu_model": ""} for kind in MODELS]
    one, other = (play(cluster(*jobs, machines=machines)) for machines in (MODELS, plain))
    assert (starts(one), places(one)) == (starts(other), places(other))
