"""Devices that run functions: what they are, what they draw, and in which mixes they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from cloudarena.base.errors import SpecError, check_choice, nearest
from cloudarena.engine.distributions import Distribution
from cloudarena.engine.streams import stream
from cloudarena.workloads.quotas import draw_by_quota

Architecture = Literal["arm32", "aarch64", "x86"]
Accelerator = Literal["none", "gpu", "tpu"]
Tier = Literal["edge", "fog", "cloud"]

GB = 10**9
JETSON_BYTES, XEON_BYTES = 8_240_386_048, 8_363_810_816
DISK_BYTES_S = {"nvme": 2500e6, "ssd": 500e6, "flash": 150e6, "sd": 50e6}
"""Bytes a second by kind of disk, as the scheduler of Raith 2021 reckons."""
NIC_BYTES_S = 125e6
"""Each device has an interface of 1,000 Mbit/s (ether 0.3)."""


class Power(NamedTuple):
    """Watts: ``idle + cpu u_cpu + accelerator u_acc + network u_net + memory u_mem``, u of 0 to 1.

    Source: the energy study Xh4lis/faas-sim (2025), ext/mhfd/power.py; ``accelerator`` is the GPU,
    for the Coral board its TPU.
    """

    idle_w: float
    cpu_w: float
    accelerator_w: float
    network_w: float
    memory_w: float


POWER: dict[str, Power] = {
    "rpi3": Power(1.4, 3.7, 0.8, 0.3, 0.2),
    "rpi4": Power(2.9, 6.0, 1.5, 0.9, 0.7),
    "rockpi": Power(3.2, 6.0, 2.5, 0.8, 0.7),
    "coral": Power(2.4, 3.5, 2.0, 0.6, 0.4),
    "nano": Power(1.9, 3.5, 2.5, 0.4, 0.6),
    "tx2": Power(5.0, 7.5, 12.0, 1.2, 1.5),
    "nx": Power(7.3, 12.0, 20.0, 1.8, 2.0),
    "nuc": Power(6.0, 28.0, 0.0, 2.0, 3.0),
    "xeoncpu": Power(45.0, 180.0, 0.0, 8.0, 15.0),
    "xeongpu": Power(65.0, 185.0, 250.0, 10.0, 20.0),
}


class Device(NamedTuple):
    """A type of device. Source: Raith 2021 (see ``figures``)."""

    name: str
    description: str
    architecture: Architecture
    cores: int
    clock_mhz: int
    memory_bytes: int
    accelerator: Accelerator
    accelerator_memory_bytes: int
    """0 where it has none of its own."""
    disk: str
    tier: Tier
    nic_bytes_s: float = NIC_BYTES_S
    """What the network interface carries in a second, each way."""
    own_disk_bytes_s: float = 0.0
    """What the disk moves in a second, if it is none of ``DISK_BYTES_S``."""
    like: str = ""
    """The published type whose figures hold, of a device of one's own; the empty string: none."""
    speed: float = 1.0
    """How many times as fast as that type it runs published functions."""
    own_power: Power | None = None
    own_start: Distribution | None = None

    @property
    def disk_bytes_s(self) -> float:
        """What the disk reads or writes in a second."""
        return self.own_disk_bytes_s or DISK_BYTES_S[self.disk]

    @property
    def figures(self) -> str:
        """The published type whose figures of functions hold; the empty string: none do."""
        return self.name if self.name in DEVICES else self.like

    @property
    def power(self) -> Power:
        """What the device draws."""
        return self.own_power or POWER[self.figures]

    @property
    def role(self) -> Literal["board", "accelerated", "fog", "cloud"]:
        """What a layout takes it for: a board, one with an accelerator, a fog node, a server."""
        if self.tier != "edge":
            return self.tier
        return "board" if self.accelerator == "none" else "accelerated"


DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        Device(
            "rpi3", "Raspberry Pi 3B+", "arm32", 4, 1400, 1_023_012_864, "none", 0, "sd", "edge"
        ),
        Device("rpi4", "Raspberry Pi 4", "arm32", 4, 1500, GB, "none", 0, "sd", "edge"),
        Device("rockpi", "RockPi 4", "aarch64", 6, 1800, 4 * GB, "none", 0, "sd", "edge"),
        Device("coral", "Coral DevBoard", "aarch64", 4, 1500, GB, "tpu", 0, "flash", "edge"),
        Device(
            "nano", "Jetson Nano", "aarch64", 4, 1430, 4_144_386_048, "gpu", 4 * GB, "sd", "edge"
        ),
        Device(
            "tx2", "Jetson TX2", "aarch64", 4, 2000, JETSON_BYTES, "gpu", 8 * GB, "flash", "edge"
        ),
        Device(
            "nx", "Jetson Xavier NX", "aarch64", 6, 1900, JETSON_BYTES, "gpu", 8 * GB, "sd", "edge"
        ),
        Device("nuc", "Intel NUC", "x86", 4, 2200, 2**34, "none", 0, "nvme", "fog"),
        Device("xeoncpu", "Xeon VM", "x86", 4, 3440, XEON_BYTES, "none", 0, "ssd", "cloud"),
        Device(
            "xeongpu", "Xeon VM, GPU", "x86", 4, 3440, XEON_BYTES, "gpu", 6 * GB, "ssd", "cloud"
        ),
    )
}


