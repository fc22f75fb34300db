"""Workflows as columns: DAGs of functions that arrive over time, what every source ends as."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.engine.dag import circle, task_levels
from cloudarena.workloads.jobs.columns import LONGEST_TIME, tidy_ids
from cloudarena.workloads.workflow.template import (
    MOST_BYTES,
    WorkflowTemplate,
    function_rules,
    offsets,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:  # specs are validated without Arrow
    import pyarrow as pa

SINGLE_CORE_SPEED = 1_000_000_000
"""Operations that a core does in a second, where nobody says otherwise."""


class WorkflowWorkload(NamedTuple):
    """Workflows in order of arrival; their functions workflow by workflow.

    The functions of workflow ``w`` are numbered ``first_function[w]`` to
    ``first_function[w + 1] - 1``. The parents of function ``f``, which must have finished before
    it is submitted, are ``parents[first_parent[f] : first_parent[f + 1]]``, in rising order;
    ``parent_bytes`` beside them is what ``f`` reads of each.
    """

    workflow_ids: pa.Array
    arrival: NDArray[np.float64]  # (workflows,): seconds
    template: NDArray[np.int64]  # (workflows,): an index in template_names
    template_names: tuple[str, ...]
    first_function: NDArray[np.int64]  # (workflows + 1,)
    function_ids: pa.Array
    computation: NDArray[np.int64]  # (functions,): operations
    memory_req: NDArray[np.int64]  # (functions,): MB
    parallelism: NDArray[np.int64]  # (functions,)
    first_parent: NDArray[np.int64]  # (functions + 1,)
    parents: NDArray[np.int64]
    parent_bytes: NDArray[np.int64]


class WorkflowMix(NamedTuple):
    """Templates, and when which of them arrives: what a file in the canonical format holds."""

    templates: tuple[WorkflowTemplate, ...]
    arrivals: NDArray[np.float64]  # (workflows,): seconds, in any order
    which: NDArray[np.int64]  # (workflows,): the template of each
    single_core_speed: int = SINGLE_CORE_SPEED
    """The speed that the computations were reckoned with: figures in seconds are for it."""
    not_told: tuple[tuple[str, str], ...] = ()
    """What the source does not tell, and where it comes from: rows of a column and words.

    Columns are those of a workload, ``arrivals``, ``seconds`` (of functions), or ``all``.
    """


def slice_workflows(workload: WorkflowWorkload, first: int, count: int) -> WorkflowWorkload:
    """Some workflows from a number on, with times from the first of them."""
    end = first + count
    begin, behind = (int(workload.first_function[one]) for one in (first, end))
    parent, last = (int(workload.first_parent[one]) for one in (begin, behind))
    return WorkflowWorkload(
        workflow_ids=workload.workflow_ids.slice(first, count),
        arrival=workload.arrival[first:end] - workload.arrival[first],
        template=workload.template[first:end].copy(),
        template_names=workload.template_names,
        first_function=workload.first_function[first : end + 1] - begin,
        function_ids=workload.function_ids.slice(begin, behind - begin),
        computation=workload.computation[begin:behind].copy(),
        memory_req=workload.memory_req[begin:behind].copy(),
        parallelism=workload.parallelism[begin:behind].copy(),
        first_parent=workload.first_parent[begin : behind + 1] - parent,
        parents=workload.parents[parent:last] - begin,
        parent_bytes=workload.parent_bytes[parent:last].copy(),
    )


def lay_out(
    templates: Sequence[WorkflowTemplate],
    arrivals: ArrayLike,
    which: ArrayLike,
    workflow_ids: pa.Array | None = None,
) -> WorkflowWorkload:
    """Workflows as columns, sorted by arrival; those of the same time stay as they stand.

    Args:
        templates: the templates there are, as ``workflow_template`` makes them.
        arrivals: when each workflow arrives, in seconds, at least 0.
        which: the template of each workflow, by index.
        workflow_ids: what the workflows are called; 0, 1, ... as they stand by default.
    """
    from cloudarena.base.arrow import arrow_column

    arrival, template = np.asarray(arrivals, np.float64), np.asarray(which, np.int64)
    _check_arrivals(arrival, template, len(templates))
    order = np.argsort(arrival, kind="stable")
    arrival, template = arrival[order], template[order]
    ids = arrow_column(order) if workflow_ids is None else workflow_ids.take(arrow_column(order))

    functions = np.array([len(one.computation) for one in templates], np.int64)
    edges = np.array([len(one.edges) for one in templates], np.int64)
    # Where functions and edges stand when the templates lie one after the other.
    function = _ranges(offsets(functions)[template], functions[template])
    edge = _ranges(offsets(edges)[template], edges[template])
    parents = [np.bincount(one.edges[:, 1], minlength=len(one.computation)) for one in templates]
    rows = np.concatenate([one.edges for one in templates])
    names = tidy_ids(arrow_column([name for one in templates for name in one.function_names]))
    first_function = offsets(functions[template])
    return WorkflowWorkload(
        workflow_ids=ids,
        arrival=arrival,
        template=template,
        template_names=tuple(one.name for one in templates),
        first_function=first_function,
        function_ids=names.take(arrow_column(function)),
        computation=np.concatenate([one.computation for one in templates])[function],
        memory_req=np.concatenate([one.memory_req for one in templates])[function],
        parallelism=np.concatenate([one.parallelism for one in templates])[function],
        first_parent=offsets(np.concatenate(parents)[function]),
        parents=rows[:, 0][edge] + np.repeat(first_function[:-1], edges[template]),
        parent_bytes=rows[:, 2][edge],
    )


def templates_of(workload: WorkflowWorkload) -> WorkflowMix:
    """Each workflow as a template of its own that arrives once, named by its id."""
    templates = []
    for w, name in enumerate(workload.workflow_ids.to_pylist()):
        first, last = (int(number) for number in workload.first_function[w : w + 2])
        first_parent = workload.first_parent[first : last + 1]
        edges = slice(int(first_parent[0]), int(first_parent[-1]))
        child = np.repeat(np.arange(last - first), np.diff(first_parent))
        rows = (workload.parents[edges] - first, child, workload.parent_bytes[edges])
        templates.append(
            WorkflowTemplate(
                name=str(name),
                function_names=tuple(map(str, workload.function_ids[first:last].to_pylist())),
                computation=workload.computation[first:last],
                memory_req=workload.memory_req[first:last],
                parallelism=workload.parallelism[first:last],
                edges=np.column_stack(rows),
            )
        )
    return WorkflowMix(tuple(templates), workload.arrival, np.arange(len(templates)))


def workflows_of_functions(workload: WorkflowWorkload) -> NDArray[np.int64]:
    """The workflow of each function."""
    return np.repeat(np.arange(len(workload.arrival)), np.diff(workload.first_function))


def check_workload(workload: WorkflowWorkload, source: str = "") -> None:
    """Raises for the first workflow or function that cannot be; the error names it.

    What ``lay_out`` makes of templates needs no check.
    """
    prefix = f"{source}: " if source else ""
    if len(workload.arrival) == 0:
        raise TraceError(f"{prefix}has no workflows")
    owner = workflows_of_functions(workload)

    def workflow_name(w: int) -> str:
        return f"{prefix}workflow {workload.workflow_ids[w].as_py()!r}"

    def function_name(f: int) -> str:
        name = workload.function_ids[f].as_py()
        return f"{workflow_name(int(owner[f]))}, function {name!r}"

    def refuse(name: str, what: str, value: Any, allowed: str) -> TraceError:
        return TraceError(f"{name}: {what}: {value} is not allowed: {allowed}")

    good = (workload.arrival >= 0) & (workload.arrival <= LONGEST_TIME)
    if not good.all():
        w = int(np.argmin(good))
        allowed = f"from 0 to {LONGEST_TIME:g} s"
        raise refuse(workflow_name(w), "arrival", workload.arrival[w], allowed)
    empty = np.diff(workload.first_function) == 0
    if empty.any():
        raise TraceError(f"{workflow_name(int(np.argmax(empty)))}: has no functions")
    for rule in function_rules(workload.computation, workload.memory_req, workload.parallelism):
        if not rule.good.all():
            f = int(np.argmin(rule.good))
            raise refuse(function_name(f), rule.name, rule.values[f], rule.allowed)
    child = np.repeat(np.arange(len(owner)), np.diff(workload.first_parent))
    good = (workload.parent_bytes >= 0) & (workload.parent_bytes <= MOST_BYTES)
    if not good.all():
        edge = int(np.argmin(good))
        name, size = function_name(int(child[edge])), workload.parent_bytes[edge]
        raise refuse(name, "bytes", size, f"from 0 to {MOST_BYTES:,}")
    foreign = owner[child] != owner[workload.parents]
    if foreign.any():
        name = function_name(int(child[np.argmax(foreign)]))
        raise TraceError(f"{name}: waits for a function of another workflow")
    levels = task_levels(workload.first_parent, workload.parents)
    members = circle(workload.first_parent, workload.parents, levels)
    if members:
        raise TraceError(f"{function_name(members[0])}: waits for itself, through others")


def describe(
    workload: WorkflowWorkload, single_core_speed: float = SINGLE_CORE_SPEED
) -> dict[str, Any]:
    """The figures by which workflows are known.

    ``runtime_total_s`` is the time of all functions, each alone on enough cores;
    ``core_seconds`` all work there is; a critical path is without transfers.
    """
    from cloudarena.workloads.workflow.paths import critical_path_s, function_seconds  # compiled

    workflows, functions = len(workload.arrival), len(workload.computation)
    levels = task_levels(workload.first_parent, workload.parents)
    depth = np.maximum.reduceat(levels, workload.first_function[:-1]) + 1
    first = offsets(depth)[:-1]
    together = np.bincount(first[workflows_of_functions(workload)] + levels)
    width = np.maximum.reduceat(together, first)
    path = critical_path_s(workload, single_core_speed)
    return {
        "workflows": workflows,
        "templates": len(np.unique(workload.template)),
        "functions": functions,
        "edges": len(workload.parents),
        "edges_without_bytes": int((workload.parent_bytes == 0).sum()),
        "sources": int((np.diff(workload.first_parent) == 0).sum()),
        "span_s": float(workload.arrival[-1] - workload.arrival[0]),
        "functions_per_workflow_mean": functions / workflows,
        "levels_mean": float(depth.mean()),
        "levels_max": int(depth.max()),
        "width_mean": float(width.mean()),
        "width_max": int(width.max()),
        "critical_path_mean_s": float(path.mean()),
        "critical_path_max_s": float(path.max()),
        "runtime_total_s": float(function_seconds(workload, single_core_speed).sum()),
        "core_seconds": float(workload.computation.sum(dtype=np.float64) / single_core_speed),
        "bytes": int(workload.parent_bytes.sum(dtype=np.float64)),
        "memory_mean_mb": float(workload.memory_req.mean()),
        "memory_max_mb": int(workload.memory_req.max()),
        "parallelism_mean": float(workload.parallelism.mean()),
        "parallelism_max": int(workload.parallelism.max()),
    }


FIGURES_OF = {
    "memory_req": ("memory_mean_mb", "memory_max_mb"),
    "parallelism": ("parallelism_mean", "parallelism_max"),
    "computation": ("core_seconds",),
    "seconds": ("runtime_total_s", "critical_path_mean_s", "critical_path_max_s"),
    "parent_bytes": ("bytes", "edges_without_bytes"),
    "arrivals": ("span_s",),
}
"""The figures of ``describe`` that follow from a column."""


def figures_not_told(not_told: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The figures that a source does not tell, by name, and where they come from."""
    return {
        figure: words for column, words in not_told for figure in FIGURES_OF.get(column, (column,))
    }


def _check_arrivals(arrival: NDArray[np.float64], which: NDArray[np.int64], templates: int) -> None:
    if len(arrival) == 0:
        raise TraceError("there are no workflows")
    if len(which) != len(arrival):
        raise TraceError(f"which: has {len(which)} entries for {len(arrival)} arrivals")
    on_time = (arrival >= 0) & (arrival <= LONGEST_TIME)
    known = (which >= 0) & (which < templates)
    for name, values, good, allowed in (
        ("arrivals", arrival, on_time, f"from 0 to {LONGEST_TIME:g} s"),
        ("which", which, known, f"a template from 0 to {templates - 1}"),
    ):
        if not good.all():
            k = int(np.argmin(good))
            raise TraceError(f"{name}[{k}]: {values[k]} is not allowed: {allowed}")


def _ranges(begin: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers from each begin on, range after range."""
    return np.repeat(begin - offsets(length)[:-1], length) + np.arange(length.sum())
