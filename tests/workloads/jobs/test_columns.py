"""Jobs as columns: put together, checked, sliced, described."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.base.errors import SpecError, TraceError
from cloudarena.engine.dag import circle, parent_lists, task_levels
from cloudarena.workloads.jobs.columns import (
    assemble,
    check_workload,
    describe,
    jobs_of_tasks,
    slice_jobs,
    tidy_ids,
)


def build(**changes):
    """Three jobs, the last in the list submitted first; job b is a diamond of four tasks."""
    columns = {
        "job_ids": pa.array(["a", "b", "c"]),
        "submit": np.array([130.0, 130.0, 100.0]),
        "user": np.array([7, 8, 7]),
        "job": np.array([1, 0, 1, 2, 1, 1]),
        "task_ids": pa.array(["b1", "a1", "b2", "c1", "b3", "b4"]),
        "instances": np.array([1, 2, 3, 4, 5, 6]),
        "demand": np.array([[1.0, 0.5, 0.0, 0.0]] * 5 + [[2.0, 0.0, 0.1, 1.0]]),
        "duration": np.array([10.0, 20.0, 30.0, 40.0, 50.0, 60.0]),
        "edges": np.array([[5, 4], [5, 2], [4, 0], [2, 0], [5, 2]]),
    }
    return assemble(**{**columns, **changes})


def test_jobs_are_sorted_and_tasks_stay_with_them():
    workload = build()
    assert workload.job_ids.to_pylist() == ["c", "a", "b"]
    assert workload.submit.tolist() == [0, 30, 30]
    assert workload.user.tolist() == [7, 7, 8]
    assert workload.first_task.tolist() == [0, 1, 2, 6]
    assert workload.task_ids.to_pylist() == ["c1", "a1", "b1", "b2", "b3", "b4"]
    assert workload.instances.tolist() == [4, 2, 1, 3, 5, 6]
    assert workload.duration.tolist() == [40, 20, 10, 30, 50, 60]
    assert workload.demand[5].tolist() == [2, 0, 0.1, 1]
    assert workload.first_parent.tolist() == [0, 0, 0, 0, 1, 2, 4]
    assert workload.parents.tolist() == [2, 2, 3, 4]
    assert jobs_of_tasks(workload).tolist() == [0, 1, 2, 2, 2, 2]


def test_what_is_not_given():
    workload = build(user=None, edges=None)
    assert workload.user.tolist() == [0, 0, 0]
    assert np.isnan(workload.estimate).all()  # nobody said anything: not the truth
    assert not workload.gang.any()
    assert workload.parents.size == 0
    assert workload.first_parent.tolist() == [0] * 7


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instances": np.array([1, 0, 1, 1, 1, 1])}, "job 'a', task 'a1': instances: 0 is not"),
        ({"duration": np.array([1, 1, 1, 1, 1, 0.0])}, "job 'b', task 'b4': duration: 0.0 is not"),
        ({"duration": np.array([1, 1, 1, np.inf, 1, 1])}, "task 'c1': duration: inf is not"),
        ({"duration": np.array([1, 1, np.nan, 1, 1, 1])}, "task 'b2': duration: nan is not"),
        ({"estimate": np.array([1, -1.0, 1, 1, 1, 1])}, "task 'a1': estimate: -1.0 is not"),
        ({"demand": np.full((6, 4), -1.0)}, "job 'c', task 'c1': cpu: -1.0 is not allowed: from 0"),
        ({"demand": np.full((6, 4), [0, 2e6, 0, 0])}, "memory: 2000000.0 .* from 0 to 1,000,000"),
        ({"demand": np.full((6, 4), [0, 0, 0, np.nan])}, "gpu: nan is not allowed"),
        ({"submit": np.array([0, 1, np.nan])}, "job 'c': submit: nan s after the first"),
        ({"submit": np.array([0, 1, 1e12])}, "job 'c': submit: .* at most 1e.10 s"),
        ({"job": np.array([1, 1, 1, 2, 1, 1])}, "job 'a': has no tasks"),
        ({"edges": np.array([[1, 0]])}, "job 'a', task 'a1': waits for a task of another job"),
        ({"edges": np.array([[0, 0]])}, "job 'b': its tasks wait .* in a circle: b1, b1$"),
        ({"edges": np.array([[0, 2], [2, 4], [4, 0], [5, 0]])}, "circle: b1, b2, b3, b1$"),
    ],
)
def test_what_cannot_be(changes, words):
    with pytest.raises(TraceError, match=words):
        build(**changes)
    with pytest.raises(TraceError, match=f"^trace.csv: .*{words}"):
        build(**changes, source="trace.csv")


def test_too_many_instances_in_all():
    workload = build()._replace(instances=np.full(6, 5 * 10**9))
    with pytest.raises(TraceError, match="has more than 10,000,000,000 instances"):
        check_workload(workload)


def test_no_jobs():
    none = np.empty(0)
    with pytest.raises(TraceError, match=r"^has no jobs$"):
        assemble(
            job_ids=pa.array([], pa.int64()),
            submit=none,
            job=none.astype(int),
            task_ids=pa.array([], pa.int64()),
            instances=none,
            demand=np.empty((0, 4)),
            duration=none,
        )


def test_a_slice_is_a_workload_of_its_own():
    workload = build()
    before = workload.submit.copy()
    part = slice_jobs(workload, 1, 2)
    assert part.job_ids.to_pylist() == ["a", "b"]
    assert part.submit.tolist() == [0, 0]
    assert part.first_task.tolist() == [0, 1, 5]
    assert part.task_ids.to_pylist() == ["a1", "b1", "b2", "b3", "b4"]
    assert part.first_parent.tolist() == [0, 0, 0, 1, 2, 4]
    assert part.parents.tolist() == [1, 1, 2, 3]
    check_workload(part)
    part.instances[:] = 99
    assert workload.instances.tolist() == [4, 2, 1, 3, 5, 6]
    assert workload.submit.tolist() == before.tolist()


def test_slices_end_where_the_jobs_end():
    workload = build()
    assert slice_jobs(workload) is workload
    assert len(slice_jobs(workload, 2, 10).submit) == 1
    assert len(slice_jobs(workload, 0, 1).parents) == 0
    with pytest.raises(
        SpecError, match=r"offset: 3 is not allowed: from 0 to 2, since there are 3"
    ):
        slice_jobs(workload, 3)
    with pytest.raises(SpecError, match="offset: -1 is not allowed"):
        slice_jobs(workload, -1)
    with pytest.raises(SpecError, match="jobs: 0 is not allowed: at least 1"):
        slice_jobs(workload, 0, 0)


def test_figures():
    figures = describe(build())
    assert figures == {
        "jobs": 3,
        "tasks": 6,
        "instances": 21,
        "edges": 4,
        "users": 2,
        "gang_tasks": 0,
        "begin_s": 100.0,
        "span_s": 30.0,
        "tasks_per_job_mean": 2.0,
        "instances_per_task_mean": 3.5,
        "instances_per_task_max": 6,
        "duration_mean_s": 35.0,
        "duration_median_s": 35.0,
        "cpu_seconds": 160.0 + 40 + 10 + 90 + 250 + 720,
        "tasks_with_estimate": 0,
        "jobs_with_edges": 1,
        "levels_mean": pytest.approx(5 / 3),
        "levels_max": 3,
        "width_mean": pytest.approx(4 / 3),
        "width_max": 2,
    }
    assert "levels_max" not in describe(slice_jobs(build(), 0, 2))


def test_ids():
    assert tidy_ids(pa.array(["3", "0", "-12"])).to_pylist() == [3, 0, -12]
    assert tidy_ids(pa.array(["3", "007"])).to_pylist() == ["3", "007"]
    assert tidy_ids(pa.array([1, 2], pa.int8())).type == pa.int64()
    assert tidy_ids(pa.array(["a", "a"]).dictionary_encode()).to_pylist() == ["a", "a"]


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40))
def test_levels_and_circles_of_any_graph(pairs):
    edges = np.array(pairs, np.int64).reshape(-1, 2)
    first, parents = parent_lists(12, edges)
    lists = [parents[first[task] : first[task + 1]].tolist() for task in range(12)]
    assert lists == [sorted({p for t, p in pairs if t == task}) for task in range(12)]
    levels = task_levels(first, parents)

    def longest(task, seen):
        if task in seen:
            return -1
        ways = [longest(parent, (*seen, task)) for parent in lists[task]]
        return -1 if -1 in ways else max(ways, default=-1) + 1 if ways else 0

    assert levels.tolist() == [longest(task, ()) for task in range(12)]
    members = circle(first, parents, levels)
    assert bool(members) == bool((levels < 0).any())
    for task, parent in zip(members, members[1:] + members[:1], strict=True):
        assert parent in lists[task]
