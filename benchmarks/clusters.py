"""The deciders of ``clusters`` side by side, as Markdown tables. Run from the repository.

``python -m benchmarks.clusters setting-1 [--replications 10] [--out FILE]``: simulate, then
execute: thinking takes no time, and stages are common to all.

``python -m benchmarks.clusters setting-2``: a stage thinks for the next one. ``T`` is how long
Monte Carlo thinks, as a part of the horizon H; the others think as much shorter as they need fewer
evaluations.

``python -m benchmarks.clusters splits``: iLOS and eLOS on stages that hold many batches.

``python -m benchmarks.clusters noise``: where LOS hurts: loud noise and few evaluations.

Figures are means over replications, each paired with Monte Carlo's (or iLOS's) of the same seed,
with 95 % intervals.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from scipy import stats

import cloudarena
from benchmarks.mapping import markdown
from cloudarena.base.files import write_text

HORIZON_S = 3600.0
SHARES = 27_132
"""Of 20 VMs over 7 classes."""
SAMPLED = 30_000
"""Of more VMs, a uniform sample."""
REPLICATIONS = 1000
"""Evaluations of a share that make a proper estimate."""
MONTE_CARLO, BLIND_PICK = "iterative-monte-carlo", "iterative-blind-pick"
POLICIES = (MONTE_CARLO, BLIND_PICK, "ilos", "elos")
progress = Console(stderr=True)


class Cell(NamedTuple):
    """A workload in the second setting."""

    workload: str
    information: str
    thinking: float
    """Of Monte Carlo, in horizons."""
    vms: int = 20
    load: float = 0.9
    regime_s: float = 600.0
    batches: int | None = None
    """Other than the workload has."""


CELLS = (
    Cell("hfhc", "oracle", 0.25),
    Cell("hfhc", "oracle", 0.5),
    Cell("hfhc", "oracle", 1.0),
    Cell("hfhc", "lagged", 0.5),
    Cell("hfhc", "lagged", 2.0),
    Cell("lfhc", "oracle", 0.5),
    Cell("lfhc", "lagged", 0.5),
    Cell("hfhc", "lagged", 0.5, 64, 0.9, 1200.0),
    Cell("hflc", "oracle", 0.5, 20, 0.95),
    Cell("hflc", "oracle", 0.5, 20, 1.3),
    Cell("lflc", "lagged", 0.5),
)
SPLIT_CELLS = (
    Cell("hfhc", "oracle", 1.0, batches=1600),
    Cell("hfhc", "oracle", 2.0, batches=1600),
    Cell("hfhc", "oracle", 5.0, batches=1600),
    Cell("hfhc", "oracle", 10.0, batches=1600),
    Cell("hfhc", "lagged", 5.0, batches=1600),
)
"""Many batches in a stage of iLOS, so that eLOS has what to split."""


def setting_1(replications: int) -> str:
    """Throughput relative to Monte Carlo's, by workload."""
    rows = []
    for workload in ("lflc", "lfhc", "hflc", "hfhc"):
        runs = play(workload, {"information": "oracle", "stage_s": 180}, POLICIES[:3], replications)
        rows.append(
            (
                workload.upper(),
                f"{np.mean(runs[MONTE_CARLO]['throughput_per_s']):.3f}",
                gain(runs, BLIND_PICK, MONTE_CARLO),
                gain(runs, "ilos", MONTE_CARLO),
            )
        )
    return markdown(("workload", "iMC, tasks/s", "iBP", "iLOS"), rows)


def setting_2(replications: int, cells: Sequence[Cell] = CELLS) -> str:
    """Throughput relative to Monte Carlo's and to iLOS's, and decisions, by cell."""
    rows = []
    for cell in cells:
        runs = play_cell(cell, POLICIES, replications)
        decisions = [f"{np.mean(runs[name]['decisions']):.0f}" for name in POLICIES]
        rows.append(
            (
                cell.workload.upper(),
                cell.information,
                f"{cell.thinking:g} H",
                f"{cell.vms}",
                f"{cell.load:g}",
                f"{cell.regime_s:.0f} s" if cell.workload.endswith("hc") else "",
                f"{np.mean(runs[MONTE_CARLO]['throughput_per_s']):.2f}",
                gain(runs, BLIND_PICK, MONTE_CARLO),
                gain(runs, "ilos", MONTE_CARLO),
                gain(runs, "elos", MONTE_CARLO),
                gain(runs, "elos", "ilos"),
                " / ".join(decisions),
                split_share(runs),
            )
        )
    return markdown(
        (
            "workload",
            "information",
            "T",
            "VMs",
            "load",
            "regime",
            "iMC, tasks/s",
            "iBP / iMC",
            "iLOS / iMC",
            "eLOS / iMC",
            "eLOS / iLOS",
            "decisions",
            "shorter stages",
        ),
        rows,
    )


