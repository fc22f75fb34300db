"""What a machine costs, as a user writes it: bought, or rented by the hour."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import CloudarenaError
from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec
from cloudarena.workloads.prices.instances import SHIPPED, Instance, instance_named

MONTH_H = 8766.0 / 12
"""Hours of a month: a twelfth of a year of 365.25 days."""
Dollars = Annotated[float, Field(ge=0, le=1e9)]
Terms = Literal["owned", "reserved", "on-demand", "spot"]


class MachinePrice(Spec):
    """What a machine costs: bought and kept, or rented by the hour.

    ``owned``: purchase_usd over years, and month_usd for its place, its care and its network.
    ``reserved``: hour_usd for every hour. ``on-demand`` and ``spot``: hour_usd for the hours in
    which the machine is in use; a spot machine is not taken back by the cloud here.
    """

    terms: Terms | None = None
    """How it is paid for; by default owned if purchase_usd or month_usd is given, or on-demand."""
    hour_usd: Dollars | None = None
    """The price of an hour; by default that of the instance type."""
    instance: str | None = None
    """An instance type of a list, whose price of an hour counts."""
    prices: SpecPath | None = None
    """A list of instance types of one's own; by default the one that ships."""
    discount: float = Field(0.0, ge=0, lt=1)
    """The part by which a reserved or spot price is below that of an hour on demand."""
    purchase_usd: Dollars = 0.0
    years: float = Field(4.0, gt=0, le=100)
    """Years over which the purchase is written off."""
    month_usd: Dollars = 0.0

    @property
    def basis(self) -> Terms:
        """How it is paid for."""
        if self.terms is not None:
            return self.terms
        return "owned" if self.purchase_usd or self.month_usd else "on-demand"

    @property
    def is_by_use(self) -> bool:
        """Whether only hours in use are paid for."""
        return self.basis in ("on-demand", "spot")

    @property
    def hourly_usd(self) -> float:
        """The price of an hour."""
        if self.basis == "owned":
            return self.purchase_usd / (self.years * 12 * MONTH_H) + self.month_usd / MONTH_H
        listed = self.hour_usd if self.hour_usd is not None else self.listed().hour_usd
        return listed * (1.0 - self.discount)

    def listed(self) -> Instance:
        """The instance type, as its list has it."""
        assert self.instance is not None
        return instance_named(self.instance, self.prices or SHIPPED)

    @model_validator(mode="after")
    def _one_price(self) -> MachinePrice:
        problem = ""
        if self.basis == "owned":
            if self.hour_usd is not None or self.instance is not None:
                problem = "hour_usd and instance are not allowed with terms: owned"
        elif self.purchase_usd or self.month_usd:
            problem = f"purchase_usd and month_usd are not allowed with terms: {self.basis}"
        elif (self.hour_usd is None) == (self.instance is None):
            problem = "hour_usd or instance is needed, and only one of them"
        if self.instance is not None and not problem:
            try:
                self.listed()
            except CloudarenaError as error:
                problem = str(error)
        if problem:
            raise PydanticCustomError("not_allowed", problem.replace("{", "{{").replace("}", "}}"))
        return self


NO_PRICE = MachinePrice(hour_usd=0.0, terms="reserved")
"""A machine that costs nothing but its energy."""
