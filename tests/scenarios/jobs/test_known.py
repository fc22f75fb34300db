"""What policies know about how long tasks run, and who is allowed to know more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import PolicyError
from cloudarena.policies import ArrayPolicy
from cloudarena.scenarios.jobs import POLICIES

from .clusters import cluster, job, play, starts, task

# As estimated the first is the shortest, in truth it is the longest.
MISJUDGED = cluster(
    job(task(9, estimate=1)), job(task(2, estimate=5)), job(task(4, estimate=3)), cpu=1
)


def test_estimates_are_what_is_known_by_default() -> None:
    assert cloudarena.load(MISJUDGED).known == ("estimates",)
    assert starts(play(MISJUDGED, "sjf")) == [0, 13, 9]
    assert starts(play({**MISJUDGED, "known": ["durations"]}, "sjf")) == [6, 0, 2]


def test_an_oracle_sees_the_truth_whatever_the_spec_lets_be_known() -> None:
    for known in (["estimates"], ["durations"], []):
        assert starts(play({**MISJUDGED, "known": known}, "oracle-sjf")) == [6, 0, 2]


def test_who_follows_an_oracle_in_one_run_sees_estimates_again() -> None:
    run = cloudarena.load(MISJUDGED).start()
    oracle, plain = POLICIES.resolve("oracle-sjf"), POLICIES.resolve("sjf")
    assert oracle(run.decision)[0] == 1  # 2 s
    assert run.decision.tasks.duration.tolist() == [9, 2, 4]
    assert plain(run.decision)[0] == 0  # said to take 1 s
    assert run.decision.tasks.duration.tolist() == [1, 5, 3]
    assert run.decision.tasks.path.tolist() == [1, 5, 3]


def user_policy(name: str, needs: str) -> ArrayPolicy:
    """A policy of a user's that says what it needs, and takes what is known as shortest."""

    class Mine:  # a method: it runs stepped
        def shortest(self, tasks: Any, machines: Any, rng: Any) -> tuple[int, int, int]:
            return int(tasks.ready[np.argmin(tasks.duration[tasks.ready])]), 0, 1

    return ArrayPolicy(name, Mine().shortest, POLICIES.signature, needs=needs)


def test_true_durations_are_for_oracles_and_where_the_spec_says_so() -> None:
    with pytest.raises(
        PolicyError, match=r"policy mine: needs known: \[durations\] in the spec, or"
    ):
        play(MISJUDGED, user_policy("mine", "durations"))
    told = {**MISJUDGED, "known": ["durations"]}
    for spec, name in ((told, "mine"), (MISJUDGED, "oracle-mine")):
        assert starts(play(spec, user_policy(name, "durations"))) == [6, 0, 2]
    assert starts(play(MISJUDGED, user_policy("mine", "estimates"))) == [0, 13, 9]


def test_every_built_in_policy_that_needs_the_truth_says_so_in_its_name() -> None:
    for name in POLICIES:
        needs = POLICIES.resolve(name).needs if hasattr(POLICIES.resolve(name), "needs") else ""
        assert needs in ("", "estimates", "durations")
        assert ("oracle" in name) == (needs == "durations"), name


def test_no_oracle_is_compared_unasked() -> None:
    for known in (["estimates"], ["durations"]):
        compared = cloudarena.load({**MISJUDGED, "known": known}).compared_policies()
        assert "sjf" in compared
        assert "oracle-sjf" not in compared
    assert "sjf" not in cloudarena.load({**MISJUDGED, "known": []}).compared_policies()


CSV = "submit_time,duration,cpu,memory,job_id,task_id,instances_num\n"


def trace(folder: Path, **more: Any) -> dict[str, Any]:
    """A list of jobs without estimates."""
    path = folder / "jobs.csv"
    path.write_text(CSV + "0,9,1,0,1,1,1\n0,2,1,0,2,1,1\n0,4,1,0,3,1,1\n")
    return {
        "scenario": "jobs", "machines": [{"cpu": 1}],
        "workload": {"source": "cloudsimpy-csv", "path": str(path), **more},
    }  # fmt: skip


def test_a_trace_without_estimates_does_not_show_the_truth_instead(tmp_path: Path) -> None:
    spec = trace(tmp_path)
    for name in ("sjf", "easy-backfilling", "conservative-backfilling", "min-min"):
        with pytest.raises(
            PolicyError, match=f"policy {name}: needs estimates, and the workload has"
        ):
            play(spec, name)
    assert play(spec, "first-fit").metrics["jobs_finished"] == 3
    assert "sjf" not in cloudarena.load(spec).compared_policies()
    assert starts(play({**spec, "known": ["durations"]}, "sjf")) == [6, 0, 2]
    assert starts(play(trace(tmp_path, estimates="exact"), "sjf")) == [6, 0, 2]
    drawn = cloudarena.load(trace(tmp_path, estimates="factor"))
    assert "sjf" in drawn.compared_policies()
    guesses = [drawn.load_workload(seed).estimate.tolist() for seed in (0, 1)]
    assert guesses[0] != guesses[1]
    assert drawn.load_workload(0).duration.tolist() == [9, 2, 4]


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("jobs/hpc-swf", "sjf"),
        ("jobs/hpc-swf", "easy-backfilling"),
        ("jobs/alibaba-like-10", "sjf"),
        ("jobs/dag-demo", "sjf"),
    ],
)
def test_to_know_the_truth_makes_a_difference(entry: str, name: str) -> None:
    busy = {"machines": [{"count": 1, "cpu": 64, "memory": 1.0}]}
    changes = busy if entry == "jobs/alibaba-like-10" else {}
    told, guessed, blind = (
        cloudarena.simulate(cloudarena.load(entry, {**changes, "known": [known]}), name).metrics
        if known
        else cloudarena.simulate(cloudarena.load(entry, changes), "first-fit").metrics
        for known in ("durations", "estimates", "")
    )
    assert told["completion_mean_s"] != guessed["completion_mean_s"]
    assert guessed["completion_mean_s"] != blind["completion_mean_s"]


def test_the_jobs_stay_as_they_are_whatever_is_said_about_them() -> None:
    drawn = [
        cloudarena.load("jobs/hpc-swf", {"workload.estimates": model}).load_workload(3)
        for model in ("exact", "modal", "factor")
    ]
    for one in drawn[1:]:
        assert (one.duration == drawn[0].duration).all()
        assert (one.submit == drawn[0].submit).all()
        assert (one.estimate != drawn[0].estimate).mean() > 0.9


def test_deeprm_knows_durations_as_in_its_publication() -> None:
    assert cloudarena.load("jobs/deeprm").known == ("durations",)
