"""Devices, mixes, images: figures of the publication, and what follows from them."""

from __future__ import annotations

from collections import Counter

import pytest

from cloudarena.base.errors import SpecError
from cloudarena.engine.distributions import mean
from cloudarena.engine.variates import draw, make_distributions
from cloudarena.workloads.faas.devices import (
    DEVICES,
    MIX_NAMES,
    MIXES,
    device_named,
    draw_devices,
    mix_shares,
)
from cloudarena.workloads.faas.functions import (
    FUNCTIONS,
    IMAGES,
    MB,
    MIB,
    execution_time,
    function_named,
    image_named,
    resource_use,
    runs_on,
    start_time,
)

MEAN_SECONDS = {
    "fio": "27.1 27.8 22.0 - 19.6 4.27 13.7 1.12 1.14 1.14",
    "mobilenet-inference-tflite": "2.07 1.28 .51 .66 .44 .33 .33 .28 .28 .28",
    "mobilenet-inference-tpu": "- - - .55 - - - - - -",
    "python-pi": "1.97 1.71 .91 1.62 1.31 .96 1.30 .43 2.98 2.98",
    "resnet-inference-cpu": "5.01 2.91 1.38 2.14 .93 .74 .51 .16 .17 .17",
    "resnet-inference-gpu": "- - - - .73 .39 .39 - - .13",
    "resnet-preprocessing": "30.5 19.5 7.65 10.5 7.94 6.38 6.08 2.52 2.66 2.66",
    "resnet-training-gpu": "- - - - 767 228 142 - - 32.1",
    "resnet-training-cpu": "- - - - - - - 197 - -",
    "speech-inference-tflite": "16.5 6.75 3.82 7.21 3.88 3.44 2.68 1.06 1.08 1.08",
    "speech-inference-gpu": "- - - - 4.54 3.31 1.65 - - .75",
    "tf-gpu": "- - - - .59 1.89 1.17 - - .36",
}
"""On rpi3, rpi4, rockpi, coral, nano, tx2, nx, nuc, xeoncpu, xeongpu."""
REALISED = {
    "cloudcpu": {"xeoncpu": 0.680, "xeongpu": 0.077, "nuc": 0.043, "nano": 0.044, "rpi4": 0.05},
    "cloudgpu": {"xeoncpu": 0.075, "xeongpu": 0.682, "nx": 0.012, "tx2": 0.012},
    "edgecloudlet": {"nuc": 0.394, "rpi3": 0.151, "rpi4": 0.149, "nano": 0.082},
    "edgegpu": {"nano": 0.249, "tx2": 0.082, "nx": 0.086, "rockpi": 0.122, "coral": 0.062},
    "edgesbc": {"rpi3": 0.301, "rpi4": 0.299, "rockpi": 0.160, "nano": 0.011},
    "edgetpu": {"coral": 0.243, "nano": 0.145, "tx2": 0.043, "nx": 0.048},
    "hybridbalanced": {"nuc": 0.150, "nano": 0.068, "tx2": 0.011, "nx": 0.011, "rpi4": 0.201},
    "hybridbalanced_jetson": {"nano": 0.176, "tx2": 0.031, "nx": 0.032, "coral": 0.080},
}
"""Of 8,000 devices that the published generator drew."""


@pytest.mark.parametrize("image", MEAN_SECONDS)
def test_mean_execution_times_are_the_published_ones(image: str) -> None:
    for device, expected in zip(DEVICES, MEAN_SECONDS[image].split(), strict=True):
        distribution = execution_time(image, device)
        assert runs_on(image, device) == (distribution is not None) == (expected != "-")
        assert (resource_use(image, device) is None) == (distribution is None)
        if distribution is not None:
            # Published with two or three digits.
            assert mean(distribution) == pytest.approx(float(expected), abs=0.006, rel=0.004)


def test_all_pairs_have_laws_within_their_bounds() -> None:
    distributions = [
        distribution
        for image in IMAGES
        for device in DEVICES
        if (distribution := execution_time(image, device)) is not None
    ]
    assert len(distributions) == 77
    table = make_distributions(distributions)
    for number, distribution in enumerate(distributions):
        assert 0 < distribution.least < draw(table, number, 0.5) < distribution.most
        assert (
            distribution.least
            <= draw(table, number, 1e-12)
            <= draw(table, number, 1 - 1e-12)
            <= distribution.most
        )


