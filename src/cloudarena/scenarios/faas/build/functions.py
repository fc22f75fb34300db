"""Functions and their images as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import SpecError
from cloudarena.engine.distributions import Law, mean
from cloudarena.engine.hashing import name_key
from cloudarena.engine.laws import Laws, make_laws
from cloudarena.scenarios.faas.spec import FaasScenario
from cloudarena.scenarios.faas.spec.functions import Function, Image
from cloudarena.scenarios.faas.state import (
    FIT,
    FUNCTION,
    NONE,
    VARIANT,
    WHOLE,
    Accelerator,
    Resource,
    Scaler,
    member,
)
from cloudarena.workloads.faas import functions as faas_functions
from cloudarena.workloads.faas.devices import Device

NO_LIMIT = 1 << 60


class Variant(NamedTuple):
    """One image of a function: what it needs, and on each device its law, use and size."""

    image: str
    cpu: int
    memory: int
    accelerator: str
    accelerator_memory: int
    memory_bound: float
    setup_bytes: float
    input_bytes: float
    output_bytes: float
    cold: Law | None
    laws: list[Law | None]
    use: list[tuple[float, ...]]
    """Of cpu, accelerator, disk, network and memory, shares of the device."""
    size: list[float]


def variants_of(function: Function, devices: list[Device]) -> list[Variant]:
    """The images of a function, as they are ranked."""
    if function.image is not None:
        return [_own(function, function.image, devices)]
    names = faas_functions.FUNCTIONS[function.name].images
    return [_published(function, faas_functions.IMAGES[name], devices) for name in names]


def _published(function: Function, image: faas_functions.Image, devices: list[Device]) -> Variant:
    laws: list[Law | None] = []
    use: list[tuple[float, ...]] = []
    size: list[float] = []
    for device in devices:
        has_size = device.architecture in image.size_bytes
        law = faas_functions.execution_time(image.name, device.name) if has_size else None
        used = faas_functions.resource_use(image.name, device.name)
        laws.append(law)
        size.append(float(image.size_bytes.get(device.architecture, 0)))
        shares: tuple[float, ...] = (0.0,) * 5
        if law is not None and used is not None:
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
        laws=laws,
        use=use,
        size=size,
    )


def _own(function: Function, image: Image, devices: list[Device]) -> Variant:
    law, used = image.execution.made(), image.use
    laws: list[Law | None] = []
    for device in devices:
        factor = image.time_factor.get(device.name, 0.0 if image.only else 1.0)
        laws.append(_times(law, factor) if factor > 0 else None)
    shares = (used.cpu, used.accelerator, used.disk, used.network, used.memory)
    cold = image.cold_execution
    return Variant(
        image=function.name,
        cpu=image.cpu_millicores,
        memory=round(image.memory_mb * 1e6),
        accelerator=image.accelerator,
        accelerator_memory=round(image.accelerator_memory_mb * 1e6),
        memory_bound=function.memory_bound,
        setup_bytes=image.setup_mb * 1e6,
        input_bytes=image.input_mb * 1e6,
        output_bytes=image.output_mb * 1e6,
        cold=None if cold is None else cold.made(),
        laws=laws,
        use=[shares] * len(devices),
        size=[image.image_mb * 1e6] * len(devices),
    )


def _times(law: Law, factor: float) -> Law:
    """The law of times that are all multiplied."""
    return law._replace(
        loc=law.loc * factor,
        scale=law.scale * factor,
        least=law.least * factor,
        most=law.most * factor,
    )


def build_variants(
    scenario: FaasScenario, devices: list[Device]
) -> tuple[NDArray[np.void], NDArray[np.void], Laws]:
    """All images of all functions, function by function; how they fit devices; their laws."""
    groups = [variants_of(function, devices) for function in scenario.functions]
    for function, group in zip(scenario.functions, groups, strict=True):
        if not any(law is not None for variant in group for law in variant.laws):
            names = ", ".join(device.name for device in devices)
            raise SpecError(f"functions: {function.name!r} runs on none of the devices: {names}")
    variants = [variant for group in groups for variant in group]
    laws: list[Law] = []
    fits = np.zeros((len(variants), len(devices)), FIT)
    fits["law"], fits["mean_s"] = NONE, np.inf
    starts = [faas_functions.start_time(device.name) for device in devices]
    laws.extend(starts)
    fits["start_law"], fits["start_s"] = np.arange(len(starts)), [mean(law) for law in starts]
    owners = [f for f, group in zip(scenario.functions, groups, strict=True) for _ in group]
    cold = np.full(len(variants), NONE)
    saturation = scenario.contention.memory_saturation
    for v, variant in enumerate(variants):
        fits["image_bytes"][v] = variant.size
        fits["cold_claim"][v] = cold_claims(owners[v], devices)
        for d, one in enumerate(variant.laws):
            if one is None:
                continue
            fit = fits[v, d]
            fit["law"], fit["mean_s"] = len(laws), mean(one)
            laws.append(one)
            fit["claim"][: Resource.BUS] = np.round(np.array(variant.use[d]) * WHOLE)
            fit["claim"][Resource.BUS] = round(
                fit["claim"][Resource.CPU] * variant.memory_bound / saturation
            )
        if variant.cold is not None:
            cold[v] = len(laws)
            laws.append(variant.cold)
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
    rows["cold_law"] = cold
    return rows, fits, make_laws(laws)


def cold_claims(function: Function, devices: list[Device]) -> NDArray[np.int64]:
    """(devices, 3): millionths of CPU while a replica pulls, starts and is set up."""
    cores = np.array([function.pull_cores, function.start_cores, function.setup_cores])
    there = np.array([device.cores for device in devices])
    return np.round(np.minimum(cores / there[:, None], 1.0) * WHOLE).astype(np.int64)


def build_functions(scenario: FaasScenario) -> NDArray[np.void]:
    """The functions, with the replicas that they should have at the start."""
    rows = np.zeros(len(scenario.functions), FUNCTION)
    end = 0
    for row, function in zip(rows, scenario.functions, strict=True):
        rule, own = function.scaling, function.image is not None
        row["key"], row["first_variant"] = name_key(function.name), end
        end += 1 if own else len(faas_functions.FUNCTIONS[function.name].images)
        row["end_variant"] = end
        row["workers"] = function.workers or (1 if own else faas_functions.WORKERS)
        row["queue_limit"] = _or(function.queue_limit, NO_LIMIT)
        row["timeout_s"] = _or(function.timeout_s, np.inf)
        row["start_s"], row["setup_s"] = _or(function.start_s, np.nan), function.setup_s
        row["request_bytes"] = function.request_kb * 1e3
        row["response_bytes"] = function.response_kb * 1e3
        row["scaler"], row["window"] = member(Scaler, rule.by), rule.window
        for name in (
            *("threshold", "tolerance", "step", "minimum", "maximum"),
            *("cooldown_s", "expiry_s", "interval_s"),
        ):
            row[name] = getattr(rule, name)
        if rule.by in ("none", "per-request"):
            row["interval_s"] = np.inf
        row["lower_threshold"] = _or(rule.lower_threshold, rule.threshold)
        row["wanted"] = _or(rule.start, rule.minimum)
    names = [function.name for function in scenario.functions]
    rows["bucket"] = [sorted(names).index(name) for name in names]
    rows["first"] = rows["last"] = NONE
    return rows


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
