"""Problems whose truth is known: to calibrate tables with, and to test claims on.

Drawn truths lie in [-1, 1]^2: a goodness z, Beta distributed, along the diagonal and a trade-off t,
uniform, across it, ``z + t / 2`` and ``z - t / 2``, both stretched to [-1, 1]. Many designs are
good in the steep kind, few in the flat one. Replications add normal noise.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_number, check_table, check_vector, check_whole
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.engine.streams import stream
from cloudarena.optimizers.ordinal.layers import layers
from cloudarena.optimizers.problem import Objectives, Problem, read_objectives

Kind = Literal["steep", "neutral", "flat"]
GOODNESS = {"steep": (1.0, 4.0), "neutral": (1.5, 2.0), "flat": (3.0, 1.0)}
"""The parameters of the Beta distribution of each kind."""
DRAWN_TOGETHER = 16
"""Replications whose noise comes from one stream."""
MOST_MEMOIZED = 2**22
"""Values of noise that a problem remembers; what comes later is drawn again when it is needed."""
SHAPE = ("designs", "objectives")


def draw_truth(kind: str, designs: int, rng: np.random.Generator) -> Floats:
    """True losses, an array of (designs, 2)."""
    goodness = rng.beta(*GOODNESS[kind], designs)
    trade_off = rng.uniform(-1.0, 1.0, designs)
    truth = np.column_stack((goodness + 0.5 * trade_off, goodness - 0.5 * trade_off))
    low, high = truth.min(axis=0), truth.max(axis=0)
    return np.asarray(2.0 * (truth - low) / (high - low) - 1.0)


TRUTHS = ("normal", "uniform", "exponential", "two-point", "surface")
"""What the means of designs may look like."""


def draw_means(truth: str, designs: int, objectives: int, rng: np.random.Generator) -> Floats:
    """Means whose spread is about 1, an array of (designs, objectives).

    Of ``two-point`` a fifth is good and the rest is not, of each objective. ``surface`` has
    designs on a square grid, as many as fit; each objective is a paraboloid, and the front the
    line between their lowest points.
    """
    check_choice("truth", truth, TRUTHS)
    shape = (designs, objectives)
    if truth == "normal":
        return rng.normal(0.0, 1.0, shape)
    if truth == "uniform":
        return rng.uniform(0.0, 4.0, shape)
    if truth == "exponential":
        return rng.exponential(1.0, shape)
    if truth == "two-point":
        return np.where(rng.random(shape) < 0.2, 0.0, 2.0)
    side = int(designs**0.5)
    first, second = np.divmod(np.arange(side * side), side)
    lowest = np.linspace(0.2, 0.8, objectives) if objectives > 1 else np.array([0.3])
    across = first[:, None] / side - lowest
    along = (second / side - 0.5)[:, None]
    return np.asarray(4.0 * (across**2 + along**2))


class NormalProblem(Problem):
    """Given means with normal noise.

    Args:
        truth: the means, an array of (designs, objectives), or of designs for a single objective.
        noise: standard deviation of a replication, the same for all designs or one for each.
        seed: decides the noise.
        common_share: the share of the noise's variance that all designs have in common.
        objectives: their names and directions.
    """

    def __init__(
        self,
        truth: ArrayLike,
        noise: ArrayLike,
        seed: int = 0,
        common_share: float = 0.0,
        objectives: Objectives | None = None,
    ) -> None:
        means = np.asarray(truth, np.float64)
        self.truth = check_table("truth", means[:, None] if means.ndim == 1 else means, *SHAPE)
        deviations = np.asarray(noise, np.float64)
        if deviations.ndim == 0:
            deviations = np.full(len(self.truth), check_number("noise", noise, 0.0))
        self.noise = check_vector("noise", deviations, len(self.truth), -math.ulp(0.0))
        self.seed = seed
        if not 0.0 <= common_share <= 1.0:
            raise SpecError(f"common_share: {common_share!r} is not allowed: 0 to 1")
        self.common_share = common_share
        self._drawn: dict[int, Floats] = {}
        self.common_random_numbers = common_share > 0.0
        self.size = len(self.truth)
        names = [f"objective_{k + 1}" for k in range(self.truth.shape[1])]
        self.objectives = read_objectives(names if objectives is None else objectives)
        if len(self.objectives) != len(names):
            raise SpecError(
                f"objectives: {len(self.objectives)} are not allowed: {len(names)}, one for each "
                "column of the truth"
            )

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """Truth and noise."""
        blocks, within = np.divmod(replications, DRAWN_TOGETHER)
        used, row = np.unique(blocks, return_inverse=True)
        drawn = np.concatenate([self._block(int(block), designs) for block in used])
        noise = drawn[row * DRAWN_TOGETHER + within].transpose(1, 0, 2)
        return self.truth[designs][:, None, :] + self.noise[designs][:, None, None] * noise

    def _block(self, block: int, designs: Ints) -> Floats:
        """The noise of some replications of some designs, with variance 1."""
        if block in self._drawn:
            return self._drawn[block][:, designs]
        rng = stream(self.seed, f"noise {block}")
        common = rng.standard_normal((DRAWN_TOGETHER, 1, self.truth.shape[1]))
        own = rng.standard_normal((DRAWN_TOGETHER, *self.truth.shape))
        share = self.common_share
        noise = share**0.5 * common + (1.0 - share) ** 0.5 * own
        if (len(self._drawn) + 1) * noise.size <= MOST_MEMOIZED:
            self._drawn[block] = noise
        return np.asarray(noise[:, designs])


class SyntheticProblem(NormalProblem):
    """Two losses whose truth is drawn, with normal noise.

    Args:
        kind: how good designs are spread.
        designs: how many there are.
        noise: standard deviation of a replication.
        seed: decides the truth and the noise.
        common_share: the share of the noise's variance that all designs have in common.
    """

    def __init__(
        self, kind: Kind, designs: int, noise: float, seed: int = 0, common_share: float = 0.0
    ) -> None:
        check_choice("kind", kind, GOODNESS)
        check_whole("designs", designs, 2)
        truth = draw_truth(kind, designs, stream(seed, "truth"))
        super().__init__(truth, noise, seed, common_share)

    def good(self, good_layers: int = 1) -> Ints:
        """The designs in the first true layers."""
        return np.flatnonzero(layers(self.truth, good_layers) < good_layers)
