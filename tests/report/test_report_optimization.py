"""Charts of optimisation from plain arrays, and the pages that show them."""

import json
import re

import numpy as np
import pytest

import cloudarena
from cloudarena.experiments.optimize import optimize
from cloudarena.optimizers.ordinal.order_curve import OrderCurve
from cloudarena.report.charts import (
    MOST_POINTS,
    Chart,
    Series,
    allocation_chart,
    cost_chart,
    front_chart,
    order_chart,
    reduction_charts,
)
from cloudarena.report.page import File, Rows, Section, Sheet, html_table, render
from cloudarena.report.pages.optimization import make_sheet
from cloudarena.report.terminal.optimization import optimization_tables
from cloudarena.report.timeline import time_charts

NASTY = "</script><img src=x>&\"'"


def without_scripts(html):
    return re.sub(r"<script>.*?</script>", "", html, flags=re.S)


def test_the_front_is_drawn_in_order_with_its_layers():
    means = np.array([[1.0, 5.0], [3.0, 1.0], [4.0, 6.0], [5.0, 7.0], [6.0, 8.0]])
    chart = front_chart(["a", "b"], means, [0, 0, 1, 2, 3], means[[1, 0]], means[0])
    names = [series.name for series in chart.series]
    assert names == ["other layers", "layer 3", "layer 2", "layer 1", "front", "chosen"]
    assert list(chart.series[4].x) == [1.0, 3.0]
    many = np.random.default_rng(0).random((50_000, 2))
    large = front_chart(["a", "b"], many, np.full(50_000, 9), many[:1], many[0])
    assert len(large.series[0].x) <= MOST_POINTS


def test_a_front_over_several_orders_of_magnitude_is_logarithmic():
    means = np.array([[1.0, 5.0], [3.0, 100.1]])
    chart = front_chart(["a", "b"], means, [0, 0], means, means[0])
    assert (chart.x_log, chart.y_log) == (False, True)
    below = front_chart(["a", "b"], -means, [0, 0], -means, -means[0])
    assert not below.y_log


def test_the_cost_of_a_claim_rises_with_the_selected():
    chart = cost_chart([("los", 500, 0.9), ("nsga2", 500, float("nan"))], [4, 2, 2, 8], 100, 10)
    curve, point = chart.series
    assert list(curve.x) == [100, 120, 140, 180]
    assert list(curve.y) == [0, 2 / 5, 3 / 5, 4 / 5]
    assert (point.name, point.x, point.y) == ("los", [500], [0.9])


def test_allocations_show_who_gets_the_most():
    rounds = np.cumsum(np.tile(np.arange(10), (4, 1)), axis=0)
    chart = allocation_chart(rounds)
    assert chart.series[0].name == "design 9"
    assert chart.series[-1].name == "mean of the others"
    assert list(chart.series[-1].y) == [1.5, 3.0, 4.5, 6.0]


def test_similarity_has_a_line_where_a_stage_begins():
    """The timeline of a run with eLOS: how alike batches are, and the stages made of that."""
    scenario = cloudarena.load("clusters/hfhc", {"vms": 9})
    run = cloudarena.simulate(scenario, "elos:rough=2:selected=5:replications=20")
    chart = time_charts(scenario, {run.policy: run.tables})[-1]
    assert chart.title == "Similarity of a batch to the one before, and where stages begin"
    begins = np.array(run.tables["stages"]["begin_s"])
    assert len(begins) > 2
    assert list(chart.series[0].marks) == pytest.approx(begins / 60, abs=0.01)  # minutes
    assert list(chart.series[0].y) == pytest.approx(run.tables["batches"]["similarity"], abs=1e-5)


def test_reductions_have_three_curves():
    charts = reduction_charts([0.5, 0.2], [3.0, 5.0], [0.4, 0.97], kept=2)
    assert [chart.title for chart in charts] == ["Residual", "Information", "Alignment probability"]
    assert all(list(chart.series[1].x) == [2.0] for chart in charts)


def test_values_that_are_no_numbers_are_null():
    chart = Chart("", "", "", "", [Series("", [0.0, 1.0], [float("nan"), 0.123456789])])
    assert chart.plain()["series"][0]["y"] == [None, 0.123457]


