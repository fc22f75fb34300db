"""Functions out of a day of Azure's trace: one for each of the trace's, with its own figures."""

from __future__ import annotations

import pytest

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import CloudarenaError
from cloudarena.workloads.faas.measured import read_sums
from tests.scenarios.faas.cases import column

HASHES = ("a" * 64, "b" * 64, "c" * 64)
PERCENTILES = (0, 1, 25, 50, 75, 99, 100)


def day(folder, durations=HASHES):
    """A day on which a is invoked 3 times a minute, b 5 times, and c once, in the first minute."""
    minutes = range(1, 1441)
    rows = [f"HashOwner,HashApp,HashFunction,Trigger,{','.join(map(str, minutes))}"]
    for name, counts in zip(HASHES, ([3] * 1440, [5] * 1440, [1] + [0] * 1439), strict=True):
        rows.append(f"o,app{name[0]},{name},http,{','.join(map(str, counts))}")
    (folder / "invocations.csv").write_text("\n".join(rows) + "\n")
    heads = ",".join(f"percentile_Average_{p}" for p in PERCENTILES)
    rows = [f"HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,{heads}"]
    for k, name in enumerate(durations, start=1):
        times = ",".join(str(k * t) for t in (100, 100, 100, 100, 100, 100, 100))
        rows.append(f"o,app{name[0]},{name},{k * 100},1,1,1,{times}")
    (folder / "durations.csv").write_text("\n".join(rows) + "\n")
    (folder / "memory.csv").write_text(
        "HashOwner,HashApp,SampleCount,AverageAllocatedMb,AverageAllocatedMb_pct95\n"
        "o,appa,1,90,100\no,appb,1,150,200\n"
    )


def load(folder, known=HASHES, **changes):
    """Ten minutes of the day on a NUC."""
    day(folder, known)
    functions = {"source": "azure-2019", "invocations": "invocations.csv"}
    functions |= {"durations": "durations.csv", "memory": "memory.csv", **changes}
    spec = {"scenario": "faas", "duration_s": 600, "devices": {"types": {"nuc": 1}}}
    return cloudarena.load(spec | {"functions": functions}, folder=folder)


def test_each_function_has_its_own_invocations_times_and_memory(tmp_path):
    spec = load(tmp_path, each={"start_s": 0, "image": {"use": {"cpu": 0.01}}})
    assert [one.name[0] for one in spec.functions] == ["b", "a", "c"]
    assert [one.image.memory_mb for one in spec.functions] == [200, 100, 128]
    result = simulate(spec, "first-fit")
    names = column(result, "functions", "function")[:3]
    assert dict(zip(names, column(result, "functions", "requests"), strict=False)) == {
        "b" * 16: 50,
        "a" * 16: 30,
        "c" * 16: 1,
    }
    means = dict(zip(names, column(result, "functions", "executed_mean_s"), strict=False))
    assert means == pytest.approx({"a" * 16: 0.1, "b" * 16: 0.2, "c" * 16: 0.3})
    again = cloudarena.load(spec.model_dump(mode="json"))
    assert simulate(again, "first-fit").metrics == result.metrics


def test_the_busiest_are_taken_and_those_without_durations_left_out(tmp_path):
    assert [one.name[0] for one in load(tmp_path, count=1).functions] == ["b"]
    assert [one.name[0] for one in load(tmp_path, HASHES[::2]).functions] == ["a", "c"]
    # After the first minute, c is not invoked.
    assert [one.name[0] for one in load(tmp_path, first_minute=2).functions] == ["b", "a"]


def test_quantiles_are_joined_by_lines():
    time = {"distribution": "quantiles", "points": [[0, 1], [0.5, 2], [1, 10]]}
    function = {"name": "f", "image": {"execution": time}}
    spec = {"scenario": "faas", "devices": {"types": {"nuc": 1}}, "functions": [function]}
    made = cloudarena.load(spec).functions[0].image.execution.made()
    assert len(made.values) == 200
    assert sum(made.values) / 200 == pytest.approx((1.5 + 6) / 2)
    assert made.values[49:51] == pytest.approx((1.495, 1.505))


