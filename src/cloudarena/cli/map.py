"""The command ``cloudarena map``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli import complete
from cloudarena.cli.options import Json, Out, Seed, Workers, print_json, stderr, stdout

if TYPE_CHECKING:
    from collections.abc import Mapping as Dictionary

    import pyarrow as pa
    from rich.table import Table

    from cloudarena.base.results import Contents
    from cloudarena.experiments.mapping_classes import MappedClasses
    from cloudarena.mapping import Etc, Mapping


def map_command(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="ETC", help="A CSV file: tasks x machines, in seconds."),
    ] = None,
    heuristic: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Which heuristics; all by default.",
            autocompletion=complete.heuristics,
        ),
    ] = None,
    etc_class: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="Draws a matrix instead, such as consistent-high-low: consistent, "
            "semi-consistent or inconsistent, and the heterogeneity of tasks and of machines.",
        ),
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(help="Tasks to draw, with --class; 512 by default.")
    ] = None,
    machines: Annotated[
        int | None, typer.Option(help="Machines to draw, with --class; 16 by default.")
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Draws N matrices of each class: all twelve in one table, or --class."
        ),
    ] = None,
    workers: Workers = -1,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Tasks onto different machines, by the classic heuristics.

    Example: cloudarena map etc.csv --heuristic min-min,sufferage,ga --out results

    Example: cloudarena map --class consistent-high-high --tasks 512 --machines 16

    Example: cloudarena map --replications 20 --heuristic min-min,max-min,sufferage
    """
    from rich.progress import track

    from cloudarena.base.errors import check_choice
    from cloudarena.mapping import HEURISTICS, lower_bound, map_tasks

    names = [name.strip() for name in heuristic.split(",")] if heuristic else list(HEURISTICS)
    for name in names:
        check_choice("heuristic", name, HEURISTICS)
    if replications is not None:
        _many(path, names, etc_class, tasks, machines, replications, workers, seed, out, as_json)
        return
    etc, source = _matrix(path, etc_class, tasks, machines, seed)
    console = stderr()
    mappings = {}
    for name in track(
        names, "heuristics", console=console, transient=True, disable=not console.is_terminal
    ):
        mappings[name] = map_tasks(etc.times, name, seed)
    summary = {
        "result": "mapping",
        "etc": source,
        "tasks": len(etc.tasks),
        "machines": len(etc.machines),
        "seed": seed,
        "lower_bound_s": lower_bound(etc.times),
        "heuristics": _figures(mappings),
        "tables": list(mappings),
    }
    if out is not None:
        from cloudarena.base.results import write_results

        write_results(out, _contents(summary, etc, mappings, generated=path is None))
    if as_json:
        print_json(summary)
        return
    stdout().print(_table(summary), highlight=False)
    if out is not None:
        stdout().print(f"wrote {out}/metrics.json and {len(mappings)} tables", highlight=False)


def _many(
    path: Path | None,
    names: list[str],
    etc_class: str | None,
    tasks: int | None,
    machines: int | None,
    replications: int,
    workers: int,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Heuristics over several matrices of each class, with intervals."""
    from cloudarena.base.errors import CloudarenaError
    from cloudarena.experiments.mapping_classes import map_classes

    if path is not None:
        raise CloudarenaError("--replications: is not allowed together with a file")
    classes = None if etc_class is None else [etc_class]
    done = map_classes(
        names,
        classes,
        512 if tasks is None else tasks,
        16 if machines is None else machines,
        replications,
        seed,
        workers,
    )
    if out is not None:
        from cloudarena.base.results import Contents, write_results

        write_results(out, Contents(done.summary(), {"mappings": done.table()}))
    if as_json:
        print_json(done.summary())
        return
    stdout().print(_class_table(done), highlight=False)
    if out is not None:
        stdout().print(f"wrote {out}/metrics.json and mappings.parquet", highlight=False)


def _class_table(done: MappedClasses) -> Table:
    """A row for each class: the makespan of each heuristic over that of the best."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = (
        f"{done.tasks:,} tasks on {done.machines:,} machines, {done.replications:,} matrices of "
    )
    title += "each class: makespan over that of the best heuristic for the same matrix"
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.caption = Text("± half of the 95 % interval; the lowest stands out")
    table.caption_justify = "left"
    table.add_column("class", no_wrap=True)
    for name in done.heuristics:
        table.add_column(name, justify="right")
    for name in done.classes:
        estimates = [done.relative(name, heuristic) for heuristic in done.heuristics]
        least = min(one.mean for one in estimates)
        cells = []
        for one in estimates:
            half = "" if math.isnan(one.high) else f" ± {one.high - one.mean:.3f}"
            cells.append(Text(f"{one.mean:.3f}{half}", "bold green" if one.mean == least else ""))
        table.add_row(name, *cells)
    return table


