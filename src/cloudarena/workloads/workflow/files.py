"""The canonical format of workflows: a JSON file ``workflows.json``.

::

    {"single_core_speed": 1000000000,
     "templates": [
       {"name": "diamond",
        "functions": [{"computation": 2000000000, "memory_req": 128, "parallelism": 1}, ...],
        "edges": [[0, 1, 1000000], ...]}],
     "arrivals": [0.0, 20.0],
     "which": [0, 0]}

Functions have computation (operations), memory_req (MB), parallelism and may have a name; edges
are (from, to, bytes), functions by index from 0. Without ``arrivals`` each template arrives
once, at 0; without ``which`` workflows are of the templates in turn. ``single_core_speed`` is the
speed that the computations were reckoned with; it only serves to show figures in seconds. So does
``not_told``: what the source of the file did not tell, by column, and where it comes from.

Instead of templates there may be ``workflows``, each with its own ``arrival``, ``functions`` and
``edges``, as in a spec, or just the list of these. The file may be gzipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cloudarena.base.errors import TraceError
from cloudarena.base.files import written_folder
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning, SpecPath
from cloudarena.workloads.documents import (
    member,
    not_a,
    number,
    only_keys,
    read_json,
    whole_number,
)
from cloudarena.workloads.jobs.columns import LONGEST_TIME
from cloudarena.workloads.workflow.columns import (
    SINGLE_CORE_SPEED,
    WorkflowMix,
    WorkflowWorkload,
    lay_out,
)
from cloudarena.workloads.workflow.source import Counted, WorkflowSource
from cloudarena.workloads.workflow.template import (
    MOST_BYTES,
    MOST_MEMORY,
    MOST_OPERATIONS,
    MOST_PARALLELISM,
    WorkflowTemplate,
    workflow_template,
)
from cloudarena.workloads.workflow.wfformat import is_instance

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = "workflows.json"
MOST = {
    "computation": MOST_OPERATIONS,
    "memory_req": MOST_MEMORY,
    "parallelism": MOST_PARALLELISM,
}
TEMPLATE_KEYS = ("name", "functions", "edges")
LARGEST_SPEED = 10**15


class WorkflowFile(WorkflowSource):
    """Workflows in the canonical format, JSON, checked, as ``trace convert`` writes them."""

    aliases = ("workflows",)
    settings: ClassVar[Mapping[str, str]] = {}
    canonical: ClassVar[Mapping[str, str]] = {"path": FILE}
    example = "my-workflows.json --out my-trace"

    source: Literal["file"]
    path: SpecPath
    """The file, plain or .gz."""

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises JSON that is no instance of WfCommons."""
        return beginning.text.startswith(("{", "[")) and not is_instance(beginning)

    def mix(self, seed: int, single_core_speed: int) -> Counted:
        """Reads the file; the same for every seed."""
        mix = read_workflow_file(self.path)
        return Counted(mix, mix.not_told)


def load_workflow_file(path: Path) -> WorkflowWorkload:
    """Reads and checks workflows, as columns."""
    mix = read_workflow_file(path)
    return lay_out(mix.templates, mix.arrivals, mix.which)


def read_workflow_file(path: Path) -> WorkflowMix:
    """Reads and checks workflows, as templates and arrivals."""
    document = read_json(path)
    if isinstance(document, list):
        document = {"workflows": document}
    where = f"{path}: "
    if isinstance(document, dict) and "workflows" in document:
        only_keys(str(path), document, ("single_core_speed", "workflows"))
        workflows = member(where, document, "workflows", list)
        templates = [_workflow(f"{where}workflows[{k}]", w) for k, w in enumerate(workflows)]
        arrivals = np.array([workflow.get("arrival", 0.0) for workflow in workflows], np.float64)
        which = np.arange(len(workflows))
    else:
        listed = member(where, document, "templates", list)
        keys = ("single_core_speed", "not_told", "templates", "arrivals", "which")
        only_keys(str(path), document, keys)
        templates = [_template(f"{where}templates[{k}]", t, str(k)) for k, t in enumerate(listed)]
        arrivals = _arrivals(where, document, len(templates))
        which = _which(where, document, len(arrivals), len(templates))
    if not templates or len(arrivals) == 0:
        raise TraceError(f"{path}: has no workflows")
    speed = document.get("single_core_speed", SINGLE_CORE_SPEED)
    speed = whole_number(f"{where}single_core_speed", speed, 1, LARGEST_SPEED)
    return WorkflowMix(tuple(templates), arrivals, which, speed, _not_told(where, document))


