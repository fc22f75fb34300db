"""``learned:batch``: a ranking of parallel jobs, learned from windows of four logs.

Two linear scores, one where the head of the line blocks and one where others are backfilled, are
found by the cross-entropy method and joined to one network. What is learned to be low is the mean
of the logarithm of the bounded slowdown over windows, so that a few heavy windows do not decide;
and windows are of variants of the logs (``batch_variants``), so that it holds on others too.
"""

from __future__ import annotations

import gzip
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cloudarena
from benchmarks.batch_variants import make_variants
from benchmarks.learned_trials import keep
from benchmarks.rlscheduler import print_header, print_row
from cloudarena.base.statistics import interval
from cloudarena.contract.learned import Learned, LearnedPolicy, policy_of, resolve
from cloudarena.engine.scoring import Shape
from cloudarena.learn.algorithm import training_seed
from cloudarena.learn.cross_entropy import CrossEntropy, CrossEntropyOptions
from cloudarena.learn.decisions import Window
from cloudarena.reproduce.batch_logs import (
    FIRST_JOBS,
    JOBS,
    LOGS,
    RULES,
    Log,
    find_log,
    spec_of,
)
from cloudarena.scenarios.jobs import WindowRuns
from cloudarena.scenarios.jobs.observe.queue import RANKINGS

Array = NDArray[Any]
QUEUE = RANKINGS["jobs-queue"]
NAMES = [feature.name for feature in QUEUE.features]
LINEAR = Shape(len(QUEUE.features), len(QUEUE.context))
GATED = Shape(len(QUEUE.features), len(QUEUE.context), (2,), "relu")
BACKFILL = ("none", "strict")
UNSEEN = (
    Log("NASA-iPSC", "NASA-iPSC-1993-3.1-cln.swf", 128),
    Log("theta", "theta_argonne.swf", 4392),
    Log("Cirne", "Cirne.swf", 256),
    Log("Jann", "Jann.swf", 322),
)
NETWORK = {
    ("Lublin-1", "none"): 254.67, ("SDSC-SP2", "none"): 466.44, ("HPC2N", "none"): 117.01,
    ("Lublin-2", "none"): 724.51, ("Lublin-1", "strict"): 58.64, ("SDSC-SP2", "strict"): 397.82,
    ("HPC2N", "strict"): 86.14, ("Lublin-2", "strict"): 118.79,
}  # fmt: skip
"""What RLScheduler's network reached, as published."""
SPREAD = {
    "predicted": 5.0, "request": 3.0, "processors": 5.0, "share": 0.5, "wait": 3.0, "slowdown": 3.0,
    "fits": 0.3, "delay": 3.0, "consumed": 10.0, "brief": 0.5, "known": 0.2,
    "crowd_processors": 4.0,
}  # fmt: skip
"""How far weights are drawn apart, relative to each other: about as far as moves scores alike."""
SCALE = np.array([*(SPREAD[name] for name in NAMES), *np.ones(LINEAR.context + 1)])
STARTS = {
    "none": {
        "predicted": 0.7, "request": -0.8, "processors": -4.2, "share": -3.8, "wait": 0.3,
        "slowdown": 0.3, "delay": -1.4, "consumed": -40.0, "crowd_processors": -0.8,
    },
    "strict": {
        "predicted": -16.6, "request": -6.0, "processors": -18.8, "wait": -3.9, "slowdown": 0.1,
        "delay": 1.4, "consumed": 0.6, "crowd_processors": 0.4,
    },
}  # fmt: skip
"""Orders to begin with: what a search before this one found, rounded."""
OPTIONS = CrossEntropyOptions(
    population=20, windows=1, elite=0.25, keep=0.5, spread=2.0, least_spread=0.02
)
ROUNDS, SEED, TRAINED_JOBS, RETESTS = 14, 1, 1024, 2
VARIANTS_EACH, VARIANT_JOBS = 6, 5000
"""Parts of each log that are learned from, the first as it is, and how many jobs they have."""
CHOSEN_ON = 2
"""The seed of the variants on which finalists are told apart."""
FROM_JOB = 10_000
"""Where training begins in logs that are longer: behind RLScheduler's ten windows."""
GENERATED = (910, 911)
"""Seeds of the generator that it is tested on."""
VARIANTS = ((0.7, 1.0), (1.3, 1.0), (1.0, 0.5), (1.0, 10.0))
"""Load and processors, as multiples of a log's own."""


