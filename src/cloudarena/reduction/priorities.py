"""Weights of metrics from judgements in pairs: the analytic hierarchy process.

Source: T. L. Saaty, "A scaling method for priorities in hierarchical structures", Journal of
Mathematical Psychology 15(3), 1977; the random indices are those of "The Analytic Hierarchy
Process", 1980.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_positive, check_shape
from cloudarena.base.errors import SpecError

RANDOM_INDEX = (0.0, 0.0, 0.58, 0.90, 1.12, 1.24, 1.32, 1.41, 1.45, 1.49, 1.51, 1.48, 1.56, 1.57,
                1.59)  # fmt: skip
"""The mean index of judgements at random, of 1, 2, ... metrics; the last one for more."""
CONSISTENT = 0.1
"""The ratio up to which judgements count as consistent, by Saaty."""
ROUNDING = 0.01
"""How far a judgement and its opposite may be from reciprocal, since people write 0.33."""


class Priorities(NamedTuple):
    """Weights from judgements in pairs, and how far these agree with each other."""

    weights: Floats
    """They add up to 1."""
    consistency_ratio: float
    """0 where judgements agree, about 1 where they were drawn at random."""


def priorities(judgements: ArrayLike) -> Priorities:
    """The weights that judgements in pairs mean: the principal eigenvector of their matrix.

    ``judgements[i, j]`` says how many times as important i is as j; ``judgements[j, i]`` is its
    reciprocal.
    """
    matrix = np.atleast_2d(check_positive("judgements", judgements))
    size = len(matrix)
    check_shape("judgements", matrix, (size, size), "as many rows as columns")
    product = matrix * matrix.T
    if (abs(product - 1.0) > ROUNDING * 2.0).any():
        row, column = np.unravel_index(int(np.argmax(abs(product - 1.0))), product.shape)
        raise SpecError(
            f"judgements[{row}, {column}]: {matrix[row, column]:g} is not allowed: the reciprocal "
            f"of judgements[{column}, {row}], {1.0 / matrix[column, row]:g}"
        )
    values, vectors = np.linalg.eig(matrix)
    principal = int(np.argmax(values.real))
    weights = np.abs(vectors[:, principal].real)
    weights /= weights.sum()
    random = RANDOM_INDEX[min(size, len(RANDOM_INDEX)) - 1]
    excess = max(0.0, float(values[principal].real) - size)
    return Priorities(weights, excess / ((size - 1) * random) if random else 0.0)
