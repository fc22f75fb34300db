"""Learned policies as files, and as policies like any other."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import cloudpickle
import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import PolicyError, SpecError
from cloudarena.cli.policies import policies
from cloudarena.contract import learned as learned_room
from cloudarena.contract.learned import Learned, policy_of
from cloudarena.engine.scoring import Shape
from cloudarena.experiments.compare import compare
from cloudarena.experiments.simulate import simulate
from cloudarena.learn.explain import explain_policy
from cloudarena.learn.network import ordered_scores
from cloudarena.scenarios import kind_named

SMALL = {**kind_named("vm").small, "buffer.budget_ticks": 4}


@pytest.fixture(scope="module")
def scenario():
    return cloudarena.load("vm/azure-like-10k", SMALL)


def a_policy(hidden=(8,), seed=0, **changes):
    candidates = kind_named("vm").candidates["vm"]
    activation = "tanh" if hidden else "linear"
    shape = Shape(len(candidates.features), len(candidates.context), hidden, activation)
    weights = np.random.default_rng(seed).standard_normal(shape.size)
    training = {"scenario": "vm/azure-like-10k", "reward": "income_usd"}
    made = Learned.of("vm", candidates, shape, weights, training=training)
    return replace(made, **changes)


@pytest.mark.parametrize("hidden", [(), (8,), (5, 7)])
def test_it_runs_compiled_as_it_does_stepped_and_as_numpy_says(scenario, hidden):
    policy = policy_of(a_policy(hidden))
    compiled, stepped = scenario.start(3), scenario.start(3)
    compiled.play(policy)
    learned, candidates, several = policy.learned, policy.candidates, 0
    while (decision := stepped.decision) is not None:
        features, context, actions = candidates.make_arrays()
        count = candidates.fill(*decision.arguments(policy), features, context, actions)
        scores = ordered_scores(learned.shape, learned.weights, features[:count], context)
        action = policy(decision)
        assert action == actions[np.argmax(scores), 0]
        several += count > 2
        stepped.apply(action)
    assert several > 100
    assert compiled.metrics() == stepped.metrics()


def test_a_file_gives_the_same_policy_and_the_same_bytes(tmp_path, scenario):
    made = a_policy((5, 7))
    made.save(tmp_path / "one")
    read = Learned.load(tmp_path / "one")
    read.save(tmp_path / "two")
    for name in ("policy.json", "weights.npz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert str(tmp_path) not in (tmp_path / "one/policy.json").read_text()
    words = f"learned:{tmp_path / 'one'}"
    result = simulate(scenario, words, 1)
    assert result.metrics == simulate(scenario, policy_of(made), 1).metrics
    assert result.policy == words


def test_it_is_compared_like_any_policy_in_other_processes_too(tmp_path, scenario):
    a_policy().save(tmp_path)
    names = [f"learned:{tmp_path}", "best-fit"]
    one = compare(scenario, names, replications=3, workers=1)
    two = compare(scenario, [policy_of(a_policy(), names[0]), "best-fit"], 3, workers=2)
    for metric, values in one.values.items():
        np.testing.assert_array_equal(values, two.values[metric])


def test_it_comes_back_from_a_pickle():
    policy = policy_of(a_policy(), "mine")
    again = cloudpickle.loads(cloudpickle.dumps(policy))
    assert again.name == "mine"
    assert again.values.tobytes() == policy.values.tobytes()


def changed(folder, **changes):
    file = folder / "policy.json"
    said = json.loads(file.read_text())
    said.update(changes)
    file.write_text(json.dumps({key: value for key, value in said.items() if value is not None}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "jobs"}, "it is for jobs, not for vm"),
        ({"version": 99}, "trained on version 99 of the features of vm, which have version"),
        ({"decides": "vm-move"}, "it decides vm-move, which is not allowed: vm has vm to learn"),
        ({"format": 2}, "format: 2 is not allowed: 1"),
        ({"hidden": [0]}, "0 is not allowed: a whole number from 1 to 1024"),
        ({"hidden": [4, 4, 4]}, "with 3 hidden layers is not allowed"),
        ({"activation": "sin"}, "'sin' with 1 hidden layers is not allowed: tanh or relu"),
        ({"hidden": None}, "policy.json: cannot be used: hidden is missing"),
        (
            {"hidden": [9]},
            r"weights_0: float32 of .*, 8\) is not allowed: float32 of .*, 9\)",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_one_clear_error(tmp_path, changes, words):
    a_policy().save(tmp_path)
    changed(tmp_path, **changes)
    with pytest.raises(PolicyError, match=words) as error:
        kind_named("vm").policies.resolve(f"learned:{tmp_path}")
    assert "\n" not in str(error.value)


def test_features_by_other_names_are_an_error(tmp_path):
    names = [one.name for one in kind_named("vm").candidates["vm"].features]
    a_policy().save(tmp_path)
    changed(tmp_path, features=["luck", *names[1:]])
    with pytest.raises(PolicyError, match="features: cores_left, luck differ from those of vm"):
        kind_named("vm").policies.resolve(f"learned:{tmp_path}")


def test_weights_that_are_damaged_or_not_finite_are_an_error(tmp_path):
    book = kind_named("vm").policies
    a_policy().save(tmp_path)
    (tmp_path / "weights.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(PolicyError, match=r"weights\.npz: cannot be read"):
        book.resolve(f"learned:{tmp_path}")
    (tmp_path / "weights.npz").write_text("no archive")
    with pytest.raises(PolicyError, match=r"cannot be read: it is no npz archive of arrays$"):
        book.resolve(f"learned:{tmp_path}")
    (tmp_path / "weights.npz").unlink()
    with pytest.raises(PolicyError, match=r"weights\.npz: cannot be read: it does not exist"):
        book.resolve(f"learned:{tmp_path}")
    bad = a_policy()
    bad.weights[3] = np.nan
    bad.save(tmp_path)
    with pytest.raises(PolicyError, match="weights_0: not all are numbers of at most 1,000,000"):
        book.resolve(f"learned:{tmp_path}")


def test_what_is_not_there_is_an_error(tmp_path):
    with pytest.raises(PolicyError, match=r"is not allowed: .*a folder with policy\.json and"):
        kind_named("vm").policies.resolve(f"learned:{tmp_path / 'nothing'}")


def test_a_shipped_policy_has_a_name_and_lists_itself(tmp_path, monkeypatch, capsys, scenario):
    a_policy(seed=5).save(tmp_path / "lucky")
    shutil.copytree(tmp_path / "lucky", tmp_path / "other")
    changed(tmp_path / "other", kind="jobs", decides="jobs")
    monkeypatch.setattr(learned_room, "SHIPPED", tmp_path)
    policies("vm", as_json=True)
    entries = json.loads(capsys.readouterr().out)
    assert "trained on vm/azure-like-10k for income_usd" in entries["learned:lucky"]
    assert "learned:other" not in entries
    assert simulate(scenario, "learned:lucky", 0).metrics == (
        simulate(scenario, policy_of(a_policy(seed=5)), 0).metrics
    )
    with pytest.raises(PolicyError, match=r"one of lucky, other, or a folder .*'lucky'\?"):
        kind_named("vm").policies.resolve("learned:luky")


def test_a_run_says_which_features_decide(tmp_path, capsys):
    from cloudarena.cli.run import run

    a_policy(()).save(tmp_path)
    changes = [f"{key}={value}" for key, value in SMALL.items()]
    run("vm/azure-like-10k", f"learned:{tmp_path}", overrides=changes, explain=True)
    first, *_ = explain_policy(
        cloudarena.load("vm/azure-like-10k", SMALL), f"learned:{tmp_path}", 0
    )
    printed = capsys.readouterr().out.splitlines()
    rows = printed[printed.index(next(line for line in printed if "changed" in line)) + 1 :]
    assert rows[0].split() == [
        first.feature,
        first.of,
        f"{first.weight:.4g}",
        f"{first.changed:.1%}",
    ]
    with pytest.raises(SpecError, match="explain: best-fit is not allowed: a learned policy"):
        run("vm/azure-like-10k", "best-fit", overrides=changes, explain=True)
