"""Generators of jobs: what they are calibrated to, and that a seed decides everything."""

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.workloads.jobs.alibaba_like import alibaba_like
from cloudarena.workloads.jobs.columns import check_workload, describe, jobs_of_tasks
from cloudarena.workloads.jobs.deeprm import deeprm
from cloudarena.workloads.jobs.lublin import MODELS, day_weights, lublin_feitelson
from cloudarena.workloads.jobs.tpch_like import SIZES_GB, TEMPLATES, tpch_like

from .cases import same_jobs

LAWS_OF_JOBS = [alibaba_like, lublin_feitelson, deeprm, tpch_like]


def ranks(values):
    """Ranks, with the mean rank for equal values."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts + 1) / 2)[inverse]


def rank_correlation(one, other):
    return np.corrcoef(ranks(one), ranks(other))[0, 1]


def share_between_jobs(workload, values):
    """The share of the variance of tasks' values that is between jobs."""
    job = jobs_of_tasks(workload)
    means = np.bincount(job, values) / np.bincount(job)
    return 1 - ((values - means[job]) ** 2).sum() / ((values - values.mean()) ** 2).sum()


def work_of_jobs(workload):
    work = workload.instances * workload.duration * workload.demand[:, 0]
    return np.add.reduceat(work, workload.first_task[:-1])


@pytest.mark.parametrize("draw", LAWS_OF_JOBS)
def test_a_seed_decides_everything(draw):
    one, again, other = draw(60, 5), draw(60, 5), draw(60, 6)
    same_jobs(one, again)
    assert one.submit.tolist() != other.submit.tolist()
    assert one.duration.tolist() != other.duration.tolist()
    for workload in (one, other):
        check_workload(workload)
        assert len(workload.submit) == 60
        assert workload.submit[0] == 0
        assert (np.diff(workload.submit) >= 0).all()


@pytest.mark.parametrize("draw", LAWS_OF_JOBS)
def test_a_single_job(draw):
    assert draw(1, 0).submit.tolist() == [0]


@pytest.mark.parametrize("draw", LAWS_OF_JOBS)
def test_jobs_are_needed(draw):
    with pytest.raises(SpecError, match="jobs: 0 is not allowed: from 1 to 10,000,000"):
        draw(0, 0)
    with pytest.raises(SpecError, match="seed: -1 is not allowed"):
        draw(1, -1)


@pytest.mark.parametrize(
    ("draw", "parameters", "words"),
    [
        (alibaba_like, {"rate": 0}, "rate: 0 is not allowed: a number more than 0"),
        (alibaba_like, {"rate": float("nan")}, "rate: nan is not allowed"),
        (lublin_feitelson, {"rate": -1}, "rate: -1 is not allowed"),
        (lublin_feitelson, {"processors": 16}, "processors: 16 is not allowed: from 32 to 1048576"),
        (lublin_feitelson, {"kind": "bach"}, "kind: 'bach' .* one of all, .* Did you mean 'batch'"),
        (deeprm, {"rate": 1.5}, "rate: 1.5 is not allowed: at most 1"),
        (deeprm, {"short_share": -0.1}, "short_share: -0.1 is not allowed: from 0 to 1"),
        (deeprm, {"step_seconds": 0}, "step_seconds: 0 is not allowed"),
        (tpch_like, {"mean_gap": float("inf")}, "mean_gap: inf is not allowed"),
    ],
)
def test_parameters_are_checked(draw, parameters, words):
    with pytest.raises(SpecError, match=words):
        draw(10, 0, **parameters)


@pytest.fixture(scope="module")
def alibaba():
    """Four times as many jobs as the list of 2017 has."""
    return alibaba_like(20_864, 0)


