"""VM requests like those of Azure's public trace of 2019, at any size, from a seed.

Calibrated to what is published of AzurePublicDatasetV2 and its samples of 10,000 and 336,000 VMs
over 30 days (8,638 ticks of 5 minutes): sizes by the trace's buckets, the mean number of VMs
alive at a time, the mean CPU reading, and how many VMs clouds of four sizes could take (docs/vm.md
has them beside ours). Sizes, lifetimes and categories are drawn by quota (each seed has the
published mix, in another order), so that samples differ in what happens when, not in how much.

The month begins in the middle of things: at tick 0 as many VMs run as on average, in mixed order,
and most of them all month. Those that come later are many and short. VMs come as deployments: of
one size and category, within minutes, for about as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.arrow import arrow_column
from cloudarena.base.errors import SpecError
from cloudarena.base.memory import check_memory
from cloudarena.base.numpy import np
from cloudarena.contract.source import Scan, Source
from cloudarena.engine.streams import stream
from cloudarena.workloads.quotas import (
    deal_to_groups,
    part_of_quota,
    quota_counts,
    strata_by_group,
)
from cloudarena.workloads.vm.columns import (
    MOST_VMS,
    READING_BYTES,
    TICKS_PER_DAY,
    VmWorkload,
    offsets,
)
from cloudarena.workloads.vm.readings import LAST_TICK, MOST_READINGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

MONTH_TICKS = 8638
CONCURRENT_SHARE = 835.7 / 10_000
"""VMs alive at a time per VM of the trace, in the sample of 10,000."""
CPU_PERCENT = 15.7

CORES = (2.0, 4.0, 8.0, 24.0, 32.0)
CORES_SHARE = (0.7330, 0.1277, 0.1014, 0.0251, 0.0128)
CORES_SHARE_INITIAL = (0.83, 0.10, 0.06, 0.008, 0.002)
"""The mix among VMs that run at tick 0: smaller, so that 2.9 cores are held by a VM alive."""
MEMORY_GB = (2.0, 4.0, 8.0, 32.0, 64.0, 128.0)
MEMORY_SHARE = (
    (0.12, 0.46, 0.42, 0.0, 0.0, 0.0),
    (0.0, 0.0, 0.54, 0.46, 0.0, 0.0),
    (0.0, 0.0, 0.0, 0.25, 0.75, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.60, 0.40),
    (0.0, 0.0, 0.0, 0.0, 0.125, 0.875),
)
"""The mix of memory for each core bucket; the means are 5.44, 19.0, 56, 89.6 and 120 GB."""
CATEGORY_SHARE = (0.1703, 0.0455, 0.7842)
LONG_LIVED_TICKS = 3 * TICKS_PER_DAY
KNOWN_IF_LONG_LIVED = 0.82
"""The share of VMs of more than three days whose category is known; Azure tells it by days of
readings. Since machines do not mix categories, this keeps the long-lived apart from the short."""

MONTH_LONG_SHARE = 0.86
"""The share of the VMs that run at tick 0 and all month."""
RESIDUAL_LIFETIME = (260.0, 2.0)
"""Median in ticks and sigma of the log-normal lifetime that is left to the others.

This distribution and the next two are scaled by one factor, near 1 for a month, to meet the VMs
alive at a time."""
LIFETIME = (12.0, 2.0)
"""Later VMs: median and sigma."""
LONG_SHARE, LONG_LIFETIME = 0.004, (3400.0, 1.2)
"""The few later VMs that stay for weeks: their share, median and sigma."""

DEPLOYMENT_TAIL, LARGEST_DEPLOYMENT = 2.5, 30
"""A deployment has k VMs or more with probability ``k ** -2.5``: four of five are of one VM."""
DEPLOYMENT_SPREAD_TICKS = 0.5
"""The mean delay of a VM after the start of its deployment."""
LIFETIME_CORRELATION = 0.75
"""The correlation of the logarithms of lifetimes within a deployment."""
VMS_PER_SUBSCRIPTION = 15


class AzureLike(Source):
    """VMs like those of Azure's trace of 2019, at any size."""

    is_generator = True
    reads_files = False
    example = "--vms 10000 --seed 0 --out azure-like-10k"

    source: Literal["azure-like"]
    vms: int = Field(ge=1, le=MOST_VMS)
    """How many VMs arrive."""
    concurrent: float | None = Field(None, gt=0, le=MOST_VMS)
    """How many are alive on average; 8.4 % by default."""
    cpu_percent: float = Field(CPU_PERCENT, gt=1, le=50)
    """The mean CPU reading."""
    ticks: int = Field(MONTH_TICKS, ge=2, le=LAST_TICK)
    """The length; a month by default."""

    @model_validator(mode="after")
    def _room(self) -> AzureLike:
        """Each VM has a reading for each tick of its life."""
        readings = self._alive * self.ticks
        if readings > MOST_READINGS:
            raise PydanticCustomError(
                "not_allowed",
                f"ticks: {self.ticks} is not allowed: {self._alive:g} VMs at a time have "
                f"{readings:.2g} readings, and at most {MOST_READINGS:,} can be kept",
            )
        return self

    @property
    def _alive(self) -> float:
        """How many VMs there are at a time."""
        return self.concurrent or CONCURRENT_SHARE * self.vms

    def load(self, seed: int) -> VmWorkload:
        """Draws the VMs of a seed."""
        check_memory(
            READING_BYTES * self._alive * self.ticks,
            f"workload.vms: {self.vms} over {self.ticks} ticks",
        )
        return generate(self.vms, seed, self.concurrent, self.cpu_percent, self.ticks)

    def scan(self, seed: int) -> Scan:
        """Draws the VMs of a seed, and counts them."""
        workload = self.load(seed)
        return Scan(workload, {"vms": self.vms, "readings": len(workload.readings)})


