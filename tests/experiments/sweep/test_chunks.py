"""Runs in chunks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.experiments.sweep.chunks import MOST, Chunker
from cloudarena.experiments.sweep.dispatch import Progress
from cloudarena.experiments.sweep.plan import Run

RUNS = [Run(f"{k}", k, k // 40) for k in range(400)]


@settings(max_examples=25)
@given(st.lists(st.floats(1e-7, 30.0), max_size=60), st.integers(1, 16), st.data())
def test_every_run_is_taken_once_whatever_the_times(
    times: list[float], slots: int, data: st.DataObject
) -> None:
    chunker = Chunker(RUNS, len(RUNS), slots)
    taken: list[Run] = []
    seconds = iter([*times, *([0.01] * 400)])
    while chunk := chunker.take():
        assert 1 <= len(chunk) <= 2 * MOST
        if len(taken) < 100 and data.draw(st.booleans()):
            chunker.put_back(chunk)
            continue
        chunker.learn(next(seconds) for _ in chunk)
        taken += chunk
    assert taken == RUNS


def test_chunks_grow_to_a_second_and_shrink_when_runs_become_longer() -> None:
    chunker = Chunker((Run(str(k), k, k) for k in range(100_000)), 100_000, 2)
    sizes = []
    for _ in range(8):
        chunk = chunker.take()
        sizes.append(len(chunk))
        chunker.learn([0.002] * len(chunk))
    assert sizes[:5] == [1, 4, 16, 64, 256]
    assert sizes[5:] == [500] * 3
    chunker.learn([0.5] * 200)
    assert len(chunker.take()) == 2


def test_a_chunk_ends_with_the_work_if_that_is_near() -> None:
    chunker = Chunker(RUNS, len(RUNS), 1)
    chunker.learn([0.04] * 30)
    assert len(chunker.take()) == 40  # 25 are a second, but 40 have the same work


def test_the_first_run_of_a_worker_does_not_say_how_long_all_take() -> None:
    """It imports and compiles; and runs that were in the store say nothing either."""
    chunker = Chunker(RUNS, len(RUNS), 2)
    told = []
    for seconds in (9.0, 9.0, 0.01, 0.01, 0.01, 0.01):
        chunker.learn([seconds])
        now = Progress(700, 8_400, 0, chunker.seconds_per_run, 2, chunker.timed)
        told.append(now.seconds_left if now.can_tell else None)
    assert told == [None] * 5 + [7_700 * 0.01 / 2]