class Logs:
    """The logs of a folder; each is read once for each policy that is run on it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs: dict[tuple[str, str], WindowRuns] = {}

    def runs(self, log: Log, policy: str | LearnedPolicy) -> WindowRuns:
        """Runs of windows of a log under a policy."""
        key = log.file, policy if isinstance(policy, str) else f"{policy.name} {policy.chosen}"
        if key not in self._runs:
            self._runs[key] = WindowRuns(cloudarena.load(spec_of(self._folder, log, None)), policy)
        return self._runs[key]

    def slowdowns(self, log: Log, policy: str | LearnedPolicy, firsts: Any) -> Array:
        """The mean bounded slowdown of windows of 1,024 jobs."""
        found: Array = self.runs(log, policy).measure(firsts, JOBS).bounded_slowdown_mean[0]
        return found

    def forget(self) -> None:
        """Lets go of all workloads."""
        self._runs.clear()


def linear_policy(backfill: str, name: str = "linear") -> LearnedPolicy:
    """A linear score, whose weights are tried out."""
    learned = Learned.of("jobs", QUEUE, LINEAR, np.zeros(LINEAR.size))
    return policy_of(learned, name, {"backfill": backfill})


class Trials:
    """What cross-entropy asks: the scores of weights on windows, one of each log for each seed."""

    def __init__(self, home: Path, logs: Sequence[Log], backfill: str) -> None:
        self._policy = linear_policy(backfill)
        self._runs = [Logs(home).runs(log, self._policy) for log in logs]

    def scores(self, weights: Array, windows: Sequence[Window]) -> Array:
        """Minus the logarithm of the bounded slowdown, mean over the logs."""
        rows = np.array([self._policy.values_of(row * SCALE) for row in weights])
        total = np.zeros((len(weights), len(windows)))
        for place, runs in enumerate(self._runs):
            firsts = [
                np.random.default_rng((window.seed, place)).integers(0, runs.jobs - TRAINED_JOBS)
                for window in windows
            ]
            total -= np.log(runs.measure(firsts, TRAINED_JOBS, rows).bounded_slowdown_mean)
        return total / len(self._runs)


def train(folder: Path, home: Path, backfill: str, rounds: int, each: int) -> tuple[Array, float]:
    """The weights of a linear score, and the CPU seconds that it took.

    They are the best of all finalists on variants that are new to all.
    """
    clock = time.process_time()

    def trials_of(seed: int) -> Trials:
        made = make_variants(folder, home, LOGS, each, VARIANT_JOBS, FROM_JOB, seed)
        return Trials(home, made, backfill)

    trials = trials_of(SEED)
    start = np.zeros(LINEAR.size)
    for name, weight in STARTS[backfill].items():
        start[NAMES.index(name)] = weight
    steps = rounds * OPTIONS.population * OPTIONS.windows
    begin = (start / SCALE).astype(np.float32)
    method = CrossEntropy(LINEAR, lambda part: trials, SEED, steps, OPTIONS, begin)
    means = []
    for number in range(rounds):
        method.iterate()
        print(f"{backfill}, {number + 1}: {method.note}", file=sys.stderr, flush=True)
        means.append(method.weights())
    late = np.mean(means[-max(1, rounds // 3) :], axis=0)
    finalists = [begin, late, method.weights()]
    fresh = [Window(training_seed(0, f"retest {k}")) for k in range(RETESTS)]
    scores = trials_of(CHOSEN_ON).scores(np.array(finalists, np.float64), fresh).mean(axis=1)
    print(f"{backfill}, start, late mean, last mean: {scores}", file=sys.stderr, flush=True)
    return finalists[int(np.argmax(scores))] * SCALE, time.process_time() - clock


def train_both(folder: Path, rounds: int, each: int) -> tuple[list[Array], float]:
    """The weights of both scores, each found in a process of its own, and their CPU seconds."""
    with ExitStack() as homes, ProcessPoolExecutor(len(BACKFILL)) as pool:
        places = [Path(homes.enter_context(tempfile.TemporaryDirectory())) for _ in BACKFILL]
        count = len(BACKFILL)
        done = list(
            pool.map(train, [folder] * count, places, BACKFILL, [rounds] * count, [each] * count)
        )
    return [weights for weights, _ in done], sum(seconds for _, seconds in done)


def join(blocking: Array, backfilling: Array) -> Array:
    """One network of both: a unit each, of which the context lets only one be above zero."""
    features, inputs = LINEAR.features, LINEAR.features + LINEAR.context
    first, bias = np.zeros((inputs, 2)), np.zeros(2)
    for unit, weights in enumerate((blocking, backfilling)):
        weights = weights[:features] / np.abs(weights[:features]).max()
        first[:features, unit] = weights
        offset = 1.0 + math.ceil(np.abs(weights).sum())
        # As large as scores can be: above zero if it is this unit's turn, below if it is not.
        bias[unit] = offset if unit == 0 else -offset
        first[features, unit] = -2.0 * bias[unit]
    return np.concatenate((first.ravel(), bias, np.ones(2), np.zeros(1)))


def make_batch(
    folder: Path,
    out: Path | None,
    policy: str | None,
    quick: bool,
    parts: Sequence[str],
    count: int,
) -> None:
    """Trains, unless a policy is given, and prints the tables."""
    logs = Logs(folder)
    if policy is None:
        rounds, each = (2, 2) if quick else (ROUNDS, VARIANTS_EACH)
        found, seconds = train_both(folder, rounds, each)
        training = {
            "scenario": "windows of variants of four logs",
            "reward": "bounded_slowdown_mean",
            "command": "python -m benchmarks.learned batch --data FOLDER"
            + (" --quick" if quick else ""),
            "algorithm": "cross-entropy",
            "seeds": [SEED],
            "runs": 2 * rounds * OPTIONS.population * OPTIONS.windows * each * len(LOGS),
            "jobs_in_a_run": TRAINED_JOBS,
        }
        learned = Learned.of("jobs", QUEUE, GATED, join(*found), training=training)
        print(f"Trained in {seconds:.0f} CPU seconds, {training['runs']:,} runs.\n", flush=True)
        print_weights(found)
    else:
        learned = resolve("jobs", policy).learned
    logs.forget()

    def with_backfill(backfill: str) -> LearnedPolicy:
        return policy_of(learned, "learned", {"backfill": backfill})

    results: dict[str, Any] = {}
    if "ten" in parts:
        print_ten(logs, with_backfill)
        logs.forget()
    if "random" in parts:
        results = {"ratios": print_random(logs, folder, with_backfill, count)}
        logs.forget()
    keep(learned, f"{count} random windows of {JOBS} jobs of each log", results, out)
    if "robust" in parts:
        print_robust(folder, with_backfill, count // 2)
        print_generated(with_backfill)


def print_weights(found: Sequence[Array]) -> None:
    """Prints the weights of both scores."""
    print_header("feature", "blocking", "backfilled")
    for name, *weights in zip(NAMES, *found, strict=False):
        print_row(f"`{name}`", *(f"{weight:.2f}" for weight in weights))
    print()


def print_ten(logs: Logs, learned: Callable[[str], LearnedPolicy]) -> None:
    """Prints the means over RLScheduler's ten windows."""
    print_header(
        "log, backfill", "best heuristic", "RLScheduler's network", "learned", "below both"
    )
    for log in LOGS:
        for backfill in BACKFILL:
            values = {
                rule: logs.slowdowns(log, f"{rule}:backfill={backfill}", FIRST_JOBS).mean()
                for rule in RULES
            }
            best = min(values, key=lambda rule: values[rule])
            mine = logs.slowdowns(log, learned(backfill), FIRST_JOBS).mean()
            network = NETWORK[log.name, backfill]
            wins = mine < min(values[best], network)
            print_row(
                f"{log.name}, {backfill}", f"`{best}` {values[best]:.2f}", f"{network:.2f}",
                f"{mine:.2f}", "yes" if wins else "no",
            )  # fmt: skip
    print()


