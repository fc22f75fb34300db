"""The page of one run."""

import json
import math
import re

import pyarrow as pa
import pytest

import cloudarena
from cloudarena.base.measures import AtLeast
from cloudarena.contract import Metric, Result
from cloudarena.report.page import metric_head, render
from cloudarena.report.pages.run import make_sheet
from cloudarena.report.timeline import time_charts


@pytest.fixture(scope="module")
def result():
    return cloudarena.simulate("vm/toy", "best-fit")


def test_it_has_the_answer_the_metrics_and_what_made_them(result):
    sheet = make_sheet(result)
    html = render(sheet)
    assert sheet.conclusion == "Profit: 0.59\N{NO-BREAK SPACE}$ under best-fit."
    assert sheet.reasons == ["33 % of VMs were unserved."]
    for metric in result.spec.kind.metrics:
        assert metric.label in html
        assert f'<span class="identifier">{metric.name}</span>' in html.replace("<wbr>", "")
    assert dict(sheet.facts)["Seed"] == "0"
    assert "cloudarena run vm/toy" in html
    assert sheet.files[0].text == result.spec.to_yaml()


def test_it_draws_each_plot_over_time_and_lists_each_table(result):
    sheet = make_sheet(result)
    charts = [*sheet.hero, *(chart for section in sheet.sections for chart in section.charts)]
    assert [chart.title for chart in charts] == [plot.title for plot in result.spec.kind.plots]
    assert list(charts[0].series[0].y) == result.tables["series"]["used_cores"].to_pylist()
    for name, table in result.tables.items():
        assert f"{name}.parquet" in sheet.sections[-1].table
        assert ", ".join(table.column_names) in sheet.sections[-1].table


def test_without_tables_there_is_nothing_to_draw():
    sheet = make_sheet(cloudarena.simulate("vm/toy", record="none"))
    assert sheet.hero == []
    assert [section.title for section in sheet.sections] == ["Metrics"]
    assert 'class="hero alone"' in render(sheet)


def test_a_result_that_knows_no_scenario_is_shown_by_the_names_of_its_metrics(tmp_path):
    metrics = {"waits_s": AtLeast(3.0), "energy_j": math.nan, "<b>": 1.0}
    made = Result(metrics, {"rows": pa.table({"a": [1]})}, "made", 5, "mine")
    page = made.to_html(tmp_path / "page.html").read_text()
    assert "3 metrics of mine." in page
    assert "&gt; 3" in page
    assert "<b></" not in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
    assert data == {"charts": [], "rows": []}


def test_the_command_names_changes_of_the_spec():
    scenario = cloudarena.load("vm/toy", {"oversubscription.cpu": 1.25})
    page = render(make_sheet(cloudarena.simulate(scenario, "first-fit", seed=3)))
    text = re.sub(r"</span>\s?<span>", " ", page)
    assert "--set oversubscription.cpu=1.25 --policy first-fit --seed 3" in text


def test_code_in_the_meaning_of_a_metric_is_code():
    head = metric_head(Metric("x_s", "As long as ``duration_s`` <i>.", "lower", label="X, s"))
    assert "As long as <code>duration_s</code> &lt;i&gt;." in head
    assert 'data-tip="x_s: As long as duration_s &lt;i&gt;. ↓ lower is better"' in head


def test_points_that_a_kind_names_have_their_names_beside_them():
    """Those without a value are left out; the page writes the name of a series beside its point."""
    table = pa.table(
        {
            "device": ["nx", "coral", "idle"],
            "executed": [3, 1, 0],
            "j_per_execution": [9.0, 2.0, None],
        }
    )
    chart = time_charts(cloudarena.load("faas/toy"), {"spec": {"devices": table}})[-1]
    assert chart.title == "Joules for an execution, by device"
    points = [(one.name, list(one.x), list(one.y), one.kind) for one in chart.series]
    assert points == [("nx", [3.0], [9.0], "named"), ("coral", [1.0], [2.0], "named")]
