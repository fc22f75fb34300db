"""Gymnasium environments over the contract."""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

GYMNASIUM = "gymnasium"


def register_environments() -> None:
    """Registers ``cloudarena/<kind>-v0``, or ``<what is decided>-v0`` of kinds that decide more."""
    from gymnasium.envs.registration import register, registry

    from cloudarena.scenarios import kinds

    for kind in kinds().values():
        for decides in dict.fromkeys((kind.name, *kind.decides)):
            name = f"cloudarena/{decides}-v0"
            if name not in registry:
                register(
                    name,
                    entry_point="cloudarena.learn.env:CloudEnv",
                    vector_entry_point="cloudarena.learn.vector:CloudVectorEnv",
                    kwargs={"decides": decides},
                )


def register_with_gymnasium() -> None:
    """Registers the environments now if Gymnasium is imported, else as soon as it is.

    To import it for everyone would take half the time of most commands.
    """
    if GYMNASIUM in sys.modules:
        register_environments()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds Gymnasium as everyone does, and has the environments registered when it is loaded.

    It may be looked for before, and not be loaded: by who asks whether it is installed.
    """

    def __init__(self) -> None:
        self._looks = False

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != GYMNASIUM or self._looks:
            return None
        self._looks = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looks = False
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
