"""Workflows with run times, and the distributions of what traces do not tell."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError, TraceError
from cloudarena.engine.streams import stream
from cloudarena.workloads.workflow.timed import TimedWorkflow, resource_distribution, template_of


def rng(seed=0):
    return stream(seed, "resources")


def timed(runtime_s, memory_req=None, parallelism=None, edges=()):
    functions = len(runtime_s)
    zeros = np.zeros(functions, np.int64)
    return TimedWorkflow(
        name="w",
        function_names=tuple("abcdefgh"[:functions]),
        runtime_s=np.array(runtime_s, float),
        memory_req=zeros if memory_req is None else np.array(memory_req),
        parallelism=zeros if parallelism is None else np.array(parallelism),
        edges=np.array(edges, np.int64).reshape(-1, 3),
    )


def test_computation_is_the_run_time_on_enough_cores():
    trace = timed([2.0, 0.0, 13.59, 1e-12], [64, 1, 2, 3], [3, 1, 1, 4], [(0, 2, 9)])
    template = template_of(trace, rng(), single_core_speed=1000)
    # A run time of 0, or of less than an operation, is one operation.
    assert template.computation.tolist() == [6000, 1, 13590, 1]
    assert template.memory_req.tolist() == [64, 1, 2, 3]
    assert template.parallelism.tolist() == [3, 1, 1, 4]
    assert template.edges.tolist() == [[0, 2, 9]]
    assert template.function_names == ("a", "b", "c", "d")
    assert template_of(trace, rng()).computation.tolist() == [6 * 10**9, 1, 13_590_000_000, 1]


def test_what_is_not_known_is_drawn():
    unknown = template_of(timed([1.0] * 6), rng())
    some = template_of(timed([1.0] * 6, [0, 7, 0, 0, 0, 0], [0, 0, 0, 8, 0, 0]), rng())
    memory, parallelism = unknown.memory_req.tolist(), unknown.parallelism.tolist()
    assert some.memory_req.tolist() == [memory[0], 7, *memory[2:]]
    assert some.parallelism.tolist() == [*parallelism[:3], 8, *parallelism[4:]]
    assert unknown.computation.tolist() == [10**9 * cores for cores in parallelism]
    assert template_of(timed([1.0] * 6), rng(1)).memory_req.tolist() != memory


def test_azure_like():
    memory, parallelism = resource_distribution("azure-like")(rng(), 100_000)
    assert np.percentile(memory, [50, 90]) == pytest.approx([170, 400], rel=0.02)
    assert memory.min() >= 16
    assert memory.max() == 1536
    shares = np.bincount(parallelism, minlength=5)[1:] / 100_000
    assert shares == pytest.approx([0.7, 0.2, 0, 0.1], abs=0.01)
    assert memory.dtype == parallelism.dtype == np.int64


def test_one_core():
    memory, parallelism = resource_distribution("one-core")(rng(), 3)
    assert (memory.tolist(), parallelism.tolist()) == ([128] * 3, [1] * 3)


def test_laws_are_checked():
    with pytest.raises(SpecError, match=r"resources: 'azure' .* one of azure-like, one-core\. Did"):
        template_of(timed([1.0]), rng(), "azure")
    with pytest.raises(SpecError, match="single_core_speed: 0 is not allowed: at least 1"):
        template_of(timed([1.0]), rng(), single_core_speed=0)


@pytest.mark.parametrize("runtime", [-1.0, float("nan"), float("inf"), 1e11])
def test_run_times_are_checked(runtime):
    with pytest.raises(
        TraceError, match=r"x.dax: workflow 'w', function 'b': runtime_s: .* is not"
    ):
        template_of(timed([1.0, runtime]), rng(), source="x.dax")


def test_more_work_than_can_be_counted():
    with pytest.raises(TraceError, match=r"function 'a': computation: \d+ is not allowed: from 1"):
        template_of(timed([1e9]), rng())
