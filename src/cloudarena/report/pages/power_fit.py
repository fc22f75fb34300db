"""The page of a power model that was fitted to measurements."""

from __future__ import annotations

from html import escape

import numpy as np

from cloudarena.calibration.power_fit import POWER_FILE, PowerFit
from cloudarena.report.charts import MOST_POINTS, Chart, Series
from cloudarena.report.numbers import format_number
from cloudarena.report.page import File, Section, Sheet, html_table
from cloudarena.version import __version__

GUIDE = (
    "Each model is a sum of what the resources draw, by least squares without negative "
    "coefficients, so that power never falls as load rises.",
    "R² is on the rows that the model was fitted to. The cross-validated error chooses the model; "
    "rows that were held out had no part in fit or choice, and tell how far off it is.",
    "The coefficients are of a fit to all rows. Their intervals are the middle 95 % of 200 "
    "bootstrap samples of the rows; of whole groups, where there are some.",
    "Residuals that bend, or widen with the load, say that the model misses something: try "
    "another, or measure another resource beside the CPU.",
)


def make_sheet(done: PowerFit) -> Sheet:
    """What is on the page of a fit."""
    measured = done.measurements
    models = [
        [
            name + (", chosen" if name == done.chosen else ""),
            f"{quality.r2:.4f}",
            f"{100 * quality.cross_validated:.3g} %",
            *(format_number(100 * quality.held_out_mape), format_number(quality.held_out_rmse_w)),
            format_number(quality.held_out_bias_w),
        ]
        for name, quality in done.qualities.items()
    ]
    figures = [
        [name, format_number(value), " to ".join(map(format_number, done.intervals[name]))]
        for name, value in done.fit.figures().items()
    ]
    facts = [
        ("Device", f"<code>{escape(measured.device)}</code>"),
        ("Rows", f"{len(measured):,}, of which {len(done.held_out):,} were held out"),
        ("Version", f"cloudarena {escape(__version__)}"),
    ]
    head = ["model", "R²", "cross-validated", "held out, %", "held out, RMSE W", "bias, W"]
    return Sheet(
        kind="power model",
        title=f"{measured.device}, from {measured.source}",
        description="Watts as a function of utilisations",
        conclusion=done.conclusion(),
        reasons=(),
        notes=done.warnings,
        facts=facts,
        hero=[_cpu_chart(done)],
        sections=[
            Section("Residuals", "Measured less predicted watts.", _residual_charts(done)),
            Section("Models", "The chosen one is written below.", table=html_table(head, models)),
            Section(
                "Coefficients",
                "Of the chosen model, with 95 % intervals.",
                table=html_table(["coefficient", "value", "interval"], figures),
            ),
        ],
        guide=GUIDE,
        files=[File(POWER_FILE, "The power block for a spec", done.yaml())],
    )


def _some(done: PowerFit) -> tuple[np.ndarray, np.ndarray]:
    """Indices of rows that are drawn: those fitted to, and those held out."""
    held = np.zeros(len(done.measurements), bool)
    held[done.held_out] = True
    parts = (np.flatnonzero(~held), np.flatnonzero(held))
    fitted, unseen = (part[:: max(1, -(-len(part) // MOST_POINTS))] for part in parts)
    return fitted, unseen


def _cpu_chart(done: PowerFit) -> Chart:
    """Watts over CPU, and the model with all other resources at rest."""
    fitted, unseen = _some(done)
    use, watts = done.measurements.values[:, 0], done.measurements.watts
    grid = np.linspace(0.0, 1.0, 101)
    rows = np.zeros((len(grid), 1 + len(done.fit.keys)))
    rows[:, 0] = grid
    series = [
        Series("fitted to", use[fitted], watts[fitted], "faint"),
        Series("held out", use[unseen], watts[unseen], "points"),
        Series(f"{done.chosen}, the rest idle", grid, done.fit.predict(rows), "line"),
    ]
    hint = "rows above the line used other resources too"
    return Chart("Power over CPU", hint, "cpu", "watts", series, x_from_zero=True)


def _residual_charts(done: PowerFit) -> list[Chart]:
    """Residuals over prediction, and measured over predicted."""
    fitted, unseen = _some(done)
    predicted, residual = done.residuals()
    ends = [float(predicted.min()), float(predicted.max())]
    over = [
        Series("fitted to", predicted[fitted], residual[fitted], "faint"),
        Series("held out", predicted[unseen], residual[unseen], "points"),
        Series("none", ends, [0.0, 0.0], "dashed"),
    ]
    watts = done.measurements.watts
    against = [
        Series("fitted to", predicted[fitted], watts[fitted], "faint"),
        Series("held out", predicted[unseen], watts[unseen], "points"),
        Series("equal", ends, ends, "dashed"),
    ]
    return [
        Chart("Residual", "", "predicted, W", "measured less predicted, W", over),
        Chart("Measured", "", "predicted, W", "measured, W", against),
    ]
