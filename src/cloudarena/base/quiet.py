"""Libraries that print what nobody asked for, kept quiet."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_output() -> Iterator[None]:
    """Drops what compiled libraries print on standard output: HiGHS does now and then."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # there is no standard output
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        with contextlib.suppress(OSError, TypeError, AttributeError):
            ctypes.CDLL(None).fflush(None)  # what C has not written yet belongs nowhere too
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
