"""``cloudarena optimize`` and ``metrics reduce``: what people type, and what they get."""

import json
import re
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from cloudarena.optimizers import METHODS
from cloudarena.reduction import synthetic_metrics

SCENARIO = {
    "scenario": "tiers",
    "duration_s": 240,
    "arrivals": {"source": "constant", "rate": 4},
    "tiers": [
        {
            "name": "web",
            "fat": {"rate": 14, "max": 2, "start": 0},
            "thin": {"rate": 6, "max": 3, "start": 1},
        }
    ],
}
STUDY = {
    "spec": "cloud.yaml",
    "designs": {"policy": "step", "step.upper": {"from": 0.5, "to": 0.9, "steps": 5}},
    "objectives": ["response_mean_s", "cost_usd"],
}
PROMISED = {
    "method",
    "designs",
    "evaluations",
    "selected",
    "chosen",
    "objectives",
    "alignment_probability",
    "omega",
    "noise",
}


@pytest.fixture
def study(tmp_path):
    (tmp_path / "cloud.yaml").write_text(yaml.safe_dump(SCENARIO))
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(STUDY))
    return file


def test_json_has_the_promised_keys_and_nothing_else_is_printed(cloudarena, study):
    options = ("--method", "los", "--objectives", "response_mean_s,cost_usd")
    code, out, err = cloudarena(
        "optimize", study, *options, "--evaluations", 40, "--workers", 1, "--json",
        "--compare", "monte-carlo,blind-pick,ocba",
    )  # fmt: skip
    assert code == 0
    assert err == ""
    summary = json.loads(out)
    assert set(summary) >= PROMISED
    assert summary["designs"] == 5
    assert list(summary["objectives"]) == ["response_mean_s", "cost_usd"]
    assert {"mean", "low", "high"} <= set(summary["objectives"]["cost_usd"])
    methods = [other["method"] for other in summary["compared"]]
    assert methods == ["monte-carlo", "blind-pick", "ocba"]


def test_it_says_what_to_take_how_sure_and_at_what_cost(cloudarena, study, tmp_path):
    code, out, _ = cloudarena(
        "optimize", study, "--method", "los", "--evaluations", 60, "--workers", 1,
        "--out", tmp_path / "results",
    )  # fmt: skip
    assert code == 0
    words = " ".join(out.split())
    assert "Take step:upper=" in words
    assert "of the true front with probability" in words
    assert "Monte Carlo needs" in words
    folder = tmp_path / "results"
    names = {file.name for file in folder.iterdir()}
    assert names == {
        "report.html", "metrics.json", "designs.parquet", "spec.yaml", "winner.yaml", "state.npz",
        "store",
    }  # fmt: skip
    assert set(json.loads((folder / "metrics.json").read_text())) >= PROMISED
    designs = pq.read_table(folder / "designs.parquet").to_pylist()
    assert len(designs) == 5
    front = json.loads((folder / "metrics.json").read_text())["front"]
    assert [row["design"] for row in designs if row["front"]] == [row["design"] for row in front]
    assert all(row["replications"] > 0 for row in front)
    assert all((row["replications"] > 0) == row["selected"] for row in designs)
    code, out, _ = cloudarena("run", folder / "winner.yaml", "--json")
    assert code == 0
    assert json.loads(out)["policy"].startswith("step:upper=")


def test_good_enough_is_a_choice(cloudarena, study):
    code, out, _ = cloudarena(
        "optimize", study, "--method", "ocba", "--objectives", "cost_usd", "--within", "5%",
        "--evaluations", 60, "--workers", 1, "--json",
    )  # fmt: skip
    assert code == 0
    summary = json.loads(out)
    assert summary["alignment"].startswith("a design within 5 % of the best by cost_usd")
    assert summary["assumes"].startswith("replications are independent")
    assert summary["shortfall"] >= 0.0
    assert "With probability 0.95 no design is better by more than" in summary["conclusion"]


