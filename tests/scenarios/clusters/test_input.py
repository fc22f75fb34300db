"""What a user may write, the errors, the generator, files, replay and learning."""

import json
import subprocess
import sys

import gymnasium
import numpy as np
import pyarrow.csv as pacsv
import pytest

import cloudarena as package
from cloudarena import catalogue, simulate
from cloudarena.base.errors import CloudarenaError, PolicyError, SpecError
from cloudarena.scenarios.clusters import UNTIL_DONE, ClustersScenario
from cloudarena.scenarios.clusters.policies.model.stages import similarities
from cloudarena.scenarios.clusters.policies.model.study import Shares
from cloudarena.workloads.clusters.batches import generate_batches
from cloudarena.workloads.clusters.inline import Inline

from .cases import clusters, fixed, generated, play


def spec(**changes):
    base = {
        "scenario": "clusters",
        "vms": 3,
        "classes": [{"name": "a", "seconds": fixed(1), "memory_mb": fixed(1)}],
        "workload": {"source": "inline", "batches": [{"tasks": [1]}]},
    }
    return {**base, **changes}


def test_the_defaults():
    scenario = package.load(spec())
    assert scenario.allow_idle is False
    assert scenario.information == "lagged"
    assert scenario.decide_seconds == 0
    assert scenario.workload.batches[0].time_s == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vms": 0}, "vms: 0 is not allowed: at least 1"),
        ({"classes": []}, "classes: .* is not allowed: at least 1 entries"),
        (
            {"classes": [{"name": "a", "seconds": {"kind": "gama", "mean": 1},
                          "memory_mb": fixed(1)}]},
            r"classes\[0\].seconds.kind: 'gama' is not allowed: one of .* Did you mean 'gamma'",
        ),
        (
            {"classes": [{"name": "a", "seconds": {"kind": "empirical", "values": [1, -1]},
                          "memory_mb": fixed(1)}]},
            r"classes\[0\].seconds.values\[1\]: -1 is not allowed: more than 0",
        ),
        (
            {"workload": {"source": "inline", "batches": [{"tasks": [1, 2]}]}},
            r"workload.batches\[0\].tasks: 2 numbers are not allowed: 1, one for each class",
        ),
        (
            {"workload": {"source": "inline", "batches": [{"tasks": [0]}]}},
            r"workload.batches\[0\].tasks: none is not allowed: at least one task",
        ),
        (
            {"workload": {"source": "inline",
                          "batches": [{"time_s": 5, "tasks": [1]}, {"time_s": 3, "tasks": [1]}]}},
            r"workload.batches\[1\].time_s: 3 is before the one before",
        ),
        ({"information": "orakel"}, "information: 'orakel' is not allowed: one of 'oracle' or"),
        ({"decide_seconds": -1}, "decide_seconds: -1 is not allowed: at least 0"),
        ({"stage_s": 0.0001}, "stage_s: 0.0001 is not allowed: at least least_stage_s, 0.001"),
        ({"stage_s": 1e300}, "stage_s: 1e.300 is not allowed: at most 1000000000"),
        (
            {"workload": {"source": "inline", "batches": [{"time_s": 1e18, "tasks": [1]}]}},
            r"workload.batches\[0\].time_s: 1e.18 is not allowed: at most 1000000000",
        ),
        (
            {"workload": {"source": "generated", "batches": 1, "regime_s": 1e-300}},
            "workload.regime_s: 1e-300 is not allowed: at least 0.001",
        ),
        ({"vm": 3}, "unknown key 'vm'. Did you mean 'vms'"),
    ],
)  # fmt: skip
def test_bad_specs(change, words):
    with pytest.raises(SpecError, match=words):
        package.load(spec(**change))


def test_numbers_that_are_as_good_as_nothing():
    steady = [{"name": "a", "seconds": {"kind": "gamma", "mean": 2, "cv": 1e-300}}]
    steady[0]["memory_mb"] = fixed(1)
    assert package.simulate(spec(classes=steady)).metrics["makespan_s"] == pytest.approx(2 / 3)
    short = [{"name": "a", "seconds": fixed(1e-300), "memory_mb": fixed(1)}]
    workload = {"source": "generated", "batches": 2}
    with pytest.raises(SpecError, match=r"workload.load: .* tasks of a class in a batch are not"):
        package.simulate(spec(classes=short, workload=workload))


