"""Workflows drawn from a seed in a named shape, at any size, and when they arrive.

Five shapes are those of Bharathi et al. (Characterization of scientific workflows, WORKS 2008) and
Juve et al. (Characterizing and profiling scientific workflows, FGCS 2013). Their mean run times
and file sizes, rounded, and the number of images in a Montage are those of the generator that
Bharathi wrote and that made the workflows of the Pegasus gallery
(github.com/pegasus-isi/WorkflowGenerator, bharathi). The other numbers of functions and the
spreads around the means are ours, near that generator's; large spreads are lower. That draws lie
between half and one and a half of the mean is what the gallery's workflows show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from cloudarena.base.errors import SpecError, check_choice
from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream
from cloudarena.workloads.workflow.arrivals import ARRIVALS, RATE, by_process
from cloudarena.workloads.workflow.columns import SINGLE_CORE_SPEED, WorkflowMix
from cloudarena.workloads.workflow.shapes import (
    cybershake,
    epigenomics,
    inspiral,
    layered,
    montage,
    sipht,
)
from cloudarena.workloads.workflow.shapes.drawing import Drawing
from cloudarena.workloads.workflow.source import (
    Counted,
    ProcessName,
    Rate,
    Resources,
    WorkflowSource,
)
from cloudarena.workloads.workflow.timed import RESOURCES, TimedWorkflow, template_of

MOST_FUNCTIONS = 10**7


class Shape(NamedTuple):
    """A way to draw a workflow of about so many functions."""

    least: int
    """The fewest functions that show it."""
    draw: Callable[[Drawing, int], None]


SHAPES: dict[str, Shape] = {
    "montage": Shape(montage.LEAST, montage.draw_montage),
    "cybershake": Shape(cybershake.LEAST, cybershake.draw_cybershake),
    "epigenomics": Shape(epigenomics.LEAST, epigenomics.draw_epigenomics),
    "inspiral": Shape(inspiral.LEAST, inspiral.draw_inspiral),
    "sipht": Shape(sipht.LEAST, sipht.draw_sipht),
    "layered": Shape(layered.LEAST, layered.draw_layered),
}


ShapeName = Literal["montage", "cybershake", "epigenomics", "inspiral", "sipht", "layered"]


class Shapes(WorkflowSource):
    """Workflows in the shape of known ones, or layered at random, at any size."""

    is_generator = True
    reads_files = False
    aliases = ("workflows",)
    option_names: ClassVar[Mapping[str, str]] = {"shapes": "shape"}
    example = "--shape montage --functions 200 --workflows 100 --out montage"

    source: Literal["shapes"]
    shapes: tuple[ShapeName, ...] = Field(("montage",), min_length=1)
    """One of montage, cybershake, epigenomics, inspiral, sipht and layered; may be repeated."""
    functions: int = Field(ge=1)
    """How many functions a workflow has."""
    workflows: int = Field(ge=1)
    """How many workflows arrive."""
    templates: int = Field(1, ge=1)
    """How many are drawn of each shape."""
    arrivals: ProcessName = ARRIVALS  # type: ignore[assignment]
    """How they arrive: even, poisson, bursty or diurnal."""
    rate: Rate = RATE
    """Workflows that arrive in a second on average."""
    runtime_scale: float = Field(1.0, gt=0)
    """Run times are so many times longer."""
    resources: Resources = RESOURCES  # type: ignore[assignment]
    """Memory and parallelism: azure-like or one-core."""

    def mix(self, seed: int, single_core_speed: int) -> Counted:
        """Draws the workflows of a seed."""
        mix = draw_workflows(
            self.shapes,
            self.functions,
            self.workflows,
            seed,
            templates=self.templates,
            arrivals=self.arrivals,
            rate=self.rate,
            runtime_scale=self.runtime_scale,
            resources=self.resources,
            single_core_speed=single_core_speed,
        )
        return Counted(mix, shapes_not_told(seed))

    def not_told(self, seed: int) -> Mapping[str, str]:
        """All of it is drawn."""
        return dict(shapes_not_told(seed))


def draw_shape(
    shape: str, functions: int, rng: np.random.Generator, runtime_scale: float = 1.0, name: str = ""
) -> TimedWorkflow:
    """Draws a workflow.

    Args:
        shape: one of ``SHAPES``.
        functions: how many it has; of some shapes up to three less are drawn.
        rng: draws it.
        runtime_scale: all run times are so many times as long.
        name: what it is called; the shape and the number of functions by default.
    """
    check_choice("shape", shape, SHAPES)
    least = SHAPES[shape].least
    if not least <= functions <= MOST_FUNCTIONS:
        raise SpecError(
            f"functions: {functions} is not allowed: from {least} to {MOST_FUNCTIONS:,} for {shape}"
        )
    if not (runtime_scale > 0 and math.isfinite(runtime_scale)):
        raise SpecError(f"runtime_scale: {runtime_scale:g} is not allowed: a number more than 0")
    drawing = Drawing(rng)
    SHAPES[shape].draw(drawing, functions)
    return drawing.finish(name or f"{shape}-{functions}", runtime_scale)


def draw_workflows(
    shapes: Sequence[str],
    functions: int,
    workflows: int,
    seed: int,
    *,
    templates: int = 1,
    arrivals: str = ARRIVALS,
    rate: float = RATE,
    runtime_scale: float = 1.0,
    resources: str = RESOURCES,
    single_core_speed: int = SINGLE_CORE_SPEED,
) -> WorkflowMix:
    """Draws templates, and workflows that arrive, each of a template at random.

    Each template draws from streams of its own: another shape beside it changes nothing in it.

    Args:
        shapes: the shapes of the templates.
        functions: how many functions each has.
        workflows: how many workflows arrive.
        seed: decides everything.
        templates: how many are drawn of each shape.
        arrivals: the arrival process, one of ``processes.PROCESSES``.
        rate: how many workflows arrive in a second on average.
        runtime_scale: all run times are so many times as long.
        resources: the distribution of memory and parallelism, one of ``RESOURCE_DISTRIBUTIONS``.
        single_core_speed: operations that a core does in a second.
    """
    if not shapes:
        raise SpecError("shapes: at least one is needed")
    if templates < 1:
        raise SpecError(f"templates: {templates} is not allowed: at least 1")
    if functions <= MOST_FUNCTIONS < templates * len(shapes) * functions:
        raise SpecError(
            f"templates: {templates:,} of each shape with {functions:,} functions are not allowed: "
            f"at most {MOST_FUNCTIONS:,} functions of templates in all"
        )
    made = []
    for shape in shapes:
        for k in range(templates):
            name = f"{shape}-{functions}" if templates == 1 else f"{shape}-{functions}-{k}"
            rng = stream(seed, f"workflow/{shape}/{k}")
            timed = draw_shape(shape, functions, rng, runtime_scale, name)
            rng = stream(seed, f"resources/{shape}/{k}")
            made.append(template_of(timed, rng, resources, single_core_speed))
    return by_process(made, workflows, seed, arrivals, rate, single_core_speed)


def shapes_not_told(seed: int) -> tuple[tuple[str, str], ...]:
    """Says that all figures are drawn."""
    return (("all", f"drawn by the generator of shapes under seed {seed}"),)
