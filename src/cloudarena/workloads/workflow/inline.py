"""Workflows that stand in the spec itself, one by one or as templates that arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.numpy import np
from cloudarena.contract.spec import Spec
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import LONGEST_TIME
from cloudarena.workloads.workflow.arrivals import RATE, arrivals_not_told, by_process
from cloudarena.workloads.workflow.columns import WorkflowMix
from cloudarena.workloads.workflow.source import Counted, ProcessName, Rate, WorkflowSource
from cloudarena.workloads.workflow.template import (
    MOST_BYTES,
    MOST_MEMORY,
    MOST_OPERATIONS,
    MOST_PARALLELISM,
    WorkflowTemplate,
    workflow_template,
)

Arrival = Annotated[float, Field(ge=0, le=LONGEST_TIME)]
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
        """Returns the template as arrays, checked as a whole."""
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


class Inline(WorkflowSource):
    """Workflows written into the spec."""

    reads_files = False

    source: Literal["inline"]
    workflows: tuple[WorkflowSpec, ...] = Field(min_length=1)

    def made(self) -> list[WorkflowTemplate]:
        """The workflows as templates, checked."""
        return [
            workflow.template(str(index), f"workload[{index}]")
            for index, workflow in enumerate(self.workflows)
        ]

    def mix(self, seed: int, single_core_speed: int) -> Counted:
        """Each workflow as a template of its own; the same for every seed."""
        arrivals = np.array([workflow.arrival for workflow in self.workflows])
        templates = tuple(self.made())
        mix = WorkflowMix(templates, arrivals, np.arange(len(arrivals)), single_core_speed)
        return Counted(mix, ())


def _list_or_process(arrivals: Any) -> str:
    """How arrivals are written; error messages leave words in angle brackets out."""
    return "<list>" if isinstance(arrivals, (list, tuple)) else "<process>"


class Templates(WorkflowSource):
    """Templates written into the spec, which arrive at given times or by an arrival process.

    Without ``which``, each arrival is of a template that the seed draws.
    """

    reads_files = False

    source: Literal["templates"]
    templates: tuple[TemplateSpec, ...] = Field(min_length=1)
    arrivals: Annotated[
        Annotated[tuple[Arrival, ...], Tag("<list>")] | Annotated[ProcessName, Tag("<process>")],
        Discriminator(_list_or_process),
    ]
    which: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    workflows: int | None = Field(None, ge=1)
    rate: Rate = RATE

    @model_validator(mode="after")
    def _fits_together(self) -> Templates:
        by_process = isinstance(self.arrivals, str)
        if by_process and self.workflows is None:
            raise PydanticCustomError(
                "not_allowed", "workflows: is required with an arrival process"
            )
        if not by_process and not self.arrivals:
            raise PydanticCustomError("not_allowed", "arrivals: at least one is needed")
        if self.which is not None:
            if by_process or len(self.which) != len(self.arrivals):
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
            template.template(str(index), f"workload.templates[{index}]")
            for index, template in enumerate(self.templates)
        ]

    def mix(self, seed: int, single_core_speed: int) -> Counted:
        """The templates, and their arrivals, which may be drawn by a process."""
        made = tuple(self.made())
        if isinstance(self.arrivals, str):
            process = (self.workflows or 1, seed, self.arrivals, self.rate)
            words = arrivals_not_told(self.workflows, self.arrivals, self.rate, seed)
            return Counted(by_process(made, *process, single_core_speed), (("arrivals", words),))
        which: Sequence[int] | None = self.which
        if which is None:
            which = stream(seed, "templates").integers(0, len(made), len(self.arrivals)).tolist()
        arrivals = np.array(self.arrivals)
        return Counted(WorkflowMix(made, arrivals, np.array(which), single_core_speed), ())
