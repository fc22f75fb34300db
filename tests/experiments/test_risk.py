"""Risk objectives and input uncertainty of studies."""

import json

import numpy as np
import pytest

from cloudarena import load
from cloudarena.base.errors import SpecError
from cloudarena.experiments.input_uncertainty import input_uncertainty, parts_of_variance
from cloudarena.experiments.optimization import Optimization
from cloudarena.experiments.optimize import optimize

from .tiny import SCENARIO, STUDY

TWO = {"spec": SCENARIO, "designs": {"policy": ["static", "step"]}}


def test_a_quantile_is_an_objective_and_its_runs_are_counted(tmp_path):
    found = optimize(TWO, "ocba", ["response_mean_s@q80"], evaluations=120, workers=1)
    said = json.loads(json.dumps(found.summary()))
    assert list(said["objectives"]) == ["response_mean_s@q80"]
    assert said["objectives"]["response_mean_s@q80"]["direction"] == "minimise"
    assert said["evaluations"] <= 120
    assert said["risk"]["runs_of_an_evaluation"] == 10
    figure = said["risk"]["figures"]["response_mean_s@q80"]
    assert figure["low"] <= figure["mean"]
    assert "means over batches of 10 runs" in said["conclusion"]
    found.save(tmp_path / "r")
    assert Optimization.load(tmp_path / "r") == found


def test_a_probability_is_a_limit():
    """A mean hides the replications in which it goes wrong."""
    found = optimize(
        TWO, objectives=["cost_usd"], where=["response_mean_s@p(<=100) >= 50%"],
        evaluations=120, workers=1,
    )  # fmt: skip
    said = found.summary()
    (limit,) = said["chosen"][0]["limits"]
    assert limit["mean"] == 1.0
    assert said["risk"]["figures"]["response_mean_s@p(<=100)"]["mean"] == 1.0


def test_what_is_wrong_is_said():
    with pytest.raises(SpecError, match=r"objectives: 'cost_usd@median' is not allowed: NAME@q90"):
        optimize(STUDY, objectives=["cost_usd@median"])
    with pytest.raises(SpecError, match=r"objectives: 'cost' is not allowed"):
        optimize(STUDY, objectives=["cost@q90"])
    with pytest.raises(SpecError, match="5 are not enough: 20 runs make a batch"):
        optimize(STUDY, "ocba", objectives=["cost_usd@q90"], evaluations=5)
    with pytest.raises(SpecError, match="input_traces: is not allowed: the scenario draws no"):
        optimize(STUDY, input_traces=5)


def test_variance_is_parted_as_it_was_made():
    rng = np.random.default_rng(3)
    values = 5.0 + 2.0 * rng.standard_normal((400, 1)) + rng.standard_normal((400, 5))
    mean, of_input, within, share, low, high = parts_of_variance(values, 0.95)
    assert mean == pytest.approx(5.0, abs=0.3)
    assert of_input == pytest.approx(4.0, rel=0.2)
    assert within == pytest.approx(1.0, rel=0.1)
    assert low < 0.8 < high
    assert low < share < high
    covered = 0
    for _ in range(400):
        small = rng.standard_normal((12, 1)) + rng.standard_normal((12, 4))
        low, high = parts_of_variance(small, 0.9)[4:]
        covered += low <= 0.5 <= high
    assert 0.86 <= covered / 400 <= 0.94
    assert np.isnan(parts_of_variance(np.ones((3, 4)), 0.95)[3])


def test_the_share_of_variance_that_comes_from_the_trace(tmp_path):
    rows = ["time_s,rate"]
    rows += [f"{600 * k},{1 + 4 * (k // 6 % 3)}" for k in range(36)]
    (tmp_path / "rates.csv").write_text("\n".join(rows) + "\n")
    arrivals = {
        "source": "series", "path": str(tmp_path / "rates.csv"), "resample": {"blocks": "hour"},
    }  # fmt: skip
    study = {**TWO, "spec": {**SCENARIO, "arrivals": arrivals}, "objectives": ["cost_usd"]}
    found = optimize(study, "ocba", evaluations=20, input_traces=8, workers=1)
    said = found.summary()["input_uncertainty"]
    assert said["traces"] == 8
    figures = said["metrics"]["cost_usd"]
    assert figures["low"] <= figures["input_share"] <= figures["high"]
    assert figures["input_share"] > 0.5  # hours differ by far more than chance within one
    assert "Input uncertainty: over 8 draws of whole hours" in found.conclusion()
    assert Optimization.restore(found.contents()).inputs.plain() == found.inputs.plain()


def test_runs_of_functions_share_the_trace_that_was_drawn(tmp_path):
    """Requests come window by window: all of the trace is given to each run, and none is used up.

    Times are constant, so nothing but the trace makes a difference.
    """
    counts = (2, 9, 30)
    rows = [f"{3600 * k + 20 * j},f" for k, count in enumerate(counts) for j in range(count)]
    (tmp_path / "log.csv").write_text("\n".join(["time_s,function", *rows]) + "\n")
    image = {"execution": {"distribution": "constant", "seconds": 5.0}, "use": {"cpu": 0.25}}
    spec = {
        "scenario": "faas", "duration_s": 3 * 3600, "devices": {"types": {"nuc": 1}},
        "trace": {
            "source": "invocations", "path": str(tmp_path / "log.csv"),
            "resample": {"blocks": "hour"},
        },
        "functions": [{"name": "f", "start_s": 0.0, "image": image}],
    }  # fmt: skip
    found = input_uncertainty(load(spec), ["energy_wh"], 3, 0.95, workers=1, runs=2)
    said = found.plain()["metrics"]["energy_wh"]
    assert said["input_variance"] > 0
    assert said["simulation_variance"] == 0
    assert said["input_share"] == 1
