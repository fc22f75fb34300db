"""Room that is made before it is needed, and what runs on the same infrastructure share."""

from __future__ import annotations

import numpy as np

import cloudarena
from cloudarena.scenarios.faas.build.growth import with_request_slots
from cloudarena.scenarios.faas.state import NONE


def free_slots(world) -> list[int]:
    found, following = [], int(world.clock[0]["free_slot"])
    while following != NONE:
        found.append(following)
        following = int(world.slots["next"][following])
    return found


def test_more_slots_are_taken_up_after_those_that_are_free() -> None:
    world = cloudarena.load("faas/toy").start(0).world
    world.clock[0]["free_slot"] = 61  # the others are taken
    more = with_request_slots(world, 66)
    assert free_slots(more) == [61, 62, 63, 64, 65]
    more.clock[0]["free_slot"] = NONE
    assert free_slots(with_request_slots(more, 68)) == [66, 67]


def test_more_slots_from_the_start_on_change_nothing() -> None:
    scenario = cloudarena.load("faas/toy")
    policy = scenario.kind.policies.resolve("spec")
    runs = [scenario.start(3) for _ in range(2)]
    runs[1].widen(512)
    assert [run.room for run in runs] == [64, 512]
    for run in runs:
        run.play(policy)
    assert runs[0].metrics() == runs[1].metrics()


def test_runs_on_the_same_infrastructure_share_routes_that_nobody_can_change() -> None:
    scenario = cloudarena.load(
        "faas/edge-energy", {"duration_s": 90, "topology": {"kind": "city", "seed": 1}}
    )
    routes = [scenario.start(seed).world.paths.routes for seed in (0, 1)]
    assert np.shares_memory(routes[0].links, routes[1].links)
    assert not any(part.flags.writeable for part in routes[0])