def splits(replications: int) -> str:
    """Throughput of eLOS relative to iLOS where stages hold many batches, and how it splits."""
    rows = []
    for cell in SPLIT_CELLS:
        runs = play_cell(cell, ("ilos", "elos"), replications)
        decisions = [f"{np.mean(runs[name]['decisions']):.0f}" for name in ("ilos", "elos")]
        rows.append(
            (
                f"{cell.thinking:g} H",
                cell.information,
                f"{np.mean(runs['ilos']['throughput_per_s']):.2f}",
                gain(runs, "elos", "ilos"),
                " / ".join(decisions),
                split_share(runs),
            )
        )
    head = ("T", "information", "iLOS, tasks/s", "eLOS / iLOS", "decisions", "shorter stages")
    return markdown(head, rows)


def split_share(runs: Mapping[str, Any]) -> str:
    """Which share of eLOS's stages is shorter than those of iLOS: they came from splitting.

    The last stage lasts until all is done, and the one that meets the end of the batches is cut.
    """
    lengths = [np.array(one) for one in runs["elos"]["planned_s"]]
    whole = min(float(np.max(one[np.isfinite(one)])) for one in runs["ilos"]["planned_s"])
    shorter = sum(int((one[:-2] < 0.75 * whole).sum()) for one in lengths)
    return f"{shorter} of {sum(max(0, len(one) - 2) for one in lengths)}"


def noise(replications: int) -> str:
    """iLOS relative to Monte Carlo, both with few evaluations, as the noise grows."""
    rows = []
    for variation in (0.3, 0.6, 1.2):
        for rough in (1, 2, 10):
            ilos = f"ilos:rough={rough}:replications=100"
            monte_carlo = f"{MONTE_CARLO}:replications=100"
            changes = {f"classes[{c}].seconds.cv": variation for c in range(7)}
            changes |= {"information": "oracle", "stage_s": 180}
            runs = play("hfhc", changes, (monte_carlo, ilos), replications)
            rows.append((f"{variation:g}", f"{rough}", gain(runs, ilos, monte_carlo)))
    return markdown(("variation of task times", "rough evaluations", "iLOS / iMC"), rows)


def play_cell(
    cell: Cell, policies: Sequence[str], replications: int
) -> dict[str, dict[str, list[Any]]]:
    """The runs of a cell of the second setting."""
    shares = SHARES if cell.vms == 20 else SAMPLED
    changes = {
        "information": cell.information,
        "decide_seconds": cell.thinking * HORIZON_S / (shares * REPLICATIONS),
        "vms": cell.vms,
        "workload.load": cell.load,
        "workload.regime_s": cell.regime_s,
    }
    if cell.batches:
        changes["workload.batches"] = cell.batches
    return play(cell.workload, changes, policies, replications)


def play(
    workload: str, changes: Mapping[str, Any], policies: Sequence[str], replications: int
) -> dict[str, dict[str, list[Any]]]:
    """Metrics of each policy, and the planned lengths of its stages, a value for each seed."""
    scenario = cloudarena.load(f"clusters/{workload}", changes)
    runs: dict[str, dict[str, list[Any]]] = {}
    for policy in policies:
        progress.print(f"{workload} {dict(changes)} {policy}")
        name = f"{policy}:designs={SAMPLED}"
        results = [cloudarena.simulate(scenario, name, seed) for seed in range(replications)]
        metrics = [result.metrics for result in results]
        runs[policy] = {key: [one[key] for one in metrics] for key in metrics[0]}
        stages = [result.tables["stages"]["planned_s"].to_numpy() for result in results]
        runs[policy]["planned_s"] = stages
    return runs


def ratios(runs: Mapping[str, Any], policy: str, base: str) -> np.ndarray:
    """Throughput of a policy over that of another, seed by seed."""
    mine, other = (np.array(runs[name]["throughput_per_s"]) for name in (policy, base))
    return mine / other


def gain(runs: Mapping[str, Any], policy: str, base: str) -> str:
    """By how many per cent a policy is above another, with a 95 % interval."""
    percent = 100.0 * (ratios(runs, policy, base) - 1.0)
    half = stats.t.ppf(0.975, len(percent) - 1) * stats.sem(percent) if len(percent) > 1 else 0.0
    digits = 1 if half >= 0.95 else 2
    return f"{percent.mean():+.{digits}f} ± {half:.{digits}f} %"


SECTIONS = {"setting-1": setting_1, "setting-2": setting_2, "splits": splits, "noise": noise}


def main() -> None:
    """Prints a table, or writes it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    text = SECTIONS[options.section](options.replications)
    if options.out:
        write_text(options.out, text + "\n")
    print(text)


if __name__ == "__main__":
    main()
