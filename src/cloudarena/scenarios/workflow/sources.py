"""Where the workflows of a scenario come from: the spec itself, files, traces, or generators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from cloudarena.contract.source import SpecPath, from_yaml
from cloudarena.contract.spec import Spec
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import LONGEST_TIME, TERMINATED
from cloudarena.workloads.workflow.alibaba2018 import (
    MACHINE_MEMORY_MB,
    WORKERS,
    load_alibaba2018_workflows,
)
from cloudarena.workloads.workflow.alibaba2018 import not_told as alibaba2018_not_told
from cloudarena.workloads.workflow.columns import (
    SINGLE_CORE_SPEED,
    WorkflowMix,
    WorkflowWorkload,
    lay_out,
)
from cloudarena.workloads.workflow.template import (
    MOST_BYTES,
    MOST_MEMORY,
    MOST_OPERATIONS,
    MOST_PARALLELISM,
    WorkflowTemplate,
    workflow_template,
)

# Readers and generators that need Arrow are imported where they are used: a spec is validated
# without them.

NotTold = tuple[tuple[str, str], ...]
"""What a source does not tell, and where it comes from: rows of a column and words."""
Arrival = Annotated[float, Field(ge=0, le=LONGEST_TIME)]
Resources = Literal["azure-like", "one-core"]
Law = Literal["even", "poisson", "bursty", "diurnal"]
Shape = Literal["montage", "cybershake", "epigenomics", "inspiral", "sipht", "layered"]
Edge = tuple[
    Annotated[int, Field(ge=0)],
    Annotated[int, Field(ge=0)],
    Annotated[int, Field(ge=0, le=MOST_BYTES)],
]


class FunctionSpec(Spec):
    """A function: operations, MB, threads."""

    computation: int = Field(ge=1, le=MOST_OPERATIONS)
    memory_req: int = Field(ge=1, le=MOST_MEMORY)
    parallelism: int = Field(1, ge=1, le=MOST_PARALLELISM)


class TemplateSpec(Spec):
    """A DAG of functions; an edge is [from, to, bytes]."""

    name: str = ""
    functions: tuple[FunctionSpec, ...] = Field(min_length=1)
    edges: tuple[Edge, ...] = ()

    def template(self, name: str, where: str) -> WorkflowTemplate:
        """The same as arrays, checked as a whole."""
        return workflow_template(
            self.name or name,
            [function.computation for function in self.functions],
            [function.memory_req for function in self.functions],
            [function.parallelism for function in self.functions],
            self.edges,
            source=where,
        )


class WorkflowSpec(TemplateSpec):
    """A workflow that arrives."""

    arrival: Arrival = 0.0


class Inline(Spec):
    """Workflows written into the spec."""

    source: Literal["inline"]
    workflows: tuple[WorkflowSpec, ...] = Field(min_length=1)

    def made(self) -> list[WorkflowTemplate]:
        """The workflows as templates, checked."""
        return [
            workflow.template(str(number), f"workload[{number}]")
            for number, workflow in enumerate(self.workflows)
        ]

    def load(self, seed: int, single_core_speed: float) -> WorkflowWorkload:
        """Lays the workflows out as columns; the same for every seed."""
        arrivals = [workflow.arrival for workflow in self.workflows]
        return lay_out(self.made(), arrivals, np.arange(len(arrivals)))

    def not_told(self, seed: int) -> NotTold:
        """All of it stands in the spec."""
        return ()


def _list_or_law(arrivals: Any) -> str:
    """How arrivals are written; error messages leave words in angle brackets out."""
    return "<list>" if isinstance(arrivals, (list, tuple)) else "<law>"


class Templates(Spec):
    """Templates written into the spec, and when they arrive: at given times or by a law.

    Without ``which``, each arrival is of a template that the seed draws.
    """

    source: Literal["templates"]
    templates: tuple[TemplateSpec, ...] = Field(min_length=1)
    arrivals: Annotated[
        Annotated[tuple[Arrival, ...], Tag("<list>")] | Annotated[Law, Tag("<law>")],
        Discriminator(_list_or_law),
    ]
    which: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    workflows: int | None = Field(None, ge=1)
    rate: float = Field(0.05, gt=0)

    @model_validator(mode="after")
    def _fits_together(self) -> Templates:
        by_law = isinstance(self.arrivals, str)
        if by_law and self.workflows is None:
            raise PydanticCustomError("not_allowed", "workflows: is required with a law")
        if not by_law and not self.arrivals:
            raise PydanticCustomError("not_allowed", "arrivals: at least one is needed")
        if self.which is not None:
            if by_law or len(self.which) != len(self.arrivals):
                raise PydanticCustomError(
                    "not_allowed", "which: is not allowed: as many numbers as there are arrivals"
                )
            if max(self.which) >= len(self.templates):
                raise PydanticCustomError(
                    "not_allowed",
                    f"which: {max(self.which)} is not allowed: 0 to {len(self.templates) - 1}",
                )
        return self

    def made(self) -> list[WorkflowTemplate]:
        """The templates, checked."""
        return [
            template.template(str(number), f"workload.templates[{number}]")
            for number, template in enumerate(self.templates)
        ]

    def load(self, seed: int, single_core_speed: float) -> WorkflowWorkload:
        """Lays out the workflows of a seed."""
        from cloudarena.workloads.workflow.arrivals import by_law

        made = self.made()
        if isinstance(self.arrivals, str):
            return _laid_out(by_law(made, self.workflows or 1, seed, self.arrivals, self.rate))
        which: Sequence[int] | None = self.which
        if which is None:
            which = stream(seed, "templates").integers(0, len(made), len(self.arrivals)).tolist()
        return lay_out(made, self.arrivals, which)

    def not_told(self, seed: int) -> NotTold:
        """Arrivals may be drawn by a law."""
        from cloudarena.workloads.workflow.arrivals import arrivals_not_told

        if not isinstance(self.arrivals, str):
            return ()
        return (("arrivals", arrivals_not_told(self.workflows, self.arrivals, self.rate, seed)),)


class WorkflowFile(Spec):
    """A file in neutral form, as ``cloudarena trace convert`` writes it."""

    source: Literal["file"]
    path: SpecPath

    def load(self, seed: int, single_core_speed: float) -> WorkflowWorkload:
        """Reads the file; the same for every seed."""
        from cloudarena.workloads.workflow.files import load_workflow_file

        return load_workflow_file(self.path)

    def not_told(self, seed: int) -> NotTold:
        """What the source of the file did not tell."""
        from cloudarena.workloads.workflow.files import read_workflow_file

        return read_workflow_file(self.path).not_told


class Documents(Spec):
    """Workflows in Pegasus DAX or WfCommons files, each a template.

    All arrive at 0, or ``workflows`` of them by a law. Memory and parallelism, where a file does
    not tell them, are drawn by the seed.
    """

    source: Literal["dax", "wfcommons"]
    paths: tuple[SpecPath, ...] = Field(min_length=1)
    resources: Resources = "azure-like"
    workflows: int | None = Field(None, ge=1)
    arrivals: Law = "poisson"
    rate: float = Field(0.05, gt=0)

    def load(self, seed: int, single_core_speed: float) -> WorkflowWorkload:
        """Reads the files, and draws the rest."""
        from cloudarena.workloads.workflow.arrivals import at_once, by_law

        made, _ = self._read(seed, int(single_core_speed))
        if self.workflows is None:
            return _laid_out(at_once(made))
        return _laid_out(by_law(made, self.workflows, seed, self.arrivals, self.rate))

    def not_told(self, seed: int) -> NotTold:
        """Memory and parallelism, as far as the files lack them, and arrivals."""
        from cloudarena.workloads.workflow.arrivals import arrivals_not_told

        _, told = self._read(seed, SINGLE_CORE_SPEED)
        words = arrivals_not_told(self.workflows, self.arrivals, self.rate, seed)
        return (*told, ("arrivals", words))

    def _read(self, seed: int, speed: int) -> tuple[list[WorkflowTemplate], NotTold]:
        from cloudarena.workloads.workflow.dax import read_dax
        from cloudarena.workloads.workflow.timed import documents_as_templates
        from cloudarena.workloads.workflow.wfformat import read_wfformat

        read = read_dax if self.source == "dax" else read_wfformat
        return documents_as_templates(read, self.paths, self.resources, speed, seed)


class Alibaba2018(Spec):
    """Jobs of Alibaba's trace of 2018 (table batch_task) as workflows."""

    source: Literal["alibaba-2018"]
    path: SpecPath
    status: str | None = TERMINATED
    offset: int = Field(0, ge=0)
    workflows: int | None = Field(None, ge=1)
    workers: int = Field(WORKERS, ge=1, le=MOST_PARALLELISM)
    machine_memory_mb: int = Field(MACHINE_MEMORY_MB, ge=1, le=MOST_MEMORY)

    def load(self, seed: int, single_core_speed: float) -> WorkflowWorkload:
        """Reads the file; the same for every seed."""
        return load_alibaba2018_workflows(
            self.path,
            self.status,
            self.offset,
            self.workflows,
            self.workers,
            self.machine_memory_mb,
            int(single_core_speed),
        )

    def not_told(self, seed: int) -> NotTold:
        """Parallelism, memory in MB and data."""
        return alibaba2018_not_told(self.workers, self.machine_memory_mb)


