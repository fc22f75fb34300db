"""``learned:alibaba``: which task starts where, learned from chunks of ten jobs of Alibaba's list.

The protocol is that of DeepJS: ten jobs in a row on five machines of 64 cores, the first 200 chunks
to learn from, the last 320 to test on, and the makespan is what counts. A linear score is found by
the cross-entropy method on those chunks of the 200 where the longest task first is furthest from
the lower bound: on the others there is little to be learned.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cloudarena
from benchmarks.learned_trials import keep, results_of
from benchmarks.rlscheduler import print_header, print_row
from cloudarena.base.statistics import interval
from cloudarena.contract.learned import Learned, LearnedPolicy, policy_of, resolve
from cloudarena.engine.scoring import Shape
from cloudarena.learn.algorithm import training_seed
from cloudarena.learn.cross_entropy import CrossEntropy, CrossEntropyOptions
from cloudarena.learn.decisions import Window
from cloudarena.policies import ArrayPolicy
from cloudarena.reproduce.deepjs import (
    CHUNK,
    FILE,
    LONGEST_FIRST,
    TESTED,
    Chunks,
    spec_of,
)
from cloudarena.scenarios.jobs.observe.candidates import CANDIDATES

Array = NDArray[Any]
TRAINED, HARD = 200, 60
"""Chunks to learn from, and how many of them are hard enough to be used."""
START = {
    "log_duration": 12.0, "unlike_free": -4.0, "use_unlike_work": -5.0, "beyond_half": 1.5,
    "tightness": -1.0, "nothing": -1000.0,
}  # fmt: skip
"""Where the search begins: the longest first, if its resources go with what is free."""
SPREAD = {
    "log_duration": 4.0, "unlike_free": 1.5, "unlike_work": 1.0, "use_unlike_work": 2.0,
    "of_horizon": 1.0, "beyond_half": 1.0, "log_alone": 2.0, "ahead": 0.3, "tightness": 0.7,
}  # fmt: skip
"""How far weights are drawn apart; those of other features stay at zero."""
JOBS = CANDIDATES["jobs"]
NAMES = [feature.name for feature in JOBS.features]
SHAPE = Shape(len(JOBS.features), len(JOBS.context))
SCALE = np.array([SPREAD.get(name, 0.0) for name in NAMES] + [0.0] * (SHAPE.context + 1))
OPTIONS = CrossEntropyOptions(
    population=32, windows=30, elite=0.2, keep=0.4, spread=3.3, least_spread=0.02
)
ROUNDS, SEED = 14, 1
STEPPED, FEWER = 20, 3000
"""Heuristics that run in Python are tested on so many chunks, of fewer instances than that."""
VARIANTS = ((0.7, 5), (1.3, 5), (1.0, 3), (1.0, 50))
"""Load, and machines."""
GENERATED = range(100, 104)
"""Seeds of the generator that is like the list."""


class Trials:
    """What cross-entropy asks: the scores of weights on chunks, one for each seed."""

    def __init__(self, chunks: Chunks, hard: int) -> None:
        self._chunks = chunks
        learned = Learned.of("jobs", JOBS, SHAPE, np.zeros(SHAPE.size))
        self.policy = policy_of(learned)
        self._runs = chunks.runs(self.policy)
        first = range(TRAINED)
        longest_first = chunks.makespans(chunks.runs(LONGEST_FIRST), first)[0]
        gaps = longest_first - chunks.bounds(first)
        self.hard = np.sort(np.argsort(-gaps, kind="stable")[:hard])
        self._mean = longest_first[self.hard].mean()

    def scores(self, weights: Array, windows: Sequence[Window]) -> Array:
        """Minus the makespan, over the mean of the longest first."""
        rows = [self.policy.values_of(with_start(row)) for row in weights]
        drawn = [self.hard[window.seed % len(self.hard)] for window in windows]
        return -self._chunks.makespans(self._runs, drawn, np.array(rows)) / self._mean


def with_start(weights: Array) -> Array:
    """The weights of the features, from what the search moves."""
    found = weights * SCALE
    for name, weight in START.items():
        found[NAMES.index(name)] += weight
    return found


def train(chunks: Chunks, quick: bool) -> Array:
    """The weights of a linear score."""
    trials = Trials(chunks, HARD)
    rounds = 2 if quick else ROUNDS
    method = CrossEntropy(
        SHAPE,
        lambda part: trials,
        SEED,
        rounds * OPTIONS.population * OPTIONS.windows,
        OPTIONS,
        np.zeros(SHAPE.size, np.float32),
    )
    means = []
    for number in range(rounds):
        method.iterate()
        print(f"{number + 1}: {method.note}", file=sys.stderr, flush=True)
        means.append(method.weights())
    finalists = [np.mean(means[-max(1, rounds // 3) :], axis=0), means[-1], *method.finalists()[:3]]
    seeds = [Window(training_seed(0, f"retest {k}")) for k in range(2 * HARD)]
    scores = trials.scores(np.array(finalists, np.float64), seeds).mean(axis=1)
    return with_start(finalists[int(np.argmax(scores))])


def make_alibaba(folder: Path, out: Path | None, policy: str | None, quick: bool) -> None:
    """Trains, unless a policy is given, and prints the tables."""
    chunks = Chunks(spec_of(folder / FILE))
    if policy is None:
        begin = time.process_time()
        weights = train(chunks, quick)
        runs = (2 if quick else ROUNDS) * OPTIONS.population * OPTIONS.windows
        training = {
            "scenario": "chunks of ten jobs of Alibaba's list of 2017 on five machines",
            "reward": "makespan_s",
            "command": "python -m benchmarks.learned alibaba --data FOLDER"
            + (" --quick" if quick else ""),
            "algorithm": "cross-entropy",
            "seeds": [SEED],
            "runs": runs,
        }
        learned = Learned.of("jobs", JOBS, SHAPE, weights, training=training)
        print(f"Trained in {time.process_time() - begin:.0f} CPU seconds, {runs:,} runs.\n")
    else:
        learned = resolve("jobs", policy).learned
    chosen = policy_of(learned)
    print_header("feature", "weight")
    for name, weight in zip(NAMES, learned.weights, strict=False):
        if weight != 0.0:
            print_row(f"`{name}`", f"{weight:.2f}")
    print(flush=True)
    keep(learned, f"the last {TESTED} chunks", print_test(chunks, chosen, quick), out)
    print_robust(folder, chosen, quick)


def rivals() -> tuple[list[str], list[str]]:
    """All heuristics of the kind: those that run compiled, and those that run in Python."""
    book: Any = cloudarena.load("jobs/toy").kind.policies
    compiled, stepped = [], []
    for name in book:
        if name == "linear" or name.startswith("learned:"):
            continue
        one = book.resolve(name)
        if not isinstance(one, ArrayPolicy):
            stepped.append(name)
            continue
        compiled.append(name)
        if "backfill" in one.parameters:
            compiled.append(f"{name}:backfill=greedy")
    return compiled, stepped


def print_test(chunks: Chunks, learned: LearnedPolicy, quick: bool) -> dict[str, Any]:
    """Prints the makespans of all heuristics on the last chunks, and the paired differences.

    Returns those of the heuristics that run on all chunks, as the file of a policy says it.
    """
    tested = range(chunks.count - TESTED, chunks.count, 8 if quick else 1)
    bound = chunks.bounds(tested)
    mine = chunks.makespans(chunks.runs(learned), tested)[0]
    compiled, stepped = rivals()
    print_header("policy", "chunks", "mean makespan, s", "learned is shorter by, s (95 %)", "wins")
    print_row("lower bound", f"{len(mine)}", f"{bound.mean():.1f}", "", "")
    print_row("`learned:alibaba`", f"{len(mine)}", f"{mine.mean():.1f}", "", "")
    others = {}
    for name in compiled:
        theirs = others[name] = chunks.makespans(chunks.runs(name), tested)[0]
        print_rival(name, theirs, mine)
        if name == LONGEST_FIRST:
            left = (mine.mean() - bound.mean()) / (theirs.mean() - bound.mean())
    small = [k for k, chunk in enumerate(tested) if chunks.instances(chunk) < FEWER]
    small = small[:: max(1, len(small) // (2 if quick else STEPPED))]
    for name in stepped:
        print_rival(name, stepped_makespans(chunks, name, [tested[k] for k in small]), mine[small])
    print(f"\n{left:.1%} of the distance from `{LONGEST_FIRST}` to the bound are left.\n")
    return results_of("makespan_s", "lower", mine, others)


def stepped_makespans(chunks: Chunks, name: str, tested: Sequence[int]) -> Array:
    """The makespans of chunks under a policy that runs in Python."""
    found = []
    for chunk in tested:
        window = {"first": chunk * CHUNK, "jobs": CHUNK}
        spec = {**chunks.spec, "workload": {**chunks.spec["workload"], "window": window}}
        run = cloudarena.simulate(cloudarena.load(spec), name, SEED, "none")
        found.append(run.metrics["makespan_s"])
    return np.array(found)


def print_rival(name: str, theirs: Array, mine: Array) -> None:
    """Prints a row of a heuristic."""
    less = interval(theirs - mine)
    low, high = less.mean - less.half_width, less.mean + less.half_width
    wins = "yes" if low > 0.0 else "no"
    print_row(
        f"`{name}`", f"{len(theirs)}", f"{theirs.mean():.1f}",
        f"{less.mean:.1f} ({low:.1f} to {high:.1f})", wins,
    )  # fmt: skip


def print_robust(folder: Path, learned: LearnedPolicy, quick: bool) -> None:
    """Prints the ratios to three heuristics at other loads, on other machines, on drawn work."""
    rules = (LONGEST_FIRST, "tetris", "first-fit")
    print_header("work", "mean makespan, s", *(f"over that of `{rule}`" for rule in rules))
    with tempfile.TemporaryDirectory() as home:
        for load, machines in VARIANTS:
            path = Path(home) / FILE
            write_variant(folder / FILE, path, load)
            chunks = Chunks(spec_of(path, machines))
            tested = range(chunks.count - TESTED, chunks.count, 16 if quick else 2)
            name = f"the list, load x {load:g}, {machines} machines"
            print_ratios(name, [chunks], tested, learned, rules)
    drawn = {**spec_of(folder), "workload": {"source": "alibaba-like", "jobs": 300}}
    several = [Chunks(drawn, seed) for seed in GENERATED]
    name = f"`alibaba-like`, seeds {GENERATED[0]} to {GENERATED[-1]}"
    print_ratios(name, several, range(0, 30, 8 if quick else 1), learned, rules)
    print()


def print_ratios(
    name: str, several: list[Chunks], tested: range, learned: LearnedPolicy, rules: Sequence[str]
) -> None:
    """Prints a row of ratios of mean makespans, with intervals of the mean difference."""

    def measured(policy: str | LearnedPolicy) -> Array:
        return np.concatenate([one.makespans(one.runs(policy), tested)[0] for one in several])

    mine = measured(learned)
    cells = [f"{mine.mean():.1f}"]
    for rule in rules:
        theirs = measured(rule)
        ratio = interval((mine - theirs) / theirs.mean())
        low, high = 1.0 + ratio.mean - ratio.half_width, 1.0 + ratio.mean + ratio.half_width
        cells.append(f"{1.0 + ratio.mean:.3f} ({low:.3f} to {high:.3f})")
    print_row(name, *cells)


def write_variant(source: Path, to: Path, load: float) -> None:
    """Writes the list with jobs that arrive faster."""
    with source.open(newline="") as read, to.open("w", newline="") as written:
        rows = csv.DictReader(read)
        writer = csv.DictWriter(written, rows.fieldnames or ())
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "submit_time": f"{float(row['submit_time']) / load:.3f}"})
