"""Simulations of queues against queueing theory, as a Markdown table. Run from the repository.

``python -m benchmarks.theory [--loads 0.3,0.6,0.9,0.99] [--out FILE]``: each case by 20
replications, with the 95 % interval of their mean, and how likely a mean so far from theory is by
chance. Minutes, most of them for a load of 0.99. Cases, lengths and seeds are those of
``tests/scenarios/tiers/theory.py``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from scipy import stats

from benchmarks.queueing import markdown
from cloudarena.files import write_text

# Not `tests.scenarios`: Ciw, which other benchmarks need, installs a package named tests.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from scenarios.tiers.theory import LOADS, Comparison, compare

progress = Console(stderr=True)


def table(comparisons: Sequence[Comparison]) -> str:
    """One row for each comparison, and how many miss."""
    rows = [
        [
            row.name,
            f"{row.load:g}",
            f"{row.theory:.4g}",
            f"{row.mean:.4g} ± {row.half_width:.2g}",
            f"{row.chance:.3f}",
            "in" if row.chance >= 0.05 else "out",
        ]
        for row in comparisons
    ]
    outside = sum(row.chance < 0.05 for row in comparisons)
    test = stats.binomtest(outside, len(rows), 0.05, "greater")
    uniform = stats.kstest([row.chance for row in comparisons], "uniform")
    header = ["case", "load", "theory", "simulated", "chance", "95 %"]
    return (
        markdown(header, rows)
        + f"\n{outside} of {len(rows)} are outside; {0.05 * len(rows):.1f} are expected, and so "
        + f"many or more have a chance of {test.pvalue:.2f}. That chances are uniform: "
        + f"Kolmogorov-Smirnov {uniform.pvalue:.2f}.\n"
    )


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
