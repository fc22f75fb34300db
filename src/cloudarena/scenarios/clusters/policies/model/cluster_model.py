"""The closed-form model of VM clusters: shares of VMs over classes of tasks, two objectives.

Class c has ``tasks[c]`` tasks. In a replication a task of it takes ``p[c]`` seconds on one VM and
a VM of it holds ``d[c]`` of memory, both gamma with given mean and coefficient of variation. With
``theta[c]`` VMs for class c (``cloudarena.scenarios.clusters.policies.model.compositions``)

    makespan = max over c of tasks[c] * p[c] / theta[c]
    memory   = sum over c of d[c] * theta[c]

After chapters 4 and 5 of Zhang's thesis on elastic clouds (Tsinghua, 2011). Its equation 4.5
counts the VMs of a class twice, ``d * theta^2``, and its algorithm 5.1 takes the makespan of the
averaged times; both are options here, not the default.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_number, check_table, check_vector
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.base.statistics import front_of
from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.streams import stream
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.problem import Objective, Problem
from cloudarena.optimizers.spaces.encoding import Encoding
from cloudarena.scenarios.clusters.policies.model.compositions import ShareSpace

Estimator = Literal["mean_of_max", "plug_in"]
Memory = Literal["linear", "theta_squared"]

LIGO_TASKS = (3576.0, 2755.0, 5114.0, 1026.0, 4962.0, 792.0, 226.0)
"""Tasks of the seven classes of a LIGO workload: table 4.2 of the thesis."""
EXAMPLE_SECONDS = (2.1, 3.4, 1.2, 5.0, 1.6, 4.2, 7.5)
"""Mean task times that go with them; the thesis gives none, so these are ours."""
EXAMPLE_MEMORY = (80.0, 150.0, 60.0, 220.0, 120.0, 300.0, 180.0)
"""Mean memory of a VM of each class in MB; ours as well."""

BLOCK = 64
"""Designs that are computed side by side: they fill the vector units and stay in the cache."""


class ClusterModel(Problem):
    """Makespan in seconds and memory in MB of shares of VMs.

    Args:
        shares: the space of shares, or some shares, a row each; of several virtual clusters
            ``JointCompositions`` is the space, and the makespan the longest of theirs.
        tasks: how many tasks each class has.
        seconds: the mean time of a task of each class on one VM.
        memory: the mean memory of a VM of each class in MB.
        variation: the coefficient of variation of both; 0 makes the model deterministic.
        seed: decides all random numbers.
        common_random_numbers: whether all shares see the same times in a replication.
        estimator: ``mean_of_max`` estimates the mean makespan; ``plug_in`` the makespan of mean
            times, which is smaller (Jensen).
        memory_of: ``linear``, or ``theta_squared`` as equation 4.5 has it.
    """

    objectives = (Objective("makespan_s"), Objective("memory_mb"))
    drawn_together = 16
    """Replications whose random numbers come from one stream."""

    how_to_sample = (
        "in a study, shares: {vms: 64, sample: {hops: 1, uniform: 1000}}; on the command line, "
        "--set sample.hops=1 --set sample.uniform=1000"
    )

    def __init__(
        self,
        shares: ShareSpace | ArrayLike,
        tasks: ArrayLike = LIGO_TASKS,
        seconds: ArrayLike = EXAMPLE_SECONDS,
        memory: ArrayLike = EXAMPLE_MEMORY,
        variation: float = 0.3,
        seed: int = 0,
        common_random_numbers: bool = True,
        estimator: Estimator = "mean_of_max",
        memory_of: Memory = "linear",
    ) -> None:
        check_choice("estimator", estimator, ("mean_of_max", "plug_in"))
        check_choice("memory_of", memory_of, ("linear", "theta_squared"))
        self.tasks = check_vector("tasks", tasks, None, 0.0)
        classes = len(self.tasks)
        self.seconds = check_vector("seconds", seconds, classes, 0.0)
        self.memory = check_vector("memory", memory, classes, 0.0)
        with np.errstate(over="ignore"):
            self.load = self.tasks * self.seconds  # of each class on one VM, in seconds
        if not np.isfinite(self.load).all():
            raise SpecError("tasks, seconds: are too large: their product is not finite")
        self.variation = check_number("variation", variation, 0.0)
        self.space, self.shares = _space_or_rows(shares, classes)
        self.size = len(self.space) if self.space is not None else len(self.shares)
        self.seed = seed
        self.common_random_numbers = common_random_numbers
        self.estimator = estimator
        self.memory_of = memory_of
        self._drawn: dict[int, Floats] = {}

    def design(self, index: int) -> Any:
        """The share: how many VMs each class has."""
        return tuple(self.theta(np.array([index]))[0].tolist())

    def theta(self, designs: Ints) -> Ints:
        """The shares of some designs, a row each."""
        return self.shares[designs] if self.space is None else self.space.unrank(designs)

    @property
    def encoding(self) -> Encoding:
        """The encoding of the space, if the problem is a whole space."""
        return super().encoding if self.space is None else self.space.encoding

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """Makespan and memory of each share in each replication."""
        theta = self.theta(designs).astype(np.float64)
        if self.common_random_numbers:
            work, memory = self._draws(replications)
            times = work / theta[:, None, :]
            held = weighted(self._weights(theta)[:, None, :], memory)
        else:
            drawn = [self._draws(replications, int(design)) for design in designs]
            times = np.stack([work for work, _ in drawn]) / theta[:, None, :]
            memories = np.stack([memory for _, memory in drawn])
            held = weighted(self._weights(theta)[:, None, :], memories)
        return np.stack((self._makespans(times), held), axis=2)

    def summarise(self, designs: Ints, replications: Ints) -> Moments:
        """Summarises as ``simulate`` would, but compiled where all shares see the same times."""
        if not self.common_random_numbers or self.estimator != "mean_of_max":
            return super().summarise(designs, replications)
        theta = self.theta(designs).astype(np.float64)
        work, memory = self._draws(replications)
        mean = np.empty((len(theta), 2))
        squares = np.empty((len(theta), 2))
        scratch = np.empty((theta.shape[1] + 4, BLOCK))
        _makespan_moments(work, theta, scratch, mean, squares)
        # Memory is linear in the draws: its moments need no loop over replications.
        weights = self._weights(theta)
        deviations = memory - memory.mean(axis=0)
        products = deviations.T @ deviations
        mean[:, 1] = weighted(weights, memory.mean(axis=0))
        by_class = np.stack([weighted(weights, row) for row in products], axis=1)
        squares[:, 1] = np.maximum(weighted(weights, by_class), 0.0)
        return Moments(np.full(len(theta), len(replications)), mean, squares)

    def mean_model(self, designs: Ints) -> Floats:
        """Both objectives if times and memory are always their means."""
        theta = self.theta(designs).astype(np.float64)
        held = weighted(self._weights(theta), self.memory)
        return np.column_stack(((self.load / theta).max(axis=1), held))

    def _makespans(self, times: Floats) -> Floats:
        if self.estimator == "mean_of_max":
            return np.asarray(times.max(axis=2))
        # The class that is the longest on average, in every replication: the mean over these is
        # the makespan of mean times, and their spread is its sampling error.
        longest = times.mean(axis=1).argmax(axis=1)
        return np.take_along_axis(times, longest[:, None, None], axis=2)[:, :, 0]

    def _weights(self, theta: Floats) -> Floats:
        return theta if self.memory_of == "linear" else theta * theta

    def _draws(self, replications: Ints, design: int | None = None) -> tuple[Floats, Floats]:
        """The work of each class on one VM and the memory of a VM, rows of replications."""
        blocks, within = np.divmod(replications, self.drawn_together)
        used, row = np.unique(blocks, return_inverse=True)
        drawn = np.concatenate([self._block(int(block), design) for block in used])
        factors = drawn[row * self.drawn_together + within]
        classes = len(self.tasks)
        return factors[:, :classes] * self.load, factors[:, classes:] * self.memory

    def _block(self, block: int, design: int | None) -> Floats:
        """The random factors of some replications, with mean 1."""
        if design is None and block in self._drawn:
            return self._drawn[block]
        whose = "" if design is None else f" of share {design}"
        factors = self.draw_factors(stream(self.seed, f"cluster replications {block}{whose}"))
        if design is None:
            self._drawn[block] = factors
        return factors

    def draw_factors(self, rng: np.random.Generator) -> Floats:
        """``drawn_together`` rows of factors: of the classes' times, then of their memory."""
        shape = (self.drawn_together, 2 * len(self.tasks))
        if self.variation == 0.0:
            return np.ones(shape)
        square = self.variation**2
        return rng.gamma(1.0 / square, square, shape)


