"""What states, kinds and rules are called, and their numbers in arrays."""

from __future__ import annotations

from typing import Literal, get_args

from cloudarena.workloads.faas_devices import Accelerator, Tier

NONE = -1
WHOLE = 1_000_000
"""The load of a resource that is fully used."""

CPU, ACCELERATOR, DISK, NETWORK, MEMORY, BUS = range(6)
RESOURCES = ("cpu", "accelerator", "disk", "network", "memory", "bus")
POWERED = 5
"""Resources that draw power: all but the memory bus, which is in the CPU's."""

EDGE, FOG, CLOUD = range(3)
TIERS: tuple[Tier, ...] = get_args(Tier)
NO_ACCELERATOR, WITH_GPU, WITH_TPU = range(3)
ACCELERATORS: tuple[Accelerator, ...] = get_args(Accelerator)

ON, OFF, BOOTING = range(3)
"""States of a node."""

FREE, SCHEDULED, PULLING, STARTING, SETTING_UP, RUNNING, DRAINING, STOPPED = range(8)
PHASES = ("scheduled", "pulling", "starting", "setting_up", "running", "draining", "stopped")
"""The phases of a replica's life, in order, from SCHEDULED on."""

ABSENT, ON_ITS_WAY, THERE = range(3)
"""States of an image on a node."""

UNUSED, REQUESTING, WAITING, QUEUED, DOWNLOADING, EXECUTING, UPLOADING, RESPONDING = range(8)
"""Where a request is: WAITING for a replica, QUEUED at one."""

UNFINISHED, COMPLETED, REJECTED, TIMED_OUT = range(4)
OUTCOMES = ("unfinished", "completed", "rejected", "timed_out")

ROUND_ROBIN, LEAST_LOADED, RANDOM, LOCALITY, NEWEST = range(5)
Router = Literal["round-robin", "least-loaded", "random", "locality", "newest"]
ROUTERS: tuple[Router, ...] = get_args(Router)

FIXED, REQUEST_RATE, AVERAGE_REQUESTS, QUEUE_LENGTH, CPU_UTILISATION, PER_REQUEST = range(6)
Scaler = Literal[
    "none",
    "request-rate",
    "average-requests",
    "queue-length",
    "cpu-utilisation",
    "per-request",
]
SCALERS: tuple[Scaler, ...] = get_args(Scaler)

LINEAR, POINTS, CURVE = range(3)

FITS_RESOURCES, CAN_RUN, HAS_ACCELERATOR, FREE_ACCELERATOR_MEMORY = range(4)
PredicateName = Literal["fits-resources", "can-run", "has-accelerator", "free-accelerator-memory"]
PREDICATES: tuple[PredicateName, ...] = get_args(PredicateName)

(
    BALANCED_RESOURCES,
    LEAST_REQUESTED,
    IMAGE_LOCALITY,
    DATA_LOCALITY,
    LOCALITY_TYPE,
    CAPABILITY,
    EXECUTION_TIME,
    CONTENTION,
    ENERGY_EFFICIENCY,
    LEAST_POWER,
) = range(10)
PriorityName = Literal[
    "balanced-resources",
    "least-requested",
    "image-locality",
    "data-locality",
    "locality-type",
    "capability",
    "execution-time",
    "contention",
    "energy-efficiency",
    "least-power",
]
PRIORITIES: tuple[PriorityName, ...] = get_args(PriorityName)

PULL, SETUP, DOWNLOAD, UPLOAD, REQUEST, RESPONSE = range(6)
TRANSFERS = ("pull", "setup", "download", "upload", "request", "response")
"""What a flow carries."""

IDLE = "idle"
"""The row, in a table of functions, of what no function has used."""

HISTORY = 65
"""Ticks of a scaler that are remembered, and so the longest window in intervals, plus one."""
