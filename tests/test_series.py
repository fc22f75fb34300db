"""The history of machines on a grid of times, and what of it was kept."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.base.series import MOST_ROWS
from cloudarena.contract import Result


def result(times, members, values, name="time_s", tick_seconds=None, **more):
    table = pa.table({name: times, "machine": members, "load": values, **more})
    return Result({}, {"machines_series": table}, "made", 0, tick_seconds=tick_seconds)


def kept(table):
    return table.schema.metadata[b"kept"].decode()


TICKS = result(
    np.repeat(np.arange(0, 50, 5), 2), np.tile([0, 1], 10), np.arange(20.0), "tick", 300.0
)
EVENTS = result([0.0, 1.5, 1.5, 4.0, 7.0], [0, 0, 1, 1, 0], [1.0, 2.0, 3.0, 4.0, 5.0])


def test_without_a_grid_all_rows_are_there_as_they_were_recorded():
    table = EVENTS.series("machines")
    assert table.equals(EVENTS.tables["machines_series"])
    assert kept(table) == "all 4 recorded times"


def test_every_counts_recorded_ticks_and_says_which_it_kept():
    table = TICKS.series("machines", every=4)
    assert table["tick"].to_pylist() == [0, 0, 20, 20, 40, 40]
    assert table["load"].to_pylist() == [0.0, 1.0, 8.0, 9.0, 16.0, 17.0]
    assert kept(table) == (
        "3 of 10 recorded times, each 4th, tick 0 to 40 in steps of 20; 6 rows from 20"
    )


def test_a_run_recorded_each_fifth_tick_keeps_each_twelfth_of_these():
    run = cloudarena.simulate("vm/toy", record="full")
    sparse = cloudarena.simulate(cloudarena.load("vm/toy", {"series_every": 2, "record": "full"}))
    assert run.series("machines", every=2)["tick"].to_pylist() == [0, 2]
    assert sparse.series("machines", every=2)["tick"].to_pylist() == [0]
    assert "each 2nd" in kept(sparse.series("machines", every=2))


def test_where_only_changes_are_recorded_each_member_has_its_last_value():
    table = EVENTS.series("machines", every=2)  # of the times 0, 1.5, 4 and 7
    assert table.to_pylist() == [
        {"time_s": 0.0, "machine": 0, "load": 1.0},
        {"time_s": 4.0, "machine": 0, "load": 2.0},
        {"time_s": 4.0, "machine": 1, "load": 4.0},
    ]
    assert kept(table).startswith("2 of 4 recorded times, each 2nd, time_s 0 to 4 in steps of 4")


def test_every_s_is_a_grid_in_seconds():
    table = EVENTS.series("machines", every_s=3)
    assert table["time_s"].to_pylist() == [0.0, 3.0, 3.0, 6.0, 6.0]
    assert table["machine"].to_pylist() == [0, 0, 1, 0, 1]
    assert table["load"].to_pylist() == [1.0, 2.0, 3.0, 2.0, 4.0]
    assert kept(table) == "3 times, every 3 s, of 4 recorded times; 5 rows from 5"


def test_ticks_become_seconds_and_stay_beside_them():
    table = TICKS.series("machines", ["load"], every_s=3600)
    assert table.column_names == ["time_s", "tick", "machine", "load"]
    assert table["time_s"].to_pylist() == [0.0] * 2 + [3600.0] * 2 + [7200.0] * 2 + [10800.0] * 2
    assert table["tick"].to_pylist() == [0, 0, 10, 10, 20, 20, 35, 35]


def test_samples_that_have_their_own_seconds_need_no_length_of_a_tick():
    times = np.array([0.0, 0.0, 10.0, 10.0, 20.0, 20.0])
    samples = result([0, 0, 1, 1, 2, 2], list("abababab")[:6], np.arange(6.0), "tick", time_s=times)
    table = samples.series("machines", every_s=15)
    assert table["time_s"].to_pylist() == [0.0, 0.0, 15.0, 15.0]
    assert table["load"].to_pylist() == [0.0, 1.0, 2.0, 3.0]


def test_a_time_of_the_grid_that_differs_by_rounding_is_the_recorded_one():
    times = np.arange(11) * 0.1
    table = result(times, np.zeros(11, int), np.arange(11.0)).series("machines", every_s=0.3)
    assert table["load"].to_pylist() == [0.0, 3.0, 6.0, 9.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"every": 0}, "every: 0 is not allowed: a whole number, at least 1"),
        ({"every": -3}, "every: -3 is not allowed"),
        ({"every": 1.5}, "every: 1.5 is not allowed"),
        ({"every": math.nan}, "every: nan is not allowed"),
        ({"every": True}, "every: True is not allowed"),
        ({"every": "2"}, "every: 2 is not allowed"),
        ({"every_s": 0}, "every_s: 0 is not allowed: a number of seconds above 0"),
        ({"every_s": -1.0}, "every_s: -1.0 is not allowed"),
        ({"every_s": math.nan}, "every_s: nan is not allowed"),
        ({"every_s": math.inf}, "every_s: inf is not allowed"),
        ({"every_s": "5"}, "every_s: 5 is not allowed"),
        ({"every_s": 1e-9}, f"more than {MOST_ROWS:,} rows"),
        ({"every_s": 1e-320}, "is not allowed"),
        ({"every": 2, "every_s": 2.0}, "every and every_s are not allowed together"),
    ],
)
def test_what_is_no_grid_is_refused(arguments, message):
    with pytest.raises(CloudarenaError, match=message):
        EVENTS.series("machines", **arguments)


def test_ticks_of_an_unknown_length_have_no_seconds():
    unknown = result([0, 1], [0, 0], [1.0, 2.0], "tick")
    with pytest.raises(CloudarenaError, match="how long a tick is was not recorded"):
        unknown.series("machines", every_s=5)


def test_nothing_recorded_is_nothing_kept():
    empty = result(pa.array([], pa.float64()), pa.array([], pa.int64()), pa.array([], pa.float64()))
    assert empty.series("machines", every_s=5).num_rows == 0
    assert empty.series("machines", every=5).num_rows == 0
    ticks = result(*(pa.array([], pa.int64()),) * 3, "tick", 300.0)
    assert ticks.series("machines", every_s=5).column_names == ["time_s", "tick", "machine", "load"]


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=1, max_size=60, unique=True
    ),
    st.integers(1, 9),
    st.booleans(),
)
def test_a_grid_holds_the_last_row_of_each_member_up_to_each_time(rows, step, in_seconds):
    """Against a search through all rows for each time and member."""
    rows = sorted(rows)
    times, members = [float(time) for time, _ in rows], [member for _, member in rows]
    made = result(times, members, np.arange(float(len(rows))))
    table = made.series("machines", **({"every_s": step} if in_seconds else {"every": step}))
    recorded = sorted(set(times))
    grid = np.arange(0, recorded[-1] + 1e-6, step) if in_seconds else recorded[::step]
    expected = [
        {"time_s": time, "machine": member, "load": float(max(before))}
        for time in grid
        for member in sorted(set(members))
        if (before := [k for k, (t, m) in enumerate(rows) if m == member and t <= time])
    ]
    assert table.to_pylist() == expected


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("vm/toy", {}),
        ("jobs/toy", {}),
        ("workflow/demo", {}),
        ("faas/serverless-basic", {"duration_s": 50}),
        ("tiers/rubis-hour", {"duration_s": 300}),
        ("clusters/lflc", {"workload.batches": 3}),
    ],
)
def test_the_history_of_the_whole_is_resampled_in_every_kind(name, changes):
    scenario = cloudarena.load(name, changes)
    run = cloudarena.simulate(scenario, seed=1)
    over_time = [plot for plot in scenario.kind.plots if not (plot.labels or plot.by)]
    for table, time in {(plot.table, plot.x) for plot in over_time}:
        recorded = run.tables[table]
        times = recorded[time].to_numpy()
        assert run.series(table, every=2)[time].to_pylist() == times[::2].tolist()
        assert "each 2nd" in kept(run.series(table, every=2))
        assert run.series(table).num_rows == recorded.num_rows
        in_seconds = run.series(table, every_s=7.5)
        last = times * (run.tick_seconds if time == "tick" else 1.0)
        at = np.searchsorted(last, in_seconds["time_s"].to_numpy() + 1e-6, side="right") - 1
        if time != "time_s":
            assert in_seconds[time].to_pylist() == times[at].tolist()
        value = next(plot.y for plot in over_time if plot.table == table)
        assert in_seconds[value].to_pylist() == recorded[value].take(at).to_pylist()
        assert "every 7.5 s" in kept(in_seconds)


def test_what_is_no_history_is_refused_and_what_there_is_is_named():
    run = cloudarena.simulate(cloudarena.load("jobs/toy"))
    with pytest.raises(CloudarenaError, match=r"'tasks' was not recorded; there is .*series"):
        run.series("tasks")
