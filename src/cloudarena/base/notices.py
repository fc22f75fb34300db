"""What people are told while they wait: on a terminal and in notebooks, never in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from multiprocessing import current_process

WIDTH = 30
"""Characters of a bar."""


def notebook_bar(words: str) -> Callable[[int, int], None] | None:
    """What draws a bar of finished and of all parts, if this is a notebook or IPython.

    It is a line of text that is written over itself, so it needs no widgets.
    """
    if "IPython" not in sys.modules or sys.modules["IPython"].get_ipython() is None:
        return None

    def draw(done: int, total: int) -> None:
        full = WIDTH * done // max(total, 1)
        bar = "█" * full + "░" * (WIDTH - full)
        end = "\n" if done >= total else ""
        print(f"\r{words} {bar} {done:,}/{total:,}", end=end, file=sys.stderr, flush=True)

    return draw


def tell(text: str) -> None:
    """Says something on standard error, if a person is looking and this is no worker."""
    looks = sys.stderr.isatty() or "IPython" in sys.modules
    if looks and current_process().name == "MainProcess":
        print(text, file=sys.stderr, flush=True)
