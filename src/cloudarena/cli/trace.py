"""``cloudarena trace``: look at, import and make workloads.

What there is to do for one kind of scenario is one module with the names of ``TraceKind``; a
new kind is one more entry in ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from cloudarena.base.errors import CloudarenaError, TraceError
from cloudarena.cli import trace_jobs, trace_vm, trace_workflow
from cloudarena.cli.options import NOT_IN_FILE, Json, Overrides, Seed, people, print_json
from cloudarena.cli.usage import Group

if TYPE_CHECKING:
    from cloudarena.contract import Scenario


class TraceKind(Protocol):
    """The traces of one kind of scenario."""

    KIND: str
    """The kind, such as ``vm``."""
    FILES: Sequence[str]
    """The names of the files of a trace in neutral form; one without ending may have any."""
    CONVERTERS: Mapping[str, Callable[..., None]]
    """Commands of ``trace convert``, by the name of the format they read."""
    GENERATORS: Mapping[str, Callable[..., None]]
    """Commands of ``trace generate``, by the name of the law."""
    DESCRIBERS: Mapping[str, Callable[[Path, int], dict[str, Any]]]
    """Figures of a file under a seed, by the name of its format among the converters."""

    def describe_files(self, files: Mapping[str, Path]) -> dict[str, Any]:
        """The figures of a trace in neutral form, given its files by name."""

    def describe_scenario(self, scenario: Scenario, seed: int) -> dict[str, Any]:
        """The figures of a scenario's workload under a seed."""

    def not_told(self, name: str, seed: int) -> dict[str, str]:
        """The figures that a format or a source does not tell, and where they come from.

        For figures that have no key ``not_in_file`` themselves.
        """


KINDS: tuple[TraceKind, ...] = (trace_vm, trace_jobs, trace_workflow)
ENDINGS = (".parquet", ".csv", ".csv.gz")
MARK = "†"
"""Stands beside figures that are not in the trace."""

app = typer.Typer(
    help="Look at, import and make workloads.",
    epilog="Example: cloudarena trace describe vm/azure-like-10k",
    cls=Group,
    add_completion=False,
)
convert = typer.Typer(
    help="Import a public trace, as Parquet.",
    epilog="Example: cloudarena trace convert openb --pods openb_pod_list_default.csv --out openb",
    cls=Group,
    add_completion=False,
)
generate = typer.Typer(
    help="Make a trace from a seed, as Parquet.",
    epilog="Example: cloudarena trace generate azure-like --vms 10000 --out azure-like-10k",
    cls=Group,
    add_completion=False,
)
app.add_typer(convert, name="convert")
app.add_typer(generate, name="generate")
for _kind in KINDS:
    for _name, _command in _kind.CONVERTERS.items():
        convert.command(_name)(_command)
    for _name, _command in _kind.GENERATORS.items():
        generate.command(_name)(_command)


@app.command()
def describe(
    traces: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Traces as they were published, folders with a trace, YAML files or names of "
            "the catalogue.",
            show_default=False,
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Reads files as this format of `trace convert`.",
            show_default="by what is in them",
        ),
    ] = None,
    vmtable: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table of VMs, with --readings.")
    ] = None,
    readings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Their readings, with --vmtable.")
    ] = None,
    seed: Seed = 0,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """The figures by which a trace is known: how many, how large, how long, how busy.

    Example: cloudarena trace describe Montage_100.dax workflow/demo --seed 1
    """
    figures = {
        trace: _describe(trace, file_format, seed, list(overrides or ())) for trace in traces or ()
    }
    if (vmtable is None) != (readings is None):
        raise CloudarenaError("--vmtable and --readings go together")
    if vmtable is not None and readings is not None:
        files = {"vmtable": vmtable, "readings": readings}
        figures[str(vmtable)] = {NOT_IN_FILE: {}, **trace_vm.describe_files(files)}
    if not figures:
        raise CloudarenaError(
            "nothing to describe: give a file, a folder, a spec, or --vmtable and --readings"
        )
    if as_json:
        print_json(figures)
        return
    _print_figures(figures)


def _describe(
    trace: str, file_format: str | None, seed: int, overrides: list[str]
) -> dict[str, Any]:
    path = Path(trace)
    if path.is_dir():
        return _describe_folder(path)
    if path.is_file() and path.suffix not in (".yaml", ".yml"):
        return _describe_file(path, file_format, seed)
    from cloudarena.catalogue import load

    scenario = load(trace, overrides)
    for kind in KINDS:
        if scenario.kind.name == kind.KIND:
            source = getattr(scenario.workload, "source", "")  # type: ignore[attr-defined]
            return {
                NOT_IN_FILE: kind.not_told(source, seed),
                **kind.describe_scenario(scenario, seed),
            }
    raise CloudarenaError(f"{trace}: a {scenario.kind} scenario has no figures to show")


def _describe_folder(folder: Path) -> dict[str, Any]:
    """The figures of the trace whose files lie in a folder."""
    for kind in KINDS:
        # The endings from last to first, so that of two files the first ending wins.
        files = {
            name: folder / (name + ending)
            for name in kind.FILES
            for ending in (("",) if Path(name).suffix else reversed(ENDINGS))
            if (folder / (name + ending)).is_file()
        }
        if len(files) == len(kind.FILES):
            return {NOT_IN_FILE: {}, **kind.describe_files(files)}
    known = "; ".join(f"{' and '.join(kind.FILES)} for {kind.KIND}" for kind in KINDS)
    raise TraceError(f"{folder}: is not a trace: needed are files ({', '.join(ENDINGS)}): {known}")


def _describe_file(file: Path, file_format: str | None, seed: int) -> dict[str, Any]:
    """The figures of a trace as it was published."""
    from cloudarena.workloads.formats import recognise

    describers = {name: (kind, one) for kind in KINDS for name, one in kind.DESCRIBERS.items()}
    name = file_format or recognise(file)
    if name is None:
        raise TraceError(
            f"{file}: is of no known format: give --format, one of {', '.join(describers)}"
        )
    if name not in describers:
        raise CloudarenaError(f"--format: {name!r} is not allowed: one of {', '.join(describers)}")
    kind, describer = describers[name]
    return {NOT_IN_FILE: kind.not_told(name, seed), **describer(file, seed)}


def _print_figures(figures: Mapping[str, Mapping[str, Any]]) -> None:
    from rich.table import Table

    rows: dict[str, dict[str, str]] = {}
    for trace, values in figures.items():
        marked = values[NOT_IN_FILE]
        for name, value in values.items():
            if name == NOT_IN_FILE:
                continue
            mark = f" {MARK}" if name in marked else ""
            parts = value.items() if isinstance(value, Mapping) else [("", value)]
            for part, number in parts:
                rows.setdefault(f"{name} {part}".strip(), {})[trace] = _shown(number) + mark
    table = Table("figure", box=None, pad_edge=False)
    for trace in figures:
        table.add_column(trace, justify="right", overflow="fold")
    for name, cells in rows.items():
        table.add_row(name, *(cells.get(trace, "") for trace in figures))
    people().print(table, highlight=False)
    for trace, values in figures.items():
        reasons: dict[str, list[str]] = {}
        for name, why in values[NOT_IN_FILE].items():
            reasons.setdefault(why, []).append(name)
        for why, names in reasons.items():
            text = f"{MARK} not in {trace}: {', '.join(names)}: {why}"
            if names == ["all"]:
                text = f"{trace}: all figures are {why}"
            people().print(text, highlight=False)


def _shown(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"
