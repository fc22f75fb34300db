"""Metrics of users: how they are named on a command line, and what is kept of them in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import SpecError
from cloudarena.contract.metric import Metric

if TYPE_CHECKING:
    from cloudarena.contract.kind import Kind

KEPT = ("name", "description", "better", "highlight", "label", "unit")
"""What is saved of a metric: all but its functions."""


def load_metric(text: str, field: str = "metrics") -> Any:
    """A metric of a user's, ``FILE.py:NAME``; ``measuring`` checks that it is one.

    Args:
        text: where it is.
        field: what an error calls it, such as ``--metric``.
    """
    from cloudarena.policies.parse import load_function

    path, separator, name = text.rpartition(":")
    if not separator or not path.endswith(".py"):
        raise SpecError(f"{field}: {text!r} is not allowed: FILE.py:NAME")
    return load_function(Path(path), name)


def described(kind: Kind) -> dict[str, Any]:
    """The metrics of users as plain values for JSON; nothing if there are none."""
    own = [{name: getattr(metric, name) for name in KEPT} for metric in kind.own_metrics]
    return {"own_metrics": own} if own else {}


def restored(summary: Mapping[str, Any]) -> tuple[Metric, ...]:
    """The metrics that were described: what was measured can be read, a new run has NaN."""
    return tuple(Metric(**one) for one in summary.get("own_metrics", ()))
