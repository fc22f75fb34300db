"""The canonical format of workflows: what may stand in it, and what is made of it."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import TraceError
from cloudarena.workloads.workflow.columns import WorkflowMix
from cloudarena.workloads.workflow.files import (
    load_workflow_file,
    read_workflow_file,
    write_workflow_file,
)
from cloudarena.workloads.workflow.shapes import SHAPES, draw_workflows

from .cases import same, templates

FUNCTION = {"computation": 2000, "memory_req": 128, "parallelism": 2}
PAIR = {"functions": [FUNCTION, {**FUNCTION, "name": "last"}], "edges": [[0, 1, 9]]}


@pytest.fixture
def file(tmp_path):
    """Writes a document and returns its path."""

    def build(document, name="workflows.json"):
        path = tmp_path / name
        text = json.dumps(document).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return build


@pytest.mark.parametrize("name", ["workflows.json", "workflows.json.gz"])
def test_templates(file, name):
    document = {"templates": [PAIR], "arrivals": [5, 2.5, 7], "single_core_speed": 1e3}
    mix = read_workflow_file(file(document, name))
    assert mix.single_core_speed == 1000
    assert mix.arrivals.tolist() == [5, 2.5, 7]
    assert mix.which.tolist() == [0, 0, 0]
    template = mix.templates[0]
    assert template.name == "0"
    assert template.function_names == ("0", "last")
    assert template.edges.tolist() == [[0, 1, 9]]
    assert load_workflow_file(file(document, name)).arrival.tolist() == [2.5, 5, 7]


def test_templates_come_in_turn_or_as_is_said(file):
    two = {"templates": [PAIR, {"name": "one", "functions": [FUNCTION]}]}
    assert read_workflow_file(file(two)).which.tolist() == [0, 1]
    assert read_workflow_file(file(two)).arrivals.tolist() == [0, 0]
    in_turn = read_workflow_file(file({**two, "arrivals": [0, 1, 2]}))
    assert in_turn.which.tolist() == [0, 1, 0]
    said = read_workflow_file(file({**two, "arrivals": [0, 1, 2], "which": [1, 1, 0]}))
    assert said.which.tolist() == [1, 1, 0]
    assert [template.name for template in said.templates] == ["0", "one"]


def test_workflows_as_in_a_spec(file):
    workflows = [{"arrival": 3, **PAIR}, {"functions": [FUNCTION]}]
    workload = load_workflow_file(file({"workflows": workflows}))
    assert workload.workflow_ids.to_pylist() == [1, 0]
    assert workload.arrival.tolist() == [0, 3]
    assert workload.first_function.tolist() == [0, 1, 3]
    assert workload.parent_bytes.tolist() == [9]


def test_round_trip_of_each_shape(tmp_path):
    mix = draw_workflows(list(SHAPES), 40, 25, 3, templates=2, single_core_speed=1234)
    write_workflow_file(mix, tmp_path / "trace")
    again = read_workflow_file(tmp_path / "trace" / "workflows.json")
    assert again.arrivals.tolist() == mix.arrivals.tolist()
    assert again.which.tolist() == mix.which.tolist()
    assert again.single_core_speed == 1234
    for one, other in zip(mix.templates, again.templates, strict=True):
        same(one, other)


@given(st.lists(templates(), min_size=1, max_size=3), st.lists(st.floats(0, 1e10), min_size=1))
def test_round_trip_is_exact(tmp_path_factory, some, arrivals):
    which = np.arange(len(arrivals)) % len(some)
    folder = tmp_path_factory.mktemp("trace")
    write_workflow_file(WorkflowMix(tuple(some), np.array(arrivals), which), folder)
    again = read_workflow_file(folder / "workflows.json")
    assert again.arrivals.tolist() == arrivals
    assert again.which.tolist() == which.tolist()
    for one, other in zip(some, again.templates, strict=True):
        same(one, other)


def changed(**entries):
    """A template whose second function, or else, is changed; None takes an entry away."""
    function = {**FUNCTION, **entries}
    cells = {key: value for key, value in function.items() if value is not None}
    return {"templates": [{**PAIR, "functions": [FUNCTION, cells]}]}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            changed(computation=0),
            r"templates\[0\].functions\[1\].computation: 0 is not allowed: a w",
        ),
        (
            changed(computation=1.5),
            r"computation: 1.5 is not allowed: a whole number from 1 to 9,00",
        ),
        (changed(computation=10**40), "computation: 1000.* is not allowed"),
        (changed(computation="9"), "computation: '9' is not allowed"),
        (changed(computation=True), "computation: True is not allowed"),
        (changed(computation=None), r"functions\[1\].computation: is missing"),
        (changed(memory_req=-1), "memory_req: -1 is not allowed: a whole number from 1 to"),
        (changed(parallelism=0), "parallelism: 0 is not allowed: a whole number from 1 to"),
        (changed(memory=9), r"functions\[1\]: key 'memory' is not .* Did you mean 'memory_req'"),
        (changed(name=4), r"functions\[1\].name: 4 is not allowed: text"),
        (
            {"templates": [{**PAIR, "edges": [[0, 2, 1]]}]},
            r"edges\[0\]: 2 is not allowed: .* 0 to 1",
        ),
        ({"templates": [{**PAIR, "edges": [[0, 1, -1]]}]}, r"edges\[0\]: -1 is not allowed"),
        (
            {"templates": [{**PAIR, "edges": [[0, 1]]}]},
            r"edges\[0\]: \[0, 1\] is .*: from, to and b",
        ),
        ({"templates": [{**PAIR, "edges": [[0, 1, 1], [1, 0, 1]]}]}, "in a circle: 0, last, 0"),
        ({"templates": [{**PAIR, "edges": 3}]}, "edges: 3 is not allowed: a list"),
        ({"templates": [{"functions": []}]}, r"templates\[0\]: workflow '0': has no functions"),
        ({"templates": [{}]}, r"templates\[0\].functions: is missing"),
        ({"templates": [PAIR], "arrival": [0]}, "key 'arrival' is not .* Did you mean 'arrivals'"),
        ({"templates": [PAIR], "arrivals": [0, -1]}, r"arrivals\[1\]: -1 is not allowed: a number"),
        ({"templates": [PAIR], "arrivals": [0, "1"]}, r"arrivals\[1\]: '1' is not allowed"),
        ({"templates": [PAIR], "arrivals": []}, "has no workflows"),
        ({"templates": [PAIR], "which": [1]}, r"which\[0\]: 1 is not allowed: .* from 0 to 0"),
        ({"templates": [PAIR], "which": [0, 0]}, "which: has 2 entries for 1 workflows"),
        ({"templates": []}, "has no workflows"),
        ({"templates": [PAIR], "single_core_speed": 0}, "single_core_speed: 0 is not allowed"),
        ({"workflows": []}, "has no workflows"),
        ({"workflows": [{**PAIR, "arrival": -2}]}, r"workflows\[0\].arrival: -2 is not allowed"),
        ({"workflows": [7]}, r"workflows\[0\]: 7 is not allowed: a mapping of keys"),
        ({"workflows": [PAIR], "arrivals": [0]}, "key 'arrivals' is not allowed: only single_core"),
        ({}, "templates: is missing"),
        (7, "is not allowed: a mapping of keys"),
    ],
)
def test_mistakes(file, document, words):
    with pytest.raises(TraceError, match=rf"workflows\.json: .*{words}"):
        read_workflow_file(file(document))


def test_bad_files(file, tmp_path):
    path = file({})
    path.write_text('{"templates": [\n1,,]}')
    with pytest.raises(TraceError, match=r"workflows\.json, line 2: is not JSON"):
        read_workflow_file(path)
    path.write_text('{"templates": [{"functions": []}], "arrivals": [NaN]}')
    with pytest.raises(TraceError, match="has no functions"):
        read_workflow_file(path)
    with pytest.raises(TraceError, match="does not exist"):
        read_workflow_file(tmp_path / "nowhere.json")