def print_random(
    logs: Logs, folder: Path, learned: Callable[[str], LearnedPolicy], count: int
) -> dict[str, dict[str, float]]:
    """Prints ratios to every heuristic over random windows, with paired intervals.

    Returns their geometric means over logs.
    """
    print(f"{count} random windows of {JOBS} jobs: geometric mean of the bounded slowdown, and of")
    print("its ratio to each heuristic, with paired 95 % intervals.\n")
    print_header("log, backfill", "learned", *(f"to `{rule}`" for rule in RULES))
    found: dict[tuple[str, str], list[Array]] = {}
    for log in (*LOGS, *there(folder, UNSEEN)):
        which = "trained logs" if log in LOGS else "other logs"
        for backfill in BACKFILL:
            ratios = print_ratios(logs, log, learned(backfill), count, RULES)
            for over in (backfill, "both"):
                found.setdefault((which, over), []).append(ratios)
        logs.forget()
    print("\nGeometric means of these ratios over logs:\n")
    print_header("ratio to", *(f"`{rule}`" for rule in RULES))
    answer = {}
    for (which, over), rows in found.items():
        ratios = np.exp(np.mean(rows, axis=0))
        print_row(f"{which}, {over}", *(f"{one:.3f}" for one in ratios))
        answer[f"{which}, {over}"] = dict(zip(RULES, ratios.tolist(), strict=True))
    print()
    return answer


