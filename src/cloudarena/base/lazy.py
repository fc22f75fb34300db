"""Modules, and names of packages, that are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def exports(package: str, **homes: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package that offers names of its modules.

    Args:
        package: ``__name__`` of the package.
        homes: the module of each name, such as ``VmRun="run"``; with a dot before it, one beside
            the package.
    """
    module = sys.modules[package]
    module.__all__ = list(dict.fromkeys([*getattr(module, "__all__", ()), *homes]))  # type: ignore[attr-defined]

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


class _LazyModule(ModuleType):
    """Stands for a module until one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def lazy_module(name: str) -> ModuleType:
    """A module that is imported when one of its names is first asked for."""
    return _LazyModule(name)
