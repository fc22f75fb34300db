"""A recorded trace gets replications: blocks are kept whole, at the same time of day."""

import numpy as np
import pytest
from tools.make_exports import write_exports

from cloudarena import load
from cloudarena.base.errors import CloudarenaError
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
