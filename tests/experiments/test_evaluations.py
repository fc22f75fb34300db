"""Studies live in a store: every evaluation is a row, and who was killed goes on."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

import cloudarena
from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.experiments.ask_tell import AskTell
from cloudarena.experiments.optimize import optimize
from cloudarena.optimizers import FunctionProblem, ocba

from .tiny import SCENARIO, STUDY


def summary(found) -> str:
    return json.dumps(found.summary())


def test_a_study_in_a_store_chooses_as_one_without_and_runs_nothing_twice(tmp_path, monkeypatch):
    plain = optimize(STUDY, "los", evaluations=60, workers=1)
    kept = optimize(STUDY, "los", evaluations=60, workers=1, store=tmp_path / "s")
    assert summary(kept) == summary(plain)
    rows = cloudarena.open_results(tmp_path / "s").arrow().to_pylist()
    assert len(rows) == len({row["key"] for row in rows}) > 0
    one = rows[0]
    scenario = cloudarena.load({**SCENARIO, "boot_s": one["boot_s"]})
    metrics = cloudarena.simulate(scenario, one["policy"], one["seed"]).metrics
    assert one["cost_usd"] == metrics["cost_usd"]
    assert one["response_p95_s"] == metrics["response_p95_s"]

    def refuse(*_):
        raise AssertionError("it was run again")

    monkeypatch.setattr("cloudarena.experiments.scenario_problem.played", refuse)
    again = optimize(STUDY, "los", evaluations=60, workers=1, store=tmp_path / "s")
    assert summary(again) == summary(plain)


def test_other_objectives_and_more_evaluations_take_what_is_there(tmp_path):
    optimize(STUDY, "monte-carlo", evaluations=20, workers=1, store=tmp_path / "s")
    before = len(cloudarena.open_results(tmp_path / "s"))
    assert before == 20
    options = {"objectives": ["total_cost_usd"], "evaluations": 40, "workers": 1}
    kept = optimize(STUDY, "monte-carlo", store=tmp_path / "s", **options)
    assert summary(kept) == summary(optimize(STUDY, "monte-carlo", **options))
    assert len(cloudarena.open_results(tmp_path / "s")) == 40


def test_work_left_undone_counts_as_it_does_in_a_run(tmp_path):
    """The row has the metric, and beside it what optimisers compare."""
    flood = {**SCENARIO, "arrivals": {"source": "constant", "rate": 60}}
    study = {"spec": flood, "designs": {"policy": ["static", "step"]}, "objectives": ["cost_usd"]}
    options = {"evaluations": 8, "workers": 1}
    first = optimize(study, "monte-carlo", store=tmp_path, **options)
    again = optimize(study, "monte-carlo", store=tmp_path, **options)
    plain = optimize(study, "monte-carlo", **options)
    assert summary(first) == summary(again) == summary(plain)


def test_a_changed_spec_is_run_anew(tmp_path):
    optimize(STUDY, "monte-carlo", evaluations=20, workers=1, store=tmp_path)
    optimize(
        STUDY,
        "monte-carlo",
        evaluations=20,
        workers=1,
        store=tmp_path,
        overrides=["duration_s=300"],
    )
    assert len(cloudarena.open_results(tmp_path)) == 40


def test_a_model_keeps_no_rows(tmp_path):
    with pytest.raises(SpecError, match=r"store: .* a model is computed, nothing is run"):
        optimize("clusters/ligo-20", store=tmp_path / "s")


def test_a_study_that_is_killed_goes_on_and_ends_with_the_same_choice(tmp_path: Path):
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY))
    words = ["study.yaml", "--method", "ocba", "--objectives", "total_cost_usd"]
    words += ["--evaluations", "20000", "--workers", "1", "--store", "s"]
    process = subprocess.Popen(
        [sys.executable, "-m", "cloudarena", "optimize", *words], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while process.poll() is None and _rows(tmp_path / "s") < 20:
            time.sleep(0.01)
        assert process.poll() is None, "it ended before it was killed"
    finally:
        process.kill()
        process.wait()
    done = _rows(tmp_path / "s")
    assert done >= 20
    options = {"objectives": ["total_cost_usd"], "evaluations": 200, "workers": 1}
    study = str(tmp_path / "study.yaml")
    went_on = optimize(study, "ocba", store=tmp_path / "s", **options)
    assert summary(went_on) == summary(optimize(study, "ocba", **options))


def _rows(store: Path) -> int:
    try:
        return len(cloudarena.open_results(store))
    except CloudarenaError:
        return 0


def test_out_keeps_a_store_beside_the_results(cloudarena, tmp_path):
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY))
    words = ("optimize", tmp_path / "study.yaml", "--evaluations", 40, "--workers", 1)
    assert cloudarena(*words, "--out", tmp_path / "r")[0] == 0
    code, out, _ = cloudarena("results", tmp_path / "r" / "store", "--json")
    assert code == 0
    assert json.loads(out)["done"] > 0


def experiment(design, rng):
    return (design["x"] - 0.3) ** 2 + 0.01 * rng.standard_normal()


def test_ask_and_tell_choose_as_the_method_does(tmp_path):
    grid = {"x": {"from": 0, "to": 1, "steps": 11}}
    whole = FunctionProblem(experiment, [{"x": k / 10} for k in range(11)], seed=3)
    wanted = ocba(whole, evaluations=60, first=3)
    study = AskTell(grid, evaluations=60, method="ocba", first=3, store=tmp_path / "s")
    told = 0
    while asked := study.ask():
        for one in reversed(asked):
            value = whole.evaluate([one.number], [one.replication])[0, 0, 0]
            study.tell(one, value)
            told += 1
    assert study.winner == {"x": wanted.best / 10}
    assert study.selection.estimates.mean.tolist() == wanted.estimates.mean.tolist()
    assert len(cloudarena.open_results(tmp_path / "s")) == told <= 60
    again = AskTell(grid, evaluations=60, method="ocba", first=3, store=tmp_path / "s")
    assert again.ask() == []
    assert again.winner == study.winner


def test_ask_and_tell_go_on_with_more_evaluations_on_a_continuous_key(tmp_path):
    options = {"designs": {"x": {"from": 0, "to": 1}}, "method": "gp", "seed": 1}
    with AskTell(evaluations=30, store=tmp_path / "s", **options) as stopped:
        for one in stopped.ask():
            stopped.tell(one, experiment(one.design, np.random.default_rng(one.seed)))
        kept = len(stopped.ask())
    assert kept > 0
    chosen = []
    for store in (tmp_path / "s", None):
        study = AskTell(evaluations=40, store=store, **options)
        while asked := study.ask():
            for one in asked:
                study.tell(one, experiment(one.design, np.random.default_rng(one.seed)))
        chosen.append(study.winner)
    assert chosen[0] == chosen[1]
    assert abs(chosen[0]["x"] - 0.3) < 0.2


def test_what_was_not_asked_is_not_told():
    study = AskTell([1, 2, 3], evaluations=9, method="monte-carlo", replications=3)
    (first, *_) = study.ask()
    with pytest.raises(SpecError, match="tell: nan is not allowed: a finite number for each of"):
        study.tell(first, float("nan"))
    with pytest.raises(SpecError, match="replication 7 of design 0 is not allowed"):
        study.tell(first._replace(replication=7), 1.0)
    with pytest.raises(CloudarenaError, match="winner: is not known before"):
        _ = study.winner


def test_an_error_of_the_method_reaches_who_asks():
    study = AskTell([1, 2, 3], evaluations=2, method="ocba", first=5)
    with pytest.raises(SpecError, match="evaluations"):
        study.ask()
