"""Candidate-scoring networks in NumPy, with gradients written by hand.

The score of a candidate is a linear function or a small network of its features and the context
of its decision (``engine.scoring``). To act, scores are computed by compiled code; for gradients,
all real candidates of a batch are the rows of one matrix, so nothing is computed for the rest.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Ints
from cloudarena.engine import scoring
from cloudarena.engine.scoring import RELU, TANH, Shape
from cloudarena.learn.decisions import Decisions

Array = NDArray[Any]
"""An array of float32, or of float64 where gradients are checked."""


class Batch(NamedTuple):
    """Decisions with their real candidates only, one after the other."""

    features: Array
    """Rows of shape (R, F)."""
    context: Array
    """Rows of shape (N, C)."""
    owner: Ints
    """The decision of each candidate, (R,)."""
    begin: Ints
    """The first candidate of each decision, (N,)."""


def batch_of(decisions: Decisions) -> Batch:
    """The real candidates of some decisions."""
    count = decisions.count
    real = np.arange(decisions.features.shape[1]) < count[:, None]
    owner = np.repeat(np.arange(len(count)), count)
    return Batch(decisions.features[real], decisions.context, owner, np.cumsum(count) - count)


def batch_of_means(decisions: Decisions) -> Batch:
    """Each decision as one candidate, the mean of its candidates: what a value net reads."""
    n = np.arange(len(decisions.count))
    means = decisions.features.sum(axis=1) / decisions.count[:, None].astype(np.float32)
    return Batch(means, decisions.context, n, n)


@dataclass(frozen=True)
class Forward:
    """What a pass over a batch computed, kept for the way back."""

    batch: Batch
    layers: tuple[Array, ...]
    """What each hidden layer gave, (R, units)."""
    scores: Array
    """One for each candidate, (R,)."""


class Network:
    """A score of candidates, with all its weights in one array."""

    def __init__(self, shape: Shape, weights: Array) -> None:
        self.shape, self.weights = shape, weights
        self.layers = unflatten(shape, weights)

    @classmethod
    def drawn(cls, shape: Shape, rng: np.random.Generator, last: float = 0.01) -> Network:
        """A network with random weights: small ones in the last layer, so that it is undecided."""
        weights = np.zeros(shape.size, np.float32)
        network = cls(shape, weights)
        for place, (matrix, _) in enumerate(network.layers):
            is_last = place == len(network.layers) - 1
            gain = last if is_last else (2.0 if shape.code == RELU else 1.0) ** 0.5
            matrix[:] = rng.standard_normal(matrix.shape) * gain / np.sqrt(max(1, len(matrix)))
        return network

    def scores(self, decisions: Decisions) -> NDArray[np.float32]:
        """The scores of all candidates, (N, K); zero behind the last: by compiled code."""
        sizes = (*self.shape.hidden, 0, 0)[:2]
        features, context = (np.ascontiguousarray(part) for part in decisions[:2])
        scores: NDArray[np.float32] = scoring.score_all(
            self.weights, self.shape.code, *sizes, features, context, decisions.count
        )
        return scores

    def best(self, decisions: Decisions) -> Ints:
        """The candidates with the highest score, the first of equals."""
        choices = np.empty(len(decisions.count), np.int64)
        scoring.best_of_all(self.scores(decisions), decisions.count, choices)
        return choices

    def forward(self, batch: Batch) -> Forward:
        """The scores of the rows of a batch, and what the gradient needs."""
        count = self.shape.features
        (matrix, bias), *others = self.layers
        base = batch.context @ matrix[count:] + bias
        rows = batch.features @ matrix[:count]
        kept = []
        for matrix, bias in others:
            self._activate(rows, base, batch.owner)
            kept.append(rows)
            rows, base = rows @ matrix, np.broadcast_to(bias, (len(batch.context), len(bias)))
        return Forward(batch, tuple(kept), rows[:, 0] + base[batch.owner, 0])

    def backward(self, done: Forward, slope: Array) -> Array:
        """The gradient by all weights of something whose slope by each score is given."""
        batch, count = done.batch, self.shape.features
        gradient = np.zeros_like(self.weights)
        parts = unflatten(self.shape, gradient)
        rows, ones = slope[:, None], np.ones_like(slope)
        for place in range(len(done.layers), 0, -1):
            values = done.layers[place - 1]
            parts[place][0][:] = values.T @ rows
            parts[place][1][:] = ones @ rows
            rows = rows @ self.layers[place][0].T
            scoring.through_activation(rows, values, self.shape.code)
        sums = np.zeros((len(batch.context), rows.shape[1]), rows.dtype)
        scoring.sum_by_owner(rows, batch.owner, sums)
        matrix, bias = parts[0]
        matrix[:count] = batch.features.T @ rows
        matrix[count:] = batch.context.T @ sums
        bias[:] = sums.sum(axis=0)
        return gradient

    def _activate(self, rows: Array, base: Array, owner: Ints) -> None:
        if rows.dtype == np.float32:
            scoring.add_and_activate(rows, np.ascontiguousarray(base), owner, self.shape.code)
        else:
            rows += base[owner]
            rows[:] = np.tanh(rows) if self.shape.code == TANH else np.maximum(rows, 0.0)


def unflatten(shape: Shape, weights: Array) -> list[tuple[Array, Array]]:
    """The weights, (inputs, outputs), and biases of each layer, as views of the flat array."""
    parts, at = [], 0
    for rows, columns in shape.layers:
        matrix = weights[at : at + rows * columns].reshape(rows, columns)
        at += rows * columns
        parts.append((matrix, weights[at : at + columns]))
        at += columns
    return parts


def flatten(layers: list[tuple[Array, Array]]) -> Array:
    """The flat array of layers."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def ordered_scores(shape: Shape, weights: Array, features: Array, context: Array) -> Array:
    """The scores of candidates (K, F) with a context (C,), summed in the order of the kernels.

    It is what ``engine.scoring.score`` computes, bit by bit, in plain NumPy.
    """
    (matrix, bias), *others = unflatten(shape, weights)
    start = bias.copy()
    for c, x in enumerate(context):
        start = start + x * matrix[shape.features + c]
    rows = np.repeat(start[None, :], len(features), axis=0)
    for f in range(shape.features):
        rows = rows + features[:, f : f + 1] * matrix[f]
    for matrix, bias in others:
        values = ordered_tanh(rows) if shape.code == TANH else np.maximum(rows, np.float32(0))
        rows = np.repeat(bias[None, :], len(features), axis=0)
        for k in range(len(matrix)):
            rows = rows + values[:, k : k + 1] * matrix[k]
    return rows[:, 0]


