"""Functions and their images as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import SpecError
from cloudarena.engine.distributions import Distribution, constant, mean
from cloudarena.engine.hashing import name_key
from cloudarena.engine.variates import Distributions, make_distributions
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.spec.functions import Function, Image, Use
from cloudarena.scenarios.faas.spec.own import own_or
from cloudarena.scenarios.faas.state import (
    FIT,
    FUNCTION,
    NONE,
    SUGGESTED,
    VARIANT,
    WHOLE,
    Accelerator,
    Keep,
    Resource,
    Scaler,
    member,
)
from cloudarena.workloads.faas import functions as faas_functions
from cloudarena.workloads.faas.devices import Device

NO_LIMIT = 1 << 60
NO_SIZE = -1.0
"""The size of an image that is not there for an architecture."""


class Variant(NamedTuple):
    """One image of a function: what it needs, and on each device its distribution, use and size."""

    image: str
    cpu: int
    memory: int
    accelerator: str
    accelerator_memory: int
    memory_bound: float
    setup_bytes: float
    input_bytes: float
    output_bytes: float
    cold: Distribution | None
    distributions: list[Distribution | None]
    use: list[tuple[float, ...]]
    """The use of cpu, accelerator, disk, network and memory, as shares of the device."""
    size: list[float]
    starts: list[Distribution | None]
    """How long a container takes to start, where that is not the function's or the device's."""
    setups: list[Distribution | None]
    """How long it takes to be set up, where that is not the function's ``setup_s``."""


def variants_of(function: Function, devices: list[Device]) -> list[Variant]:
    """The images of a function, as they are ranked, with what is different on some devices."""
    if function.own:
        images = zip(function.own, function.image_names, strict=True)
        found = [_own(function, image, name, devices) for image, name in images]
    else:
        names = function.image_names
        found = [_published(function, faas_functions.IMAGES[name], devices) for name in names]
    return [_changed(variant, function, devices) for variant in found]


def _changed(variant: Variant, function: Function, devices: list[Device]) -> Variant:
    """An image with what the function says of some devices; sizes stay, and so what cannot run."""
    for d, device in enumerate(devices):
        entry = function.on_devices.get(device.name)
        if entry is None or entry.image not in (None, variant.image):
            continue
        fits = variant.size[d] >= 0 and variant.accelerator in ("none", device.accelerator)
        if entry.execution is not None and fits:
            variant.distributions[d] = entry.execution.made()
        if entry.use is not None:
            variant.use[d] = _shares(entry.use)
        if entry.start is not None:
            variant.starts[d] = entry.start.made()
        if entry.setup is not None:
            variant.setups[d] = entry.setup.made()
    return variant._replace(size=[max(0.0, size) for size in variant.size])


def _shares(used: Use) -> tuple[float, ...]:
    """What an invocation claims of cpu, accelerator, disk, network and memory."""
    return used.cpu, used.accelerator, used.disk, used.network, used.memory


def _has_start_distribution(function: Function) -> bool:
    """Whether the containers of a function start by a distribution, at least on some device."""
    entries = function.on_devices.values()
    return function.start is not None or any(entry.start is not None for entry in entries)


def _laws(function: Function, devices: list[Device]) -> dict[str, list[Distribution | None]]:
    """The distributions of start and set-up of a function, for each device."""
    start = None if function.start is None else function.start.made()
    if function.start_s is not None and _has_start_distribution(function):
        start = constant(function.start_s)  # where no distribution is given
    setup = None if function.setup is None else function.setup.made()
    return {"starts": [start] * len(devices), "setups": [setup] * len(devices)}


