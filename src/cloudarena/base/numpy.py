"""NumPy, imported when it is first used: to describe a scenario needs no arrays.

It is for modules that the validation of a spec imports; all others import NumPy itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloudarena.base.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

__all__ = ["np"]
