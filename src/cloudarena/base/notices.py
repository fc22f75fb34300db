"""What people are told while they wait: on a terminal and in notebooks, never in a pipe."""

from __future__ import annotations

import sys
from multiprocessing import current_process


def tell(text: str) -> None:
    """Says something on standard error, if a person is looking and this is no worker."""
    looks = sys.stderr.isatty() or "IPython" in sys.modules
    if looks and current_process().name == "MainProcess":
        print(text, file=sys.stderr, flush=True)
