"""The score of candidates: a linear function or a small network, compiled.

A decision is a matrix of features, a row for each candidate, and a context that all share. The
score of candidate i is ``f([x_i, c])``, with f linear or a network with one or two hidden layers.

All is computed in float32 and each sum has one order: the bias, then the context, then the
features, from first to last. Compiled code adds in that order, SIMD or not, since Numba does not
reorder sums; so does ``cloudarena.learn.network.ordered_scores``, written in NumPy. Both give the
same bits, and thus the same choice. For that, tanh is a quotient of two polynomials here: that of
the C library and that of NumPy differ in the last bit.

A network is one array of floats, as kernels hand parameters on: ``HEADER`` numbers that say its
shape, then for each layer its weights, row by row (a row for each input), and its biases.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit, jit_formula, jit_inline_entry, jit_uncounted

Array = NDArray[np.float32]

HEADER = 7
"""Most candidates, features, context, activation, hidden layers, and the sizes of two of them."""
LINEAR, TANH, RELU = 0, 1, 2
ACTIVATIONS = ("linear", "tanh", "relu")
MOST_HIDDEN = 1024
"""The most units of a hidden layer."""
MOST_LAYERS = 2
LARGEST_WEIGHT = 1e6
"""The largest weight: with features of at most 1,000 no score overflows."""

BOUND = np.float32(7.90531110763549805)
"""Beyond it, tanh is 1 in float32."""
A1, A3, A5, A7, A9, A11, A13 = (
    np.float32(value)
    for value in (
        *(4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05),
        *(5.12229709037114e-08, -8.60467152213735e-11, 2.00018790482477e-13),
        -2.76076847742355e-16,
    )
)
B0, B2, B4, B6 = (
    np.float32(value)
    for value in (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839e-06)
)
ZERO, ONE = np.float32(0.0), np.float32(1.0)


class Shape(NamedTuple):
    """What a network is made of."""

    features: int
    """The features of each candidate."""
    context: int
    """The features of the decision."""
    hidden: tuple[int, ...] = ()
    """Units of each hidden layer; none makes the score linear."""
    activation: str = "tanh"

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of each layer; the inputs of the first are features, then context."""
        widths = (self.features + self.context, *self.hidden, 1)
        return tuple(pairwise(widths))

    @property
    def size(self) -> int:
        """How many weights and biases there are."""
        return sum(rows * columns + columns for rows, columns in self.layers)

    @property
    def code(self) -> int:
        """The number of the activation."""
        return ACTIVATIONS.index(self.activation) if self.hidden else LINEAR

    def packed(self, most: int, weights: Array) -> NDArray[np.float64]:
        """The network as kernels hand it to a policy: read-only."""
        sizes = (*self.hidden, 0, 0)[:MOST_LAYERS]
        header = (most, self.features, self.context, self.code, len(self.hidden), *sizes)
        values = np.concatenate((np.array(header, np.float64), weights.astype(np.float64)))
        values.flags.writeable = False
        return values


@jit_formula
def tanh32(x):  # type: ignore[no-untyped-def]
    """The hyperbolic tangent in float32, within 4e-7."""
    x = x if x < BOUND else BOUND
    x = x if x > -BOUND else -BOUND
    y = x * x
    above = ((((((A13 * y + A11) * y + A9) * y + A7) * y + A5) * y + A3) * y + A1) * x
    below = ((B6 * y + B4) * y + B2) * y + B0
    return above / below


@jit_inline_entry
def activate(values, activation):  # type: ignore[no-untyped-def]
    """Applies the activation to a row."""
    if activation == TANH:
        for j in range(len(values)):
            values[j] = tanh32(values[j])
    else:
        for j in range(len(values)):
            values[j] = values[j] if values[j] > ZERO else ZERO


@jit_inline_entry
def add_rows(sums, factors, rows):  # type: ignore[no-untyped-def]
    """Adds a multiple of each row, from first to last.

    Four at a time are added in the same order as one by one, but sums are stored less often.
    """
    count, width = len(factors), len(sums)
    k = 0
    while k + 4 <= count:
        a, b, c, d = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        first, second, third, fourth = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        for j in range(width):
            sums[j] = (((sums[j] + a * first[j]) + b * second[j]) + c * third[j]) + d * fourth[j]
        k += 4
    while k < count:
        a, first = factors[k], rows[k]
        for j in range(width):
            sums[j] += a * first[j]
        k += 1


