"""WfCommons instances in WfFormat."""

import gzip
import json
from copy import deepcopy

import pytest

from cloudarena.base.errors import TraceError
from cloudarena.workloads.workflow.wfformat import read_wfformat

INSTANCE = {
    "name": "fork",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {
                    "name": "split",
                    "id": "split_1",
                    "parents": [],
                    "children": ["left", "right"],
                    "inputFiles": ["raw"],
                    "outputFiles": ["one", "two", "one"],
                },
                {
                    "name": "work",
                    "id": "left",
                    "parents": ["split_1"],
                    "children": [],
                    "inputFiles": ["one", "two"],
                    "outputFiles": ["three"],
                },
                {"name": "work", "id": "right", "parents": ["left"], "children": []},
            ],
            "files": [
                {"id": "raw", "sizeInBytes": 10**12},
                {"id": "one", "sizeInBytes": 100},
                {"id": "two", "sizeInBytes": 20},
                {"id": "three", "sizeInBytes": 3},
            ],
        },
        "execution": {
            "makespanInSeconds": 10,
            "executedAt": "2020-03-20T15:19:28-08:00",
            "tasks": [
                {"id": "right", "runtimeInSeconds": 0, "coreCount": 2.5, "memoryInBytes": 2**21},
                {"id": "split_1", "runtimeInSeconds": 1.5, "memoryInBytes": 2**20 + 1},
                {"id": "left", "runtimeInSeconds": 7, "coreCount": 4, "memoryInBytes": 0},
            ],
        },
    },
}
SPECIFICATION = ("workflow", "specification")
EXECUTION = ("workflow", "execution")


@pytest.fixture
def instance(tmp_path):
    """Writes an instance and returns its path."""

    def build(document=INSTANCE, name="fork.json"):
        path = tmp_path / name
        text = json.dumps(document, indent=1).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return build


def changed(*path, value):
    """The instance with one entry changed; None takes it away."""
    document = deepcopy(INSTANCE)
    place = document
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return document


@pytest.mark.parametrize("name", ["fork.json", "fork.json.gz"])
def test_by_hand(instance, name):
    workflow = read_wfformat(instance(name=name))
    assert workflow.name == "fork"
    assert workflow.function_names == ("split_1", "left", "right")
    assert workflow.runtime_s.tolist() == [1.5, 7, 0]
    assert workflow.memory_req.tolist() == [2, 0, 2]
    assert workflow.parallelism.tolist() == [0, 4, 3]
    # By parents; by children only, with no file in common.
    assert workflow.edges.tolist() == [[0, 1, 120], [1, 2, 0], [0, 2, 0]]


def test_version_1_6(instance):
    document = changed("schemaVersion", value="1.6")
    document["workflow"]["specification"]["metrics"] = {"numberOfTasks": 3}
    assert read_wfformat(instance(document)).edges[0].tolist() == [0, 1, 120]


def test_without_files_edges_carry_nothing(instance):
    workflow = read_wfformat(instance(changed(*SPECIFICATION, "files", value=None)))
    assert workflow.edges[:, 2].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (changed("schemaVersion", value="1.4"), "schemaVersion: '1.4' is not allowed: one of 1.5"),
        (changed("schemaVersion", value=1.5), "schemaVersion: 1.5 is not allowed: text"),
        (changed("schemaVersion", value=None), "schemaVersion: is missing"),
        (changed("workflow", value=[]), r"workflow: \[\] is not allowed: a mapping of keys"),
        (changed(*SPECIFICATION, value=None), "workflow.specification: is missing"),
        (changed(*EXECUTION, value=None), "workflow.execution: is missing: run times are needed"),
        (changed(*SPECIFICATION, "tasks", value=[]), "specification.tasks: has no tasks"),
        (changed(*SPECIFICATION, "tasks", 1, value=7), r"tasks\[1\]: 7 is not allowed: a mapping"),
        (changed(*SPECIFICATION, "tasks", 1, "id", value=None), r"tasks\[1\].id: is missing"),
        (changed(*SPECIFICATION, "tasks", 1, "id", value="right"), r"tasks\[2\].id: 'right'"),
        (changed(*SPECIFICATION, "tasks", 1, "parents", value=[1]), r"parents\[0\]: 1 is .*: text"),
        (changed(*SPECIFICATION, "tasks", 1, "parents", value="x"), "parents: 'x' is .*: a list"),
        (changed(*SPECIFICATION, "tasks", 1, "parents", value=["split"]),
         "task 'left': 'split' is not a task. Did you mean 'split_1'"),
        (changed(*SPECIFICATION, "tasks", 1, "children", value=["up"]),
         "task 'left': 'up' is not a task"),
        (changed(*SPECIFICATION, "files", 1, value=None),
         "task 'split_1': the size of file 'one' is missing"),
        (changed(*SPECIFICATION, "files", 1, "sizeInBytes", value=-1),
         r"files\[1\].sizeInBytes: -1 is not allowed: a number from 0"),
        (changed(*EXECUTION, "tasks", 2, value=None), "task 'left': its run time is missing"),
        (changed(*EXECUTION, "tasks", 2, "runtimeInSeconds", value=None),
         r"execution.tasks\[2\].runtimeInSeconds: None is not allowed: a number from 0 to"),
        (changed(*EXECUTION, "tasks", 2, "runtimeInSeconds", value=-0.1), "-0.1 is not allowed"),
        (changed(*EXECUTION, "tasks", 2, "coreCount", value="4"), "coreCount: '4' is not allowed"),
        (changed(*EXECUTION, "tasks", 2, "memoryInBytes", value=-5), "memoryInBytes: -5 is not"),
        ([], r"\[\] is not allowed: a mapping of keys"),
    ],
)  # fmt: skip
def test_mistakes(instance, document, words):
    with pytest.raises(TraceError, match=rf"fork\.json: .*{words}"):
        read_wfformat(instance(document))


def test_not_json(instance):
    path = instance()
    path.write_text('{"name": "x",\n"schemaVersion" "1.5"}')
    with pytest.raises(TraceError, match=r"fork\.json, line 2: is not JSON: Expecting ':'"):
        read_wfformat(path)
    path.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(TraceError, match=r"fork\.json: is not JSON"):
        read_wfformat(path)
    path.write_text("1" * 5000)
    with pytest.raises(TraceError, match=r"fork\.json: is not JSON"):
        read_wfformat(path)
    path.write_text("[" * 100_000)
    with pytest.raises(TraceError, match=r"fork\.json: is not JSON"):
        read_wfformat(path)
