"""Invocations of Azure Functions 2019 by minute, and workflows that arrive with them."""

import gzip

import numpy as np
import pytest

from cloudarena.base.errors import SpecError, TraceError
from cloudarena.engine.streams import stream
from cloudarena.workloads.arrivals.azure_functions import invocation_arrivals, read_invocations
from cloudarena.workloads.workflow.arrivals import by_invocations

from .cases import chain, diamond

HEADER = ["HashOwner", "HashApp", "HashFunction", "Trigger", *map(str, range(1, 1441))]


def row(function, trigger="http", counts=None, **cells):
    """A row with counts by minute, else 0."""
    minutes = [str((counts or {}).get(minute, 0)) for minute in range(1, 1441)]
    values = dict(zip(HEADER, ["o", "a", function, trigger, *minutes], strict=True))
    return ",".join({**values, **cells}.values())


ROWS = (
    row("f1", "http", {1: 2, 3: 1, 1440: 4}),
    row("f2", "orchestration", {2: 1}),
    row("f3", "timer"),
)


@pytest.fixture
def day(tmp_path):
    """Writes a day and returns its path."""

    def build(*rows, header=HEADER, name="d01.csv"):
        path = tmp_path / name
        text = ("\n".join([",".join(header), *(rows or ROWS)]) + "\n").encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return build


def rng(seed=0):
    return stream(seed, "arrivals")


@pytest.mark.parametrize("name", ["d01.csv", "d01.csv.gz"])
def test_by_hand(day, name):
    invocations = read_invocations(day(name=name))
    assert invocations.function.to_pylist() == ["f1", "f2", "f3"]
    assert invocations.trigger.to_pylist() == ["http", "orchestration", "timer"]
    assert invocations.counts.shape == (3, 1440)
    assert invocations.counts.sum(axis=1).tolist() == [7, 1, 0]
    arrival_times, function = invocation_arrivals(invocations, rng(), spread="even")
    last = 1439 * 60
    assert arrival_times.tolist() == [15, 45, 90, 150, *(last + k for k in (7.5, 22.5, 37.5, 52.5))]
    assert function.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


def test_instants_are_drawn_within_their_minutes(day):
    invocations = read_invocations(day())
    arrival_times, function = invocation_arrivals(invocations, rng())
    assert (arrival_times // 60).tolist() == [0, 0, 1, 2, 1439, 1439, 1439, 1439]
    assert function.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert arrival_times.tolist() == invocation_arrivals(invocations, rng())[0].tolist()
    assert arrival_times.tolist() != invocation_arrivals(invocations, rng(1))[0].tolist()


def test_a_trigger_and_some_minutes(day):
    one = read_invocations(day(), "orchestration")
    assert one.function.to_pylist() == ["f2"]
    assert one.counts[0, :3].tolist() == [0, 1, 0]
    invocations = read_invocations(day())
    arrival_times, _ = invocation_arrivals(
        invocations, rng(), first_minute=2, minutes=2, spread="even"
    )
    assert arrival_times.tolist() == [30, 90]


def test_a_share(day):
    invocations = read_invocations(day(row("f", "http", dict.fromkeys(range(1, 1441), 100))))
    arrival_times, _ = invocation_arrivals(invocations, rng(), share=0.1)
    assert len(arrival_times) == pytest.approx(14_400, rel=0.03)


def test_each_function_stands_for_one_template(day):
    counts = dict.fromkeys(range(1, 11), 1)
    invocations = read_invocations(day(*(row(f"f{k}", "http", counts) for k in range(8))))
    mix = by_invocations([chain(), diamond()], invocations, 0, minutes=10, spread="even")
    assert mix.which.reshape(10, 8).tolist() == [mix.which[:8].tolist()] * 10
    assert set(mix.which) == {0, 1}
    assert mix.arrivals.tolist() == np.repeat(np.arange(10) * 60 + 30.0, 8).tolist()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row("f", "htp")], "line 2: Trigger: 'htp' is not allowed: one of http, timer"),
        ([ROWS[0], row("f", counts={7: -1})], "line 3: 7: -1 is not allowed: 0 to 10,000,000"),
        ([row("f", counts={7: 2**31})], "line 2: 7: 2147483648 is not allowed: 0 to 10,000,000"),
        ([row("f", counts={7: 1.5})], "line 2: 7: '1.5' is not allowed: a whole number"),
        ([row("f") + ",3"], "line 2: has 1445 columns: 1444 are needed"),
        ([row("f", **{"9": ""})], "line 2: 9: is empty"),
    ],
)
def test_bad_rows(day, rows, words):
    with pytest.raises(TraceError, match=rf"d01\.csv, {words}"):
        read_invocations(day(*rows))


def test_bad_files(day, tmp_path):
    with pytest.raises(TraceError, match="column '1440' is missing"):
        read_invocations(day(row("f").rpartition(",")[0], header=HEADER[:-1]))
    with pytest.raises(TraceError, match="does not exist"):
        read_invocations(tmp_path / "d02.csv")
    with pytest.raises(TraceError, match="has no functions with the trigger queue"):
        read_invocations(day(), "queue")
    with pytest.raises(SpecError, match=r"trigger: 'qeue' is not .* Did you mean 'queue'"):
        read_invocations(day(), "qeue")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"share": 0}, "share: 0 is not allowed: more than 0, at most 1"),
        ({"share": 1.5}, "share: 1.5 is not allowed"),
        ({"first_minute": 0}, "first_minute: 0 is not allowed: from 1 to 1440"),
        ({"first_minute": 1441}, "first_minute: 1441 is not allowed"),
        ({"first_minute": 1440, "minutes": 2}, "minutes: 2 is not allowed: from 1 to 1"),
        ({"spread": "all"}, "spread: 'all' is not allowed"),
    ],
)
def test_parameters_are_checked(day, parameters, words):
    with pytest.raises(SpecError, match=words):
        invocation_arrivals(read_invocations(day()), rng(), **parameters)


def test_minutes_without_invocations(day):
    with pytest.raises(TraceError, match="there are no invocations in the chosen minutes"):
        invocation_arrivals(read_invocations(day()), rng(), first_minute=10, minutes=5)
