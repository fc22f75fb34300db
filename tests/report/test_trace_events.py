"""A timeline is valid JSON, and its slices are the rows of the tables."""

import json

import pytest

from cloudarena import simulate
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
    code, _, err = cloudarena("run", "tiers/toy", "--trace", file)
    assert code == 2
    assert "--trace: tiers has no work that begins and ends" in err
    code, _, err = cloudarena("run", "vm/toy", "--record", "none", "--trace", file)
    assert code == 2
    assert "kept no table 'vms'" in err
