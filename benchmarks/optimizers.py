"""Searches at equal evaluations, over macro-replications: ``python -m benchmarks.optimizers``.

``python -m benchmarks.optimizers [--runs 30] [--problems a,b] [--methods a,b] [--out FOLDER]
[--curves FILE.svg]``.
Of each problem and method, the true mean of what is chosen, over so many runs with seeds of their
own; ± is half of the 95 % interval. ``gp`` is the library's; ``tpe``, ``cma-es`` and ``random`` are
Optuna's samplers as they are used: a trial is one evaluation with a seed of its own, and the best
trial is taken. Of all the values after 25, 50 and 100 evaluations are kept: for ``gp`` a run of its
own for each, for the others the best trial so far. True means are over replications that no method
saw.

Each run is written to FOLDER as soon as it is done; with ``--out`` what is there is not run again.
``--runs 0`` only shows what is there, and ``--curves`` draws it. It needs the extra ``opt``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.mapping import markdown
from benchmarks.two_tiers import TWO_TIERS
from cloudarena.base.files import write_text
from cloudarena.base.statistics import student_quantile
from cloudarena.experiments.study import read_study
from cloudarena.optimizers import FunctionProblem, Grid, MemoizedProblem, Problem, gp
from cloudarena.optimizers.methods.optuna_search import suggested

BUDGETS = (25, 50, 100)
METHODS = ("gp", "tpe", "cma-es", "random")
TRUE = 20
"""Replications of what is called the true mean, where it is not known."""
FAR = 1_000_000
"""The first of them."""
FINE = np.linspace(0.0, 1.0, 1001).tolist()


class Case(NamedTuple):
    """A problem: made for a seed; its true mean, if it is known."""

    make: Callable[[int], Problem]
    truth: Callable[[Any], float] | None = None
    sign: float = 1.0


def four(design: dict[str, float]) -> float:
    """Four continuous parameters; the least is -0.3825."""
    a, b, c, d = (design[key] for key in "abcd")
    wave = 0.3 * float(np.sin(6.0 * c)) * (1.0 + d)
    return 2.0 * (a - 0.3) ** 2 + (b - 0.7) ** 2 + wave + (d - 0.2) ** 2


def stock(design: dict[str, int]) -> float:
    """Whole numbers: order up to S when below s, closed form of a rough cost."""
    low, high = design["s"], design["s"] + design["gap"]
    return 0.02 * (low - 37) ** 2 + 0.01 * (high - 81) ** 2 + 0.05 * abs(low - high / 2)


def with_noise(function: Callable[[Any], float], noise: float) -> Callable[[Any, Any], float]:
    """A random experiment whose mean is the function."""
    return lambda design, rng: function(design) + noise * rng.standard_normal()


TASKS = np.array([3576, 2755, 5114, 1026, 4962, 792, 226], float)
SECONDS = np.array([2.1, 3.4, 1.2, 5.0, 1.6, 4.2, 7.5])


def share(design: dict[str, int], vms: int) -> np.ndarray:
    """VMs by class, from weights: each at least one, the rest by largest remainders."""
    weights = np.array(list(design.values()), float)
    exact = (vms - len(weights)) * weights / weights.sum()
    given = np.floor(exact)
    order = np.argsort(given - exact)
    given[order[: int(vms - len(weights) - given.sum())]] += 1
    return given + 1


def makespan(vms: int) -> Callable[[Any, Any], float]:
    """The makespan of a share of VMs, with task times that vary by 30 %."""

    def run(design: dict[str, int], rng: np.random.Generator) -> float:
        times = SECONDS * rng.gamma(1.0 / 0.09, 0.09, len(SECONDS))
        return float((TASKS * times / share(design, vms)).max())

    return run


def simulated(
    study: dict[str, Any], overrides: dict[str, Any] | None = None
) -> Callable[[int], Problem]:
    """Designs of a scenario, a replication of which has a seed of its own in each run."""

    def make(seed: int) -> Problem:
        read = read_study(study, overrides or {})
        return read.problem(read.objectives(None), 10_000 * seed, workers=1)

    return make


def functions(run: Any, designs: Grid, common: bool = False) -> Callable[[int], Problem]:
    """A function as a problem; noise that is only added must not be common to all designs."""
    return lambda seed: MemoizedProblem(
        FunctionProblem(run, designs, seed=seed, common_random_numbers=common)
    )


SMALL_TIERS = {
    **TWO_TIERS,
    "duration_s": 600,
    "arrivals": {"source": "constant", "rate": 9},
}
UNIT = {"from": 0.05, "to": 0.95}
WEIGHTS = Grid({f"w{k}": list(range(1, 31)) for k in range(7)})
CASES = {
    "four parameters": Case(
        functions(with_noise(four, 0.3), Grid(dict.fromkeys("abcd", FINE))), four
    ),
    "whole numbers": Case(
        functions(with_noise(stock, 2.0), Grid({"s": list(range(81)), "gap": list(range(1, 101))})),
        stock,
    ),
    "shares of 64 VMs": Case(functions(makespan(64), WEIGHTS, common=True)),
    "shares of 128 VMs": Case(functions(makespan(128), WEIGHTS, common=True)),
    "tiers thresholds": Case(
        simulated(
            {
                "spec": SMALL_TIERS,
                "designs": {
                    "policy": "utilisation",
                    "utilisation.low": {"from": 0.05, "to": 0.3},
                    "utilisation.lowered": {"from": 0.31, "to": 0.58},
                    "utilisation.raised": {"from": 0.6, "to": 0.8},
                    "utilisation.high": {"from": 0.8, "to": 0.98},
                },
                "objectives": ["total_cost_usd"],
            }
        )
    ),
    "tiers policies and their parameters": Case(
        simulated(
            {
                "spec": SMALL_TIERS,
                "designs": {
                    "policy": ["utilisation", "target-tracking", "step", "static"],
                    "utilisation.high": {"from": 0.62, "to": 0.98},
                    "utilisation.raised": {"from": 0.62, "to": 0.98},
                    "target-tracking.target": UNIT,
                    "step.upper": UNIT,
                    "step.lower": UNIT,
                },
                "where": ["utilisation.raised < utilisation.high", "step.lower < step.upper"],
                "objectives": ["total_cost_usd"],
            }
        )
    ),
    "vm oversubscription": Case(
        simulated(
            {
                "spec": "vm/azure-like-10k",
                "designs": {
                    "policy": ["best-fit", "first-fit", "worst-fit"],
                    "oversubscription.cpu": {"from": 1.0, "to": 2.5},
                    "machines[0].count": {"from": 4, "to": 20, "step": 1},
                    "overload": "kill",
                },
                "objectives": ["profit_usd"],
            },
            {"ticks": 300, "workload.vms": 600, "workload.concurrent": 100},
        ),
        sign=-1.0,
    ),
    "faas weights": Case(
        simulated(
            {
                "spec": "faas/edge-energy",
                "designs": {
                    "policy": "weighted",
                    "weighted.energy-efficiency": 1,
                    "weighted.execution-time": {"from": 0, "to": 4},
                    "weighted.contention": {"from": 0, "to": 2},
                    "weighted.least-power": {"from": 0, "to": 1},
                },
                "objectives": ["energy_j_per_invocation"],
            },
            {"duration_s": 60},
        )
    ),
    "jobs score weights": Case(
        simulated(
            {
                "spec": "jobs/hpc-swf",
                "designs": {
                    "policy": "linear",
                    "linear.log_predicted": 1,
                    "linear.log_processors": {"from": -1, "to": 2},
                    "linear.log_wait": {"from": -2, "to": 1},
                    "linear.log_slowdown": {"from": -2, "to": 1},
                    "linear.fits": {"from": -4, "to": 4},
                },
                "objectives": ["bounded_slowdown_mean"],
            },
            {"workload.jobs": 100},
        )
    ),
}


def searched(problem: Problem, name: str, seed: int) -> list[int]:
    """What is chosen after each number of evaluations."""
    if name == "gp":
        return [gp(problem, evaluations=budget, seed=seed).best for budget in BUDGETS]
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = {
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
        "cma-es": lambda: optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
    }[name]()
    study = optuna.create_study(sampler=sampler)
    best, chosen, found = np.inf, -1, []
    replication = 0
    while replication < max(BUDGETS):
        trial = study.ask()
        region, point = suggested(trial, problem.regions)
        there = problem.regions[region]
        if not there.allowed(point[None, :])[0]:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        number = int(there.numbers(point[None, :])[0])
        loss = float(problem.losses(problem.evaluate([number], [replication]))[0, 0, 0])
        study.tell(trial, loss)
        replication += 1
        if loss < best:
            best, chosen = loss, number
        if replication in BUDGETS:
            found.append(chosen)
    return found


Found = dict[str, list[list[float]]]
"""The true means of what each method chose: by method, run and budget."""


def run_case(
    name: str, methods: list[str], runs: int, found: Found, keep: Callable[[Found], None]
) -> None:
    """Adds the runs that are not there yet, and keeps what is there after each."""
    case = CASES[name]
    known: dict[str, float] = {}
    judge = case.make(FAR)

    def true(number: int) -> float:
        design = judge.design(number)
        key = repr(design)
        if key not in known:
            if case.truth is not None:
                known[key] = case.truth(design)
            else:
                known[key] = float(judge.evaluate([number], range(TRUE)).mean())
        return known[key]

    for method in methods:
        for seed in range(len(found[method]), runs):
            chosen = searched(case.make(seed), method, seed)
            found[method].append([true(number) for number in chosen])
            keep(found)


def rows(name: str, found: Found) -> list[list[str]]:
    """A row for each number of evaluations."""
    values = {method: np.array(some) for method, some in found.items()}
    runs = len(values["gp"])
    reach = float(student_quantile(np.array(runs - 1.0), np.array(0.025))) / runs**0.5
    table = []
    for k, budget in enumerate(BUDGETS):
        row = [name if not k else "", f"{runs}" if not k else "", f"{budget}"]
        for method in METHODS:
            one = values[method][:, k]
            row.append(f"{one.mean():.4g} ± {reach * one.std(ddof=1):.2g}")
        others = [m for m in METHODS if m != "gp"]
        sign = CASES[name].sign
        rival = min(others, key=lambda m: sign * values[m][:, k].mean())
        gap = sign * (values["gp"][:, k] - values[rival][:, k])
        verdict = f"{gap.mean():+.2g} ± {reach * gap.std(ddof=1):.2g} ({rival})"
        table.append([*row, verdict])
    return table


INK, GRID = "#374151", "#d1d5db"
COLOURS = ("#e45756", "#4c78a8", "#54a24b", "#9d9d9d")
"""Of the methods, in their order."""
PANEL, ACROSS, TOP = (250, 170), 3, 40
"""The size of a panel, how many stand beside each other, and the room above them."""


def curves(found: dict[str, Found]) -> str:
    """Progress curves as SVG: a panel for each problem, means with 95 % intervals."""
    wide, high = PANEL
    parts = []
    for k, (method, colour) in enumerate(zip(METHODS, COLOURS, strict=True)):
        x = 20 + 110 * k
        parts.append(f'<path d="M{x} 18h20" stroke="{colour}" stroke-width="2.5"/>')
        parts.append(f'<text x="{x + 26}" y="22">{method}</text>')
    for number, (name, some) in enumerate(found.items()):
        down, across = divmod(number, ACROSS)
        panel = "".join(panel_parts(name, some))
        parts.append(f'<g transform="translate({across * wide} {TOP + down * high})">{panel}</g>')
    height = TOP + -(-len(found) // ACROSS) * high
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ACROSS * wide} {height}" '
        f'font-family="sans-serif" font-size="11" fill="{INK}"><title>Searches at equal '
        f'evaluations</title><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def panel_parts(name: str, found: Found) -> list[str]:
    """The panel of one problem; evaluations go by their logarithm."""
    wide, high = PANEL
    runs = len(found["gp"])
    means = np.array([np.mean(found[method], axis=0) for method in METHODS])
    reach = float(student_quantile(np.array(runs - 1.0), np.array(0.025))) / runs**0.5
    half = reach * np.array([np.std(found[method], axis=0, ddof=1) for method in METHODS])
    low, high_value = float((means - half).min()), float((means + half).max())
    span = high_value - low or 1.0
    left, right, top, bottom = 52, wide - 14, 24, high - 30
    steps = np.log2(np.array(BUDGETS) / BUDGETS[0])
    xs = left + 8 + (right - left - 16) * steps / steps[-1]
    better = "less" if CASES[name].sign > 0 else "more"
    parts = [
        f'<text x="{left}" y="14" font-weight="bold">{name}</text>',
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="{GRID}"/>',
        f'<text x="{left - 4}" y="{top + 8}" text-anchor="end">{high_value:.4g}</text>',
        f'<text x="{left - 4}" y="{bottom}" text-anchor="end">{low:.4g}</text>',
        f'<text x="{right}" y="{bottom + 26}" text-anchor="end">{runs} runs, {better} is '
        "better</text>",
    ]
    parts += [
        f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{budget}</text>'
        for x, budget in zip(xs, BUDGETS, strict=True)
    ]
    for k, colour in enumerate(COLOURS):
        at = xs + 3.0 * (k - 1.5)  # beside each other, so that intervals can be told apart
        ys = bottom - (bottom - top) * (means[k] - low) / span
        reaches = (bottom - top) * half[k] / span
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(at, ys, strict=True))
        bars = "".join(
            f"M{x:.1f} {y - r:.1f}V{y + r:.1f}" for x, y, r in zip(at, ys, reaches, strict=True)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<path d="{bars}" stroke="{colour}" fill="none"/>'
        )
    return parts


HEADER = ["problem", "runs", "evaluations", *METHODS, "gp less the best other (below 0: better)"]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--problems", help="names, with commas between; all by default")
    parser.add_argument("--methods", help="which of them are run; all by default")
    parser.add_argument("--out", type=Path, help="a folder for what was found")
    parser.add_argument("--curves", type=Path, help="a file for the progress curves, as SVG")
    arguments = parser.parse_args()
    names = arguments.problems.split(",") if arguments.problems else list(CASES)
    methods = arguments.methods.split(",") if arguments.methods else list(METHODS)
    table: list[list[str]] = []
    everything: dict[str, Found] = {}
    for name in names:
        file = arguments.out / f"{name.replace(' ', '-')}.json" if arguments.out else None
        found: Found = {method: [] for method in METHODS}
        if file is not None and file.exists():
            found = json.loads(file.read_text(encoding="utf-8"))
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)

        def keep(some: Found, file: Path | None = file) -> None:
            if file is not None:
                write_text(file, json.dumps(some))

        run_case(name, methods, arguments.runs, found, keep)
        runs = min(map(len, found.values()))
        if runs < 2:
            continue  # one run has no interval
        found = {method: some[:runs] for method, some in found.items()}
        everything[name] = found
        table += rows(name, found)
    if arguments.curves is not None:
        write_text(arguments.curves, curves(everything))
    print(markdown(HEADER, table), end="")


if __name__ == "__main__":
    main()
