"""What an experiment is made of, and the keys of its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.contract.source import _load as load_workload_cache
from cloudarena.experiments.sweep.plan import Plan, make_plan
from cloudarena.experiments.sweep.run_key import policy_digest

from .small import SPEC, experiment, run_here


def texts(plan: Plan) -> list[str]:
    return [plan.cell(number).text for number in range(plan.cells)]


def keys(plan: Plan) -> list[str]:
    return [run.key for run in plan.all_runs()]


def test_a_grid_has_all_combinations_and_neighbours_share_a_seed() -> None:
    plan = make_plan(experiment(3))
    assert texts(plan) == ["equal vms=3", "equal vms=4", "proportional vms=3", "proportional vms=4"]
    assert plan.runs == len(set(keys(plan))) == 12
    assert [run.replication for run in plan.all_runs()] == [0] * 4 + [1] * 4 + [2] * 4
    assert [run.cell for run in plan.all_runs(0, 1)] == [0, 2, 1, 3]


def test_work_is_made_once_for_all_policies_under_a_seed(tmp_path: Path) -> None:
    levels = {"workload.vms[0].cores": [1, 2, 3]}
    source = {"spec": "vm/toy", "policies": ["best-fit", "first-fit", "worst-fit"], "set": levels}
    before = load_workload_cache.cache_info().misses
    assert run_here({**source, "replications": 2}, tmp_path / "s").ran == 18
    assert load_workload_cache.cache_info().misses - before == 3 * 2


def test_points_are_a_list_and_may_name_their_policy() -> None:
    source = experiment(1, points=[{"vms": 3}, {"vms": 5, "policy": "equal"}], policies=["equal"])
    del source["set"]
    assert texts(make_plan(source)) == ["equal vms=3", "equal vms=5"]


def test_random_draws_keep_the_rules_and_depend_on_the_seed_alone() -> None:
    def drawn(seed: int) -> list[str]:
        levels = {"vms": {"from": 2, "to": 60, "step": 1}, "stage_s": [5, 6, 7]}
        source = experiment(
            1, set=levels, design="random", sample=20, where=["vms < 40"], seed=seed
        )
        return texts(make_plan(source))

    assert drawn(0) == drawn(0) != drawn(1)
    assert len(set(drawn(0))) == 20
    assert all(int(text.split("vms=")[1].split()[0]) < 40 for text in drawn(0))


def test_one_at_a_time_leaves_the_rest_alone() -> None:
    source = experiment(
        1, policies=["equal"], set={"vms": [3, 5], "stage_s": [5]}, design="one-at-a-time"
    )
    assert texts(make_plan(source)) == ["equal", "equal vms=3", "equal vms=5", "equal stage_s=5"]


def test_cases_are_alternatives_with_a_name(tmp_path: Path) -> None:
    source = experiment(1, cases={"few": {"vms": 2}, "many": {"vms": 9}}, policies=["equal"])
    del source["set"]
    plan = make_plan(source)
    assert [plan.cell(k).columns() for k in range(2)] == [
        {"scenario": "clusters", "case": "few", "policy": "equal"},
        {"scenario": "clusters", "case": "many", "policy": "equal"},
    ]
    assert plan.cell(1).scenario().vms == 9


def test_several_scenarios_each_with_the_policy_of_its_own() -> None:
    plan = make_plan({"spec": ["clusters/toy", "vm/toy"], "replications": 2})
    assert plan.cells == 2
    assert {plan.cell(k).base.kind.name for k in range(2)} == {"clusters", "vm"}


def test_parameters_of_policies_belong_to_their_policy() -> None:
    plan = make_plan(
        {"spec": "tiers/toy", "policies": ["utilisation", "static"],
         "set": {"utilisation.high": [0.8, 0.9]}}
    )  # fmt: skip
    assert texts(plan) == ["utilisation:high=0.8", "utilisation:high=0.9", "static"]
    assert plan.cell(0).columns()["utilisation.high"] == 0.8


POLICY = "def mine(decision):\n    return {0}\n"


def test_a_key_is_of_what_decides_the_outcome(tmp_path: Path) -> None:
    policy = tmp_path / "mine.py"
    policy.write_text(POLICY.format(1))
    source = {"spec": {**SPEC, "description": "one"}, "policies": [f"{policy}:mine"]}

    def key(**changes: Any) -> str:
        return keys(make_plan({**source, **changes}))[0]

    first = key()
    assert key(spec={**SPEC, "description": "another"}) == first
    assert key(description="of the experiment", replications=3) == first
    assert key(seed=1) != first
    assert key(spec={**SPEC, "vms": 5}) != first
    policy.write_text(POLICY.format(2))
    assert key() != first
    policy.write_text(POLICY.format(1))
    moved = tmp_path / "elsewhere.py"
    policy.rename(moved)
    assert key(policies=[f"{moved}:mine"]) == first


def test_a_policy_counts_with_the_files_beside_it_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import parts.deep, os\n" + POLICY.format(1))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "deep.py").write_text("import far\n")
    (tmp_path / "far.py").write_text("import mine\nX = 1\n")
    (tmp_path / "other.py").write_text("X = 1\n")
    words = f"{tmp_path}/mine.py:mine"
    seen = [policy_digest(words)]
    for name in ("other.py", "far.py", "parts/deep.py", "parts/__init__.py"):
        (tmp_path / name).write_text("X = 22\nimport far\n")
        seen.append(policy_digest(words))
    assert seen[1] == seen[0]
    assert len(set(seen)) == 4


def test_a_trace_counts_by_what_is_in_it(tmp_path: Path) -> None:
    def key(folder: str, text: str) -> str:
        home = tmp_path / folder
        home.mkdir()
        (home / "rates.csv").write_text(text)
        (home / "e.yaml").write_text(
            "spec: tiers/toy\nset: {arrivals: [{source: rates, path: rates.csv}]}\n"
        )
        return keys(make_plan(home / "e.yaml"))[0]

    assert key("a", "time,rate\n0,1\n") == key("b", "time,rate\n0,1\n")
    assert key("c", "time,rate\n0,2\n") != key("d", "time,rate\n0,1\n")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"set": {"vms": []}}, "set.vms: an empty list is not allowed: at least one level"),
        ({"set": {"vms": [3, 3]}}, "set.vms: 3 is a duplicate"),
        ({"set": {"vms": {"from": 1, "to": 5}}}, "set.vms: steps: is required"),
        ({"polices": []}, "unknown key 'polices'. Did you mean 'policies'?"),
        ({"design": "random"}, "sample: is required for design: random"),
        ({"design": "sobol", "sample": 12}, "sample: 12 is not allowed: a power of two for sobol"),
        ({"sample": 3}, "sample: is not allowed for design: grid: random or sobol"),
        ({"points": [{"vms": 3}]}, "points: is not allowed together with set"),
        ({"replications": 0}, "replications: 0 is not allowed: at least 1"),
        ({"policies": ["equal", "equal"]}, "policies: 'equal' is not allowed: it is a duplicate"),
        ({"policies": ["equl"]}, "'equl' is not allowed"),
        ({"set": {"vns": [3]}}, "unknown key 'vns'"),
        ({"set": {"greedy.x": [3]}}, "greedy is not among the policies"),
        ({"spec": []}, "spec: an empty list is not allowed"),
        ({"metrics": ["mine"]}, "metrics: 'mine' is not allowed: FILE.py:NAME"),
        ({"scenario": "vm"}, "is a scenario, not an experiment"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_a_line(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CloudarenaError) as error:
        make_plan({**experiment(), **changes}).check()
    assert words in str(error.value)
    assert "\n" not in str(error.value)
