"""What the recipes of learned policies share: clouds to train on, the search, the tables."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import cloudarena
from benchmarks.rlscheduler import print_header, print_row
from cloudarena.base.statistics import interval
from cloudarena.contract import Scenario
from cloudarena.contract.learned import Learned, LearnedPolicy, policy_of, resolve
from cloudarena.experiments.compare import compare
from cloudarena.experiments.comparison import Comparison
from cloudarena.learn.algorithm import training_seed
from cloudarena.learn.clouds import Cloud, cloud_of
from cloudarena.learn.cross_entropy import CrossEntropy, CrossEntropyOptions
from cloudarena.learn.decisions import Window
from cloudarena.learn.training import NAME, duels_of, learned_results
from cloudarena.policies import begin

Array = NDArray[Any]
FRESH_SEED = 5_000_000
"""Of the runs of the tables: those of ``cloudarena train`` were looked at on the way."""
Values = Mapping[str, float]
Goal = Callable[[Values, Mapping[str, Values]], float]
"""What a run is worth: of its metrics, and of those of the rivals on the same work."""


@dataclass(frozen=True)
class Case:
    """A cloud of the training, or of a table."""

    title: str
    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario, loaded once."""
        return cloudarena.load(self.name, dict(self.changes))

    def cloud(self, decides: str) -> Cloud:
        """The scenario as training asks for it."""
        return cloud_of(self.scenario, None, decides, None)