@jit_inline_entry
def along(values, weights):  # type: ignore[no-untyped-def]
    """The last weight, which is the bias, and each value times its weight, in their order."""
    total = weights[len(values)]
    for j in range(len(values)):
        total += values[j] * weights[j]
    return total


@jit_inline_entry
def score(weights, activation, first_size, second_size, features, context, count, rows, scores):  # type: ignore[no-untyped-def]
    """Writes the scores of the first ``count`` candidates of a decision.

    ``rows`` are three scratch rows: what the context gives, and the hidden layers.
    """
    inputs, shared = features.shape[1], context.shape[0]
    if first_size == 0:
        base = weights[inputs + shared]
        for c in range(shared):
            base += context[c] * weights[inputs + c]
        for i in range(count):
            total = base
            for f in range(inputs):
                total += features[i, f] * weights[f]
            scores[i] = total
        return
    # Whole rows of weights, not places in one array: only then is the inner loop SIMD.
    at = (inputs + shared) * first_size
    matrix = weights[:at].reshape((inputs + shared, first_size))
    bias, at = weights[at : at + first_size], at + first_size
    end = at + first_size * second_size
    deep = weights[at:end].reshape((first_size, second_size))
    deep_bias = weights[end : end + second_size]
    out = weights[end + second_size :]
    start, first, second = rows[0, :first_size], rows[1, :first_size], rows[2, :second_size]
    for j in range(first_size):
        start[j] = bias[j]
    add_rows(start, context, matrix[inputs:])
    for i in range(count):
        for j in range(first_size):
            first[j] = start[j]
        add_rows(first, features[i], matrix)
        activate(first, activation)
        if second_size > 0:
            for j in range(second_size):
                second[j] = deep_bias[j]
            add_rows(second, first, deep)
            activate(second, activation)
            scores[i] = along(second, out)
        else:
            scores[i] = along(first, out)


@jit_inline_entry
def best_of(scores, count):  # type: ignore[no-untyped-def]
    """The index of the highest score, the first of equals."""
    best = 0
    for i in range(1, count):
        if scores[i] > scores[best]:
            best = i
    return best


@jit
def choose(p, features, context, count):  # type: ignore[no-untyped-def]
    """The candidate with the highest score by a packed network, the first of equals."""
    weights = p[HEADER:].astype(np.float32)
    first_size, second_size = int(p[5]), int(p[6])
    rows = np.empty((3, max(first_size, second_size, 1)), np.float32)
    scores = np.empty(count, np.float32)
    score(weights, int(p[3]), first_size, second_size, features, context, count, rows, scores)
    return best_of(scores, count)


@jit
def score_all(weights, activation, first_size, second_size, features, context, count):  # type: ignore[no-untyped-def]
    """The scores of the candidates of many decisions; zero behind the last of each."""
    scores = np.zeros(features.shape[:2], np.float32)
    rows = np.empty((3, max(first_size, second_size, 1)), np.float32)
    for n in range(len(count)):
        score(
            weights, activation, first_size, second_size,
            features[n], context[n], count[n], rows, scores[n],
        )  # fmt: skip
    return scores


@jit_uncounted
def best_of_all(scores, count, choices):  # type: ignore[no-untyped-def]
    """Writes the index of the highest score of each decision, the first of equals."""
    for n in range(len(count)):
        choices[n] = best_of(scores[n], count[n])


@jit_uncounted
def add_and_activate(values, base, owner, activation):  # type: ignore[no-untyped-def]
    """Adds the row of its decision to each candidate's row, then applies the activation."""
    width = values.shape[1]
    for i in range(len(owner)):
        row, own = values[i], base[owner[i]]
        for j in range(width):
            row[j] += own[j]
        activate(row, activation)


@jit_uncounted
def through_activation(slope, values, activation):  # type: ignore[no-untyped-def]
    """Turns slopes by what an activation gave, ``values``, into slopes by what it was given."""
    for i in range(len(values)):
        row, own = slope[i], values[i]
        if activation == TANH:
            for j in range(len(own)):
                row[j] *= ONE - own[j] * own[j]
        else:
            for j in range(len(own)):
                row[j] = row[j] if own[j] > ZERO else ZERO


@jit_uncounted
def sum_by_owner(values, owner, sums):  # type: ignore[no-untyped-def]
    """Adds the rows of the candidates of each decision, in their order."""
    for i in range(len(owner)):
        row, own = values[i], sums[owner[i]]
        for j in range(values.shape[1]):
            own[j] += row[j]