def odd_day(folder, invocations, durations, **changes):
    """Functions of ten minutes: (app, hash, trigger, a minute), and (app, hash, milliseconds)."""
    rows = [f"HashOwner,HashApp,HashFunction,Trigger,{','.join(map(str, range(1, 1441)))}"]
    for app, name, trigger, count in invocations:
        rows.append(f"o,{app},{name},{trigger},{','.join([str(count)] * 1440)}")
    (folder / "invocations.csv").write_text("\n".join(rows) + "\n")
    heads = ",".join(f"percentile_Average_{p}" for p in PERCENTILES)
    rows = [f"HashOwner,HashApp,HashFunction,{heads}"]
    rows += [f"o,{app},{name},{','.join(map(str, times))}" for app, name, times in durations]
    (folder / "durations.csv").write_text("\n".join(rows) + "\n")
    (folder / "memory.csv").write_text("HashApp,AverageAllocatedMb_pct95\np,100\nq,900\n")
    functions = {"source": "azure-2019", "invocations": "invocations.csv", **changes}
    functions |= {"durations": "durations.csv", "memory": "memory.csv"}
    spec = {"scenario": "faas", "duration_s": 600, "devices": {"types": {"nuc": 1}}}
    return cloudarena.load(spec | {"functions": functions}, folder=folder)


def requests_and_seconds(spec):
    """The requests of each function, and their mean time."""
    result = simulate(spec, "first-fit")
    columns = (column(result, "functions", key) for key in ("function", "requests"))
    means = column(result, "functions", "executed_mean_s")
    return {
        name: (count, pytest.approx(mean))
        for name, count, mean in zip(*columns, means, strict=True)
        if name != "idle"
    }


def test_apps_may_have_functions_of_one_name(tmp_path):
    word, other = "a" * 64, "b" * 64
    rows = [("p", word, "http", 1), ("q", word, "timer", 2), ("q", word, "http", 1)]
    times = [("p", word, [100] * 7), ("q", word, [5000] * 7), ("q", other, [300] * 7)]
    spec = odd_day(tmp_path, [*rows, ("q", other, "http", 1)], times)
    assert requests_and_seconds(spec) == {
        "p-" + "a" * 16: (10, 0.1),
        "q-" + "a" * 16: (30, 5.0),
        "b" * 16: (10, 0.3),
    }
    assert [one.image.memory_mb for one in spec.functions] == [900, 100, 900]
    again = cloudarena.load(spec.model_dump(mode="json"))
    assert requests_and_seconds(again) == requests_and_seconds(spec)


def test_a_name_that_another_begins_with_takes_only_its_own_invocations(tmp_path):
    names = ("001", "00", "0012")
    rows = [("p", name, "http", k) for k, name in enumerate(names, start=1)]
    spec = odd_day(tmp_path, rows, [("p", name, [100] * 7) for name in names])
    counts = {name: count for name, (count, _) in requests_and_seconds(spec).items()}
    assert counts == {"001": 10, "00": 20, "0012": 30}


def test_percentiles_that_fall_count_as_the_highest_so_far(tmp_path):
    spec = odd_day(tmp_path, [("p", "a", "http", 1)], [("p", "a", [5, 4, 0, 9, 2, 100, 50])])
    assert [seconds for _, seconds in spec.functions[0].image.execution.points] == [
        *(0.005, 0.005, 0.005, 0.009, 0.009, 0.1, 0.1)
    ]


@pytest.mark.parametrize(("cell", "words"), [("", "is empty"), ("-1", "-1 is not allowed: from 0")])
def test_odd_cells_are_named(tmp_path, cell, words):
    with pytest.raises(CloudarenaError) as error:
        odd_day(tmp_path, [("p", "a", "http", 1)], [("p", "a", [5, 5, 5, cell, 5, 5, 5])])
    assert f"durations.csv, line 2: percentile_Average_50: {words}" in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"durations": "gone.csv"}, "gone.csv: does not exist"),
        ({"durations": "memory.csv"}, "column 'HashFunction' is missing"),
        ({"trigger": "timer"}, "has no functions with the trigger timer"),
        ({"source": "azure-2018"}, "source"),
        ({"each": {"workerz": 1}}, "unknown key 'workerz'"),
        ({"each": {"image": 3}}, "each: image: 3 is not allowed: keys"),
        ({"each": {"requests": {"source": "none"}}}, "each: requests: is not allowed: the trace"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, changes, message):
    with pytest.raises(CloudarenaError) as error:
        load(tmp_path, **changes)
    assert message in str(error.value)


