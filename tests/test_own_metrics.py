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