class Arrivals(NamedTuple):
    """When VMs come, and which come together."""

    created: NDArray[np.int64]
    """The tick of arrival, rising."""
    deployment: NDArray[np.int64]
    initial: int
    """The number of VMs that run already at tick 0."""


def generate(
    vms: int,
    seed: int,
    concurrent: float | None = None,
    cpu_percent: float = CPU_PERCENT,
    ticks: int = MONTH_TICKS,
) -> VmWorkload:
    """Draws a workload of ``vms`` requests over ``ticks`` ticks."""
    # Compiled code: a spec is validated without it.
    from cloudarena.workloads.vm.azure_readings import draw_readings

    rng = stream(seed, "workload")
    concurrent = CONCURRENT_SHARE * vms if concurrent is None else concurrent
    arrivals = _arrivals(rng, vms, concurrent, ticks)
    created, deployment = arrivals.created, arrivals.deployment
    lifetime = _lifetimes(rng, arrivals, concurrent, ticks)
    cores_code = _codes(
        rng, deployment, np.arange(vms) < arrivals.initial, CORES_SHARE, CORES_SHARE_INITIAL
    )
    memory_gb = np.empty(vms)
    for code, shares in enumerate(MEMORY_SHARE):
        members = np.flatnonzero(cores_code == code)
        counts = quota_counts(len(members), shares)
        memory_gb[members] = np.asarray(MEMORY_GB)[deal_to_groups(rng, deployment[members], counts)]
    category = _categories(rng, deployment, lifetime)
    owners = max(1, vms // VMS_PER_SUBSCRIPTION)
    owner = (owners * rng.random(int(deployment.max()) + 1) ** 2).astype(np.int64)
    first_reading = offsets(lifetime)
    return VmWorkload(
        ids=arrow_column(np.arange(1, vms + 1)),
        subscription=owner[deployment],
        deployment=deployment,
        created=created,
        lifetime=lifetime,
        category=category,
        cores=np.asarray(CORES)[cores_code],
        memory_gb=memory_gb,
        first_reading=first_reading,
        readings=draw_readings(rng, created, lifetime, first_reading, category == 1, cpu_percent),
    )


def _arrivals(rng: np.random.Generator, vms: int, concurrent: float, ticks: int) -> Arrivals:
    """Deployments that run at tick 0, their VMs in mixed order, and those that come later.

    Later ones come by a rate that follows the day (twice as many at noon as at midnight) and the
    week (a third less at weekends). Deployments are numbered in the order of their starts.
    """
    # As many as on average, less what later VMs need that live for a single tick.
    initial = min(vms, max(0, round(concurrent - vms / ticks)))
    running = rng.permutation(_deployments(rng, initial))
    later = _deployments(rng, vms - initial)
    time = np.arange(1, ticks)
    rate = 1.0 - np.cos(2 * np.pi * time / TICKS_PER_DAY) / 3
    rate *= np.where(time // TICKS_PER_DAY % 7 >= 5, 2 / 3, 1.0)
    count = int(later.max(initial=-1)) + 1
    start = 1 + np.searchsorted(np.cumsum(rate) / rate.sum(), np.sort(rng.random(count)))
    delay = DEPLOYMENT_SPREAD_TICKS * rng.standard_exponential(len(later))
    at = (start + rng.random(count))[later] + delay
    created = np.minimum(at.astype(np.int64), ticks - 1)
    order = np.argsort(created, kind="stable")
    return Arrivals(
        np.concatenate((np.zeros(initial, np.int64), created[order])),
        np.concatenate((running, later[order] + int(running.max(initial=-1)) + 1)),
        initial,
    )


def _deployments(rng: np.random.Generator, vms: int) -> NDArray[np.int64]:
    """The deployment of each VM, 0, 0, 0, 1, 2, 2, ..., with sizes of a long tail."""
    sizes = np.floor((1.0 - rng.random(vms)) ** (-1.0 / DEPLOYMENT_TAIL))
    sizes = np.minimum(sizes, LARGEST_DEPLOYMENT).astype(np.int64)
    return np.repeat(np.arange(vms), sizes)[:vms]


def _lifetimes(
    rng: np.random.Generator, arrivals: Arrivals, concurrent: float, ticks: int
) -> NDArray[np.int64]:
    """Lifetimes in ticks, scaled so that ``concurrent`` VMs are alive on average."""
    created, deployment, initial = arrivals
    vms = len(created)
    running, later = deployment[:initial], deployment[initial:]
    lifetimes = np.concatenate(
        (
            _mixture(rng, running, (MONTH_LONG_SHARE, None), RESIDUAL_LIFETIME),
            _mixture(rng, later, (LONG_SHARE, LONG_LIFETIME), LIFETIME),
        )
    )
    left = ticks - created

    def scaled(scale: float) -> NDArray[np.int64]:
        # A VM that outlives the trace is deleted just after its end.
        return np.minimum(np.ceil(np.maximum(scale * lifetimes, 1.0)), left + 1).astype(np.int64)

    target = concurrent * ticks
    low, high = 1e-6, 1e6
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        if np.minimum(scaled(middle), left).sum() < target:
            low = middle
        else:
            high = middle
    lifetime = scaled(high)
    reached = np.minimum(lifetime, left).sum() / ticks
    if abs(reached - concurrent) > max(1.0, 0.02 * concurrent):
        raise SpecError(
            f"workload.concurrent: {concurrent:g} is not allowed: {vms} VMs over {ticks} ticks "
            f"give about {reached:.4g}"
        )
    return lifetime


def _mixture(
    rng: np.random.Generator,
    deployment: NDArray[np.int64],
    long: tuple[float, tuple[float, float] | None],
    other: tuple[float, float],
) -> NDArray[np.float64]:
    """Lifetimes before scaling, of two distributions: long ones (None: for ever) and the others.

    A distribution is the median and the sigma of a log-normal one; VMs of a deployment have similar
    values.
    """
    from scipy.special import ndtri

    share, parameters_of_long = long
    is_other = deal_to_groups(
        rng, deployment, quota_counts(len(deployment), (share, 1.0 - share))
    ).astype(bool)
    lifetimes = np.full(len(deployment), np.inf)
    for members, parameters in ((~is_other, parameters_of_long), (is_other, other)):
        if parameters is not None:
            median, sigma = parameters
            uniform = strata_by_group(rng, deployment[members], LIFETIME_CORRELATION)
            lifetimes[members] = median * np.exp(sigma * ndtri(uniform))
    return lifetimes


def _codes(
    rng: np.random.Generator,
    deployment: NDArray[np.int64],
    special: NDArray[np.bool_],
    shares: tuple[float, ...],
    special_shares: tuple[float, ...],
) -> NDArray[np.int64]:
    """Codes by the mix ``shares`` over all VMs, by another mix among the special ones."""
    quota = quota_counts(len(deployment), shares)
    part = part_of_quota(quota, int(special.sum()), special_shares)
    codes = np.empty(len(deployment), np.int64)
    codes[special] = deal_to_groups(rng, deployment[special], part)
    codes[~special] = deal_to_groups(rng, deployment[~special], quota - part)
    return codes


def _categories(
    rng: np.random.Generator, deployment: NDArray[np.int64], lifetime: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Categories: the published mix over all VMs, mostly known ones among the long-lived."""
    insensitive, interactive, _ = CATEGORY_SHARE
    known = KNOWN_IF_LONG_LIVED / (insensitive + interactive)
    long_lived = (known * insensitive, known * interactive, 1.0 - KNOWN_IF_LONG_LIVED)
    return _codes(rng, deployment, lifetime > LONG_LIVED_TICKS, CATEGORY_SHARE, long_lived)