def merge_fronts(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Ints]:
    """The front of two clusters that run side by side, from the fronts of each.

    The makespan of both is the longer one and the memory the sum, so a share of both can only be
    on the front if its parts are: nobody need try all pairs of shares.

    Args:
        first: makespan and memory on the front of the first cluster, a row each.
        second: of the second cluster.

    Returns:
        Makespan and memory on the front of both, and for each row its rows in the two fronts.
    """
    one = check_table("first", first, "shares", "objectives")
    other = check_table("second", second, "shares", "objectives")
    rows = np.indices((len(one), len(other))).reshape(2, -1).T
    makespan = np.maximum(one[rows[:, 0], 0], other[rows[:, 1], 0])
    both = np.column_stack((makespan, one[rows[:, 0], 1] + other[rows[:, 1], 1]))
    front = front_of(both)
    return both[front], rows[front]


def weighted(weights: Floats, values: Floats) -> Floats:
    """Sums over classes, which come last, in their order.

    A matrix product would be as quick, but rounds a row in another way beside other rows.
    """
    total = weights[..., 0] * values[..., 0]
    for c in range(1, weights.shape[-1]):
        total = total + weights[..., c] * values[..., c]
    return np.asarray(total)


def _space_or_rows(shares: ShareSpace | ArrayLike, classes: int) -> tuple[ShareSpace | None, Ints]:
    if isinstance(shares, ShareSpace):
        if shares.classes != classes:
            raise SpecError(f"shares: of {shares.classes} classes: the tasks have {classes}")
        return shares, np.empty((0, classes), np.int64)
    rows = np.ascontiguousarray(shares, np.int64)
    if rows.ndim != 2 or rows.shape[1] != classes or not len(rows) or rows.min() < 1:
        raise SpecError(f"shares: is not allowed: rows of {classes} whole numbers, at least 1 each")
    return None, rows


