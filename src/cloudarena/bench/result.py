"""The result of ``cloudarena bench``, and whether a later one is slower."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.base.errors import SpecError
from cloudarena.bench.case import Absent, Measured
from cloudarena.version import __version__

SLOWER = 0.15
"""A ratio that falls by more than this part is a slowdown."""


class Change(NamedTuple):
    """How a ratio changed since an earlier result."""

    name: str
    peer: str
    what: str
    before: float
    after: float

    @property
    def is_slower(self) -> bool:
        """Whether ours is slower than before by more than noise is allowed."""
        return self.after < self.before * (1.0 - SLOWER)


def summary(found: Sequence[Measured], absent: Sequence[Absent]) -> dict[str, Any]:
    """The plain form of a result."""
    return {
        "version": __version__,
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "results": [one._asdict() for one in found],
        "absent": [one._asdict() for one in absent],
    }


def read_ratios(path: Path) -> dict[tuple[str, str, str], float]:
    """The ratios of an earlier result."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        rows: Iterable[Mapping[str, Any]] = document["results"]
        return {(row["name"], row["peer"], row["what"]): float(row["ratio"]) for row in rows}
    except FileNotFoundError:
        raise SpecError(f"--compare: {str(path)!r} is not allowed: there is no such file") from None
    except (ValueError, TypeError, KeyError):
        raise SpecError(
            f"--compare: {str(path)!r} is not allowed: a result of cloudarena bench --json"
        ) from None


def changes(
    found: Iterable[Measured], before: Mapping[tuple[str, str, str], float]
) -> list[Change]:
    """The lines that both results have."""
    keys = {(one.name, one.peer, one.what): one.ratio for one in found}
    return [Change(*key, before[key], after) for key, after in keys.items() if key in before]
