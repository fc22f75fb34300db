"""Metrics of users: measured, compared and judged like those of the kind."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError

FILE = """
import cloudarena

@cloudarena.metric(better="lower", highlight=True)
def busy_machines(run) -> float:
    "Machines that hold a VM."
    return int((run.world.machines.vms > 0).sum())

plain = 3
"""


@cloudarena.metric(better="higher", highlight=True)
def most_vms(run) -> float:
    """The most VMs that a machine holds now."""
    return int(run.world.machines.vms.max())


def test_a_metric_of_ones_own_stands_beside_the_others() -> None:
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 40})
    measured = scenario.measuring(most_vms)
    result = cloudarena.simulate(measured, "first-fit")
    assert result.metrics["most_vms"] >= 1
    others = {name: value for name, value in result.metrics.items() if name != "most_vms"}
    assert others == cloudarena.simulate(scenario, "first-fit").metrics
    assert "most_vms" not in scenario.kind.metric
    assert pickle.loads(pickle.dumps(measured)).kind.metric["most_vms"] is most_vms


def test_it_is_compared_the_same_on_any_number_of_workers() -> None:
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 40}).measuring(most_vms)
    one, two = (
        cloudarena.compare(scenario, ["first-fit", "worst-fit"], 3, workers=workers)
        for workers in (1, 2)
    )
    assert one.values["most_vms"].tolist() == two.values["most_vms"].tolist()
    assert one.winner(most_vms) == "first-fit"


def test_a_name_of_the_kind_and_what_is_no_metric_are_refused() -> None:
    scenario = cloudarena.load("vm/toy")
    with pytest.raises(CloudarenaError, match="'profit_usd' is not allowed: vm has one"):
        scenario.measuring(scenario.kind.metric["profit_usd"])
    with pytest.raises(CloudarenaError, match="a function under @cloudarena"):
        scenario.measuring(lambda run: 1.0)  # type: ignore[arg-type]


def test_the_command_line_takes_one_from_a_file(cloudarena, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    words = ("compare", "vm/toy", "--policies", "best-fit,first-fit", "--replications", "2")
    code, out, _ = cloudarena(*words, "--metric", f"{file}:busy_machines", "--json")
    assert code == 0
    assert "busy_machines" in json.dumps(json.loads(out))
    for name, why in (
        (f"{file}:plain", "metric 3 is not allowed"),
        (f"{file}:nothing", "has no 'nothing'"),
        ("mine", "FILE.py:NAME"),
    ):
        code, _, error = cloudarena(*words, "--metric", name)
        assert code == 2
        assert why in error
        assert len(error.splitlines()) == 1


def test_what_is_saved_knows_it_again(tmp_path: Path) -> None:
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 40}).measuring(most_vms)
    comparison = cloudarena.compare(scenario, ["first-fit", "worst-fit"], 2, workers=1)
    result = cloudarena.simulate(scenario, "first-fit")
    for saved in (comparison, result):
        loaded = type(saved).load(saved.save(tmp_path / saved.stored_as))
        assert loaded == saved
    again = cloudarena.Comparison.load(tmp_path / "comparison")
    assert again.winner(again.scenario.kind.metric["most_vms"]) == comparison.winner(most_vms)
    assert again.values["most_vms"].tolist() == comparison.values["most_vms"].tolist()


STUDY = {
    "spec": "vm/azure-like-10k",
    "designs": {"policy": "first-fit", "machines[0].count": [60, 100]},
}


def test_optimize_measures_it_where_a_design_changes_the_spec(tmp_path: Path) -> None:
    """Such a design loads the scenario anew."""
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 40})
    found = cloudarena.optimize(
        STUDY,
        "monte-carlo",
        ["most_vms"],
        4,
        overrides={"ticks": 40},
        workers=1,
        metrics=[most_vms],
    )
    mean = {row["text"]: row["most_vms"] for row in found.table().to_pylist()}
    for text, value in mean.items():
        count = int(text.split("=")[-1])
        seen = [
            cloudarena.simulate(
                cloudarena.load(
                    "vm/azure-like-10k", {"ticks": 40, "machines[0].count": count}
                ).measuring(most_vms),
                "first-fit",
                seed=seed,
            ).metrics["most_vms"]
            for seed in (0, 1)
        ]
        assert value == sum(seen) / 2
    assert len(mean) == 2
    assert cloudarena.Optimization.load(found.save(tmp_path)) == found
    policies = cloudarena.optimize(
        scenario.measuring(most_vms), "monte-carlo", ["most_vms"], 100, workers=1
    )
    assert policies.selection.objectives[0].direction == "maximise"


def test_optimize_takes_one_from_a_file_and_a_study_names_its_own(cloudarena, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    lines = ["spec: vm/toy", "designs: {policy: first-fit, ticks: [3, 4]}"]
    (tmp_path / "study.yaml").write_text("\n".join([*lines, "metrics: [mine.py:busy_machines]"]))
    (tmp_path / "plain.yaml").write_text("\n".join(lines))
    words = ("--objectives", "busy_machines", "--evaluations", "4", "--method", "monte-carlo")
    given = ("--metric", f"{tmp_path}/mine.py:busy_machines")
    out = tmp_path / "out"
    for study, more in (("study.yaml", ()), ("plain.yaml", given)):
        code, _, error = cloudarena(
            "optimize", str(tmp_path / study), *words, *more, "--out", str(out)
        )
        assert code == 0, error
        assert f"{tmp_path}/mine.py:busy_machines" in (out / "spec.yaml").read_text()
    code, _, error = cloudarena("optimize", str(out / "spec.yaml"), *words[2:])
    assert code == 0, error
    code, _, error = cloudarena("optimize", "clusters/ligo-20", *given)
    assert code == 2
    assert "a model measures nothing else" in error
    assert len(error.splitlines()) == 1


def test_a_policy_learns_by_it(tmp_path: Path) -> None:
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 20}).measuring(most_vms)
    training = cloudarena.train(
        scenario, reward="most_vms", steps=16, replications=2, options={"population": 8}
    )
    assert training.reward.name == "most_vms"
    assert "most_vms" in training.comparison.values
    assert cloudarena.Training.load(training.save(tmp_path / "learned")) == training


@cloudarena.metric(better="lower")
def endless(run) -> float:
    """Infinite in every second run: a mean of it says nothing."""
    return float("inf") if run.seed % 2 else 1.0


@cloudarena.metric(better="lower")
def wordy(run) -> float:
    """No number."""
    return "x"  # type: ignore[return-value]


@cloudarena.metric(better="lower")
def faulty(run) -> float:
    """Raises."""
    return 1.0 / (run.seed - run.seed)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (endless, r"metric endless \(.*test_own_metrics.py:\d+\): inf is not allowed: a finite"),
        (wordy, r"metric wordy \(.*test_own_metrics.py:\d+\): 'x' is not allowed: a finite number"),
        (faulty, r"metric faulty \(.*test_own_metrics.py:\d+\): ZeroDivisionError: "),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_what_is_no_finite_number_is_told_in_one_line(metric, words) -> None:
    scenario = cloudarena.load("vm/toy").measuring(metric)
    with pytest.raises(CloudarenaError, match=words):
        cloudarena.compare(
            scenario, ["first-fit", "best-fit"], replications=4, workers=1, by=metric.name
        )
