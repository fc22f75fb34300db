"""States of many runs side by side, so that one compiled call can step them all.

Numba passes a NamedTuple by value, and Python unpacks each of its arrays at every call: for the
state of a run some ten microseconds, more than a step takes. ``Worlds`` keeps for each run what
Numba knows of its arrays, as it lies in memory; compiled code takes the one that it wants by
``world_at``, and reads of it only what it uses.

The arrays of a run lie one after the other in one buffer, so that a run is put back to where it
once stood (``Snapshot``) by copying bytes.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.references import TupleReference

ALIGNMENT = 64
"""Bytes: each array begins at a multiple, a line of the cache."""
WORD = 8
"""Bytes of a word, in which addresses are kept."""


class Layout:
    """Stands in Python for the type of a state; compiled code sees no more of it than the type."""

    def __init__(self, type_: Any) -> None:
        self.type = LayoutType(type_)
        self.words = -(-int(row_bytes(self)) // WORD)
        self.write = write_row.compile((self.type, numba.int64[::1], type_))


class LayoutType(types.Type):
    """The type of a ``Layout``."""

    def __init__(self, world: Any) -> None:
        self.world = world
        super().__init__(name=f"Layout({world})")


register_model(LayoutType)(models.OpaqueModel)


@typeof_impl.register(Layout)
def _type_of_layout(layout: Layout, context: Any) -> LayoutType:
    return layout.type


@unbox(LayoutType)
def _unbox_layout(type_: LayoutType, value: Any, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


_TYPES: dict[Any, Any] = {}


def type_of(world: Any) -> Any:
    """Numba's type of a state. To ask Numba takes milliseconds; here it is asked once a shape."""
    key = _shape_of(world)
    if key not in _TYPES:
        _TYPES[key] = numba.typeof(world)
    return _TYPES[key]


def _shape_of(world: Any) -> Any:
    """What the type of a state depends on."""
    parts: list[Any] = [type(world)]
    for part in world:
        if isinstance(part, np.ndarray):
            flags = part.flags
            order = flags.c_contiguous, flags.f_contiguous
            parts.append((part.dtype, part.ndim, order, flags.writeable))
        elif isinstance(part, tuple):
            parts.append(_shape_of(part))
        else:
            parts.append(type(part))
    return tuple(parts)


@intrinsic
def bytes_of(typing: Any, layout: Any) -> Any:
    """How many bytes a row takes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size = context.get_abi_sizeof(context.get_data_type(layout.world))
        return context.get_constant(types.int64, size)

    return types.int64(layout), generate


@intrinsic
def _world_at(typing: Any, layout: Any, address: Any) -> Any:
    """The state that is described at an address, by reference."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[1], cgutils.voidptr_t)

    return TupleReference(layout.world)(layout, types.int64), generate


world_at: Any = _world_at


