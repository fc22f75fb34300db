"""Numbers as people read them: as many digits as the number deserves, and no more."""

from __future__ import annotations

import math

from cloudarena.base.measures import AtLeast
from cloudarena.base.statistics import ROUNDING, Estimate

UNKNOWN = "\N{EN DASH}"
"""What stands where there is no number, such as the mean over nothing."""
_EXACT_DIGITS = 12
"""Digits beyond these are rounding."""
_SCIENTIFIC_BELOW = 1e-4
_SCIENTIFIC_FROM = 1e15


def format_number(value: float, half_width: float | None = None) -> str:
    """Writes a number: ``10,000``, ``9,448.1``, ``0.157``, ``1.2e-05``.

    Whole numbers stay whole. With the half-width of an interval the number ends at the second
    significant digit of the half-width; without one it has about four significant digits. What is
    only a lower bound has a ``>`` before it.
    """
    if math.isnan(value):
        return UNKNOWN
    if isinstance(value, AtLeast):
        return f"> {format_number(float(value), half_width)}"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value != int(value):
        # Sums of the same numbers in another order must not be rounded apart: 11.985 is 11.985.
        value = float(f"{value:.{_EXACT_DIGITS}g}")
    if half_width is not None and half_width > ROUNDING * abs(value):
        return _to_half_width(value, half_width)
    size = abs(value)
    if size >= _SCIENTIFIC_FROM:
        return f"{value:.3g}"
    if value == int(value):
        return f"{int(value):,}"
    if size < _SCIENTIFIC_BELOW:
        return f"{value:.3g}"
    return _trimmed(f"{value:,.{_decimals(size)}f}", value)


def format_estimate(estimate: Estimate, signed: bool = False) -> str:
    """Writes a mean and its interval: ``9,476 ± 21``; ``signed`` shows a plus, for differences.

    Without an interval, or when all replications agree, the mean stands alone; a bound is written
    as ``> 9,476`` or ``< 9,476``, and what is not known as a dash.
    """
    half_width = estimate.half_width
    sign = "+" if signed and estimate.mean > 0 else ""
    if math.isnan(estimate.mean):
        return UNKNOWN
    if estimate.is_at_least or estimate.is_at_most:
        return f"{'>' if estimate.is_at_least else '<'} {sign}{format_number(estimate.mean)}"
    if math.isnan(half_width) or half_width <= ROUNDING * abs(estimate.mean):
        return sign + format_number(estimate.mean)
    mean = format_number(estimate.mean, half_width)
    if not any(digit in mean for digit in "123456789"):
        mean, sign = mean.lstrip("-"), ""
    size = max(abs(estimate.mean), half_width)
    return f"{sign}{mean} ± {_to_half_width(half_width, half_width, size)}"


def _to_half_width(value: float, half_width: float, size: float | None = None) -> str:
    """The value down to the second significant digit of the half-width."""
    size = max(abs(value), half_width) if size is None else size
    exponent = math.floor(math.log10(half_width))
    if size < _SCIENTIFIC_BELOW or size >= _SCIENTIFIC_FROM:
        digits = 0 if value == 0 else math.floor(math.log10(abs(value))) - exponent + 1
        return f"{value:.{max(0, digits)}e}"
    return f"{value:,.{max(0, 1 - exponent)}f}"


def _decimals(size: float) -> int:
    """Decimals of a number that stands alone."""
    if size >= 1e6:
        return 0
    if size >= 100:
        return 1
    magnitude = math.floor(math.log10(size))
    return 3 - magnitude if size >= 1 else 2 - magnitude


def _trimmed(text: str, value: float) -> str:
    """Drops zeros at the end when the rest is the number itself, not a rounding of it."""
    if "." in text and float(text.replace(",", "")) == value:
        return text.rstrip("0").rstrip(".")
    return text
