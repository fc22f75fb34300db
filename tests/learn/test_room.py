"""An episode that needed more room: the next ones have it from their start on."""

from __future__ import annotations

import numpy as np
import pytest

from cloudarena.learn.vector import CloudVectorEnv
from cloudarena.scenarios.tiers.run import TiersRun


def test_room_is_made_once_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, grow = [], TiersRun.grow

    def counted(run: TiersRun) -> None:
        calls.append(len(run.world.vms))
        grow(run)

    monkeypatch.setattr(TiersRun, "grow", counted)
    vector = CloudVectorEnv(2, "tiers/toy", window={"seeds": 2})
    played, grown = [], []
    for _ in range(2):
        shown, _ = vector.reset(seed=3, options={"start": [0, 1]})
        rng, seen = np.random.default_rng(0), [shown["candidates"]]
        for _ in range(vector.native.run(0).scenario.periods - 1):
            choices = (rng.random(2) * vector.native.counts).astype(np.int64)
            shown, rewards, ended, *_ = vector.step(choices)
            seen += [rewards] if ended.any() else [rewards, shown["candidates"]]
        assert ended.all()
        played.append(seen)
        grown.append(len(calls))
        calls.clear()
    assert grown[0] > 0
    assert grown[1] == 0
    for before, after in zip(*played, strict=True):
        assert np.array_equal(before, after)
