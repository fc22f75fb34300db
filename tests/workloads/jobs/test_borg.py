"""Events of instances of Google's Borg trace of 2019."""

import gzip
import json
import random

import pytest

from cloudarena.base.errors import TraceError
from cloudarena.workloads.jobs.borg import load_borg, scan_borg

from .cases import same_jobs

ASKED = {"cpus": 0.05, "memory": 0.01}


def event(seconds, kind, collection=1, instance=0, **more):
    """An event as a line."""
    given = {"time": round(seconds * 1e6), "type": kind}
    given |= {"collection_id": collection, "instance_index": instance, **more}
    return json.dumps(given)


EVENTS = (
    event(600, 0, 7, 0, resource_request=ASKED),
    event(600, 1, 7, 0),
    event(601, 3, 7, 0, machine_id=4),
    event(620, 4, 7, 0),
    event(621, 3, 7, 0),
    event(630.5, 6, 7, 0, resource_request=None),
    # The second instance asks for more later on, and is killed.
    event(600, "SUBMIT", "7", "1", resource_request=ASKED, collection_type="JOB"),
    event(602, "SCHEDULE", "7", "1"),
    event(603, "UPDATE_RUNNING", "7", "1", resource_request={"cpus": 0.5}),
    event(605, "KILL", "7", "1"),
    # Submitted before the trace.
    event(0, 0, 3, 5, resource_request=ASKED),
    event(700, 3, 3, 5),
    event(800, 5, 3, 5),
    # Alloc sets; an instance that still runs; one that never ran; one that asks for nothing.
    event(600, 0, 9, 0, collection_type=1),
    event(600, 3, 9, 0, collection_type="ALLOC_SET"),
    event(610, 3, 10, 0, resource_request=ASKED),
    event(2**63 / 1e6 - 1e5, 6, 10, 0),
    event(610, 0, 11, 0, resource_request=ASKED),
    event(610, 3, 12, 0),
    event(611, 6, 12, 0),
    # Evicted, and running again.
    event(610, 3, 13, 0, resource_request=ASKED),
    event(611, 4, 13, 0),
    event(612, 3, 13, 0),
)


@pytest.fixture
def events(tmp_path):
    """Writes events and returns the path."""

    def build(*lines, name="events.json"):
        path = tmp_path / name
        text = ("\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path

    return build


@pytest.mark.parametrize("name", ["events.json", "events.json.gz"])
def test_by_hand(events, name):
    workload, reading = scan_borg(events(*EVENTS, name=name))
    assert workload.job_ids.to_pylist() == [3, 7]
    assert workload.submit.tolist() == [0, 600]
    assert workload.first_task.tolist() == [0, 1, 3]
    assert workload.task_ids.to_pylist() == [5, 0, 1]
    assert workload.instances.tolist() == [1, 1, 1]
    # The last attempt of each: of instance 0 of job 7 from 621 to 630.5.
    assert workload.duration.tolist() == [100, 9.5, 3]
    assert workload.demand[:, 0].tolist() == [0.05, 0.05, 0.5]
    assert workload.demand[:, 1].tolist() == [0.01, 0.01, 0]
    assert reading._asdict() == {
        "jobs": 2,
        "tasks": 3,
        "events": 20,
        "alloc_events": 2,
        "skipped_instances": 4,
    }


def test_the_order_of_lines_does_not_matter(events):
    want = load_borg(events(*EVENTS))
    lines = list(EVENTS)
    for seed in range(5):
        random.Random(seed).shuffle(lines)
        same_jobs(load_borg(events(*lines, "")), want)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "is not JSON: "),
        ("[1, 2]", "is not a JSON object: "),
        ('{"time": 1}', "'type' is missing: needed are time, type, collection_id, instance_index"),
        (event(1, 3, instance=None), "'instance_index' is missing"),
        (event(1, 11), "type: 11 is not allowed: one of SUBMIT, QUEUE, .*or its number from 0"),
        (event(1, "START"), "type: 'START' is not allowed: one of SUBMIT"),
        (event(1, 1.5), "type: 1.5 is not allowed: one of SUBMIT"),
        (event(1, 3, collection="x"), "collection_id: 'x' is not allowed: a whole number"),
        (event(-1, 3), "time: -1000000 is not allowed: a whole number, at least 0"),
        (event(1, 3, instance=True), "instance_index: True is not allowed"),
        (event(1, 3, collection_type=2), "collection_type: 2 is not allowed: one of JOB, ALLOC"),
        (event(1, 3, resource_request=4), "resource_request: 4 is not allowed: an object with"),
        (
            event(1, 3, resource_request={"cpus": "many"}),
            "resource_request.cpus: 'many' is not allowed: a number, at least 0",
        ),
        (
            event(1, 3, resource_request={"cpus": 1, "memory": -1}),
            "resource_request.memory: -1 is not allowed: a number, at least 0",
        ),
    ],
)
def test_bad_lines(events, line, words):
    with pytest.raises(TraceError, match=f"events.json, line 2: {words}"):
        load_borg(events(EVENTS[0], line))


def test_bad_files(events, tmp_path):
    with pytest.raises(TraceError, match="has no instances that were scheduled and ended"):
        load_borg(events(EVENTS[0]))
    with pytest.raises(TraceError, match="has no instances that were scheduled and ended"):
        load_borg(events(""))
    with pytest.raises(TraceError, match="does not exist"):
        load_borg(tmp_path / "nowhere.json")
    (tmp_path / "broken.json.gz").write_bytes(b"no gzip")
    with pytest.raises(TraceError, match=r"broken.json.gz, line 1: cannot be read"):
        load_borg(tmp_path / "broken.json.gz")
