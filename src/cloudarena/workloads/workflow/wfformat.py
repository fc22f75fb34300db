"""WfCommons instances: a workflow as JSON in WfFormat 1.5 or 1.6.

Used are, of ``workflow.specification``, tasks (id, parents, children, inputFiles, outputFiles)
and files (id, sizeInBytes), and of ``workflow.execution``, tasks (id, runtimeInSeconds,
coreCount, memoryInBytes).

- A function is called by the id of its task. It waits for its parents, and for the tasks that
  call it a child.
- The bytes of an edge are the sizes of the files that the parent writes and the child reads.
  Where the specification lists no files at all, edges have 0 bytes.
- coreCount, rounded up, is the parallelism; memoryInBytes, in units of 2^20 and rounded up, the
  memory. Where they are missing or 0 they are not known. (Some published instances say kilobytes
  there: their functions need 1 MB.)

The file may be gzipped.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cloudarena.base.errors import TraceError, nearest
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning
from cloudarena.workloads.documents import document_name, member, not_a, number, read_json
from cloudarena.workloads.jobs.columns import LONGEST_TIME
from cloudarena.workloads.workflow.documents import Documents
from cloudarena.workloads.workflow.template import MOST_BYTES, MOST_PARALLELISM
from cloudarena.workloads.workflow.timed import TimedWorkflow, edge_rows

VERSIONS = ("1.5", "1.6")
MEGABYTE = 2**20


class _Task(NamedTuple):
    parents: list[str]
    children: list[str]
    reads: set[str]
    writes: list[str]


class _Use(NamedTuple):
    """What a task used when it was executed."""

    runtime_s: float
    memory_req: int
    parallelism: int


def is_instance(beginning: Beginning) -> bool:
    """Whether a file is a WfCommons instance: JSON with keys that only these have."""
    found = any(f'"{key}"' in beginning.text for key in ("schemaVersion", "specification"))
    return found and beginning.text.startswith(("{", "["))


class WfCommons(Documents):
    """WfCommons instances, in WfFormat 1.5 or 1.6."""

    example = "blast-chameleon-small-001.json --out blast"

    source: Literal["wfcommons"]

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by keys that only these have."""
        return is_instance(beginning)

    @staticmethod
    def read(path: Path) -> TimedWorkflow:
        """Reads a document."""
        return read_wfformat(path)


def read_wfformat(path: Path) -> TimedWorkflow:
    """Reads an instance; the workflow is called by the name of the file."""
    document = read_json(path)
    version = member(f"{path}: ", document, "schemaVersion", str)
    if version not in VERSIONS:
        raise TraceError(
            f"{path}: schemaVersion: {version!r} is not allowed: one of {', '.join(VERSIONS)}"
        )
    workflow = member(f"{path}: ", document, "workflow", dict)
    specification = member(f"{path}: workflow.", workflow, "specification", dict)
    tasks = _tasks(f"{path}: workflow.specification.", specification)
    sizes = _sizes(f"{path}: workflow.specification.", specification)
    if "execution" not in workflow:
        raise TraceError(f"{path}: workflow.execution: is missing: run times are needed")
    execution = member(f"{path}: workflow.", workflow, "execution", dict)
    uses = _uses(f"{path}: workflow.execution.", execution)
    for name in tasks:
        if name not in uses:
            raise TraceError(f"{path}: task {name!r}: its run time is missing in the execution")
    of_tasks = [uses[name] for name in tasks]
    return TimedWorkflow(
        name=document_name(path),
        function_names=tuple(tasks),
        runtime_s=np.array([use.runtime_s for use in of_tasks]),
        memory_req=np.array([use.memory_req for use in of_tasks]),
        parallelism=np.array([use.parallelism for use in of_tasks]),
        edges=edge_rows(_edges(path, tasks, sizes)),
    )


def _tasks(where: str, specification: dict[str, Any]) -> dict[str, _Task]:
    tasks: dict[str, _Task] = {}
    for k, task in enumerate(member(where, specification, "tasks", list)):
        prefix = f"{where}tasks[{k}]."
        name = member(prefix, task, "id", str)
        if name in tasks:
            raise TraceError(f"{prefix}id: {name!r} is a duplicate")
        tasks[name] = _Task(
            parents=_texts(prefix, task, "parents"),
            children=_texts(prefix, task, "children"),
            reads=set(_texts(prefix, task, "inputFiles")),
            # A file that is listed twice is written once.
            writes=list(dict.fromkeys(_texts(prefix, task, "outputFiles"))),
        )
    if not tasks:
        raise TraceError(f"{where}tasks: has no tasks")
    return tasks


def _sizes(where: str, specification: dict[str, Any]) -> dict[str, float] | None:
    """The size of each file; None where no files are listed."""
    if "files" not in specification:
        return None
    sizes = {}
    for k, file in enumerate(member(where, specification, "files", list)):
        prefix = f"{where}files[{k}]."
        name = member(prefix, file, "id", str)
        sizes[name] = number(f"{prefix}sizeInBytes", file.get("sizeInBytes"), 0, MOST_BYTES)
    return sizes


def _uses(where: str, execution: dict[str, Any]) -> dict[str, _Use]:
    uses = {}
    for k, task in enumerate(member(where, execution, "tasks", list)):
        prefix = f"{where}tasks[{k}]."
        name = member(prefix, task, "id", str)
        runtime = task.get("runtimeInSeconds")
        cores, memory = task.get("coreCount") or 0, task.get("memoryInBytes") or 0
        uses[name] = _Use(
            runtime_s=number(f"{prefix}runtimeInSeconds", runtime, 0, LONGEST_TIME),
            memory_req=math.ceil(
                number(f"{prefix}memoryInBytes", memory, 0, MOST_BYTES) / MEGABYTE
            ),
            parallelism=math.ceil(number(f"{prefix}coreCount", cores, 0, MOST_PARALLELISM)),
        )
    return uses


def _edges(
    path: Path, tasks: dict[str, _Task], sizes: dict[str, float] | None
) -> dict[tuple[int, int], float]:
    """The bytes of each edge, by the indices of its tasks."""
    at = {name: k for k, name in enumerate(tasks)}
    links = [(parent, child) for child, task in tasks.items() for parent in task.parents]
    links += [(parent, child) for parent, task in tasks.items() for child in task.children]
    edges = {}
    for parent, child in dict.fromkeys(links):
        for name, other in ((parent, child), (child, parent)):
            if name not in at:
                raise TraceError(
                    f"{path}: task {other!r}: {name!r} is not a task.{nearest(name, at)}"
                )
        shared = [file for file in tasks[parent].writes if file in tasks[child].reads]
        edges[at[parent], at[child]] = _total(path, parent, shared, sizes)
    return edges


def _total(path: Path, task: str, files: list[str], sizes: dict[str, float] | None) -> float:
    if sizes is None:
        return 0.0
    for file in files:
        if file not in sizes:
            raise TraceError(f"{path}: task {task!r}: the size of file {file!r} is missing")
    return sum(sizes[file] for file in files)


def _texts(prefix: str, task: dict[str, Any], key: str) -> list[str]:
    texts: list[str] = member(prefix, task, key, list, default=[])
    for k, text in enumerate(texts):
        if not isinstance(text, str):
            raise not_a(f"{prefix}{key}[{k}]", text, str)
    return texts
