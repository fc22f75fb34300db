"""How much memory there is, asked before a run takes it."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from cloudarena.base.errors import SpecError

GB = 1e9


def check_memory(needed_bytes: float, what: str) -> None:
    """Raises when something needs more memory than there is.

    Args:
        needed_bytes: a lower estimate, so that nothing is refused that could run.
        what: the keys that decide it, such as ``workload.vms: 1000000``.
    """
    there = available_bytes()
    if needed_bytes > there:
        raise SpecError(
            f"{what}: is not allowed: it needs about {_amount(needed_bytes)} of memory: "
            f"{_amount(there)} are there"
        )


def available_bytes() -> float:
    """What this process may still take: of the machine, its control group and its own limit."""
    return min(_of_machine(), _of_group(), _of_process())


def _amount(size: float) -> str:
    return f"{size / GB:,.1f} GB" if size < 100 * GB else f"{size / GB:,.0f} GB"


def _of_machine() -> float:
    """What the operating system says is available; without limit where it does not say."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024.0
    return sys.float_info.max


def _of_group() -> float:
    """The limit of the container that this process may be in, less what is used in it."""
    base = Path("/sys/fs/cgroup")
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError):
            return float((base / limit).read_text()) - float((base / used).read_text())
    return sys.float_info.max


def _of_process() -> float:
    """The limit of the address space of this process (``ulimit -v``), less what it has."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            return float(max(0, limit - pages * resource.getpagesize()))
    return sys.float_info.max
