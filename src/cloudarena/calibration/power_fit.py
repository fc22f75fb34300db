"""A power model of a device from measurements, how good it is, and what the data cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import yaml

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import SpecError, TraceError, check_choice
from cloudarena.base.results import Contents
from cloudarena.calibration.designs import MODELS, Fit, Model, choose_knots, fit_model
from cloudarena.calibration.measurements import Measurements
from cloudarena.contract.saved import Saved
from cloudarena.engine.streams import stream
from cloudarena.version import __version__

LEAST_MEASURED = 10
"""Rows that a fit needs."""
FOLDS = 5
"""Parts of the cross-validation that chooses a model."""
AS_GOOD = 1.02
"""A simpler model is taken if its error is at most so many times the least."""
DRAWS = 200
"""Bootstrap samples, of which the intervals are."""
SAME, CLOSE = 1e-6, 0.1
"""Shares of a column's variance that others leave: less is not identified, or hardly."""
IDLE_BELOW, BUSY_ABOVE = 0.1, 0.9
"""Utilisations that are called idle and busy."""
POWER_FILE = "power.yaml"


class Quality(NamedTuple):
    """How well a model does, on rows that it was fitted to and on rows that it never saw."""

    r2: float
    """R² on the rows that it was fitted to."""
    cross_validated: float
    """The mean absolute percentage error in cross-validation, by which a model is chosen."""
    held_out_mape: float
    """The mean absolute percentage error on held-out rows; NaN without any."""
    held_out_rmse_w: float
    held_out_bias_w: float
    """The mean of prediction less measurement on held-out rows."""


@dataclass(frozen=True, eq=False)
class PowerFit(Saved):
    """Fitted models of a device, the one that was chosen, and what to know before using it."""

    stored_as: ClassVar[str] = "power-fit"
    page: ClassVar[str] = "cloudarena.report.pages.power_fit"

    measurements: Measurements
    fits: Mapping[Model, Fit]
    """Fitted to all rows."""
    qualities: Mapping[Model, Quality]
    """How good each is, fitted to all rows but those held out."""
    chosen: Model
    asked: str
    """The model that was asked for, or ``best``."""
    intervals: Mapping[str, tuple[float, float]]
    """95 % bootstrap intervals of the figures of the chosen model."""
    warnings: tuple[str, ...]
    held_out: Ints
    """The indices of the rows that were held out."""
    holdout: float
    seed: int

    @property
    def fit(self) -> Fit:
        """The chosen model."""
        return self.fits[self.chosen]

    @property
    def quality(self) -> Quality:
        """How good the chosen model is."""
        return self.qualities[self.chosen]

    def block(self) -> dict[str, Any]:
        """The ``power:`` block of a spec."""
        return {"power": {"devices": {self.measurements.device: self.fit.block()}}}

    def yaml(self) -> str:
        """The ``power:`` block as YAML."""
        return yaml.safe_dump(self.block(), sort_keys=False, default_flow_style=None, width=100)

    def residuals(self) -> tuple[Floats, Floats]:
        """The prediction for each row, and measurement less prediction."""
        keys = (self.measurements.keys[0], *self.fit.keys)
        columns = [self.measurements.keys.index(key) for key in keys]
        predicted = self.fit.predict(self.measurements.values[:, columns])
        return predicted, self.measurements.watts - predicted

    def conclusion(self) -> str:
        """The answer in a sentence."""
        quality, rows = self.quality, len(self.measurements)
        words = f"{self.measurements.device}: {self.chosen}, R² {quality.r2:.3f}"
        if math.isnan(quality.held_out_mape):
            return f"{words} on {rows:,} rows; none were held out."
        return (
            f"{words}; {100 * quality.held_out_mape:.2g} % mean absolute error on "
            f"{len(self.held_out):,} held-out rows of {rows:,}."
        )

    def summary(self) -> dict[str, Any]:
        """All figures as plain values for JSON."""
        return {
            "device": self.measurements.device,
            "source": self.measurements.source,
            "rows": len(self.measurements),
            "held_out_rows": len(self.held_out),
            "holdout": self.holdout,
            "group": self.measurements.group_column,
            "seed": self.seed,
            "asked": self.asked,
            "model": self.chosen,
            "figures": self.fit.figures(),
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            "models": {name: one._asdict() for name, one in self.qualities.items()},
            "power": self.block()["power"],
            "warnings": list(self.warnings),
            "ignored": list(self.measurements.ignored),
            "version": __version__,
        }

    def contents(self) -> Contents:
        """What is written to a folder, but for the page."""
        import pyarrow as pa

        measured = self.measurements
        predicted, residual = self.residuals()
        held = np.zeros(len(measured), bool)
        held[self.held_out] = True
        columns = dict(zip(measured.keys, measured.values.T, strict=True))
        table = pa.table(
            {
                **{f"use_{key}": column for key, column in columns.items()},
                "group": measured.group,
                "watts": measured.watts,
                "predicted_w": predicted,
                "residual_w": residual,
                "held_out": held,
            }
        )
        summary = {"result": self.stored_as, "tables": ["measurements"], **self.summary()}
        return Contents(summary, {"measurements": table}, {POWER_FILE: self.yaml()})

    @classmethod
    def restore(cls, contents: Contents) -> PowerFit:
        """Fits again what was measured: the same rows give the same model."""
        found, table = contents.summary, contents.tables["measurements"]
        names = [name for name in table.column_names if name.startswith("use_")]
        measured = Measurements(
            source=found["source"],
            device=found["device"],
            keys=tuple(name.removeprefix("use_") for name in names),
            values=np.column_stack([table[name].to_numpy() for name in names]),
            watts=table["watts"].to_numpy(),
            group=table["group"].to_numpy(),
            group_column=found["group"],
            ignored=tuple(found["ignored"]),
        )
        return fit_power(measured, found["asked"], found["holdout"], found["seed"])


