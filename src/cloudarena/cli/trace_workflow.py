"""``cloudarena trace`` for workflows: their formats, their generators, their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli.options import Json, Seed, TraceFolder, people, print_json

if TYPE_CHECKING:
    from cloudarena.contract import Scenario
    from cloudarena.workloads.workflow_timed import TimedWorkflow
    from cloudarena.workloads.workflows import WorkflowMix, WorkflowTemplate

KIND = "workflow"
FILES: Sequence[str] = ("workflows.json",)
SPEED = 1_000_000_000
RESOURCES = "azure-like"

Documents = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="A workflow each, plain or .gz.")
]
Speed = Annotated[int, typer.Option(help="Operations that a core does in a second.")]
Resources = Annotated[
    str,
    typer.Option(help="Memory and parallelism, where not known: azure-like or one-core."),
]
Some = Annotated[
    int | None,
    typer.Option(
        "--workflows",
        help="So many arrive, each of a file at random.",
        show_default="each once, at 0",
    ),
]
Arrivals = Annotated[str, typer.Option(help="even, poisson, bursty or diurnal.")]
Rate = Annotated[float, typer.Option(help="Workflows that arrive in a second on average.")]


def describe_files(files: Mapping[str, Path]) -> dict[str, Any]:
    """The figures of workflows in neutral form."""
    from cloudarena.workloads.workflow_files import read_workflow_file
    from cloudarena.workloads.workflows import describe, lay_out

    mix = read_workflow_file(files["workflows.json"])
    return describe(lay_out(mix.templates, mix.arrivals, mix.which), mix.single_core_speed)


def describe_scenario(scenario: Scenario, seed: int) -> dict[str, Any]:
    """The figures of a scenario's workflows under a seed."""
    from cloudarena.workloads.workflows import describe

    workload = scenario.load_workload(seed)  # type: ignore[attr-defined]
    return describe(workload, scenario.cluster.single_core_speed)  # type: ignore[attr-defined]


