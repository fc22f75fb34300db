"""Where the customers come from."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from cloudarena.base.arrays import Floats
from cloudarena.contract import Spec
from cloudarena.contract.source import Scan, Source, sources_of
from cloudarena.engine.streams import stream


class Customers(NamedTuple):
    """Customers in order of arrival."""

    arrival_s: Floats
    service_s: Floats


class Poisson(Source):
    """Customers at random times, with exponential service times."""

    is_generator = True
    reads_files = False
    example = "--customers 1000 --rate 0.5 --mean-service-s 1 --out customers"

    source: Literal["poisson"]
    customers: int = Field(ge=1, le=10_000_000)
    rate: float = Field(gt=0, le=1e6)
    """Customers a second."""
    mean_service_s: float = Field(gt=0, le=1e6)

    def load(self, seed: int) -> Customers:
        """Draws the customers of a seed."""
        gaps = stream(seed, "arrivals").exponential(1 / self.rate, self.customers)
        service = stream(seed, "service").exponential(self.mean_service_s, self.customers)
        return Customers(np.cumsum(gaps), service)

    def scan(self, seed: int) -> Scan:
        """The customers of a seed, as ``cloudarena trace`` takes them."""
        return Scan(self.load(seed), {"customers": self.customers})


class InlineCustomer(Spec):
    """One customer written into the spec."""

    arrival_s: float = Field(ge=0, le=1e9)
    service_s: float = Field(gt=0, le=1e9)


class Inline(Source):
    """Customers written into the spec."""

    reads_files = False

    source: Literal["inline"]
    customers: tuple[InlineCustomer, ...] = Field(min_length=1)

    def load(self, seed: int) -> Customers:
        """The customers, the same for every seed, in order of arrival."""
        rows = sorted((one.arrival_s, one.service_s) for one in self.customers)
        arrival, service = np.array(rows).T
        return Customers(np.ascontiguousarray(arrival), np.ascontiguousarray(service))

    def scan(self, seed: int) -> Scan:
        """The customers of the spec, as ``cloudarena trace`` takes them."""
        return Scan(self.load(seed), {"customers": len(self.customers)})


Workload = Annotated[Poisson | Inline, Field(discriminator="source")]
SOURCES = sources_of(Workload)


def describe(customers: Customers, scenario: Any = None) -> dict[str, Any]:
    """The figures that ``cloudarena trace describe`` shows of customers."""
    return {
        "customers": len(customers.arrival_s),
        "span_s": float(customers.arrival_s[-1] - customers.arrival_s[0]),
        "service_mean_s": float(customers.service_s.mean()),
    }
