"""What is said of the cells of a store."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.base.names import UNSERVED
from cloudarena.experiments.compare import compare
from cloudarena.experiments.sweep import statistics
from cloudarena.experiments.sweep.plan import make_plan
from cloudarena.experiments.sweep.results import open_results
from cloudarena.experiments.sweep.sensitivity import sensitivities
from cloudarena.experiments.sweep.statistics import (
    CellRows,
    cells_of,
    compare_cells,
    comparison_of,
    conclusions,
    in_pairs,
    metric_of,
    replications_needed,
    settling,
)
from cloudarena.experiments.sweep.until import Until, next_round, read_until

from .small import SPEC, experiment, run_here


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("store")
    run_here(experiment(12), home)
    return home


def test_cells_have_the_numbers_of_a_comparison(store: Path) -> None:
    cells = cells_of(open_results(store), "clusters")
    assert [cell.text for cell in cells] == [
        "equal vms=3",
        "equal vms=4",
        "proportional vms=3",
        "proportional vms=4",
    ]
    expected = compare({**SPEC, "vms": 3}, ["equal", "proportional"], replications=12, workers=1)
    found = comparison_of([cells[0], cells[2]])
    for name, values in expected.values.items():
        np.testing.assert_array_equal(found.values[name], values)
    assert found.conclusion().replace(" vms=3", "") == expected.conclusion()


def test_any_two_cells_or_all(store: Path) -> None:
    found = open_results(store)
    assert compare_cells(found, ["2", "4"]).policies == ("equal vms=4", "proportional vms=4")
    assert len(compare_cells(found).policies) == 4
    for wrong in ("0", "5", "x"):
        with pytest.raises(SpecError, match="a number of a cell, 1 to 4"):
            compare_cells(found, [wrong, "1"])
    (line,) = conclusions(found)
    assert line.startswith("clusters: ")


def test_of_many_cells_nobody_is_first_by_leaving_work_undone(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = cells_of(open_results(store), "clusters")
    lazy = {name: np.zeros_like(row) for name, row in cells[0].values.items()}
    lazy["unserved_share"] = np.ones(12)
    cells[0] = replace(cells[0], policy="lazy", values=lazy)
    monkeypatch.setattr(statistics, "MOST_COMPARED", 3)
    monkeypatch.setattr(statistics, "cells_of", lambda found, kind: cells)
    (line,) = conclusions(open_results(store), "makespan_s")
    assert "4 cells, too many to test each pair; by the mean makespan_s the first is " in line
    assert "lazy" not in line
    assert line.endswith(", 1 that leave more of the work undone left out: compare some of them")


def test_how_many_replications_would_settle_it() -> None:
    rng = np.random.default_rng(0)
    change = rng.normal(0.2, 1.0, 20)
    needed = replications_needed(change, 0.05)
    assert needed is not None
    assert needed > 20
    mean, spread = abs(change.mean()), change.std(ddof=1)

    def tells(count: int) -> bool:
        from scipy.stats import t

        return bool(t.isf(0.025, count - 1) * spread / math.sqrt(count) < mean)

    assert tells(needed)
    assert not tells(needed - 1)
    assert replications_needed(np.zeros(5), 0.05) is None
    assert replications_needed(np.array([1.0]), 0.05) is None


@pytest.mark.parametrize(
    ("lead", "words"),
    [
        (0.05, r"About [1-9]\d* more replications would settle it\."),
        (1e-6, r"Even 10,000 more replications would not settle it\."),
        (0.0, ""),
    ],
)
def test_a_tie_says_how_much_more_would_settle_it(store: Path, lead: float, words: str) -> None:
    cells = cells_of(open_results(store), "clusters")
    comparison = comparison_of([cells[0], cells[2]])
    metric = comparison.scenario.kind.metric[comparison.scenario.kind.headline]
    first = comparison.values[metric.name][0]
    noise = np.random.default_rng(0).normal(0.0, 0.2, len(first)) * (lead > 0)
    rows = np.array([first, first + noise - noise.mean() + lead])
    tie = replace(comparison, values={**comparison.values, metric.name: rows})
    assert len(tie.leaders(metric)) == 2
    assert re.fullmatch(words, settling(tie, metric))


def test_cells_that_differ_in_keys_are_called_cells(tmp_path: Path) -> None:
    run_here(experiment(4, set={"stage_s": [5.9, 6.0]}, policies=["equal"]), tmp_path / "s")
    (words,) = conclusions(open_results(tmp_path / "s"))
    same = "No difference in makespan_s between the cells (all replications gave the same)."
    assert words == f"clusters: {same}"


SPAN = "makespan_s"


def rule(limit: float = 0.0, drops: bool = True, cells: int = 3) -> Until:
    return Until(metric_of("clusters", SPAN), limit, True, drops, (range(cells),))


def draws(
    *means: float, counts: Sequence[int] = (10,) * 60, spread: float = 1.0, **shares: Any
) -> dict[int, CellRows]:
    """Cells with such mean makespans; ``share_0`` is what the first one leaves undone."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0.0, spread, max(counts))
    found = {}
    for cell, mean in enumerate(means):
        own, count = rng.normal(0.0, spread / 10, max(counts)), counts[cell]
        share = np.resize(shares.get(f"share_{cell}", 0.0), max(counts))
        values = {SPAN: (mean + noise + own)[:count], UNSERVED: share[:count]}
        found[cell] = CellRows(
            cell, "clusters", "", "", str(cell), {}, np.arange(count), values, ("",) * count, ()
        )
    return found


