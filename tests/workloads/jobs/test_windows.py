"""Windows of logs and of drawn jobs, and what stands for what a log does not say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.workloads.jobs.columns import JobWorkload

SUBMISSIONS = (100, 160, 160, 3_700, 7_300, 7_301, 10_900)


def swf_line(number: int, submit: int, run: int, processors: str = "2 2", request: int = 60) -> str:
    """A line of a log: processors are those allocated, then those requested."""
    allocated, requested = processors.split()
    times = f"{submit} -1 {run} {allocated} -1 -1 {requested} {request}"
    return f"{number} {times} -1 1 7 1 -1 -1 -1 -1 -1"


def write_log(folder: Path, *lines: str) -> Path:
    """A log of these lines, or of one job for each of SUBMISSIONS."""
    path = folder / "log.swf"
    rows = lines or [swf_line(k, submit, 10 + k) for k, submit in enumerate(SUBMISSIONS)]
    path.write_text("; MaxProcs: 8\n" + "\n".join(rows) + "\n")
    return path


def spec_of(path: Path, **workload: Any) -> dict[str, Any]:
    return {
        "scenario": "jobs",
        "machines": [{"cpu": 8}],
        "workload": {"source": "swf", "path": str(path), **workload},
    }


def jobs_of(path: Path, seed: int = 0, **workload: Any) -> JobWorkload:
    """The jobs of a scenario of a log."""
    loaded: JobWorkload = cloudarena.load(spec_of(path, **workload)).load_workload(seed)
    return loaded


def numbers(workload: JobWorkload) -> list[int]:
    return workload.job_ids.to_pylist()


def test_a_window_of_jobs(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    window = jobs_of(path, window={"first": 2, "jobs": 3})
    assert numbers(window) == [2, 3, 4]
    assert window.submit.tolist() == [0, 3_540, 7_140]
    assert window.begin_s == 160  # of the log's own clock
    assert numbers(jobs_of(path, offset=1, jobs=5, window={"first": 2, "jobs": 2})) == [3, 4]


def test_a_window_of_hours(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    # From the first submission, at 100 s: 1 h is 3,700 s, 2 h is 7,300 s and no more in it.
    assert numbers(jobs_of(path, window={"start_h": 0, "hours": 1})) == [0, 1, 2]
    assert numbers(jobs_of(path, window={"start_h": 1, "hours": 1.5})) == [3, 4, 5]


def test_the_seed_draws_a_window_that_is_whole(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    firsts = [numbers(jobs_of(path, seed, window={"jobs": 3}))[0] for seed in range(80)]
    assert set(firsts) == {0, 1, 2, 3, 4}  # 5 values: none of them missed but in 1 of 10^7
    lengths = {len(jobs_of(path, seed, window={"jobs": 3}).submit) for seed in range(20)}
    assert lengths == {3}
    # Of two hours, from job 0 (3 more and itself), 1, 2 or 3; from 4 on less is left.
    begins = [numbers(jobs_of(path, seed, window={"hours": 2})) for seed in range(60)]
    assert sorted({tuple(found) for found in begins}) == [
        (0, 1, 2, 3), (1, 2, 3, 4, 5), (3, 4, 5),
    ]  # fmt: skip
    assert numbers(jobs_of(path, 3, window={"jobs": 3})) == numbers(
        jobs_of(path, 3, window={"jobs": 3})
    )


def test_all_policies_of_a_replication_see_one_window(tmp_path: Path) -> None:
    scenario = cloudarena.load(spec_of(write_log(tmp_path), window={"jobs": 3}))
    names = [
        cloudarena.simulate(scenario, policy, 5).tables["jobs"]["job"].to_pylist()
        for policy in ("first-fit", "f1", "random")
    ]
    assert names[0] == names[1] == names[2]


def test_a_window_of_drawn_jobs() -> None:
    spec = {
        "scenario": "jobs",
        "machines": [{"cpu": 128}],
        "workload": {"source": "lublin-feitelson", "jobs": 100, "processors": 64},
    }
    whole = cloudarena.load(spec).load_workload(4)
    spec["workload"]["window"] = {"first": 20, "jobs": 30}  # type: ignore[index]
    window = cloudarena.load(spec).load_workload(4)
    assert np.array_equal(window.duration, whole.duration[20:50])
    assert np.array_equal(window.estimate, whole.estimate[20:50])


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = write_log(tmp_path)
    assert numbers(jobs_of(path, window={"first": 0, "jobs": 2})) == [0, 1]
    path.write_text(swf_line(50, 0, 5) + "\n" + swf_line(51, 1, 5) + "\n")
    os.utime(path, ns=(1, 1))
    assert numbers(jobs_of(path, window={"first": 0, "jobs": 2})) == [50, 51]


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ({"first": 5, "jobs": 3}, r"workload.window.first: 5 is not allowed: from 0 to 4"),
        ({"jobs": 8}, r"workload.window.jobs: 8 is not allowed: at most 7"),
        ({"hours": 4}, r"workload.window.hours: 4 is not allowed: at most 3"),
        ({"start_h": 2.5, "hours": 0.2}, r"workload.window.start_h: 2.5 is not allowed: no job"),
        ({}, r"workload.window: is not allowed: either jobs, and first, or hours"),
        ({"jobs": 3, "hours": 1}, r"workload.window: is not allowed: either jobs"),
        ({"first": 3, "hours": 1}, r"workload.window: is not allowed: either jobs"),
        ({"jobs": 0}, r"workload.window.jobs: .*1"),
        ({"job": 3}, r"unknown key 'job'"),
    ],
)
def test_a_window_that_cannot_be_is_refused(tmp_path: Path, window: Any, words: str) -> None:
    with pytest.raises(CloudarenaError, match=words):
        jobs_of(write_log(tmp_path), window=window)


def test_what_a_log_does_not_say(tmp_path: Path) -> None:
    path = write_log(
        tmp_path,
        swf_line(1, 0, 20, "2 4", 60),  # two of four processors
        swf_line(2, 5, -1, "-1 3", 30),  # no run time
        swf_line(3, 6, 40, "1 -1", -1),  # no requested time
        swf_line(4, 7, 0, "1 1", 10),  # ran for less than half a second
    )
    plain = jobs_of(path)
    assert numbers(plain) == [1, 3]
    assert plain.instances.tolist() == [2, 1]
    assert plain.estimate.tolist() == [60, 60]
    told = jobs_of(path, processors="larger", unknown_run_time_s=10, unknown_estimate="duration")
    assert numbers(told) == [1, 2, 3]
    assert told.instances.tolist() == [4, 3, 1]
    assert told.duration.tolist() == [20, 10, 40]
    assert told.estimate.tolist() == [60, 30, 40]


def test_a_log_without_any_requested_times(tmp_path: Path) -> None:
    path = write_log(tmp_path, swf_line(1, 0, 20, request=-1), swf_line(2, 0, 30, request=-1))
    assert np.isnan(jobs_of(path).estimate).all()
    assert jobs_of(path, unknown_estimate="duration").estimate.tolist() == [20, 30]
    assert cloudarena.load(spec_of(path, unknown_estimate="duration")).facts == ("estimates",)


def test_users_that_a_log_does_not_know_have_no_history(tmp_path: Path) -> None:
    rows = [
        swf_line(k, 100 * k, 10, request=request).replace(" 1 7 1 ", " 1 -1 1 ")
        for k, request in enumerate((60, 60, 5))
    ]
    run = cloudarena.load(spec_of(write_log(tmp_path, *rows))).start(0)
    while (decision := run.decision) is not None:
        assert np.isinf(decision.tasks.user_predicted).all()
        run.apply((int(decision.ready[0]), 0))


def test_bad_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"workload.processors: .*'allocated' or 'larger'"):
        jobs_of(write_log(tmp_path), processors="all")
    with pytest.raises(SpecError, match=r"workload.unknown_run_time_s: .*"):
        jobs_of(write_log(tmp_path), unknown_run_time_s=0)
