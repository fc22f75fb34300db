"""A scenario with a space of designs is a problem, and what is chosen among its designs."""

import ast
import json
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import yaml

import cloudarena
from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.catalogue import studies
from cloudarena.contract import Model
from cloudarena.experiments.designs import design_text
from cloudarena.experiments.optimize import optimize
from cloudarena.experiments.scenario_problem import ScenarioProblem
from cloudarena.experiments.study import read_study
from cloudarena.optimizers import FunctionProblem, Objective, Problem
from cloudarena.scenarios import kinds

from .tiny import SCENARIO, STUDY


def problem(workers=1, **options):
    study = read_study(STUDY)
    return ScenarioProblem(
        study.scenario_of, study.space(0), study.objectives(None), 5, workers, **options
    )


def test_a_replication_of_a_design_is_a_run():
    """Replication r has the seed ``seed + r``, for all designs."""
    tried = problem()
    assert isinstance(tried, Problem)
    assert tried.size == 2 * 2 * 2 + 2
    values = tried.evaluate([3, 9], [0, 2])
    scenario = cloudarena.load({**SCENARIO, "boot_s": 30})
    for place, policy in enumerate(("utilisation:high=0.8:low=0.5", "static")):
        for column, seed in enumerate((5, 7)):
            metrics = cloudarena.simulate(scenario, policy, seed).metrics
            wanted = [metrics["response_mean_s"], metrics["cost_usd"]]
            assert values[place, column].tolist() == wanted
    assert design_text(tried.design(3)) == "utilisation:high=0.8:low=0.5 boot_s=30"


def test_designs_see_other_work_only_on_request():
    study = read_study({"spec": SCENARIO, "designs": {"policy": ["static", "step"]}})
    arrived = study.objectives(["arrived:maximise"])
    common = ScenarioProblem(study.scenario_of, study.space(0), arrived, workers=1)
    values = common.evaluate([0, 1], range(3))
    assert (values[0] == values[1]).all()
    apart = ScenarioProblem(
        study.scenario_of, study.space(0), arrived, workers=1, common_random_numbers=False
    ).evaluate([0, 1], range(3))
    assert (apart[0] != apart[1]).any()


def test_the_result_does_not_depend_on_workers_or_on_who_watches():
    seen = []
    texts = [
        json.dumps(
            optimize(
                STUDY, "los", evaluations=60, compare=["mocba"], workers=workers, watcher=watcher
            ).summary()
        )
        for workers, watcher in ((1, None), (2, lambda *state: seen.append(state)))
    ]
    assert texts[0] == texts[1]
    method, progress, watched = seen[-1]
    assert method == "mocba"
    assert progress.evaluations == progress.expected == 60
    assert "policy" in watched.design(progress.best)


def test_what_is_chosen_and_what_it_cost():
    found = optimize(STUDY, "los", evaluations=80, compare=["monte-carlo", "blind-pick"], workers=1)
    summary = found.summary()
    assert summary["method"] == "los"
    assert summary["designs"] == 10
    assert summary["evaluations"] <= 80
    assert set(summary["objectives"]) == {"response_mean_s", "cost_usd"}
    for estimate in summary["objectives"].values():
        assert estimate["low"] <= estimate["mean"] <= estimate["high"]
    assert 0 < summary["alignment_probability"] <= 0.95
    assert summary["omega"]
    assert summary["noise"] >= 0
    best = summary["chosen"][0]
    assert best["policy"].split(":")[0] in ("utilisation", "static")
    assert set(best["set"]) == {"boot_s"}
    place = found.selection.estimates.designs.tolist().index(best["design"])
    each = found.selection.estimates.replications[place]
    assert summary["monte_carlo_evaluations"] == 10 * each
    assert [other["method"] for other in summary["compared"]] == ["monte-carlo", "blind-pick"]
    table = found.table()
    assert table.num_rows == 10
    assert table["selected"].to_pylist().count(True) == len(summary["selected"])
    assert np.isfinite(table["rough_cost_usd"].to_numpy()).all()