def test_alibaba_like_has_the_sizes_of_the_list(alibaba):
    figures = describe(alibaba)
    assert figures["tasks_per_job_mean"] == pytest.approx(6.088, rel=0.05)
    assert figures["instances_per_task_mean"] == pytest.approx(80.33, rel=0.12)
    assert figures["duration_mean_s"] == pytest.approx(42.69, rel=0.05)
    assert figures["duration_median_s"] == pytest.approx(12.5, rel=0.12)
    assert alibaba.instances.max() <= 36_326
    assert (alibaba.instances == 1).mean() == pytest.approx(0.480, abs=0.02)
    for percent, value in ((75, 29), (90, 158), (95, 361), (99, 997)):
        assert np.percentile(alibaba.instances, percent) == pytest.approx(value, rel=0.12)
    for percent, value in ((25, 4), (75, 50), (90, 121), (99, 364.6)):
        assert np.percentile(alibaba.duration, percent) == pytest.approx(value, rel=0.12)
    tasks = np.diff(alibaba.first_task)
    assert (tasks == 1).mean() == pytest.approx(0.124, abs=0.01)
    assert np.percentile(tasks, (25, 50, 75, 90, 95)).tolist() == [2, 5, 8, 11, 13]
    cpu, memory = alibaba.demand[:, 0], alibaba.demand[:, 1]
    assert (cpu == 0.5).mean() == pytest.approx(0.695, abs=0.02)
    assert (cpu == 1.0).mean() == pytest.approx(0.292, abs=0.02)
    assert memory.mean() == pytest.approx(0.00673, rel=0.05)
    assert not alibaba.demand[:, 2:].any()


def test_alibaba_like_keeps_what_goes_together(alibaba):
    instances, duration = alibaba.instances, alibaba.duration
    cpu, memory = alibaba.demand[:, 0], alibaba.demand[:, 1]
    tasks = np.diff(alibaba.first_task)[jobs_of_tasks(alibaba)]
    assert rank_correlation(instances, duration) == pytest.approx(0.468, abs=0.04)
    assert rank_correlation(instances, memory) == pytest.approx(0.543, abs=0.04)
    assert rank_correlation(duration, memory) == pytest.approx(0.510, abs=0.06)
    assert rank_correlation(instances, tasks) == pytest.approx(-0.277, abs=0.07)
    assert share_between_jobs(alibaba, np.log(instances)) == pytest.approx(0.449, abs=0.09)
    assert share_between_jobs(alibaba, np.log(duration)) == pytest.approx(0.561, abs=0.06)
    assert share_between_jobs(alibaba, np.log(memory)) == pytest.approx(0.484, abs=0.07)
    assert np.average(duration, weights=instances) == pytest.approx(73.98, rel=0.1)
    assert np.average(cpu, weights=instances) == pytest.approx(0.6547, rel=0.05)
    assert np.average(memory, weights=instances) == pytest.approx(0.00919, rel=0.15)


def test_alibaba_like_has_the_work_of_the_list(alibaba):
    work = work_of_jobs(alibaba)
    assert work.mean() == pytest.approx(21_625, rel=0.15)
    for percent, value in ((25, 409), (50, 3840), (75, 15_022), (90, 39_506)):
        assert np.percentile(work, percent) == pytest.approx(value, rel=0.25)


def test_alibaba_like_arrives_as_the_list_does(alibaba):
    gaps = np.diff(alibaba.submit)
    assert gaps.mean() == pytest.approx(11.47, rel=0.05)
    assert gaps.std() / gaps.mean() == pytest.approx(1.9, abs=0.2)
    assert (gaps == 0).mean() == pytest.approx(0.08, abs=0.04)
    hours = np.histogram(alibaba.submit, [0, 3600, 13 * 3600, 14 * 3600])[0]
    assert hours[0] == pytest.approx(364, rel=0.25)
    assert hours[2] == pytest.approx(572, rel=0.25)
    twice = np.diff(alibaba_like(5000, 0, rate=2.0).submit)
    assert twice.mean() == pytest.approx(11.47 / 2, rel=0.1)


def test_durations_are_means_of_whole_seconds(alibaba):
    seconds = alibaba.duration * alibaba.instances
    assert np.abs(seconds - np.rint(seconds)).max() < 1e-6
    assert alibaba.duration.min() == 1


@pytest.fixture(scope="module", params=["all", "batch", "interactive"])
def lublin(request):
    return MODELS[request.param], lublin_feitelson(20_000, 1, kind=request.param)


def test_lublin_sizes(lublin):
    model, workload = lublin
    size = workload.instances
    assert (size == 1).mean() == pytest.approx(model.serial_prob, abs=0.015)
    powers = np.isin(size, 2 ** np.arange(1, 8)).mean()
    # Some of the others are powers of two by chance.
    assert model.pow2_prob - 0.015 < powers < model.pow2_prob + 0.09
    assert size.max() == round(2**model.high)
    assert (workload.gang == (size > 1)).all()
    assert set(workload.demand[:, 0]) == {1.0}