def weeks(folder, **changes):
    """A part of the trace of 2021: five invocations of one function, two of another."""
    rows = ["app,func,end_timestamp,duration"]
    rows += [f"{'a' * 64},{'f' * 64},{10 * k + 0.1 * k},{0.1 * k}" for k in range(1, 6)]
    rows += [f"{'a' * 64},{'g' * 64},{20 + k},0" for k in range(2)]
    (folder / "weeks.csv").write_text("\n".join(rows) + "\n")
    functions = {"source": "azure-2021", "path": "weeks.csv", **changes}
    spec = {"scenario": "faas", "duration_s": 60, "devices": {"types": {"nuc": 1}}}
    return cloudarena.load(spec | {"functions": functions}, folder=folder)


def test_each_invocation_of_2021_comes_when_it_came_and_takes_as_long_as_it_took(tmp_path):
    spec = weeks(tmp_path, each={"start_s": 0, "image": {"use": {"cpu": 0.01}}})
    assert [one.name for one in spec.functions] == ["aaaaaaaa-" + c * 16 for c in "fg"]
    result = simulate(spec, "first-fit")
    names = column(result, "invocations", "function")
    rows = zip(names, column(result, "invocations", "arrival_s"), strict=True)
    busy = [k for k, (name, _) in enumerate(rows) if "f" in name]
    times = column(result, "invocations", "executed_s")
    came = column(result, "invocations", "arrival_s")
    assert [times[k] for k in busy] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert [came[k] for k in busy] == pytest.approx([0, 10, 20, 30, 40])
    assert [times[k] for k in range(7) if k not in busy] == pytest.approx([0.001] * 2)
    again = cloudarena.load(spec.model_dump(mode="json"))
    assert simulate(again, "first-fit").metrics == result.metrics
    assert [one.name[-1] for one in weeks(tmp_path, first_s=15, count=1).functions] == ["f"]
    with pytest.raises(CloudarenaError, match="has no invocations between 100 s"):
        weeks(tmp_path, first_s=100)


def test_cold_starts_are_made_of_the_columns_that_were_recorded(tmp_path):
    (tmp_path / "cold.csv").write_text(
        "funcName,podAllocationCost,deployCodeCost,deployDependencyCost,schedulingCost\n"
        "10,0.2,0.3,0.5,1.2\n10,0.4,0.1,,0.6\n11,1,1,1,6\n"
    )
    parts = {"distribution": "empirical", "path": "cold.csv", "rows": {"funcName": 10}}
    start = parts | {"columns": ["podAllocationCost", "schedulingCost"]}
    setup = parts | {"columns": ["deployCodeCost", "deployDependencyCost"]}
    spec = weeks(tmp_path, each={"start": start, "setup": setup})
    assert spec.functions[0].start.made().values == pytest.approx((1.0, 1.4))
    assert spec.functions[0].setup.made().values == pytest.approx((0.8,))
    for changes, message in (
        ({"rows": {"funcName": 12}}, "has no rows with funcName 12: 10, 11"),
        ({"columns": ["gone"]}, "column 'gone' is missing"),
        ({"path": None, "seconds": [1]}, "is not allowed without path"),
    ):
        with pytest.raises(CloudarenaError, match=message):
            simulate(weeks(tmp_path, each={"start": start | changes}), "first-fit")


def test_cold_starts_of_whole_seconds_and_names_that_begin_with_zero(tmp_path):
    path = tmp_path / "cold.csv"
    path.write_text("day,funcName,podAllocationCost,schedulingCost\n0,010,1,2\n0,10,4,\n0,10,3,1\n")
    columns = ("podAllocationCost", "schedulingCost")
    assert read_sums(path, columns, {"funcName": "010"}) == (3,)
    assert read_sums(path, columns, {"funcName": 10}) == (4,)
    path.write_text("funcName,podAllocationCost,schedulingCost\n10,,\n")
    with pytest.raises(CloudarenaError, match="has no times in podAllocationCost, schedulingCost"):
        read_sums(path, columns, {})
    path.write_text("funcName,podAllocationCost,schedulingCost\n10,1 s,2\n")
    with pytest.raises(CloudarenaError, match="line 2: podAllocationCost: '1 s' is not allowed"):
        read_sums(path, columns, {})
