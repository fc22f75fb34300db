"""``learned:workflow``: a lower cost of time and rent than ``weighted`` at every trade-off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learned_trials import (
    FRESH_SEED,
    Case,
    Recipe,
    Trials,
    Values,
    keep,
    print_weights,
    results_of,
    train_or_load,
    values_of,
)
from benchmarks.rlscheduler import print_header, print_row
from cloudarena.base.statistics import interval
from cloudarena.contract.learned import LearnedPolicy, policy_of
from cloudarena.learn.cross_entropy import CrossEntropyOptions

METRICS = ("makespan_sum_s", "makespan_mean_s", "rent_usd")

SCALE = "objective.rent_scale"
SCALES = (10.0, 300.0, 1000.0, 3000.0)
"""What a dollar is worth in seconds: trade-offs from time alone to rent before all."""
WEIGHTED = tuple(f"weighted:rent={rent:g}" for rent in (0.03, 0.1, 0.2, 0.3, 0.5, 1, 3, 10, 100))
"""The heuristic's own front: it runs at ten seconds a dollar, times this."""
SMALL = {"workload.functions": 50, "workload.workflows": 25, "workload.rate": 0.2}
TRAINED = tuple(
    Case(f"montage-100, {scale:g} s a dollar", "workflow/montage-100", {**SMALL, SCALE: scale})
    for scale in SCALES
)
"""A fourth as many workflows of half the functions, which come twice as fast."""
PLANNED = ["heft"]
"""What runs in Python, and is not compared unless somebody names it."""
START = {"late": -4.0, "finish_of_first": 1.0, "rent_worth": -3.0, "fits": 1.0}
"""The soonest, unless its rent is worth more."""
OPTIONS = CrossEntropyOptions(population=24, windows=1, elite=0.25, spread=4.0, least_spread=0.02)
RIVALS = ("earliest-finish",)
"""What costs are divided by."""


def goal(found: Values, rivals: Mapping[str, Values]) -> float:
    """How far the cost is below that of the best rival, as a logarithm."""
    best = min(one["weighted_cost"] for one in rivals.values())
    return -math.log(found["weighted_cost"] / best)


Found = dict[str, Any]
"""Makespans and rents, (metrics, seeds), by policy; of the learned one for each trade-off."""


RECIPE = Recipe(
    "workflow",
    "small Montages at four trade-offs",
    "weighted_cost",
    lambda: Trials(TRAINED, "workflow", goal, ("weighted_cost",), RIVALS),
    START,
    OPTIONS,
    rounds=14,
    retests=6,
)