def write_workflow_file(
    mix: WorkflowMix, folder: Path, texts: Mapping[str, str] | None = None
) -> None:
    """Writes ``workflows.json`` into a folder, and texts beside it; to read it gives the same."""
    with written_folder(folder) as draft:
        for name, text in (texts or {}).items():
            (draft / name).write_text(text, encoding="utf-8")
        (draft / FILE).write_text(_text(mix), encoding="utf-8", newline="\n")


def _workflow(where: str, value: Any) -> WorkflowTemplate:
    """A workflow that has its own arrival."""
    if not isinstance(value, dict):
        raise not_a(where, value, dict)
    number(f"{where}.arrival", value.get("arrival", 0.0), 0, LONGEST_TIME)
    name = where[where.rindex("[") + 1 : -1]
    others = {key: entry for key, entry in value.items() if key != "arrival"}
    return _template(where, others, name)


def _template(where: str, value: Any, name: str) -> WorkflowTemplate:
    name = member(f"{where}.", value, "name", str, default=name)
    only_keys(where, value, TEMPLATE_KEYS)
    functions = member(f"{where}.", value, "functions", list)
    columns: dict[str, list[int]] = {column: [] for column in MOST}
    names = []
    for k, function in enumerate(functions):
        each = f"{where}.functions[{k}]"
        names.append(member(f"{each}.", function, "name", str, default=str(k)))
        only_keys(each, function, ("name", *MOST))
        for column, most in MOST.items():
            if column not in function:
                raise TraceError(f"{each}.{column}: is missing")
            columns[column].append(whole_number(f"{each}.{column}", function[column], 1, most))
    edges = [
        _edge(f"{where}.edges[{k}]", edge, len(functions))
        for k, edge in enumerate(member(f"{where}.", value, "edges", list, default=[]))
    ]
    return workflow_template(name, **columns, edges=edges, function_names=names, source=where)


def _edge(where: str, edge: Any, functions: int) -> tuple[int, int, int]:
    if not isinstance(edge, list) or len(edge) != 3:
        raise TraceError(f"{where}: {edge!r} is not allowed: from, to and bytes")
    begin, end = (whole_number(where, one, 0, functions - 1) for one in edge[:2])
    return begin, end, whole_number(where, edge[2], 0, MOST_BYTES)


def _arrivals(where: str, document: dict[str, Any], templates: int) -> NDArray[np.float64]:
    if "arrivals" not in document:
        return np.zeros(templates)
    listed = member(where, document, "arrivals", list)
    arrival_times = [
        number(f"{where}arrivals[{k}]", one, 0, LONGEST_TIME) for k, one in enumerate(listed)
    ]
    return np.array(arrival_times, np.float64)


def _which(
    where: str, document: dict[str, Any], workflows: int, templates: int
) -> NDArray[np.int64]:
    if "which" not in document:
        return np.arange(workflows) % max(templates, 1)
    listed = member(where, document, "which", list)
    if len(listed) != workflows:
        raise TraceError(f"{where}which: has {len(listed)} entries for {workflows} workflows")
    numbers = [
        whole_number(f"{where}which[{k}]", one, 0, templates - 1) for k, one in enumerate(listed)
    ]
    return np.array(numbers, np.int64)


def _not_told(where: str, document: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    told = member(where, document, "not_told", dict, default={})
    for column, words in told.items():
        if not isinstance(words, str):
            raise not_a(f"{where}not_told.{column}", words, str)
    return tuple(told.items())


def _text(mix: WorkflowMix) -> str:
    """The document with a line for each function and each edge."""
    told = f'"not_told": {json.dumps(dict(mix.not_told))},\n' if mix.not_told else ""
    head = f'{{"single_core_speed": {mix.single_core_speed},\n{told}"templates": [\n'
    templates = ",\n".join(_template_text(template) for template in mix.templates)
    arrivals, which = json.dumps(mix.arrivals.tolist()), json.dumps(mix.which.tolist())
    return f'{head}{templates}],\n"arrivals": {arrivals},\n"which": {which}}}\n'


def _template_text(template: WorkflowTemplate) -> str:
    columns = [getattr(template, column).tolist() for column in MOST]
    cells = ", ".join(f'"{column}": %d' for column in MOST)
    functions = [
        f'{{"name": {json.dumps(name)}, {cells % tuple(values)}}}'
        for name, *values in zip(template.function_names, *columns, strict=True)
    ]
    edges = [f"[{begin}, {end}, {size}]" for begin, end, size in template.edges.tolist()]
    return (
        f'{{"name": {json.dumps(template.name)},\n"functions": [\n'
        + ",\n".join(functions)
        + '],\n"edges": [\n'
        + ",\n".join(edges)
        + "]}"
    )
