"""What was measured saves itself and is loaded again as it was."""

import dataclasses
import json
import math
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.base.measures import AtLeast
from cloudarena.base.records import pack, unpack
from cloudarena.base.results import Contents, read_results, same_table, write_results
from cloudarena.contract import Result
from cloudarena.experiments.compare import Comparison
from cloudarena.experiments.metric_table import MetricReduction, MetricTable, reduce_table
from cloudarena.experiments.optimization import Optimization
from cloudarena.experiments.optimize import optimize

NUMBERS = st.floats(allow_infinity=False, width=64) | st.just(math.nan)
METRICS = st.one_of(NUMBERS, st.floats(0, 1e9).map(AtLeast))


@given(
    metrics=st.dictionaries(st.text("abc_", min_size=1), METRICS, max_size=4),
    column=st.lists(NUMBERS | st.none(), max_size=5),
    seed=st.integers(0, 2**40),
    notes=st.lists(st.text(max_size=5), max_size=2),
)
@settings(max_examples=20, deadline=None)
def test_a_result_is_loaded_as_it_was_saved(metrics, column, seed, notes):
    tables = {"rows": pa.table({"x": pa.array(column, pa.float64())})}
    result = Result(metrics, tables, "made", seed, "mine", "1.0", tuple(notes), 300.0)
    with tempfile.TemporaryDirectory() as folder:
        again = Result.load(result.save(Path(folder) / "out"))
    assert again == result
    assert again.notes == result.notes
    for name, value in metrics.items():
        assert type(again.metrics[name]) is type(value)
        assert again.metrics[name] == value or math.isnan(value)
    assert again != dataclasses.replace(result, seed=seed + 1)


def test_a_simulated_result_knows_its_scenario_again(tmp_path):
    scenario = cloudarena.load("vm/toy", {"oversubscription.cpu": 1.25})
    result = cloudarena.simulate(scenario, "first-fit", seed=3)
    again = Result.load(result.save(tmp_path))
    assert again == result
    assert again.spec == scenario
    assert again.spec.name == "vm/toy"
    assert again.series("series").equals(result.series("series"))
    assert cloudarena.simulate(again.spec, "first-fit", seed=3) == result


@st.composite
def comparisons(draw):
    scenario = cloudarena.load("vm/toy")
    policies = tuple(
        draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=3, unique=True))
    )
    shape = len(policies), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    values = {one.name: rng.normal(size=shape).round(1) for one in scenario.kind.metrics}
    values["unserved_share"] = rng.choice([0.0, 0.01, 0.5], size=shape)
    for _ in range(draw(st.integers(0, 3))):
        values["profit_usd"][tuple(rng.integers(shape))] = math.nan
    bounds = {"delay_ticks": np.eye(*shape, dtype=bool)} if draw(st.booleans()) else {}
    samples = {
        policy: {"series": pa.table({"tick": np.arange(k), "used_cores": rng.random(k)})}
        for k, policy in enumerate(policies)
    }
    margin = draw(st.sampled_from([0.0, 0.02]))
    saw = {policies[0]: "the future"} if draw(st.booleans()) else {}
    ignore = draw(st.booleans())
    return Comparison(scenario, policies, 7, values, samples, bounds, saw, ignore, margin)


@given(comparisons())
@settings(max_examples=20, deadline=None)
def test_a_comparison_is_loaded_as_it_was_saved(comparison):
    with tempfile.TemporaryDirectory() as folder:
        again = Comparison.load(comparison.save(Path(folder) / "out"))
        page = (Path(folder) / "out" / "report.html").read_bytes()
        assert again.to_html(Path(folder) / "again.html").read_bytes() == page
    assert again == comparison
    for name, rows in comparison.values.items():
        assert np.array_equal(again.values[name], rows, equal_nan=True)
    assert list(again.bounds) == list(comparison.bounds)
    assert all((again.bounds[name] == flags).all() for name, flags in comparison.bounds.items())
    assert again.conclusion() == comparison.conclusion()
    assert again.summary() == comparison.summary()
    for policy, tables in comparison.samples.items():
        assert same_table(again.samples[policy]["series"], tables["series"])


def test_comparisons_of_other_values_are_not_equal():
    values = {one.name: np.zeros((1, 2)) for one in cloudarena.load("vm/toy").kind.metrics}
    one = Comparison(cloudarena.load("vm/toy"), ("a",), 0, values, {})
    other = dataclasses.replace(one, values={**values, "failed": np.array([[0.0, 1e-12]])})
    assert one != other
    assert one == dataclasses.replace(one)
    assert one != "a comparison"


@pytest.fixture(scope="module")
def found():
    study = {
        "spec": "vm/toy",
        "designs": {"policy": ["first-fit", "best-fit"], "oversubscription.cpu": [1.0, 1.5]},
        "objectives": ["profit_usd", "energy_kwh"],
    }
    return optimize(study, "los", evaluations=40, workers=1, compare=["ocba", "kim-nelson"],
                indifference=0.1, overrides=["prices.kwh_usd=0.3"])  # fmt: skip


