"""Speed of the workflow scenario: ``python -m benchmarks.workflow [--quick] [--out FILE]``.

The same workflows on the same eight servers, placed round-robin, on serverless-workflow-arena 1.0.0
(``pip install serverless-workflow-arena==1.0.0``), compiled and stepped from Python. That package
may live in another environment: ``--arena-python PATH`` names its Python. Without it that part is
left out. Times are CPU seconds, the best of several, without loading, resetting and compiling.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.vm import Row, at_least, at_most, figures_table, finish, processor
from cloudarena.bench.workflows import (
    LARGE,
    POLICY,
    SEED,
    SMALL,
    Work,
    laid_out,
    on_arena,
    play,
    scenario_of,
)
from cloudarena.learn.env import CloudEnv
from cloudarena.scenarios.workflow import WorkflowRun, WorkflowScenario

LEARNING_STEPS = 2_000
SIZES = (10_000, 100_000, 1_000_000)
"""Functions, in workflows of 200."""
progress = Console(stderr=True)


def step(run: WorkflowRun) -> float:
    """CPU seconds of a whole run, decided in plain Python."""
    policy = run.scenario.kind.policies.resolve(POLICY)
    start = time.process_time()
    while (decision := run.decision) is not None:
        run.apply(policy(decision))
    return time.process_time() - start


def learn(scenario: WorkflowScenario, steps: int) -> float:
    """CPU seconds of so many steps of the environment, by allowed actions at random."""
    env = CloudEnv(scenario)
    rng = np.random.default_rng(SEED)
    _, info = env.reset(seed=SEED)
    start = time.process_time()
    for _ in range(steps):
        _, _, ended, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        if ended:
            _, info = env.reset(seed=SEED)
    return time.process_time() - start


def compare(work: Work, python: str, repeats: int, steps: int) -> dict[str, Any]:
    """The three side by side, taking turns."""
    workload = laid_out(work)
    scenario = scenario_of(workload)
    play(scenario.start(SEED, "none"))
    learn(scenario, 10)
    compiled: list[float] = []
    stepped: list[float] = []
    learning: list[float] = []
    slices: list[list[float]] = []
    arena: dict[str, Any] | None = {}
    for _ in range(repeats):
        if arena is not None:
            arena = on_arena(scenario, workload, python, steps)
        if arena is not None:
            slices.append(arena.pop("slices_s"))
        compiled += [play(scenario.start(SEED, "none")) for _ in range(10)]
        stepped += [step(scenario.start(SEED, "none")) for _ in range(2)]
        learning += [learn(scenario, LEARNING_STEPS) for _ in range(2)]
    run = scenario.start(SEED, "none")
    play(run)
    figures = {
        "name": work.name,
        "steps": work.steps,
        "compiled_per_s": work.steps / min(compiled),
        "stepped_per_s": work.steps / min(stepped),
        "learning_per_s": LEARNING_STEPS / min(learning),
        "makespan_mean_s": run.metrics()["makespan_mean_s"],
        "rent_usd": run.metrics()["rent_usd"],
        "arena": None,
    }
    if arena:
        seconds = sum(min(times) for times in zip(*slices, strict=True))
        figures["arena"] = {**arena, "per_s": arena["steps"] / seconds}
    return figures


def growth(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Ever more workflows of 200 functions, as far apart."""
    rows = []
    for functions in sizes:
        progress.print(f"{functions:,} functions", style="dim", highlight=False)
        scenario = scenario_of(laid_out(LARGE._replace(workflows=functions // LARGE.functions)))
        seconds = min(play(scenario.start(SEED, "none")) for _ in range(3 + 100_000 // functions))
        rows.append({"functions": functions, "us_per_function": 1e6 * seconds / functions})
    return rows


def measure(quick: bool, python: str) -> dict[str, Any]:
    """Everything, as plain values for JSON."""
    load_average = round(os.getloadavg()[0], 2)
    comparisons = []
    for work in (LARGE, SMALL):
        progress.print(work.name, style="dim", highlight=False)
        steps = 2_000 if quick else work.steps
        comparisons.append(compare(work, python, 1 if quick else 2, steps))
    return {
        "quick": quick,
        "comparisons": comparisons,
        "growth": growth(SIZES[:2] if quick else SIZES),
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "load_average": max(load_average, round(os.getloadavg()[0], 2)),
            "python": platform.python_version(),
            **{name: version(name) for name in ("cloudarena", "numba", "numpy")},
        },
    }


def rows_of(figures: Mapping[str, Any]) -> list[Row]:
    """The lines of the table of figures."""
    rows = []
    for one in figures["comparisons"]:
        section, arena = one["name"], one["arena"]
        rows += [
            Row(section, "compiled", one["compiled_per_s"], "steps/s"),
            Row(section, "stepped", one["stepped_per_s"], "steps/s"),
            Row(section, "environment", one["learning_per_s"], "steps/s"),
            at_most(
                section,
                "stepped / environment",
                one["stepped_per_s"] / one["learning_per_s"],
                "x",
                20,
            ),
        ]
        if arena is None:
            continue
        per_s, first = arena["per_s"], f"arena, first {arena['steps']:,} steps"
        ratios = [
            at_least(section, "compiled / arena", one["compiled_per_s"] / per_s, "x", 100),
            at_least(section, "stepped / arena", one["stepped_per_s"] / per_s, "x", 15),
        ]
        if figures["quick"]:  # its steps take longer and longer
            ratios = [ratio._replace(target="", met=None) for ratio in ratios]
        rows += [Row(section, first, per_s, "steps/s"), *ratios]
        if not figures["quick"]:
            rows += [
                Row(section, "mean makespan", one["makespan_mean_s"], "s"),
                Row(section, "mean makespan, arena", arena["makespan_mean_s"], "s"),
                Row(section, "arena: too fast for the cores", 100 * arena["impossible"], "%"),
            ]
    first, *_, last = figures["growth"]
    section = "growth: workflows of 200 functions, 20 s apart"
    for row in figures["growth"]:
        each = row["us_per_function"]
        rows.append(Row(section, f"{row['functions']:,} functions", each, "µs each"))
    ratio = last["us_per_function"] / first["us_per_function"]
    return [*rows, at_most(section, "most / fewest functions", ratio, "x", 1.5)]


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps and sizes")
    parser.add_argument(
        "--arena-python",
        default=sys.executable,
        metavar="PATH",
        help="a Python that has serverless-workflow-arena; this one by default",
    )
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    figures = measure(options.quick, options.arena_python)
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(
        figures_table(
            "workflow: per CPU second, best of several, round-robin, nothing recorded",
            rows_of(figures),
        )
    )
    if any(one["arena"] is None for one in figures["comparisons"]):
        progress.print(
            "Not compared: serverless-workflow-arena is not installed in "
            f"{options.arena_python}. Install it with "
            "'pip install serverless-workflow-arena==1.0.0', there or in an environment of its own "
            "whose Python --arena-python names.",
            style="yellow",
        )
    finish(figures, rows_of(figures), options.out)


if __name__ == "__main__":
    main()