def test_large_amounts_are_written_out(cloudarena, study):
    """It was "profit_usd 1.708e+05"."""
    dear = ("--set", "prices.fat_minute_usd=28700", "--set", "prices.thin_minute_usd=12700")
    code, out, _ = cloudarena("optimize", study, "--evaluations", 60, *dear, "--json")
    assert code == 0
    conclusion = json.loads(out)["conclusion"]
    assert re.search(
        r"cost_usd \d{2,3},\d{3} \(on the front from \d{2,3},\d{3}, the best", conclusion
    )
    assert "e+" not in conclusion


def test_what_is_traded_is_said(cloudarena, study):
    """D8: the end of the front was taken, whatever the other objectives were there."""
    code, out, _ = cloudarena("optimize", study, "--evaluations", 60, "--workers", 1, "--json")
    assert code == 0
    summary = json.loads(out)
    assert len(summary["front"]) > 1
    assert "It trades one objective for another: response_mean_s" in summary["conclusion"]
    first = [row["objectives"]["response_mean_s"]["mean"] for row in summary["front"]]
    second = [row["objectives"]["cost_usd"]["mean"] for row in summary["front"]]
    scores = [
        (a - min(first)) / (max(first) - min(first))
        + (b - min(second)) / (max(second) - min(second))
        for a, b in zip(first, second, strict=True)
    ]
    chosen = summary["chosen"][0]["design"]
    assert summary["front"][scores.index(min(scores))]["design"] == chosen


def test_auto_says_why(cloudarena, study):
    code, out, _ = cloudarena("optimize", study, "--evaluations", 60, "--workers", 1)
    assert code == 0
    assert "order-performance curve" in out


def test_a_scenario_without_a_study_tries_its_policies(cloudarena, study):
    code, out, _ = cloudarena(
        "optimize", study.parent / "cloud.yaml", "--method", "ocba", "--evaluations", 30,
        "--workers", 1, "--json", "--set", "duration_s=120",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["designs"] == 5


def test_shares_in_closed_form(cloudarena, tmp_path):
    code, out, _ = cloudarena(
        "optimize", "clusters/ligo-20", "--method", "los", "--evaluations", 300_000,
        "--objectives", "makespan_s,memory_mb", "--out", tmp_path / "r",
    )  # fmt: skip
    assert code == 0
    assert "27,132 designs" in " ".join(out.split())
    code, out, _ = cloudarena("run", tmp_path / "r" / "winner.yaml", "--json")
    assert code == 0
    assert json.loads(out)["policy"].startswith("fixed:shares=")


@pytest.mark.parametrize("vms", [32, 64, 128])
def test_the_larger_clusters_of_the_catalogue_are_searched_for_shares(cloudarena, vms):
    options = ("--method", "los", "--rough", 2, "--replications", 5, "--evaluations", 20_000)
    code, out, err = cloudarena("optimize", f"clusters/ligo-{vms}", *options, "--json")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["designs"] > 1000
    assert sum(summary["chosen"][0]["share"]) == vms


def test_too_many_shares_are_sampled_and_it_says_so(cloudarena):
    """It was an error that said how to take a sample."""
    code, out, err = cloudarena("optimize", "clusters/ligo-20", "--set", "vms=64", "--json")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["sampled_of"] == 67_945_521
    assert "what is claimed is relative to the sample" in summary["conclusion"]


def test_a_study_that_only_compares_policies_says_so(cloudarena, tmp_path):
    distribution = {"kind": "gamma", "mean": 1.0, "cv": 0.2}
    spec = {
        "scenario": "clusters",
        "vms": 4,
        "classes": [
            {"name": name, "seconds": distribution, "memory_mb": distribution} for name in "ab"
        ],
        "workload": {"source": "inline", "batches": [{"tasks": [5, 9]}]},
    }
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(spec))
    code, out, err = cloudarena("optimize", file, "--evaluations", 40, "--workers", 1)
    assert code == 0
    told = " ".join((out + err).split())
    assert "No designs were given: the policies of the scenario were compared." in told
    assert "To search shares of the VMs, write them into a study, as in `shares: {vms: 20," in told


