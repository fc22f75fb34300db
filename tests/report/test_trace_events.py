"""A timeline is valid JSON, and its slices are the rows of the tables."""

import json

import pytest

from cloudarena import load, simulate
from cloudarena.report.trace_events import trace_events
from cloudarena.scenarios import kinds


@pytest.mark.parametrize("kind", [name for name, kind in kinds().items() if kind.slices])
def test_the_slices_are_the_rows(kind):
    result = simulate(f"{kind}/toy")
    slices = kinds()[kind].slices
    made = json.loads(trace_events(result, kinds()[kind]))
    events = [one for one in made["traceEvents"] if one["ph"] == "X"]
    rows = [row for row in result.tables[slices.table].to_pylist() if row[slices.begin] is not None]
    assert len(events) == len(rows) > 0
    scale = 1e6 * (result.tick_seconds or 1.0)
    spans = sorted((one["ts"], one["ts"] + one["dur"]) for one in events)
    ended = [row for row in rows if row[slices.end] is not None]
    assert {
        (pytest.approx(row[slices.begin] * scale), pytest.approx(row[slices.end] * scale)) in spans
        for row in ended
    } <= {True}
    places = {tuple(row[name] for name in slices.places) for row in rows}
    assert len({one["pid"] for one in events}) == len(places)
    # No two slices of one lane overlap: viewers drop those.
    lanes = {}
    for one in sorted(events, key=lambda event: event["ts"]):
        lane = one["pid"], one["tid"]
        assert one["ts"] >= lanes.get(lane, 0.0) - 1e-3
        lanes[lane] = one["ts"] + one["dur"]
    if kind != "clusters":
        assert any(one["ph"] == "C" for one in made["traceEvents"])


def test_the_command_writes_it(cloudarena, tmp_path):
    file = tmp_path / "run.json"
    code, out, err = cloudarena("run", "vm/toy", "--record", "full", "--trace", file)
    assert code == 0, err
    assert "ui.perfetto.dev" in out
    made = json.loads(file.read_text())
    assert any("of machine 0" in one["name"] for one in made["traceEvents"] if one["ph"] == "C")
    code, _, err = cloudarena("run", "tiers/toy", "--set", "record=none", "--trace", file)
    assert code == 2
    assert "--trace: the run kept nothing over time" in err
    code, _, err = cloudarena("run", "vm/toy", "--record", "none", "--trace", file)
    assert code == 2
    assert "kept no table 'vms'" in err


def test_what_has_no_slices_has_counters_by_tier():
    result = simulate("tiers/toy")
    events = json.loads(trace_events(result, kinds()["tiers"]))["traceEvents"]
    assert {one["ph"] for one in events} == {"C"}
    rows = result.tables["tiers"].to_pylist()
    name = f"thin of tier {rows[0]['tier']}"
    first = next(one for one in events if one["name"] == name)
    assert first["ts"] == rows[0]["time_s"] * 1e6
    assert first["args"] == {"thin": rows[0]["thin"]}
    served = [one["args"]["served"] for one in events if one["name"] == "served"]
    assert served[0] == result.tables["periods"]["served"][0].as_py()


def test_counters_of_nodes_are_at_the_seconds_of_their_rows():
    result = simulate(load("faas/toy", {"sample_s": 0.5}), record="full")
    rows = result.tables["nodes_series"].to_pylist()
    assert any(row["tick"] != row["time_s"] for row in rows)
    events = json.loads(trace_events(result, kinds()["faas"]))["traceEvents"]
    times = {one["ts"] / 1e6 for one in events if " of node " in one["name"]}
    assert times
    assert times <= {row["time_s"] for row in rows}
