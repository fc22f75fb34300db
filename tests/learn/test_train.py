"""Training of scenarios from end to end, at small size."""

from __future__ import annotations

import operator
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError, PolicyError, SpecError
from cloudarena.base.parallel import SerialExecutor
from cloudarena.base.statistics import Estimate
from cloudarena.contract.learned import Learned
from cloudarena.experiments.compare import compare
from cloudarena.experiments.simulate import simulate
from cloudarena.learn.checkpoint import CHECKPOINT
from cloudarena.learn.clouds import Clouds, Runs, Taught, cloud_of
from cloudarena.learn.curriculum import Curriculum
from cloudarena.learn.decisions import Window
from cloudarena.learn.explain import explain
from cloudarena.learn.rewards import weights_of
from cloudarena.learn.train import CURVE_SEED, TEST_SEED, train
from cloudarena.learn.training import Training, duels_of
from cloudarena.scenarios import kind_named

SMALL = {
    "ticks": 150,
    "workload.vms": 300,
    "workload.concurrent": 60,
    "machines[0].count": 4,
    "machines[0].cores": 16,
}
FEW = {"population": 8, "windows": 2}


@pytest.fixture(scope="module")
def scenario():
    return cloudarena.load("vm/azure-like-10k", SMALL)


@pytest.fixture(scope="module")
def cloud(scenario):
    return cloud_of(scenario, "income_usd", None, None)


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_environments_earn_what_the_metric_says(cloud):
    vector = Clouds(cloud, 3)
    decisions = vector.reset(7)
    earned, finished = np.zeros(3), []
    rng = np.random.default_rng(0)
    runs = list(vector._runs)
    while len(finished) < 4:
        decisions, rewards, ended = vector.step(rng.integers(0, decisions.count))
        earned += rewards
        for i in np.flatnonzero(ended):
            finished.append((earned[i], runs[i].metrics()["income_usd"]))
            earned[i] = 0.0
            runs[i] = vector._runs[i]
    for rewards, income in finished:
        assert rewards == pytest.approx(income)
    assert len({income for _, income in finished}) > 1


def test_environments_on_the_same_work_are_the_same_until_choices_differ(cloud):
    same, apart = Clouds(cloud, 3, same_work=True), Clouds(cloud, 3)
    assert (np.ptp(same.reset(1).context, axis=0) == 0).all()
    assert (np.ptp(apart.reset(1).context, axis=0) > 0).any()


def test_an_environment_shows_what_the_policy_sees_in_the_kernel(cloud):
    """Greedy choices in an environment are the compiled run of the same network, bit for bit."""
    shape = cloud.shape((6,))
    weights = np.random.default_rng(3).standard_normal(shape.size).astype(np.float32)
    from cloudarena.learn.network import Network

    network, vector = Network(shape, weights), Clouds(cloud, 1)
    decisions, total, ended = vector.reset(5), 0.0, np.array([False])
    seed = vector._runs[0].seed
    while not ended[0]:
        decisions, rewards, ended = vector.step(network.best(decisions))
        total += rewards[0]
    found = Runs(cloud, shape).scores(weights[None].astype(np.float64), [Window(seed)])
    assert total == pytest.approx(found[0, 0], rel=1e-12)


def test_a_choice_that_is_no_candidate_is_refused(cloud):
    vector = Clouds(cloud, 1)
    decisions = vector.reset(0)
    with pytest.raises(CloudarenaError, match=f"choice: {decisions.count[0]} is not allowed: 0 to"):
        vector.step(decisions.count)


def test_a_lesson_is_what_the_teacher_did(cloud):
    lesson = Taught(cloud, "best-fit")(3, 200)
    assert lesson.asked == 200
    assert len(lesson.choices) == 200  # what best-fit takes is always a candidate
    free = [one.name for one in cloud.candidates.features].index("cores_free")
    refuse = [one.name for one in cloud.candidates.features].index("refuse")
    several = 0
    for features, count, choice in zip(
        lesson.decisions.features, lesson.decisions.count, lesson.choices, strict=True
    ):
        machines = features[:count][features[:count, refuse] == 0]
        if len(machines) and not features[choice, refuse]:
            several += len(machines) > 1
            assert features[choice, free] == machines[:, free].min()
    assert several > 20


