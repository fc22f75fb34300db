"""Functions and their container images: sizes, requests, times and resource use by device.

Source: Raith 2021 and faas-sim (see ``figures``). A function has one or more images, the best
first; an image runs where its times were measured.
"""

from __future__ import annotations

from typing import NamedTuple

from cloudarena.base.errors import SpecError, check_choice, nearest
from cloudarena.engine.distributions import Distribution, log_normal
from cloudarena.workloads.faas.devices import Accelerator, Device, device_named
from cloudarena.workloads.faas.figures import (
    EXECUTION_TIMES,
    NOTES,
    RESOURCE_USE,
    START_TIMES,
)

MB, MIB = 10**6, 2**20
WORKERS = 4
"""Requests that a replica serves at a time."""


class ResourceUse(NamedTuple):
    """What one running request uses: shares of the whole device, and bytes a second."""

    cpu: float
    accelerator: float
    memory: float
    disk_bytes_s: float
    network_bytes_s: float


class Image(NamedTuple):
    """A container image, and what a replica and a request of it need."""

    name: str
    size_bytes: dict[str, int]
    """The size by architecture; it does not run on others."""
    memory_request_bytes: int
    accelerator: Accelerator = "none"
    accelerator_memory_bytes: int = 0
    setup_bytes: int = 0
    """Downloaded from storage when a replica is set up, such as the model."""
    input_bytes: int = 0
    """Downloaded from storage by each request."""
    output_bytes: int = 0
    """Uploaded to storage by each request."""
    cpu_request_millicores: int = 1000
    workers: int = WORKERS


class Function(NamedTuple):
    """A function and its images, in the order in which they are tried."""

    name: str
    images: tuple[str, ...]


def _sizes(arm32: int = 0, aarch64: int = 0, x86: int = 0) -> dict[str, int]:
    sizes = {"arm32": arm32, "aarch64": aarch64, "x86": x86}
    return {architecture: size * MB for architecture, size in sizes.items() if size}


IMAGES: dict[str, Image] = {
    image.name: image
    for image in (
        Image("resnet-inference-gpu", _sizes(0, 1000, 2000), 400 * MIB, "gpu", 1500 * MB, 103 * MB),
        Image("resnet-inference-cpu", _sizes(700, 840, 2000), 150 * MIB, setup_bytes=103 * MB),
        Image("speech-inference-tflite", _sizes(328, 400, 108), 100 * MIB, setup_bytes=48 * MB),
        Image("speech-inference-gpu", _sizes(0, 1300, 1600), 300 * MIB, "gpu", 1500 * MB, 188 * MB),
        Image("mobilenet-inference-tpu", _sizes(0, 173), 100 * MIB, "tpu", setup_bytes=4 * MB),
        Image("mobilenet-inference-tflite", _sizes(160, 173, 180), 100 * MIB, setup_bytes=4 * MB),
        Image(
            "resnet-training-gpu",
            _sizes(0, 1000, 2000),
            800 * MIB,
            "gpu",
            2000 * MB,
            input_bytes=58 * MB,
            output_bytes=103 * MB,
        ),
        Image(
            "resnet-training-cpu",
            _sizes(0, 0, 2000),
            1024 * MIB,
            input_bytes=58 * MB,
            output_bytes=103 * MB,
        ),
        Image(
            "resnet-preprocessing",
            _sizes(1370, 1910, 4100),
            100 * MIB,
            input_bytes=14 * MB,
            output_bytes=14 * MB,
        ),
        Image("tf-gpu", _sizes(0, 2240, 4100), 300 * MIB, "gpu", 2000 * MB),
        Image("python-pi", _sizes(55, 62, 88), 100 * MIB),
        Image("fio", _sizes(20, 23, 24), 200 * MIB),
    )
}
FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function("resnet50-inference", ("resnet-inference-gpu", "resnet-inference-cpu")),
        Function("speech-inference", ("speech-inference-tflite", "speech-inference-gpu")),
        Function("mobilenet-inference", ("mobilenet-inference-tpu", "mobilenet-inference-tflite")),
        Function("resnet50-training", ("resnet-training-gpu", "resnet-training-cpu")),
        Function("resnet50-preprocessing", ("resnet-preprocessing",)),
        Function("tf-gpu", ("tf-gpu",)),
        Function("python-pi", ("python-pi",)),
        Function("fio", ("fio",)),
    )
}


def image_named(name: str) -> Image:
    """An image by its name, with or without the ``faas-workloads/`` of the publication."""
    short = name.removeprefix("faas-workloads/")
    if short not in IMAGES:
        known = ", ".join(IMAGES)
        raise SpecError(f"image: {name!r} is not allowed: one of {known}.{nearest(short, IMAGES)}")
    return IMAGES[short]


def function_named(name: str) -> Function:
    """A function by its name."""
    check_choice("function", name, FUNCTIONS)
    return FUNCTIONS[name]


def _figures_device(image: str, device: str) -> str:
    """The device whose figures hold: the Xeon with a GPU runs CPU images as the one without."""
    if device == "xeongpu" and "xeoncpu" in EXECUTION_TIMES[image]:
        return "xeoncpu"
    return device


def runs_on(image: str, device: str) -> bool:
    """Whether an image was measured on a device type, and so can run on it."""
    return _figures_device(image, device) in EXECUTION_TIMES[image]


def execution_time(image: str, device: str) -> Distribution | None:
    """The distribution of the execution time in seconds; None if the image does not run there."""
    if not runs_on(image, device):
        return None
    return log_normal(*EXECUTION_TIMES[image][_figures_device(image, device)])


def resource_use(image: str, device: str) -> ResourceUse | None:
    """What a running request uses; None if the image cannot run on the device."""
    if not runs_on(image, device):
        return None
    return ResourceUse(*RESOURCE_USE[image][_figures_device(image, device)])


def figures_note(image: str, device: str) -> str | None:
    """What one should know before comparing an image's figures on a device with others."""
    if not runs_on(image, device):
        return None
    return NOTES.get((image, _figures_device(image, device)))


def start_time(device: str | Device) -> Distribution:
    """How long a container takes to start on a device that has its image, in seconds."""
    found = device_named(device) if isinstance(device, str) else device
    if found.own_start is not None:
        return found.own_start
    if found.tier == "edge":
        return log_normal(*START_TIMES["jetson" if found.accelerator == "gpu" else "board"])
    return log_normal(*START_TIMES["nuc" if found.tier == "fog" else "cloud"])
