"""Policies that choose a share by simulation, stage by stage: Monte Carlo, blind pick, iLOS, eLOS.

Each evaluates shares by the closed-form model of a stage's work, with the distributions of the
classes and common random numbers, and takes the best. They differ in how many evaluations they
spend on that, and so, where an evaluation takes time, in how long their stages are and how old
their news is.

Each virtual cluster has a scheduler of its own, as in the thesis (its equation 4.9): shares are
evaluated and chosen cluster by cluster, so evaluations add up and never multiply. A stage has one
length for all.
After chapters 5 and 6 of Zhang's thesis (Tsinghua, 2011).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_number, check_probability, check_whole
from cloudarena.base.errors import check_choice
from cloudarena.base.statistics import front_of
from cloudarena.optimizers import blind_pick_size
from cloudarena.optimizers.ordinal.final_rules import choose
from cloudarena.optimizers.ordinal.layers import first_in_order
from cloudarena.scenarios.clusters.decision import UNTIL_DONE, ClustersDecision, Plan
from cloudarena.scenarios.clusters.policies.book import POLICIES
from cloudarena.scenarios.clusters.policies.model.cluster_model import Estimator
from cloudarena.scenarios.clusters.policies.model.stage_model import Space, StageModel
from cloudarena.scenarios.clusters.policies.model.stages import (
    MERGE_FLOOR,
    SPLIT_FLOOR,
    SplitRule,
    Thresholds,
    Timeline,
    least_similarity,
    merge,
    partition,
    thresholds,
)
from cloudarena.scenarios.clusters.spec import ClustersScenario

Rule = Literal["max_throughput", "knee", "min_memory", "random"]
RULES: tuple[Rule, ...] = get_args(Rule)

DESIGNS = 50_000
"""Shares that a decider looks at; of a larger space it takes a sample."""
SLOWER = 0.1
"""How much longer than the shortest makespan one may be by the rule of the least memory."""
FEWEST_PROPER = 10
"""Proper replications of a selected share, however short the time."""


@dataclass(kw_only=True, eq=False)
class _Iterative(ABC):
    """What the four have in common.

    The parameters of a policy are its fields; these come after its own.
    """

    name = ""

    replications: int = 1000
    designs: int = DESIGNS
    rule: Rule = "max_throughput"
    estimator: Estimator = "mean_of_max"

    def __post_init__(self) -> None:
        self.replications = check_whole(f"policy {self.name}: replications", self.replications, 2)
        self.designs = check_whole(f"policy {self.name}: designs", self.designs, 1)
        check_choice(f"policy {self.name}: rule", self.rule, RULES)
        check_choice(f"policy {self.name}: estimator", self.estimator, ("mean_of_max", "plug_in"))

    def start(self, scenario: ClustersScenario, seed: int) -> None:
        """Takes all shares there are, or draws some that every decision looks at."""
        self._spaces = [
            Space(group, scenario.allow_idle, self.designs, seed) for group in scenario.groups
        ]

    def __call__(self, decision: ClustersDecision) -> Plan:
        """The best share of each virtual cluster for the stage, and its length."""
        length = self._length(decision)
        load, memory = decision.load(length), decision.mean_memory_mb
        shares, evaluations = np.empty(len(decision.shares), np.int64), 0
        for index, space in enumerate(self._spaces):
            seed = int(decision.rng.integers(2**31))
            some = space.shares(load, memory)
            model = StageModel(some, decision, load, self.estimator, seed, space.own)
            if decision.decide_seconds > 0 and decision.number == 0:
                # Thought out beforehand, with all the time in the world.
                share, spent = self._best(model, model.all_designs(), 0, self.replications)
            else:
                share, spent = self._decide(model, decision, index)
            shares[space.own] = share
            evaluations += spent
        return Plan(shares, length, evaluations)

    def _length(self, decision: ClustersDecision) -> float:
        """The length of a stage: the time to think; by the spec where that takes no time."""
        if decision.all_arrived:
            return UNTIL_DONE
        seconds = self._cost() * decision.decide_seconds or decision.stage_s
        return max(float(seconds), decision.least_stage_s)

    def _cost(self) -> int:
        """Evaluations of a decision."""
        return sum(self._cost_of(index) for index in range(len(self._spaces)))

    @abstractmethod
    def _cost_of(self, index: int) -> int:
        """Evaluations of a decision for a virtual cluster."""

    @abstractmethod
    def _decide(
        self, model: StageModel, decision: ClustersDecision, index: int
    ) -> tuple[Ints, int]:
        """A share of a virtual cluster, and the evaluations spent on it."""

    def _best(
        self, model: StageModel, designs: Ints, first: int, replications: int
    ) -> tuple[Ints, int]:
        """The best of some shares by replications from ``first`` on, and what that cost."""
        losses = self._estimate(model, designs, first, replications)
        front = front_of(losses)
        if self.rule == "min_memory":
            # The front has the shortest makespan, and the least memory for each makespan.
            short = front[losses[front, 0] <= (1.0 + SLOWER) * losses[:, 0].min()]
            index = short[np.argmin(losses[short, 1])]
        else:
            index = front[choose(self.rule, losses[front], model.seed)]
        return model.shares[designs[index]], len(designs) * replications

    def _two_stages(
        self, model: StageModel, rough: int, selected: int, replications: int
    ) -> tuple[Ints, int]:
        """LOS: a screening stage over all shares, a second stage for those selected."""
        designs = model.all_designs()
        screened = self._estimate(model, designs, 0, rough)
        best = first_in_order(screened, min(selected, len(designs)))
        shares, spent = self._best(model, best, rough, replications)
        return shares, spent + len(designs) * rough

    def _estimate(self, model: StageModel, designs: Ints, first: int, replications: int) -> Floats:
        """Mean makespan and memory; of the rule that looks at no memory the makespan alone."""
        moments = model.estimate(designs, np.arange(first, first + replications))
        return moments.mean[:, :1] if self.rule == "max_throughput" else moments.mean


@POLICIES.stepped("iterative-monte-carlo")
class IterativeMonteCarlo(_Iterative):
    """Every share is evaluated ``replications`` times, stage by stage."""

    name = "iterative-monte-carlo"

    def _cost_of(self, index: int) -> int:
        return self._spaces[index].looked_at * self.replications

    def _decide(
        self, model: StageModel, decision: ClustersDecision, index: int
    ) -> tuple[Ints, int]:
        return self._best(model, model.all_designs(), 0, self.replications)


@POLICIES.stepped("iterative-blind-pick")
@dataclass(eq=False)
class IterativeBlindPick(_Iterative):
    """Shares picked at random are evaluated ``replications`` times, stage by stage.

    So many that one of ``good`` ones is among them on average, or with probability
    ``confidence``.
    """

    name = "iterative-blind-pick"

    good: int = 12
    confidence: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.good = check_whole(f"policy {self.name}: good", self.good, 1)
        if self.confidence is not None:
            check_probability(f"policy {self.name}: confidence", self.confidence)

    def start(self, scenario: ClustersScenario, seed: int) -> None:
        """Finds out how many to pick."""
        super().start(scenario, seed)
        self._picked = [
            blind_pick_size(one.looked_at, min(self.good, one.looked_at), 1, self.confidence)
            for one in self._spaces
        ]

    def _cost_of(self, index: int) -> int:
        return self._picked[index] * self.replications

    def _decide(
        self, model: StageModel, decision: ClustersDecision, index: int
    ) -> tuple[Ints, int]:
        few = self._picked[index]
        picked = decision.rng.choice(model.size, few, replace=False, shuffle=False)
        return self._best(model, np.sort(picked), 0, self.replications)


@POLICIES.stepped("ilos")
@dataclass(eq=False)
class Ilos(_Iterative):
    """LOS, stage by stage: a screening stage over all shares, a second stage for the best.

    All are evaluated ``rough`` times and the best ``selected`` of them ``replications`` times.
    """

    name = "ilos"

    rough: int = 10
    selected: int = 190

    def __post_init__(self) -> None:
        super().__post_init__()
        self.rough = check_whole(f"policy {self.name}: rough", self.rough, 1)
        self.selected = check_whole(f"policy {self.name}: selected", self.selected, 1)

    def start(self, scenario: ClustersScenario, seed: int) -> None:
        """No more can be selected than there are."""
        super().start(scenario, seed)
        self._few = [min(self.selected, one.looked_at) for one in self._spaces]

    def _cost_of(self, index: int) -> int:
        looked_at = self._spaces[index].looked_at
        return looked_at * self.rough + self._few[index] * self.replications

    def _decide(
        self, model: StageModel, decision: ClustersDecision, index: int
    ) -> tuple[Ints, int]:
        return self._two_stages(model, self.rough, self._few[index], self.replications)


@POLICIES.stepped("elos")
@dataclass(kw_only=True, eq=False)
class Elos(Ilos):
    """The policy iLOS with stages split where batches differ and merged where they are alike.

    The stages of ``ilos`` are halved, up to three times, where the least alike pair of batches has
    a similarity below ``split``; neighbours whose batches are all at least ``merge`` alike become
    one, at most ``cap`` stages of ``ilos`` long. By default both come from the batches: the 0.33
    quantile over random pairs, but at most ``split_floor``, and the 0.67 quantile, but at least
    ``merge_floor``. A longer stage gives more time to think: the number of rough evaluations
    follows from the stage before.

    If batches to come are not known, the next stage is half as long as the one before if the
    batches that came in such a time (the last two at least) are less alike than ``split``, twice as
    long if at least ``merge``, within an eighth and ``cap`` times the stage of ``ilos``.
    """

    name = "elos"

    split: float | None = None
    merge: float | None = None
    split_floor: float = SPLIT_FLOOR
    merge_floor: float = MERGE_FLOOR
    cap: float = 4.0
    split_rule: SplitRule = "min"
    intensity_weight: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cap = check_number(f"policy {self.name}: cap", self.cap, 1.0)
        check_choice(f"policy {self.name}: split_rule", self.split_rule, ("min", "max"))
        weight = check_number(f"policy {self.name}: intensity_weight", self.intensity_weight, 0.0)
        self.intensity_weight = weight

    def start(self, scenario: ClustersScenario, seed: int) -> None:
        """Forgets the stages of the last run."""
        super().start(scenario, seed)
        self._edges: Floats = np.empty(0)
        self._before = 0.0

    def _length(self, decision: ClustersDecision) -> float:
        step = super()._length(decision)
        if math.isinf(step):
            return step
        timeline = Timeline(decision.batch_times, decision.batch_tasks.astype(np.float64))
        limits = self._thresholds(timeline)
        if decision.information == "oracle":
            length = self._planned(decision, timeline, limits, step)
        else:
            length = self._adapted(decision, timeline, limits, step)
        return max(length, decision.least_stage_s)

    def _planned(
        self, decision: ClustersDecision, timeline: Timeline, limits: Thresholds, step: float
    ) -> float:
        """The time to the next edge of stages that are laid out once, over all batches."""
        if not len(self._edges):
            end = step * (math.floor(timeline.times[-1] / step) + 1)
            begins = [
                edge
                for begin in np.arange(0.0, end - step / 2.0, step)
                for edge in partition(
                    timeline,
                    float(begin),
                    float(begin) + step,
                    limits.split,
                    step / 8.0,
                    split_rule=self.split_rule,
                    intensity_weight=self.intensity_weight,
                )
            ]
            kept = merge(
                timeline, begins, end, limits.merge, self.cap * step, self.intensity_weight
            )
            self._edges = np.array([*kept, end])
        # Thinking may have come late, so the stage need not begin at an edge.
        ahead = self._edges[self._edges > decision.begins + step / 100.0]
        return float(ahead[0] - decision.begins) if len(ahead) else step

    def _adapted(
        self, decision: ClustersDecision, timeline: Timeline, limits: Thresholds, step: float
    ) -> float:
        """Half or twice the stage before, by the batches of that time."""
        before = self._before or step
        recent = int((timeline.times > decision.now - before).sum())
        similarity = least_similarity(timeline.mixes[-max(recent, 2) :], self.intensity_weight)
        length = before
        if similarity < limits.split:
            length = before / 2.0
        elif similarity >= limits.merge and len(timeline.times) > 1:
            length = before * 2.0
        self._before = min(max(length, step / 8.0), self.cap * step)
        return self._before

    def _thresholds(self, timeline: Timeline) -> Thresholds:
        found = thresholds(
            timeline.mixes,
            split_floor=self.split_floor,
            merge_floor=self.merge_floor,
            intensity_weight=self.intensity_weight,
        )
        return Thresholds(
            found.split if self.split is None else self.split,
            found.merge if self.merge is None else self.merge,
        )

    def _decide(
        self, model: StageModel, decision: ClustersDecision, index: int
    ) -> tuple[Ints, int]:
        if decision.decide_seconds == 0:
            return super()._decide(model, decision, index)
        # As often for each virtual cluster, so that all of them together keep to the time.
        few, size = sum(self._few), sum(one.looked_at for one in self._spaces)
        budget = decision.allowed_s / decision.decide_seconds
        rough = math.floor((budget - few * self.replications) / size)
        if rough >= 1:
            rough = min(rough, self.replications)
            return self._two_stages(model, rough, self._few[index], self.replications)
        # Too short for that: a single screening stage, and what is left for the selected.
        proper = math.floor((budget - size) / few)
        proper = min(max(proper, FEWEST_PROPER), self.replications)
        return self._two_stages(model, 1, self._few[index], proper)