def test_fewer_vms_than_classes():
    with pytest.raises(SpecError, match="vms: 1 is not allowed: at least 2, one for each class"):
        clusters([(0, [1, 1])], vms=1)


def test_each_class_has_a_name_of_its_own():
    one = {"name": "a", "seconds": fixed(1), "memory_mb": fixed(1)}
    workload = {"source": "inline", "batches": [{"tasks": [1, 1]}]}
    with pytest.raises(SpecError, match=r"classes: names \['a', 'a'\] are not allowed: each once"):
        package.load(spec(classes=[one, one], workload=workload))


@pytest.mark.parametrize("variance", ["low", "high"])
def test_generated_batches_have_the_work_that_was_asked_for(variance):
    seconds = [2.0, 0.5, 1.0]
    batches = generate_batches(200, 3600, 50_000, seconds, variance, 600, 0.25, seed=5)
    assert batches.times[:3].tolist() == [0, 18, 36]
    assert (batches.tasks >= 1).all()
    assert (batches.tasks * seconds).sum() == pytest.approx(50_000, rel=0.01)


def test_high_variance_is_less_alike_than_low():
    def similarity(variance):
        batches = generate_batches(160, 3600, 64_800, np.ones(7), variance, 600, 0.25, seed=1)
        return similarities(batches.tasks[:80], batches.tasks[80:]).mean()

    assert similarity("low") > 0.95
    assert similarity("high") < 0.7


@pytest.mark.parametrize(
    ("distribution", "cv"),
    [
        ({"kind": "gamma", "mean": 4, "cv": 0.5}, 0.5),
        ({"kind": "log-normal", "mean": 4, "cv": 0.5}, 0.5),
        ({"kind": "empirical", "values": [2, 6]}, 0.5),
    ],
)
def test_laws_have_their_mean_and_variation(distribution, cv):
    scenario = package.load(
        spec(classes=[{"name": "a", "seconds": distribution, "memory_mb": fixed(1)}])
    )
    one = scenario.classes[0].seconds
    factors = one.factors(np.random.default_rng(1), 20_000)
    assert one.mean == 4
    assert one.cv == pytest.approx(cv)
    assert factors.mean() == pytest.approx(1, rel=0.02)
    assert factors.std() == pytest.approx(cv, rel=0.03)


def test_policies_see_the_same_work():
    scenario = generated()
    worlds = []
    for policy in ("equal", "greedy"):
        run = scenario.start(seed=2)
        run.play(scenario.kind.policies.resolve(policy))
        worlds.append(run.world)
    assert (worlds[0].seconds == worlds[1].seconds).all()
    assert (worlds[0].memory_mb == worlds[1].memory_mb).all()


def test_batches_from_a_file(tmp_path):
    path = tmp_path / "batches.csv"
    path.write_text("time_s,class,tasks\n0,a,3\n0,b,4\n5,b,1\n")
    base = clusters([(0, [1, 1])]).model_dump(mode="json")
    scenario = package.load({**base, "workload": {"source": "file", "path": str(path)}})
    batches = scenario.load_workload(0)
    assert batches.times.tolist() == [0, 5]
    assert batches.tasks.tolist() == [[3, 4], [0, 1]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time_s,class,tasks\n0,c,3\n", r"batches.csv, line 2: class: 'c' is not in the scenario"),
        ("time_s,class,tasks\n0,a,3\n-1,a,3\n", "line 3: time_s: -1 is not allowed: from 0 to"),
        ("time_s,class,tasks\n0,a,-3\n", "line 2: tasks: -3 is not allowed: 0 to"),
        ("time_s,class,tasks\n0,a,0\n", "has no tasks: at least one"),
        ("time_s,class,tasks\n", "has no rows: at least one batch"),
        ("time_s,class\n0,a\n", "tasks"),
    ],
)
def test_bad_files(tmp_path, text, words):
    path = tmp_path / "batches.csv"
    path.write_text(text)
    base = clusters([(0, [1, 1])]).model_dump(mode="json")
    scenario = package.load({**base, "workload": {"source": "file", "path": str(path)}})
    with pytest.raises(CloudarenaError, match=words):
        scenario.start()


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("decide_seconds", [0, 0.1])
def test_a_run_can_be_replayed(cloudarena, tmp_path, suffix, decide_seconds):
    arguments = ["clusters/hfhc", "--set", f"decide_seconds={decide_seconds}", "--seed", 4]
    out = tmp_path / "out"
    code, _, err = cloudarena("run", *arguments, "--policy", "greedy", "--out", out)
    assert code == 0, err
    file = out / "decisions.parquet"
    if suffix == "csv":
        import pyarrow.csv
        import pyarrow.parquet

        file = tmp_path / "decisions.csv"
        pyarrow.csv.write_csv(pyarrow.parquet.read_table(out / "decisions.parquet"), file)
    code, text, err = cloudarena("run", *arguments, "--policy", f"replay:{file}", "--json")
    assert code == 0, err
    assert json.loads(text)["metrics"] == json.loads((out / "metrics.json").read_text())["metrics"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("0,x,4,inf,0\n", "line 2: class: 'x' is not in the scenario"),
        ("1,a,2,inf,0\n1,b,2,inf,0\n", "decision 0 is missing"),
        ("0,a,9,inf,0\n0,b,2,inf,0\n", "11 VMs are not allowed: exactly 4 in all"),
        ("0,a,,inf,0\n0,b,2,inf,0\n", "line 2: vms: is required"),
    ],
)
def test_bad_replays(tmp_path, rows, words):
    path = tmp_path / "plans.csv"
    path.write_text("decision,class,vms,length_s,evaluations\n" + rows)
    with pytest.raises(CloudarenaError, match=words):
        package.simulate(clusters([(0, [1, 1])]), f"replay:{path}")


