"""A recorded trace gets replications: blocks are kept whole, at the same time of day."""

import numpy as np
import pytest
from tools.make_exports import write_exports

from cloudarena import compare, load, optimize
from cloudarena.base.errors import CloudarenaError
from cloudarena.experiments.input_uncertainty import check_resampled
from cloudarena.experiments.optimization import Optimization
from cloudarena.experiments.size import size
from cloudarena.importing.run import import_files
from cloudarena.workloads.resample import Resample, scaled_rows

DAY = 86400.0


def test_blocks_are_whole_and_keep_the_time_of_day():
    time = np.sort(np.random.default_rng(0).uniform(0, 5.5 * DAY, 500))
    resample = Resample(blocks="day")
    rows, moved = resample.rows(time, 5.5 * DAY, 5 * DAY, seed=1)
    assert np.allclose(moved % DAY, time[rows] % DAY)
    assert (np.diff(moved) >= 0).all()
    assert time[rows].max() < 5 * DAY  # the last day is not whole
    order = resample.order(5.5 * DAY, 5 * DAY, seed=1)
    for position, block in enumerate(order):
        here = rows[(moved // DAY) == position]
        assert here.tolist() == np.flatnonzero(time // DAY == block).tolist()
    again = resample.rows(time, 5.5 * DAY, 5 * DAY, seed=1)[0]
    assert again.tolist() == rows.tolist()
    assert resample.rows(time, 5.5 * DAY, 5 * DAY, seed=2)[0].tolist() != rows.tolist()


def test_on_average_the_load_is_that_of_the_trace():
    time = np.sort(np.random.default_rng(0).uniform(0, 10 * DAY, 2000))
    counts = [
        len(Resample(blocks="day").rows(time, 10 * DAY, 10 * DAY, seed)[0]) for seed in range(100)
    ]
    error = np.std(counts) / 10
    assert abs(np.mean(counts) - 2000) < 4 * error


@pytest.mark.parametrize("scale", [0.3, 1.0, 1.2, 2.5])
def test_thinning_and_superposition(scale):
    time = np.arange(4000.0) * 60
    rows, moved = scaled_rows(time, scale, np.random.default_rng(3))
    assert abs(len(rows) - scale * 4000) <= 4 * np.sqrt(4000 * 0.25)
    assert (np.diff(moved) >= 0).all()
    assert ((moved - time[rows] >= 0) & (moved - time[rows] <= 600)).all()
    if scale >= 1:
        assert len(set(rows.tolist())) == 4000


def test_a_trace_of_one_day_cannot_be_drawn_by_days():
    with pytest.raises(CloudarenaError, match="at least 2 are needed"):
        Resample(blocks="day").rows(np.array([0.0, DAY]), 1.5 * DAY, DAY, 0)


def test_a_window_is_one_piece_that_begins_on_an_hour():
    time = np.sort(np.random.default_rng(0).uniform(0, 5 * DAY, 500))
    window = Resample(blocks="window")
    begins = set()
    for seed in range(30):
        rows, moved = window.rows(time, 5 * DAY, DAY, seed)
        ((begin, end),) = window.pieces(5 * DAY, DAY, seed)
        assert rows.tolist() == np.flatnonzero((time >= begin) & (time < end)).tolist()
        assert np.allclose(moved, time[rows] - begin)
        assert begin % 3600 == 0
        assert 0 <= begin <= 4 * DAY
        begins.add(begin)
    assert len(begins) > 15
    with pytest.raises(CloudarenaError, match="make the run shorter"):
        window.rows(time, 5 * DAY, 5 * DAY, 0)


def test_vms_from_a_later_start_on_have_the_rest_of_their_lives(tmp_path):
    """Of three VMs one is gone by tick 10, one is there and has 5 ticks left, one comes later."""
    lines = [
        "vmid,subscriptionid,deploymentid,vmcreated,vmdeleted,vmcategory,vmcorecountbucket,"
        "vmmemorybucket,lifetime",
        "a,0,0,0,4,2,1,1,5",
        "b,0,0,5,14,2,2,1,10",
        "c,0,0,12,13,2,4,1,2",
    ]
    (tmp_path / "vms.csv").write_text("\n".join(lines) + "\n")
    spec = {
        "scenario": "vm",
        "ticks": 10,
        "tick_seconds": 60,
        "machines": [{"count": 1, "cores": 8, "memory_gb": 8}],
        "workload": {"source": "files", "vmtable": "vms.csv", "cpu_percent": 50, "start_s": 600},
    }
    work = load(spec, folder=tmp_path).load_workload(0)
    assert work.ids.to_pylist() == ["b", "c"]
    assert work.created.tolist() == [0, 2]
    assert work.lifetime.tolist() == [5, 2]
    assert len(work.readings) == 7
    late = {**spec, "workload": {**spec["workload"], "start_s": 6000}}
    with pytest.raises(CloudarenaError, match="no VM of the trace is there so late"):
        load(late, folder=tmp_path).load_workload(0)


def test_who_is_there_at_a_later_start_is_there_in_each_draw_and_on_no_other_day(tmp_path):
    """A VM an hour for four days, each for two hours and one in 24 for ten days."""
    lines = [
        "vmid,subscriptionid,deploymentid,vmcreated,vmdeleted,vmcategory,vmcorecountbucket,"
        "vmmemorybucket,lifetime"
    ]
    lines += [f"{k},0,0,{k},0,2,1,1,{240 if k % 24 == 0 else 2}" for k in range(97)]
    (tmp_path / "vms.csv").write_text("\n".join(lines) + "\n")
    workload = {"source": "files", "vmtable": "vms.csv", "cpu_percent": 50, "start_s": 30 * 3600}
    spec = {
        "scenario": "vm",
        "ticks": 48,
        "tick_seconds": 3600,
        "machines": [{"count": 1, "cores": 8, "memory_gb": 8}],
        "workload": {**workload, "resample": {"blocks": "day"}},
    }
    for seed in range(4):
        work = load(spec, folder=tmp_path).load_workload(seed)
        assert work.created.tolist() == [0, 0, 0, *range(48)]
        assert work.lifetime[:3].tolist() == [210, 234, 1]
        assert (work.lifetime[3:] == 240).nonzero()[0].tolist() == [18, 42]


def test_specs_of_imports_take_it(tmp_path):
    write_exports(tmp_path, "vms.csv", "rpm.csv", "invocations.csv")
    for name, key, change in (
        ("vms.csv", "workload.resample", {"blocks": "day"}),
        ("rpm.csv", "arrivals.resample", {"blocks": "hour"}),
    ):
        import_files([tmp_path / name]).save(tmp_path / "out")
        plain = load(tmp_path / "out" / "spec.yaml")
        drawn = load(tmp_path / "out" / "spec.yaml", {key: change})
        assert plain.resampled == ""
        assert drawn.resampled.startswith("whole ")
        works = [
            np.asarray(_figures(one.load_workload(seed)))
            for one in (plain, drawn)
            for seed in (0, 1)
        ]
        assert works[0].tolist() == works[1].tolist()
        assert works[2].tolist() != works[3].tolist()


def _figures(work):
    return np.column_stack((work.created, work.cores)).ravel() if hasattr(work, "created") else work


def test_jobs_that_come_again_keep_their_graph(tmp_path):
    lines = ["job,submit_s,task,instances,cpu,memory,duration_s,parents"]
    for k in range(6):
        lines += [f"j{k},{k * 1800},a,1,1,1,{60 + k},", f"j{k},{k * 1800},b,2,1,1,30,a"]
    (tmp_path / "jobs.csv").write_text("\n".join(lines) + "\n")
    spec = {
        "scenario": "jobs",
        "machines": [{"count": 2, "cpu": 4, "memory": 8}],
        "workload": {
            "source": "file",
            "path": "jobs.csv",
            "resample": {"blocks": "hour"},
            "scale": 2,
        },
    }
    work = load(spec, folder=tmp_path).load_workload(3)
    assert len(work.job_ids) == len(set(work.job_ids.to_pylist())) == 2 * len(work.job_ids) // 2
    for job in range(len(work.submit)):
        first, second = work.first_task[job], work.first_task[job] + 1
        assert work.parents[work.first_parent[second] : work.first_parent[second + 1]] == [first]
        assert work.duration[second] == 30
    assert "scaled by 2" in load(spec, folder=tmp_path).resampled


LOG = "job,submit_s,task,instances,cpu,memory,duration_s\n" + "".join(
    f"j{k},{k * 1800},a,1,1,1,{600 + 500 * (k % 3)}\n" for k in range(10)
)
JOBS = {
    "scenario": "jobs",
    "machines": [{"name": "node", "count": 1, "cpu": 1, "memory": 8, "price": {"hour_usd": 1}}],
    "workload": {"source": "file", "path": "jobs.csv"},
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"window": {"start_h": 1, "hours": 2}}, ""),
        ({"window": {"first": 1, "jobs": 4}}, ""),
        ({"window": {"hours": 2}}, "windows of the recorded trace"),
        ({"scale": 1.2}, "the recorded trace, scaled by 1.2"),
        (
            {"window": {"jobs": 4}, "resample": {"blocks": "hour"}, "scale": 2},
            "windows of whole hours of the recorded trace, scaled by 2",
        ),
    ],
)
def test_what_is_drawn_of_jobs_is_told(tmp_path, changes, words):
    (tmp_path / "jobs.csv").write_text(LOG)
    spec = {**JOBS, "workload": {**JOBS["workload"], **changes}}
    scenario = load(spec, folder=tmp_path)
    assert scenario.resampled == words
    assert scenario.is_one_trace == (words == "")
    works = [scenario.load_workload(seed) for seed in range(8)]
    differ = {(*work.submit.tolist(), *work.duration.tolist()) for work in works}
    assert (len(differ) > 1) == (words != "")