def make_workflow(out: Path | None, policy: str | None, quick: bool) -> None:
    """Trains, unless a policy is given, and prints the tables."""
    learned = train_or_load(RECIPE, "workflow", policy, quick)
    chosen, count = policy_of(learned), 2 if quick else 8
    print_weights(learned)
    print(f"montage-100, {count} runs that nobody trained on:\n")
    found = play("workflow/montage-100", {}, chosen, count)
    print_costs(found)
    print_front(found)
    keep(learned, "workflow/montage-100", costs_of(found), out)
    servers = "cluster.servers[{}].count"
    for title, name, changes in (
        ("load x 0.7", "montage-100", {**SMALL, "workload.rate": 0.14}),
        ("load x 1.3", "montage-100", {**SMALL, "workload.rate": 0.26}),
        ("half of the servers", "montage-100",
         {**SMALL, **{servers.format(k): 0 for k in range(0, 8, 2)}}),
        ("ten times of all", "montage-100",
         {**SMALL, "workload.workflows": 250, "workload.rate": 2.0,
          **{servers.format(k): 10 for k in range(8)}}),
        ("demo", "demo", {}),
        ("cybershake-mixed", "cybershake-mixed", {}),
    ):  # fmt: skip
        print(f"{title}, {max(2, count // 2)} runs:\n")
        other = play(f"workflow/{name}", changes, chosen, max(2, count // 2))
        print_best(other)
        print_front(other)


def play(name: str, changes: Mapping[str, Any], policy: LearnedPolicy, count: int) -> Found:
    """Runs all policies on the same work; only the learned one sees a trade-off of the spec."""
    seeds = range(FRESH_SEED, FRESH_SEED + count)

    def rows(case: Case, one: Any) -> Any:
        runs = [values_of(case.scenario, one, seed, METRICS) for seed in seeds]
        return np.array([[run[metric] for run in runs] for metric in METRICS])

    plain = Case("", name, {**changes, SCALE: 10.0})
    heuristics = [one for one in plain.scenario.compared_policies() if one != "weighted"]
    heuristics += PLANNED
    found = {one: rows(plain, one) for one in (*heuristics, *WEIGHTED)}
    found["learned"] = [rows(Case("", name, {**changes, SCALE: s}), policy) for s in SCALES]
    return found


def costs_of(found: Found) -> dict[str, Any]:
    """What the learned policy costs at each trade-off, and the others, for its file."""
    answer = {}
    for scale, mine in zip(SCALES, found["learned"], strict=True):
        others = {
            name: rows[0] + scale * rows[2] for name, rows in found.items() if name != "learned"
        }
        title = f"{SCALE}={scale:g}"
        answer[title] = results_of("weighted_cost", "lower", mine[0] + scale * mine[2], others)
    return answer


def gains(found: Found, rival: str) -> list[Any]:
    """By which share the learned policy costs less at each trade-off, pair by pair."""
    answer = []
    for scale, mine in zip(SCALES, found["learned"], strict=True):
        own, other = (one[0] + scale * one[2] for one in (mine, found[rival]))
        answer.append(interval(100.0 * (1.0 - own / other)))
    return answer


def print_costs(found: Found) -> None:
    """Prints time and rent of all, and how much less the learned policy costs."""
    print_header(
        "policy", "mean makespan, s", "rent, $",
        *(f"learned costs less at {scale:g} s a dollar, % (95 %)" for scale in SCALES),
    )  # fmt: skip
    for scale, mine in zip(SCALES, found["learned"], strict=True):
        row = mine.mean(axis=1)
        print_row(f"**learned at {scale:g}**", f"{row[1]:.1f}", f"{row[2]:.2f}", *[""] * 4)
    for name in found:
        if name == "learned":
            continue
        row = found[name].mean(axis=1)
        cells = [
            f"{one.mean:+.1f} ({one.low:+.1f} to {one.high:+.1f})" for one in gains(found, name)
        ]
        print_row(f"`{name}`", f"{row[1]:.1f}", f"{row[2]:.2f}", *cells)
    print(flush=True)


def print_best(found: Found) -> None:
    """Prints, for each trade-off, how far the learned policy is from the best other one."""
    print_header("trade-off", "best of the others", "learned costs less, % (95 %)")
    for place, scale in enumerate(SCALES):
        costs = {
            name: float((rows[0] + scale * rows[2]).mean())
            for name, rows in found.items()
            if name != "learned"
        }
        best = min(costs, key=lambda name: costs[name])
        one = gains(found, best)[place]
        cell = f"{one.mean:+.1f} ({one.low:+.1f} to {one.high:+.1f})"
        print_row(f"{scale:g} s a dollar", f"`{best}`", cell)
    print(flush=True)


def print_front(found: Found) -> None:
    """Prints what the learned front dominates, and what all settings of ``weighted`` together do.

    A point is the mean makespan and the rent of a run, as logarithms; the reference is the largest
    of both over all points of the seed. The learned front has a point for each trade-off.
    """
    own = np.log(np.array(found["learned"])[:, 1:])
    rivals = np.log(np.array([found[name] for name in WEIGHTED])[:, 1:])
    areas = []
    for seed in range(own.shape[2]):
        mine, theirs = own[:, :, seed], rivals[:, :, seed]
        corner = np.concatenate((mine, theirs)).max(axis=0) + 0.05
        areas.append([dominated(one, corner) for one in (mine, theirs)])
    mine, theirs = np.array(areas).T
    gain = interval(mine - theirs)
    print(
        f"Dominated area (time and rent as logarithms): {mine.mean():.3f} of the {len(SCALES)} "
        f"learned points, {theirs.mean():.3f} of the {len(WEIGHTED)} of `weighted`, "
        f"difference {gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}).\n",
        flush=True,
    )


def dominated(points: Any, corner: Any) -> float:
    """The area of the plane that points dominate, up to a corner."""
    area, floor = 0.0, corner[1]
    for x, y in sorted(map(tuple, points)):
        if y < floor:
            area += (corner[0] - x) * (floor - y)
            floor = y
    return area
