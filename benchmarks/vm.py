"""Speed and memory of the vm scenario: ``python -m benchmarks.vm [--quick] [--out FILE.json]``.

Each section runs in a process of its own (see ``benchmarks.sections``), so that none sees the
memory of another. This process stays small: the peak memory that Linux reports of a child begins
with that of its parent.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 336_000)
VMS_PER_MACHINE = 100
QUICK_TICKS = 1_000
progress = Console(stderr=True)


class Row(NamedTuple):
    """A line of the table: a figure, and what it should be."""

    section: str
    figure: str
    value: float
    unit: str
    target: str = ""
    met: bool | None = None


def at_least(section: str, figure: str, value: float, unit: str, bound: float) -> Row:
    """A figure that should be large."""
    return Row(section, figure, value, unit, f">= {bound:g}", value >= bound)


def at_most(section: str, figure: str, value: float, unit: str, bound: float) -> Row:
    """A figure that should be small."""
    return Row(section, figure, value, unit, f"<= {bound:g}", value <= bound)


def measured(section: str, environment: Mapping[str, str] | None = None, **arguments: Any) -> Any:
    """Measures a section in a new process."""
    progress.print(f"{section} {arguments or ''}", style="dim", highlight=False)
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.sections", section, json.dumps(arguments)],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(child.stdout)


def started(*command: str, repeats: int = 5) -> dict[str, float] | None:
    """The best CPU and wall seconds of a command; None when there is no such command."""
    times, walls = [], []
    for _ in range(repeats):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        try:
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        walls.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"cpu_s": min(times), "wall_s": min(walls)}


def starting() -> dict[str, Any]:
    """How long it takes until something happens: imports, help, the first run."""
    program = str(Path(sys.executable).with_name("cloudarena"))
    figures = {
        "python": started(sys.executable, "-c", "pass"),
        "import": started(sys.executable, "-c", "import cloudarena"),
        "help": started(program, "--help"),
    }
    with tempfile.TemporaryDirectory() as cache:
        runs = [measured("first_run", {"CLOUDARENA_CACHE_DIR": cache}) for _ in range(4)]
    seconds = [run["first_run_s"] for run in runs]
    return {**figures, "compile_s": seconds[0], "from_cache_s": min(seconds[1:])}


def growth(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """The month at each size, with machines in proportion to VMs."""
    return [
        measured(
            "month",
            name="vm/azure-like-10k",
            overrides={"workload.vms": vms, "machines[0].count": vms // VMS_PER_MACHINE},
            repeats=10 if vms <= 10_000 else 3,
        )
        for vms in sizes
    ]


def measure(quick: bool) -> dict[str, Any]:
    """Everything, as plain values for JSON."""
    ticks = QUICK_TICKS if quick else None
    return {
        "quick": quick,
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "load_average": round(os.getloadavg()[0], 2),
            "system": platform.system(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("cloudarena", "numba", "numpy", "simpy")},
        },
        "simpy": measured("against_simpy", ticks=ticks),
        "10k": measured("month", name="vm/azure-like-10k", overrides={}, repeats=20),
        "336k": None if quick else measured("month", name="vm/azure-like-336k", overrides={}),
        "growth": growth(SIZES[:4] if quick else SIZES),
        "recording": measured("recording"),
        "loading": measured("loading"),
        "starting": starting(),
    }


def processor() -> str:
    """The name of the processor, where the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def rows_of(figures: Mapping[str, Any]) -> list[Row]:
    """The lines of the table."""
    simpy, recording, loading = figures["simpy"], figures["recording"], figures["loading"]
    section = f"against SimPy, {simpy['ticks']} ticks"
    rows = [
        Row(section, "SimPy", simpy["quiet_simpy_s"], "s"),
        Row(section, "stepped", simpy["quiet_stepped_s"], "s"),
        Row(section, "compiled", simpy["quiet_compiled_s"], "s"),
        at_least(section, "SimPy / stepped", simpy["quiet_simpy_over_stepped"], "x", 20),
        at_least(section, "SimPy / compiled", simpy["quiet_simpy_over_compiled"], "x", 300),
        Row(section, "SimPy / stepped, medians", simpy["simpy_over_stepped"], "x"),
        Row(section, "SimPy / compiled, medians", simpy["simpy_over_compiled"], "x"),
    ]
    for name, bound_s, bound_gb in (("10k", 0.1, 3.0), ("336k", 3.0, 3.0)):
        month = figures[name]
        if month is None:
            continue
        section = f"azure-like-{name}, {month['readings'] / 1e6:.1f} M readings"
        rows += [
            Row(section, "generate the workload", month["generate_s"], "s"),
            at_most(section, "simulate", month["simulate_s"], "s", bound_s),
            Row(section, "time per reading", month["ns_per_reading"], "ns"),
            Row(section, "decisions per second", month["decisions_per_s"], "/s"),
            at_most(section, "peak memory", month["peak_gb"], "GB", bound_gb),
        ]
    section = "recording, relative to none"
    rows += [
        Row(section, "summary", recording["summary_over_none"], "x"),
        Row(section, "full", recording["full_over_none"], "x"),
    ]
    section = f"Parquet, {loading['readings'] / 1e6:.1f} M readings"
    rows += [
        at_most(section, "load, wall", loading["read_wall_s"], "s", 1.0),
        Row(section, "load", loading["read_s"], "s"),
    ]
    return rows + starting_rows(figures["starting"])


