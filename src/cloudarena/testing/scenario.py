"""Checks that every scenario must pass, under its default policy.

Each is a function named after what it checks; it raises AssertionError with a sentence that says
what is wrong and what the likely cause is.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any, get_args

import numpy as np

from cloudarena.base.names import UNSERVED
from cloudarena.contract import InvalidAction, RecordLevel, Scenario
from cloudarena.experiments.simulate import simulate
from cloudarena.learn.env import CloudEnv
from cloudarena.learn.render import drawn
from cloudarena.testing.candidates import CANDIDATE_CHECKS
from cloudarena.testing.common import assert_same, assert_same_metrics, prepared


def metrics_are_as_declared(scenario: Scenario, seed: int) -> None:
    """The metrics are the declared ones, finite or NaN, never infinite; what is shown exists."""
    result = simulate(scenario, seed=seed)
    declared = [metric.name for metric in scenario.kind.metrics]
    assert list(result.metrics) == declared, f"metrics {list(result.metrics)} are not {declared}"
    for name, value in result.metrics.items():
        assert isinstance(value, float | int), f"metric {name} is {value!r}, not a number"
        assert not math.isinf(value), f"metric {name} is {value}: what is not known is NaN"
    for name in (scenario.kind.headline, *scenario.kind.highlights):
        assert name in declared, f"{name} is highlighted, but not measured"
    for plot in scenario.kind.plots:
        columns = result.tables[plot.table].column_names
        for name in (plot.x, plot.y):
            assert name in columns, f"plot {plot.title!r}: table {plot.table} has no {name}"


def unserved_work_is_shown_first(scenario: Scenario, seed: int) -> None:
    """The share of work left undone is a metric from 0 to 1, and the first in the short table."""
    declared = {metric.name: metric for metric in scenario.kind.metrics}
    assert UNSERVED in declared, f"{UNSERVED} is not measured: who serves nothing could win"
    assert declared[UNSERVED].better == "lower", f"{UNSERVED}: lower is better"
    assert scenario.kind.highlights[:1] == (UNSERVED,), f"{UNSERVED} is not the first highlight"
    assert scenario.kind.unit_of_work, "unit_of_work does not say what is left unserved"
    share = simulate(scenario, seed=seed, record="none").metrics[UNSERVED]
    assert 0 <= share <= 1, f"{UNSERVED} is {share}, not a share"


def the_seed_decides_everything(scenario: Scenario, seed: int) -> None:
    """Two runs with one seed give the same metrics and tables."""
    first, second = simulate(scenario, seed=seed), simulate(scenario, seed=seed)
    assert_same(first, second, "two runs with the same seed differ: something else is random")


def recording_changes_nothing(scenario: Scenario, seed: int) -> None:
    """The metrics do not depend on how much is recorded."""
    none = simulate(scenario, seed=seed, record="none")
    assert not none.tables, "record='none' must leave no tables"
    for level in get_args(RecordLevel)[1:]:
        other = simulate(scenario, seed=seed, record=level)
        assert_same_metrics(other.metrics, none.metrics, f"record={level!r} changes the metrics")


def time_never_goes_back(scenario: Scenario, seed: int) -> None:
    """``now`` and the decisions' times never decrease."""
    policy = prepared(scenario.kind.default_policy, scenario, seed)
    run, before = scenario.start(seed), 0.0
    while (decision := run.decision) is not None:
        assert decision.now == run.now, "a decision has another time than its run"
        assert decision.now >= before, f"time went back from {before} to {decision.now}"
        before = decision.now
        run.apply(policy(decision))
    assert run.now >= before, "time went back at the end"


def decisions_are_read_only(scenario: Scenario, seed: int) -> None:
    """A policy cannot change the state through the arrays it is shown."""
    decision = scenario.start(seed).decision
    for array in arrays_of(decision):
        assert not array.flags.writeable, "an array of the decision can be written to"
        try:
            array.flags.writeable = True
        except ValueError:
            continue
        raise AssertionError("an array of the decision can be made writable")


def bad_actions_change_nothing(scenario: Scenario, seed: int) -> None:
    """An action of the wrong type raises InvalidAction, and so does one after the end."""
    run = scenario.start(seed)
    if run.decision is None:
        return
    before = run.metrics()
    for action in (object(), "nonsense", 10**9, [[]]):
        try:
            run.apply(action)
        except InvalidAction as error:
            assert str(error), "InvalidAction must give its reason"
        else:
            raise AssertionError(f"action {action!r} was accepted")
    assert_same_metrics(run.metrics(), before, "an action that is not allowed changed the state")
    run.play(prepared(scenario.kind.default_policy, scenario, seed))
    try:
        run.apply(0)
    except InvalidAction:
        return
    raise AssertionError("an action was accepted after the end of the run")


def scenarios_survive_a_round_trip(scenario: Scenario, seed: int) -> None:
    """A scenario can be pickled (for workers) and written out and parsed again."""
    assert pickle.loads(pickle.dumps(scenario)) == scenario, "pickling changes the scenario"
    again = type(scenario).parse(scenario.model_dump(mode="json"))
    assert again.model_dump() == scenario.model_dump(), (
        "writing the scenario out and parsing it changes it"
    )


def rewards_sum_to_the_metric(scenario: Scenario, seed: int) -> None:
    """Rewards are finite; over an episode they sum to the headline metric, if it has a value.

    What work left undone costs is added.
    """
    env = CloudEnv(scenario)
    _, info = env.reset(seed=seed)
    total, ended = 0.0, False
    while not ended:
        choice = env.action_space.sample(mask=info["action_mask"])
        _, reward, ended, _, info = env.step(choice)
        assert math.isfinite(reward), f"a reward is {reward}"
        total += reward
    metric = next(m for m in scenario.kind.metrics if m.name == scenario.kind.headline)
    wanted = info["metrics"][metric.name] * (-1 if metric.better == "lower" else 1)
    wanted -= metric.left_undone(env.run)
    assert math.isnan(wanted) or math.isclose(total, wanted, rel_tol=1e-9, abs_tol=1e-9), (
        f"the rewards sum to {total}, the metric {metric.name} is {wanted}"
    )