class Mix(NamedTuple):
    """The shares of a mix: of architectures, of clouds and GPUs among x86, and among aarch64."""

    x86: float
    aarch64: float
    arm32: float
    cloud: float
    """The share of x86 devices that are cloud VMs; the others are NUCs."""
    cloud_gpu: float
    """The share of cloud VMs with a GPU."""
    plain: float
    gpu: float
    tpu: float
    slow: float
    """The share of aarch64 devices with a low clock; with a GPU they are Jetson Nanos."""


MIXES: dict[str, Mix] = {
    "cloudcpu": Mix(0.8, 0.1, 0.1, 0.95, 0.1, 0.2, 0.7, 0.1, 0.1),
    "cloudgpu": Mix(0.8, 0.1, 0.1, 0.95, 0.9, 0.2, 0.7, 0.1, 0.1),
    "edgecloudlet": Mix(0.5, 0.2, 0.3, 0.2, 0.1, 0.2, 0.7, 0.1, 0.1),
    "edgegpu": Mix(0.2, 0.6, 0.2, 0.6, 0.1, 0.2, 0.7, 0.1, 0.1),
    "edgesbc": Mix(0.2, 0.2, 0.6, 0.6, 0.1, 0.8, 0.1, 0.1, 0.1),
    "edgetpu": Mix(0.2, 0.6, 0.2, 0.6, 0.1, 0.2, 0.4, 0.4, 0.1),
    "hybridbalanced": Mix(0.3, 0.3, 0.4, 0.5, 0.5, 0.4, 0.3, 0.3, 0.4),
    "hybridbalanced_jetson": Mix(0.3, 0.4, 0.3, 0.5, 0.5, 0.2, 0.6, 0.2, 0.4),
}
"""Source: ext/raith21/generators of faas-sim (Raith 2021)."""
MIX_ALIASES = {"hybrid": "hybridbalanced"}
EDGE_AI = {"nuc": 3, "rpi3": 36, "rockpi": 34, "nano": 29, "nx": 14, "coral": 4}
"""The 120 devices of the energy study (Xh4lis/faas-sim 2025)."""
MIX_NAMES = (*MIXES, *MIX_ALIASES, "edgeai")
NOT_NANO = 4 / 9
"""The faster GPU devices with enough memory and no Maxwell GPU: two thirds each.

Half of these are TX2, half NX. So the shares of ``faas-sim``'s generator, which draws each
characteristic by itself and then finds the device, come out.
"""


def mix_shares(
    mix: str | Mapping[str, float], known: Mapping[str, Device] = DEVICES
) -> dict[str, float]:
    """The share of each device type in a mix, by name or as weights; they sum to 1."""
    if not isinstance(mix, str):
        return _weights(mix, known)
    if mix == "edgeai":
        return _weights(EDGE_AI, known)
    name = MIX_ALIASES.get(mix, mix)
    if name not in MIXES:
        names = ", ".join(MIX_NAMES)
        raise SpecError(f"mix: {mix!r} is not allowed: one of {names}.{nearest(mix, MIX_NAMES)}")
    x86, aarch64, arm32, cloud, cloud_gpu, plain, gpu, tpu, slow = MIXES[name]
    fast_gpu = aarch64 * gpu * (1.0 - slow) * NOT_NANO
    return {
        "rpi3": arm32 / 2,
        "rpi4": arm32 / 2,
        "rockpi": aarch64 * plain,
        "coral": aarch64 * tpu,
        "nano": aarch64 * gpu - fast_gpu,
        "tx2": fast_gpu / 2,
        "nx": fast_gpu / 2,
        "nuc": x86 * (1.0 - cloud),
        "xeoncpu": x86 * cloud * (1.0 - cloud_gpu),
        "xeongpu": x86 * cloud * cloud_gpu,
    }


def _weights(weights: Mapping[str, float], known: Mapping[str, Device]) -> dict[str, float]:
    for name, weight in weights.items():
        device_named(name, known)
        if not 0 <= weight < float("inf"):
            raise SpecError(f"mix.{name}: {weight:g} is not allowed: a number, at least 0")
    total = sum(weights.values())
    if not total > 0:
        raise SpecError("mix: no device has a share")
    return {name: weight / total for name, weight in weights.items()}


def device_named(name: str, known: Mapping[str, Device] = DEVICES) -> Device:
    """A device type by its name."""
    check_choice("device", name, known)
    return known[name]


def draw_devices(
    mix: str | Mapping[str, float],
    count: int,
    seed: int,
    known: Mapping[str, Device] = DEVICES,
) -> tuple[str, ...]:
    """The types of ``count`` devices: the mix by largest remainder, in an order by the seed."""
    if count < 1:
        raise SpecError(f"devices: {count} is not allowed: at least 1")
    shares = mix_shares(mix, known)
    names = tuple(shares)
    codes = draw_by_quota(stream(seed, "devices"), count, tuple(shares.values()))
    return tuple(names[code] for code in codes)
