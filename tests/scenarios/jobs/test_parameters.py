"""What the parameters of policies do: who of equals is taken, and the weight of tetris."""

from __future__ import annotations

from collections import Counter

import pytest

import cloudarena
from cloudarena.base.errors import PolicyError
from cloudarena.scenarios.jobs import POLICIES

from .clusters import Spec, cluster, column, job, places, play, starts, task

SEEDS = range(48)


def first_choices(spec: Spec, policy: str, name: str) -> Counter[int]:
    """How often each task or machine is the first choice."""
    scenario = cloudarena.load(spec)
    return Counter(
        cloudarena.simulate(scenario, policy, seed).tables["decisions"][name][0].as_py()
        for seed in SEEDS
    )


@pytest.mark.parametrize(
    ("policy", "cpus"),
    [
        ("best-fit", (9, 4, 4, 4)),  # the least CPU free
        ("worst-fit", (2, 4, 4, 4)),  # the most
        ("tetris", (8, 4, 4, 4)),  # the best aligned: 1/4 * 4/4 against 1/8 * 8/8
    ],
)
def test_any_of_the_machines_that_are_equally_good(policy: str, cpus: tuple[float, ...]) -> None:
    spec = cluster(job(task(10)), machines=[{"cpu": cpu, "memory": 0} for cpu in cpus])
    assert first_choices(spec, policy, "machine") == {1: len(SEEDS)}
    assert first_choices(spec, f"{policy}:ties=first", "machine") == {1: len(SEEDS)}
    found = first_choices(spec, f"{policy}:ties=random", "machine")
    assert set(found) == {1, 2, 3}
    assert min(found.values()) >= 5  # of 48: fewer of one has a chance of 1 in 6,000


@pytest.mark.parametrize("policy", ["drf", "drf-users"])
def test_any_of_the_tasks_whose_owners_hold_as_little(policy: str) -> None:
    jobs = [job(task(10), user=user) for user in range(3)]
    assert first_choices(cluster(*jobs, cpu=1), policy, "task_index") == {0: len(SEEDS)}
    found = first_choices(cluster(*jobs, cpu=1), f"{policy}:ties=random", "task_index")
    assert set(found) == {0, 1, 2}
    assert min(found.values()) >= 5


@pytest.mark.parametrize("policy", ["best-fit", "worst-fit", "tetris", "drf", "drf-users"])
def test_ties_are_broken_the_same_way_at_both_speeds(policy: str) -> None:
    jobs = [job(task(3 + k % 2, instances=3), task(2), submit=k) for k in range(4)]
    spec = cluster(*jobs, cpu=2, count=3)
    name = f"{policy}:ties=random"
    for seed in range(3):
        compiled = cloudarena.simulate(spec, name, seed)
        run, chosen = cloudarena.load(spec).start(seed), POLICIES.resolve(name)
        while (decision := run.decision) is not None:
            run.apply(chosen(decision))
        assert run.result().tables["decisions"].equals(compiled.tables["decisions"])


def test_the_weight_of_tetris_turns_the_choice() -> None:
    # 4 cores, memory 1. A: 2 cores, 4 s; B: 4 cores, 3 s. Scores as in test_by_hand, with
    # weight w: 0.5 - 0.6 w and 1 - 0.9 w, equal at w = 5 / 3: beyond it A goes first.
    spec = cluster(job(task(4, cpu=2)), job(task(3, cpu=4)), cpu=4)
    for weight in (0, 1, 1.6):
        assert starts(play(spec, f"tetris:weight={weight}")) == [3, 0]
    for weight in (1.7, 9):
        assert starts(play(spec, f"tetris:weight={weight}")) == [0, 4]


def test_two_parameters_at_once() -> None:
    spec = cluster(job(task(4, cpu=2)), job(task(3, cpu=4)), cpu=4)
    assert starts(play(spec, "tetris:weight=9:ties=random")) == [0, 4]
    assert set(places(play(spec, "tetris:ties=random:weight=0"))) == {0}


def test_a_parameter_that_a_policy_does_not_have_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"first-fit: 'ties=random' is not allowed: none"):
        play(cluster(job(task(1))), "first-fit:ties=random")
    with pytest.raises(PolicyError, match=r"best-fit: ties: 'last' is not allowed: one of first"):
        play(cluster(job(task(1))), "best-fit:ties=last")


def test_a_function_of_arrays_may_leave_parameters_out_or_declare_its_own() -> None:
    def plain(tasks, machines, rng):  # type: ignore[no-untyped-def]
        return tasks.first, 0, 1

    @cloudarena.parameters(machine=1)
    def on_one(tasks, machines, p, rng):  # type: ignore[no-untyped-def]
        return tasks.first, int(p.machine), 1

    spec = cluster(job(task(1, instances=2)), count=2)
    assert column(play(spec, plain), "machine") == [0, 0]
    assert column(play(spec, on_one), "machine") == [1, 1]