def test_rewards_sum_to_either_metric():
    for reward, sign in (("makespan_s", -1), ("throughput_per_s", 1)):
        env = gymnasium.make("cloudarena/clusters-v0", scenario=generated(), reward=reward)
        env.reset(seed=3)
        env.action_space.seed(3)
        total, ended = 0.0, False
        while not ended:
            _, gained, ended, _, info = env.step(env.action_space.sample())
            total += gained
        assert total == pytest.approx(sign * info["metrics"][reward])
    with pytest.raises(SpecError, match="reward: 'memory' is not allowed: one of unserved_share"):
        ClustersScenario.observer(generated(), "memory")


@pytest.mark.parametrize(
    "name", [m.name for m in package.load("clusters/toy").kind.metrics if m.better]
)
def test_every_metric_with_a_direction_is_a_reward(name):
    """Rewards are finite from the first moment on, and sum to the metric or what it says."""
    scenario = generated()
    observer, run = scenario.observer(name), scenario.start(3)
    assert np.isfinite(observer.value(run))
    env = gymnasium.make("cloudarena/clusters-v0", scenario=scenario, reward=name)
    env.reset(seed=3)
    env.action_space.seed(3)
    total, ended = 0.0, False
    while not ended:
        _, gained, ended, _, info = env.step(env.action_space.sample())
        assert np.isfinite(gained)
        total += gained
    value = info["metrics"][name]
    if name == "backlog_mean_tasks":
        value *= info["metrics"]["makespan_s"]
    sign = -1 if scenario.kind.metric[name].better == "lower" else 1
    assert total == pytest.approx(sign * value, abs=1e-9)


def test_nobody_lowers_the_backlog_by_drawing_a_run_out():
    """The mean over time is lower for who crawls; the reward, task-seconds, is not higher."""
    scenario = clusters([(0, [2, 40])], (1, 1), vms=12, allow_idle=True)
    quick, crawling = (play(scenario, [(shares, UNTIL_DONE)]) for shares in ([2, 10], [1, 1]))
    name = "backlog_mean_tasks"
    assert crawling.metrics()[name] < quick.metrics()[name]
    assert scenario.observer(name).value(quick) == pytest.approx(-(2 * 1 + 40 * 4) / 2)
    assert scenario.observer(name).value(crawling) == pytest.approx(-(2 * 2 + 40 * 40) / 2)


