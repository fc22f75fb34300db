"""Where the workflows of a scenario come from, and how their traces are shown and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationInfo

from cloudarena.contract.source import from_yaml, sources_of
from cloudarena.workloads.workflow import columns
from cloudarena.workloads.workflow.alibaba2018 import Alibaba2018
from cloudarena.workloads.workflow.azure_functions import AzureFunctions
from cloudarena.workloads.workflow.columns import WorkflowMix, WorkflowWorkload, lay_out
from cloudarena.workloads.workflow.dax import Dax
from cloudarena.workloads.workflow.files import WorkflowFile, write_workflow_file
from cloudarena.workloads.workflow.inline import Inline, Templates, WorkflowSpec
from cloudarena.workloads.workflow.shapes import Shapes
from cloudarena.workloads.workflow.wfformat import WfCommons


def _from_yaml(value: Any, info: ValidationInfo) -> Any:
    """The path of a YAML file stands for what is in it."""
    if isinstance(value, str) and value.endswith((".yaml", ".yml")):
        return from_yaml(value, info)
    return value


def _named_source(value: Any) -> Any:
    """Reads a plain path as a file in the canonical format, and templates without a source."""
    if isinstance(value, str):
        return {"source": "file", "path": value}
    if isinstance(value, dict) and "source" not in value and "templates" in value:
        return {"source": "templates", **value}
    return value


def _inline(workflows: tuple[WorkflowSpec, ...]) -> Inline:
    """Names the source of work that is written into the spec."""
    return Inline(source="inline", workflows=workflows)


def _form(value: Any) -> str:
    """How a workload is written; error messages leave words in angle brackets out."""
    return "<list>" if isinstance(value, (list, tuple)) else "<source>"


Source = Annotated[
    Inline | Templates | WorkflowFile | Dax | WfCommons | Alibaba2018 | AzureFunctions | Shapes,
    Field(discriminator="source"),
    BeforeValidator(_named_source),
]
Workflows = Annotated[
    tuple[WorkflowSpec, ...], Field(min_length=1), AfterValidator(_inline), Tag("<list>")
]
Workload = Annotated[
    Workflows | Annotated[Source, Tag("<source>")],
    Discriminator(_form),
    BeforeValidator(_from_yaml),
]
"""A plain list of workflows, or a source; or a YAML file with one of these."""
WRITTEN = (Inline, Templates)
"""Sources whose functions stand in the spec."""
SOURCES = sources_of(Source)


def describe(workload: WorkflowMix | WorkflowWorkload, scenario: Any = None) -> dict[str, Any]:
    """The figures by which workflows are known."""
    if isinstance(workload, WorkflowMix):
        laid_out = lay_out(workload.templates, workload.arrivals, workload.which)
        return columns.describe(laid_out, workload.single_core_speed)
    return columns.describe(workload, scenario.cluster.single_core_speed)


def write(mix: WorkflowMix, folder: Path, texts: Mapping[str, str]) -> dict[str, int]:
    """Writes a trace in the canonical format, and texts beside it; says what was written."""
    write_workflow_file(mix, folder, texts)
    return {
        "templates": len(mix.templates),
        "functions_of_templates": sum(len(one.computation) for one in mix.templates),
        "workflows": len(mix.arrivals),
    }
