"""What a user writes about random times: a distribution and its parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError
from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec
from cloudarena.engine import distributions
from cloudarena.engine.distributions import Distribution
from cloudarena.workloads.faas.measured import read_seconds, read_sums

QUANTILE_STEPS = 200
"""Values that stand for a distribution of which quantiles are known."""
MOST_VALUES = 1_000_000
"""Values of an empirical distribution."""
Seconds = Annotated[float, Field(gt=0, le=1e9)]


class ConstantTime(Spec):
    """Times that are always the same."""

    distribution: Literal["constant"]
    seconds: float = Field(gt=0, le=1e9)

    def made(self) -> Distribution:
        """Returns the distribution that the spec describes."""
        return distributions.constant(self.seconds)


class ExponentialTime(Spec):
    """Execution times that are exponential."""

    distribution: Literal["exponential"]
    mean_s: float = Field(gt=0, le=1e9)

    def made(self) -> Distribution:
        """Returns the distribution that the spec describes."""
        return distributions.exponential(self.mean_s)


class LogNormalTime(Spec):
    """``loc + scale exp(sigma Z)`` with Z normal, between ``least`` and ``most`` seconds."""

    distribution: Literal["log-normal"]
    sigma: float = Field(gt=0, le=10)
    loc: float = Field(0.0, ge=-1e9, le=1e9)
    scale: float = Field(gt=0, le=1e9)
    least: float = Field(0.0, ge=0, le=1e9)
    most: float = Field(1e9, gt=0, le=1e9)

    @model_validator(mode="after")
    def _within_bounds(self) -> LogNormalTime:
        try:
            self.made()
        except SpecError as error:
            raise PydanticCustomError("not_allowed", str(error)) from None
        return self

    def made(self) -> Distribution:
        """Returns the distribution that the spec describes."""
        return distributions.log_normal(self.sigma, self.loc, self.scale, self.least, self.most)


class GammaTime(Spec):
    """Times that are gamma, of a shape, with a mean; their deviation is mean / sqrt(shape)."""

    distribution: Literal["gamma"]
    shape: float = Field(ge=0.01, le=1e6)
    mean_s: Seconds

    def made(self) -> Distribution:
        """Returns the distribution that the spec describes."""
        return distributions.gamma(self.shape, self.mean_s)


class WeibullTime(Spec):
    """Times that are Weibull, ``scale E^(1 / shape)`` with E exponential of mean 1."""

    distribution: Literal["weibull"]
    shape: float = Field(ge=0.05, le=1e3)
    scale: Seconds

    def made(self) -> Distribution:
        """Returns the distribution that the spec describes."""
        return distributions.weibull(self.shape, self.scale)


class EmpiricalTime(Spec):
    """Times that were measured, each as likely: a list, or the column seconds of a file."""

    distribution: Literal["empirical"]
    seconds: tuple[Seconds, ...] | None = Field(None, min_length=1, max_length=MOST_VALUES)
    path: SpecPath | None = None
    """A CSV or Parquet file with the column seconds."""
    device: str | None = None
    """The rows that count, of a file with the column device."""
    columns: tuple[str, ...] = ()
    """The columns, in seconds, whose sum is a time, such as parts of a cold start."""
    rows: dict[str, str | int] = {}  # noqa: RUF012
    """The rows that count: the value that they have in each of these columns."""

    @model_validator(mode="after")
    def _one_way(self) -> EmpiricalTime:
        if (self.seconds is None) == (self.path is None):
            raise PydanticCustomError(
                "not_allowed", "seconds or path is needed, and only one of them"
            )
        if self.device is not None and self.path is None:
            raise PydanticCustomError("not_allowed", "device: is not allowed without path")
        for key in ("columns", "rows"):
            if getattr(self, key) and (self.path is None or self.device is not None):
                raise PydanticCustomError(
                    "not_allowed", f"{key}: is not allowed without path, nor with device"
                )
        return self

    def made(self) -> Distribution:
        """Returns the distribution that the spec describes."""
        if self.path is not None and (self.columns or self.rows):
            return distributions.empirical(read_sums(self.path, self.columns, self.rows))
        if self.path is not None:
            return distributions.empirical(read_seconds(self.path, self.device))
        return distributions.empirical(self.seconds or ())


class QuantileTime(Spec):
    """Times of which quantiles are known: pairs of share and seconds, joined by lines."""

    distribution: Literal["quantiles"]
    points: tuple[tuple[Annotated[float, Field(ge=0, le=1)], Seconds], ...] = Field(
        min_length=2, max_length=1000
    )
    """Pairs of a share, from 0 to 1, and the seconds below which that share of times is."""

    @model_validator(mode="after")
    def _rising(self) -> QuantileTime:
        shares, seconds = zip(*self.points, strict=True)
        if shares[0] != 0 or shares[-1] != 1 or sorted(set(shares)) != list(shares):
            raise PydanticCustomError(
                "not_allowed", f"points: shares {list(shares)} are not allowed: 0 to 1, rising"
            )
        if sorted(seconds) != list(seconds):
            raise PydanticCustomError(
                "not_allowed",
                f"points: seconds {list(seconds)} are not allowed: they must not fall",
            )
        return self

    def made(self) -> Distribution:
        """Returns the distribution that the spec describes, in 200 steps that are as likely."""
        values, k = [], 0
        for step in range(QUANTILE_STEPS):
            share = (step + 0.5) / QUANTILE_STEPS
            while self.points[k + 1][0] < share:
                k += 1
            (low, begin), (high, end) = self.points[k], self.points[k + 1]
            values.append(begin + (end - begin) * (share - low) / (high - low))
        return distributions.empirical(values)


def _renamed(value: Any) -> Any:
    """Reads the key by which version 0.1.0 told distributions apart."""
    if isinstance(value, dict) and "law" in value and "distribution" not in value:
        return {("distribution" if key == "law" else key): value[key] for key in value}
    return value


class RecordedTime(Spec):
    """Times of single requests: the n-th request of the function takes the n-th of them."""

    distribution: Literal["recorded"]
    seconds: tuple[Seconds, ...] = Field(min_length=1, max_length=MOST_VALUES)
    """Requests beyond the last begin again with the first."""

    def made(self) -> Distribution:
        """Returns the distribution that the spec describes."""
        return distributions.recorded(self.seconds)


Time = Annotated[
    ConstantTime
    | ExponentialTime
    | LogNormalTime
    | GammaTime
    | WeibullTime
    | EmpiricalTime
    | QuantileTime
    | RecordedTime,
    Field(discriminator="distribution"),
    BeforeValidator(_renamed),
]
