"""The picture of a cloud over time, on the page of a run."""

import re

import numpy as np
import pyarrow as pa
import pytest

import cloudarena
from cloudarena.report.cloud import BINS, MOST_ROWS, cloud_section
from cloudarena.report.page import render
from cloudarena.report.pages.run import make_sheet


def picture(name, tables=None, **changes):
    result = cloudarena.simulate(name, **changes)
    return cloud_section(result.spec, tables or result.tables, result.policy)


def test_a_heat_map_shows_how_much_of_each_machine_is_taken():
    """Machine 0 is half full for the first half of the run, machine 1 full all the time."""
    scenario = cloudarena.load("vm/toy", {"tick_seconds": 60.0})
    tables = {
        "vms": pa.table(
            {
                "start": pa.array([0, 0, None], pa.float64()),
                "end": [80.0, 160.0, 160.0],
                "machine": [0, 1, 0],
                "id": ["a", "b", "never placed"],
                "cores": [2.0, 4.0, 4.0],
            }
        ),
        "machines": pa.table({"machine": [0, 1], "cores": [4.0, 4.0]}),
    }
    section = cloud_section(scenario, tables, "first-fit")
    shades = dict(re.findall(r'fill-opacity="([\d.]+)" d="([^"]+)"', section.table))
    assert shades == {"0.5": "M0 0h500v13h-500z", "1": "M0 14h1000v13h-1000z"}
    assert "Cores taken under first-fit" in section.hint


def test_jobs_are_bars_with_names():
    section = picture("jobs/toy")
    bars = re.findall(r"<rect.*?<title>(.*?)</title>", section.table)
    tasks = cloudarena.simulate("jobs/toy").tables["instances"]
    assert len(bars) == tasks.num_rows
    assert "What ran where" in section.hint


def test_bars_on_one_machine_do_not_cover_each_other():
    scenario = cloudarena.load("jobs/toy")
    table = pa.table(
        {
            "start": [0.0, 5.0, 10.0],
            "finish": [10.0, 20.0, 20.0],
            "machine": [0, 0, 0],
            "job": ["<x>", "b", "c"],
            "task": [1, 1, 1],
        }
    )
    text = cloud_section(scenario, {"instances": table}, "fcfs").table
    tops = [int(y) for y in re.findall(r'y="(\d+)"', text)]
    assert tops[0] == tops[2] != tops[1]
    assert "<x>" not in text
    assert "&lt;x&gt;" in text


def test_too_many_bars_become_a_heat_map_whose_rows_are_means_of_neighbours():
    scenario = cloudarena.load("jobs/toy")
    count = 2000
    rng = np.random.default_rng(1)
    start = rng.uniform(0, 100, count)
    table = pa.table(
        {
            "start": start,
            "finish": start + 1,
            "machine": np.arange(count) % 130,
            "job": [str(k) for k in range(count)],
            "task": np.ones(count, int),
        }
    )
    section = cloud_section(scenario, {"instances": table}, "fcfs")
    assert "<rect" not in section.table
    assert 'class="heat"' in section.table
    assert "the mean of 3 machines" in section.hint
    assert len(section.table) < 30 * MOST_ROWS * BINS


@pytest.mark.parametrize("name", ["clusters/toy", "tiers/toy"])
def test_where_nothing_is_known_of_machines_there_is_no_picture(name):
    assert picture(name) is None


def test_the_times_are_dates_if_the_scenario_has_one():
    changes = {"start_date": "2026-03-01T00:00:00Z"}
    result = cloudarena.simulate(cloudarena.load("vm/toy", changes))
    page = render(make_sheet(result))
    assert "<span>1 Mar 00:00</span>" in page