def fit_power(
    measured: Measurements, model: str = "best", holdout: float = 0.25, seed: int = 0
) -> PowerFit:
    """Fits a power model to measurements.

    Args:
        measured: rows of utilisations and watts.
        model: ``linear``, ``curve``, ``points``, or ``best``: the simplest whose error in
            cross-validation is within 2 % of the least. Held-out rows have no part in the choice.
        holdout: the share of rows, or of groups, that is held out to judge by.
        seed: decides which rows are held out, the parts of the cross-validation, and the bootstrap.
    """
    check_choice("model", model, (*MODELS, "best"))
    if not 0.0 <= holdout <= 0.9:
        raise SpecError(f"holdout: {holdout:g} is not allowed: from 0 to 0.9")
    if len(measured) < LEAST_MEASURED:
        raise TraceError(
            f"{measured.source}: {len(measured)} rows are not allowed: at least {LEAST_MEASURED}"
        )
    if np.ptp(measured.values[:, 0]) < 1e-3:
        raise TraceError(
            f"{measured.source}: cpu: {measured.values[0, 0]:g} in all rows is not allowed: "
            "without a change nothing can be learned of it"
        )
    kept, warnings = identify(measured)
    values, keys = measured.values[:, kept], tuple(measured.keys[k] for k in kept)
    rng = stream(seed, "held-out measurements")
    unseen, seen = _split(measured.group, holdout, rng)
    folds = _folds(measured.group[seen], rng)
    fits, qualities = {}, {}
    for one in MODELS:
        fits[one] = fit_model(one, keys, values, measured.watts)
        qualities[one] = _quality(one, keys, values, measured.watts, seen, unseen, folds)
    chosen = cast("Model", model)
    if model == "best":
        least = min(quality.cross_validated for quality in qualities.values())
        chosen = next(
            one for one in MODELS if qualities[one].cross_validated <= AS_GOOD * least + 1e-12
        )
    intervals = _intervals(fits[chosen], keys, values, measured, seed)
    return PowerFit(
        measurements=measured,
        fits=fits,
        qualities=qualities,
        chosen=chosen,
        asked=model,
        intervals=intervals,
        warnings=(*warnings, *_bounded(fits[chosen]), *_outside(measured)),
        held_out=unseen,
        holdout=holdout,
        seed=seed,
    )


def identify(measured: Measurements) -> tuple[list[int], list[str]]:
    """The columns whose coefficients the data can tell, and warnings about the others.

    A column that never changes, or follows from those before it, is left out: no fit can say what
    part of the power is its own. One that others nearly follow is kept, with a warning.
    """
    values, keys = measured.values, measured.keys
    kept, warnings = [0], []
    for k in range(1, len(keys)):
        column = values[:, k]
        if np.ptp(column) <= 1e-9 * max(1.0, abs(float(column[0]))):
            warnings.append(
                f"{keys[k]} is not identified: it was measured at {column[0]:g} alone, and what "
                "it draws is part of idle_w"
            )
            continue
        if _left_of(column, values[:, kept]) < SAME:
            names = " and ".join(keys[other] for other in kept)
            warnings.append(
                f"{keys[k]} is not identified: it follows from {names}, whose coefficients "
                "hold its power too"
            )
            continue
        kept.append(k)
    for k in kept:
        others = [other for other in kept if other != k]
        left = _left_of(values[:, k], values[:, others]) if others else 1.0
        if left < CLOSE:
            warnings.append(
                f"{keys[k]} is hardly identified: the other columns tell "
                f"{100 * (1 - left):.1f} % of its variance; measure it apart from them"
            )
    return kept, warnings


