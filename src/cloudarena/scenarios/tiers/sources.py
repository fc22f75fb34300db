"""Where the requests of a tiers scenario come from: an arrival rate for each second."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from cloudarena.base.arrays import Floats
from cloudarena.base.numpy import np
from cloudarena.contract.source import sources_of
from cloudarena.workloads.tiers.rates import Bursts, Constant, Pieces, Sine, WorldCupHour
from cloudarena.workloads.tiers.series import Series, write_rates


def _named_source(arrivals: Any) -> Any:
    """Refuses the key by which version 0.1.0 told sources apart."""
    if isinstance(arrivals, dict) and "kind" in arrivals and "source" not in arrivals:
        raise PydanticCustomError(
            "not_allowed", "key 'kind' is not allowed: it is called 'source' since version 0.2.0"
        )
    return arrivals


Arrivals = Annotated[
    Constant | Sine | Bursts | WorldCupHour | Pieces | Series,
    Field(discriminator="source"),
    BeforeValidator(_named_source),
]
SOURCES = sources_of(Arrivals)


def describe(rate: Floats, scenario: Any = None) -> dict[str, Any]:
    """The figures by which arrival rates are known, in requests a second."""
    low, median, high = np.percentile(rate, (5, 50, 95)).tolist()
    return {
        "seconds": len(rate),
        "requests_expected": float(rate.sum()),
        "rate_mean": float(rate.mean()),
        "rate_min": float(rate.min()),
        "rate_p5": low,
        "rate_median": median,
        "rate_p95": high,
        "rate_max": float(rate.max()),
        "peak_at_s": int(np.argmax(rate)),
        "changes": int((rate[1:] != rate[:-1]).sum()),
        "rate_by_tenth": {
            f"{k / 10:.0%}": float(part.mean())
            for k, part in enumerate(np.array_split(rate, 10))
            if len(part)
        },
    }


def write(rate: Floats, folder: Path, texts: Mapping[str, str]) -> dict[str, int]:
    """Writes a trace in the canonical format, and texts beside it; says what was written."""
    return {"written_rates": write_rates(rate, folder, texts)}
