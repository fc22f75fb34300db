"""Commands that only describe: what it costs to start them.

``python -m benchmarks.starting [--repeats 9]`` prints the CPU seconds (user and system, of the
whole process, from bytecode on the disk) of commands that simulate nothing, the best and the median
of several, and their ratio to a Python that does nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import cloudarena

COMMAND = "from cloudarena.cli import main; main()"


def cpu_s(program: list[str], environment: dict[str, str]) -> float:
    """CPU seconds of a program in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", *program], env=environment, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "cloud.yaml"
        spec.write_text(cloudarena.load("vm/azure-like-10k").to_yaml())
        programs = {
            "`python -c pass`": ["pass"],
            "`cloudarena --help`": [COMMAND, "--help"],
            "`cloudarena scenarios`": [COMMAND, "scenarios"],
            "`cloudarena spec vm`": [COMMAND, "spec", "vm"],
            "`cloudarena.load(FILE.yaml)`": [f"import cloudarena; cloudarena.load({str(spec)!r})"],
        }
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for program in programs.values():
            cpu_s(program, environment)
        taken: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(repeats):
            for name, program in programs.items():
                taken[name].append(cpu_s(program, environment))
    print("| command | CPU s | median | ratio |\n| --- | ---: | ---: | ---: |")
    nothing = min(taken["`python -c pass`"])
    for name, seconds in taken.items():
        print(
            f"| {name} | {min(seconds):.3f} | {statistics.median(seconds):.3f} | "
            f"{min(seconds) / nothing:.0f} |"
        )


if __name__ == "__main__":
    main()