@pytest.mark.parametrize(
    ("algorithm", "steps", "more"),
    [
        ("cross-entropy", 64, {"options": FEW}),
        ("ppo", 2000, {"hidden": (4,), "options": {"horizon": 32, "environments": 4}}),
        ("reinforce", 1500, {"hidden": (4, 4), "options": {"environments": 3}}),
        ("imitate", 3000, {"imitate": "best-fit", "options": {"lesson": 1000}}),
    ],
)
def test_each_algorithm_trains_saves_and_is_loaded(scenario, tmp_path, algorithm, steps, more):
    found = train(
        scenario, algorithm, "income_usd", steps, out=tmp_path / "out", replications=3, **more
    )
    assert not (tmp_path / "out" / CHECKPOINT).exists()
    assert Training.load(tmp_path / "out") == found
    assert found.curve[-1, 0] >= steps
    page = (tmp_path / "out/report.html").read_text()
    assert "Learning curve" in page
    assert "What decides" in page
    learned = Learned.load(tmp_path / "out")
    assert learned.training["algorithm"] == algorithm
    assert learned.results["seeds"] == [TEST_SEED, TEST_SEED + 2]
    words = f"learned:{tmp_path / 'out'}"
    again = compare(scenario, [words, "best-fit"], 3, TEST_SEED)
    k = found.comparison.policies.index("best-fit")
    for metric, values in again.values.items():
        np.testing.assert_array_equal(values, found.comparison.values[metric][[0, k]])
    if algorithm == "imitate":
        income = [
            found.comparison.estimate(one, "income_usd").mean for one in ("learned", "best-fit")
        ]
        assert income[0] > 0.97 * income[1]


def test_the_result_does_not_depend_on_workers_or_on_where_they_are(scenario, tmp_path):
    calls = []

    class Elsewhere(SerialExecutor):
        def submit(self, function, /, *arguments, **words):
            calls.append(function)
            return super().submit(function, *arguments, **words)

    for workers, executor in ((1, None), (2, None), (3, Elsewhere())):
        train(
            scenario,
            reward="income_usd",
            steps=48,
            out=tmp_path / str(workers),
            workers=workers,
            replications=3,
            options=FEW,
            executor=executor,
        )
    assert files(tmp_path / "1") == files(tmp_path / "2") == files(tmp_path / "3")
    assert len(calls) > 3


PROGRAM = """
import sys
import cloudarena
import cloudarena.learn.train as driver
from tests.learn.test_train import SMALL
algorithm, out = sys.argv[1:]
driver.WARM_STEPS, driver.POINTS, driver.CHOICE_RUNS = 1000, 5, 9
steps, options = {steps}
cloudarena.train(
    cloudarena.load("vm/azure-like-10k", SMALL), algorithm, "income_usd", steps, seed=4, out=out,
    hidden=(4,), imitate="best-fit", replications=3, options=options, checkpoint_s=0.0,
    curriculum="load=0.5:1",
    watcher=lambda progress: print(progress.phase, progress.steps, flush=True),
)
"""
KILLED = {
    "ppo": (1024, {"horizon": 16, "environments": 4, "fresh": 5}),
    "cross-entropy": (144, FEW),
}


