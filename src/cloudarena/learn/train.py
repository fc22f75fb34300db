"""Training: a plan, rounds of an algorithm, checkpoints, a choice, and the comparison at the end.

Five sets of work have nothing in common: what is trained on (seeds from 2^30 on), what the learning
curve is measured on, what the finalists are told apart by, what the result is tested on, and the
seeds from 0 on that people use. So the result is on work that nobody has looked at before.

What comes out depends on the plan alone: not on the number of processes, on how long it took, nor
on whether it was stopped and went on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import SpecError
from cloudarena.base.files import check_writable
from cloudarena.base.parallel import check_workers
from cloudarena.catalogue import load, read_overrides
from cloudarena.contract import Metric, Scenario
from cloudarena.contract.learned import Learned
from cloudarena.experiments.compare import compare
from cloudarena.learn.algorithm import (
    Algorithm,
    State,
    part_of,
    prefixed,
)
from cloudarena.learn.checkpoint import read_checkpoint, remove_checkpoint, write_checkpoint
from cloudarena.learn.clouds import Cloud, Runs, Taught
from cloudarena.learn.cross_entropy import CrossEntropy, CrossEntropyOptions
from cloudarena.learn.decisions import DecisionVector, Evaluator, Window
from cloudarena.learn.explain import explain
from cloudarena.learn.imitate import Imitate, ImitateOptions
from cloudarena.learn.native_clouds import side_by_side
from cloudarena.learn.network import one_thread
from cloudarena.learn.plan import REPLICATIONS, Plan, make_plan
from cloudarena.learn.ppo import Ppo, PpoOptions
from cloudarena.learn.reinforce import Reinforce, ReinforceOptions
from cloudarena.learn.training import NAME, Training, learned_results
from cloudarena.optimizers import METHODS, Objective, Problem, Selection

WARM_STEPS = 20_000
"""Decisions of a teacher that another algorithm begins with."""
TEST_SEED, CURVE_SEED, CHOICE_SEED = 1_000_000, 2_000_000, 3_000_000
"""The first seeds of the test, of the learning curve, and of the choice among finalists."""
POINTS = 20
"""How often the learning curve is measured."""
KEPT = 4
"""How many points of the curve, the best, are finalists."""
CHOICE_RUNS = 24
"""Runs for each finalist, shared out by OCBA."""
CHECKPOINT_S = 60.0
"""Seconds between two checkpoints."""


class Progress(NamedTuple):
    """How far a training is."""

    phase: str
    steps: int
    all_steps: int
    best: float | None
    """The best point of the learning curve so far."""
    reference: float
    """What the kind's default policy earns on the same work."""
    note: str


Watcher = Callable[[Progress], None]


def train(
    scenario: Scenario | str | Path | Mapping[str, Any],
    algorithm: str = "cross-entropy",
    reward: str | None = None,
    steps: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    workers: int = 1,
    hidden: Sequence[int] = (),
    activation: str = "tanh",
    imitate: str | None = None,
    curriculum: str | None = None,
    window: Mapping[str, float] | None = None,
    decides: str | None = None,
    most: int | None = None,
    replications: int = REPLICATIONS,
    options: Mapping[str, Any] | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    checkpoint_s: float = CHECKPOINT_S,
    watcher: Watcher | None = None,
    metrics: Sequence[Metric] = (),
    executor: Executor | None = None,
) -> Training:
    """Learns a policy for a scenario, and tests it against all heuristics on work it never saw.

    Args:
        scenario: a scenario, a name of the catalogue, a YAML file or a dict.
        algorithm: one of ``cloudarena.learn.plan.ALGORITHMS``.
        reward: the metric to earn, one with a direction, or several with weights, such as
            ``income_usd=1,unserved_share=5000``; the kind's headline by default.
        steps: whole runs of cross-entropy, decisions of the others.
        seed: decides everything.
        out: where checkpoints and the result are written. Training that was stopped goes on there.
        workers: processes; -1 is one for each core. The result does not depend on it.
        hidden: units of each hidden layer; a linear score by default.
        activation: of hidden layers: tanh or relu.
        imitate: the policy that is learned by imitation, alone or before the algorithm begins.
        curriculum: a key of the spec that moves meanwhile, such as ``load=0.5:1.2``.
        window: a part of the work for each run, such as ``{"jobs": 256}``.
        decides: which decision is learned, where the kind has several.
        most: how many candidates are looked at; as the kind says by default.
        replications: runs of each policy in the last comparison.
        options: of the algorithm, such as ``{"population": 64}``.
        overrides: changes of the scenario, as for ``cloudarena.load``.
        checkpoint_s: seconds between two checkpoints.
        watcher: is called after each round.
        metrics: of your own, besides those of the kind, one of which may be the reward.
        executor: any ``concurrent.futures.Executor`` to run on, such as that of a cluster.
    """
    changes = read_overrides(overrides)
    if not isinstance(scenario, Scenario):
        scenario = load(scenario, changes)
    elif changes:
        raise SpecError("overrides: are not allowed for a scenario that is loaded")
    scenario = scenario.measuring(*metrics)
    plan = make_plan(
        scenario,
        algorithm,
        reward,
        steps,
        seed,
        hidden,
        activation,
        imitate,
        curriculum,
        window,
        decides,
        most,
        replications,
        options,
        changes,
    )
    check_workers(workers)
    folder = None if out is None else check_writable(out)
    with one_thread():
        trainer = Trainer(plan, workers, folder, checkpoint_s, watcher, executor)
        return trainer.run()