class AzureFunctions(Spec):
    """Templates of a file in neutral form that arrive as functions are invoked on Azure in 2019."""

    source: Literal["azure-functions-2019"]
    path: SpecPath
    templates: SpecPath
    trigger: str | None = None
    share: float = Field(1.0, gt=0, le=1)
    first_minute: int = Field(1, ge=1)
    minutes: int | None = Field(None, ge=1)
    spread: Literal["uniform", "even"] = "uniform"

    def load(self, seed: int, single_core_speed: float) -> WorkflowWorkload:
        """Reads the files, and draws the instants within each minute."""
        from cloudarena.workloads.arrivals.azure_functions import read_invocations
        from cloudarena.workloads.workflow.arrivals import by_invocations
        from cloudarena.workloads.workflow.files import read_workflow_file

        return _laid_out(
            by_invocations(
                read_workflow_file(self.templates).templates,
                read_invocations(self.path, self.trigger),
                seed,
                self.share,
                self.first_minute,
                self.minutes,
                self.spread,
            )
        )

    def not_told(self, seed: int) -> NotTold:
        """What the source of the templates did not tell, and instants within a minute."""
        from cloudarena.workloads.workflow.arrivals import invoked
        from cloudarena.workloads.workflow.files import read_workflow_file

        told = read_workflow_file(self.templates).not_told
        return (
            *(row for row in told if row[0] != "arrivals"),
            ("arrivals", invoked(self.spread, seed)),
        )


