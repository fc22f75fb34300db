"""What Typer says of a command line that cannot be read, in the words of all other errors."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from cloudarena.base.errors import nearest

UsageError: type[Any] = typer.BadParameter.__mro__[1]
"""What is wrong with a command line. Typer does not export it, and has it from Click or not."""

KINDS = {"integer": "a whole number", "number": "a number", "float": "a number"}
"""What is allowed, by a word of Typer's message."""


class Group(TyperGroup):
    """A command of commands. Without any of them it shows its help as an error: on stderr."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the command line."""
        if args or ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        with contextlib.redirect_stdout(sys.stderr):
            self.format_help(ctx, ctx.make_formatter())
        raise typer.Exit(2)


def usage_line(error: Any, arguments: Sequence[str]) -> str:
    """One line: the option or argument, its value, what is allowed.

    Args:
        error: a usage error of Typer.
        arguments: the command line without the program.
    """
    kind, message = type(error).__name__, str(error.format_message()).rstrip(".")
    if kind == "MissingParameter" and error.param is not None:
        return f"{_name(error.param)}: is required"
    if kind == "BadParameter" and error.param is not None:
        allowed = next(
            (KINDS[word] for word in KINDS if word in message), error.message.rstrip(".")
        )
        return f"{_name(error.param)}: {_given(error.param, arguments)!r} is not allowed: {allowed}"
    if kind == "NoSuchOption":
        known = [name for option in error.ctx.command.params for name in option.opts]
        return f"{error.option_name}: is not an option of {error.ctx.command_path}." + nearest(
            error.option_name, [name for name in known if name.startswith("--")]
        )
    if kind == "BadOptionUsage" and "requires" in message:
        return f"{error.option_name}: needs a value"
    commands = getattr(error.cmd, "commands", None)
    if commands and message.startswith("No such command"):
        given = message.removeprefix("No such command ").split("'")[1]
        return (
            f"{error.ctx.command_path}: {given!r} is not allowed: one of {', '.join(commands)}."
            + nearest(given, commands)
        )
    if message.startswith("Got unexpected extra argument"):
        extra = message.rpartition("(")[2].removesuffix(")")
        return f"{error.ctx.command_path}: {extra!r} is not allowed: no further argument"
    return message[:1].lower() + message[1:]


def _name(parameter: Any) -> str:
    """The name of a parameter as users write it: ``--seed``, ``SPEC``."""
    option = next((name for name in parameter.opts if name.startswith("--")), None)
    return option or str(parameter.metavar or parameter.name).upper()


def _given(parameter: Any, arguments: Sequence[str]) -> str:
    """The last value of an option on the command line."""
    value = ""
    for index, word in enumerate(arguments):
        name, equals, after = word.partition("=")
        if name in parameter.opts:
            value = after if equals else next(iter(arguments[index + 1 :]), "")
    return value