class Trials:
    """What cross-entropy asks: the scores of weights on the work of all cases for each seed.

    Args:
        cases: the clouds, each of which counts alike.
        decides: what is learned.
        goal: what a run is worth.
        metrics: the metrics that it needs.
        rivals: the policies that it is held against.
        hidden: units of each hidden layer.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        decides: str,
        goal: Goal,
        metrics: Sequence[str],
        rivals: Sequence[str],
        hidden: tuple[int, ...] = (),
    ) -> None:
        self._clouds = [case.cloud(decides) for case in cases]
        self._goal, self._metrics, self._rivals = goal, metrics, rivals
        self.candidates = self._clouds[0].candidates
        self.names = [feature.name for feature in self.candidates.features]
        self.shape = self._clouds[0].shape(hidden)
        self.runs = 0

    @property
    def kind(self) -> str:
        """The kind of all cases."""
        return self._clouds[0].scenario.kind.name

    def start(self, weights: Mapping[str, float]) -> Array:
        """The weights of a linear score to begin with, by feature."""
        found = np.zeros(self.shape.size)
        for name, weight in weights.items():
            found[self.names.index(name)] = weight
        return found

    def scores(self, weights: Array, windows: Sequence[Window]) -> Array:
        """What each network is worth on each window, mean over the cases."""
        total = np.zeros((len(weights), len(windows)))
        for cloud in self._clouds:
            policies = [cloud.policy(self.shape, row) for row in weights]
            for column, window in enumerate(windows):
                rivals = {
                    name: values_of(cloud.scenario, name, window.seed, self._metrics)
                    for name in self._rivals
                }
                for row, policy in enumerate(policies):
                    found = values_of(cloud.scenario, policy, window.seed, self._metrics)
                    total[row, column] += self._goal(found, rivals)
        self.runs += len(self._clouds) * total.size
        return total / len(self._clouds)


def values_of(scenario: Scenario, policy: Any, seed: int, metrics: Sequence[str]) -> Values:
    """The metrics of a run."""
    known = scenario.kind.policies.resolve(policy)
    begin(known, scenario, seed)
    run = scenario.start(seed, "none")
    run.play(known)
    return {name: float(scenario.kind.metric[name](run)) for name in metrics}


def search(
    trials: Trials,
    start: Array,
    options: CrossEntropyOptions,
    rounds: int,
    seeds: Sequence[int] = (1, 2),
    retests: int = 12,
    scale: Array | float = 1.0,
) -> tuple[Array, dict[str, Any]]:
    """The best of the finalists of some searches, told apart on work that is new to all."""
    begin_s, finalists = time.process_time(), [start.astype(np.float32)]

    class Scaled:
        def scores(self, weights: Array, windows: Sequence[Window]) -> Array:
            return trials.scores(weights * scale, windows)

    for seed in seeds:
        method = CrossEntropy(
            trials.shape,
            lambda part: Scaled(),
            seed,
            rounds * options.population * options.windows,
            options,
            (start / scale).astype(np.float32),
        )
        means = []
        for number in range(rounds):
            method.iterate()
            print(f"seed {seed}, {number + 1}: {method.note}", file=sys.stderr, flush=True)
            means.append(method.weights())
        late = np.mean(means[-max(1, rounds // 3) :], axis=0)
        finalists += [one * scale for one in (late, method.weights(), *method.finalists())]
    fresh = [Window(training_seed(0, f"retest {k}")) for k in range(retests)]
    scores = trials.scores(np.array(finalists, np.float64), fresh).mean(axis=1)
    print("finalists, the start first:", scores.round(4), file=sys.stderr, flush=True)
    said = {
        "algorithm": "cross-entropy",
        "seeds": list(seeds),
        "runs": trials.runs,
        "options": options.model_dump(),
        "rounds": rounds,
    }
    print(f"Trained in {time.process_time() - begin_s:.0f} CPU seconds, {trials.runs:,} runs.\n")
    return np.asarray(finalists[int(np.argmax(scores))], np.float32), said


class Recipe(NamedTuple):
    """How a policy is trained, and what its file says of that."""

    command: str
    """What stands behind ``python -m benchmarks.learned``."""
    scenario: str
    reward: str
    trials: Callable[[], Trials]
    start: Mapping[str, float]
    options: CrossEntropyOptions
    rounds: int
    retests: int = 12


def train_or_load(recipe: Recipe, kind: str, policy: str | None, quick: bool) -> Learned:
    """Trains a policy, unless one is given."""
    if policy is not None:
        return resolve(kind, policy).learned
    trials, rounds = recipe.trials(), 2 if quick else recipe.rounds
    start = trials.start(recipe.start)
    weights, said = search(trials, start, recipe.options, rounds, (1,), recipe.retests)
    training = {
        "scenario": recipe.scenario,
        "reward": recipe.reward,
        "command": f"python -m benchmarks.learned {recipe.command}" + " --quick" * quick,
        **said,
    }
    return Learned.of(trials.kind, trials.candidates, trials.shape, weights, training=training)


def keep(learned: Learned, work: str, results: Mapping[str, Any], out: Path | None) -> None:
    """Writes a policy with what it reached on some work, if there is a folder for it."""
    if out is not None:
        replace(learned, results={"work": work, **results}).save(out)


def results_of(
    metric: str, better: str, mine: Array, others: Mapping[str, Array]
) -> dict[str, Any]:
    """What a policy reached on the same work as others, which have a value for each piece of it.

    It is laid out as ``learned_results`` does it; each interval is alone.
    """
    own = interval(mine)
    against = {}
    for name, theirs in others.items():
        difference = interval(mine - theirs)
        is_sure = difference.low > 0.0 or difference.high < 0.0
        is_better = (difference.mean > 0.0) == (better == "higher")
        verdict = ("better" if is_better else "worse") if is_sure else "no difference"
        against[name] = {
            "difference": difference.mean, "low": difference.low, "high": difference.high,
            "verdict": verdict,
        }  # fmt: skip
    return {
        "reward": metric, "better": better,
        "mean": own.mean, "low": own.low, "high": own.high, "against": against,
    }  # fmt: skip


def comparison_results(comparison: Comparison, metrics: Sequence[str]) -> dict[str, Any]:
    """What a policy reached in a comparison: in the first metric, and in the others."""
    first, *others = (learned_results(comparison, name) for name in metrics)
    return {**first, "other_metrics": others}


def print_weights(learned: Learned) -> None:
    """Prints the weights of a linear score, the largest first."""
    rows = sorted(
        zip(learned.features, learned.weights.tolist(), strict=False), key=lambda row: -abs(row[1])
    )
    print_header("feature", "weight")
    for name, weight in rows:
        print_row(f"`{name}`", f"{weight:.2f}")
    print(flush=True)


def put_to_the_test(
    case: Case,
    policy: LearnedPolicy,
    replications: int,
    rivals: Sequence[str] | None = None,
    seed: int = FRESH_SEED,
) -> Comparison:
    """The policy and every heuristic of the kind on the same work, which nobody trained on."""
    named = policy_of(policy.learned, NAME, policy.chosen)
    others = case.scenario.compared_policies() if rivals is None else rivals
    return compare(case.scenario, [named, *others], replications, seed, workers=1)


def print_duels(comparison: Comparison, metrics: Sequence[str]) -> None:
    """Prints each heuristic's metrics, and what the learned policy has more (Holm's intervals)."""
    kind = comparison.scenario.kind
    duels = {name: duels_of(comparison, kind.metric[name]) for name in metrics}
    print_header(
        "policy",
        *(f"`{name}`" for name in metrics),
        *(f"learned has more `{name}` (95 %)" for name in metrics),
        "learned is better in",
    )
    own = [f"**{comparison.estimate(NAME, name).mean:,.5g}**" for name in metrics]
    print_row("**learned**", *own, *("" for _ in metrics), "")
    for place, policy in enumerate(comparison.policies[1:]):
        cells, wins = [f"`{policy}`"], []
        cells += [f"{comparison.estimate(policy, name).mean:,.5g}" for name in metrics]
        for name in metrics:
            duel = duels[name][place]
            cells.append(show(duel.difference))
            wins += [name] if duel.verdict == "better" else []
            wins += [f"(worse in {name})"] if duel.verdict == "worse" else []
        print_row(*cells, ", ".join(wins) or "neither")
    print(flush=True)


def print_variants(
    cases: Sequence[Case],
    policy: LearnedPolicy,
    metrics: Sequence[str],
    replications: int,
    rivals: Sequence[str] | None = None,
) -> None:
    """Prints, for each variant and metric, the best heuristic and how far the policy is from it."""
    print_header("cloud", *(f"`{name}`: learned, best heuristic, difference" for name in metrics))
    for case in cases:
        comparison = put_to_the_test(case, policy, replications, rivals)
        cells = [case.title]
        for name in metrics:
            metric = case.scenario.kind.metric[name]
            sign = 1.0 if metric.better == "higher" else -1.0
            means = {
                other: comparison.estimate(other, name).mean for other in comparison.policies[1:]
            }
            best = max(means, key=lambda other: sign * means[other])
            duel = next(one for one in duels_of(comparison, metric) if one.against == best)
            own = comparison.estimate(NAME, name).mean
            cells.append(
                f"{own:,.5g}, `{best}` {means[best]:,.5g}, {show(duel.difference)}: "
                f"{duel.verdict or 'unknown'}"
            )
        print_row(*cells)
        sys.stdout.flush()
    print()


def show(estimate: Any) -> str:
    """A difference with its interval."""
    return f"{estimate.mean:+,.4g} ({estimate.low:+,.4g} to {estimate.high:+,.4g})"