class Shapes(Spec):
    """Workflows drawn in the shapes of scientific workflows, or in random layers."""

    source: Literal["shapes"]
    shapes: tuple[Shape, ...] = Field(("montage",), min_length=1)
    functions: int = Field(ge=1)
    workflows: int = Field(ge=1)
    templates: int = Field(1, ge=1)
    arrivals: Law = "poisson"
    rate: float = Field(0.05, gt=0)
    runtime_scale: float = Field(1.0, gt=0)
    resources: Resources = "azure-like"

    def load(self, seed: int, single_core_speed: float) -> WorkflowWorkload:
        """Draws the workflows of a seed."""
        from cloudarena.workloads.workflow.shapes import draw_workflows

        return _laid_out(
            draw_workflows(
                self.shapes,
                self.functions,
                self.workflows,
                seed,
                templates=self.templates,
                arrivals=self.arrivals,
                rate=self.rate,
                runtime_scale=self.runtime_scale,
                resources=self.resources,
                single_core_speed=int(single_core_speed),
            )
        )

    def not_told(self, seed: int) -> NotTold:
        """All of it is drawn."""
        from cloudarena.workloads.workflow.shapes import shapes_not_told

        return shapes_not_told(seed)


def _laid_out(mix: WorkflowMix) -> WorkflowWorkload:
    return lay_out(mix.templates, mix.arrivals, mix.which)


def _from_yaml(value: Any, info: ValidationInfo) -> Any:
    """The path of a YAML file stands for what is in it."""
    if isinstance(value, str) and value.endswith((".yaml", ".yml")):
        return from_yaml(value, info)
    return value


def _named_source(value: Any) -> Any:
    """A plain path is of a file in neutral form, templates without a source are just that."""
    if isinstance(value, str):
        return {"source": "file", "path": value}
    if isinstance(value, dict) and "source" not in value and "templates" in value:
        return {"source": "templates", **value}
    return value


def _inline(workflows: tuple[WorkflowSpec, ...]) -> Inline:
    """The same with its source named."""
    return Inline(source="inline", workflows=workflows)


def _form(value: Any) -> str:
    """How a workload is written; error messages leave words in angle brackets out."""
    return "<list>" if isinstance(value, (list, tuple)) else "<source>"


Source = Annotated[
    Inline | Templates | WorkflowFile | Documents | Alibaba2018 | AzureFunctions | Shapes,
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
