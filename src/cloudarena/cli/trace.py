"""``cloudarena trace``: look at, import and make workloads.

All of it is made of the sources of the kinds: a format or a generator that is one of them is
described, converted and generated here without another word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from cloudarena.base.errors import CloudarenaError, TraceError
from cloudarena.cli import complete
from cloudarena.cli.commands import Build, Commands
from cloudarena.cli.options import NOT_IN_FILE, Json, Overrides, Seed, print_json, stdout
from cloudarena.cli.usage import Group

if TYPE_CHECKING:
    from cloudarena.contract import Kind
    from cloudarena.contract.source import Source

ENDINGS = (".parquet", ".csv", ".csv.gz")
MARK = "†"
"""Stands beside figures that are not in the trace."""


class Known(NamedTuple):
    """A source and whose it is."""

    kind: Kind
    source: type[Source]


def known_sources(generators: bool) -> dict[str, list[Known]]:
    """The formats, or the generators, of all kinds by name."""
    from cloudarena.scenarios import kinds

    found: dict[str, list[Known]] = {}
    for kind in kinds().values():
        if not hasattr(kind.room("sources"), "write"):
            continue  # a kind of someone else that has no format of its own
        for name, source in kind.sources.items():
            if source.is_generator if generators else source.reads_files:
                found.setdefault(name, []).append(Known(kind, source))
    return found


def find_source(found: Mapping[str, list[Known]], name: str, kind: str | None) -> Known | None:
    """The source of a name or another name of it; None if there is none.

    Of a name that several kinds have, it is that of the kind, or of the only one that has no
    other name.
    """
    for several in found.values():
        for one in several:
            if name in one.source.aliases:
                return one
    several = found.get(name, [])
    if len(several) < 2:
        return several[0] if several else None
    names = [one.kind.name for one in several]
    plain = [one for one in several if not one.source.aliases]
    wanted = [one for one in several if one.kind.name == kind] if kind else plain
    if kind and not wanted:
        raise CloudarenaError(f"--kind: {kind!r} is not allowed: one of {', '.join(names)}")
    if len(wanted) != 1:
        raise CloudarenaError(f"--kind: is required: {name} is a source of {', '.join(names)}")
    return wanted[0]


def _builders(verb: str) -> Mapping[str, Build]:
    """The commands of a verb by name; a name of several kinds has a command for each."""
    from cloudarena.cli.source_options import source_command

    made: dict[str, Build] = {}
    for name, several in known_sources(verb == "generate").items():
        kinds = [one.kind.name for one in several] if len(several) > 1 else []
        first = next((one for one in several if not one.source.aliases), several[0])
        made[name] = partial(source_command, *first, name, verb, kinds)
    return made


def _other_builders(verb: str) -> Mapping[str, Build]:
    """Commands that are not listed: other names, and those of a name for each kind."""
    from cloudarena.cli.source_options import source_command

    made: dict[str, Build] = {}
    for name, several in known_sources(verb == "generate").items():
        kinds = [one.kind.name for one in several] if len(several) > 1 else []
        for one in several:
            made[f"{name}@{one.kind.name}"] = partial(source_command, *one, name, verb, kinds)
            for alias in one.source.aliases:
                made[alias] = partial(source_command, *one, alias, verb)
    return made


class SourceGroup(Group):
    """A verb whose commands are sources; ``--kind`` chooses among those of one name."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        verb = str(self.name)
        self.commands = Commands(  # type: ignore[assignment]
            partial(_builders, verb), partial(_other_builders, verb)
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds the command of a name, and of a kind if several have it."""
        name, found = args[0], known_sources(self.name == "generate")
        kind, asks_help = _option(args, "--kind"), {"--help", "-h"} & set(args)
        if len(found.get(name, ())) > 1 and (kind or not asks_help):
            known = find_source(found, name, kind)
            assert known is not None
            return name, self.commands[f"{name}@{known.kind.name}"], args[1:]
        return super().resolve_command(ctx, args)


def _option(words: Sequence[str], name: str) -> str | None:
    """The value of an option on a command line that is not parsed yet."""
    for at, word in enumerate(words):
        if word == name:
            return next(iter(words[at + 1 :]), "")
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


app = typer.Typer(
    help="Look at, import and make workloads.",
    epilog="Example: cloudarena trace describe vm/azure-like-10k",
    cls=Group,
    add_completion=False,
)
convert = typer.Typer(
    help="Import a public trace, as Parquet or JSON.",
    epilog="Example: cloudarena trace convert openb --pods openb_pod_list_default.csv --out openb",
    cls=SourceGroup,
    add_completion=False,
)
generate = typer.Typer(
    help="Make a trace from a seed, as Parquet or JSON.",
    epilog="Example: cloudarena trace generate azure-like --vms 10000 --out azure-like-10k",
    cls=SourceGroup,
    add_completion=False,
)
app.add_typer(convert, name="convert")
app.add_typer(generate, name="generate")


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
    kind: Annotated[
        str | None,
        typer.Option(
            help="The kind, where several have a format of that name.",
            autocompletion=complete.kind_names,
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
        trace: _describe(trace, file_format, kind, seed, list(overrides or ()))
        for trace in traces or ()
    }
    if (vmtable is None) != (readings is None):
        raise CloudarenaError("--vmtable and --readings go together")
    if vmtable is not None and readings is not None:
        files = find_source(known_sources(generators=False), "files", None)
        assert files is not None
        given = {"vmtable": vmtable, "readings": readings}
        figures[str(vmtable)] = _figures(files, "files", given, seed)
    if not figures:
        raise CloudarenaError(
            "nothing to describe: give a file, a folder, a spec, or --vmtable and --readings"
        )
    if as_json:
        print_json(figures)
        return
    _print_figures(figures)
    for trace in traces or ():
        if drawn := _picture(trace, seed, list(overrides or ())):
            stdout().print(f"\n{trace}", style="bold", highlight=False)
            stdout().print(drawn, highlight=False, markup=False, soft_wrap=True)


def _picture(trace: str, seed: int, overrides: list[str]) -> str:
    """A drawing of what a scenario's work runs on, if its kind draws any."""
    from cloudarena.catalogue import load, names

    path = Path(trace)
    if trace not in names() and (not path.is_file() or path.suffix not in (".yaml", ".yml")):
        return ""
    scenario = load(trace, overrides)
    drawn = getattr(scenario.kind.room("build"), "drawing", None)
    return "" if drawn is None else str(drawn(scenario, seed))


def _describe(
    trace: str, file_format: str | None, kind: str | None, seed: int, overrides: list[str]
) -> dict[str, Any]:
    path = Path(trace)
    if path.is_dir():
        return _describe_folder(path, seed)
    if path.is_file() and path.suffix not in (".yaml", ".yml"):
        return _describe_file(path, file_format, kind, seed)
    from cloudarena.catalogue import load

    scenario = load(trace, overrides)
    room = scenario.kind.room("sources")
    if not hasattr(room, "describe"):
        raise CloudarenaError(f"{trace}: a {scenario.kind} scenario has no figures to show")
    return {
        NOT_IN_FILE: dict(scenario.not_told(seed)),
        **room.describe(scenario.load_workload(seed), scenario),
    }


def _figures(known: Known, name: str, given: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The figures of a trace in files."""
    from cloudarena.cli.source_options import make_source

    source = make_source(known.source, name, given)
    scan = source.scan(seed)
    figures = known.kind.room("sources").describe(scan.workload)
    counts = scan.counts if source.shows_counts else {}
    return {NOT_IN_FILE: dict(source.not_told(seed)), **figures, **counts}


def _canonical() -> Iterator[tuple[Known, str]]:
    """The sources that read the canonical format of their kind."""
    for name, several in known_sources(generators=False).items():
        for known in several:
            if known.source.canonical:
                yield known, name


def _describe_folder(folder: Path, seed: int) -> dict[str, Any]:
    """The figures of the trace whose files lie in a folder."""
    for known, name in _canonical():
        # The endings from last to first, so that of two files the first ending wins.
        files = {
            field: folder / (file + ending)
            for field, file in known.source.canonical.items()
            for ending in (("",) if Path(file).suffix else reversed(ENDINGS))
            if (folder / (file + ending)).is_file()
        }
        if len(files) == len(known.source.canonical):
            return _figures(known, name, files, seed)
    needed = "; ".join(
        f"{' and '.join(known.source.canonical.values())} for {known.kind}"
        for known, _ in _canonical()
    )
    raise TraceError(f"{folder}: is not a trace: needed are files ({', '.join(ENDINGS)}): {needed}")


def _describe_file(
    file: Path, file_format: str | None, kind: str | None, seed: int
) -> dict[str, Any]:
    """The figures of a trace as it was published."""
    found = {
        name: single
        for name, several in known_sources(generators=False).items()
        if (single := [known for known in several if _path_field(known.source)])
    }
    known: Known | None
    if file_format is not None:
        known = find_source(found, file_format, kind)
        if known is None:
            raise CloudarenaError(
                f"--format: {file_format!r} is not allowed: one of {', '.join(found)}"
            )
    else:
        known = _recognised(file, found, kind)
        if known is None:
            raise TraceError(
                f"{file}: is of no known format: give --format, one of {', '.join(found)}"
            )
    field, is_list = _path_field(known.source) or ("path", False)
    given = {field: [file] if is_list else file}
    return _figures(known, known.source.names()[0], given, seed)


def _recognised(file: Path, found: Mapping[str, list[Known]], kind: str | None) -> Known | None:
    """The source whose format a file has, by its name or by how it begins."""
    from cloudarena.contract.source import Beginning

    each = [
        known
        for several in found.values()
        for known in several
        if kind is None or known.kind.name == kind
    ]
    stem = file.name.partition(".")[0]
    for known in each:
        if [stem] == list(known.source.canonical.values()):
            return known
    beginning = Beginning(file)
    # Of kinds that take the same file, the first by name: jobs before vm and workflow.
    each.sort(key=lambda known: known.kind.name)
    return next((known for known in each if known.source.recognises(beginning)), None)


def _path_field(source: type[Source]) -> tuple[str, bool] | None:
    """The only required field of a source, if it is a path or a list of paths, and which."""
    required = [
        name
        for name, info in source.model_fields.items()
        if info.is_required() and name != "source"
    ]
    return (required[0], required[0] == "paths") if len(required) == 1 else None


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
    stdout().print(table, highlight=False)
    for trace, values in figures.items():
        reasons: dict[str, list[str]] = {}
        for name, why in values[NOT_IN_FILE].items():
            reasons.setdefault(why, []).append(name)
        for why, names in reasons.items():
            text = f"{MARK} not in {trace}: {', '.join(names)}: {why}"
            if names == ["all"]:
                text = f"{trace}: all figures are {why}"
            stdout().print(text, highlight=False)


def _shown(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"
