"""``cloudarena trace`` for workflows: their formats, their generators, their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli.options import NOT_IN_FILE, Json, Seed, TraceFolder, people, print_json

if TYPE_CHECKING:
    from cloudarena.contract import Scenario
    from cloudarena.workloads.workflow.columns import WorkflowMix
    from cloudarena.workloads.workflow.timed import TimedWorkflow

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
    """The figures of workflows in neutral form, and what their source did not tell."""
    from cloudarena.workloads.workflow.files import read_workflow_file

    return _described(read_workflow_file(files["workflows.json"]))


def describe_scenario(scenario: Scenario, seed: int) -> dict[str, Any]:
    """The figures of a scenario's workflows under a seed, and what its source does not tell."""
    from cloudarena.workloads.workflow.columns import describe, figures_not_told

    workload = scenario.load_workload(seed)  # type: ignore[attr-defined]
    speed = scenario.cluster.single_core_speed  # type: ignore[attr-defined]
    told = scenario.workload.not_told(seed)  # type: ignore[attr-defined]
    return {**describe(workload, speed), NOT_IN_FILE: figures_not_told(told)}


def _described(mix: WorkflowMix) -> dict[str, Any]:
    from cloudarena.workloads.workflow.columns import describe, figures_not_told, lay_out

    figures = describe(lay_out(mix.templates, mix.arrivals, mix.which), mix.single_core_speed)
    return {**figures, NOT_IN_FILE: figures_not_told(mix.not_told)}


def _describe_dax(document: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.workflow.dax import read_dax

    return _described(_mix(read_dax, [document], RESOURCES, SPEED, seed))


def _describe_wfcommons(document: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.workflow.wfformat import read_wfformat

    return _described(_mix(read_wfformat, [document], RESOURCES, SPEED, seed))


def _describe_alibaba2018(trace: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.workflow.alibaba2018 import load_alibaba2018_workflows, not_told
    from cloudarena.workloads.workflow.columns import describe, figures_not_told

    figures = describe(load_alibaba2018_workflows(trace), SPEED)
    return {**figures, NOT_IN_FILE: figures_not_told(not_told())}


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
    from cloudarena.workloads.workflow.dax import read_dax

    mix = _mix(read_dax, files, resources, single_core_speed, seed, workflows, arrivals, rate)
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
    from cloudarena.workloads.workflow.wfformat import read_wfformat

    mix = _mix(read_wfformat, files, resources, single_core_speed, seed, workflows, arrivals, rate)
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
    from cloudarena.workloads.workflow.alibaba2018 import load_alibaba2018_workflows, not_told
    from cloudarena.workloads.workflow.columns import templates_of

    wanted = None if status == "any" else status
    workload = load_alibaba2018_workflows(
        trace, wanted, offset, workflows, workers, machine_memory_mb, single_core_speed
    )
    mix = templates_of(workload)._replace(
        single_core_speed=single_core_speed, not_told=not_told(workers, machine_memory_mb)
    )
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
    from cloudarena.workloads.arrivals.azure_functions import read_invocations
    from cloudarena.workloads.workflow.arrivals import by_invocations, invoked
    from cloudarena.workloads.workflow.files import read_workflow_file

    read = read_workflow_file(templates)
    invocations = read_invocations(trace, trigger)
    speed = read.single_core_speed
    mix = by_invocations(
        read.templates, invocations, seed, share, first_minute, minutes, spread, speed
    )
    told = [row for row in read.not_told if row[0] != "arrivals"]
    mix = mix._replace(not_told=(*told, ("arrivals", invoked(spread, seed))))
    _write(mix, {"invoked_functions": len(invocations.function)}, out, as_json)


def convert_workflows(
    trace: Annotated[Path, typer.Argument(metavar="FILE", help="The file, plain or .gz.")],
    out: TraceFolder,
    as_json: Json = False,
) -> None:
    """Workflows in neutral form, JSON, checked.

    Example: cloudarena trace convert workflows my-workflows.json --out my-trace
    """
    from cloudarena.workloads.workflow.files import read_workflow_file

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
    from cloudarena.workloads.workflow.shapes import draw_workflows, shapes_not_told

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
    _write(mix._replace(not_told=shapes_not_told(seed)), {}, out, as_json)


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


def not_told(name: str, seed: int) -> dict[str, str]:
    """What a source does not tell depends on what is in it, so the figures say it themselves."""
    return {}


def _mix(
    read: Callable[[Path], TimedWorkflow],
    files: Sequence[Path],
    resources: str,
    single_core_speed: int,
    seed: int,
    workflows: int | None = None,
    arrivals: str = "poisson",
    rate: float = 0.05,
) -> WorkflowMix:
    """Documents as templates: each arrives once at 0, or so many by a law of arrivals."""
    from cloudarena.workloads.workflow.arrivals import arrivals_not_told, at_once, by_law
    from cloudarena.workloads.workflow.timed import documents_as_templates

    templates, told = documents_as_templates(read, files, resources, single_core_speed, seed)
    if workflows is None:
        mix = at_once(templates, single_core_speed)
    else:
        mix = by_law(templates, workflows, seed, arrivals, rate, single_core_speed)
    words = arrivals_not_told(workflows, arrivals, rate, seed)
    return mix._replace(not_told=(*told, ("arrivals", words)))


def _write(mix: WorkflowMix, counts: Mapping[str, int], out: Path, as_json: bool) -> None:
    """Writes the workflows, and says what was made, and where."""
    from cloudarena.workloads.workflow.files import write_workflow_file

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
