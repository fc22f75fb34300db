import dataclasses
import json
import re
import shlex
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
import yaml

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.report.numbers import UNKNOWN
from cloudarena.report.page import ECHARTS, render
from cloudarena.report.pages.comparison import make_sheet, ranked
from cloudarena.report.reproduce import compare_again
from cloudarena.report.spoken import spoken
from cloudarena.report.terminal.comparison import difference_text, mean_text
from cloudarena.report.timeline import MAX_POINTS, thin, time_charts


def rendered(comparison):
    return render(make_sheet(comparison))


def said(comparison):
    """What a comparison says, as its page says it."""
    return spoken(comparison.conclusion(), comparison.scenario.kind.metric)


NASTY = "</script><img src=x onerror=alert(1)>&\"'<!--"


class Page(HTMLParser):
    """The elements of a page, its text, and what its data element holds."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.words, self.scripts, self.styles = [], [], [], []
        self._inside = None
        self.feed(html.replace("<wbr>", ""))  # a place where a word may break is within it
        self.text = " ".join(" ".join(self.words).split())
        self.data = json.loads(self.scripts[0])

    def dots(self, metric, differences=False):
        """The rows of the chart of a metric's means, or of its differences; one or none."""
        for chart in self.data["charts"]:
            named = chart["type"] == "dots" and chart["metric"] == metric
            if named and chart["has_zero"] == differences:
                return chart["rows"]
        return None

    def column(self, name):
        """A metric in every replication, an array of (policies, replications)."""
        rows = self.data["rows"][0]
        values = rows["columns"][rows["heads"].index(name)]
        policies = len(dict.fromkeys(rows["columns"][0]))
        return np.array(values, object).reshape(policies, -1).tolist()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        holders = {"script": self.scripts, "style": self.styles}
        holders.get(self._inside, self.words).append(data)


@pytest.fixture(scope="module")
def comparison(made):
    return made()


@pytest.fixture(scope="module")
def page(comparison):
    return Page(rendered(comparison))


def test_the_page_says_what_was_run_and_what_came_out(page, comparison):
    assert said(comparison) in page.text
    assert comparison.scenario.name in page.text
    assert comparison.scenario.description in page.text
    assert cloudarena.__version__ in page.text
    assert "seeds 3 to 6" in page.text
    for policy in comparison.policies:
        assert policy in page.text
    for metric in comparison.scenario.kind.metrics:
        assert metric.label in page.text
        assert metric.name in page.text
        assert metric.description in page.text


def test_every_highlight_and_energy_and_failures_have_charts(page, comparison):
    kind = comparison.scenario.kind
    charts = [(one["type"], one.get("metric"), one.get("has_zero")) for one in page.data["charts"]]
    frames = [a for _, a in page.elements if "data-chart" in a]
    assert [int(frame["data-chart"]) for frame in frames] == list(range(len(charts)))
    for name in (*kind.highlights, "failed", "energy_kwh_per_core_hour_served"):
        assert charts.count(("dots", name, False)) == 1
        assert charts.count(("dots", name, True)) == 1
        assert [frame.get("data-metric") for frame in frames].count(name) == 2
    over_time = [one["title"] for one in page.data["charts"] if one.get("over_time")]
    assert over_time == [plot.title for plot in kind.plots]


def test_metrics_are_called_by_their_labels_with_their_names_in_small_print(page, comparison):
    profit = comparison.scenario.kind.metric["profit_usd"]
    assert profit.label == "Profit, $"
    titles = {chart["metric"]: chart["title"] for chart in page.data["charts"] if "rows" in chart}
    assert titles["failed"] == "Failed"
    tips = [a["data-tip"] for _, a in page.elements if "data-tip" in a]
    assert any(tip.startswith(f"profit_usd: {profit.description[:-1]}") for tip in tips)
    small = rendered(comparison)
    assert '<span class="identifier">profit_usd</span>' in small


def test_a_browser_loads_nothing(page):
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "video", "audio")
        assert not {"src", "href", "srcset", "action", "background"} & set(attributes)
    assert not re.search(r"url\(|@import", "".join(page.styles))
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    own = files("cloudarena.report").joinpath("page.js").read_text()
    assert "http" not in own
    addresses = set(
        re.findall(r"https?://[\w./-]+", files("cloudarena.report").joinpath(ECHARTS).read_text())
    )
    assert addresses <= {
        "http://www.apache.org/licenses/LICENSE-2.0",
        "https://github.com/ecomfe/zrender/blob/master/LICENSE",
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/2000/xmlns/",
        "http://www.w3.org/XML/1998/namespace",
    }


