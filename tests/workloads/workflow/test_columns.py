"""Workflows as templates and as columns: what they must be, how they are laid out."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import TraceError
from cloudarena.workloads.workflow.columns import check_workload, describe, lay_out, templates_of
from cloudarena.workloads.workflow.template import workflow_template

from .cases import chain, diamond, same, templates


def make(**changes):
    columns = {
        "computation": [5, 6, 7],
        "memory_req": [1, 1, 1],
        "parallelism": [1, 1, 1],
        "edges": [(0, 1, 3), (1, 2, 4)],
        **changes,
    }
    return workflow_template("w", **columns)


def test_a_template_has_its_edges_in_order():
    template = diamond()
    assert template.edges.tolist() == [[2, 0, 0], [3, 0, 7], [1, 2, 5], [1, 3, 6]]
    assert template.function_names == ("end", "begin", "left", "right")
    assert chain().function_names == ("0", "1", "2")
    assert workflow_template("w", [1], [1], [1]).edges.shape == (0, 3)


def test_such_floats_as_1e9_are_whole():
    assert make(computation=[1e9, 1.0, 2.0]).computation.tolist() == [10**9, 1, 2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"computation": [5, 0, 7]}, "'w', function '1': computation: 0 is not allowed: from 1 to"),
        ({"computation": [5, -1, 7]}, "function '1': computation: -1 is not allowed"),
        ({"computation": [5, 2**53 + 1, 7]}, "computation: 9007199254740993 is not allowed"),
        ({"computation": [5, 2**63, 7]}, "computation: 9.22.* is not allowed: whole"),
        ({"computation": [5, 2**70, 7]}, "computation: .* is not allowed: whole numbers"),
        ({"computation": [5, 1.5, 7]}, "computation: 1.5 is not allowed: whole numbers"),
        ({"computation": [5, float("nan"), 7]}, "computation: nan is not allowed: whole numbers"),
        ({"computation": [5, "six", 7]}, "computation: 5 is not allowed: whole numbers"),
        ({"memory_req": [1, 1, 0]}, "function '2': memory_req: 0 is not allowed: from 1 to"),
        ({"parallelism": [0, 1, 1]}, "function '0': parallelism: 0 is not allowed: from 1 to"),
        ({"parallelism": [1, 1]}, r"workflow 'w': its columns have 3, 3, 2, 3 rows"),
        ({"edges": [(0, 1, -1)]}, r"edges\[0\]: \[0, 1, -1\] is not allowed: bytes are from 0"),
        (
            {"edges": [(0, 1, 1), (0, 3, 1)]},
            r"edges\[1\]: .* not allowed: functions are from 0 to 2",
        ),
        ({"edges": [(-1, 1, 1)]}, "functions are from 0 to 2"),
        ({"edges": [(1, 1, 1)]}, "a function cannot wait for itself"),
        (
            {"edges": [(0, 1, 1), (1, 2, 1), (0, 1, 9)]},
            r"edges\[2\]: .*: this edge is a dupl",
        ),
        ({"edges": [(0, 1)]}, r"edges: are not rows of \(from, to, bytes\)"),
        ({"edges": [(0, 1, 2), (1, 2)]}, "edges: is not a table of whole numbers"),
        (
            {"edges": [(0, 1, 1), (1, 2, 1), (2, 0, 1)]},
            "wait for each other in a circle: 0, 2, 1, 0",
        ),
        ({"computation": [], "memory_req": [], "parallelism": []}, "'w': has no functions"),
    ],
)
def test_what_cannot_be_is_refused(changes, words):
    with pytest.raises(TraceError, match=words):
        make(**changes)


def test_a_long_circle_is_cut():
    edges = [(k, (k + 1) % 9, 0) for k in range(9)]
    with pytest.raises(TraceError, match=r"circle: \d(, \d){4}, \.\.\.$"):
        workflow_template("w", [1] * 9, [1] * 9, [1] * 9, edges, source="file")


def test_laid_out_by_hand():
    workload = lay_out([chain(functions=2), diamond()], [5.0, 1.5, 5.0], [0, 1, 1])
    assert workload.workflow_ids.to_pylist() == [1, 0, 2]
    assert workload.arrival.tolist() == [1.5, 5, 5]
    assert workload.template.tolist() == [1, 0, 1]
    assert workload.template_names == ("chain", "diamond")
    assert workload.first_function.tolist() == [0, 4, 6, 10]
    assert workload.function_ids[3:6].to_pylist() == ["right", "0", "1"]
    assert (workload.computation // 1000).tolist() == [4, 1, 6, 1, 1, 2, 4, 1, 6, 1]
    assert workload.memory_req[4:8].tolist() == [128, 128, 128, 256]
    assert workload.parallelism.tolist() == [1, 1, 2, 1, 1, 1, 1, 1, 2, 1]
    assert workload.first_parent.tolist() == [0, 2, 2, 3, 4, 4, 5, 7, 7, 8, 9]
    assert workload.parents.tolist() == [2, 3, 1, 1, 4, 8, 9, 7, 7]
    assert workload.parent_bytes.tolist() == [0, 7, 5, 6, 10, 0, 7, 5, 6]
    check_workload(workload)


def test_names_of_functions_that_are_numbers_are_numbers():
    assert lay_out([chain()], [0], [0]).function_ids.type == pa.int64()
    assert lay_out([diamond()], [0], [0]).function_ids.type == pa.string()


def test_ids_of_workflows_move_with_them():
    workload = lay_out([chain()], [2.0, 1.0], [0, 0], pa.array(["late", "early"]))
    assert workload.workflow_ids.to_pylist() == ["early", "late"]


@pytest.mark.parametrize(
    ("arrivals", "which", "words"),
    [
        ([], [], "there are no workflows"),
        ([0, -1.0], [0, 0], r"arrivals\[1\]: -1.0 is not allowed: from 0 to 1e\+10 s"),
        ([0, float("nan")], [0, 0], r"arrivals\[1\]: nan is not allowed"),
        ([0, float("inf")], [0, 0], r"arrivals\[1\]: inf is not allowed"),
        ([0, 1], [0, 1], r"which\[1\]: 1 is not allowed: a template from 0 to 0"),
        ([0, 1], [0, -1], r"which\[1\]: -1 is not allowed"),
        ([0, 1], [0], "which: has 1 entries for 2 arrivals"),
    ],
)
def test_arrivals_that_cannot_be(arrivals, which, words):
    with pytest.raises(TraceError, match=words):
        lay_out([chain()], arrivals, which)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arrival": [0.0, -2.0]}, "file: workflow 1: arrival: -2.0 is not allowed: from 0 to"),
        ({"computation": [1] * 5 + [0]}, "workflow 1, function 2: computation: 0 is not allowed"),
        ({"memory_req": [0] + [1] * 5}, "workflow 0, function 0: memory_req: 0 is not allowed"),
        ({"parallelism": [1, 1, 0, 1, 1, 1]}, "workflow 0, function 2: parallelism: 0 is not"),
        ({"parent_bytes": [0, 0, -4, 0]}, "workflow 1, function 1: bytes: -4 is not allowed"),
        ({"parents": [0, 4, 3, 4]}, "workflow 0, function 2: waits for a function of another"),
        ({"parents": [2, 1, 3, 4]}, "workflow 0, function .: waits for itself, through others"),
        ({"first_function": [0, 6, 6]}, "workflow 1: has no functions"),
        ({"arrival": np.empty(0)}, "file: has no workflows"),
    ],
)
def test_columns_that_cannot_be(changes, words):
    workload = lay_out([chain()], [0, 1], [0, 0])
    changed = {name: np.asarray(values) for name, values in changes.items()}
    with pytest.raises(TraceError, match=words):
        check_workload(workload._replace(**changed), "file")


def test_described_by_hand():
    figures = describe(lay_out([chain(functions=2), diamond()], [5.0, 1.5, 5.0], [0, 1, 1]), 1000)
    assert figures == {
        "workflows": 3,
        "templates": 2,
        "functions": 10,
        "edges": 9,
        "edges_without_bytes": 2,
        "sources": 3,
        "span_s": 3.5,
        "functions_per_workflow_mean": pytest.approx(10 / 3),
        "levels_mean": pytest.approx(8 / 3),
        "levels_max": 3,
        "width_mean": pytest.approx(5 / 3),
        "width_max": 2,
        # A diamond: 1 s, then 3 s and 1 s, then 4 s. A chain of 1 s and 2 s.
        "critical_path_mean_s": pytest.approx((8 + 8 + 3) / 3),
        "critical_path_max_s": 8.0,
        "runtime_total_s": 9 + 9 + 3,
        "core_seconds": 12 + 12 + 3,
        "bytes": 46,
        "memory_mean_mb": pytest.approx((2 * 1920 + 256) / 10),
        "memory_max_mb": 1024,
        "parallelism_mean": 1.2,
        "parallelism_max": 2,
    }


@given(
    st.lists(templates(), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=12),
)
def test_each_workflow_is_its_template(some, workflows):
    arrivals = np.array([arrival for arrival, _ in workflows], float)
    which = np.array([number % len(some) for _, number in workflows])
    workload = lay_out(some, arrivals, which)
    check_workload(workload)
    assert (np.diff(workload.arrival) >= 0).all()
    ids = workload.workflow_ids.to_pylist()
    assert ids == sorted(ids, key=lambda k: (arrivals[k], k))
    for w, template in enumerate(templates_of(workload).templates):
        same(template._replace(name=""), some[which[ids[w]]]._replace(name=""))


@given(templates())
def test_parents_are_those_of_the_edges(template):
    workload = lay_out([template], [0.0], [0])
    listed = [
        (int(parent), function, int(size))
        for function in range(len(template.computation))
        for parent, size in zip(
            workload.parents[slice(*workload.first_parent[function : function + 2])],
            workload.parent_bytes[slice(*workload.first_parent[function : function + 2])],
            strict=True,
        )
    ]
    assert listed == [tuple(edge) for edge in template.edges.tolist()]