def _published(function: Function, image: faas_functions.Image, devices: list[Device]) -> Variant:
    distributions: list[Distribution | None] = []
    use: list[tuple[float, ...]] = []
    size: list[float] = []
    for device in devices:
        has_size = device.architecture in image.size_bytes
        like, distribution, used = device.figures, None, None
        if has_size and like:
            distribution = faas_functions.execution_time(image.name, like)
            used = faas_functions.resource_use(image.name, like)
        if distribution is not None and device.speed != 1.0:
            distribution = _times(distribution, 1.0 / device.speed)
        distributions.append(distribution)
        size.append(float(image.size_bytes.get(device.architecture, NO_SIZE)))
        shares: tuple[float, ...] = (0.0,) * 5
        if distribution is not None and used is not None:
            shares = (
                used.cpu,
                used.accelerator,
                used.disk_bytes_s / device.disk_bytes_s,
                used.network_bytes_s / device.nic_bytes_s,
                used.memory,
            )
        use.append(shares)
    return Variant(
        image=image.name,
        cpu=image.cpu_request_millicores,
        memory=image.memory_request_bytes,
        accelerator=image.accelerator,
        accelerator_memory=image.accelerator_memory_bytes,
        memory_bound=function.memory_bound,
        setup_bytes=float(image.setup_bytes),
        input_bytes=float(image.input_bytes),
        output_bytes=float(image.output_bytes),
        cold=None,
        distributions=distributions,
        use=use,
        size=size,
        **_laws(function, devices),
    )


def _own(function: Function, image: Image, name: str, devices: list[Device]) -> Variant:
    distribution = image.execution.made()
    distributions: list[Distribution | None] = []
    size = []
    for device in devices:
        factor = image.time_factor.get(device.name, 0.0 if image.only else 1.0)
        megabytes = image.image_mb
        if isinstance(megabytes, dict):
            megabytes = megabytes.get(device.architecture, NO_SIZE)
        size.append(megabytes * 1e6)
        runs = factor > 0 and megabytes >= 0
        distributions.append(_times(distribution, factor) if runs else None)
    cold = image.cold_execution
    return Variant(
        image=name,
        cpu=image.cpu_millicores,
        memory=round(image.memory_mb * 1e6),
        accelerator=image.accelerator,
        accelerator_memory=round(image.accelerator_memory_mb * 1e6),
        memory_bound=function.memory_bound,
        setup_bytes=image.setup_mb * 1e6,
        input_bytes=image.input_mb * 1e6,
        output_bytes=image.output_mb * 1e6,
        cold=None if cold is None else cold.made(),
        distributions=distributions,
        use=[_shares(image.use)] * len(devices),
        size=size,
        **_laws(function, devices),
    )


def _times(distribution: Distribution, factor: float) -> Distribution:
    """The distribution of times that are all multiplied."""
    return distribution._replace(
        loc=distribution.loc * factor,
        scale=distribution.scale * factor,
        least=distribution.least * factor,
        most=distribution.most * factor,
    )


def build_variants(
    scenario: FaasScenario, devices: list[Device]
) -> tuple[NDArray[np.void], NDArray[np.void], Distributions]:
    """All images, function by function; how they fit devices; the distributions of their times."""
    groups = [variants_of(function, devices) for function in scenario.functions]
    for function, group in zip(scenario.functions, groups, strict=True):
        if not any(
            distribution is not None for variant in group for distribution in variant.distributions
        ):
            names = ", ".join(device.name for device in devices)
            raise SpecError(f"functions: {function.name!r} runs on none of the devices: {names}")
    variants = [variant for group in groups for variant in group]
    distributions: list[Distribution] = []
    fits = np.zeros((len(variants), len(devices)), FIT)
    fits["distribution"], fits["mean_s"] = NONE, np.inf
    starts = [faas_functions.start_time(device) for device in devices]
    distributions.extend(starts)
    fits["start_distribution"], fits["start_s"] = (
        np.arange(len(starts)),
        [mean(distribution) for distribution in starts],
    )
    owners = [f for f, group in zip(scenario.functions, groups, strict=True) for _ in group]
    cold = np.full(len(variants), NONE)
    saturation = scenario.contention.memory_saturation
    for v, variant in enumerate(variants):
        fits["image_bytes"][v] = variant.size
        fits["cold_claim"][v] = cold_claims(owners[v], devices)
        fits["setup_distribution"][v], fits["setup_s"][v] = NONE, owners[v].setup_s
        for key, times in (("start", variant.starts), ("setup", variant.setups)):
            for d, time in enumerate(times):
                if time is not None:
                    fits[f"{key}_distribution"][v, d] = len(distributions)
                    fits[f"{key}_s"][v, d] = mean(time)
                    distributions.append(time)
        for d, one in enumerate(variant.distributions):
            if one is None:
                continue
            fit = fits[v, d]
            fit["distribution"], fit["mean_s"] = len(distributions), mean(one)
            distributions.append(one)
            fit["claim"][: Resource.BUS] = np.round(np.array(variant.use[d]) * WHOLE)
            fit["claim"][Resource.BUS] = round(
                fit["claim"][Resource.CPU] * variant.memory_bound / saturation
            )
        if variant.cold is not None:
            cold[v] = len(distributions)
            distributions.append(variant.cold)
    images = sorted({variant.image for variant in variants})
    rows = np.zeros(len(variants), VARIANT)
    for name in (
        *("cpu", "memory", "accelerator_memory", "memory_bound"),
        *("setup_bytes", "input_bytes", "output_bytes"),
    ):
        rows[name] = [getattr(variant, name) for variant in variants]
    rows["image"] = [images.index(variant.image) for variant in variants]
    rows["accelerator"] = [member(Accelerator, variant.accelerator) for variant in variants]
    rows["accelerator_memory"] = np.maximum(rows["accelerator_memory"], rows["accelerator"] > 0)
    rows["cold_distribution"] = cold
    return rows, fits, make_distributions(distributions)


