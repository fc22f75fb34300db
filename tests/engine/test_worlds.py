"""States side by side: what is put back is what was there, and goes on as it would have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import cloudarena
from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.worlds import ALIGNMENT, Snapshot, Worlds, type_of, world_at


class Inside(NamedTuple):
    heights: np.ndarray
    count: int


class Outside(NamedTuple):
    inside: Inside
    flags: np.ndarray
    constants: np.ndarray
    rate: float
    nothing: np.ndarray


def a_state(length: int, rate: float = 2.5) -> Outside:
    constants = np.arange(3.0)
    constants.flags.writeable = False
    heights = np.arange(length * 2.0).reshape(length, 2)
    return Outside(Inside(heights, length), np.ones(5, bool), constants, rate, np.zeros(0))


@jit_uncounted
def grow(layout, rows, sums):
    for run in range(len(rows)):
        world = world_at(layout, rows[run].ctypes.data)
        world.inside.heights[0, 1] += world.rate * world.inside.count
        sums[run] = world.inside.heights.sum() + world.constants.sum() + world.flags.sum()


def test_each_run_has_its_own_arrays_and_numbers() -> None:
    worlds = Worlds(3, Snapshot(a_state(2)))
    for run, state in enumerate((a_state(2), a_state(7, 1.0), a_state(3))):
        worlds.put(run, Snapshot(state))
    sums = np.zeros(3)
    grow(worlds.layout, worlds.rows, sums)
    grow(worlds.layout, worlds.rows, sums)
    for run, state in enumerate((a_state(2), a_state(7, 1.0), a_state(3))):
        added = 2 * state.rate * state.inside.count
        assert sums[run] == state.inside.heights.sum() + added + 3.0 + 5
        assert worlds[run].inside.heights[0, 1] == 1.0 + added
        assert worlds[run].inside.count == state.inside.count


def test_what_is_put_back_is_what_was_there() -> None:
    state = a_state(4)
    snapshot = Snapshot(state)
    worlds = Worlds(2, snapshot)
    worlds.put(0, snapshot)
    worlds.put(1, snapshot)
    grow(worlds.layout, worlds.rows, np.zeros(2))
    assert worlds[0].inside.heights[0, 1] == 11.0
    worlds.put(0, snapshot)
    assert np.array_equal(worlds[0].inside.heights, state.inside.heights)
    assert worlds[1].inside.heights[0, 1] == 11.0
    assert np.array_equal(snapshot.world.inside.heights, state.inside.heights)


def test_arrays_that_cannot_be_written_to_are_shared() -> None:
    state = a_state(4)
    snapshot = Snapshot(state)
    assert snapshot.world.constants is state.constants
    assert snapshot.size == 2 * ALIGNMENT


def test_a_run_goes_on_from_a_snapshot_as_it_would_have() -> None:
    scenario = cloudarena.load("vm/toy")
    run = scenario.start(0, record="none")
    assert run.is_deciding
    snapshot = Snapshot(run.world)
    run.play(scenario.kind.policies.resolve("best-fit"))
    other = scenario.start(0, record="none")
    assert other.is_deciding
    worlds = Worlds(1, snapshot)
    worlds.put(0, snapshot)
    other.world = worlds[0]
    other.play(scenario.kind.policies.resolve("best-fit"))
    assert other.metrics() == run.metrics()


def test_the_type_of_a_state_is_asked_for_once_a_shape() -> None:
    assert type_of(a_state(2)) is type_of(a_state(9))
    assert type_of(a_state(2)) is not type_of(a_state(2)._replace(flags=np.ones(5)))
