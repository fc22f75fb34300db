"""Models of GPUs: each has a bit, and who asks for GPUs says by bits which models will do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cloudarena.base.arrays import Ints
from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np

ANY_MODEL = -1
"""All bits: who says no model is content with any."""
MOST_MODELS = 62
"""Models of which each has a bit."""


def models_in(names: Iterable[str]) -> list[str]:
    """The models that machines have, in rising order: the k-th has bit k."""
    return sorted(set(names))


def bits_of(words: Iterable[str], models: Sequence[str]) -> Ints:
    """The bits of models that stand with | between them; models that no machine has have none."""
    if len(models) > MOST_MODELS:
        raise SpecError(
            f"machines: {len(models)} models of GPUs are not allowed: at most {MOST_MODELS}"
        )
    bits = {name: 1 << k for k, name in enumerate(models)}
    return np.array(
        [
            sum(bits.get(name, 0) for name in set(word.split("|"))) if word else ANY_MODEL
            for word in words
        ],
        np.int64,
    )
