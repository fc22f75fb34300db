"""The waiting jobs as candidates: what is shown of them, and learned policies that rank them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import PolicyError
from cloudarena.contract.learned import Learned, LearnedPolicy, policy_of
from cloudarena.engine.scoring import Shape
from cloudarena.learn.network import ordered_scores
from cloudarena.scenarios.jobs import NEXT, JobsScenario, WindowRuns
from cloudarena.scenarios.jobs.observe.queue import RANKINGS, choose_jobs

from .clusters import cluster, job, task

QUEUE = RANKINGS["jobs-queue"]
PLACE = {feature.name: place for place, feature in enumerate(QUEUE.features)}
LINEAR = Shape(len(QUEUE.features), len(QUEUE.context))


def scenario_of(jobs: int = 120, **workload: Any) -> JobsScenario:
    spec = {
        "scenario": "jobs",
        "machines": [{"cpu": 64}],
        "workload": {
            "source": "lublin-feitelson", "jobs": jobs, "processors": 64, "rate": 4, **workload,
        },
    }  # fmt: skip
    loaded: Any = cloudarena.load(spec)
    return loaded  # type: ignore[no-any-return]


def a_policy(
    backfill: str = "none", hidden: tuple[int, ...] = (), most: int = 64, **weights: float
) -> LearnedPolicy:
    """A policy with the given weights of features, or any weights."""
    shape = Shape(LINEAR.features, LINEAR.context, hidden, "tanh")
    values = np.random.default_rng(7).standard_normal(shape.size)
    if weights:
        values = np.zeros(shape.size)
        for name, weight in weights.items():
            values[PLACE[name]] = weight
    learned = Learned.of("jobs", QUEUE, shape, values, most)
    return policy_of(learned, "mine", {"backfill": backfill})


@pytest.mark.parametrize("backfill", ["none", "strict"])
@pytest.mark.parametrize(("hidden", "most"), [((), 64), ((6,), 8)])
def test_it_runs_compiled_as_stepped_and_as_numpy_says(
    backfill: str, hidden: tuple[int, ...], most: int
) -> None:
    scenario, policy = scenario_of(), a_policy(backfill, hidden, most)
    compiled, stepped = scenario.start(1), scenario.start(1)
    compiled.play(policy)
    stepped.prepare(policy)
    several = 0
    while (decision := stepped.decision) is not None:
        features, context, actions = QUEUE.make_arrays(most)
        context[0] = backfill == "strict"
        count = policy.fill(*decision.arguments(policy), features, context, actions)
        scores = ordered_scores(
            policy.learned.shape, policy.learned.weights, features[:count], context
        )
        action = policy(decision)
        assert action == tuple(actions[np.argmax(scores)])
        assert action[1:] == (NEXT, int(backfill == "strict"))
        for columns, values in ((QUEUE.features, features[:count].T), (QUEUE.context, context)):
            for feature, column in zip(columns, values, strict=True):
                assert (column >= feature.low).all()
                assert (column <= feature.high).all()
        several += count > 4
        stepped.apply(action)
    assert several > 20
    assert compiled.metrics() == stepped.metrics()


@pytest.mark.parametrize("backfill", ["none", "strict"])
def test_with_one_weight_it_is_a_heuristic_of_the_family(backfill: str) -> None:
    scenario = scenario_of(QUEUE.most, estimates="exact")  # so that all that wait are shown
    for weights, heuristic in (({"wait": 1.0}, "ranked-fcfs"), ({"request": -1.0}, "ranked-sjf")):
        mine = cloudarena.simulate(scenario, a_policy(backfill, **weights), 3).metrics
        theirs = cloudarena.simulate(scenario, f"{heuristic}:backfill={backfill}", 3).metrics
        assert mine == theirs


def test_windows_of_learned_policies_are_those_of_single_runs() -> None:
    policy = a_policy("strict")
    runs = WindowRuns(scenario_of(), policy, seed=2)
    other = np.random.default_rng(8).standard_normal(LINEAR.size)
    rows = np.array([policy.values, policy.values_of(other)])
    found = runs.measure([0, 30], 40, rows).bounded_slowdown_mean
    changed = policy_of(Learned.of("jobs", QUEUE, LINEAR, other), "other", {"backfill": "strict"})
    for row, one in enumerate((policy, changed)):
        for window, first in enumerate((0, 30)):
            alone = scenario_of(window={"first": first, "jobs": 40})
            metrics = cloudarena.simulate(alone, one, 2, "none").metrics
            expected = metrics["bounded_slowdown_mean"]
            assert found[row, window] == pytest.approx(expected, rel=1e-9)
    assert found[0, 0] != found[1, 0]
    with pytest.raises(PolicyError, match=r"3 parameters are not allowed: \d+"):
        runs.measure([0], 40, np.zeros((1, 3)))


def test_what_is_shown_by_hand() -> None:
    """Of 4 processors one is free at 10 s, and three are from 100 s on."""
    jobs = [job(task(100, 3)), job(task(50, 2), submit=10), job(task(5, 1), submit=10)]
    scenario = cloudarena.load(cluster(*jobs, cpu=4, known=["durations"]))
    run = scenario.start(0)
    policy = a_policy(wait=1.0)
    run.prepare(policy)
    assert run.decision is not None
    run.apply((0, NEXT, 0))
    decision = run.decision
    assert decision is not None
    assert decision.now == 10.0
    features, context, actions = QUEUE.make_arrays(8)
    assert policy.fill(*decision.arguments(policy), features, context, actions) == 2
    assert actions[:2].tolist() == [[1, NEXT, 0], [2, NEXT, 0]]
    shown = {name: features[:2, place].tolist() for name, place in PLACE.items()}
    assert shown["request"] == pytest.approx([np.log(50) / 20, np.log(5) / 20])
    assert shown["processors"] == pytest.approx([np.log(2) / 20, 0.0])
    assert shown["share"] == [0.5, 0.25]
    assert shown["fits"] == [0.0, 1.0]
    assert shown["delay"] == pytest.approx([np.log(91) / 20, 0.0])
    assert shown["consumed"] == pytest.approx([np.log(50 * 2 + 90 * 1) / 40, np.log(5) / 40])
    assert shown["known"] == [0.0, 0.0]
    assert context.tolist() == pytest.approx([0.0, np.log(3) / 10, 0.25, np.log(4) / 20])
    assert (features[2:] == 0).all()


def test_of_a_long_queue_the_earliest_and_the_smallest_are_shown() -> None:
    scenario = scenario_of(200, estimates="exact")
    run = scenario.start(0)
    policy = a_policy("none", wait=1.0)
    run.prepare(policy)
    while (decision := run.decision) is not None and len(decision.ready) <= 30:
        run.apply(policy(decision))
    assert decision is not None
    tasks, _ = decision.arguments(policy)
    actions = np.zeros((16, 3), np.int64)
    assert choose_jobs(tasks, actions) == 16
    shown = actions[:, 0].tolist()
    assert shown[:4] == tasks.ready[:4].tolist()
    assert shown == sorted(shown)
    area = tasks.duration * tasks.processors
    left_out = [one for one in tasks.ready.tolist() if one not in shown]
    assert max(area[one] for one in shown[4:]) <= min(area[one] for one in left_out)


def test_options_are_checked(tmp_path: Path) -> None:
    a_policy().learned.save(tmp_path)
    book = scenario_of().kind.policies
    found = book.resolve(f"learned:{tmp_path}:backfill=strict")
    assert isinstance(found, LearnedPolicy)
    assert found.chosen == {"backfill": "strict"}
    assert found.values[-1] == 1.0
    with pytest.raises(PolicyError, match="backfill: 'greedy' is not allowed: one of none, strict"):
        book.resolve(f"learned:{tmp_path}:backfill=greedy")
    with pytest.raises(PolicyError, match=r"'ties=first' is not allowed: backfill=\.\.\."):
        book.resolve(f"learned:{tmp_path}:ties=first")


def test_the_features_are_on_the_page() -> None:
    page = Path(__file__).parents[3] / "docs/learned.md"
    assert QUEUE.table() in page.read_text(encoding="utf-8")
