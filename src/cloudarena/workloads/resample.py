"""Replications of a recorded trace: a block bootstrap, thinning and superposition.

A recorded trace is one sample, of which nothing can be said beyond it. Drawn again in blocks of a
day or a week it gives replications: position j of the new trace has the work of a block that is
drawn with replacement, at the same time of day. What happens within a block stays together; what
binds one block to the next is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.contract.spec import Spec
from cloudarena.engine.streams import stream

if TYPE_CHECKING:
    from cloudarena.base.arrays import Floats, Ints

BLOCKS_S = {"hour": 3600.0, "day": 86400.0, "week": 604800.0}
COPIES_WITHIN_S = 600.0
"""How long after the original a copy comes at most, where load is scaled up."""


def drawn_again(resample: Resample | None, scale: float = 1.0, takes_windows: bool = False) -> str:
    """What replications draw again of a recorded trace, in words; nothing if they do not.

    Args:
        resample: how the trace is drawn again.
        scale: how much of the load there is.
        takes_windows: whether windows are drawn of what that makes.
    """
    if resample is None and scale == 1.0 and not takes_windows:
        return ""
    pieces = ["windows"] if takes_windows else []
    if resample is not None:
        pieces.append("windows" if resample.blocks == "window" else f"whole {resample.blocks}s")
    more = f", scaled by {scale:g}" if scale != 1.0 else ""
    return " of ".join([*pieces, f"the recorded trace{more}"])


class Resample(Spec):
    """A trace that is drawn again by the seed: in whole blocks from its beginning on, or a window.

    A window is one piece as long as the run, from any whole hour of the trace from which on it is
    whole.
    """

    blocks: Literal["hour", "day", "week", "window"]
    """The length of a block; times within it are kept. Or one random window."""

    @property
    def block_s(self) -> float:
        """The length of a block in seconds; windows begin on hours."""
        return BLOCKS_S["hour" if self.blocks == "window" else self.blocks]

    def pieces(self, span_s: float, length_s: float, seed: int) -> list[tuple[float, float]]:
        """The beginning and the end, in the trace, of each piece of the new one, in order."""
        if self.blocks == "window":
            begin = self._window(span_s, length_s, seed)
            return [(begin, begin + length_s)]
        order = self.order(span_s, length_s, seed).tolist()
        return [(block * self.block_s, (block + 1) * self.block_s) for block in order]

    def _window(self, span_s: float, length_s: float, seed: int) -> float:
        """Where a window begins."""
        hours = int((span_s - length_s) / self.block_s + 1e-9) + 1
        if hours < 2:
            raise SpecError(
                f"resample.blocks: 'window' is not allowed: the trace has {span_s:g} s and the run "
                f"{length_s:g} s, of which an hour more is needed; make the run shorter"
            )
        return float(stream(seed, "resample").integers(0, hours)) * self.block_s

    def order(self, span_s: float, length_s: float, seed: int) -> Ints:
        """The block of the trace at each position of the new one.

        Args:
            span_s: how long the trace is; a last block that is not whole is not drawn.
            length_s: how long the new one is at least.
            seed: decides the draw.
        """
        whole = int(span_s / self.block_s + 1e-9)
        if whole < 2:
            raise SpecError(
                f"resample.blocks: {self.blocks!r} is not allowed: the trace has "
                f"{span_s / self.block_s:.2g} of them, at least 2 are needed"
            )
        positions = max(1, int(np.ceil(length_s / self.block_s - 1e-9)))
        return np.asarray(stream(seed, "resample").integers(0, whole, positions))

    def rows(
        self, time_s: Floats, span_s: float, length_s: float, seed: int
    ) -> tuple[Ints, Floats]:
        """The rows of a trace that make the new one, in order, and their times in it.

        Args:
            time_s: when each row arrives, rising from 0 on.
            span_s: how long the trace is.
            length_s: how long the new one is at least.
            seed: decides the draw.
        """
        rows, times, at = [], [], 0.0
        for begin, end in self.pieces(span_s, length_s, seed):
            first, behind = np.searchsorted(time_s, np.array([begin, end]) - 1e-9)
            here = np.arange(first, behind)
            rows.append(here)
            times.append(time_s[here] + (at - begin))
            at += end - begin
        return np.concatenate(rows), np.concatenate(times)


def scaled_rows(time_s: Floats, scale: float, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Rows for more or less load, in order, and their times.

    Below 1 each row is kept with the probability ``scale`` (thinning). Above 1 all are kept, and
    copies of rows that are drawn come within ten minutes after them (superposition).
    """
    if scale == 1.0:
        return np.arange(len(time_s)), time_s
    whole = int(scale)
    often = np.full(len(time_s), whole) + (rng.random(len(time_s)) < scale - whole)
    rows = np.repeat(np.arange(len(time_s)), often)
    is_copy = np.arange(len(rows)) > np.repeat(np.cumsum(often) - often, often)
    times = time_s[rows] + is_copy * rng.uniform(0.0, COPIES_WITHIN_S, len(rows))
    order = np.argsort(times, kind="stable")
    return rows[order], times[order]