@jit_uncounted
def _makespan_moments(
    work: Floats, theta: Floats, scratch: Floats, mean: Floats, squares: Floats
) -> None:
    """Mean and squared deviations of ``max_c work[r, c] / theta[c]`` into column 0.

    The innermost loops run over designs, so they vectorise and yet add up the replications of a
    design in their order: the result does not depend on the designs beside it. Deviations are
    taken from the first replication, which keeps the squares exact enough.
    """
    replications, classes = work.shape
    longest, first, total, total_squares = (
        scratch[classes],
        scratch[classes + 1],
        scratch[classes + 2],
        scratch[classes + 3],
    )
    for start in range(0, len(theta), BLOCK):
        width = min(BLOCK, len(theta) - start)
        for design in range(BLOCK):
            for c in range(classes):
                scratch[c, design] = 1.0 / theta[start + min(design, width - 1), c]
            total[design] = 0.0
            total_squares[design] = 0.0
        for replication in range(replications):
            for design in range(BLOCK):
                longest[design] = work[replication, 0] * scratch[0, design]
            for c in range(1, classes):
                seconds = work[replication, c]
                for design in range(BLOCK):
                    time = seconds * scratch[c, design]
                    longest[design] = time if time > longest[design] else longest[design]
            if replication == 0:
                for design in range(BLOCK):
                    first[design] = longest[design]
            for design in range(BLOCK):
                deviation = longest[design] - first[design]
                total[design] += deviation
                total_squares[design] += deviation * deviation
        for design in range(width):
            shift = total[design] / replications
            mean[start + design, 0] = first[design] + shift
            left = total_squares[design] - shift * total[design]
            squares[start + design, 0] = 0.0 if left < 0.0 else left  # keeps what is not a number