def test_a_sample_says_so_and_a_space_too_large_is_sampled_by_itself():
    """What is claimed is relative to the sample."""
    found = optimize({"shares": {"vms": 128, "sample": {"hops": 0, "uniform": 40}}}, "los")
    assert "a sample of 5,169,379,425: what is claimed is relative to" in found.conclusion()
    assert found.summary()["sampled_of"] == 5_169_379_425
    by_itself = read_study({"shares": {"vms": 64}})
    large = by_itself.problem(by_itself.objectives(None), 0)
    assert large.sampled_of == 67_945_521
    assert 1000 < large.size < 100_000
    whole = read_study({"shares": {"vms": 20}})
    assert whole.problem(whole.objectives(None), 0).sampled_of is None
    drawn = optimize({**STUDY, "sample": 4}, "monte-carlo", evaluations=8, workers=1)
    assert "The 4 designs are a sample of 10: what is claimed" in drawn.conclusion()


def test_the_printed_front_is_one_of_the_shares_of_128_vms():
    """D5: of this study 15 printed members dominated the chosen one."""
    study = {"shares": {"vms": 128, "sample": {"hops": 1, "uniform": 1000}}}
    found = optimize(study, "los")
    summary, table = found.summary(), found.table().to_pydict()
    means = np.array(
        [
            [row["objectives"][name]["mean"] for name in summary["objectives"]]
            for row in summary["front"]
        ]
    )
    assert len(means) > 20
    for one in means:
        assert not ((means <= one).all(axis=1) & (means < one).any(axis=1)).any()
    flagged = [
        number for number, front in zip(table["design"], table["front"], strict=True) if front
    ]
    assert flagged == sorted(row["design"] for row in summary["front"])
    assert summary["chosen"][0]["design"] in flagged


@cloudarena.metric(better="lower")
def requests_served(run):
    """Fewer are better, which who serves nobody is best at."""
    return run.scenario.kind.metric["served"](run)


def test_a_choice_that_leaves_work_undone_or_has_no_prices_says_so(tmp_path):
    found = optimize(
        {
            "spec": {
                **SCENARIO,
                "arrivals": {"source": "constant", "rate": 20},
                "prices": {"fat_minute_usd": 0, "thin_minute_usd": 0},
            },
            "designs": {"policy": ["static"], "tiers[0].room": [1, 100]},
        },
        "monte-carlo",
        objectives={"requests_served": "minimise", "cost_usd": "minimise"},
        evaluations=40,
        workers=1,
        metrics=[requests_served],
    )
    said = found.conclusion()
    assert found.unserved > 0.0
    assert "of requests unserved in replication 0." in said
    assert (
        "cost_usd is 0 in all runs, since nothing in the spec has a price: set prices.fat" in said
    )
    found.save(tmp_path / "out")
    assert type(found).load(tmp_path / "out").conclusion() == said


def test_limits_in_a_study_in_python_and_on_a_model(tmp_path):
    study = {**STUDY, "where": ["sla_minutes_ok >= 0.5"], "objectives": ["cost_usd"]}
    found = optimize(study, evaluations=200, workers=1, where=["unserved_share <= 50%"])
    kept = found.selection.feasibility
    assert [str(limit) for limit in kept.limits] == [
        "sla_minutes_ok >= 0.5",
        "unserved_share <= 0.5",
    ]
    assert found.selection.method == "ocba-co"
    summary = found.summary()
    assert {"limits", "surely_feasible"} <= set(summary)
    for one in summary["chosen"][0]["limits"]:
        assert one["surely"] == (one["low"] >= 0.5 if ">=" in one["limit"] else one["high"] <= 0.5)
    assert "It surely (0.95) keeps sla_minutes_ok >= 0.5 (" in found.conclusion()
    runs = [cloudarena.simulate(found.winning_scenario, seed=seed).metrics for seed in range(5)]
    place = found.selection.row(found.selection.best)
    measured = kept.metrics.mean[place, 0]
    assert measured == pytest.approx(np.mean([run["sla_minutes_ok"] for run in runs]), abs=0.3)
    found.save(tmp_path / "out")
    assert (tmp_path / "out" / "sure.yaml").exists() == (kept.sure is not None)
    again = type(found).load(tmp_path / "out")
    assert again.summary() == summary
    assert str(kept.limits[0]) in (tmp_path / "out" / "spec.yaml").read_text()
    shares = optimize("clusters/ligo-20", evaluations=300_000, where=["makespan_s <= 4000"])
    assert shares.selection.feasibility.limits[0].metric == "makespan_s"


