"""Which designs were tried, which keys matter, and what the page shows of them."""

import numpy as np
import pytest

from cloudarena.experiments.optimization import Optimization
from cloudarena.experiments.optimize import optimize
from cloudarena.experiments.tried import classes_of, importances
from cloudarena.report.page import render
from cloudarena.report.pages.optimization import make_sheet

from .tiny import SCENARIO, STUDY

LIMITED = {
    "spec": SCENARIO,
    "designs": {
        "policy": "utilisation",
        "utilisation.high": {"from": 0.7, "to": 0.95, "steps": 4},
        "utilisation.low": [0.2, 0.3, 0.5],
    },
    "objectives": ["cost_usd"],
    "where": ["response_mean_s <= 1.5"],
}


def test_importance_is_the_share_of_the_variance():
    rng = np.random.default_rng(0)
    designs = [{"a": a, "b": b, "c": "same"} for a, b in rng.random((3000, 2)).tolist()]
    losses = np.array([3.0 * one["a"] + one["b"] for one in designs])
    first, second = importances(designs, losses)
    assert (first.key, second.key) == ("a", "b")
    assert first.share == pytest.approx(0.9, abs=0.03)
    assert second.share == pytest.approx(0.1, abs=0.03)


def test_keys_that_go_together_do_not_count_twice():
    """A search tries what is good, so keys are not independent there."""
    rng = np.random.default_rng(1)
    a = rng.random(2000)
    b = np.clip(a + 0.3 * rng.standard_normal(2000), 0, 1)
    designs = [{"a": x, "b": y} for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    found = {one.key: one.share for one in importances(designs, a)}
    assert found["a"] > 0.8
    assert found["b"] < 0.05


def test_classes():
    assert classes_of(["x", None, "x"]).tolist() == [0, 1, 0]
    many = classes_of([*np.linspace(0, 1, 16).tolist(), None])
    assert many.tolist() == [k // 2 for k in range(16)] + [8]


def test_the_page_has_designs_first_and_theory_folded():
    found = optimize(LIMITED, "ocba-co", evaluations=240, workers=1)
    sheet = make_sheet(found)
    titles = [section.title for section in sheet.sections]
    assert titles[:2] == ["Designs on the front", "Parameters"]
    assert titles[-1] == "Theory: cost, order and allocation"
    assert sheet.sections[-1].is_folded
    charts = {chart.title: chart for chart in sheet.sections[1].charts}
    assert next(iter(charts)) == "Importance"
    assert {"utilisation.high", "utilisation.low", "Parallel coordinates"} <= set(charts)
    region = charts["Feasible region"]
    assert {one.name for one in region.series} <= {
        "keeps all limits", "breaks a limit", "designs", "chosen",
    }  # fmt: skip
    points = sum(len(one.x) for one in region.series if one.kind != "star")
    assert points == 12
    assert len(charts["Parallel coordinates"].x_words) == 3
    assert sheet.hero[0].title == "The best designs"
    assert sheet.hero[0].rows[0].prefix == "★ "
    html = render(sheet)
    assert html == render(make_sheet(Optimization.restore(found.contents())))
    assert '<details class="card section">' in html
    assert set(found.summary()["importance"]) == {"utilisation.high", "utilisation.low"}


def test_keys_of_words_and_of_one_policy_alone_are_drawn_too():
    found = optimize(STUDY, "los", evaluations=80, workers=1)
    section = make_sheet(found).sections[1]
    assert section.title == "Parameters"
    names = next(c for c in section.charts if c.title == "Parallel coordinates").x_words
    assert {"high", "low", "boot_s"} == set(names[:-1])  # those of the policy that was chosen
    assert "policy" in found.summary()["importance"]
    render(make_sheet(found))