def test_the_numbers_on_the_page_are_those_of_the_comparison(page, comparison):
    for name, rows in comparison.values.items():
        assert (np.array(page.column(name)) == rows).all()
    assert page.data["rows"][0]["columns"][2] == [3, 4, 5, 6] * len(comparison.policies)
    for metric in comparison.scenario.kind.metrics:
        for policy in comparison.policies:
            assert squeezed(mean_text(comparison, policy, metric)) in page.text
        for policy in comparison.policies[1:]:
            assert squeezed(difference_text(comparison, policy, metric)) in page.text
    drawn = 0
    for metric in comparison.scenario.kind.metrics:
        for differences in (False, True):
            rows = page.dots(metric.name, differences)
            first = 1 if differences else 0
            if rows is None:
                assert not metric.highlight
                continue
            drawn += 1
            for policy, found in zip(comparison.policies[first:], rows, strict=True):
                measured = comparison.difference if differences else comparison.estimate
                assert tuple(found["estimate"]) == measured(policy, metric.name)
                if differences:
                    assert found["note"] == comparison.verdict(policy, metric)
                else:
                    values = comparison.values[metric.name]
                    assert found["points"] == values[comparison.policies.index(policy)].tolist()
    assert drawn == 2 * len(comparison.scenario.kind.highlights)


def squeezed(text):
    return " ".join(text.split())


def test_the_same_comparison_gives_the_same_bytes(made, tmp_path):
    first = made().to_html(tmp_path / "a.html").read_bytes()
    assert made().to_html(tmp_path / "b.html").read_bytes() == first


def test_special_characters_stay_text(made):
    scenario = cloudarena.load("vm/azure-like-10k", {"description": NASTY})
    comparison = made((NASTY, "b", "c"), scenario=scenario)
    html = rendered(comparison)
    assert "<img src=x" not in html
    page = Page(html)
    assert page.dots("profit_usd")[0]["name"] == NASTY
    assert NASTY in page.text
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 3
    assert said(comparison) in page.text


def test_one_replication_has_no_intervals(made):
    html = rendered(made(replications=1))
    page = Page(html)
    assert "One replication has no confidence interval" in page.text
    assert page.dots("profit_usd")[0]["estimate"][1:] == [None, None]
    assert 'class="half"' not in html
    assert 'class="verdict' not in html


def test_one_policy_has_no_differences(made):
    page = Page(rendered(made(("best-fit",))))
    assert page.dots("profit_usd", differences=True) is None
    assert not [chart for chart in page.data["charts"] if chart.get("has_zero")]
    assert "Differences from" not in page.text


def test_equal_values_are_no_difference_and_have_no_leader(made):
    comparison = made(replications=3)
    values = {name: np.full_like(rows, 5.0) for name, rows in comparison.values.items()}
    page = Page(rendered(dataclasses.replace(comparison, values=values)))
    assert "All replications gave the same numbers" in page.text
    assert "★" not in {row["note"] for row in page.dots("profit_usd")}
    assert {row["note"] for row in page.dots("profit_usd", differences=True)} == {"no difference"}


def test_a_value_that_is_no_number_does_not_break_the_page(made):
    comparison = made()
    comparison.values["energy_kwh_per_core_hour_served"][1, 0] = np.nan
    page = Page(rendered(comparison))
    assert page.column("energy_kwh_per_core_hour_served")[1][0] is None


@pytest.fixture(scope="module")
def unequal(made):
    """lazy serves nothing and so has no delay; of worst-fit some VMs were still waiting."""
    comparison = made(("lazy", "best-fit", "worst-fit"))
    comparison.values["unserved_share"][0] = 1.0
    comparison.values["energy_kwh_per_core_hour_served"][0] = np.nan
    comparison.values["profit_usd"][0] = 1e9
    bounds = {"delay_ticks": np.zeros((3, 4), bool)}
    bounds["delay_ticks"][2, 1] = True
    comparison.values["delay_ticks"][:] = np.arange(12.0).reshape(3, 4) ** 2
    return dataclasses.replace(comparison, bounds=bounds)


def test_who_is_out_of_the_running_is_marked_and_never_starred(unequal):
    html = rendered(unequal)
    page = Page(html)
    means = [one for one in page.data["charts"] if one.get("has_zero") is False]
    assert len(means) == len(unequal.scenario.kind.highlights)
    for chart in means:
        assert [row["is_hollow"] for row in chart["rows"]] == [True, False, False]
        assert chart["rows"][0]["note"] == "out of the running"
    assert html.count("⊘ out of the running</span>") == 1
    assert "lazy leaves 100 % of VMs unserved and is out of the running" in page.text
    assert said(unequal) in page.text
    assert "best-fit wins" in page.text


