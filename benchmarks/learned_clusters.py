"""``learned:clusters``: a shorter makespan than ``mean-optimum`` where the mix changes much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from benchmarks.learned_trials import (
    Case,
    Recipe,
    Trials,
    Values,
    comparison_results,
    keep,
    print_duels,
    print_variants,
    print_weights,
    put_to_the_test,
    train_or_load,
)
from cloudarena.contract.learned import policy_of
from cloudarena.learn.cross_entropy import CrossEntropyOptions

METRICS = ("makespan_s", "backlog_mean_tasks")
RULES = ("equal", "fixed", "proportional", "greedy", "mean-optimum")
"""The heuristics that decide at once."""
ITERATIVE = ("iterative-monte-carlo", "iterative-blind-pick", "ilos", "elos")
"""Those that search for shares: rivals in the first table alone, for they take longer."""
TRAINED = (Case("hfhc", "clusters/hfhc"), Case("lfhc", "clusters/lfhc"))
VARIANTS = (
    Case("hflc", "clusters/hflc"),
    Case("lfhc", "clusters/lfhc"),
    Case("lflc", "clusters/lflc"),
    Case("hfhc, load x 0.7", "clusters/hfhc", {"workload.load": 0.63}),
    Case("hfhc, load x 1.3", "clusters/hfhc", {"workload.load": 1.17}),
    Case("hfhc, half the VMs", "clusters/hfhc", {"vms": 10}),
    Case("hfhc, ten times the VMs", "clusters/hfhc", {"vms": 200}),
    Case("hfhc, stages of 15 s", "clusters/hfhc", {"stage_s": 15}),
    Case("hfhc, stages of 240 s", "clusters/hfhc", {"stage_s": 240}),
)
START = {"mean_optimum": 1.0, "length": -1.0, "left": -1.0}
"""The shares of mean-optimum, for less long."""
OPTIONS = CrossEntropyOptions(population=48, windows=4, elite=0.2, spread=3.0, least_spread=0.02)


def goal(found: Values, rivals: Mapping[str, Values]) -> float:
    """How far the makespan is below that of mean-optimum, as a logarithm."""
    return -math.log(found["makespan_s"] / rivals["mean-optimum"]["makespan_s"])


RECIPE = Recipe(
    "clusters",
    "clusters/hfhc and lfhc",
    "makespan_s",
    lambda: Trials(TRAINED, "clusters", goal, METRICS[:1], ("mean-optimum",)),
    START,
    OPTIONS,
    rounds=16,
    retests=24,
)


def make_clusters(out: Path | None, policy: str | None, quick: bool) -> None:
    """Trains, unless a policy is given, and prints the tables."""
    learned = train_or_load(RECIPE, "clusters", policy, quick)
    chosen, count = policy_of(learned), 5 if quick else 40
    print_weights(learned)
    print(f"{count} runs that nobody trained on:\n")
    comparison = put_to_the_test(TRAINED[0], chosen, count, (*RULES, *ITERATIVE))
    print_duels(comparison, METRICS)
    keep(learned, TRAINED[0].name, comparison_results(comparison, METRICS), out)
    print_variants(VARIANTS, chosen, METRICS, count // 2, RULES)