@pytest.mark.parametrize(
    ("device", "seconds"), [("rpi3", 6.479), ("nano", 2.162), ("nuc", 2.238), ("xeongpu", 6.936)]
)
def test_mean_start_times_are_the_published_ones(device: str, seconds: float) -> None:
    assert mean(start_time(device)) == pytest.approx(seconds, abs=0.001)


def test_uses_are_shares() -> None:
    for image in IMAGES:
        for device in DEVICES:
            use = resource_use(image, device)
            if use is not None:
                assert 0 < use.cpu <= 1
                assert 0 <= use.accelerator <= 1
                assert 0 < use.memory <= 1
    assert resource_use("resnet-training-gpu", "tx2") == (0.1789, 0.7417, 0.7748, 205334, 1140886)


def test_images_can_be_pulled_wherever_they_run() -> None:
    for image in IMAGES.values():
        for device in DEVICES.values():
            if runs_on(image.name, device.name):
                assert image.size_bytes[device.architecture] > 0
                assert image.accelerator in ("none", device.accelerator)
                assert image.accelerator_memory_bytes <= device.accelerator_memory_bytes


def test_images_and_functions_by_name() -> None:
    image = image_named("faas-workloads/resnet-inference-gpu")
    assert image.size_bytes == {"aarch64": 1000 * MB, "x86": 2000 * MB}
    assert (image.memory_request_bytes, image.setup_bytes) == (400 * MIB, 103 * MB)
    assert (image.workers, image.cpu_request_millicores) == (4, 1000)
    assert {name for function in FUNCTIONS.values() for name in function.images} == set(IMAGES)
    assert function_named("resnet50-inference").images[0] == image.name
    with pytest.raises(SpecError, match="image: 'resnet' is not allowed"):
        image_named("resnet")
    with pytest.raises(SpecError, match="Did you mean 'python-pi'"):
        function_named("python-py")


def test_power_rises_with_every_use() -> None:
    for device in DEVICES.values():
        power = device.power
        assert power.idle_w > 0
        assert min(power.cpu_w, power.network_w, power.memory_w) > 0
        assert power.accelerator_w >= 0


@pytest.mark.parametrize("mix", REALISED)
def test_mixes_come_out_as_the_published_generator_drew_them(mix: str) -> None:
    shares = mix_shares(mix)
    assert sum(shares.values()) == pytest.approx(1.0)
    for device, share in REALISED[mix].items():
        # Four standard deviations of a share of 8,000.
        deviation = (share * (1 - share) / 8000) ** 0.5
        assert shares[device] == pytest.approx(share, abs=4 * deviation + 0.0005)
    assert set(REALISED) == set(MIXES)


def test_devices_are_drawn_by_quota() -> None:
    devices = draw_devices("edgeai", 120, seed=1)
    assert Counter(devices) == {
        **{"nuc": 3, "rpi3": 36, "rockpi": 34, "nano": 29, "nx": 14, "coral": 4}
    }
    other = draw_devices("edgeai", 120, seed=2)
    assert other != devices
    assert Counter(other) == Counter(devices)
    assert draw_devices("edgeai", 120, seed=1) == devices
    assert draw_devices("hybrid", 50, 3) == draw_devices("hybridbalanced", 50, 3)
    assert Counter(draw_devices({"nuc": 1, "nx": 3}, 8, 0)) == {"nuc": 2, "nx": 6}
    for name in MIX_NAMES:
        assert len(draw_devices(name, 7, 0)) == 7


@pytest.mark.parametrize(
    ("mix", "count", "words"),
    [
        ("edgecpu", 5, "mix: 'edgecpu' is not allowed: one of cloudcpu.*Did you mean"),
        ({"nuk": 1.0}, 5, "device: 'nuk' is not allowed: one of rpi3.*Did you mean 'nuc'"),
        ({"nuc": -1.0}, 5, "mix.nuc: -1 is not allowed"),
        ({"nuc": 0.0}, 5, "mix: no device has a share"),
        ("edgeai", 0, "devices: 0 is not allowed: at least 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(mix: object, count: int, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        draw_devices(mix, count, 0)  # type: ignore[arg-type]


def test_devices_by_name() -> None:
    assert device_named("nano").accelerator == "gpu"
    assert {device.tier for device in DEVICES.values()} == {"edge", "fog", "cloud"}