def test_continuous_keys_and_policies_with_their_own_are_searched(tmp_path):
    study = {
        "spec": SCENARIO,
        "designs": {
            "policy": ["utilisation", "static"],
            "utilisation.high": {"from": 0.86, "to": 0.98},
            "boot_s": [0, 30],
        },
        "objectives": ["cost_usd"],
    }
    found = optimize(study, evaluations=60, workers=1)
    assert found.selection.method == "gp"
    assert "Gaussian process: 1 continuous and 2 ordered keys in 2 policies" in (
        found.selection.remark
    )
    assert "finalists of" in found.conclusion()
    assert found.cost() == f"It took {found.selection.evaluations} evaluations."
    assert found.selection.evaluations <= 60
    assert found.winner["policy"] in ("utilisation", "static")
    found.save(tmp_path / "out")
    assert type(found).load(tmp_path / "out").summary() == found.summary()
    usual = optimize(study, workers=1, replications=2)
    assert usual.evaluations == 400


def test_the_winner_is_a_spec_that_runs_as_it_was_measured():
    found = optimize(STUDY, "monte-carlo", evaluations=20, workers=1)
    spec = yaml.safe_load(yaml.safe_dump(found.winning_scenario.model_dump(mode="json")))
    runs = [cloudarena.simulate(cloudarena.load(spec), seed=seed).metrics for seed in range(2)]
    means = [np.mean([run[name] for run in runs]) for name in ("response_mean_s", "cost_usd")]
    measured = found.selection.estimates
    place = measured.designs.tolist().index(found.selection.best)
    assert measured.mean[place] == pytest.approx(means)


def test_a_spec_may_name_its_policy_and_the_user_another():
    scenario = cloudarena.load({**SCENARIO, "policy": "static"})
    assert cloudarena.simulate(scenario).policy == "static"
    assert cloudarena.simulate(scenario, "step").policy == "step"


def test_a_study_that_cannot_be_compared_says_why():
    found = optimize(
        STUDY, "los", evaluations=60, compare=["successive-halving"], workers=1, rough=2
    )
    assert found.failures == {}
    tight = optimize(STUDY, "blind-pick", evaluations=12, compare=["monte-carlo"], workers=1)
    assert "12 are not enough: 2 for each of 10 designs" in tight.failures["monte-carlo"]
    assert tight.summary()["compared"][-1]["method"] == "monte-carlo"


def test_without_a_study_all_policies_are_tried():
    tiers = read_study(SCENARIO).space(0)
    names = [design["policy"] for design in tiers]
    assert names == ["static", "utilisation", "target-tracking", "step", "model-based"]
    jobs = read_study("jobs/toy").space(0)
    assert "first-fit" in [design["policy"] for design in jobs]
    assert read_study(SCENARIO).objectives(None)[0].name == "total_cost_usd"


def test_the_studies_of_the_catalogue():
    assert list(studies()) == [
        "clusters/ligo-128",
        "clusters/ligo-20",
        "clusters/ligo-32",
        "clusters/ligo-64",
        "clusters/ligo-two-clusters",
        "faas/edge-energy",
        "tiers/rubis-hour",
        "vm/azure-like-10k",
    ]
    weights = read_study("faas/edge-energy")
    assert len(weights.space(0)) == 6 * 7 * 3 * 2
    names = [one.name for one in weights.objectives(None)]
    assert names == ["energy_j_per_invocation", "response_p95_s"]
    thresholds = read_study("tiers/rubis-hour")
    space = thresholds.space(0)
    assert len(space) == 400
    for design in space:
        low, lowered, raised, high = (
            design[f"utilisation.{name}"] for name in ("low", "lowered", "raised", "high")
        )
        assert low < lowered < raised < high
    vms = read_study("vm/azure-like-10k")
    assert len(vms.space(0)) == 4 * 6 * 5
    assert [one.direction for one in vms.objectives(None)] == ["maximise", "minimise"]
    changed = vms.scenario_of(vms.space(0)[7])
    assert changed.oversubscription.cpu == 1.2
    assert changed.machines[0].count == 80
    assert changed.overload == "kill"


def test_shares_of_vms_in_closed_form():
    found = optimize("clusters/ligo-20", "los", evaluations=300_000)
    summary = found.summary()
    assert summary["designs"] == 27_132
    assert sum(summary["chosen"][0]["share"]) == 20
    assert summary["times_fewer_than_monte_carlo"] > 10
    many = {"shares": {"vms": 128, "sample": {"uniform": 100}}}
    assert optimize(many, "los", evaluations=40_000).selection.designs == 3150