def test_words_of_users_stay_words():
    chart = order_chart(OrderCurve(np.array([0.0, 1.0]), np.array([0.0, 1.0])), NASTY)
    section = Section(NASTY, NASTY, [chart], html_table(["a", NASTY], [[NASTY, NASTY]]))
    sheet = Sheet(
        "optimization",
        NASTY,
        NASTY,
        NASTY,
        [NASTY],
        [("x", "y")],
        [],
        [section],
        [NASTY],
        files=[File("a.yaml", NASTY, NASTY)],
        rows=[Rows(NASTY, NASTY, {NASTY: [NASTY]}, {})],
        reasons=[NASTY],
    )
    html = render(sheet)
    assert "<img" not in without_scripts(html)
    assert html.count("</script>") == 3


def test_only_bold_and_code_are_markup_in_the_guide():
    guide = ["<b>a</b> <code>b</code> <i>c</i> <b onclick=x>"]
    html = render(Sheet("run", "", "", "", [], [], [], [], guide))
    assert "<li><b>a</b> <code>b</code> &lt;i&gt;c&lt;/i&gt; &lt;b onclick=x&gt;</li>" in html


@pytest.fixture(scope="module")
def found():
    study = {"shares": {"vms": 9, "variation": 0.5}}
    return optimize(study, "los", evaluations=2000, compare=["mocba", "monte-carlo"])


def test_the_page_has_the_charts_the_designs_and_the_answer(found):
    html = render(make_sheet(found))
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.S).group(1))
    titles = [chart["title"] for chart in data["charts"]]
    assert titles == [
        "Front and layers",
        "Cost against alignment",
        "Order-performance curve",
        "Allocation over rounds",
        "Allocation over rounds",
    ]
    assert f"Take {found.winner}" in html
    assert "Methods compared" in html
    assert "://" not in without_scripts(html)
    assert html == render(make_sheet(found))


def test_the_winner_is_drawn_over_time():
    study = {"spec": "clusters/hfhc", "designs": {"policy": ["equal", "greedy"]}}
    tried = optimize(study, "monte-carlo", evaluations=4, workers=1)
    titles = [chart.title for chart in make_sheet(tried).sections[-2].charts]
    assert titles == [plot.title for plot in tried.winning_scenario.kind.plots]


def test_a_single_objective_has_no_front_to_draw(found):
    one = optimize({"spec": "vm/toy", "designs": {"policy": ["first-fit", "best-fit"]}},
               "monte-carlo", evaluations=4, workers=1)  # fmt: skip
    titles = [chart.title for chart in make_sheet(one).hero]
    assert titles == ["The best designs"]
    _, _, remark, _ = optimization_tables(one)
    assert str(remark).startswith("No replication of any design")  # one trace: nothing varies


def test_a_run_is_drawn_by_tier_and_beside_its_prediction():
    """Only the page of one run: lines of several policies would be too many."""
    scenario = cloudarena.load("tiers/toy")
    tables = cloudarena.simulate(scenario, "static").tables
    alone = {chart.title: chart for chart in time_charts(scenario, {"static": tables})}
    tiers = [tier.name for tier in scenario.tiers]
    assert [one.name for one in alone["Fat VMs by tier"].series] == tiers
    assert alone["Fat VMs by tier"].has_legend
    names = [one.name for one in alone["Mean response time"].series]
    assert names == ["Response mean", "Response predicted"]
    both = {c.title: c for c in time_charts(scenario, {"a": tables, "b": tables})}
    assert "Fat VMs by tier" not in both
    assert [one.name for one in both["Mean response time"].series] == ["a", "b"]


def test_the_page_says_labels_where_people_read_and_identifiers_where_they_copy():
    study = {"spec": "tiers/toy", "designs": {"policy": ["static", "step"]}}
    names = ["cost_usd", "response_mean_s"]
    tried = optimize(study, "monte-carlo", names, evaluations=8, workers=1)
    sheet = make_sheet(tried)
    read = " ".join([sheet.conclusion, *sheet.reasons, *sheet.notes])
    assert "cost $" in read.replace("\N{NO-BREAK SPACE}", " ")
    assert not [name for name in names if name in read]
    assert "<code>cost_usd</code>" in dict(sheet.facts)["Objectives"]