def test_an_optimisation_is_loaded_as_it_was_saved(found, tmp_path):
    folder = found.save(tmp_path / "out")
    again = Optimization.load(folder)
    assert again == found
    assert again.summary() == found.summary()
    assert again.conclusion() == found.conclusion()
    assert again.failures == found.failures
    assert same_table(again.table(), found.table())
    assert again.winning_scenario.model_dump() == found.winning_scenario.model_dump()
    assert again.winning_run.metrics == found.winning_run.metrics
    page = (folder / "report.html").read_bytes()
    assert again.to_html(tmp_path / "again.html").read_bytes() == page
    assert again.save(tmp_path / "second") == tmp_path / "second"
    for file in folder.iterdir():
        assert (tmp_path / "second" / file.name).read_bytes() == file.read_bytes(), file.name


def test_the_spec_of_an_optimisation_gives_the_same_choice(found, tmp_path):
    folder = found.save(tmp_path)
    again = optimize(folder / "spec.yaml", "los", evaluations=40, workers=1)
    assert again.selection.summary() == found.selection.summary()


def test_a_reduction_is_loaded_as_it_was_saved(tmp_path):
    values = np.random.default_rng(0).normal(size=(60, 4))
    values[:, 3] = values[:, 0] + values[:, 1]
    table = MetricTable("t.csv", ("a", "b", "c", "d"), values, ("higher",) * 4)
    done = reduce_table(table, keep=2)
    again = MetricReduction.load(done.save(tmp_path))
    assert again == done
    assert again.conclusion() == done.conclusion()
    assert (again.table.values == values).all()


@pytest.mark.parametrize("kind", [Result, Comparison, Optimization, MetricReduction])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "holds no results: metrics.json is missing"),
        ("{", "metrics.json: cannot be read"),
        ("[]", "metrics.json: cannot be read: it is no mapping"),
        ("{}", "metrics.json is not of this version, not those of a"),
        ('{"result": "mapping"}', "metrics.json holds the results of a mapping, not those of a"),
    ],
)
def test_a_folder_of_something_else_is_one_line(kind, text, message, tmp_path):
    if text is not None:
        (tmp_path / "metrics.json").write_text(text)
    with pytest.raises(CloudarenaError) as error:
        kind.load(tmp_path)
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["series.parquet", "spec.yaml"])
def test_a_file_that_is_missing_is_named(name, tmp_path):
    folder = cloudarena.simulate("vm/toy").save(tmp_path / "out")
    (folder / name).unlink()
    with pytest.raises(CloudarenaError, match=f"not complete: {name} is missing"):
        Result.load(folder)


def test_a_damaged_file_is_one_line(found, tmp_path):
    folder = found.save(tmp_path / "out")
    for name in ("state.npz", "designs.parquet", "spec.yaml"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(b"\x00[" + whole[:40])
        with pytest.raises(CloudarenaError) as error:
            Optimization.load(folder)
        assert "\n" not in str(error.value)
        assert name in str(error.value)
        (folder / name).write_bytes(whole)
    assert Optimization.load(folder) == found


def test_a_folder_that_does_not_exist_is_one_line(tmp_path):
    with pytest.raises(CloudarenaError, match="holds no results: it does not exist"):
        Result.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(CloudarenaError, match="holds no results: it is not a folder"):
        Result.load(tmp_path / "file")


def test_nothing_is_written_when_a_part_cannot_be(tmp_path):
    with pytest.raises(TypeError):
        write_results(tmp_path / "out", Contents({"result": "run", "x": object()}))
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_json_does_not_have_are_null(tmp_path):
    summary = {"result": "run", "tables": [], "a": [math.nan, {"b": math.inf}], "c": 1}
    write_results(tmp_path / "out", Contents(summary))
    written = json.loads(
        (tmp_path / "out" / "metrics.json").read_text(), parse_constant=pytest.fail
    )
    assert written["a"] == [None, {"b": None}]
    assert read_results(tmp_path / "out", "run").summary["c"] == 1


def test_tables_are_compared_by_value():
    one = pa.table({"x": [1.0, math.nan, None]})
    assert same_table(one, pa.table({"x": [1.0, math.nan, None]}))
    for other in ({"x": [1.0, math.nan, 2.0]}, {"x": [1.0, math.nan, math.nan]}, {"y": [1.0]},
                  {"x": [1, 2, None]}, {"x": [2.0, math.nan, None]}):  # fmt: skip
        assert not same_table(one, pa.table(other))


class Inner(NamedTuple):
    numbers: np.ndarray
    name: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Outer:
    inners: tuple[Inner, ...]
    maybe: Inner | None
    options: dict[str, object]
    level: float


def test_records_are_unpacked_as_they_were_packed():
    numbers = np.arange(6, dtype=np.int64).reshape(2, 3)
    record = Outer((Inner(numbers, "a"), Inner(numbers * 0.5)), None, {"top": 3}, math.nan)
    again = unpack(Outer, pack(record))
    assert again.inners[0].name == "a"
    assert again.inners[0].numbers.dtype == np.int64
    assert (again.inners[1].numbers == numbers * 0.5).all()
    assert again.maybe is None
    assert again.options == {"top": 3}
    assert math.isnan(again.level)
    assert pack(again) == pack(record)
    whole = dataclasses.replace(record, maybe=Inner(np.zeros(0), "b"))
    assert unpack(Outer, pack(whole)).maybe.name == "b"


@pytest.mark.parametrize("data", [b"", b"PK", b"nonsense", pack(Inner(np.zeros(1)))])
def test_bytes_of_something_else_are_one_line(data):
    with pytest.raises(CloudarenaError, match="does not hold a Outer of this version") as error:
        unpack(Outer, data)
    assert "\n" not in str(error.value)
