"""The kinds of cloud. Each is one folder with the same rooms."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from cloudarena.errors import check_choice

if TYPE_CHECKING:
    from cloudarena.contract import Scenario


def kinds() -> list[str]:
    """The names of the kinds, without importing them."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def scenario_class(kind: str) -> type[Scenario]:
    """The Scenario class of a kind."""
    check_choice("scenario", kind, kinds())
    found: type[Scenario] = importlib.import_module(f"{__name__}.{kind}").SCENARIO
    return found