def _describe_dax(document: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.workflow_dax import read_dax

    return _describe_template(read_dax, document, seed)


def _describe_wfcommons(document: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.workflow_wfformat import read_wfformat

    return _describe_template(read_wfformat, document, seed)


def _describe_template(
    read: Callable[[Path], TimedWorkflow], document: Path, seed: int
) -> dict[str, Any]:
    from cloudarena.workloads.workflows import describe, lay_out

    return describe(
        lay_out(_templates(read, [document], RESOURCES, SPEED, seed), [0.0], [0]), SPEED
    )


def _describe_alibaba2018(trace: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.workflow_alibaba2018 import load_alibaba2018_workflows
    from cloudarena.workloads.workflows import describe

    return describe(load_alibaba2018_workflows(trace), SPEED)


def _describe_workflows(document: Path, seed: int) -> dict[str, Any]:
    return describe_files({"workflows.json": document})


def convert_dax(
    files: Documents,
    out: TraceFolder,
    resources: Resources = RESOURCES,
    workflows: Some = None,
    arrivals: Arrivals = "poisson",
    rate: Rate = 0.05,
    single_core_speed: Speed = SPEED,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Pegasus DAX 2.1, such as the synthetic workflows of the Pegasus gallery.

    Example: cloudarena trace convert dax Montage_100.xml CyberShake_100.xml --out gallery
    """
    from cloudarena.workloads.workflow_dax import read_dax

    templates = _templates(read_dax, files, resources, single_core_speed, seed)
    mix = _arriving(templates, workflows, arrivals, rate, single_core_speed, seed)
    _write(mix, {}, out, as_json)


def convert_wfcommons(
    files: Documents,
    out: TraceFolder,
    resources: Resources = RESOURCES,
    workflows: Some = None,
    arrivals: Arrivals = "poisson",
    rate: Rate = 0.05,
    single_core_speed: Speed = SPEED,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """WfCommons instances, in WfFormat 1.5 or 1.6.

    Example: cloudarena trace convert wfcommons blast-chameleon-small-001.json --out blast
    """
    from cloudarena.workloads.workflow_wfformat import read_wfformat

    templates = _templates(read_wfformat, files, resources, single_core_speed, seed)
    mix = _arriving(templates, workflows, arrivals, rate, single_core_speed, seed)
    _write(mix, {}, out, as_json)


def convert_alibaba2018(
    trace: Annotated[Path, typer.Argument(metavar="FILE", help="The table, plain or .gz.")],
    out: TraceFolder,
    status: Annotated[
        str, typer.Option(help="Takes tasks of this status; 'any' takes all.")
    ] = "Terminated",
    offset: Annotated[int, typer.Option(help="Leaves out so many of the first jobs.")] = 0,
    workflows: Annotated[
        int | None, typer.Option(help="Takes so many jobs.", show_default="all")
    ] = None,
    workers: Annotated[int, typer.Option(help="The highest parallelism of a function.")] = 4,
    machine_memory_mb: Annotated[
        int, typer.Option(help="The memory of a machine of the trace.")
    ] = 196_608,
    single_core_speed: Speed = SPEED,
    as_json: Json = False,
) -> None:
    """The table batch_task of Alibaba's trace of 2018: jobs as workflows, tasks as functions.

    Example: cloudarena trace convert alibaba-2018-workflows batch_task.csv --workflows 1000
    --out alibaba
    """
    from cloudarena.workloads.workflow_alibaba2018 import load_alibaba2018_workflows
    from cloudarena.workloads.workflows import templates_of

    wanted = None if status == "any" else status
    workload = load_alibaba2018_workflows(
        trace, wanted, offset, workflows, workers, machine_memory_mb, single_core_speed
    )
    mix = templates_of(workload)._replace(single_core_speed=single_core_speed)
    _write(mix, {}, out, as_json)


def convert_azure_functions(
    trace: Annotated[
        Path, typer.Argument(metavar="FILE", help="Invocations by minute, CSV or .csv.gz.")
    ],
    templates: Annotated[
        Path, typer.Option(metavar="FILE", help="A workflows.json: what arrives.")
    ],
    out: TraceFolder,
    trigger: Annotated[
        str | None, typer.Option(help="Takes functions of this trigger.", show_default="all")
    ] = None,
    share: Annotated[float, typer.Option(help="Takes this share of the invocations.")] = 1.0,
    first_minute: Annotated[int, typer.Option(help="Begins with this minute of the day.")] = 1,
    minutes: Annotated[
        int | None, typer.Option(help="Takes so many minutes.", show_default="to midnight")
    ] = None,
    spread: Annotated[str, typer.Option(help="Within a minute: uniform or even.")] = "uniform",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """A day of Azure Functions 2019 as arrivals; each function there is a template at random.

    Example: cloudarena trace convert azure-functions-2019 d01.csv --templates workflows.json
    --out azure
    """
    from cloudarena.workloads.azure_functions import read_invocations
    from cloudarena.workloads.workflow_arrivals import by_invocations
    from cloudarena.workloads.workflow_files import read_workflow_file

    mix = read_workflow_file(templates)
    invocations = read_invocations(trace, trigger)
    speed = mix.single_core_speed
    mix = by_invocations(
        mix.templates, invocations, seed, share, first_minute, minutes, spread, speed
    )
    _write(mix, {"invoked_functions": len(invocations.function)}, out, as_json)


def convert_workflows(
    trace: Annotated[Path, typer.Argument(metavar="FILE", help="The file, plain or .gz.")],
    out: TraceFolder,
    as_json: Json = False,
) -> None:
    """Workflows in neutral form, JSON, checked.

    Example: cloudarena trace convert workflows my-workflows.json --out my-trace
    """
    from cloudarena.workloads.workflow_files import read_workflow_file

    _write(read_workflow_file(trace), {}, out, as_json)


def generate_workflows(
    functions: Annotated[int, typer.Option(help="How many functions a workflow has.")],
    workflows: Annotated[int, typer.Option(help="How many workflows arrive.")],
    out: TraceFolder,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            help="montage, cybershake, epigenomics, inspiral, sipht or layered; may be repeated.",
            show_default="montage",
        ),
    ] = None,
    templates: Annotated[int, typer.Option(help="How many are drawn of each shape.")] = 1,
    arrivals: Arrivals = "poisson",
    rate: Rate = 0.05,
    runtime_scale: Annotated[float, typer.Option(help="Run times are so many times longer.")] = 1.0,
    resources: Annotated[
        str, typer.Option(help="Memory and parallelism: azure-like or one-core.")
    ] = RESOURCES,
    single_core_speed: Speed = SPEED,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Workflows in the shape of known ones, or layered at random, at any size.

    Example: cloudarena trace generate workflows --shape montage --functions 200 --workflows 100
    --out montage
    """
    from cloudarena.workloads.workflow_shapes import draw_workflows

    mix = draw_workflows(
        shape or ["montage"],
        functions,
        workflows,
        seed,
        templates=templates,
        arrivals=arrivals,
        rate=rate,
        runtime_scale=runtime_scale,
        resources=resources,
        single_core_speed=single_core_speed,
    )
    _write(mix, {}, out, as_json)


CONVERTERS: Mapping[str, Callable[..., None]] = {
    "dax": convert_dax,
    "wfcommons": convert_wfcommons,
    "alibaba-2018-workflows": convert_alibaba2018,
    "azure-functions-2019": convert_azure_functions,
    "workflows": convert_workflows,
}
DESCRIBERS: Mapping[str, Callable[[Path, int], dict[str, Any]]] = {
    "dax": _describe_dax,
    "wfcommons": _describe_wfcommons,
    "alibaba-2018-workflows": _describe_alibaba2018,
    "workflows": _describe_workflows,
}
GENERATORS: Mapping[str, Callable[..., None]] = {"workflows": generate_workflows}


def _templates(
    read: Callable[[Path], TimedWorkflow],
    files: Sequence[Path],
    resources: str,
    single_core_speed: int,
    seed: int,
) -> list[WorkflowTemplate]:
    from cloudarena.engine.streams import stream
    from cloudarena.workloads.workflow_timed import template_of

    rng = stream(seed, "resources")
    return [template_of(read(file), rng, resources, single_core_speed, str(file)) for file in files]


def _arriving(
    templates: Sequence[WorkflowTemplate],
    workflows: int | None,
    arrivals: str,
    rate: float,
    single_core_speed: int,
    seed: int,
) -> WorkflowMix:
    """Each template once at 0, or workflows by a law of arrivals."""
    from cloudarena.workloads.workflow_arrivals import at_once, by_law

    if workflows is None:
        return at_once(templates, single_core_speed)
    return by_law(templates, workflows, seed, arrivals, rate, single_core_speed)


def _write(mix: WorkflowMix, counts: Mapping[str, int], out: Path, as_json: bool) -> None:
    """Writes the workflows, and says what was made, and where."""
    from cloudarena.workloads.workflow_files import write_workflow_file

    write_workflow_file(mix, out)
    summary = {
        **counts,
        "templates": len(mix.templates),
        "functions_of_templates": sum(len(one.computation) for one in mix.templates),
        "workflows": len(mix.arrivals),
    }
    if as_json:
        print_json({**summary, "out": str(out)})
        return
    for name, value in summary.items():
        people().print(f"{name.replace('_', ' ')}: {value:,}", highlight=False)
    people().print(f"wrote {out}/workflows.json", highlight=False)