def starting_rows(figures: Mapping[str, Any]) -> list[Row]:
    """The lines of the table on how long it takes to begin."""
    section = "starting"
    rows = [Row(section, "python -c pass", figures["python"]["cpu_s"], "s")]
    for key, figure in (("import", "import cloudarena"), ("help", "cloudarena --help")):
        if figures[key] is not None:
            rows.append(at_most(section, figure, figures[key]["cpu_s"], "s", 0.5))
    return [
        *rows,
        Row(section, "first run, compiling", figures["compile_s"], "s"),
        Row(section, "first run, from the cache", figures["from_cache_s"], "s"),
    ]


def figures_table(title: str, rows: Iterable[Row]) -> Table:
    """Figures beside what they should be, a section after the other."""
    table = Table(title=title)
    for name in ("section", "figure", "value", "unit", "target", "met"):
        table.add_column(name, justify="right" if name == "value" else "left")
    last = ""
    for row in rows:
        if last and row.section != last:
            table.add_section()
        met = "" if row.met is None else ("yes" if row.met else "NO")
        section = "" if row.section == last else row.section
        table.add_row(section, row.figure, number(row.value), row.unit, row.target, met)
        last = row.section
    return table


def show(console: Console, figures: Mapping[str, Any]) -> None:
    """Prints the figures, and how time grows."""
    console.print(figures_table("vm: CPU seconds, best of several", rows_of(figures)))
    table = Table(title="growth: a machine of 32 cores for 100 VMs, best-fit, nothing recorded")
    headings = (
        "VMs",
        "machines",
        "M readings",
        "decisions",
        "s",
        "ns/reading",
        "µs/decision",
        "GB",
    )
    for name in headings:
        table.add_column(name, justify="right")
    for month in figures["growth"]:
        table.add_row(
            f"{month['vms']:,}",
            f"{month['machines']:,}",
            number(month["readings"] / 1e6),
            f"{month['decisions']:,}",
            number(month["simulate_s"]),
            number(month["ns_per_reading"]),
            number(month["us_per_decision"]),
            number(month["peak_gb"]),
        )
    console.print(table)


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def finish(figures: Mapping[str, Any], rows: Iterable[Row], out: Path | None) -> None:
    """Warns if the machine was busy, and writes the figures as JSON if that is wanted."""
    cores, load = figures["machine"]["cores"], figures["machine"]["load_average"]
    if load > cores / 2:
        progress.print(
            f"The machine was busy ({load:g} processes on {cores} cores): times are too long, and "
            "those of Python programs most of all. Measure again on a quiet one before quoting a "
            "ratio.",
            style="yellow",
        )
    if out is not None:
        listed = [row._asdict() for row in rows]
        out.write_text(json.dumps({**figures, "rows": listed}, indent=2) + "\n")


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer ticks and sizes")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    figures = measure(options.quick)
    show(Console(width=None if sys.stdout.isatty() else 110), figures)
    finish(figures, rows_of(figures), options.out)


if __name__ == "__main__":
    main()