def test_cells_that_are_surely_worse_stop_and_so_does_a_winner_alone() -> None:
    assert rule().unsettled(draws(10, 20, 10.01), 1) == {0, 2}
    assert rule().unsettled(draws(10, 20, 30), 1) == set()


def test_narrow_intervals_stop_a_cell() -> None:
    values = draws(100, 100.01, 100.02, spread=0.1)
    assert rule(0.01).unsettled(values, 1) == set()
    assert rule(1e-6).unsettled(values, 1) != set()


def test_with_every_a_cell_that_is_worse_goes_on() -> None:
    assert rule(1e-6, drops=False).unsettled(draws(10, 20, 30), 1) == {0, 1, 2}


def test_a_cell_whose_interval_is_narrow_is_still_a_rival() -> None:
    """Else the only one that is left would pass for the winner, and stop."""
    values = draws(100, 100)
    rng = np.random.default_rng(2)
    values[1].values[SPAN][:] = 99.9 + rng.normal(0.0, 5.0, 10)
    assert rule(0.02, cells=2).unsettled(values, 1) == {1}


def test_who_may_serve_less_is_no_winner_yet() -> None:
    """On average 0.05 % more is left undone, but it may be 0.2 %: it goes on, and others too."""
    assert rule().unsettled(draws(1, 20, 30), 1) == set()
    left = rule().unsettled(draws(1, 20, 30, share_0=[0.0045, -0.0035]), 1)
    assert left == {0, 1}


@pytest.mark.parametrize("count", [3, 50])
def test_who_serves_less_drops_nobody(count: int) -> None:
    means = (1, 20, 20.01, *range(30, 27 + count))
    left = rule(cells=count).unsettled(draws(*means, share_0=[0.9, 0.901, 0.902]), 1)
    assert left == {1, 2}