def test_lublin_run_times(lublin):
    model, workload = lublin
    first = np.clip(model.pa * workload.instances + model.pb, 0, 1)
    mean = first * model.a1 * model.b1 + (1 - first) * model.a2 * model.b2
    # Whole seconds and the limit of two days take a little away.
    assert np.log(workload.duration).mean() == pytest.approx(mean.mean(), rel=0.05)
    assert workload.duration.max() <= np.exp(12)
    assert workload.duration.min() >= 1
    assert (workload.duration == np.rint(workload.duration)).all()


def test_lublin_arrivals(lublin):
    model, _ = lublin
    weights = day_weights(model)
    assert weights.mean() == pytest.approx(1)
    # In hours: the least before dawn, the most after noon.
    assert 4.5 <= weights.argmin() / 2 <= 6
    assert 12 <= weights.argmax() / 2 <= 15


def test_lublin_follows_the_day():
    workload = lublin_feitelson(20_000, 0)
    # Times are from the first job on; the first comes soon after midnight.
    half_hour = (workload.submit // 1800 % 48).astype(int)
    counts = np.bincount(half_hour, minlength=48) / (20_000 / 48)
    assert np.corrcoef(counts, day_weights(MODELS["all"]))[0, 1] > 0.95
    gap = np.diff(workload.submit).mean()
    rng = np.random.default_rng(0)
    model = MODELS["all"]
    logs = rng.gamma(model.aarr * model.arar, model.barr, 400_000)
    assert gap == pytest.approx(np.exp(logs[logs <= 13]).mean(), rel=0.1)
    fast = np.diff(lublin_feitelson(20_000, 0, rate=4.0).submit).mean()
    assert fast == pytest.approx(gap / 4, rel=0.01)


def test_lublin_for_a_larger_machine():
    workload = lublin_feitelson(20_000, 0, processors=1000)
    assert workload.instances.max() <= 1000
    assert workload.instances.max() > 800


def test_deeprm():
    workload = deeprm(20_000, 0)
    assert set(workload.instances) == {1}
    assert np.diff(workload.submit).min() == 1
    assert np.diff(workload.submit).mean() == pytest.approx(1 / 0.7, rel=0.02)
    short = workload.duration <= 3
    assert short.mean() == pytest.approx(0.8, abs=0.01)
    assert set(workload.duration) == {1, 2, 3, 10, 11, 12, 13, 14, 15}
    cpu, memory = workload.demand[:, 0], workload.demand[:, 1]
    hungry = cpu > memory
    assert hungry.mean() == pytest.approx(0.5, abs=0.01)
    assert set(np.maximum(cpu, memory)) == {5, 6, 7, 8, 9, 10}
    assert set(np.minimum(cpu, memory)) == {1, 2}
    # The load of DeepRM's machine of 10 slots: 0.7 jobs of 4.1 steps and 4.5 slots in a step.
    load = (cpu * workload.duration).sum() / workload.submit[-1] / 10
    assert load == pytest.approx(0.7 * 4.1 * 4.5 / 10, rel=0.03)
    slow = deeprm(100, 0, step_seconds=60.0)
    assert slow.duration.tolist() == (60 * deeprm(100, 0).duration).tolist()


def test_tpch_like_has_templates_at_sizes():
    workload = tpch_like(4000, 3)
    figures = describe(workload)
    assert figures["jobs_with_edges"] == 4000
    assert 3 <= figures["levels_mean"] <= 7
    assert figures["levels_max"] <= 8
    assert np.diff(workload.submit).mean() == pytest.approx(25, rel=0.05)
    work = work_of_jobs(workload)
    assert work.mean() == pytest.approx(2000, rel=0.1)
    assert len(np.unique(work.round(6))) == TEMPLATES * len(SIZES_GB)
    assert np.sort(work)[::-1][:920].sum() / work.sum() > 0.6
    assert set(workload.demand[:, 0]) == {1.0}
    assert set(workload.demand[:, 1]) == {0.25, 0.5, 0.75, 1.0}


def test_tpch_like_stages_lead_to_one_result():
    workload = tpch_like(50, 9)
    awaited = np.zeros(len(workload.instances), bool)
    awaited[workload.parents] = True
    last = workload.first_task[1:] - 1
    assert not awaited[last].any()
    awaited[last] = True
    assert awaited.all()
