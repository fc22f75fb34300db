"""Alibaba's table of batch tasks of 2018 as workflows."""

import pytest

from cloudarena.base.errors import SpecError, TraceError
from cloudarena.workloads.workflow.alibaba2018 import load_alibaba2018_workflows

ROWS = (
    "M1,1,j_2,1,Terminated,100,107,50,0.25",
    "R2_1,3.0,j_2,1,Terminated,100,110,100,0.5",
    "J3_1_2,371,j_2,1,Terminated,90,110,200,0.01",
    "task_xyz,2,j_7,12,Terminated,70,70,0,0",
    "M1,1,j_8,1,Failed,20,30,100,1",
)


@pytest.fixture
def table(tmp_path):
    """Writes a table and returns its path."""

    def build(*rows):
        path = tmp_path / "batch_task.csv"
        path.write_text("\n".join(rows) + "\n")
        return path

    return build


def test_by_hand(table):
    workload = load_alibaba2018_workflows(table(*ROWS), single_core_speed=1000)
    assert workload.workflow_ids.to_pylist() == ["j_7", "j_2"]
    assert workload.arrival.tolist() == [0, 20]
    assert workload.template_names == ("alibaba-2018",)
    assert workload.function_ids.to_pylist() == ["task_xyz", "M1", "R2_1", "J3_1_2"]
    # Instances, at most four at a time; all their work, at least an operation.
    assert workload.parallelism.tolist() == [2, 1, 3, 4]
    assert workload.computation.tolist() == [1, 3500, 30_000, 371 * 2 * 20 * 1000]
    # Shares of 196,608 MB for all that run at a time.
    assert workload.memory_req.tolist() == [1, 492, 2950, 79]
    assert workload.first_parent.tolist() == [0, 0, 0, 1, 3]
    assert workload.parents.tolist() == [1, 1, 2]
    assert workload.parent_bytes.tolist() == [0, 0, 0]


def test_parameters(table):
    path = table(*ROWS)
    workload = load_alibaba2018_workflows(path, workers=1, machine_memory_mb=1000, offset=1)
    assert workload.workflow_ids.to_pylist() == ["j_2"]
    assert workload.arrival.tolist() == [0]
    assert workload.parallelism.tolist() == [1, 1, 1]
    assert workload.memory_req.tolist() == [3, 5, 1]
    assert load_alibaba2018_workflows(path, workflows=1).workflow_ids.to_pylist() == ["j_7"]
    assert load_alibaba2018_workflows(path, "Failed").workflow_ids.to_pylist() == ["j_8"]


@pytest.mark.parametrize("name", ["workers", "machine_memory_mb", "single_core_speed"])
def test_parameters_are_checked(table, name):
    with pytest.raises(SpecError, match=f"{name}: 0 is not allowed: at least 1"):
        load_alibaba2018_workflows(table(*ROWS), **{name: 0})


def test_more_work_than_can_be_counted(table):
    row = "M1,1000000,j_2,1,Terminated,0,691200,9600,1"
    with pytest.raises(
        TraceError, match=r"csv: workflow 'j_2', function 'M1': computation: \d+ is"
    ):
        load_alibaba2018_workflows(table(row))
