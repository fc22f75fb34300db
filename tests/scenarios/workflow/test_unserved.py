"""What is said of a run while workflows have not finished, and names that files may have."""

from __future__ import annotations

import math

import pyarrow.csv as pacsv
import pytest

import cloudarena
from cloudarena.base.measures import AtLeast

from .clusters import chain, flow, fn, server, toy


def test_workflows_that_have_not_finished_count_with_what_they_took_so_far():
    # The first: 2 s, then 3 s. The second arrives at 1; its function is decided then.
    scenario = toy(chain(fn(2_000), fn(3_000)), flow(fn(1_000), arrival=1))
    run = scenario.start()
    metrics = run.metrics()
    assert metrics["unserved_share"] == 0.0  # before anything has arrived
    assert math.isnan(metrics["makespan_mean_s"])
    assert math.isnan(metrics["mean_cpu_utilisation"])
    run.apply((0, 1) if run.decision else None)
    assert run.now == 1.0
    metrics = run.metrics()
    assert metrics["unserved_share"] == 1.0
    assert metrics["workflows"] == 0
    assert (metrics["makespan_sum_s"], metrics["makespan_mean_s"]) == (1.0, 0.5)
    assert metrics["slowdown_mean"] == 0.5 * (1 / 5 + 0 / 1)
    assert metrics["weighted_cost"] == 0.5 * 1.0 + 0.5 * 10 * 1.5
    for name in ("makespan_sum_s", "makespan_mean_s", "makespan_p50_s", "slowdown_mean"):
        assert isinstance(metrics[name], AtLeast), name
    assert isinstance(metrics["weighted_cost"], AtLeast)
    run.apply((0, 1))
    assert run.now == 2.0  # both are done
    metrics = run.metrics()
    assert metrics["unserved_share"] == 0.5
    assert metrics["makespan_sum_s"] == 1.0 + 2.0
    run.apply((0, 1))
    metrics = run.metrics()
    assert metrics["unserved_share"] == 0.0
    assert metrics["makespan_sum_s"] == 5.0 + 1.0
    assert not any(isinstance(value, AtLeast) for value in metrics.values())


def test_unserved_share_comes_first():
    scenario = toy(flow(fn(1_000)))
    assert scenario.kind.highlights[0] == scenario.kind.metrics[0].name == "unserved_share"
    assert scenario.kind.metrics[0].better == "lower"


@pytest.mark.parametrize("names", [("007", "7"), ("1e3", "NaN"), ("true", ""), ("5", "3")])
def test_a_run_can_be_replayed_whatever_its_workflows_are_called(names, tmp_path):
    trace = tmp_path / "batch_task.csv"
    rows = [f"M1,1,{name},1,Terminated,{k + 1},{k + 9},100,1" for k, name in enumerate(names)]
    trace.write_text("\n".join(rows) + "\n")
    spec = {
        "scenario": "workflow",
        "cluster": {"servers": [server(cpu=1), server("NaN", cpu=1)]},
        "workload": {"source": "alibaba-2018", "path": str(trace)},
    }
    scenario = cloudarena.load(spec)
    seen = []

    def choose(decision):
        seen.append((decision.workflow_id, decision.function.workflow, decision.function.function))
        return len(seen) % 2, 128

    played = cloudarena.simulate(scenario, choose)
    decisions = played.tables["decisions"]
    assert [name for name, _, _ in seen] == decisions["workflow"].to_pylist()
    assert [function for _, _, function in seen] == decisions["function"].to_pylist()
    if isinstance(seen[0][0], int):
        assert [number for _, number, _ in seen] == decisions["workflow"].to_pylist()
    for table in ("decisions", "functions"):
        path = tmp_path / f"{table}.csv"
        pacsv.write_csv(played.tables[table], path)
        assert cloudarena.simulate(scenario, f"replay:{path}").tables == played.tables
