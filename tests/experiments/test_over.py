"""One comparison for each value of a key."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.experiments.over import Over, parse_over
from tests.experiments.made import made

ARGUMENTS = ["compare", "faas/toy", "--policies", "first-fit,highest-performance"]
ARGUMENTS += ["--replications", "2", "--workers", "1"]
TABLES = "power.devices.xeoncpu.cpu_w=100,10"
"""In the toy the second machine takes half the time: at a tenth of the power it needs less."""


def test_the_ranking_depends_on_the_table(tmp_path, cloudarena):
    key = ["--over", TABLES, "--by", "energy_j_per_invocation"]
    _, plain, _ = cloudarena(*ARGUMENTS, *key, "--json", "--out", tmp_path / "out")
    found = json.loads(plain)
    assert found["ranks"]["100"] == {"first-fit": 1.0, "highest-performance": 2.0}
    assert found["ranks"]["10"] == {"first-fit": 2.0, "highest-performance": 1.0}
    assert found["agreement"] == {"100": 1.0, "10": -1.0}
    assert "depends on power.devices.xeoncpu.cpu_w" in found["conclusion"]
    assert (tmp_path / "out" / "10" / "report.html").is_file()
    _, shown, _ = cloudarena(*ARGUMENTS, *key)
    assert "The answer depends on power.devices.xeoncpu.cpu_w" in shown
    assert "first-fit under 100; highest-performance under 10" in " ".join(shown.split())


def test_the_ranking_does_not_depend_on_it(cloudarena):
    key = ["--over", "power.table=study,document", "--by", "response_mean_s"]
    _, shown, _ = cloudarena(*ARGUMENTS, *key)
    shown = shown.replace("\n", " ")
    assert "The answer does not depend on power.table: highest-performance leads" in shown


def test_a_pair_that_is_told_apart_under_one_value_only_is_no_dependence():
    noise = np.random.default_rng(1).normal(0.0, 1.0, (2, 8))
    close = made("a b", cost_usd=[10 + noise[0], 10.1 + noise[1]], response_s=np.ones((2, 8)))
    apart = made("a b", cost_usd=[10 + 0.01 * noise[0], 12 + 0.01 * noise[1]])
    said = Over("load", {"low": close, "high": apart}).conclusion()
    assert said.startswith("Nothing shows that the answer depends on load: a is among the best")
    assert "a and b under low; a under high" in said
    turned = made("a b", cost_usd=[14 + 0.01 * noise[0], 12 + 0.01 * noise[1]])
    said = Over("load", {"low": apart, "high": turned}).conclusion()
    assert said.startswith("The answer depends on load. The best by cost_usd")


@pytest.mark.parametrize("text", ["power.table", "power.table=study", "a=1,1", "=1,2", "a=1,,2"])
def test_what_is_no_list_of_values_is_refused(text):
    with pytest.raises(SpecError, match="--over"):
        parse_over(text)


def test_values_may_be_lists_and_mappings():
    assert parse_over("a=[1,2],{b: 3, c: 4},5") == (
        "a",
        [("[1,2]", [1, 2]), ("{b: 3, c: 4}", {"b": 3, "c": 4}), ("5", 5)],
    )
