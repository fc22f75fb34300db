"""Workflows as traces tell them, by run times, and how they become templates.

``computation = round(runtime_s * single_core_speed * parallelism)``, so that a function alone on
enough cores takes its run time. A run time of 0, which traces round to, is one operation.

What a trace does not tell comes from a named distribution under a seed:

- ``azure-like``: memory is log-normal with median 170 MB and 90th percentile 400 MB, as the
  applications of Azure Functions have (Shahrad et al., USENIX ATC 2020, section 3.4), in whole
  MB from 16 to 1536, the most a function may have there. Parallelism is 1, 2 or 4 with
  probability 0.7, 0.2 and 0.1: no public trace tells it, these are our choice.
- ``one-core``: 128 MB and parallelism 1 for each function.

Functions are drawn independently, and known values stay: knowing one changes no other. Those of a
document are drawn by their names and its own, so their order in it, other functions and other
documents do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cloudarena.base.errors import SpecError, TraceError, check_choice
from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import LONGEST_TIME
from cloudarena.workloads.workflow.columns import SINGLE_CORE_SPEED
from cloudarena.workloads.workflow.template import (
    MOST_BYTES,
    WorkflowTemplate,
    workflow_template,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    ResourceDistribution = Callable[
        [np.random.Generator, int], tuple[NDArray[np.int64], NDArray[np.int64]]
    ]
    """A function from a generator and a count to memory in MB and parallelism."""

MEMORY_MEDIAN, MEMORY_P90 = 170.0, 400.0
LEAST_MEMORY, MOST_MEMORY = 16, 1536
PARALLELISM, PARALLELISM_SHARE = (1, 2, 4), (0.7, 0.2, 0.1)
NORMAL_P90 = 1.2815515655446004
"""The 90th percentile of the standard normal distribution."""


class TimedWorkflow(NamedTuple):
    """A DAG of functions with run times; edges are rows of (from, to, bytes)."""

    name: str
    function_names: tuple[str, ...]
    runtime_s: NDArray[np.float64]  # (functions,)
    memory_req: NDArray[np.int64]  # (functions,): MB, 0 where it is not known
    parallelism: NDArray[np.int64]  # (functions,): 0 where it is not known
    edges: NDArray[np.int64]  # (edges, 3)


def edge_rows(edges: Mapping[tuple[int, int], float]) -> NDArray[np.int64]:
    """Bytes by (from, to) as rows; too many stay too many, for the check of the template."""
    rows = [(*ends, min(round(size), MOST_BYTES + 1)) for ends, size in edges.items()]
    return np.array(rows, np.int64).reshape(-1, 3)


def _azure_like(
    rng: np.random.Generator, functions: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    sigma = math.log(MEMORY_P90 / MEMORY_MEDIAN) / NORMAL_P90
    memory = MEMORY_MEDIAN * np.exp(sigma * rng.standard_normal(functions))
    memory = np.clip(np.ceil(memory), LEAST_MEMORY, MOST_MEMORY)
    return memory.astype(np.int64), rng.choice(PARALLELISM, functions, p=PARALLELISM_SHARE)


def _one_core(
    rng: np.random.Generator, functions: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.full(functions, 128), np.ones(functions, np.int64)


RESOURCES = "azure-like"
RESOURCE_DISTRIBUTIONS: dict[str, ResourceDistribution] = {
    "azure-like": _azure_like,
    "one-core": _one_core,
}


def resource_distribution(name: str) -> ResourceDistribution:
    """The distribution of memory and parallelism of a name."""
    check_choice("resources", name, RESOURCE_DISTRIBUTIONS)
    return RESOURCE_DISTRIBUTIONS[name]


def with_resources(timed: TimedWorkflow, seed: int, resources: str = RESOURCES) -> TimedWorkflow:
    """Returns the workflow with memory and parallelism that a document lacks, drawn by name."""
    distribution = resource_distribution(resources)
    memory, parallelism = timed.memory_req.copy(), timed.parallelism.copy()
    for k in np.flatnonzero((memory <= 0) | (parallelism <= 0)).tolist():
        drawn = distribution(stream(seed, f"resources/{timed.name}/{timed.function_names[k]}"), 1)
        memory[k] = memory[k] if memory[k] > 0 else drawn[0][0]
        parallelism[k] = parallelism[k] if parallelism[k] > 0 else drawn[1][0]
    return timed._replace(memory_req=memory, parallelism=parallelism)


def not_told(documents: Sequence[TimedWorkflow], seed: int, resources: str) -> dict[str, str]:
    """What documents do not tell of their functions, by column, and where it comes from."""
    count = sum(len(one.runtime_s) for one in documents)
    told = {}
    for column, one_core in (("memory_req", "128 MB"), ("parallelism", "1")):
        missing = sum(int((getattr(one, column) <= 0).sum()) for one in documents)
        if missing:
            words = f"{one_core}, set" if resources == "one-core" else f"drawn under seed {seed}"
            told[column] = (
                f"{words} by the distribution {resources} for {missing:,} of {count:,} functions"
            )
    if "parallelism" in told:
        told["computation"] = f"run times times the parallelism, which is {told['parallelism']}"
    return told


def template_of(
    timed: TimedWorkflow,
    rng: np.random.Generator,
    resources: str = RESOURCES,
    single_core_speed: int = SINGLE_CORE_SPEED,
    source: str = "",
) -> WorkflowTemplate:
    """Makes a template of a workflow with run times; ``rng`` draws what is not known."""
    if single_core_speed < 1:
        raise SpecError(f"single_core_speed: {single_core_speed} is not allowed: at least 1")
    memory, parallelism = resource_distribution(resources)(rng, len(timed.runtime_s))
    memory = np.where(timed.memory_req > 0, timed.memory_req, memory)
    parallelism = np.where(timed.parallelism > 0, timed.parallelism, parallelism)
    good = (timed.runtime_s >= 0) & (timed.runtime_s <= LONGEST_TIME)
    if not good.all():
        k = int(np.argmin(good))
        prefix = f"{source}: " if source else ""
        raise TraceError(
            f"{prefix}workflow {timed.name!r}, function {timed.function_names[k]!r}: runtime_s: "
            f"{timed.runtime_s[k]:g} is not allowed: from 0 to {LONGEST_TIME:g}"
        )
    operations = np.rint(timed.runtime_s * float(single_core_speed) * parallelism)
    return workflow_template(
        timed.name,
        np.maximum(operations, 1.0),
        memory,
        parallelism,
        timed.edges,
        timed.function_names,
        source,
    )


def documents_as_templates(
    read: Callable[[Path], TimedWorkflow],
    paths: Sequence[Path],
    resources: str = RESOURCES,
    single_core_speed: int = SINGLE_CORE_SPEED,
    seed: int = 0,
) -> tuple[list[WorkflowTemplate], tuple[tuple[str, str], ...]]:
    """Reads documents as templates; also says what they do not tell, by column."""
    documents = [read(path) for path in paths]
    templates = [
        template_of(
            with_resources(one, seed, resources),
            stream(seed, "resources"),
            resources,
            single_core_speed,
            str(path),
        )
        for one, path in zip(documents, paths, strict=True)
    ]
    return templates, tuple(not_told(documents, seed, resources).items())
