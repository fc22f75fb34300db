"""Published figures of what devices draw, as tables by name: which one is believed may decide.

A table gives the keys of a linear power model by device. What it does not say of a device, and
devices that it does not name, are as in ``study``.
"""

from __future__ import annotations

from cloudarena.workloads.faas.devices import POWER

STUDY: dict[str, dict[str, float]] = {name: power._asdict() for name, power in POWER.items()}
"""The energy study Xh4lis/faas-sim (2025), ext/mhfd/power.py."""


def _with(changes: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The study's table with other figures for some devices."""
    return STUDY | {name: STUDY[name] | change for name, change in changes.items()}


def _per_amount(
    idle_w: float, cpu_w: float, accelerator_w: float, memory: float, disk: float, network: float
) -> dict[str, float]:
    """Figures that are watts by the MB of memory, and by the MB/s of disk and network."""
    return {
        "idle_w": idle_w,
        "cpu_w": cpu_w,
        "accelerator_w": accelerator_w,
        "memory_w_per_mb": memory,
        "disk_w_per_mb_s": disk,
        "network_w_per_mb_s": network,
    }


TABLES: dict[str, dict[str, dict[str, float]]] = {
    "study": STUDY,
    # ext/mhfd-new/power.py of the same study: another Xavier NX.
    "study-revised": _with({"nx": {"cpu_w": 10.0, "accelerator_w": 15.0}}),
    # The typical values of its report (guides/Report.md). The Xeon's 125 W are its most, not what
    # is added to its 50 W. Of the Nano, the NX and the Xeon with a GPU it gives no CPU.
    "document": _with(
        {
            "rpi4": {"idle_w": 2.5, "cpu_w": 3.5},
            "nano": {"idle_w": 2.0, "accelerator_w": 2.0},
            "nx": {"idle_w": 5.0, "accelerator_w": 15.0},
            "xeoncpu": {"idle_w": 50.0, "cpu_w": 75.0},
            "xeongpu": {"idle_w": 75.0, "accelerator_w": 150.0},
        }
    ),
    # The idle watts by which its node selector ranks devices (scaling/node_selector.py).
    "selector": _with(
        {
            "rpi3": {"idle_w": 2.1},
            "rpi4": {"idle_w": 2.7},
            "rockpi": {"idle_w": 3.0},
            "coral": {"idle_w": 2.5},
            "nano": {"idle_w": 1.9},
            "tx2": {"idle_w": 5.5},
            "nx": {"idle_w": 5.0},
            "nuc": {"idle_w": 15.0},
            "xeoncpu": {"idle_w": 50.0},
            "xeongpu": {"idle_w": 75.0},
        }
    ),
    # Its energy/model.py, which nothing there calls: watts by the MB and the MB/s. A full memory
    # draws 412 W of an NX then, which no NX does: it stands here as published.
    "per-amount": STUDY
    | {
        "nx": _per_amount(5.0, 10.0, 15.0, 0.05, 0.02, 0.1),
        "tx2": _per_amount(3.0, 7.5, 12.0, 0.04, 0.015, 0.08),
        "rpi4": _per_amount(2.0, 3.5, 0.5, 0.025, 0.01, 0.05),
        "rpi3": _per_amount(1.5, 2.5, 0.2, 0.02, 0.008, 0.04),
        "coral": _per_amount(2.5, 3.0, 4.0, 0.03, 0.01, 0.05),
    },
}
