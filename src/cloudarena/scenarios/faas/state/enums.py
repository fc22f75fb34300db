"""States, rules and reasons, and their numbers in arrays.

Where a spec or a table has a word for a number, it is the name of the member in lower case: with
hyphens in specs, with underscores in tables.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeVar

from cloudarena.engine.status import FIRST_REASON

NONE = -1
"""The index of nothing: no node, no replica, the end of a list. As an action it waits."""
WHOLE = 1_000_000
"""The load of a resource that is fully used."""
POWERED = 5
"""Resources that draw power: all but the memory bus, which is in the CPU's."""
SLOWING = 4
"""Resources that hold up all that claim them when they are overbooked: those before memory."""

Member = TypeVar("Member", bound=IntEnum)


class Resource(IntEnum):
    """What invocations claim of a node."""

    CPU = 0
    ACCELERATOR = 1
    DISK = 2
    NETWORK = 3
    MEMORY = 4
    BUS = 5


class Tier(IntEnum):
    """Where a node is."""

    EDGE = 0
    FOG = 1
    CLOUD = 2


class Accelerator(IntEnum):
    """What a node has, or an image needs, besides a CPU."""

    NONE = 0
    GPU = 1
    TPU = 2


class NodeState(IntEnum):
    """Whether a node is on."""

    ON = 0
    OFF = 1
    BOOTING = 2
    FAILED = 3


class PowerModel(IntEnum):
    """How the power of a node's CPU follows from its utilisation."""

    LINEAR = 0
    POINTS = 1
    CURVE = 2
    LINES = 3


class Phase(IntEnum):
    """The phases of a replica's life, in order; FREE is a slot without a replica."""

    FREE = 0
    SCHEDULED = 1
    PULLING = 2
    STARTING = 3
    SETTING_UP = 4
    RUNNING = 5
    DRAINING = 6
    STOPPED = 7


class ImageState(IntEnum):
    """Whether an image is on a node."""

    ABSENT = 0
    ON_ITS_WAY = 1
    THERE = 2


class RequestState(IntEnum):
    """Where a request is: WAITING for a replica, QUEUED at one; UNUSED is a slot without one.

    One that is CALLING has executed, and calls other functions or waits for their answers.
    """

    UNUSED = 0
    REQUESTING = 1
    WAITING = 2
    QUEUED = 3
    DOWNLOADING = 4
    EXECUTING = 5
    UPLOADING = 6
    RESPONDING = 7
    CALLING = 8


class Outcome(IntEnum):
    """What has become of a request."""

    UNFINISHED = 0
    COMPLETED = 1
    REJECTED = 2
    TIMED_OUT = 3
    FAILED = 4


LOST = (Outcome.REJECTED, Outcome.TIMED_OUT, Outcome.FAILED)
"""How requests end that never have an answer."""


class Router(IntEnum):
    """Which replica takes a request."""

    ROUND_ROBIN = 0
    LEAST_LOADED = 1
    RANDOM = 2
    LOCALITY = 3
    NEWEST = 4
    OWN = 5


class Scaler(IntEnum):
    """What decides how many replicas a function has."""

    NONE = 0
    REQUEST_RATE = 1
    AVERAGE_REQUESTS = 2
    QUEUE_LENGTH = 3
    CPU_UTILISATION = 4
    CONCURRENCY = 5
    PER_REQUEST = 6


class Keep(IntEnum):
    """How long an idle replica of a function that scales by request stays."""

    FIXED = 0
    HYBRID_HISTOGRAM = 1
    FOREVER = 2
    OWN = 3


class Evict(IntEnum):
    """Which idle replica makes room for another that requests wait for."""

    NONE = 0
    LRU = 1
    GREEDY_DUAL = 2
    OWN = 3


class Predicate(IntEnum):
    """What a node must pass to take a replica."""

    FITS_RESOURCES = 0
    CAN_RUN = 1
    HAS_ACCELERATOR = 2
    FREE_ACCELERATOR_MEMORY = 3


class Priority(IntEnum):
    """What a node is scored by: the rows of ``Nodes.scores``."""

    BALANCED_RESOURCES = 0
    LEAST_REQUESTED = 1
    IMAGE_LOCALITY = 2
    DATA_LOCALITY = 3
    LOCALITY_TYPE = 4
    CAPABILITY = 5
    EXECUTION_TIME = 6
    CONTENTION = 7
    ENERGY_EFFICIENCY = 8
    LEAST_POWER = 9


class Transfer(IntEnum):
    """What a flow carries."""

    PULL = 0
    SETUP = 1
    DOWNLOAD = 2
    UPLOAD = 3
    REQUEST = 4
    RESPONSE = 5


class Pending(IntEnum):
    """What is to be decided."""

    NOTHING = 0
    PLACE = 1
    SCALE = 2


class NotAllowed(IntEnum):
    """Why an action may not be taken."""

    NOT_VALID = FIRST_REASON
    NO_SUCH_NODE = FIRST_REASON + 1
    BAD_COUNT = FIRST_REASON + 2


def word(member: IntEnum) -> str:
    """What specs call a member."""
    return member.name.lower().replace("_", "-")


def member(of: type[Member], called: str) -> Member:
    """The member that a spec calls so."""
    return of[called.upper().replace("-", "_")]