def test_what_has_no_value_is_a_dash_on_the_page_and_null_in_its_data(unequal):
    page = Page(rendered(unequal))
    energy = page.dots("energy_kwh_per_core_hour_served")
    assert energy[0]["estimate"] == [None, None, None]
    assert energy[0]["text"] == UNKNOWN
    assert page.column("energy_kwh_per_core_hour_served")[0] == [None] * 4
    assert UNKNOWN in page.text
    # All differences from lazy are unknown: there is nothing to draw.
    assert page.dots("energy_kwh_per_core_hour_served", differences=True) is None


def test_a_bound_is_shown_as_one_on_the_page_and_in_its_data(unequal):
    page = Page(rendered(unequal))
    delay = unequal.scenario.kind.metric["delay_ticks"]
    assert mean_text(unequal, "worst-fit", delay).startswith("> ")
    assert mean_text(unequal, "worst-fit", delay) in page.text
    flags = page.data["rows"][0]["bounds"]["delay_ticks"]
    assert flags == [False] * 8 + [False, True, False, False]


def test_a_bound_is_drawn_as_one(unequal):
    bounds = {"failed": np.zeros((3, 4), bool)}
    bounds["failed"][2, 1] = True
    page = Page(rendered(dataclasses.replace(unequal, bounds=bounds)))
    drawn = page.dots("failed")[2]
    assert (drawn["bound"], drawn["estimate"][2]) == ("least", None)
    assert drawn["text"].startswith("> ")


def test_the_level_of_confidence_is_one_and_stated(page, comparison):
    stated = f"95 % for all {comparison.family.tests} comparisons together (Holm)"
    assert comparison.family.tests > 1
    assert stated in page.text


def test_the_command_says_that_service_was_ignored(made):
    ignoring = dataclasses.replace(made(), ignore_service=True)
    assert "--ignore-service" in compare_again(ignoring).command
    assert "Work left unserved was ignored, as asked." in Page(rendered(ignoring)).text


def test_without_recorded_tables_there_are_no_charts_over_time(made):
    page = Page(rendered(dataclasses.replace(made(), samples={})))
    assert not [chart for chart in page.data["charts"] if chart.get("over_time")]
    assert "Over time" not in page.text


def test_long_series_are_thinned_by_averaging_and_the_page_says_so(page, comparison):
    cores = next(chart for chart in page.data["charts"] if chart.get("over_time"))
    assert cores["title"] == "Cores in use"
    assert cores["hint"] == "cores; 2,500 points, drawn as means of 3"
    assert "2,500 points, drawn as means of 3" in page.text
    assert [series["name"] for series in cores["series"]] == list(comparison.policies)
    assert [series["colour"] for series in cores["series"]] == [0, 1, 2]
    assert len(cores["series"][0]["y"]) == len(cores["series"][0]["x"]) == 834
    recorded = comparison.samples["best-fit"]["series"]["used_cores"].to_numpy()
    assert cores["series"][0]["y"][1] == pytest.approx(recorded[3:6].mean(), rel=1e-5)


