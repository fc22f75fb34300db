"""VMs like Azure's of 2019: the published statistics, and what holds at any size."""

import hashlib

import numpy as np
import pytest

from cloudarena.base.errors import SpecError
from cloudarena.workloads.vm import azure_like, azure_readings
from cloudarena.workloads.vm.azure_like import generate
from cloudarena.workloads.vm.columns import describe

SIZES = (1, 10, 100)


def digest(workload):
    parts = hashlib.sha256()
    for column in workload:
        parts.update(np.asarray(column).tobytes())
    return parts.hexdigest()


@pytest.fixture(scope="module")
def month():
    return generate(10_000, 0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_published_statistics_within_one_percent(month, seed):
    workload = month if seed == 0 else generate(10_000, seed)
    figures = describe(workload)
    ticks = azure_like.MONTH_TICKS
    inside = np.minimum(workload.lifetime, ticks - workload.created)
    assert inside.sum() / ticks == pytest.approx(835.7, rel=0.01)
    assert figures["concurrent_mean"] == pytest.approx(835.7, rel=0.01)
    assert figures["cores_mean"] == pytest.approx(3.8, rel=0.01)
    assert figures["memory_gb_mean"] == pytest.approx(15.9, rel=0.01)
    assert figures["cpu_percent_mean"] == pytest.approx(15.7, rel=0.01)
    assert workload.created.max() < ticks


def test_the_same_seed_gives_the_same_bytes_and_another_other_bytes():
    one, again, other = (digest(generate(500, seed, ticks=1000)) for seed in (4, 4, 5))
    assert one == again
    assert one != other


@pytest.mark.parametrize("vms", SIZES)
@pytest.mark.parametrize("ticks", [25, 287, 1001, azure_like.MONTH_TICKS])
def test_any_size_and_length(vms, ticks):
    workload = generate(vms, 0, ticks=ticks)
    figures = describe(workload)
    assert figures["vms"] == vms
    assert set(workload.cores) <= set(azure_like.CORES)
    assert set(workload.memory_gb) <= set(azure_like.MEMORY_GB)
    assert set(workload.category) <= {0, 1, 2}
    assert (np.diff(workload.created) >= 0).all()
    assert workload.created.min() >= 0
    assert workload.created.max() < ticks
    assert workload.lifetime.min() >= 1
    assert (workload.created + workload.lifetime).max() <= ticks + 1
    assert len(workload.readings) == workload.lifetime.sum()
    assert workload.readings.min() >= 0
    assert workload.readings.max() <= 100
    assert workload.first_reading[-1] + workload.lifetime[-1] == len(workload.readings)


def test_only_published_buckets_in_the_published_mix(month):
    figures = describe(month)
    assert figures["cores"] == {"2": 7330, "4": 1277, "8": 1014, "24": 251, "32": 128}
    assert list(figures["memory_gb"]) == ["2", "4", "8", "32", "64", "128"]
    assert list(figures["categories"].values()) == [1703, 455, 7842]


def at_tick_zero(workload):
    return np.flatnonzero(workload.created == 0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_month_begins_as_it_goes_on(month, seed):
    """As many run at tick 0 as on average and, within what is published, at the end."""
    workload = month if seed == 0 else generate(10_000, seed)
    assert len(at_tick_zero(workload)) == pytest.approx(835.7, rel=0.01)
    at_end = (workload.created + workload.lifetime > azure_like.MONTH_TICKS).sum()
    assert at_end == pytest.approx(820, rel=0.08)


def test_initial_vms_come_in_mixed_order(month):
    """Month-long ones are not first: they would fill any cloud that is too small."""
    initial = at_tick_zero(month)
    month_long = month.lifetime[initial] > azure_like.MONTH_TICKS
    assert month_long.mean() == pytest.approx(azure_like.MONTH_LONG_SHARE, abs=0.02)
    for part in np.array_split(month_long, 4):
        assert part.mean() == pytest.approx(azure_like.MONTH_LONG_SHARE, abs=0.08)
    # VMs of one deployment are not side by side either: two of a pair rarely are.
    beside = np.diff(month.deployment[initial]) == 0
    assert beside.mean() < 0.02


def test_most_vms_are_short_and_the_few_long_ones_hold_the_cloud(month):
    ticks = azure_like.MONTH_TICKS
    inside = np.minimum(month.lifetime, ticks - month.created)
    later = month.lifetime[month.created > 0]
    assert (later <= 12).mean() > 0.45
    assert (later <= azure_readings.TICKS_PER_DAY).mean() > 0.9
    long_lived = month.lifetime > azure_like.LONG_LIVED_TICKS
    assert 0.08 < long_lived.mean() < 0.11
    assert inside[long_lived].sum() > 0.9 * inside.sum()
    # 469.4 million core hours over 162.5 million VM hours are published, 2.89.
    assert (inside * month.cores).sum() / inside.sum() == pytest.approx(2.89, rel=0.04)


def test_categories_are_known_of_long_lived_vms(month):
    known = month.category != 2
    long_lived = month.lifetime > azure_like.LONG_LIVED_TICKS
    assert known[long_lived].mean() == pytest.approx(azure_like.KNOWN_IF_LONG_LIVED, abs=0.01)
    assert known[~long_lived].mean() < 0.2


def test_deployments_arrive_together(month):
    """One size and category, within minutes, for about as long."""
    later = np.flatnonzero(month.created > 0)
    order = later[np.argsort(month.deployment[later], kind="stable")]
    follows = np.diff(month.deployment[order]) == 0
    one, other = order[:-1][follows], order[1:][follows]
    assert len(one) > 1000
    apart = np.abs(month.created[other] - month.created[one])
    assert np.quantile(apart, 0.99) <= 4
    for column in (month.cores, month.memory_gb, month.category, month.subscription):
        assert (column[one] == column[other]).mean() > 0.9
    logs = np.log(month.lifetime)
    assert np.corrcoef(logs[one], logs[other])[0, 1] > 0.6
    sizes = np.bincount(month.deployment)
    assert sizes.min() == 1
    assert sizes.max() <= azure_like.LARGEST_DEPLOYMENT
    assert (sizes >= 2).mean() == pytest.approx(2.0**-azure_like.DEPLOYMENT_TAIL, abs=0.02)
    firsts = np.unique(month.deployment[later], return_index=True)[1]
    assert (np.diff(month.created[later][firsts]) >= -4).all()


def test_deployments_come_at_their_own_times(month):
    """Arrivals are in bursts: ticks differ more than those of independent VMs would."""
    counts = np.bincount(month.created[month.created > 0], minlength=azure_like.MONTH_TICKS)
    hour = counts[: 8638 // 12 * 12].reshape(-1, 12)
    assert hour.var(axis=1, ddof=1).sum() > 1.3 * hour.mean(axis=1).sum()


def test_readings_follow_the_day(month):
    long_lived = np.flatnonzero(month.lifetime > 7 * azure_readings.TICKS_PER_DAY)
    total, count = np.zeros(24), np.zeros(24)
    for vm in long_lived:
        first, lifetime = month.first_reading[vm], month.lifetime[vm]
        hour = np.arange(month.created[vm], month.created[vm] + lifetime) // 12 % 24
        total += np.bincount(hour, month.readings[first : first + lifetime], 24)
        count += np.bincount(hour, minlength=24)
    by_hour = total / count
    assert 12 <= by_hour.argmax() <= 15
    assert by_hour.argmin() in (0, 1, 2, 3)
    assert by_hour.max() > 1.2 * by_hour.min()


def test_arrivals_follow_the_day(month):
    later = month.created[month.created > 0]
    by_hour = np.bincount(later // 12 % 24, minlength=24)
    assert by_hour[10:14].sum() > 1.5 * (by_hour[:2].sum() + by_hour[22:].sum())


def test_noise_lasts_and_differs_between_vms(month):
    """Autocorrelation 0.7, less for small spikes that cannot be told; none between VMs."""
    longest = np.argsort(-month.lifetime, kind="stable")[:60]
    day = azure_readings.TICKS_PER_DAY
    residuals = []
    for vm in longest:
        series = month.readings[month.first_reading[vm] :][: 29 * day].reshape(29, day)
        residual = (series - np.median(series, axis=0)).ravel()
        bound = 4 * np.median(np.abs(residual))
        residuals.append(np.clip(residual, -bound, bound))
    lag_one = [np.corrcoef(series[:-1], series[1:])[0, 1] for series in residuals]
    assert np.median(lag_one) == pytest.approx(azure_readings.PERSISTENCE, abs=0.08)
    between = np.corrcoef(residuals)[np.triu_indices(len(residuals), 1)]
    assert np.abs(between).max() < 0.15
    assert np.abs(between.mean()) < 0.005


def test_a_share_of_the_readings_are_spikes():
    """Against a flat line: spikes lift the mean by their probability times size."""
    vms, ticks = 50, 4000
    readings = np.empty(vms * ticks)
    whole = np.zeros(vms, np.int64)
    level, nothing = np.full(vms, 20.0), np.zeros(vms)
    azure_readings.fill_readings(
        whole, whole + ticks, np.arange(vms) * ticks, level, nothing, nothing, nothing,
        np.arange(vms) * 2**40 + 7, readings,
    )  # fmt: skip
    spikes = readings > 20.001
    assert spikes.mean() == pytest.approx(azure_readings.SPIKE_PROBABILITY, rel=0.05)
    assert (readings[spikes] - 20).mean() == pytest.approx(80 * azure_readings.SPIKE_MEAN, rel=0.05)
    assert readings[~spikes] == pytest.approx(20)


def test_a_reading_does_not_depend_on_the_day_it_is_made_in():
    """The state is carried over from one day's block to the next."""
    ticks = 3 * azure_readings.TICKS_PER_DAY
    one = np.zeros(1, np.int64)
    flat, seed = np.full(1, 20.0), np.full(1, 99)
    arguments = (flat, np.zeros(1), np.zeros(1), np.full(1, 0.3), seed)
    whole = np.empty(ticks)
    azure_readings.fill_readings(one, one + ticks, one, *arguments, whole)
    for length in (1, 287, 288, 289, 700):
        part = np.empty(length)
        azure_readings.fill_readings(one, one + length, one, *arguments, part)
        assert np.array_equal(part, whole[:length])
    drift = (whole / 20.0 - 1.0) / 0.3
    shocks = drift[1:] - azure_readings.PERSISTENCE * drift[:-1]
    # A spike is in two of them, and one reading in a hundred is a spike.
    assert np.quantile(np.abs(shocks), 0.97) < 1.0001
    assert np.abs(shocks[[287, 575]]).max() < 1.0001


@pytest.mark.parametrize(("vms", "concurrent"), [(10, 5000), (100, 105), (10_000, 2)])
def test_an_unreachable_number_of_concurrent_vms_is_refused(vms, concurrent):
    with pytest.raises(SpecError, match=f"workload.concurrent: {concurrent:g} is not allowed"):
        generate(vms, 0, concurrent, ticks=1000)


def test_concurrent_and_cpu_percent_are_met():
    figures = describe(generate(2000, 1, concurrent=400, cpu_percent=30, ticks=2000))
    assert figures["concurrent_mean"] == pytest.approx(400, rel=0.01)
    assert figures["cpu_percent_mean"] == pytest.approx(30, rel=0.02)
