"""Draws among candidates that are equally good."""

from __future__ import annotations

import numpy as np
import pytest

from cloudarena.engine.compiled import jit
from cloudarena.engine.ties import break_tie, random_index


@jit
def drawn(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    indices = np.empty(len(counts), np.int64)
    for k in range(len(counts)):
        indices[k] = random_index(counts[k], rng)
        if k % 7 == 0:
            rng.random()
    return indices


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_compiled_draws_are_those_of_numpy(bits: type[np.random.BitGenerator]) -> None:
    """Counts near 2^32 are where the first draw is rejected most often."""
    few = np.random.default_rng(0).integers(1, 50, 2000)
    many = np.random.default_rng(1).integers(2**31, 2**32, 2000)
    counts = np.where(np.arange(2000) % 3 == 0, many, few)
    compiled, plain = np.random.Generator(bits(5)), np.random.Generator(bits(5))
    expected = []
    for k, count in enumerate(counts.tolist()):
        expected.append(int(plain.integers(0, count)))
        if k % 7 == 0:
            plain.random()
    assert drawn(counts, compiled).tolist() == expected
    assert compiled.random() == plain.random()


def test_one_candidate_takes_no_draw() -> None:
    rng = np.random.default_rng(3)
    assert drawn(np.ones(2, np.int64)[1:], rng).tolist() == [0]
    fresh = np.random.default_rng(3)
    fresh.random()
    assert rng.random() == fresh.random()


def test_each_of_the_equals_has_the_same_chance() -> None:
    rng = np.random.default_rng(1)
    counts = np.zeros(3)
    for _ in range(3000):
        best = 0
        for other in (1, 2):
            best = break_tie(best, other, other + 1, rng)
        counts[best] += 1
    assert np.all(np.abs(counts - 1000) < 4 * np.sqrt(3000 * 2 / 9))