def _matrix(
    path: Path | None, name: str | None, tasks: int | None, machines: int | None, seed: int
) -> tuple[Etc, str]:
    """The matrix of a file, or one of a class, and the name of its source."""
    from cloudarena.base.errors import CloudarenaError
    from cloudarena.mapping import generate_etc, read_etc

    if path is not None:
        for option, value in (("--class", name), ("--tasks", tasks), ("--machines", machines)):
            if value is not None:
                raise CloudarenaError(f"{option}: is not allowed together with a file")
        return read_etc(path), str(path)
    if name is None:
        raise CloudarenaError("nothing to map: give a CSV file, or --class")
    etc = generate_etc(
        name, 512 if tasks is None else tasks, 16 if machines is None else machines, seed
    )
    return etc, name


def _figures(mappings: Dictionary[str, Mapping]) -> dict[str, dict[str, Any]]:
    """What is measured of each heuristic; ``relative_makespan`` is 1 for the best.

    ``assignment`` has the machine of each task, counted from 0.
    """
    best = min(mapping.makespan for mapping in mappings.values())
    return {
        name: {
            "makespan_s": mapping.makespan,
            "relative_makespan": mapping.makespan / best,
            "flowtime_s": mapping.flowtime,
            "mean_finish_s": mapping.mean_finish,
            "assignment": mapping.assignment.tolist(),
        }
        for name, mapping in mappings.items()
    }


def _table(summary: Dictionary[str, Any]) -> Table:
    """The figures for people; the best makespan stands out."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from cloudarena.mapping import HEURISTICS
    from cloudarena.report.numbers import format_number

    title = f"{summary['etc']}: {summary['tasks']:,} tasks on {summary['machines']:,} machines, "
    title += f"seed {summary['seed']}"
    bound = f"No mapping can end before {format_number(summary['lower_bound_s'])} s."
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.caption, table.caption_justify = Text(bound), "left"
    table.add_column("heuristic", no_wrap=True)
    for column in ("makespan_s", "relative", "mean_finish_s"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("what it does", style="dim")
    for name, figures in summary["heuristics"].items():
        style = "bold green" if figures["relative_makespan"] == 1.0 else ""
        table.add_row(
            Text(name, style),
            Text(format_number(figures["makespan_s"]), style),
            Text(f"{figures['relative_makespan']:.3f}", style),
            format_number(figures["mean_finish_s"]),
            HEURISTICS[name],
        )
    return table


def _contents(
    summary: Dictionary[str, Any], etc: Etc, mappings: Dictionary[str, Mapping], generated: bool
) -> Contents:
    """The figures, a table per heuristic, and ``etc.csv`` if the matrix was drawn."""
    from cloudarena.base.results import Contents
    from cloudarena.mapping.etc import etc_text

    tables = {name: _assignment_table(etc, mapping) for name, mapping in mappings.items()}
    return Contents(summary, tables, {"etc.csv": etc_text(etc)} if generated else {})


def _assignment_table(etc: Etc, mapping: Mapping) -> pa.Table:
    """A row for each task: its machine, and when it runs there if the shortest run first."""
    import numpy as np
    import pyarrow as pa

    times = etc.times[np.arange(len(etc.tasks)), mapping.assignment]
    return pa.table(
        {
            "task": etc.tasks,
            "machine": [etc.machines[machine] for machine in mapping.assignment],
            "time_s": times,
            "finish_s": mapping.completion,
        }
    )
