"""The options of the optimisers' methods on the command line, as the methods declare them.

They are asked for only when ``optimize`` is the command, so that other help is quick.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from cloudarena.optimizers import Method

COMMON = ("evaluations", "confidence", "seed")
"""Options that the command itself has, for all methods."""
FITTED = ("rough", "first")
"""Options that ``cloudarena.optimize`` fits to the number of evaluations."""


class OptimizeCommand(TyperCommand):
    """A command with an option for each of the methods; its help lists methods and options.

    With ``--method los``, or ``los`` in place of a spec, the help is that of ``los``.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the command line, with the options of the methods."""
        if ctx.resilient_parsing:  # a shell completes: no methods, whose import takes half a second
            ctx.ignore_unknown_options = True
        else:
            self.list_methods(_asked(args) if {"-h", "--help"} & set(args) else "")
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What a shell completes; options of methods too."""
        if incomplete.startswith("-"):
            self.list_methods()
        return super().shell_complete(ctx, incomplete)

    def list_methods(self, name: str = "") -> None:
        """Gives the command the options of a method, or else of all, and lists them in its help."""
        from cloudarena.optimizers import METHODS

        shown = [METHODS[name]] if name in METHODS else list(METHODS.values())
        own = [one for one in self.params if one.name not in _names(METHODS.values())]
        self.params = [*own, *_options(shown)]
        help_text = inspect.cleandoc(self.help or "").partition("\n\nMethods:")[0]
        lines = [f"{one.name}: {one.description}" for one in shown]
        self.help = "\n\n".join([help_text, "Methods:", *lines])

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; what was said of methods' options is in ``ctx.obj``."""
        from cloudarena.optimizers import METHODS

        given = {name: ctx.params.pop(name, None) for name in _names(METHODS.values())}
        ctx.obj = {
            name: _value(text, _options_of(METHODS.values(), name)[0].annotation)
            for name, text in given.items()
            if text is not None
        }
        return super().invoke(ctx)


def _asked(args: list[str]) -> str:
    """The method on a command line."""
    for index, word in enumerate(args):
        if word == "--method":
            return next(iter(args[index + 1 :]), "")
        if word.startswith("--method="):
            return word.removeprefix("--method=")
    return args[0]


def _names(methods: Iterable[Method[Any]]) -> list[str]:
    """The options of some methods that are not those of the command, each once."""
    names = (name for one in methods for name in one.option_names if name not in COMMON)
    return list(dict.fromkeys(names))


def _options_of(methods: Iterable[Method[Any]], name: str) -> list[FieldInfo]:
    """An option as each of the methods that have it declares it."""
    return [one.options.model_fields[name] for one in methods if name in one.option_names]


def _value(text: str, annotation: Any) -> str | int | float:
    """A number where only numbers are taken and the text is one; else the text."""
    numbers = [part for part in get_args(annotation) or (annotation,) if part is not type(None)]
    with contextlib.suppress(ValueError):
        if numbers == [int]:
            return int(text)
        if numbers == [float]:
            return float(text)
    return text


def _options(methods: list[Method[Any]]) -> list[Any]:
    """Typer's options for those of some methods; values stay text, which the methods check."""
    bare = typer.Typer(add_completion=False)

    def command(**options: Any) -> None: ...

    parameters = []
    for name in _names(methods):
        having = [one for one in methods if name in one.option_names]
        option = typer.Option(
            metavar=_metavar(_options_of(having, name)[-1].annotation),
            help=_help(having, name, is_alone=len(methods) == 1),
            show_default=_default(having, name) or False,
            rich_help_panel="Options of methods",
        )
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[str | None, option],
            )
        )
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    bare.command()(command)
    return [one for one in typer.main.get_command(bare).params if one.name != "help"]


def _help(having: list[Method[Any]], name: str, is_alone: bool) -> str:
    """What an option is: for one method all that it says, else a line of each that differs."""
    if is_alone:
        return str(_options_of(having, name)[0].description)
    by_text: dict[str, list[str]] = {}
    for one in having:
        text = str(one.options.model_fields[name].description).partition(";")[0].rstrip(".")
        by_text.setdefault(text, []).append(one.name)
    return "; ".join(f"{text} ({', '.join(names)})" for text, names in by_text.items())


def _default(having: list[Method[Any]], name: str) -> str:
    """The default of an option, if it has one and all methods agree."""
    if name in FITTED:
        return "2 to 10"
    infos = _options_of(having, name)
    if any(info.is_required() or info.default != infos[0].default for info in infos):
        return ""
    return "" if infos[0].default is None else str(infos[0].default)


def _metavar(annotation: Any) -> str:
    """What a value looks like."""
    if get_origin(annotation) is Literal:
        return "WORD"
    parts = [part for part in get_args(annotation) or (annotation,) if part is not type(None)]
    words = {int: "N", float: "X", str: "TEXT"}
    return "|".join(words[part] if part in words else _metavar(part) for part in parts)