def cold_claims(function: Function, devices: list[Device]) -> NDArray[np.int64]:
    """The CPU claims in millionths, (devices, 3), of pulling, starting and setting up."""
    cores = np.array([function.pull_cores, function.start_cores, function.setup_cores])
    there = np.array([device.cores for device in devices])
    return np.round(np.minimum(cores / there[:, None], 1.0) * WHOLE).astype(np.int64)


def build_functions(scenario: FaasScenario) -> NDArray[np.void]:
    """The functions, with the replicas that they should have at the start."""
    rows = np.zeros(len(scenario.functions), FUNCTION)
    end = calls = 0
    for row, function in zip(rows, scenario.functions, strict=True):
        rule = scenario.rule_of(function)
        row["key"], row["first_variant"] = name_key(function.name), end
        end += len(function.image_names)
        row["end_variant"] = end
        row["workers"] = function.served_at_a_time
        row["queue_limit"] = _or(function.queue_limit, NO_LIMIT)
        row["timeout_s"] = _or(function.timeout_s, np.inf)
        row["failure_share"] = function.failure_share
        row["retries"], row["first_call"] = function.retries, calls
        calls += sum(call.count for call in function.calls)
        row["end_call"] = calls
        given = None if _has_start_distribution(function) else function.start_s
        row["start_s"], row["setup_s"] = _or(given, np.nan), function.setup_s
        row["request_bytes"] = function.request_kb * 1e3
        row["response_bytes"] = function.response_kb * 1e3
        row["scaler"], row["window"] = member(Scaler, rule.by), rule.window
        for name in (
            *("threshold", "tolerance", "step", "minimum", "maximum"),
            *("cooldown_s", "expiry_s", "interval_s", "stabilisation"),
            *("panic_window", "panic_threshold", "most_up", "most_more", "most_down"),
        ):
            row[name] = getattr(rule, name)
        if not rule.ticks:
            row["interval_s"] = np.inf
        row["keep"], times = member(Keep, own_or(rule.keep or scenario.keep)), rule.idle_times
        for name in ("bins", "bin_s", "head", "tail", "margin", "least_variation"):
            row[name] = getattr(times, name)
        row["panic_s"], row["ahead_s"], row["floor"] = -np.inf, np.inf, rule.minimum
        row["idle_since"], row["keep_until"] = np.nan, times.range_s
        row["lower_threshold"] = _or(rule.lower_threshold, rule.threshold)
        row["wanted"] = _or(rule.start, rule.minimum)
        row["history"][0, SUGGESTED] = row["wanted"]
    named = sorted(
        {name for f in scenario.functions for name in (*f.placement.near, *f.placement.apart)}
    )
    bits = {name: 1 << k for k, name in enumerate(named)}
    for row, function in zip(rows, scenario.functions, strict=True):
        rule_of = function.placement
        row["bit"], row["per_node"] = bits.get(function.name, 0), _or(rule_of.per_node, NO_LIMIT)
        row["near"] = sum(bits[name] for name in set(rule_of.near))
        row["apart"] = sum(bits[name] for name in set(rule_of.apart))
    names = [function.name for function in scenario.functions]
    rows["bucket"] = [sorted(names).index(name) for name in names]
    rows["first"] = rows["last"] = NONE
    return rows


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