def print_ratios(
    logs: Logs, log: Log, learned: LearnedPolicy, count: int, rules: Sequence[str]
) -> Array:
    """Prints the row of one log: the mean logarithms of the ratios."""
    backfill = learned.chosen["backfill"]
    jobs = logs.runs(log, learned).jobs
    firsts = np.random.default_rng(0).integers(0, jobs - JOBS, count)
    mine = np.log(logs.slowdowns(log, learned, firsts))
    cells, means = [f"{math.exp(mine.mean()):.2f}"], []
    for rule in rules:
        theirs = np.log(logs.slowdowns(log, f"{rule}:backfill={backfill}", firsts))
        ratio = interval(mine - theirs)
        low, middle, high = (math.exp(ratio.mean + side * ratio.half_width) for side in (-1, 0, 1))
        means.append(ratio.mean)
        cells.append(f"{middle:.3f} ({low:.3f} to {high:.3f})")
    print_row(f"{log.name}, {backfill}", *cells)
    return np.array(means)


def print_robust(folder: Path, learned: Callable[[str], LearnedPolicy], count: int) -> None:
    """Prints ratios to some heuristics at other loads and on other machines."""
    rules = ("ranked-sjf", "smallest-area", "predicted-area", "f1", "f2")
    print(f"The same with {count} windows, at other loads and with other processors.\n")
    print_header("log, backfill", "learned", *(f"to `{rule}`" for rule in rules))
    for log in (LOGS[1], LOGS[3], *there(folder, UNSEEN[1:2])):
        for load, size in VARIANTS:
            with tempfile.TemporaryDirectory() as home:
                name = f"{log.name}, load x {load:g}, processors x {size:g}"
                changed = Log(name, f"{log.name}.swf", max(1, round(log.processors * size)))
                write_variant(find_log(folder, log), Path(home) / changed.file, load, size)
                for backfill in BACKFILL:
                    print_ratios(Logs(Path(home)), changed, learned(backfill), count, rules)
    print()


def print_generated(learned: Callable[[str], LearnedPolicy]) -> None:
    """Prints ratios on jobs of a generator, under seeds that nobody trained on."""
    rules = ("ranked-sjf", "smallest-area", "f1", "f2")
    print_header("estimates, rate, backfill", *(f"to `{rule}`" for rule in rules))
    for estimates in ("exact", "modal"):
        for rate in (1.5, 4.0):
            work = {
                "source": "lublin-feitelson", "jobs": 4000, "processors": 128, "rate": rate,
                "estimates": estimates,
            }  # fmt: skip
            spec = {"scenario": "jobs", "machines": [{"cpu": 128}], "workload": work}
            scenario: Any = cloudarena.load(spec)

            def measured(policy: str | LearnedPolicy, scenario: Any = scenario) -> float:
                runs = [WindowRuns(scenario, policy, seed) for seed in GENERATED]
                found = [one.measure(range(0, 4000, 400), 400) for one in runs]
                return float(np.mean([np.log(one.bounded_slowdown_mean) for one in found]))

            for backfill in BACKFILL:
                mine = measured(learned(backfill))
                others = [measured(f"{rule}:backfill={backfill}") for rule in rules]
                cells = (f"{math.exp(mine - theirs):.3f}" for theirs in others)
                print_row(f"{estimates}, {rate:g}, {backfill}", *cells)
    print()


def there(folder: Path, wanted: Sequence[Log]) -> list[Log]:
    """Those logs that a folder has."""
    return [one for one in wanted if any(folder.glob(f"{one.file}*"))]


def write_variant(log: Path, to: Path, load: float, size: float) -> None:
    """Writes a log whose jobs arrive faster, and are of more or fewer processors each."""
    reader = gzip.open if log.suffix == ".gz" else open
    with reader(log, "rt", encoding="latin-1") as lines, to.open("w") as written:
        for line in lines:
            words = line.split()
            if not words or words[0].startswith(";"):
                continue
            words[1] = f"{float(words[1]) / load:.0f}"
            for place in (4, 7):
                if float(words[place]) > 0:
                    words[place] = str(max(1, math.floor(float(words[place]) * size)))
            written.write(" ".join(words) + "\n")