@pytest.mark.parametrize(
    "algorithm", ["cross-entropy", pytest.param("ppo", marks=pytest.mark.slow)]
)
def test_a_training_that_was_killed_goes_on_to_the_same_bytes(tmp_path, algorithm):
    program = PROGRAM.replace("{steps}", repr(KILLED[algorithm]))

    def started(out):
        return subprocess.Popen(
            [sys.executable, "-c", program, algorithm, str(tmp_path / out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    whole = started("whole")
    printed, errors = whole.communicate()
    assert whole.returncode == 0, errors
    said = printed.splitlines()
    trained = [line for line in said if line.startswith("training")]
    assert len(trained) > 6
    for after in (3, 7)[: 2 if algorithm == "ppo" else 1]:  # once or twice, in a round
        process = started("killed")
        seen = 0
        for line in process.stdout:
            seen += line.startswith("training")
            if line.split()[-1] == trained[after].split()[-1] and seen:
                break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert (tmp_path / "killed" / CHECKPOINT).is_file()
        assert not (tmp_path / "killed" / "policy.json").exists()
    last = started("killed")
    printed, errors = last.communicate()
    assert last.returncode == 0, errors
    assert printed.splitlines()[0] != said[0]  # it went on, and did not begin anew
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_a_checkpoint_of_another_training_is_not_taken(scenario, tmp_path):
    stopped = []

    def stop(progress):
        stopped.append(progress.steps)
        if len(stopped) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(scenario, steps=64, out=tmp_path, options=FEW, checkpoint_s=0.0, watcher=stop)
    assert (tmp_path / CHECKPOINT).is_file()
    words = "checkpoint of another training, with another steps, seed; take another folder"
    with pytest.raises(CloudarenaError, match=words):
        train(scenario, steps=8, seed=1, out=tmp_path, options=FEW)
    (tmp_path / CHECKPOINT).write_bytes(b"PK broken")
    with pytest.raises(CloudarenaError, match=r"cannot be read: .*; remove it to start anew"):
        train(scenario, steps=8, out=tmp_path)


def test_curve_choice_and_test_have_no_seed_in_common(scenario, monkeypatch):
    seen = []
    start = type(scenario).start

    def noted(self, seed=0, record=None):
        seen.append(seed)
        return start(self, seed, record)

    monkeypatch.setattr(type(scenario), "start", noted)
    train(scenario, reward="income_usd", steps=32, replications=3, options=FEW)
    test = {seed for seed in seen if TEST_SEED <= seed < CURVE_SEED}
    assert test == {TEST_SEED, TEST_SEED + 1, TEST_SEED + 2}
    first = seen.index(TEST_SEED)
    assert not any(TEST_SEED <= seed < CURVE_SEED for seed in seen[:first])
    assert min(seed for seed in seen) == TEST_SEED
    assert sum(seed >= 2**30 for seed in seen[:first]) == 32  # what it is trained on


def test_several_metrics_with_weights_are_a_reward(scenario):
    kind = kind_named("vm")
    assert weights_of(kind, "income_usd=2, failed=0.5") == {"income_usd": 2.0, "failed": 0.5}
    both = cloud_of(scenario, "income_usd=2,failed=0.5", None, None)
    run = scenario.start(0)
    run.play(kind.policies.resolve("first-fit"))
    metrics = run.metrics()
    failed = kind.metric["failed"].earned(run)
    assert failed <= -metrics["failed"] < 0  # all that is left undone counts
    assert both.earned(run) == pytest.approx(2 * metrics["income_usd"] + 0.5 * failed)
    assert both.metric == "income_usd"


def test_a_curriculum_moves_a_key(scenario):
    load = Curriculum.parse("load=0.5:1.5")
    counts = [load.scenario(scenario, part).workload.vms for part in (0.0, 0.5, 1.0)]
    assert counts[0] == 150
    assert counts[-1] == 450
    assert counts == sorted(counts)
    machines = Curriculum.parse("machines[0].count=8:4").scenario(scenario, 1.0)
    assert machines.machines[0].count == 4


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("jobs/alibaba-like-10", ["workload.rate"]),
        ("workflow/demo", ["workload.rate"]),
        ("faas/edge-energy", ["load_scale"]),
        ("tiers/day", ["arrivals.base", "arrivals.burst"]),
        ("tiers/rubis-hour", ["arrivals.peak"]),
        ("clusters/hfhc", ["workload.load"]),
    ],
)
def test_the_load_is_a_curriculum_of_every_kind(name, keys):
    spec = cloudarena.load(name)
    harder = Curriculum.parse("load=0.5:1.2").scenario(spec, 1.0)
    for key in keys:
        read = operator.attrgetter(key)
        assert read(harder) == pytest.approx(1.2 * read(spec))


def test_a_spec_that_lists_its_work_has_no_load_to_move():
    with pytest.raises(
        SpecError, match=r"curriculum: load is not allowed: jobs/toy .*workload\.rate"
    ):
        Curriculum.parse("load=0.5:1.2").scenario(cloudarena.load("jobs/toy"), 0.0)


def test_explain_finds_the_feature_that_decides(cloud):
    shape = cloud.shape()
    weights = np.zeros(shape.size, np.float32)
    place = [one.name for one in cloud.candidates.features].index("cores_free")
    weights[place] = -1.0
    first, *others = explain(cloud, shape, weights, 0, 300)
    assert first.feature == "cores_free"
    assert first.weight == -1.0
    assert first.changed > 0.2
    assert all(one.changed == 0.0 for one in others)


def test_duels_are_paired_and_tested_together(scenario):
    found = compare(scenario, ["best-fit", "first-fit", "worst-fit"], 6)
    rng = np.random.default_rng(0)
    noise = 100 * rng.standard_normal(6)
    apart = np.array([40.0, -35.0, 20.0, -30.0, 10.0, 4.0])
    income = np.array([noise + rng.normal(5, 1, 6), noise, noise - apart])
    values = {**found.values, "income_usd": income}
    object.__setattr__(found, "values", values)
    object.__setattr__(found, "policies", ("learned", "first-fit", "worst-fit"))
    metric = kind_named("vm").metric["income_usd"]
    near, far = duels_of(found, metric)
    assert (near.against, near.verdict) == ("first-fit", "better")
    assert isinstance(near.difference, Estimate)
    assert near.difference.low > 0
    assert far.verdict == "not told apart"
    assert far.difference.low < 0 < far.difference.high
    income[1, 2] = np.nan
    assert duels_of(found, metric)[0].verdict == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"algorithm": "dqn"}, "algorithm: 'dqn' is not allowed: one of cross-entropy, ppo"),
        ({"reward": "luck"}, "reward: 'luck' is not allowed: one of"),
        ({"reward": "income_usd=-1"}, "reward: 'income_usd=-1' is not allowed: METRIC=WEIGHT"),
        ({"steps": 0}, "steps: 0 is not allowed: a whole number, at least 1"),
        ({"hidden": (4, 4, 4)}, "hidden: 3 layers are not allowed: at most 2"),
        ({"hidden": (0,)}, "hidden: 0 is not allowed"),
        ({"activation": "sin"}, "activation: 'sin' is not allowed: one of tanh, relu"),
        ({"options": {"elites": 0.1}}, "unknown key 'elites'. Did you mean 'elite'"),
        ({"curriculum": "load"}, "curriculum: 'load' is not allowed: KEY=FROM:TO"),
        ({"curriculum": "luck=1:2"}, "curriculum: luck is not allowed: the spec has no such key"),
        (
            {"window": {"vms": 256}},
            "window: vms=256 is not allowed: the work of vm/azure-like-10k has no windows",
        ),
        ({"decides": "jobs"}, "decides: 'jobs' is not allowed: one of vm"),
        ({"most": 2}, "most: 2 is not allowed: 4 to 128 candidates"),
        ({"workers": 0}, "workers: 0 is not allowed"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(scenario, arguments, words):
    with pytest.raises((SpecError, CloudarenaError)) as error:
        train(scenario, **arguments)
    assert words in str(error.value)


def test_a_teacher_that_is_not_there_is_an_error(scenario):
    with pytest.raises(PolicyError, match="'best-fitt' is not allowed"):
        train(scenario, "imitate", imitate="best-fitt")


def test_the_command_line_trains_and_explains(tmp_path, capsys, monkeypatch):
    from cloudarena.cli import main

    changes = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    command = ["cloudarena", "train", "vm/azure-like-10k", *changes, "--reward", "income_usd"]
    command += ["--steps", "16", "--option", "population=8", "--option", "windows=2"]
    command += ["--replications", "3", "--out", str(tmp_path / "out")]
    command += ["--executor", "cloudarena.base.parallel:SerialExecutor"]
    monkeypatch.setattr(sys, "argv", [*command, "--explain"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert "learned has more (95 %)" in printed
    assert "changed" in printed
    said = Learned.load(tmp_path / "out").training["command"]
    assert said.startswith("cloudarena train vm/azure-like-10k --algorithm cross-entropy")
    assert "--option population=8" in said
    assert str(tmp_path) not in said
    monkeypatch.setattr(sys, "argv", ["cloudarena", "train", "vm/toy", "--hidden", "a,b"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "error: --hidden: 'a' is not allowed: whole numbers" in capsys.readouterr().err
    assert simulate(cloudarena.load("vm/azure-like-10k", SMALL), f"learned:{tmp_path / 'out'}")