@pytest.mark.parametrize("tasks", [[300, 200], [300.5, 0.25]])
def test_the_winning_share_as_a_spec_runs_as_the_model_says(tasks):
    """Without variation a run is the model; parts of a task keep the work of their class."""
    shares = {"vms": 9, "tasks": tasks, "seconds": [2, 3], "memory": [80, 90], "variation": 0}
    found = optimize({"shares": shares}, "los", evaluations=100)
    share = found.winner
    spec = yaml.safe_load(yaml.safe_dump(found.winning_scenario.model_dump(mode="json")))
    assert spec["policy"] == f"fixed:shares={share[0]}-{share[1]}"
    metrics = cloudarena.simulate(cloudarena.load(spec)).metrics
    for name in ("makespan_s", "memory_mb"):
        expected = found.selection.summary()["objectives"][name]["mean"]
        assert metrics[name] == pytest.approx(expected)
    makespan = max(2 * tasks[0] / share[0], 3 * tasks[1] / share[1])
    assert metrics["makespan_s"] == pytest.approx(makespan)


def test_the_winning_share_as_a_spec_has_the_chosen_figures_on_average():
    found = optimize("clusters/ligo-20", "los", evaluations=300_000)
    scenario = found.winning_scenario
    assert scenario.classes[0].name == "template-bank"
    runs = [cloudarena.simulate(scenario, seed=seed, record="none").metrics for seed in range(300)]
    for name, value in found.selection.summary()["objectives"].items():
        values = np.array([run[name] for run in runs])
        error = np.hypot(values.std() / 300**0.5, (value["high"] - value["low"]) / 3.92)
        assert abs(values.mean() - value["mean"]) < 4 * error


def test_shares_by_one_objective():
    both = optimize("clusters/ligo-20", "los", evaluations=300_000).selection
    alone = optimize("clusters/ligo-20", "los", ["makespan_s"], evaluations=300_000).selection
    assert [one.name for one in alone.objectives] == ["makespan_s"]
    rough = both.screening.moments.mean[:, 0]
    assert np.array_equal(alone.screening.moments.mean[:, 0], rough)
    turned = optimize("clusters/ligo-20", "los", ["memory_mb", "makespan_s"], evaluations=300_000)
    assert np.array_equal(turned.selection.screening.layer, both.screening.layer)
    for wanted, words in (
        (
            ["memory"],
            "'memory' is not allowed: one of makespan_s:minimise, memory_mb:minimise. Did",
        ),
        (["memory_mb:maximise"], "'memory_mb:maximise' is not allowed"),
        (["memory_mb", "memory_mb"], "each once"),
    ):
        with pytest.raises(SpecError, match=words):
            optimize("clusters/ligo-20", "los", wanted)


def test_changes_reach_into_shares():
    found = optimize("clusters/ligo-20", "los", evaluations=60_000, overrides=["vms=16"])
    assert found.selection.designs == 5_005
    with pytest.raises(SpecError, match="unknown key 'vm'"):
        optimize("clusters/ligo-20", "los", overrides=["vm=16"])


class Parabola(Model):
    """A model of a kind of one's own: the designs are numbers, the best is ``lowest``."""

    objectives: ClassVar = (Objective("height"),)
    lowest: int = 3

    def problem(self, seed):
        def height(design, rng):
            return (design - self.lowest) ** 2 + rng.normal(0.0, 0.1)

        return FunctionProblem(height, range(10), "height", seed)

    def spec_of(self, design):
        return {**SCENARIO, "boot_s": design}

    def plain(self, design):
        return {"number": design}


def test_any_kind_may_offer_a_model(monkeypatch):
    kind = SimpleNamespace(
        name="mine", models={"parabola": "x:Parabola"}, model={"parabola": Parabola}.__getitem__
    )
    monkeypatch.setattr("cloudarena.experiments.study.kinds", lambda: {"mine": kind})
    found = optimize({"parabola": {"lowest": 4}, "description": "a curve"}, "ocba")
    assert found.winner == 4
    assert found.summary()["chosen"][0]["number"] == 4
    assert found.winning_scenario.boot_s == 4
    assert found.winning_scenario.description == "a curve"
    assert optimize({"parabola": {}}, "ocba", overrides=["lowest=7"]).winner == 7
    for study, words in (
        ({"parabola": {"deepest": 1}}, "parabola: unknown key 'deepest'"),
        ({"parabola": 5}, "parabola: 5 is not allowed: a mapping of keys"),
        ({"parabola": {}, "where": ["a < b"]}, "where: 'a < b' is not allowed: a metric"),
        ({"parabola": {}, "where": ["a < 1"]}, "'a' is neither a key of designs nor a metric"),
        ({"objectives": ["height"]}, "spec: is required: a scenario, or parabola"),
    ):
        with pytest.raises(SpecError, match=words):
            optimize(study, "ocba")


