"""What an optimisation says of the limits that a design keeps: sure, how probable, or broken."""

from __future__ import annotations

import math

import numpy as np

from cloudarena.optimizers.selection import Feasibility

UNKNOWN = "unknown"
"""What is said of a probability that nobody can tell."""


def chance_text(chance: float) -> str:
    """A probability that was estimated, which is never quite 0 or 1: ``0.93``, ``over 0.999``."""
    if math.isnan(chance):
        return UNKNOWN
    if chance > 0.999:
        return "over 0.999"
    if chance < 0.001:
        return "below 0.001"
    return f"{chance:.3f}" if chance > 0.99 or chance < 0.01 else f"{chance:.2f}"


def digits(value: float) -> str:
    """Four digits, or all before the point: ``0.1234``, ``170,832``."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def kept_words(kept: Feasibility, row: int, level: str) -> str:
    """Which limits a design keeps surely, which it may break, and how probably it keeps each."""
    sure: list[str] = []
    others: list[str] = []
    for k, limit in enumerate(kept.limits):
        mean, low, high = (
            digits(one[row, k]) for one in (kept.metrics.mean, kept.metrics.low, kept.metrics.high)
        )
        chance = chance_text(float(kept.probability[row, k]))
        if kept.surely[row, k]:
            sure.append(f"{limit} ({mean}, with probability {chance})")
            continue
        ends = kept.metrics.low[row, k], kept.metrics.high[row, k]
        if not np.isfinite(ends).all():
            others.append(
                f"It may break {limit}: {mean} in every replication, of every design, which does "
                "not tell what may come, nor how probable it is."
            )
            continue
        verb = "may break" if bool(limit.holds(ends[0 if limit.sign > 0.0 else 1])) else "breaks"
        words = f"It {verb} {limit}: {mean}, {low} to {high} ({level})"
        told = "nobody can tell how probably it keeps it" if chance == UNKNOWN else ""
        others.append(f"{words}; {told or f'it keeps it with probability {chance}'}.")
    first = [f"It surely ({level}) keeps {' and '.join(sure)}."] if sure else []
    last = []
    if len(kept.limits) > 1 and np.isfinite(kept.probability[row]).all():
        last = [f"It keeps all with probability {chance_text(kept.all_kept(row))} at least."]
    return " ".join([*first, *others, *last])
