"""The toy of the catalogue against every way to place its four functions."""

from __future__ import annotations

from itertools import product

import cloudarena

from .clusters import play


def test_the_best_of_all_placements_is_as_worked_by_hand() -> None:
    scenario = cloudarena.load("workflow/toy")
    found = {
        nodes: play(scenario, *((node, 128) for node in nodes)).metrics
        for nodes in product((0, 1), repeat=4)
    }
    assert min(one["makespan_sum_s"] for one in found.values()) == 8.5
    assert min(one["weighted_cost"] for one in found.values()) == 0.5 * 8.5 + 0.5 * 2.0
    # A and B on one server, C on the other; D on either.
    best = {nodes for nodes, one in found.items() if one["makespan_sum_s"] == 8.5}
    assert best == {(0, 0, 1, 0), (0, 0, 1, 1), (1, 1, 0, 0), (1, 1, 0, 1)}
    cheap = {nodes: one for nodes, one in found.items() if one["rent_usd"] == 1.0}
    assert set(cheap) == {(0, 0, 0, 0), (1, 1, 1, 1)}
    assert {one["makespan_sum_s"] for one in cheap.values()} == {10.75}
    assert {one["rent_usd"] for one in found.values()} == {1.0, 2.0}


def test_policies_find_the_optimum_or_save_the_second_server() -> None:
    for policy in ("earliest-finish", "weighted", "least-loaded", "heft"):
        metrics = cloudarena.simulate("workflow/toy", policy).metrics
        assert (metrics["makespan_sum_s"], metrics["weighted_cost"]) == (8.5, 5.25), policy
    for policy in ("cheapest", "weighted:rent=3"):
        metrics = cloudarena.simulate("workflow/toy", policy).metrics
        assert (metrics["makespan_sum_s"], metrics["weighted_cost"]) == (10.75, 5.875), policy
