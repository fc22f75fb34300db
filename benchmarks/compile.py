"""First runs: what compiling costs, kind by kind.

``python -m benchmarks.compile [KIND...] [--repeats 3] [--source FOLDER]`` prints the CPU seconds
(user and system, of the whole process) of ``cloudarena run KIND/toy`` with an empty cache, the best
of several, and of the same run once more, from the cache. ``--source`` is the ``src`` of another
version, taken in turn with this one: what else runs on the machine then troubles both.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from cloudarena.scenarios import kinds

HERE = Path(__file__).parents[1] / "src"


def run_s(scenario: str, source: Path, cache: str) -> float:
    """CPU seconds of a run in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", "from cloudarena.cli import main; main()", "run", scenario],
        env={**os.environ, "CLOUDARENA_CACHE_DIR": cache, "PYTHONPATH": str(source)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_and_second_s(scenario: str, source: Path) -> tuple[float, float]:
    """CPU seconds of a run that compiles, and of the same from the cache."""
    with tempfile.TemporaryDirectory() as cache:
        return run_s(scenario, source, cache), run_s(scenario, source, cache)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--source", type=Path, help="src of a version to compare with")
    options = parser.parse_args()
    sources = [*([options.source] if options.source else []), HERE]
    names = " | ".join(f"{source}: first, second" for source in sources)
    print(f"| kind | {names} |\n| --- |{' ---: |' * len(sources)}", flush=True)
    for name in options.kinds or kinds():
        taken: dict[Path, list[tuple[float, float]]] = {source: [] for source in sources}
        for _ in range(options.repeats):
            for source in sources:
                taken[source].append(first_and_second_s(kinds()[name].toy, source))
        cells = [
            ", ".join(f"{min(column):.1f}" for column in zip(*rows, strict=True))
            for rows in taken.values()
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
