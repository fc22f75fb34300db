"""Functions out of a day of Azure's trace: one for each of the trace's, with its own figures."""

from __future__ import annotations

import pytest

import cloudarena
from cloudarena import simulate
from cloudarena.base.errors import CloudarenaError
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"durations": "gone.csv"}, "gone.csv: does not exist"),
        ({"durations": "memory.csv"}, "column 'HashFunction' is missing"),
        ({"trigger": "timer"}, "has no functions with the trigger timer"),
        ({"source": "azure-2018"}, "source"),
        ({"each": {"workerz": 1}}, "unknown key 'workerz'"),
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
