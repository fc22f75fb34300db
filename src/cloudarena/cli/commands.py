"""Commands that are imported and built when they are first asked for, so that each is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any

import typer
from typer.main import get_command

from cloudarena.cli.options import traceback_option

Build = Callable[[], Any]
"""Gives a function with options, or an app of several."""


class Commands(Mapping[str, Any]):
    """The commands of a group by name, in order; every one of them has ``--traceback`` too."""

    def __init__(
        self,
        builders: Callable[[], Mapping[str, Build]],
        unlisted: Callable[[], Mapping[str, Build]] = dict,
    ) -> None:
        self._make_builders = builders
        self._make_unlisted = unlisted
        self._built: dict[str, Any] = {}

    @cached_property
    def _builders(self) -> Mapping[str, Build]:
        return self._make_builders()

    @cached_property
    def _unlisted(self) -> Mapping[str, Build]:
        return self._make_unlisted()

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            build = self._builders.get(name) or self._unlisted[name]
            self._built[name] = built(name.partition("@")[0], build())
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)


def built(name: str, made: Any) -> Any:
    """The command of a function with options, or the group of an app."""
    if not isinstance(made, typer.Typer):
        single = typer.Typer(add_completion=False)
        single.command(name, cls=getattr(made, "command_class", None))(made)
        command = get_command(single)
        command.params.append(_traceback())
        return command
    group: Any = get_command(made)
    group.name = name
    for one in group.commands.values():
        if not hasattr(one, "commands"):
            one.params.append(_traceback())
    return group


def of_module(path: str) -> Build:
    """What stands in a module of this package, such as ``run:run``."""
    module, _, name = path.partition(":")
    return lambda: getattr(importlib.import_module(f"cloudarena.cli.{module}"), name)


@cache
def _traceback() -> Any:
    return traceback_option()
