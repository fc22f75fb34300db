"""Many windows in one compiled call: the same figures as one run each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import PolicyError, SpecError
from cloudarena.scenarios.jobs import JobsScenario, WindowRuns

from .clusters import cluster, job, task

JOBS, COUNT = 60, 25


def scenario_of(**workload: Any) -> JobsScenario:
    spec = {
        "scenario": "jobs",
        "machines": [{"cpu": 64}],
        "workload": {
            "source": "lublin-feitelson", "jobs": JOBS, "processors": 64, "rate": 3, **workload,
        },
    }  # fmt: skip
    loaded: Any = cloudarena.load(spec)
    return loaded  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "policy", ["f1:backfill=strict", "linear:log_wait=-0.3", "first-fit", "predicted-area", "fcfs"]
)
def test_figures_are_those_of_single_runs(policy: str) -> None:
    firsts = [0, 7, 35, 7]
    found = WindowRuns(scenario_of(), policy, seed=2).measure(firsts, COUNT)
    for window, first in enumerate(firsts):
        alone = scenario_of(window={"first": first, "jobs": COUNT})
        metrics = cloudarena.simulate(alone, policy, 2, "none").metrics
        for name, values in found._asdict().items():
            assert values.shape == (1, len(firsts))
            # Times count from another origin: they are rounded differently.
            assert values[0, window] == pytest.approx(metrics[name], rel=1e-9)


def test_each_row_of_parameters_is_tried_on_each_window() -> None:
    runs = WindowRuns(scenario_of(), "linear")
    assert runs.parameters[:2] == ("backfill", "log_predicted")
    rows = np.tile(runs.policy.values, (3, 1))
    rows[1, runs.parameters.index("log_wait")] = -2.0
    rows[2, 0] = 1
    found = runs.measure([3, 20], COUNT, rows).bounded_slowdown_mean
    for row, policy in enumerate(("linear", "linear:log_wait=-2", "linear:backfill=strict")):
        alone = WindowRuns(scenario_of(), policy).measure([3, 20], COUNT).bounded_slowdown_mean
        assert found[row].tolist() == alone[0].tolist()
    assert len(set(found[:, 1])) > 1


def test_tasks_that_wait_for_each_other() -> None:
    rows = [
        job(
            task(3, name="a"), task(2, name="b", parents=["a"], instances=3),
            submit=k, user=k % 2,
        )
        for k in range(6)
    ]  # fmt: skip
    spec = cluster(*rows, cpu=2, record="none")
    loaded: Any = cloudarena.load(spec)
    found = WindowRuns(loaded, "ranked-sjf").measure([2, 2], 4)
    alone = cloudarena.simulate(cluster(*rows[2:], cpu=2), "ranked-sjf").metrics
    assert found.completion_mean_s.tolist() == [[alone["completion_mean_s"]] * 2]


def test_what_cannot_be_run_is_refused() -> None:
    runs = WindowRuns(scenario_of(), "f1")
    with pytest.raises(SpecError, match=r"windows of 25 jobs are not allowed .*: from 0 to 35"):
        runs.measure([36], COUNT)
    with pytest.raises(PolicyError, match="f1: 2 parameters are not allowed: backfill"):
        runs.measure([0], COUNT, [[0.0, 1.0]])
    with pytest.raises(PolicyError, match="windows need one that compiles"):
        WindowRuns(scenario_of(), "min-min")
    failing = scenario_of().model_dump() | {"failures": {"mtbf_s": 1e6, "mttr_s": 10}}
    with pytest.raises(SpecError, match="failures: is not allowed"):
        WindowRuns(cloudarena.load(failing), "f1")  # type: ignore[arg-type]