def test_help_lists_the_methods_and_their_options(cloudarena, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERMINAL_WIDTH", "200")
    code, out, _ = cloudarena("optimize", "--help")
    assert code == 0
    for method in METHODS.values():
        assert f"{method.name}: {method.description}" in out
        for option in method.option_names:
            assert f"--{option.replace('_', '-')} " in out
    for words in (["--method", "los"], ["los"]):
        code, out, _ = cloudarena("optimize", *words, "--help")
        assert code == 0
        assert METHODS["los"].description in out
        assert METHODS["mocba"].description not in out
        assert "--good-layers" in out
        assert "--indifference" not in out


def test_help_of_methods_needs_no_compiler():
    """Nor does any other command import the methods."""
    program = (
        "import sys\n"
        "from cloudarena.cli import main\n"
        "sys.argv = ['cloudarena', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('numba', 'cloudarena.optimizers') if name in sys.modules])\n"
    )
    for words, loaded in (
        (["optimize", "--help"], "['cloudarena.optimizers']"),
        (["scenarios"], "[]"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == loaded


def test_every_option_of_a_method_can_be_given(cloudarena, study):
    code, out, _ = cloudarena(
        "optimize", study, "--method", "los", "--size", 2, "--good-layers", 2, "--rough", 3,
        "--evaluations", 60, "--workers", 1, "--json",
    )  # fmt: skip
    assert code == 0
    assert len(json.loads(out)["selected"]) == 2


def test_nsga2_without_pymoo_says_how_to_get_it(cloudarena, study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymoo", None)
    monkeypatch.setitem(sys.modules, "pymoo.algorithms.moo.nsga2", None)
    code, out, err = cloudarena(
        "optimize", study, "--method", "nsga2", "--workers", 1, "--out", tmp_path / "no"
    )
    assert code == 2
    assert out == ""
    assert err.splitlines() == [
        "error: nsga2: needs pymoo, which is not installed: pip install 'cloudarena[opt]'"
    ]
    assert not (tmp_path / "no").exists()


def test_nsga2(cloudarena, study, tmp_path):
    pytest.importorskip("pymoo")
    code, out, _ = cloudarena(
        "optimize", study, "--method", "nsga2", "--evaluations", 50, "--workers", 1, "--json",
        "--out", tmp_path / "r",
    )  # fmt: skip
    assert code == 0
    summary = json.loads(out)
    assert summary["method"] == "nsga2"
    assert summary["alignment_probability"] is None
    assert summary["evaluations"] <= 50
    assert (tmp_path / "r" / "winner.yaml").exists()


def test_kim_nelson_gives_what_it_has_when_evaluations_run_out(cloudarena, study):
    code, out, _ = cloudarena(
        "optimize", study, "--method", "kim-nelson", "--indifference", 1e-6, "--evaluations", 60,
        "--workers", 1, "--json",
    )  # fmt: skip
    assert code == 0
    summary = json.loads(out)
    assert summary["alignment_probability"] is None
    assert "60 evaluations are not enough for the guarantee" in summary["remark"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "los1"], "method: 'los1' is not allowed: one of auto, monte-carlo"),
        (["--objectives", "cost"], "objectives: 'cost' is not allowed: one of unserved_share"),
        (["--evaluations", "3", "--method", "los"], "evaluations: 3 are not enough"),
        (["--compare", "best"], "compare: 'best' is not allowed"),
        (["--set", "tiers=3"], "tiers: 3 is not allowed: a list"),
        (["--confidence", "2"], "confidence: 2.0 is not allowed"),
        (["--workers", "0"], "workers: 0 is not allowed: at least 1"),
        (
            ["--top", "2", "--method", "los"],
            "top: is not allowed for method los: one of final_rule, seed, confidence, at_least",
        ),
        (["--rough", "x"], "rough: 'x' is not allowed: a whole number"),
        (["--final-rule", "best", "--method", "los"], "final_rule: 'best' is not allowed"),
        (["--at-least", "0"], "at_least: 0 is not allowed: at least 1"),
        (["--at-least", "9999"], "at_least: 9999 is not allowed: a whole number, at least 1 and"),
        (["--within", "one"], "within: 'one' is not allowed: a share such as 1%"),
        (["--within", "2"], "within: '2' is not allowed with 2 objectives"),
        (["--within", "1%", "--method", "mocba"], "within: is not allowed for method mocba"),
    ],
)
def test_errors_are_one_line(cloudarena, study, tmp_path, arguments, message):
    code, out, err = cloudarena("optimize", study, *arguments, "--out", tmp_path / "no")
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "no").exists()