def _left_of(column: Floats, others: Floats) -> float:
    """The share of a column's variance that a linear function of others leaves."""
    matrix = np.column_stack((np.ones(len(column)), others))
    matrix = matrix / np.maximum(np.sqrt((matrix**2).sum(axis=0)), 1e-300)
    rest = column - matrix @ np.linalg.lstsq(matrix, column, rcond=None)[0]
    return float(rest @ rest) / max(float(((column - column.mean()) ** 2).sum()), 1e-300)


def _bounded(fit: Fit) -> list[str]:
    """Warnings about coefficients that would be negative were that allowed."""
    ends = np.zeros((2, 1 + len(fit.keys)))
    ends[1, 0] = 1.0
    idle, busy = fit.predict(ends)
    found = []
    if idle <= 0.0:
        found.append("idle_w is 0: without the bound it would be negative, so watts are too low")
    if busy <= idle * (1 + 1e-9):
        found.append("power does not rise with cpu: look whether its column is that of these watts")
    return found + [
        f"{key} is 0: without the bound it would be negative, so its column tells nothing of power"
        for key, value in zip(fit.keys, fit.others, strict=True)
        if value == 0.0
    ]


def _outside(measured: Measurements) -> list[str]:
    """Warnings about utilisations that nobody measured."""
    use, found = measured.values[:, 0], []
    if use.min() > IDLE_BELOW:
        found.append(
            f"idle power is extrapolated: the least cpu that was measured is {use.min():.2g}"
        )
    if use.max() < BUSY_ABOVE:
        found.append(
            f"full power is extrapolated: the most cpu that was measured is {use.max():.2g}"
        )
    return found


def _split(group: Ints, holdout: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The rows that are held out, whole groups at a time, and the others."""
    units = np.arange(len(group)) if group[0] < 0 else group
    names = np.unique(units)
    if group[0] >= 0 and len(names) < 2:
        raise SpecError("group: one group is not allowed: at least 2, of which one is held out")
    count = round(holdout * len(names))
    if holdout > 0.0:
        count = min(max(1, count), len(names) - 1)
    apart = rng.permutation(names)[:count]
    held = np.isin(units, apart)
    if (~held).sum() < LEAST_MEASURED // 2:
        raise SpecError(f"holdout: {holdout:g} is not allowed: it leaves too few rows to fit to")
    return np.flatnonzero(held), np.flatnonzero(~held)


def _folds(group: Ints, rng: np.random.Generator) -> Ints:
    """The part of the cross-validation that each row is in; groups stay together."""
    units = np.arange(len(group)) if group[0] < 0 else np.unique(group, return_inverse=True)[1]
    parts = rng.permutation(int(units.max()) + 1) % FOLDS
    found: Ints = parts[units]
    return found


def _quality(
    model: Model,
    keys: tuple[str, ...],
    values: Floats,
    watts: Floats,
    seen: Ints,
    unseen: Ints,
    folds: Ints,
) -> Quality:
    fit = fit_model(model, keys, values[seen], watts[seen])
    rest = watts[seen] - fit.predict(values[seen])
    total = float(((watts[seen] - watts[seen].mean()) ** 2).sum())
    errors = np.full(len(seen), np.nan)
    for part in np.unique(folds):
        test, learn = seen[folds == part], seen[folds != part]
        if len(learn) >= LEAST_MEASURED // 2:
            other = fit_model(model, keys, values[learn], watts[learn])
            errors[folds == part] = np.abs(other.predict(values[test]) / watts[test] - 1.0)
    missed = fit.predict(values[unseen]) - watts[unseen]
    some = len(unseen) > 0
    return Quality(
        r2=1.0 - float(rest @ rest) / total if total > 0 else math.nan,
        cross_validated=float(np.nanmean(errors)),
        held_out_mape=float(np.abs(missed / watts[unseen]).mean()) if some else math.nan,
        held_out_rmse_w=float(np.sqrt((missed**2).mean())) if some else math.nan,
        held_out_bias_w=float(missed.mean()) if some else math.nan,
    )


def _intervals(
    fit: Fit, keys: tuple[str, ...], values: Floats, measured: Measurements, seed: int
) -> dict[str, tuple[float, float]]:
    """The middle 95 % of the figures of bootstrap samples; groups are drawn whole."""
    rng = stream(seed, "bootstrap of measurements")
    group = measured.group
    units = np.arange(len(group)) if group[0] < 0 else group
    count = int(units.max()) + 1
    knots = choose_knots(values[:, 0])
    drawn = []
    for _ in range(DRAWS):
        weights = np.bincount(rng.integers(count, size=count), minlength=count)[units]
        if np.ptp(values[weights > 0, 0]) <= 0.0:
            continue
        weighed = weights.astype(np.float64)
        again = fit_model(fit.model, keys, values, measured.watts, weighed, knots)
        drawn.append(list(again.figures().values()))
    low, high = np.percentile(np.array(drawn), (2.5, 97.5), axis=0)
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return dict(zip(fit.figures(), ends, strict=True))
