"""A workflow that may arrive many times: its functions, and what they wait for and read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cloudarena.base.errors import TraceError
from cloudarena.base.numpy import np
from cloudarena.engine.dag import circle, task_levels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MOST_OPERATIONS = 2**53
"""The most operations of a function: up to here whole numbers are exact as floats."""
MOST_MEMORY = 10**9
"""The most memory of one function, in MB."""
MOST_PARALLELISM = 10**6
MOST_BYTES = 2**53
"""The most bytes of one edge."""


class WorkflowTemplate(NamedTuple):
    """A DAG of functions. Made, and checked, by ``workflow_template``.

    A function takes ``computation / (parallelism * single_core_speed)`` seconds on enough idle
    cores. An edge is a row of (from, to, bytes): function ``to`` waits for function ``from`` and
    reads so many bytes of it. Edges stand in the order of (to, from).
    """

    name: str
    function_names: tuple[str, ...]
    computation: NDArray[np.int64]  # (functions,): operations
    memory_req: NDArray[np.int64]  # (functions,): MB
    parallelism: NDArray[np.int64]  # (functions,)
    edges: NDArray[np.int64]  # (edges, 3)


class Rule(NamedTuple):
    """What a column of functions must be: which of its values are good, and what is allowed."""

    name: str
    values: NDArray[np.int64]
    good: NDArray[np.bool_]
    allowed: str


def workflow_template(
    name: str,
    computation: ArrayLike,
    memory_req: ArrayLike,
    parallelism: ArrayLike,
    edges: ArrayLike = (),
    function_names: Sequence[str] | None = None,
    source: str = "",
) -> WorkflowTemplate:
    """Makes a checked template.

    Args:
        name: what the workflow is called.
        computation: the operations of each function.
        memory_req: the memory each needs to run at full speed, in MB.
        parallelism: how many cores each can use.
        edges: rows of (from, to, bytes), functions by index, in any order.
        function_names: what the functions are called; ``0``, ``1``, ... by default.
        source: what an error begins with, such as the path of the trace.
    """
    where = f"{source}: workflow {name!r}" if source else f"workflow {name!r}"
    computation = _whole(where, "computation", computation)
    memory_req = _whole(where, "memory_req", memory_req)
    parallelism = _whole(where, "parallelism", parallelism)
    functions = len(computation)
    if functions == 0:
        raise TraceError(f"{where}: has no functions")
    names = tuple(map(str, range(functions) if function_names is None else function_names))
    columns = (computation, memory_req, parallelism, names)
    if any(len(column) != functions for column in columns):
        raise TraceError(
            f"{where}: its columns have {', '.join(str(len(c)) for c in columns)} rows"
        )
    for rule in function_rules(computation, memory_req, parallelism):
        if not rule.good.all():
            k = int(np.argmin(rule.good))
            raise TraceError(
                f"{where}, function {names[k]!r}: {rule.name}: {rule.values[k]} is not allowed: "
                f"{rule.allowed}"
            )
    rows = _edge_rows(where, edges, functions)
    _check_order(where, rows, names)
    return WorkflowTemplate(name, names, computation, memory_req, parallelism, rows)


def function_rules(
    computation: NDArray[np.int64], memory_req: NDArray[np.int64], parallelism: NDArray[np.int64]
) -> Iterator[Rule]:
    """What functions must be, column by column."""
    for name, values, most in (
        ("computation", computation, MOST_OPERATIONS),
        ("memory_req", memory_req, MOST_MEMORY),
        ("parallelism", parallelism, MOST_PARALLELISM),
    ):
        yield Rule(name, values, (values >= 1) & (values <= most), f"from 1 to {most:,}")


def offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each begins when they lie one after the other, and where the last ends."""
    first = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=first[1:])
    return first


def _whole(where: str, name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Values as whole numbers; such floats as 1e9 are whole as well."""
    try:
        found = np.asarray(values)
    except (ValueError, OverflowError):
        raise TraceError(f"{where}: {name}: is not a table of whole numbers") from None
    if found.dtype.kind == "f":
        good = np.isfinite(found) & (found == np.rint(found)) & (np.abs(found) < 2.0**63)
    elif found.dtype.kind == "u":
        good = found < 2**63
    else:
        good = np.full(found.shape, found.dtype.kind == "i")
    if not good.all():
        raise TraceError(
            f"{where}: {name}: {found[~good][0]} is not allowed: whole numbers less than 2^63"
        )
    return found.astype(np.int64)


def _edge_rows(where: str, edges: ArrayLike, functions: int) -> NDArray[np.int64]:
    """The edges in their order; raises for the first that cannot be."""
    rows = _whole(where, "edges", edges)
    if rows.size == 0:
        return np.empty((0, 3), np.int64)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise TraceError(f"{where}: edges: are not rows of (from, to, bytes)")
    order = np.lexsort((rows[:, 0], rows[:, 1]))
    ends, size, last = rows[:, :2], rows[:, 2], functions - 1
    again = np.zeros(len(rows), np.bool_)
    again[order[1:]] = (ends[order[1:]] == ends[order[:-1]]).all(axis=1)
    reasons = (
        (((ends < 0) | (ends > last)).any(axis=1), f"functions are from 0 to {last}"),
        (ends[:, 0] == ends[:, 1], "a function cannot wait for itself"),
        ((size < 0) | (size > MOST_BYTES), f"bytes are from 0 to {MOST_BYTES:,}"),
        (again, "this edge is a duplicate"),
    )
    for bad, allowed in reasons:
        if bad.any():
            k = int(np.argmax(bad))
            raise TraceError(f"{where}: edges[{k}]: {rows[k].tolist()} is not allowed: {allowed}")
    return rows[order]


def _check_order(where: str, edges: NDArray[np.int64], names: Sequence[str]) -> None:
    """Raises when functions wait for each other in a circle; the edges are in their order."""
    first_parent = offsets(np.bincount(edges[:, 1], minlength=len(names)))
    members = circle(first_parent, edges[:, 0], task_levels(first_parent, edges[:, 0]))
    if members:
        shown = [names[k] for k in members[:5]]
        shown.append("..." if len(members) > 5 else shown[0])
        raise TraceError(
            f"{where}: its functions wait for each other in a circle: {', '.join(shown)}"
        )
