"""The command ``cloudarena power``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudarena.base.errors import SpecError
from cloudarena.cli import complete
from cloudarena.cli.options import Json, Out, Overrides, Seed, Spec, print_json, stdout
from cloudarena.cli.usage import Group

if TYPE_CHECKING:
    from rich.table import Table

    from cloudarena.calibration import PowerFit

BINS, WIDTH = 8, 41
"""Rows and columns of the plot of residuals."""

app = typer.Typer(cls=Group, help="Power models from measurements.", add_completion=False)


@app.callback()
def power() -> None:
    """Power models of devices, from what a meter read; the least energy of a scenario."""


@app.command("fit")
def fit(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="MEASUREMENTS", help="Rows of utilisations and watts: CSV or Parquet."
        ),
    ],
    device: Annotated[str, typer.Option(metavar="NAME", help="What the spec calls the device.")],
    model: Annotated[
        str, typer.Option(help="linear, curve, points, or best: by cross-validation.")
    ] = "best",
    holdout: Annotated[float, typer.Option(help="Share of rows to judge the model by.")] = 0.25,
    group: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Holds out whole groups of rows, as those of one workload."
        ),
    ] = "",
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """A power model of a device, from the readings of a meter.

    Columns: watts; cpu from 0 to 1 or cpu_percent; and any of gpu, memory, disk and network, as
    shares, _percent, memory_mb, disk_mb_s, network_mb_s. No coefficient is negative.

    Example: cloudarena power fit measurements.csv --device orin --out results
    """
    from cloudarena.calibration import fit_power, read_measurements

    done = fit_power(read_measurements(file, device, group), model, holdout, seed)
    if out is not None:
        done.save(out)
    if as_json:
        print_json(done.summary())
        return
    console = stdout()
    for table in (_models(done), _figures(done), _residuals(done)):
        console.print(table, highlight=False)
    for warning in done.warnings:
        console.print(f"warning: {warning}", style="yellow", highlight=False, soft_wrap=True)
    console.print(done.conclusion(), style="bold", highlight=False)
    console.print(done.yaml(), end="", highlight=False)
    if out is not None:
        console.print(f"wrote {out}/report.html and {out}/power.yaml", highlight=False)


@app.command("bound")
def bound(
    spec: Spec,
    policies: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Policies; those that compare takes by default.",
            autocompletion=complete.policies,
        ),
    ] = "",
    overrides: Overrides = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """The least energy of a faas scenario, and how far policies are from it.

    For the requests that each policy has completed, an integer program finds energy that no policy
    can be below. For small cases: requests times types of nodes count.

    Example: cloudarena power bound faas/toy --policies first-fit,energy-efficiency
    """
    from cloudarena.catalogue import load, read_overrides
    from cloudarena.experiments.simulate import simulate
    from cloudarena.report.numbers import format_number
    from cloudarena.scenarios.faas.build.bound import energy_distance

    scenario = load(spec, read_overrides(list(overrides or ())))
    names = [name for name in policies.split(",") if name] or scenario.compared_policies()
    if scenario.kind.name != "faas":
        raise SpecError(f"bound: {scenario.kind.name} is not allowed: only faas has one")
    found = [energy_distance(simulate(scenario, name, seed, "full")) for name in names]
    if as_json:
        print_json({"policies": [{**one._asdict(), "above": one.above} for one in found]})
        return
    table = _grid(
        "energy beside the least for what was completed",
        *("policy", "completed", "unserved, %", "energy, J", "least, J", "above, %"),
    )
    for one in sorted(found, key=lambda one: one.above):
        figures = (100 * one.unserved_share, one.energy_j, one.bound_j, 100 * one.above)
        table.add_row(one.policy, f"{one.completed:,}", *(format_number(x) for x in figures))
    stdout().print(table, highlight=False)


def _grid(title: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in columns:
        table.add_column(name, justify="left" if name == columns[0] else "right", no_wrap=True)
    return table


def _models(done: PowerFit) -> Table:
    """All models; the chosen one stands out."""
    from cloudarena.report.numbers import format_number

    title = f"{done.measurements.source}: {len(done.measurements):,} rows of "
    title += f"{done.measurements.device}, {len(done.held_out):,} held out"
    table = _grid(title, "model", "R²", "cross-validated, %", "held out, %", "RMSE, W", "bias, W")
    for name, quality in done.qualities.items():
        errors = (
            *(100 * quality.cross_validated, 100 * quality.held_out_mape),
            *(quality.held_out_rmse_w, quality.held_out_bias_w),
        )
        cells = (name, f"{quality.r2:.4f}", *(format_number(value) for value in errors))
        table.add_row(*cells, style="bold green" if name == done.chosen else "")
    return table


def _figures(done: PowerFit) -> Table:
    """The coefficients of the chosen model, with intervals."""
    from cloudarena.report.numbers import format_number

    table = _grid(done.chosen, "coefficient", "value", "95 % interval")
    for name, value in done.fit.figures().items():
        low, high = (format_number(end) for end in done.intervals[name])
        table.add_row(name, format_number(value), f"{low} to {high}")
    return table


def _residuals(done: PowerFit) -> Table:
    """Measured less predicted watts, by predicted watts: 90 % of them, and their mean."""
    import numpy as np

    predicted, residual = done.residuals()
    edges = np.unique(np.quantile(predicted, np.linspace(0.0, 1.0, BINS + 1)))
    reach = max(float(np.abs(residual).max()), 1e-9)
    table = _grid("residuals, measured less predicted", "predicted, W", "rows", "mean, W")
    table.add_column(f"-{reach:.2g} W".ljust(WIDTH - 8) + f"{reach:.2g} W".rjust(8), no_wrap=True)
    bins = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, max(len(edges) - 2, 0))
    for k in range(max(len(edges) - 1, 1)):
        some = residual[bins == k]
        if not len(some):
            continue
        low, high = np.quantile(some, (0.05, 0.95))
        marks = [" "] * WIDTH
        left, right, middle = (
            round((value / reach + 1.0) / 2.0 * (WIDTH - 1)) for value in (low, high, some.mean())
        )
        marks[left : right + 1] = "─" * (right + 1 - left)
        marks[WIDTH // 2] = "│"
        marks[middle] = "●"
        span = f"{edges[k]:.4g} to {edges[min(k + 1, len(edges) - 1)]:.4g}"
        table.add_row(span, f"{len(some):,}", f"{some.mean():.2g}", "".join(marks))
    return table
