"""Logs like a log, of other loads, seconds, sizes and estimates: so none is learned by heart.

Each variant is of a part of a log, written in Standard Workload Format: jobs come so fast that the
machine would be used to a drawn share, all seconds are longer or shorter, sizes of jobs nearer to
or further from that of the machine, and requested times, for every other variant, above the run
times by a drawn factor.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cloudarena.reproduce.batch_logs import UNKNOWN_S, Log, find_log

SUBMIT, RUN, ALLOCATED, ASKED, REQUEST = 1, 3, 4, 7, 8
"""Columns of the format."""
USED, SECONDS, POWER, FACTOR = (0.55, 1.05), (0.2, 5.0), (0.6, 1.5), (0.0, 1.5)
"""Between which bounds a variant's share in use, scale of seconds, exponent of shares of the
machine, and mean logarithm of request over run time are drawn."""


class Variant(NamedTuple):
    """What is changed."""

    used: float
    """0: jobs come as they do."""
    seconds: float
    power: float
    factor: float
    """0: requests stay as they are."""


AS_IT_IS = Variant(0.0, 1.0, 1.0, 0.0)


def draw_variant(rng: np.random.Generator, is_loose: bool) -> Variant:
    """A variant, with estimates of its own or those of the log."""
    low, high = np.log(SECONDS)
    return Variant(
        float(rng.uniform(*USED)),
        float(np.exp(rng.uniform(low, high))),
        float(rng.uniform(*POWER)),
        float(rng.uniform(*FACTOR)) if is_loose else 0.0,
    )


def read_jobs(path: Path, first: int, count: int) -> list[list[str]]:
    """So many jobs of a log, from that one on, that ran."""
    reader = gzip.open if path.suffix == ".gz" else open
    rows: list[list[str]] = []
    with reader(path, "rt", encoding="latin-1") as lines:
        for line in lines:
            words = line.split()
            if words and not words[0].startswith(";") and float(words[RUN]) != 0.0:
                rows.append(words)
                if len(rows) == first + count:
                    break
    return rows[first:]


def write_variant(
    rows: Sequence[list[str]], log: Log, variant: Variant, to: Path, rng: np.random.Generator
) -> None:
    """Writes jobs of a log as a variant has them."""
    run = np.array([float(row[RUN]) for row in rows])
    run = np.where(run < 0.0, UNKNOWN_S, run) * variant.seconds
    run = np.maximum(1.0, np.rint(run))
    size = np.array([max(float(row[ALLOCATED]), float(row[ASKED]), 1.0) for row in rows])
    size = np.clip(size / log.processors, 0.0, 1.0) ** variant.power * log.processors
    size = np.clip(np.rint(size), 1, log.processors)
    submit = np.array([float(row[SUBMIT]) for row in rows])
    submit = submit - submit[0]
    used = float((run * size).sum()) / (log.processors * max(1.0, submit[-1]))
    if variant.used > 0.0:
        submit = np.rint(submit * used / variant.used)
    request = np.array([float(row[REQUEST]) for row in rows])
    request = np.where(request > 0.0, np.rint(request * variant.seconds), run)
    if variant.factor > 0.0:
        request = np.rint(run * np.exp(rng.exponential(variant.factor, len(run))))
    with to.open("w", encoding="latin-1") as written:
        for k, row in enumerate(rows):
            changed = list(row)
            changed[SUBMIT], changed[RUN] = f"{submit[k]:.0f}", f"{run[k]:.0f}"
            changed[ALLOCATED] = changed[ASKED] = f"{size[k]:.0f}"
            changed[REQUEST] = f"{max(request[k], 1.0):.0f}"
            written.write(" ".join(changed) + "\n")


def make_variants(
    folder: Path, home: Path, logs: Sequence[Log], each: int, jobs: int, from_job: int, seed: int
) -> list[Log]:
    """Writes parts of each log, the first as it is; those of long logs are behind ``from_job``."""
    made = []
    for number, log in enumerate(logs):
        rng = np.random.default_rng((seed, number))
        rows = read_jobs(find_log(folder, log), 0, 10 * from_job)
        low = from_job if len(rows) > 2 * from_job else 0
        for k in range(each):  # the first of them is the log itself
            first = low + int(rng.integers(0, max(1, len(rows) - low - jobs)))
            variant = draw_variant(rng, k % 2 == 1) if k > 0 else AS_IT_IS
            name = f"{log.name} variant {seed}.{k}"
            file = f"{number}-{seed}-{k}.swf"
            write_variant(rows[first : first + jobs], log, variant, home / file, rng)
            made.append(Log(name, file, log.processors))
    return made
