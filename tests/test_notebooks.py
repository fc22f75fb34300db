"""Results in a notebook: short words, a table, pandas."""

import sys
import types

import numpy as np
import pytest

import cloudarena
from cloudarena.base import plots
from cloudarena.base.html import html_table, number_text
from cloudarena.base.measures import AtLeast
from cloudarena.base.notices import notebook_bar
from cloudarena.contract.pictures import in_lanes
from cloudarena.scenarios import kinds
from tests.experiments.made import made
from tests.experiments.tiny import STUDY


def test_a_result():
    result = cloudarena.simulate("vm/toy", "first-fit")
    assert repr(result) == (
        "<Result of vm/toy under first-fit, seed 0: profit_usd 0.59, tables "
        f"{', '.join(result.tables)}>"
    )
    assert "<td>profit_usd</td><td>0.59</td>" in result._repr_html_()
    pandas = pytest.importorskip("pandas")
    assert result.to_pandas()["requests"] == 3
    assert isinstance(result.to_pandas("vms"), pandas.DataFrame)
    with pytest.raises(cloudarena.CloudarenaError, match="table: 'vm' is not allowed"):
        result.to_pandas("vm")


def test_a_comparison():
    comparison = made("a b", cost_usd=[[1.0, 2.0, 3.0], [7.0, 8.0, 9.5]])
    assert repr(comparison) == (
        f"<Comparison of a, b on fake, 3 replications: {comparison.sentences()[0]}>"
    )
    page = comparison._repr_html_()
    assert "<th>cost_usd</th>" in page
    assert "<td>2 ± 2.5</td>" in page
    pytest.importorskip("pandas")
    assert comparison.to_pandas().groupby("policy")["cost_usd"].mean()["a"] == 2


def test_what_has_no_value_is_a_dash_and_a_lower_bound_says_so():
    assert number_text(float("nan")) == "\N{EN DASH}"
    assert number_text(AtLeast(12.5)) == "> 12.5"
    assert (number_text(8097.25), number_text(8097.25, 41.3)) == ("8,097.25", "8,097.2 ± 41")
    run = cloudarena.load("clusters/toy").start()
    half = cloudarena.simulate("vm/toy", lambda decision: -1)
    assert "<td>energy_kwh_per_core_hour_served</td><td>\N{EN DASH}</td>" in half._repr_html_()
    assert "<td>makespan_s</td><td>&gt; 0</td>" in run.result()._repr_html_()
    bounded = made("a b", cost_usd=[[1.0, 2.0, 3.0], [7.0, 8.0, 9.5]])
    bounded.bounds["cost_usd"] = np.array([[False, True, False], [False] * 3])
    page = bounded._repr_html_()
    assert "<td>a</td><td>&gt; 2</td>" in page
    assert "<td>b</td><td>8.1667 ± 3.1</td>" in page


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", kinds().values(), ids=lambda kind: kind.name)
def test_a_run_that_has_not_begun_has_a_result(kind):
    result = cloudarena.load(kind.toy).start(0).result()
    assert "<table>" in result._repr_html_()
    if kind.name == "clusters":
        assert result.tables["batches"]["stage"].to_pylist() == [None, None]
        assert result.tables["stages"].num_rows == result.tables["decisions"].num_rows == 0


def test_text_is_escaped():
    assert "<td>&lt;b&gt;</td>" in html_table(["a"], [["<b>"]])


@pytest.fixture(params=["plotly", "matplotlib"])
def drawn(request, monkeypatch):
    """Titles and the numbers of what is drawn, by each of the two libraries that is there."""
    pytest.importorskip(request.param)
    if request.param == "matplotlib":
        import matplotlib as mpl

        mpl.use("Agg")
        monkeypatch.setattr(plots, "find_spec", lambda name: name if name == "matplotlib" else None)

    def title(figure):
        if request.param == "plotly":
            return figure.layout.title.text
        return figure.axes[0].get_title()

    return title


def test_pictures_of_a_comparison(drawn):
    comparison = made("a b", cost_usd=[[1.0, 2.0, 3.0], [7.0, 8.0, 9.5]])
    assert drawn(comparison.plot.metric("cost_usd")) == "cost_usd: fake"
    other = next(name for name in comparison.values if name != "cost_usd")
    assert drawn(comparison.plot.trade_off("cost_usd", other)) == "fake"
    with pytest.raises(cloudarena.CloudarenaError, match="metric: 'cost' is not allowed"):
        comparison.plot.metric("cost")


def test_pictures_of_a_run(drawn):
    result = cloudarena.simulate("vm/toy", "first-fit", record="full")
    assert drawn(result.plot.over_time("Cores in use")) == "Cores in use"
    assert drawn(result.plot.heatmap()).endswith("of machines under first-fit")
    assert drawn(result.plot.gantt()) == "vms under first-fit"
    with pytest.raises(cloudarena.CloudarenaError, match="title: 'Cores' is not allowed"):
        result.plot.over_time("Cores")


def test_without_a_library_it_is_said_which_are_needed(monkeypatch):
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    with pytest.raises(cloudarena.CloudarenaError, match=r"cloudarena\[plots\]"):
        plots.draw(plots.Picture("", "", "", []))


def test_a_bar_is_drawn_under_ipython_alone(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert notebook_bar("runs") is None
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=object))
    draw = notebook_bar("runs")
    draw(1, 2)
    draw(2, 2)
    first, second = capsys.readouterr().err.split("\r")[1:]
    assert first == f"runs {'█' * 15}{'░' * 15} 1/2"
    assert second == f"runs {'█' * 30} 2/2\n"


def test_an_optimisation(drawn):
    found = cloudarena.optimize(STUDY, "monte-carlo", evaluations=40, workers=1)
    assert repr(found) == f"<Optimization of {found.study.name}: {found.headline()}>"
    page = found._repr_html_()
    assert "<th>design</th><th>response_mean_s</th><th>cost_usd</th>" in page
    assert "<td>★</td>" in page
    assert " ± " in page
    assert (
        drawn(found.plot.designs("cost_usd"))
        == f"cost_usd of {len(found.selection.estimates.designs)} designs"
    )
    assert drawn(found.plot.trade_off()) == "cost_usd against response_mean_s"
    pytest.importorskip("pandas")
    assert len(found.to_pandas()) == found.table().num_rows


def test_what_is_at_a_place_at_once_has_lanes_of_its_own():
    assert in_lanes(["m", "m", "n", "m"], [0, 1, 1, 2], [2, 3, 2, 4]) == ["m", "m (2)", "n", "m"]
