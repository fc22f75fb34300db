"""Environments for training: one compiled call does what the loop does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.scenarios.faas.cases import function, scenario

import cloudarena
from cloudarena.learn.clouds import Clouds, cloud_of
from cloudarena.learn.native_clouds import NativeClouds, side_by_side


@pytest.mark.parametrize("same_work", [False, True])
@pytest.mark.parametrize(
    ("name", "reward"),
    [("vm/toy", "profit_usd"), ("vm/toy", "profit_usd=1,failed=2"), ("jobs/toy", None)],
)
def test_both_see_and_earn_the_same(name: str, reward: str | None, same_work: bool) -> None:
    cloud = cloud_of(cloudarena.load(name), reward, None, None)
    native, loop = NativeClouds(cloud, 3, same_work), Clouds(cloud, 3, same_work)
    seen, expected = native.reset(5), loop.reset(5)
    rng = np.random.default_rng(2)
    for _ in range(60):
        for one, other in zip(seen, expected, strict=True):
            assert np.array_equal(one, other)
        choices = (rng.random(3) * seen.count).astype(np.int64)
        seen, rewards, ended = native.step(choices)
        expected, earned, over = loop.step(choices)
        assert np.array_equal(ended, over)
        assert rewards == pytest.approx(earned, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("decides", ["faas-scale", "faas-place"])
def test_decisions_of_the_other_kind_are_the_specs(decides: str) -> None:
    edge = cloudarena.load("faas/edge-energy", {"duration_s": 90})
    cloud = cloud_of(edge, None, decides, 8)
    native, loop = side_by_side(cloud, 2), Clouds(cloud, 2)
    assert isinstance(native, NativeClouds)
    seen, expected = native.reset(5), loop.reset(5)
    rng = np.random.default_rng(2)
    episodes = 0
    for _ in range(30):
        for one, other in zip(seen, expected, strict=True):
            assert np.array_equal(one, other)
        choices = (rng.random(2) * seen.count).astype(np.int64)
        seen, rewards, ended = native.step(choices)
        expected, earned, over = loop.step(choices)
        assert np.array_equal(ended, over)
        episodes += int(ended.sum())
        assert rewards == pytest.approx(earned, rel=1e-9, abs=1e-9)
    assert episodes > 0


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"warmup_s": 47.0, "load_from_s": 0}])
def test_calls_that_never_come_cost_the_same(changes: dict[str, float]) -> None:
    called = function(2.0, image={"cpu_millicores": 1000}, name="g", requests={"source": "none"})
    scaling = {"by": "none", "ask": True, "minimum": 0, "maximum": 3, "start": 1, "interval_s": 2}
    caller = function(1.0, 0.2, calls=["g", "g"], timeout_s=3.5, scaling=scaling)
    made = scenario(caller, called, **changes)
    cloud = cloud_of(made, "energy_j_per_invocation", "faas-scale", 8)
    native, loop = side_by_side(cloud, 2), Clouds(cloud, 2)
    assert isinstance(native, NativeClouds)
    native.reset(5)
    seen = loop.reset(5)
    rng = np.random.default_rng(2)
    for _ in range(120):
        choices = (rng.random(2) * seen.count).astype(np.int64)
        _, rewards, ended = native.step(choices)
        seen, earned, over = loop.step(choices)
        assert np.array_equal(ended, over)
        assert rewards == pytest.approx(earned, rel=1e-9, abs=1e-9)


def test_what_has_no_compiled_step_goes_in_a_loop() -> None:
    toy = cloud_of(cloudarena.load("vm/toy"), None, None, None)
    toy.__dict__["candidates"] = dataclasses.replace(toy.candidates, take=None)
    assert isinstance(side_by_side(toy, 1), Clouds)


def test_another_policy_for_the_other_decisions_goes_in_a_loop() -> None:
    scenario = cloudarena.load("faas/toy", {"policy": "first-fit"})
    faas = cloud_of(scenario, None, "faas-scale", None)
    assert isinstance(side_by_side(faas, 1), Clouds)