def test_rates_and_requests_that_are_scaled(tmp_path):
    """A scale of rates changes all replications alike; one of requests leaves out or copies."""
    write_exports(tmp_path, "rpm.csv", "invocations.csv")
    import_files([tmp_path / "rpm.csv"]).save(tmp_path / "rates")
    import_files([tmp_path / "invocations.csv"]).save(tmp_path / "requests")
    rates = load(tmp_path / "rates" / "spec.yaml", {"arrivals.scale": 1.2})
    assert rates.load_workload(0).tolist() == rates.load_workload(1).tolist()
    assert (rates.resampled, rates.is_one_trace) == ("", True)
    with pytest.raises(CloudarenaError, match="draws no recorded trace again"):
        check_resampled(rates)
    requests = load(tmp_path / "requests" / "spec.yaml", {"load_scale": 1.2})
    assert requests.resampled == "the recorded trace, scaled by 1.2"
    assert load(tmp_path / "requests" / "spec.yaml").is_one_trace


def test_every_answer_says_which_traces_it_is_about(tmp_path):
    """Replications of one trace that differ all the same say nothing of other traces."""
    (tmp_path / "jobs.csv").write_text(LOG)
    failing = {**JOBS, "failures": {"mtbf_s": 4000, "mttr_s": 600}}
    one = "All replications have the same recorded trace: {} about it alone."
    drawn = "Replications draw whole hours of the recorded trace: {} about such traces."
    policies = ["first-fit", "worst-fit"]
    for change, words in (({}, one), ({"resample": {"blocks": "hour"}}, drawn)):
        spec = {**failing, "workload": {**JOBS["workload"], **change}}
        spec["workload"]["path"] = str(tmp_path / "jobs.csv")
        compared = compare(load(spec), policies, replications=3, workers=1)
        assert compared.conclusion().endswith(words.format("intervals are"))
        sized = size(spec, ["wait_mean_s<=1e6"], "first-fit", replications=2, workers=1)
        assert words.format("what is said is") in sized.conclusion()
        study = {"spec": spec, "designs": {"policy": policies}, "objectives": ["makespan_s"]}
        found = optimize(study, evaluations=20, workers=1)
        assert found.conclusion().endswith(words.format("what is claimed is"))
        assert found.repeated == 0  # machines fail
    plain = compare(load(JOBS, folder=tmp_path), policies, replications=2, workers=1)
    assert "recorded trace" not in plain.conclusion()  # it says "one trace" itself
    told = optimize(
        {**study, "spec": {**JOBS, "workload": dict(spec["workload"], resample=None)}},
        evaluations=20,
        workers=1,
    )
    assert told.repeated == told.selection.evaluations - 4  # each of the two was run twice
    assert f"{told.repeated} were not run: on this one trace" in told.cost()
    assert told.conclusion().endswith(one.format("what is claimed is"))
    told.save(tmp_path / "told")
    kept = Optimization.load(tmp_path / "told")
    assert (kept.repeated, kept.cost()) == (told.repeated, told.cost())
    assert one.format("what is claimed is") in (tmp_path / "told" / "report.html").read_text()