def ordered_tanh(x: Array) -> Array:
    """``engine.scoring.tanh32`` for arrays, bit by bit."""
    s = scoring
    x = np.maximum(np.minimum(x, s.BOUND), -s.BOUND)
    y = x * x
    above: Array = np.full_like(y, s.A13)
    for factor in (s.A11, s.A9, s.A7, s.A5, s.A3, s.A1):
        above = above * y + factor
    return above * x / (((s.B6 * y + s.B4) * y + s.B2) * y + s.B0)


class Adam:
    """Adam (Kingma and Ba, 2015), with gradients cut to a length."""

    def __init__(self, size: int, rate: float, longest: float = 0.5) -> None:
        self.rate, self.longest = rate, longest
        self.first = np.zeros(size, np.float32)
        self.second = np.zeros(size, np.float32)
        self.steps = 0

    def step(self, weights: Array, gradient: Array, part: float = 1.0) -> None:
        """Moves the weights against the gradient; ``part`` of the rate is used."""
        length = float(np.sqrt(np.sum(gradient.astype(np.float64) ** 2)))
        if length > self.longest:
            gradient = gradient * np.float32(self.longest / length)
        self.steps += 1
        self.first += np.float32(0.1) * (gradient - self.first)
        self.second += np.float32(0.001) * (gradient * gradient - self.second)
        scale = self.rate * part * np.sqrt(1.0 - 0.999**self.steps) / (1.0 - 0.9**self.steps)
        weights -= np.float32(scale) * self.first / (np.sqrt(self.second) + np.float32(1e-8))

    def state(self) -> dict[str, Array]:
        """What a checkpoint keeps."""
        return {"first": self.first, "second": self.second, "steps": np.array(self.steps)}

    def restore(self, state: dict[str, Array]) -> None:
        """Goes on from a checkpoint."""
        self.first, self.second = state["first"].copy(), state["second"].copy()
        self.steps = int(state["steps"])


def log_softmax(scores: Array, batch: Batch) -> tuple[Array, Array]:
    """The logarithms of the probabilities of candidates, and the entropy of each decision."""
    highest = np.maximum.reduceat(scores, batch.begin)
    shifted = scores - highest[batch.owner]
    logs = shifted - np.log(np.add.reduceat(np.exp(shifted), batch.begin))[batch.owner]
    return logs, -np.add.reduceat(np.exp(logs) * logs, batch.begin)


def entropy_slope(logs: Array, entropy: Array, batch: Batch) -> Array:
    """The slope of the entropy of its decision by each score: ``-p (log p + entropy)``."""
    return -np.exp(logs) * (logs + entropy[batch.owner])


def sampled(
    scores: NDArray[np.float32], count: Ints, rng: np.random.Generator
) -> tuple[Ints, NDArray[np.float32]]:
    """A candidate of each decision by the softmax of scores (N, K), and the log of its chance.

    The highest of scores with Gumbel noise is such a draw.
    """
    real = np.arange(scores.shape[1]) < count[:, None]
    noise = -np.log(-np.log(rng.random(scores.shape, np.float32) + np.float32(1e-12)) + 1e-12)
    choices = np.where(real, scores + noise, -np.inf).argmax(axis=1)
    shifted = np.where(real, scores - np.where(real, scores, -np.inf).max(axis=1)[:, None], -np.inf)
    chosen = shifted[np.arange(len(count)), choices]
    return choices, (chosen - np.log(np.exp(shifted).sum(axis=1))).astype(np.float32)


BLAS = "numpy._core._multiarray_umath"
"""The module of NumPy that multiplies matrices."""
SETTERS = (
    *("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads"),
    *("openblas_set_num_threads64_", "openblas_set_num_threads", "MKL_Set_Num_Threads"),
)
"""What sets the number of threads, by which NumPy's linear algebra it is."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Lets NumPy multiply matrices in one thread in the block.

    So sums do not depend on the number of cores; and for matrices as small as these more threads
    are slower, ten times so on a busy machine.
    """
    try:
        library = ctypes.CDLL(importlib.import_module(BLAS).__file__)
    except (OSError, ImportError):
        yield
        return
    for setter in SETTERS:
        if hasattr(library, setter):
            getter = setter.replace("_set_", "_get_").replace("Set_Num", "Get_Max")
            before = getattr(library, getter)() if hasattr(library, getter) else 1
            getattr(library, setter)(1)
            try:
                yield
            finally:
                getattr(library, setter)(before)
            return
    yield