@pytest.mark.parametrize("points", [1, 2, 999, 1000, 1001, 8638, 100_000])
def test_thinning_keeps_the_mean_and_the_limit(points):
    values = np.arange(points, dtype=float)
    thinned = thin(values)
    assert len(thinned) <= MAX_POINTS
    if points <= MAX_POINTS:
        assert (thinned == values).all()
    assert thinned[0] == values[: -(-points // MAX_POINTS)].mean()


@pytest.mark.parametrize(
    ("tick_seconds", "unit", "end"),
    [(300.0, "days", 2498 * 300 / 86400), (60.0, "hours", 2498 / 60), (0.1, "minutes", 249.8 / 60)],
)
def test_ticks_become_days_hours_or_minutes(made, tick_seconds, unit, end):
    scenario = cloudarena.load("vm/azure-like-10k", {"tick_seconds": tick_seconds})
    cores = time_charts(scenario, made().samples)[0]
    assert cores.x == unit
    assert cores.series[0].x[-1] == pytest.approx(end, rel=1e-3)


def test_the_command_gives_the_scenario_again(made):
    changes = {"oversubscription.cpu": 1.15, "machines[0].count": 90, "known": ["lifetimes"]}
    scenario = cloudarena.load("vm/azure-like-10k", changes)
    again = compare_again(made(scenario=scenario))
    words = shlex.split(again.command)
    assert words[:3] == ["cloudarena", "compare", "vm/azure-like-10k"]
    overrides = [words[k + 1] for k, word in enumerate(words) if word == "--set"]
    assert cloudarena.load(words[2], overrides) == scenario
    assert words[-6:] == [
        "--policies", "best-fit,first-fit,worst-fit", "--replications", "4", "--seed", "3"
    ]  # fmt: skip
    assert again.notes == ()


def test_a_scenario_without_a_name_is_saved_first(made, scenario):
    unnamed = cloudarena.load(scenario.model_dump(mode="json"))
    again = compare_again(made(("best-fit", "mine"), scenario=unnamed))
    assert again.command.startswith("cloudarena compare spec.yaml --policies best-fit,mine")
    assert "Save the scenario below as spec.yaml" in again.notes[0]
    assert again.notes[1].startswith("mine: given as Python objects")


def test_the_scenario_on_the_page_loads_again(made, scenario):
    page = Page(rendered(made()))
    assert "tick_seconds: 300.0" in page.text
    assert cloudarena.load(yaml.safe_load(scenario.to_yaml())).model_dump() == scenario.model_dump()


def test_nothing_half_written_stays_when_the_disk_is_full(made, tmp_path, monkeypatch):
    target = tmp_path / "results" / "report.html"
    made().to_html(target)
    before = target.read_bytes()

    def full(draft, text, **_):
        draft.write_bytes(text[:100].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(CloudarenaError, match="cannot be written: No space left on device"):
        made(("other",)).to_html(target)
    assert target.read_bytes() == before
    assert [file.name for file in target.parent.iterdir()] == ["report.html"]


def test_a_folder_in_the_way_is_named(made, tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(CloudarenaError, match=r"report\.html: cannot be written"):
        made().to_html(tmp_path / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_policies_are_rows_by_the_metric_of_the_question(unequal):
    html = rendered(unequal)
    rows = re.findall(r'<th scope="row"[^>]*><span class="key"[^>]*></span>([\w-]+)', html)
    assert sorted(rows) == sorted(unequal.policies)
    assert rows[-1] == "lazy"  # out of the running, whatever it earned
    assert rows[0] == unequal.winner(unequal.scenario.kind.metric[unequal.headline])


def test_what_all_policies_share_folds_away_and_is_said_in_a_line(made):
    comparison = made()
    comparison.values["mean_allocation"][:] = 0.25
    html = rendered(comparison)
    assert "The same under all policies: " in html
    assert "Mean allocation 0.25" in html.partition("The same under all policies: ")[2][:300]


def test_charts_of_values_and_of_differences_share_a_place(page, comparison):
    views = [a["aria-pressed"] for _, a in page.elements if "data-view" in a]
    assert views == ["true", "false"]
    away = [a for _, a in page.elements if a.get("data-in-view") == "1"]
    assert away
    assert all("hidden" in a for a in away)


def test_winner_and_baseline_are_shown_over_time(page, comparison):
    pressed = {a["data-switch"]: a["aria-pressed"] for _, a in page.elements if "data-switch" in a}
    assert list(pressed) == list(comparison.policies)
    assert pressed[comparison.policies[0]] == "true"
    assert 1 <= list(pressed.values()).count("true") <= 2


def test_charts_over_time_show_dates_if_the_scenario_has_one(made):
    scenario = cloudarena.load("vm/azure-like-10k", {"start_date": "2026-01-05T00:00:00Z"})
    assert time_charts(scenario, made().samples)[0].dates == (1767571200000.0, 86400000.0)
    plain = cloudarena.load("vm/azure-like-10k")
    assert time_charts(plain, made().samples)[0].dates is None


def test_limits_in_the_answer_are_said_in_words_with_units():
    found = cloudarena.compare(
        "tiers/toy", ["static", "step"], replications=2, by="cost_usd",
        where=["response_p95_s<=100"], workers=1,
    )  # fmt: skip
    sheet = make_sheet(found)
    said = sheet.conclusion.replace("\N{NO-BREAK SPACE}", " ")
    assert "keeps 95th percentile of response times ≤ 100 s" in said
    assert "response_p95_s" not in said
    assert "response_p95_s <= 100" in found.conclusion()


def test_where_nobody_keeps_the_limits_who_breaks_them_least_is_first():
    changes = {"workload.vms": 1500, "machines[0].count": 20}
    found = cloudarena.compare(
        cloudarena.load("vm/azure-like-10k", changes), ["first-fit", "best-fit", "random"],
        replications=3, by="cost_usd", where=["unserved_share<=0.001"], workers=1,
    )  # fmt: skip
    assert len(found.out_of_the_running) == 3
    nearest = ranked(found)[0]
    assert f"of those that break them least often, {nearest} costs" in found.conclusion()
    cheapest = min(found.policies, key=lambda one: found.estimate(one, "cost_usd").mean)
    assert (cheapest, ranked(found)[-1]) == ("random", "random")