@intrinsic
def store(typing: Any, layout: Any, address: Any, world: Any) -> Any:
    """Describes a state at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = context.get_data_type(layout.world).as_pointer()
        context.pack_value(
            builder, layout.world, arguments[2], builder.inttoptr(arguments[1], pointer)
        )
        return context.get_dummy_value()

    return types.none(layout, types.int64, layout.world), generate


@jit_uncounted
def row_bytes(layout: Any) -> int:
    """How many bytes a row of ``Worlds`` takes."""
    return bytes_of(layout)


@jit_uncounted
def write_row(layout: Any, row: NDArray[np.int64], world: Any) -> None:
    """Describes a state in a row."""
    store(layout, row.ctypes.data, world)


@jit_uncounted
def put_back(
    row: NDArray[np.int64],
    buffer: NDArray[np.uint8],
    kept_row: NDArray[np.int64],
    kept: NDArray[np.uint8],
    addresses: NDArray[np.int64],
) -> None:
    """Copies a state to another buffer and describes it there."""
    for k in range(len(kept)):
        buffer[k] = kept[k]
    for k in range(len(row)):
        row[k] = kept_row[k]
    moved = buffer.ctypes.data - kept.ctypes.data
    for k in range(len(addresses)):
        row[addresses[k]] += moved


class Snapshot:
    """A state as it stands, kept apart from the run: its arrays in one buffer, and their row.

    Arrays that cannot be written to are not copied: all who are put back share them.
    """

    def __init__(self, world: Any) -> None:
        self.layout, self.addresses = _facts(type_of(world), world)
        self.buffer = _aligned(_size(world))
        self.world = _placed(world, self.buffer)
        self.row = _row(self.layout, self.world)

    @property
    def size(self) -> int:
        """How many bytes the arrays take."""
        return len(self.buffer)

    def world_in(self, buffer: NDArray[np.uint8]) -> Any:
        """The arrays of a buffer to which the state was put back."""
        return _placed(self.world, buffer, copies=False)


class Worlds:
    """The states of N runs of one type."""

    def __init__(self, count: int, snapshot: Snapshot) -> None:
        self.layout = snapshot.layout
        self.rows = np.zeros((count, len(snapshot.row)), np.int64)
        self.snapshots = [snapshot] * count
        self._buffers = [_aligned(snapshot.size) for _ in range(count)]

    def put(self, run: int, snapshot: Snapshot) -> None:
        """Puts a run where a snapshot was taken."""
        if len(self._buffers[run]) < snapshot.size:
            self._buffers[run] = _aligned(snapshot.size + snapshot.size // 4)
        put_back(
            self.rows[run], self._buffers[run], snapshot.row, snapshot.buffer, snapshot.addresses
        )
        self.snapshots[run] = snapshot

    def take_in(self, run: int, snapshot: Snapshot) -> None:
        """Lets a run go on in the buffer of a snapshot, which is the run's from then on."""
        self._buffers[run], self.rows[run] = snapshot.buffer, snapshot.row
        self.snapshots[run] = snapshot

    def __getitem__(self, run: int) -> Any:
        """The state of a run, as Python sees it."""
        return self.snapshots[run].world_in(self._buffers[run])


_KNOWN: dict[int, tuple[Layout, NDArray[np.int64]]] = {}
"""Facts by the identity of a type that ``type_of`` gave: its hash is slow."""


def _facts(type_: Any, world: Any) -> tuple[Layout, NDArray[np.int64]]:
    """The layout of a type of states, and which words of a row are addresses in the buffer.

    Those are the words that move with the buffer: a state is described in two.
    """
    if id(type_) not in _KNOWN:
        layout = Layout(type_)
        buffers = [_aligned(_size(world)) for _ in range(2)]
        here, there = (_row(layout, _placed(world, buffer)) for buffer in buffers)
        distance = buffers[1].ctypes.data - buffers[0].ctypes.data
        _KNOWN[id(type_)] = layout, np.flatnonzero(there - here == distance)
    return _KNOWN[id(type_)]


def _row(layout: Layout, world: Any) -> NDArray[np.int64]:
    row = np.zeros(layout.words, np.int64)
    layout.write(layout, row, world)
    return row


def _aligned(size: int) -> NDArray[np.uint8]:
    """Room for so many bytes, from a multiple of the alignment on."""
    room = np.zeros(size + ALIGNMENT, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    return room[first : first + size]


def _size(world: Any) -> int:
    """How many bytes the arrays of a state take that can be written to, each aligned."""
    size = 0
    for part in world:
        if isinstance(part, tuple):
            size += _size(part)
        elif isinstance(part, np.ndarray) and part.flags.writeable:
            size += -(-part.nbytes // ALIGNMENT) * ALIGNMENT
    return size


def _placed(world: Any, buffer: NDArray[np.uint8], copies: bool = True) -> Any:
    """A state with its arrays in a buffer, one after the other."""
    placed, _ = _placed_from(world, buffer, copies, 0)
    return placed


def _placed_from(
    world: Any, buffer: NDArray[np.uint8], copies: bool, begin: int
) -> tuple[Any, int]:
    """A state placed from some byte of the buffer on, and where the next array begins."""
    parts = []
    for part in world:
        placed = part
        if isinstance(part, tuple):
            placed, begin = _placed_from(part, buffer, copies, begin)
        elif isinstance(part, np.ndarray) and part.flags.writeable:
            placed = np.ndarray(part.shape, part.dtype, buffer, begin)
            if copies:
                placed[...] = part
            begin += -(-part.nbytes // ALIGNMENT) * ALIGNMENT
        parts.append(placed)
    return type(world)(*parts) if hasattr(world, "_fields") else tuple(parts), begin
