"""Small specs for the tests of faas."""

from __future__ import annotations

from typing import Any

import cloudarena

MB_S = 121.25
"""Megabytes that a network of 1,000 Mbit/s moves in a second."""


def function(seconds: float = 1.0, rate: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A function with constant times and gaps, unless something else is said.

    Its containers start at once, and cold starts claim no CPU.
    """
    image = {
        "execution": {"distribution": "constant", "seconds": seconds},
        "use": {"cpu": 0.25},
        **changes.pop("image", {}),
    }
    return {
        "name": "f",
        "requests": {"source": "constant", "rate": rate},
        "image": image,
        "start_s": 0.0,
        **{f"{phase}_cores": 0.0 for phase in ("pull", "start", "setup")},
        **changes,
    }


def scenario(*functions: dict[str, Any], **changes: Any) -> Any:
    """Functions on one NUC for 100 seconds, unless something else is said."""
    return cloudarena.load(
        {
            "scenario": "faas",
            "duration_s": 100,
            "devices": {"types": {"nuc": 1}},
            "functions": list(functions),
            **changes,
        }
    )


def column(result: Any, table: str, name: str) -> list[Any]:
    """A column of a table as plain values."""
    return result.tables[table][name].to_pylist()
