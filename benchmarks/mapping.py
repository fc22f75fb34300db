"""Quality and speed of the mapping heuristics, as Markdown tables.

``python -m benchmarks.mapping quality [--matrices 20] [--out FILE]``: makespans relative to the
genetic algorithm's, for the twelve classes of matrices.

``python -m benchmarks.mapping speed [--out FILE]``: CPU milliseconds (user and system, the best
of several) on matrices that are drawn, and with code that is compiled, before the clock starts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from cloudarena.base.files import write_text
from cloudarena.mapping import CLASSES, HEURISTICS, generate_etc, map_tasks
from cloudarena.reproduce.braun import BASE, MACHINES, TASKS, makespans

SPEED_CLASSES = ("consistent-high-high", "consistent-low-low", "inconsistent-high-high")
SMALL_REPEATS, LARGE_REPEATS = 5, 2
LARGE_TASKS, LARGE_MACHINES = 10_000, 100
QUICK = ("olb", "met", "mct", "min-min", "max-min", "duplex", "sufferage")
"""Heuristics that are measured on large matrices too."""
progress = Console(stderr=True)


def relative_makespans(name: str, matrices: int) -> dict[str, list[float]]:
    """Each heuristic's makespan over that of the genetic algorithm, matrix by matrix."""
    found = makespans(name, tuple(HEURISTICS), matrices)
    return {heuristic: (found[heuristic] / found[BASE]).tolist() for heuristic in HEURISTICS}


def cpu_milliseconds(etc: np.ndarray, heuristic: str, repeats: int) -> float:
    """The best of several."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        map_tasks(etc, heuristic)
        times.append(1000.0 * (time.process_time() - start))
    return min(times)


def shown(milliseconds: float) -> str:
    """Two digits at least, and no more than whole milliseconds."""
    return f"{milliseconds:,.0f}" if milliseconds >= 100.0 else f"{milliseconds:.2g}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, rule, *rows))


def quality(matrices: int) -> str:
    """The mean relative makespans, a row for each class."""
    rows = []
    for name in CLASSES:
        progress.print(name, style="dim")
        ratios = relative_makespans(name, matrices)
        rows.append([name, *(f"{np.mean(ratios[heuristic]):.2f}" for heuristic in HEURISTICS)])
    return markdown(["class", *HEURISTICS], rows)


def speed() -> str:
    """CPU milliseconds of each heuristic, a row for each matrix."""
    for heuristic in HEURISTICS:
        map_tasks(generate_etc(CLASSES[0], 8, 2).times, heuristic)
    rows = []
    sizes = ((TASKS, MACHINES, SMALL_REPEATS), (LARGE_TASKS, LARGE_MACHINES, LARGE_REPEATS))
    for tasks, machines, repeats in sizes:
        for name in SPEED_CLASSES:
            progress.print(f"{name} {tasks} x {machines}", style="dim", highlight=False)
            etc = generate_etc(name, tasks, machines).times
            row = [f"{name}, {tasks:,} x {machines}"]
            for heuristic in HEURISTICS:
                is_measured = tasks == TASKS or heuristic in QUICK
                row.append(shown(cpu_milliseconds(etc, heuristic, repeats)) if is_measured else "")
            rows.append(row)
    return markdown(["CPU ms", *HEURISTICS], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("what", choices=("quality", "speed"))
    parser.add_argument("--matrices", type=int, default=20, help="of each class, for quality")
    parser.add_argument("--out", type=Path, help="writes the table there")
    arguments = parser.parse_args()
    table = quality(arguments.matrices) if arguments.what == "quality" else speed()
    print(table, end="")
    if arguments.out is not None:
        write_text(arguments.out, table)


if __name__ == "__main__":
    main()