class Trainer:
    """Follows a plan to its end; what it knows is in ``state``."""

    def __init__(
        self,
        plan: Plan,
        workers: int = 1,
        folder: Path | None = None,
        checkpoint_s: float = CHECKPOINT_S,
        watcher: Watcher | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.plan, self.workers, self.folder, self.executor = plan, workers, folder, executor
        self._checkpoint_s, self._watcher = checkpoint_s, watcher
        self._saved_at = time.monotonic()
        self._is_warm = not plan.imitate or plan.algorithm == "imitate"
        self._runs = Runs(plan.cloud, plan.shape, workers, executor)
        self._curve: list[tuple[int, float, float]] = []
        self._kept: list[NDArray[np.float32]] = []
        self._kept_scores: list[float] = []
        self._reference: Floats = np.zeros(0)
        self._algorithm = self._make(None)

    def run(self) -> Training:
        """Trains, chooses, compares and saves."""
        plan = self.plan
        state = None if self.folder is None else read_checkpoint(self.folder, plan.said)
        if state is not None:
            self._restore(state)
        else:
            default = plan.scenario.policy or plan.scenario.kind.default_policy
            self._reference = self._runs.of_policy(default, self._curve_windows())
        while True:
            while self._algorithm.steps < self._algorithm.all_steps:
                self._round()
            if self._is_warm:
                break
            self._is_warm = True
            self._algorithm = self._make(self._algorithm.weights())
            self._measure()
        self._checkpoint(at_once=True)
        weights, choice = self._choose()
        return self._finish(weights, choice)

    def _make(self, start: NDArray[np.float32] | None) -> Algorithm:
        """The algorithm that is due: imitation first, where that is a warm start."""
        plan = self.plan
        shape, seed, options = plan.shape, plan.seed, plan.options
        if not self._is_warm or isinstance(options, ImitateOptions):
            given = options if isinstance(options, ImitateOptions) else None
            steps = plan.steps if self._is_warm else WARM_STEPS
            return Imitate(shape, Taught(plan.cloud, plan.imitate), seed, steps, given)
        if isinstance(options, CrossEntropyOptions):
            return CrossEntropy(shape, self._runs_at, seed, plan.steps, options, start)
        if isinstance(options, ReinforceOptions):
            count = options.environments

            def same_work(part: float) -> DecisionVector:
                return side_by_side(self._cloud_at(part), count, same_work=True)

            return Reinforce(shape, same_work, seed, plan.steps, options, start)
        assert isinstance(options, PpoOptions)
        environments = options.environments

        def make(part: float) -> DecisionVector:
            return side_by_side(self._cloud_at(part), environments)

        return Ppo(shape, make, seed, plan.steps, options, start)

    def _cloud_at(self, part: float) -> Cloud:
        """The cloud as the curriculum has it at a part of the training."""
        plan = self.plan
        if plan.curriculum is None:
            return plan.cloud
        scenario = plan.curriculum.scenario(plan.scenario, part)
        return Cloud(scenario, plan.cloud.decides, plan.cloud.reward, plan.cloud.most)

    def _runs_at(self, part: float) -> Evaluator:
        return Runs(self._cloud_at(part), self.plan.shape, self.workers, self.executor)

    def _curve_windows(self) -> list[Window]:
        return [Window(CURVE_SEED + k) for k in range(self.plan.curve_windows)]

    def _round(self) -> None:
        """A round, and a point of the curve when one is due: by steps, not by time."""
        algorithm = self._algorithm
        before = algorithm.steps * POINTS // algorithm.all_steps
        algorithm.iterate()
        if self._is_warm and algorithm.steps * POINTS // algorithm.all_steps > before:
            self._measure()
        self._tell("training" if self._is_warm else "imitating")
        self._checkpoint()

    def _measure(self) -> None:
        """Adds a point to the curve; the best few are kept as finalists."""
        weights = self._algorithm.weights()
        scores = self._runs.scores(weights[None, :].astype(np.float64), self._curve_windows())[0]
        error = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0
        mean = float(scores.mean())
        self._curve.append((self._algorithm.steps, mean, error))
        if any(weights.tobytes() == one.tobytes() for one in self._kept):
            return
        order = sorted(range(len(self._kept) + 1), key=lambda k: -[*self._kept_scores, mean][k])[
            :KEPT
        ]
        self._kept = [[*self._kept, weights][k] for k in order]
        self._kept_scores = [[*self._kept_scores, mean][k] for k in order]

    def _tell(self, phase: str) -> None:
        if self._watcher is not None:
            best = max(self._kept_scores) if self._kept_scores else None
            one = self._algorithm
            reference = float(self._reference.mean())
            self._watcher(Progress(phase, one.steps, one.all_steps, best, reference, one.note))

    def _checkpoint(self, at_once: bool = False) -> None:
        """Keeps the state, a function of the steps taken, if a minute has passed."""
        now = time.monotonic()
        if self.folder is None or (not at_once and now - self._saved_at < self._checkpoint_s):
            return
        write_checkpoint(self.folder, self.plan.said, self._state())
        self._saved_at = now

    def _state(self) -> State:
        size = self.plan.shape.size
        return {
            "is_warm": np.array(self._is_warm),
            "curve": np.array(self._curve, np.float64).reshape(-1, 3),
            "kept": np.array(self._kept, np.float32).reshape(-1, size),
            "kept_scores": np.array(self._kept_scores),
            "reference": self._reference,
            **prefixed("algorithm", self._algorithm.state()),
        }

    def _restore(self, state: State) -> None:
        is_warm = bool(state["is_warm"])
        if is_warm != self._is_warm:
            self._is_warm = is_warm
            self._algorithm = self._make(np.zeros(self.plan.shape.size, np.float32))
        self._curve = [(int(steps), mean, error) for steps, mean, error in state["curve"].tolist()]
        self._kept = list(state["kept"])
        self._kept_scores = state["kept_scores"].tolist()
        self._reference = state["reference"]
        self._algorithm.restore(part_of("algorithm", state))

    def _choose(self) -> tuple[NDArray[np.float32], Selection | None]:
        """The best of the finalists, told apart on new work by the project's own selection."""
        self._tell("choosing")
        pool = [self._algorithm.weights(), *self._algorithm.finalists(), *self._kept]
        distinct = list({one.tobytes(): one for one in pool}.values())
        if len(distinct) == 1:
            return distinct[0], None
        problem = Finalists(np.array(distinct), self._runs, self.plan.cloud.reward)
        selection = METHODS["ocba"](problem, evaluations=CHOICE_RUNS * len(distinct), first=8)
        return distinct[selection.best], selection

    def _finish(self, weights: NDArray[np.float32], choice: Selection | None) -> Training:
        """Compares on work that nobody has seen, looks at what decides, and saves."""
        self._tell("comparing")
        plan = self.plan
        policy = plan.cloud.policy(plan.shape, weights, NAME)
        heuristics = plan.scenario.compared_policies()
        comparison = compare(
            plan.scenario,
            [policy, *heuristics],
            plan.replications,
            TEST_SEED,
            self.workers,
            executor=self.executor,
        )
        learned = Learned.of(
            plan.scenario.kind.name,
            plan.cloud.candidates,
            plan.shape,
            weights,
            plan.cloud.most,
            plan.said,
            learned_results(comparison, plan.cloud.metric),
        )
        training = Training(
            comparison,
            learned,
            np.array(self._curve, np.float64).reshape(-1, 3),
            float(self._reference.mean()),
            explain(plan.cloud, plan.shape, weights, CHOICE_SEED),
            None if choice is None else choice.summary(),
        )
        if self.folder is not None:
            training.save(self.folder)
            remove_checkpoint(self.folder)
        return training


class Finalists(Problem):
    """A few networks as designs, so that the optimisers can choose among them."""

    def __init__(self, weights: NDArray[np.float32], runs: Evaluator, reward: str) -> None:
        self.weights, self.runs = weights.astype(np.float64), runs
        self.size = len(weights)
        self.objectives = (Objective(f"{reward} earned", "maximise"),)

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """What each network earns on the work of each replication."""
        windows = [Window(CHOICE_SEED + int(number)) for number in replications]
        return self.runs.scores(self.weights[designs], windows)[:, :, None]