@pytest.fixture
def table(tmp_path):
    values = synthetic_metrics(120, 30, factors=8, noise=0.5)
    file = tmp_path / "table.csv"
    lines = [",".join(["strategy", "seed", *(f"m{k}" for k in range(30))])]
    lines += [f"s{i},7,{','.join(f'{v:.9g}' for v in row)}" for i, row in enumerate(values)]
    file.write_text("\n".join(lines) + "\n")
    return file


def test_metrics_are_reduced_to_so_many(cloudarena, table, tmp_path):
    code, out, _ = cloudarena(
        "metrics", "reduce", table, "--keep", 4, "--out", tmp_path / "r", "--json"
    )
    assert code == 0
    summary = json.loads(out)
    assert summary["metrics"] == 30
    assert len(summary["chosen"]) == summary["keep"] == 4
    assert summary["sample"] == 90
    assert [step["metrics"] for step in summary["curve"]] == [1, 2, 3, 4]
    residuals = [step["residual_sd"] for step in summary["curve"]]
    assert residuals == sorted(residuals, reverse=True)
    assert summary["held_out"]["strategies"] == 30
    assert 0 <= summary["held_out"]["hits"] <= summary["held_out"]["good"]
    assert summary["held_out"]["correlation"] > 0.8
    assert "Alignment probability" in (tmp_path / "r" / "report.html").read_text()
    assert json.loads((tmp_path / "r" / "metrics.json").read_text()) == {"format": 1, **summary}


def test_what_was_asked_for_and_cannot_be_had_is_said(cloudarena, tmp_path):
    """Of metrics that say the same, one is enough; chance cannot be predicted at all."""
    rng = np.random.default_rng(0)
    file = tmp_path / "twins.csv"
    file.write_text("a,b\n" + "".join(f"{v},{2 * v}\n" for v in rng.random(40)))
    code, out, _ = cloudarena("metrics", "reduce", file, "--keep", 2, "--json")
    assert code == 0
    summary = json.loads(out)
    assert summary["keep"] == 1
    assert summary["remark"].startswith("2 were asked for, but the score follows from 1")
    noise = tmp_path / "noise.csv"
    rows = rng.random((40, 60)).tolist()
    head = ",".join(f"m{k}" for k in range(60))
    noise.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    _, out, _ = cloudarena("metrics", "reduce", noise, "--ap", 0.99, "--json")
    assert "A probability of 0.99 is out of reach" in json.loads(out)["conclusion"]


def test_or_to_as_few_as_reach_a_probability(cloudarena, table):
    code, out, _ = cloudarena(
        "metrics", "reduce", table, "--ap", 0.95, "--s", 15, "--g", 15, "--k", 10
    )
    assert code == 0
    assert "the 15 best by prediction hold at least 10 of the 15 best" in " ".join(out.split())