def test_a_spec_is_validated_without_numba_and_arrow():
    code = (
        "import sys\n"
        "from cloudarena.scenarios.clusters.spec import ClustersScenario\n"
        f"ClustersScenario.parse({spec()!r})\n"
        "print([name for name in ('numba', 'pyarrow', 'scipy') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_catalogue_has_the_promised_entries():
    wanted = {f"clusters/ligo-{vms}" for vms in (20, 32, 64, 128)}
    wanted |= {f"clusters/{name}" for name in ("lflc", "lfhc", "hflc", "hfhc")}
    assert wanted <= set(catalogue.names())
    ligo = package.load("clusters/ligo-128")
    assert ligo.vms == 128
    assert sum(ligo.workload.batches[0].tasks) == 18_451


def test_task_times_are_drawn_by_the_name_of_a_class():
    """Classes in another order, with one more among them, take the same times."""
    distributions = {
        name: {"kind": "gamma", "mean": 1 + k, "cv": 0.5} for k, name in enumerate("abc")
    }

    def drawn(names):
        classes = [
            {"name": n, "seconds": distributions[n], "memory_mb": distributions[n]} for n in names
        ]
        batches = [{"time_s": t, "tasks": [1] * len(names)} for t in range(5)]
        workload = {"source": "inline", "batches": batches}
        spec = {"scenario": "clusters", "vms": 4, "classes": classes, "workload": workload}
        world = ClustersScenario.parse(spec).start(seed=7).world
        return {
            n: (world.seconds[:, k].tolist(), world.memory_mb[:, k].tolist())
            for k, n in enumerate(names)
        }

    alone, others = drawn("ab"), drawn("cba")
    assert others["a"] == alone["a"]
    assert others["b"] == alone["b"]
    assert alone["a"] != alone["b"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("0,a,1,5,0\n0,a,3,5,0\n", "line 3: class: 'a' is a duplicate for decision 0"),
        ("0,a,1,5,0\n", "decision 0 has no row for class 'b'"),
        ("0,a,1,5,0\n0,b,3,6,0\n", "line 3: length_s: 6 is not allowed: 5, as in the first row"),
        ("0,a,1,5,0\n0,b,3,5,1\n", "line 3: evaluations: 1 is not allowed: 0, as in the first"),
    ],
)
def test_a_replay_that_contradicts_itself_is_refused(rows, words, tmp_path):
    path = tmp_path / "plans.csv"
    path.write_text("decision,class,vms,length_s,evaluations\n" + rows)
    with pytest.raises(PolicyError, match=words):
        simulate(clusters([(0, [5, 5])]), f"replay:{path}")


def test_a_run_can_be_replayed_whatever_its_classes_are_called(tmp_path):
    names = ("NaN", "1", "01", "a,b")
    one = {"kind": "gamma", "mean": 1.0, "cv": 0.4}
    spec = {
        "scenario": "clusters",
        "vms": 9,
        "classes": [{"name": name, "seconds": one, "memory_mb": one} for name in names],
        "workload": {"source": "generated", "batches": 20, "horizon_s": 200},
        "stage_s": 30,
    }
    scenario = ClustersScenario.parse(spec)
    played = simulate(scenario, "proportional", seed=1)
    pacsv.write_csv(played.tables["decisions"], tmp_path / "decisions.csv")
    replayed = simulate(scenario, f"replay:{tmp_path / 'decisions.csv'}", seed=1)
    assert replayed.tables == played.tables
    assert replayed.metrics == played.metrics


@pytest.mark.parametrize("name", ["lflc", "lfhc", "hflc", "hfhc"])
def test_the_kernels_are_those_of_the_thesis(name):
    """Section 1.5.2 names them; those that we take for memory-bound need the most memory."""
    classes = {one.name: one.memory_mb.mean for one in package.load(f"clusters/{name}").classes}
    assert set(classes) == {
        "bit-reversal", "merge-sort", "matrix-product", "integer-factorisation",
        "k-nearest-neighbours", "hash", "dynamic-programming",
    }  # fmt: skip
    assert sorted(classes, key=classes.get)[-2:] == ["dynamic-programming", "k-nearest-neighbours"]


def test_the_number_of_tasks_is_a_key():
    """Each batch and class has its part, in whole numbers."""
    batches = [{"time_s": 0, "tasks": [30, 10]}, {"time_s": 5, "tasks": [0, 5]}]
    workload = Inline(source="inline", batches=batches)
    assert workload.arrivals(0).tasks.tolist() == [[30, 10], [0, 5]]
    more = Inline(source="inline", batches=batches, total_tasks=100).arrivals(0).tasks
    assert more.tolist() == [[67, 22], [0, 11]]
    shares = {"vms": 5, "tasks": [30, 10], "seconds": [1, 2], "memory": [1, 1]}
    twice = Shares(**shares, total_tasks=80)
    assert twice.scaled_tasks == (60.0, 20.0)
    assert twice.spec_of((3, 2))["workload"]["batches"][0]["tasks"] == [60, 20]
    assert Shares(**shares).scaled_tasks == (30.0, 10.0)
