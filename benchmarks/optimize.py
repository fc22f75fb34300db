"""Speed of ``cloudarena.optimizers``, as ratios in one run, and quality at equal cost.

``python -m benchmarks.optimize speed [--out FILE]``: CPU seconds (user and system, the best of
several), with code that is compiled before the clock starts. Everything that is compared takes
turns, so that what else runs on the machine slows all down alike.

``python -m benchmarks.optimize methods [--runs 20] [--out FILE]``: what each method finds among
the shares of 20 VMs over 7 classes, and at which cost.

``python -m benchmarks.optimize claims [--runs 200] [--objectives 1,2] [--out FILE]``: how often
what each method claims comes true, on problems whose truth is known (``optimize_claims.py``).

``python -m benchmarks.optimize limits [--runs 200] [--out FILE]``: the same of claims about limits
(``optimize_limits.py``).
``python -m benchmarks.optimize kept --runs 2000``: probabilities that limits are kept, against the
truth (``optimize_kept.py``).

``python -m benchmarks.optimize search [--runs 200] [--out FILE]``: the same of what searches claim
of their finalists (``optimize_search.py``); set OPENBLAS_NUM_THREADS=1.

``python -m benchmarks.optimize cost [--runs 100] [--out FILE]``: how many designs LOS selects for
that, and how often it is right.

``python -m benchmarks.optimize metrics [--runs 20] [--out FILE]``: how many of many metrics need be
measured, and how well they find the best strategies.

``python -m benchmarks.optimize simulation [--spec tiers/rubis-hour] [--designs 100]
[--replications 10] [--played 100] [--seed 0] [--runs 20] [--out FILE]``: LOS on a real simulation,
against Monte Carlo at ten times its evaluations (``optimize_simulation.py``). All of it:
``--designs 400 --replications 44 --runs 100``.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.mapping import markdown
from benchmarks.optimize_claims import HEADER, claim_tables, cost_header, cost_rows
from benchmarks.optimize_kept import HEADER as KEPT_HEADER
from benchmarks.optimize_kept import kept_rows
from benchmarks.optimize_limits import HEADER as LIMITS_HEADER
from benchmarks.optimize_limits import limit_rows
from benchmarks.optimize_search import search_rows
from benchmarks.optimize_simulation import STUDIED, simulation
from cloudarena.base.files import write_text
from cloudarena.base.statistics import front_of
from cloudarena.engine.streams import stream
from cloudarena.optimizers import blind_pick, los, monte_carlo
from cloudarena.optimizers.ordinal.layers import layers
from cloudarena.optimizers.ordinal.screening import drop_levels
from cloudarena.reduction import reduce_metrics, synthetic_metrics
from cloudarena.scenarios.clusters import ClusterModel, Compositions

REPLICATIONS = 1000
NAIVE_SHARES = 20
"""The naive loop is timed on so few, and scaled."""
REPEATS = 5
progress = Console(stderr=True)


def best_of(calls: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, float]:
    """CPU seconds of each call, the best of several turns."""
    best = dict.fromkeys(calls, math.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def naive_makespans(model: ClusterModel, shares: list[tuple[int, ...]]) -> list[float]:
    """Mean makespans as one would first write them: a loop over shares, replications, classes."""
    load, square = model.load.tolist(), model.variation**2
    rng = stream(model.seed, "naive")
    means = []
    for theta in shares:
        total = 0.0
        for _ in range(REPLICATIONS):
            total += max(
                work * rng.gamma(1.0 / square, square) / count
                for work, count in zip(load, theta, strict=True)
            )
        means.append(total / REPLICATIONS)
    return means


def column_wise_makespans(work: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Mean makespans in NumPy: a running maximum over classes, blocks of shares."""
    means = np.empty(len(theta))
    for start in range(0, len(theta), 256):
        block = theta[start : start + 256]
        longest = np.zeros((len(block), len(work)))
        for c in range(block.shape[1]):
            np.maximum(longest, work[:, c] / block[:, c, None], out=longest)
        means[start : start + 256] = longest.mean(axis=1)
    return means


def peeled(points: np.ndarray) -> np.ndarray:
    """Layers by taking away front after front, each found by a sort."""
    layer = np.empty(len(points), np.int64)
    left = np.arange(len(points))
    number = 0
    while len(left):
        order = left[np.lexsort((points[left, 1], points[left, 0]))]
        second = points[order, 1]
        before = np.minimum.accumulate(np.concatenate(([np.inf], second[:-1])))
        front = order[second < before]
        layer[front] = number
        left = np.setdiff1d(left, front)
        number += 1
    return layer