@pytest.mark.parametrize("seed", range(40))
def test_it_does_not_stop_where_the_comparison_asks_for_more(seed: int) -> None:
    """Close means and close shares: who wins by the rule wins by the comparison of all cells."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(10, 24))
    cells = draws(*(10 + rng.exponential(0.1, 4)), counts=[count] * 4)
    for cell in cells.values():
        cell.values[SPAN][:] += rng.normal(0.0, 0.1, count)
        if rng.random() < 0.5:
            cell.values[UNSERVED][:] = rng.exponential(2e-4, count)
    metric = metric_of("clusters", SPAN)
    comparison = in_pairs(list(cells.values()))
    for look in (1, 2):
        left = rule(cells=4).unsettled(cells, look)
        if not left:
            assert comparison.winner(metric) is not None
        stopped = {str(cell) for cell in set(cells) - left}
        assert not left or stopped <= set(comparison.behind(metric))


def test_cells_that_ran_more_often_are_compared_by_all_that_they_ran() -> None:
    """The third stopped after ten replications; the other two are told apart by forty."""
    cells = draws(10, 10.03, 30, counts=(40, 40, 10))
    metric = metric_of("clusters", SPAN)
    together = in_pairs(list(cells.values()))
    assert together.winner(metric) == "0"
    assert together.pair("1", SPAN).replications == 40
    assert together.pair("2", SPAN).replications == 10
    assert comparison_of(list(cells.values())).winner(metric) is None


def test_a_sequential_sweep_saves_runs_and_is_the_same_again(tmp_path: Path) -> None:
    source = experiment(200, policies=["equal"], set={"vms": [2, 8]})
    first = run_here(source, tmp_path / "a", until="ci(makespan_s) < 50%")
    assert first.saved == 400 - sum(first.replications) > 0
    assert first.ran == sum(first.replications)
    again = run_here(source, tmp_path / "a", until="ci(makespan_s) < 50%")
    assert (again.ran, again.replications) == (0, first.replications)


def test_rounds() -> None:
    counts = [0]
    while counts[-1] < 100:
        counts.append(next_round(counts[-1], 100))
    assert counts == [0, 10, 15, 23, 35, 53, 80, 100]


@pytest.mark.parametrize(
    "text",
    ["profit", "ci(makespan_s)", "ci(makespan_s) < -1", "winner(makespan_s) < 3", "ci() < 1"],
)
def test_rules_that_are_none(text: str) -> None:
    with pytest.raises(SpecError, match=r"--until: .* is not allowed"):
        read_until(text, make_plan(experiment()))


def test_a_rule_of_a_metric_that_there_is_not() -> None:
    with pytest.raises(SpecError, match="metric: 'profit' is not allowed"):
        read_until("ci(profit) < 1%", make_plan(experiment()))


def test_one_at_a_time_is_against_the_spec_as_it_is(tmp_path: Path) -> None:
    source = experiment(
        5, policies=["equal"], set={"vms": [2, 8], "stage_s": [6]}, design="one-at-a-time"
    )
    run_here(source, tmp_path / "s")
    (table,) = sensitivities(open_results(tmp_path / "s"), "makespan_s")
    rows = {(row[0], row[1]): row for row in table.rows}
    assert set(rows) == {("vms", "2"), ("vms", "8"), ("stage_s", "6")}
    assert rows["vms", "2"][3] > 0 > rows["vms", "8"][3]
    assert rows["stage_s", "6"][3] == 0.0  # which is what the spec has


def test_sobol_finds_the_key_that_matters(tmp_path: Path) -> None:
    pytest.importorskip("SALib", reason="the extra analysis is not installed")
    levels = {"vms": {"from": 2, "to": 12, "step": 2}, "classes[0].memory_mb.mean": [10, 10.5]}
    source = experiment(2, policies=["equal"], set=levels, design="sobol", sample=16)
    run_here(source, tmp_path / "s")
    (table,) = sensitivities(open_results(tmp_path / "s"), "makespan_s")
    assert table.method.startswith("Sobol's indices of 64 points")
    assert table.rows[0][0] == "vms"
    assert float(table.rows[0][3]) > 0.8


def test_on_a_grid_the_shares_are_of_the_variance(store: Path) -> None:
    tables = sensitivities(open_results(store), "makespan_s")
    assert [table.rows[0][:2] for table in tables] == [("vms", 1.0), ("vms", 1.0)]


def test_what_was_not_varied_has_no_sensitivity(tmp_path: Path) -> None:
    run_here({"spec": SPEC, "replications": 2}, tmp_path / "s")
    with pytest.raises(CloudarenaError, match="nothing was varied"):
        sensitivities(open_results(tmp_path / "s"))
