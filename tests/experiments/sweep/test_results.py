"""What a store gives."""

from __future__ import annotations

from pathlib import Path

import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.experiments.sweep.statistics import cells_of, conclusions

from .small import experiment, run_here


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("store")
    run_here(experiment(3), home)
    run_here({"spec": "vm/toy", "replications": 2}, home)
    return cloudarena.open_results(home)


def test_two_experiments_of_two_kinds_in_one_store(results) -> None:
    assert results.kinds == ["clusters", "vm"]
    assert results.arrow().num_rows == len(results) == 14
    assert results.arrow("vm").num_rows == 2
    assert results.settings("clusters") == ["vms"]
    assert results.metrics("vm")[0] == next(iter(cloudarena.load("vm/toy").kind.metric))


def test_arrow_pandas_polars_and_sql_have_the_same_rows(results) -> None:
    pytest.importorskip("polars", reason="the extra analysis is not installed")
    table = results.arrow("clusters")
    assert results.pandas("policy = 'equal'")["seed"].tolist() == [0, 1, 2] * 2
    assert results.polars().height == 14
    found = results.sql("select makespan_s from clusters order by key")
    expected = table.sort_by("key")["makespan_s"]
    assert found["makespan_s"].to_pylist() == expected.to_pylist()
    assert results.arrow(columns=["key", "makespan_s"]).column_names == ["key", "makespan_s"]


def test_a_column_that_no_run_has_is_a_line(results) -> None:
    with pytest.raises(CloudarenaError, match="column: 'colour' is not allowed: no run has it"):
        results.arrow(columns=["colour"])


def test_a_page_of_a_store(results, tmp_path: Path) -> None:
    text = results.to_html(tmp_path / "page.html").read_text()
    for words in ("Cells of clusters", "Cells of vm", "What matters", "experiment-1.json"):
        assert words in text
    assert results.to_html(tmp_path / "again.html").read_text() == text


POLICY = """
from cloudarena.scenarios.clusters.policies.shares import Equal

def mine(decision):
    return Equal()(decision) {what}
"""


def test_runs_of_a_policy_that_has_changed_are_outdated_until_it_is_back(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="the extra analysis is not installed")
    file, home = tmp_path / "mine.py", tmp_path / "s"
    source = experiment(3, policies=["equal", f"{file}:mine"])
    file.write_text(POLICY.format(what=""))
    assert run_here(source, home).ran == 12
    before = cloudarena.open_results(home)
    keys = set(before.arrow()["key"].to_pylist())

    file.write_text(POLICY.format(what="# as before"))
    outcome = run_here(source, home)
    assert (outcome.found, outcome.ran) == (6, 6)
    found = cloudarena.open_results(home)
    assert found.counts == {"done": 12, "failed": 0, "outdated": 6}
    own = found.arrow(where="policy like '%mine'")
    assert own.num_rows == found.arrow().num_rows - 6 == 6
    assert not keys & set(own["key"].to_pylist())
    assert found.arrow(columns=["seed"]).num_rows == len(found.pandas()) == 12
    assert found.sql("select count(*) n from outdated")["n"].to_pylist() == [6]
    assert [len(cell.seeds) for cell in cells_of(found, "clusters")] == [3, 3, 3, 3]
    assert conclusions(found) == conclusions(before)

    file.write_text(POLICY.format(what="+ 'a word'"))
    assert run_here(source, home).failed == 6
    assert len(cloudarena.open_results(home).failures()) == 6
    file.write_text(POLICY.format(what=""))
    assert run_here(source, home).ran == 0
    again = cloudarena.open_results(home)
    assert set(again.arrow()["key"].to_pylist()) == keys
    assert again.counts == {"done": 12, "failed": 0, "outdated": 6}
    again.compact()
    assert cloudarena.open_results(home).arrow().num_rows == 12


def test_a_kind_of_which_all_is_outdated_has_no_cells(tmp_path: Path) -> None:
    file, home = tmp_path / "mine.py", tmp_path / "s"
    file.write_text(POLICY.format(what=""))
    source = experiment(2, policies=[f"{file}:mine"])
    run_here(source, home)
    file.write_text("def mine(decision):\n    raise ValueError\n")
    assert run_here(source, home).failed == 4
    found = cloudarena.open_results(home)
    assert (cells_of(found, "clusters"), conclusions(found)) == ([], [])
    assert found.to_html(tmp_path / "page.html").exists()


def test_a_million_draws_are_planned_without_being_made() -> None:
    from cloudarena.experiments.sweep.plan import make_plan

    levels = {
        "vms": {"from": 1, "to": 1000, "step": 1},
        "stage_s": {"from": 1, "to": 9, "steps": 1000},
    }
    plan = make_plan(experiment(10, set=levels))
    assert plan.runs == 20_000_000
    assert plan.cell(1_999_999).text == "proportional vms=1000 stage_s=9.0"