def observations_fit_their_space(scenario: Scenario, seed: int) -> None:
    """Every observation lies in the observation space; a mask allows at least one action."""
    for env in environments(scenario):
        env.action_space.seed(seed)
        observation, info = env.reset(seed=seed)
        for _ in range(100):
            assert env.observation_space.contains(observation), "an observation is not in its space"
            assert env.action_masks().any(), "the mask allows nothing"
            choice = env.action_space.sample(mask=info["action_mask"])
            observation, _, ended, _, info = env.step(choice)
            if ended:
                break


def environments(scenario: Scenario) -> Iterator[CloudEnv]:
    """The environments of a scenario, with each observation that there is."""
    kind = scenario.kind
    for decides in dict.fromkeys((kind.name, *kind.decides)):
        yield CloudEnv(scenario, decides, observation="flat")
        if decides in kind.candidates:
            yield CloudEnv(scenario, decides, observation="candidates")


def steps_say_what_they_did(scenario: Scenario, seed: int) -> None:
    """Every step tells its action and from when to when it led; each drawing can be made."""
    for env in environments(scenario):
        _, info = env.reset(seed=seed)
        _, _, _, _, info = env.step(env.action_space.sample(mask=info["action_mask"]))
        step = info["step"]
        assert step["from_s"] <= step["to_s"] == env.run.now, "a step tells another time"
        assert "action" in step, "a step does not tell its action"
        if scenario.kind.picture is not None:
            assert str(drawn(env.run, "ansi")).count("\n") >= 1, "nothing is drawn"
            image = np.asarray(drawn(env.run, "rgb_array"))
            assert image.dtype == np.uint8, "an image of other numbers than bytes"
            assert image.ndim == 3, "an image without colours"
            assert image.shape[2] == 3, "an image without colours"


def bad_choices_change_nothing(scenario: Scenario, seed: int) -> None:
    """A choice that is out of range, or behind the last candidate, raises InvalidAction."""
    for env in environments(scenario):
        _, info = env.reset(seed=seed)
        if not env.run.is_deciding:
            return
        before = env.run.metrics()
        bad = [-1, 10**6]
        if env.view.observation_space.__class__.__name__ == "Dict":
            bad += np.flatnonzero(np.asarray(info["action_mask"]) == 0)[:1].tolist()
        for choice in bad:
            try:
                env.step(choice)
            except InvalidAction as error:
                assert "is not allowed" in str(error), "InvalidAction must give its reason"
            else:
                raise AssertionError(f"choice {choice} was accepted")
        assert_same_metrics(env.run.metrics(), before, "a choice that is none changed the state")


def metrics_can_be_had_one_by_one(scenario: Scenario, seed: int) -> None:
    """Each metric is the same alone, in any order, and under its own name."""
    run = scenario.start(seed)
    run.play(prepared(scenario.kind.default_policy, scenario, seed))
    whole = run.metrics()
    for name in reversed(whole):
        run.parts.clear()
        alone = scenario.kind.metric[name](run)
        assert_same_metrics({name: alone}, {name: whole[name]}, f"metric {name} alone")


def a_decision_is_built_once(scenario: Scenario, seed: int) -> None:
    """A decision is the same object until an action is taken, and another one afterwards."""
    policy, run = prepared(scenario.kind.default_policy, scenario, seed), scenario.start(seed)
    for _ in range(20):
        decision = run.decision
        if decision is None:
            return
        assert run.decision is decision, "a decision is built again each time it is asked for"
        run.apply(policy(decision))
        assert run.decision is not decision, "a decision outlives the action on it"


def every_reward_is_finite(scenario: Scenario, seed: int) -> None:
    """Every metric with a direction can be earned: finite from the first step to the last."""
    for metric in scenario.kind.metrics:
        if metric.better is None:
            continue
        env = CloudEnv(scenario, reward=metric.name)
        _, info = env.reset(seed=seed)
        for _ in range(30):
            _, reward, ended, _, info = env.step(env.action_space.sample(mask=info["action_mask"]))
            assert math.isfinite(reward), f"a reward by {metric.name} is {reward}: give reward="
            if ended:
                break


SCENARIO_CHECKS: tuple[Callable[[Scenario, int], None], ...] = (
    metrics_are_as_declared,
    metrics_can_be_had_one_by_one,
    unserved_work_is_shown_first,
    the_seed_decides_everything,
    recording_changes_nothing,
    time_never_goes_back,
    a_decision_is_built_once,
    decisions_are_read_only,
    bad_actions_change_nothing,
    scenarios_survive_a_round_trip,
    rewards_sum_to_the_metric,
    every_reward_is_finite,
    observations_fit_their_space,
    steps_say_what_they_did,
    bad_choices_change_nothing,
    *CANDIDATE_CHECKS,
)


def arrays_of(value: Any) -> Iterator[np.ndarray]:
    """All arrays within a decision: in its attributes and in tuples in them."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from arrays_of(part)
    elif hasattr(value, "__slots__") or hasattr(value, "__dict__"):
        names = getattr(value, "__slots__", None) or vars(value)
        for name in names:
            part = getattr(value, name, None)
            if isinstance(part, (np.ndarray, tuple)):
                yield from arrays_of(part)
