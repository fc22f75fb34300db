"""Simulations of queues against queueing theory, as a Markdown table. Run from the repository.

``python -m benchmarks.theory [--loads 0.3,0.6,0.9,0.99] [--out FILE]``: what theory says, and the
mean of 20 replications with half of its 95 % interval (Student's); outside of it there is a star.
Some ten minutes of CPU time, nearly all for a load of 0.99. Cases, lengths and seeds are those of
``cloudarena.reproduce.queues``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from scipy import stats

from benchmarks.queueing import markdown
from cloudarena.base.files import write_text
from cloudarena.reproduce.queues import LOADS, Comparison, compare

progress = Console(stderr=True)


def table(comparisons: Sequence[Comparison]) -> str:
    """A row for each case, a column for each load, and how many miss."""
    loads = list(dict.fromkeys(row.load for row in comparisons))
    cells = {(row.name, row.load): cell(row) for row in comparisons}
    # What is measured under a light load is measured under a heavy one, too.
    names = [row.name for row in comparisons if row.load == max(loads)]
    rows = [[name, *(cells.get((name, load), "") for load in loads)] for name in names]
    chances = [row.chance for row in comparisons]
    outside = sum(chance < 0.05 for chance in chances)
    test = stats.binomtest(outside, len(chances), 0.05, "greater")
    uniform = stats.kstest(chances, "uniform")
    return (
        markdown(["case", *(f"load {load:g}" for load in loads)], rows)
        + f"\n{outside} of {len(chances)} outside: {0.05 * len(chances):.1f} are expected, and so "
        + f"many or more have a chance of {test.pvalue:.2f}. All chances taken together are "
        + f"uniform with a chance of {uniform.pvalue:.2f} (Kolmogorov and Smirnov).\n"
    )


def cell(row: Comparison) -> str:
    """Theory, then the mean to the digits that its interval leaves it."""
    digits = max(0, 1 - math.floor(math.log10(row.half_width)))
    star = "" if row.chance >= 0.05 else " *"
    return f"{row.theory:.4g}: {row.mean:.{digits}f} ± {row.half_width:.{digits}f}{star}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--loads", default=",".join(map(str, LOADS)), help="with commas")
    parser.add_argument("--out", type=Path, help="writes the table there")
    arguments = parser.parse_args()
    comparisons = []
    for load in map(float, arguments.loads.split(",")):
        progress.print("load", load, style="dim")
        comparisons += list(compare(load))
    text = table(comparisons)
    print(text, end="")
    if arguments.out is not None:
        write_text(arguments.out, text)


if __name__ == "__main__":
    main()
