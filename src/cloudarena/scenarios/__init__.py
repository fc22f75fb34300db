"""The kinds of cloud. Each is one folder with the same rooms.

A kind from another package joins by the entry point ``cloudarena.kinds``, which names its ``KIND``.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from cloudarena.base.errors import CloudarenaError, check_choice
from cloudarena.contract.kind import Kind

GROUP = "cloudarena.kinds"
"""The entry points of other packages that name a kind."""


@cache
def kinds() -> dict[str, Kind]:
    """The kinds by name: those of this package, then those of others."""
    found: dict[str, Kind] = {}
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    for name in names:
        found[name] = importlib.import_module(f"{__name__}.{name}").KIND
    for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        kind = entry.load()
        if not isinstance(kind, Kind):
            raise CloudarenaError(f"{entry.value} is not allowed as {GROUP}: a Kind")
        if found.setdefault(kind.name, kind) is not kind:
            raise CloudarenaError(
                f"kind {kind.name!r} of {kind.package} is not allowed: "
                f"{found[kind.name].package} has that name"
            )
    return found


def kind_named(name: str) -> Kind:
    """The kind of a name, or an error that says which there are."""
    check_choice("scenario", name, kinds())
    return kinds()[name]