def speed() -> str:
    """A row for each thing that is timed."""
    model = ClusterModel(Compositions(20, 7))
    designs = model.all_designs()
    theta = model.theta(designs).astype(float)
    some = [model.design(number) for number in range(0, model.size, model.size // NAIVE_SHARES)]
    model.estimate(designs[:2], range(REPLICATIONS))
    work, _ = model._draws(np.arange(REPLICATIONS))
    if not np.allclose(
        column_wise_makespans(work, theta), model.estimate(designs, range(REPLICATIONS)).mean[:, 0]
    ):
        raise AssertionError("NumPy's makespans are others")
    progress.print("evaluators", style="dim")
    times = best_of(
        {
            "naive": lambda: naive_makespans(model, some),
            "numpy": lambda: column_wise_makespans(work, theta),
            "ours": lambda: model.estimate(designs, range(REPLICATIONS)),
        }
    )
    times["naive"] *= model.size / len(some)
    evaluations = model.size * REPLICATIONS
    rows = []
    for name, words in (
        ("naive", "loop in Python, independent gamma"),
        ("numpy", "NumPy, common random numbers, makespan only"),
        ("ours", "`ClusterModel.estimate`, mean and variance of both objectives"),
    ):
        rows.append(
            [
                f"27,132 shares x 1000: {words}",
                shown(times[name]),
                f"{evaluations / times[name] / 1e6:,.3g} million evaluations/s",
                f"{times['naive'] / times[name]:,.0f} x naive",
            ]
        )

    rng = np.random.default_rng(0)
    points = rng.random((27_132, 2))
    many, three = rng.random((1_000_000, 2)), rng.random((27_132, 3))
    for sample in (points[:10], three[:10]):
        layers(sample)
    if (peeled(points[:3000]) != layers(points[:3000])).any():
        raise AssertionError("peeling gives other layers")
    progress.print("layers", style="dim")
    times = best_of({"ours": lambda: layers(points), "peel": lambda: peeled(points)}, 3)
    ratio = f"{times['peel'] / times['ours']:,.0f} x front by front"
    rows.append(["layers of 27,132 points", shown(times["ours"]), "2 objectives", ratio])
    times = best_of({"many": lambda: layers(many), "three": lambda: layers(three)}, 2)
    rows.append(["layers of 1,000,000 points", shown(times["many"]), "2 objectives", ""])
    rows.append(["layers of 27,132 points", shown(times["three"]), "3 objectives", ""])

    progress.print("LOS", style="dim")
    losses = model.evaluate(designs, range(10))

    def screening() -> int:
        return int(np.count_nonzero(drop_levels(losses, "knee") > 0.05))

    calls = {
        "size": screening,
        "los": lambda: los(model),
        "monte carlo": lambda: monte_carlo(model),
    }
    times = best_of(calls, 3)
    rows.append(["selected set by screening", shown(times["size"]), "27,132 designs", ""])
    saved = monte_carlo(model).evaluations / los(model).evaluations
    rows.append(["LOS, whole", shown(times["los"]), f"{saved:.0f} times fewer evaluations", ""])
    rows.append(["Monte Carlo, whole", shown(times["monte carlo"]), "", ""])
    return markdown(["what", "CPU", "", "ratio"], rows)


def methods(runs: int) -> str:
    """Cost and quality of methods on the shares of 20 VMs, over several seeds."""
    truth_model = ClusterModel(Compositions(20, 7), seed=10**6)
    truth = truth_model.estimate(truth_model.all_designs(), range(20_000)).mean
    truth[:, 1] = truth_model.mean_model(truth_model.all_designs())[:, 1]
    front = front_of(truth)
    half = len(front) // 2

    def by_first(method: Callable[..., Any], **options: Any) -> Callable[[ClusterModel, int], Any]:
        return lambda model, seed: method(model, seed=seed, final_rule="first_objective", **options)

    tried = {
        "monte-carlo": by_first(monte_carlo),
        "blind-pick, the best 1 %": by_first(blind_pick),
        f"blind-pick, one of {len(front)}": by_first(blind_pick, good=len(front)),
        "los, k = 1": by_first(los),
        "los, k = 1, within 5 %": by_first(los, within="5%"),
        f"los, k = {half}": by_first(los, at_least=half),
        f"los, k = {half}, screening stage of 50": by_first(los, at_least=half, rough=50),
    }
    rows = []
    for name, method in tried.items():
        progress.print(name, style="dim")
        selections = [
            method(ClusterModel(Compositions(20, 7), seed=seed), seed) for seed in range(runs)
        ]
        found = [len(np.intersect1d(s.front.designs, front)) for s in selections]
        regret = [truth[s.best, 0] / truth[:, 0].min() - 1.0 for s in selections]
        rows.append(
            [
                name,
                f"{np.mean([s.evaluations for s in selections]):,.0f}",
                f"{np.mean([len(s.selected) for s in selections]):,.0f}",
                f"{np.mean(found):.1f}",
                f"{100 * np.mean(regret):.2f} %",
                f"{np.mean([s.alignment.probability for s in selections]):.3f}",
            ]
        )
    header = [
        "method",
        "evaluations",
        "selected",
        f"of the {len(front)} true front found",
        "makespan above the least",
        "claim",
    ]
    return markdown(header, rows)


def claims(runs: int, objectives: Sequence[int], out: Path | None) -> str:
    """A row for each claim, a column for each truth: what is claimed, and what came true."""
    table = ""
    for rows in claim_tables(runs, objectives, _watch):
        table = markdown(HEADER, rows)
        if out is not None:
            write_text(out, table)
    return table


def cost(runs: int) -> str:
    """A row for each kind of truth: designs that LOS selects, and the share of runs it is right."""
    return markdown(cost_header(), cost_rows(runs, _watch))


def _watch(words: str) -> None:
    progress.print(words, style="dim", highlight=False)


def metrics(runs: int) -> str:
    """A row for each kind of table: 200 metrics on 100 strategies, and 2000 on 200 of 2000."""
    rows = []
    for factors, decay, noise in ((30, 0.95, 1.0), (20, 0.95, 0.5), (50, 0.97, 1.0)):
        progress.print(f"{factors} factors", style="dim", highlight=False)
        row = [f"{factors} factors, decay {decay}, noise {noise}"]
        tables = [
            synthetic_metrics(200, 200, factors, decay, noise, seed=seed) for seed in range(runs)
        ]
        for correlation in ("adjusted", "cross_validated"):
            few = [reduce_metrics(table[:100], correlation=correlation) for table in tables]
            counts = [len(one.metrics) for one in few]
            held = [
                one.hits(table[100:], 15, 15) >= 10 for one, table in zip(few, tables, strict=True)
            ]
            claimed = np.mean([one.alignment for one in few])
            row.append(f"{np.mean(counts):.1f} ({min(counts)} to {max(counts)})")
            row.append(f"{claimed:.2f}, {np.mean(held):.2f}")
        seven = [reduce_metrics(table[:100], keep=7).hits(table[:100], 15, 15) for table in tables]
        hits = []
        for seed in range(max(1, runs // 4)):
            table = synthetic_metrics(2000, 2000, factors, decay, noise, seed=seed)
            ten = reduce_metrics(
                table[:200], keep=10, selected=100, good=100, at_least=75, strategies=1800
            )
            hits.append(ten.hits(table[200:], 100, 100))
        rows.append([*row, f"{np.mean(seven):.1f}", f"{np.mean(hits):.0f}"])
    header = [
        "table",
        "of 200 needed, adjusted",
        "claimed, true of unseen",
        "needed, cross-validated",
        "claimed, true of unseen",
        "held by 7 of 200",
        "held by 10 of 2000",
    ]
    return markdown(header, rows)


def shown(seconds: float) -> str:
    """Seconds, or milliseconds if they are few."""
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{1000.0 * seconds:.3g} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument(
        "what",
        choices=(
            *("speed", "methods", "claims", "limits", "kept", "search", "cost", "metrics"),
            "simulation",
        ),
    )
    parser.add_argument("--spec", default=STUDIED, help="the scenario, for simulation")
    parser.add_argument("--designs", type=int, default=100, help="of its 400, there")
    parser.add_argument("--replications", type=int, default=10, help="simulated, there")
    parser.add_argument(
        "--played", type=int, default=100, help="replications of Monte Carlo, there"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first replication, there")
    parser.add_argument(
        "--objectives",
        type=lambda text: [int(one) for one in text.split(",")],
        default=[1, 2],
        help="how many, for claims",
    )
    parser.add_argument("--runs", type=int, default=20, help="seeds, for all but speed")
    parser.add_argument("--out", type=Path, help="writes the table there")
    arguments = parser.parse_args()
    tables = {
        "speed": speed,
        "methods": lambda: methods(arguments.runs),
        "claims": lambda: claims(arguments.runs, arguments.objectives, arguments.out),
        "limits": lambda: markdown(LIMITS_HEADER, limit_rows(arguments.runs, _watch)),
        "kept": lambda: markdown(KEPT_HEADER, kept_rows(arguments.runs, _watch)),
        "search": lambda: markdown(HEADER, search_rows(arguments.runs, _watch)),
        "cost": lambda: cost(arguments.runs),
        "metrics": lambda: metrics(arguments.runs),
        "simulation": lambda: simulation(
            arguments.spec,
            arguments.designs,
            arguments.replications,
            arguments.played,
            arguments.runs,
            arguments.seed,
        ),
    }
    table = tables[arguments.what]()
    print(table, end="")
    if arguments.out is not None:
        write_text(arguments.out, table)


if __name__ == "__main__":
    main()
