"""Modal estimates beside those of real logs: ``python -m benchmarks.estimates LOG.swf.gz ...``.

For each log in Standard Workload Format the requested times that it has, then those that the model
gives the same run times, told the limit and how many ask for it, as its authors want it, and with
the default share. The limit is the longest requested time of at least 0.5 % of the jobs; who ran
longer counts as having run so long.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cloudarena.workloads.jobs.estimates import LIMIT_SHARE, modal_estimates
from cloudarena.workloads.jobs.swf import load_swf

SEEDS = 3
HEADER = (
    "source", "jobs", "values", "top 5", "top 20", "at limit", "mean accuracy", "sum / run times",
    "rank correlation", "accuracy of jobs > 90 s by tenths",
)  # fmt: skip


def figures(
    name: str, run: NDArray[np.float64], estimate: NDArray[np.float64], limit: float
) -> str:
    """A row of the table."""
    values, counts = np.unique(estimate, return_counts=True)
    popular = np.sort(counts)[::-1] / len(estimate)
    accuracy = np.minimum(run / estimate, 1.0)
    tenths = np.histogram(accuracy[run > 90], bins=np.linspace(0, 1, 11))[0] / (run > 90).sum()
    ranks = [np.argsort(np.argsort(times, kind="stable")) for times in (run, estimate)]
    cells = (
        name, f"{len(run):,}", f"{len(values)}", f"{popular[:5].sum():.2f}",
        f"{popular[:20].sum():.2f}", f"{(estimate >= limit).mean():.3f}", f"{accuracy.mean():.2f}",
        f"{estimate.sum() / run.sum():.1f}", f"{np.corrcoef(ranks)[0, 1]:.2f}",
        " ".join(f"{share:.2f}" for share in tenths),
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main(paths: list[str]) -> None:
    """Prints a table in Markdown."""
    print("| " + " | ".join(HEADER) + " |")
    print("| " + " | ".join("---" for _ in HEADER) + " |")
    for path in paths:
        workload = load_swf(Path(path))
        if np.isnan(workload.estimate).any():
            print(f"{path}: has no requested times", file=sys.stderr)
            continue
        values, counts = np.unique(workload.estimate, return_counts=True)
        limit = float(values[counts >= 0.005 * len(workload.estimate)].max())
        run = np.minimum(workload.duration, limit)
        log = Path(path).name.split(".")[0]
        print(figures(log, run, workload.estimate, limit))
        told = float((workload.estimate >= limit).mean())
        for share, words in ((told, "told its share"), (LIMIT_SHARE, "default")):
            for seed in range(SEEDS):
                drawn = modal_estimates(run, np.random.default_rng(seed), limit, share)
                print(figures(f"model, {words}, seed {seed}", run, drawn, limit))


if __name__ == "__main__":
    main(sys.argv[1:])
