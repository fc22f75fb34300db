"""Gymnasium environments over the contract."""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

GYMNASIUM = "gymnasium"


def register_environments() -> None:
    """Registers ``cloudarena/<kind>-v0`` for each kind of scenario."""
    from gymnasium.envs.registration import register, registry

    from cloudarena.scenarios import kinds

    for kind in kinds():
        name = f"cloudarena/{kind}-v0"
        if name not in registry:
            register(name, entry_point="cloudarena.learn.env:CloudEnv", kwargs={"kind": kind})


def register_with_gymnasium() -> None:
    """Registers the environments now if Gymnasium is imported, else as soon as it is.

    To import it for everyone would take half the time of most commands.
    """
    if GYMNASIUM in sys.modules:
        register_environments()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds Gymnasium as everyone does, once, and has the environments registered after it."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != GYMNASIUM:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """Loads Gymnasium by its own loader, then registers the environments."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        register_environments()