def test_experiments_and_report_name_no_kind():
    home = Path(cloudarena.__file__).parent
    for folder in ("experiments", "report", "optimizers", "reduction"):
        for file in (home / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant):
                    assert node.value not in kinds(), file
                if isinstance(node, ast.ImportFrom):
                    assert not str(node.module).startswith("cloudarena.scenarios."), file


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ({"where": []}, "spec: is required"),
        ({"spec": SCENARIO, "designs": {}}, "designs: an empty mapping is not allowed: at least"),
        ({"shares": {"vms": 9, "names": ["a"]}}, "names: 1 names are not allowed: 7, another for"),
        ({"shares": {"vms": 9, "tasks": [-1]}}, "tasks.* is not allowed: more than 0"),
        ({"spec": SCENARIO, "design": {}}, "unknown key 'design'. Did you mean 'designs'?"),
        ({"spec": "tiers/rubis-our"}, "Did you mean 'tiers/rubis-hour'?"),
        (
            {"spec": SCENARIO, "designs": {"policy": "utilization"}},
            "policy: 'utilization' is not allowed: .* Did you mean 'utilisation'?",
        ),
        (
            {"spec": SCENARIO, "designs": {"policy": "step", "step.uper": [1]}},
            "designs: 'step.uper' is not allowed: step has upper, lower, cooldown. "
            "Did you mean 'upper'?",
        ),
        (
            {"spec": SCENARIO, "designs": {"policy": "step", "utilisation.high": [1]}},
            "utilisation is not among the policies",
        ),
        (
            {"spec": SCENARIO, "designs": {"boot_s": {"from": 1, "to": 0, "steps": 2}}},
            "designs.boot_s: to: 0 is not allowed: at least from, 1",
        ),
        (
            {"spec": SCENARIO, "designs": {"boot_s": {"from": 1, "to": 2}}},
            "designs: a range without steps is not allowed for method los, which tries each",
        ),
        ({"spec": SCENARIO, "designs": {"boot_s": [-1]}}, "boot_s: -1 is not allowed: at least 0"),
        ({"spec": SCENARIO, "designs": {"boot": [1]}}, "unknown key 'boot'"),
        ({"spec": SCENARIO, "designs": {"boot_s": []}}, "designs.boot_s: an empty list"),
        ({"spec": SCENARIO, "designs": {"boot_s": [1, 1]}}, "designs.boot_s: 1 is a duplicate"),
        ({"spec": SCENARIO, "where": ["a < b"]}, "where: 'a < b' is not allowed: 'a' is neither"),
        (
            {"spec": SCENARIO, "where": ["sla_minute_ok >= 0.9"]},
            "neither a key of designs nor a metric. Did you mean 'sla_minutes_ok'",
        ),
        ({"spec": SCENARIO, "where": ["sla_minutes_ok >= 0.9"]}, "for method los, which knows no"),
        ({"spec": SCENARIO, "objectives": ["cost"]}, "objectives: 'cost' is not allowed: one of"),
        ({"spec": SCENARIO, "objectives": ["arrived"]}, "say arrived:minimise or arrived:maximise"),
        ({"shares": {"vms": 3}}, "vms: 3 is not allowed: a whole number, at least 7"),
        ({"shares": {"vms": 20}, "sample": 5}, "shares: is not allowed together with"),
    ],
)
def test_bad_studies(study, message):
    with pytest.raises(CloudarenaError, match=message):
        optimize(study, "los", workers=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "loss"}, "method: 'loss' is not allowed: one of auto, .* Did you mean 'los'?"),
        ({"compare": ["x"]}, "compare: 'x' is not allowed"),
        ({"method": "kim-nelson"}, "indifference: is required for method kim-nelson"),
        ({"method": "los", "top": 3}, "top: is not allowed for method los"),
        ({"method": "los", "evaluations": 5}, "evaluations: 5 are not enough"),
        ({"method": "los", "workers": 0}, "workers: 0 is not allowed"),
        ({"method": "monte-carlo", "final_rule": "x"}, "final_rule: 'x' is not allowed: one of"),
        ({"objectives": ["cost_usd", "cost_usd"]}, "each once"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(SpecError if "workers" not in options else CloudarenaError, match=message):
        optimize(STUDY, **{"workers": 1, **options})