def test_directions_rows_and_folders(cloudarena, table, tmp_path):
    _, lower, _ = cloudarena("metrics", "reduce", table, "--keep", 1, "--lower", "m3", "--json")
    _, plain, _ = cloudarena("metrics", "reduce", table, "--keep", 1, "--json")
    assert json.loads(lower) != json.loads(plain)
    _, out, _ = cloudarena("metrics", "reduce", table.parent, "--keep", 1, "--json")
    assert json.loads(out)["chosen"] == json.loads(plain)["chosen"]
    _, fewer, _ = cloudarena(
        "metrics", "reduce", table, "--keep", 1, "--ignore", "m0,m1", "--holdout", 0, "--json"
    )
    assert json.loads(fewer)["metrics"] == 28
    assert json.loads(fewer)["held_out"] is None


def test_a_results_folder_knows_which_way_is_better(tmp_path):
    import pyarrow as pa

    from cloudarena.experiments.metric_table import read_metric_table

    (tmp_path / "metrics.json").write_text(json.dumps({"scenario": "my.yaml", "kind": "vm"}))
    rng = np.random.default_rng(0)
    policies = np.repeat([f"p{k}" for k in range(30)], 2)
    columns = {name: rng.random(60) for name in ("requests", "energy_kwh", "profit_usd")}
    rows = pa.table({"policy": policies, "seed": np.tile([0, 1], 30), **columns})
    pq.write_table(rows, tmp_path / "replications.parquet")
    table = read_metric_table(tmp_path, by="policy")
    assert table.names == ("energy_kwh", "profit_usd")  # requests is neither better nor worse
    assert table.better == ("lower", "higher")
    assert table.values.shape == (30, 2)
    first = columns["profit_usd"][:2].mean()
    assert table.values[0, 1] == pytest.approx(first)


def test_a_comparison_of_a_file_knows_which_way_is_better(cloudarena, tmp_path):
    spec = tmp_path / "service.yaml"
    spec.write_text(
        "scenario: tiers\nduration_s: 60\nperiod_s: 10\narrivals: {source: constant, rate: 5}\n"
        "tiers:\n"
        "- {name: web, fat: {rate: 9, max: 2, start: 0}, thin: {rate: 6, max: 3, start: 1}}\n"
    )
    policies = "static,utilisation,step,target-tracking,model-based,oracle"
    out = tmp_path / "out"
    code, _, _ = cloudarena(
        "compare", spec, "--policies", policies, "--replications", 2, "--workers", 1, "--out", out
    )
    assert code == 0
    from cloudarena.experiments.metric_table import read_metric_table

    table = read_metric_table(out)
    assert dict(zip(table.names, table.better, strict=True))["cost_usd"] == "lower"
    assert "arrived" not in table.names
    # Twelve rows: six are selected and six are good, and four of them are wanted.
    code, text, _ = cloudarena("metrics", "reduce", out, "--keep", 2, "--json")
    assert code == 0
    summary = json.loads(text)
    assert (summary["s"], summary["g"], summary["k"]) == (6, 6, 4)
    assert summary["held_out"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--keep", "99"], "keep: 99 is not allowed"),
        (["--keep", "3", "--ap", "0.9"], "--ap: is not allowed together with --keep"),
        (["--k", "20"], "k: 20 is not allowed"),
        (["--lower", "m99"], "lower: 'm99' is not allowed"),
        (["--by", "name"], "by: 'name' is not allowed"),
        (["--holdout", "1"], "holdout: 1.0 is not allowed"),
        (["--method", "lasso"], "method: 'lasso' is not allowed"),
    ],
)
def test_bad_reductions(cloudarena, table, arguments, message):
    code, _, err = cloudarena("metrics", "reduce", table, *arguments)
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\nx,y\n", "has no metrics"),
        ("a,b\n1,\n2,3\n", "b: an empty cell is not allowed"),
        ("a,b\n1\n", "cannot be read"),
    ],
)
def test_bad_tables(cloudarena, tmp_path, text, message):
    file = tmp_path / "bad.csv"
    file.write_text(text)
    code, _, err = cloudarena("metrics", "reduce", file)
    assert code == 2
    assert message in err
