"""The command of a source: each of its fields is an argument or an option."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from cloudarena.base.errors import CloudarenaError, SpecError, explain
from cloudarena.cli import complete
from cloudarena.cli.options import Json, Seed, TraceFolder, print_json, stderr, stdout
from cloudarena.contract.kind import Kind
from cloudarena.contract.source import Scan, Source
from cloudarena.contract.spec import mentioned_models
from cloudarena.contract.spec_text import docstrings

PLAIN = (int, float, str, bool, Path)


def source_command(
    kind: Kind, source: type[Source], name: str, verb: str, others: Sequence[str] = ()
) -> Callable[..., None]:
    """A function with the options of a source, which writes the trace that they describe.

    Args:
        kind: whose source it is.
        source: the format or the generator.
        name: under which it is called.
        verb: ``convert`` or ``generate``.
        others: all kinds that have a source of that name, if there are several.
    """
    fields = source.command()

    def command(**given: Any) -> None:
        out, as_json, seed = given["out"], given["as_json"], given["seed"]
        settings = {key: given[key] for key in fields.settings}
        scan = make_source(fields, name, given).scan(seed, **settings)
        _finish(kind, scan, out, as_json)

    parameters = [
        *_field_parameters(fields),
        *_setting_parameters(fields),
        *([_parameter("kind", Annotated[str, _kind_option(others)], kind.name)] if others else []),
        _parameter("out", TraceFolder),
        _parameter("as_json", Json, False),
    ]
    if "seed" not in fields.model_fields:
        parameters.append(_parameter("seed", Seed, 0))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = (
        f"{_first_sentence(fields)}\n\n"
        f"Example: cloudarena trace {verb} {name} {fields.example or source.example}"
    )
    return command


def make_source(fields: type[Source], name: str, given: Mapping[str, Any]) -> Source:
    """The source of what was given for its fields; what was not given is left to it."""
    values = {}
    for field in fields.model_fields:
        value = given.get(field)
        if isinstance(value, list):
            value = [*value, *(given.get(f"more_{field}") or ())]
        if value not in (None, []):
            values[field] = value
    canonical = name if name in fields.names() else fields.names()[0]
    try:
        return fields.model_validate({**values, "source": canonical})
    except ValidationError as error:
        raise SpecError(explain(error.errors(include_url=False))) from None


def _finish(kind: Kind, scan: Scan, out: Path, as_json: bool) -> None:
    """Writes a trace and the scenarios beside it, and says what was made, and where."""
    import yaml

    texts = {}
    for file, spec in scan.specs.items():
        kind.scenario.parse(spec, file)
        texts[file] = yaml.safe_dump(dict(spec), sort_keys=False)
    room = kind.room("sources")
    if not hasattr(room, "write"):
        raise CloudarenaError(f"{kind}: its work cannot be written: sources.py has no write")
    written = room.write(scan.workload, out, texts)
    for note in scan.notes:
        stderr().print(f"note: {note}", highlight=False)
    summary = {**scan.counts, **written}
    if as_json:
        print_json({**summary, "out": str(out)})
        return
    for name, value in summary.items():
        stdout().print(f"{name.replace('_', ' ')}: {value:,}", highlight=False)
    files = [f"{out}/{file}" for file in canonical_files(kind)]
    stdout().print(f"wrote {' and '.join(files)}", highlight=False)


def canonical_files(kind: Kind) -> Iterator[str]:
    """The files that a trace of a kind is written to."""
    for source in kind.sources.values():
        for file in source.canonical.values():
            yield file if Path(file).suffix else f"{file}.parquet"


def _field_parameters(fields: type[Source]) -> Iterator[inspect.Parameter]:
    words = docstrings(fields)
    for name, info in fields.model_fields.items():
        if name == "source" or any(mentioned_models(info.annotation)):
            continue  # what has keys of its own is for specs
        kind, is_many, may_be_none = _plain_type(info.annotation)
        help_text = " ".join(words.get(name, "").split())
        metavar = "FILE" if kind is Path else None
        annotation: Any = list[kind] if is_many else kind  # type: ignore[valid-type]
        if name in fields.arguments:
            yield _parameter(
                name, Annotated[annotation, typer.Argument(metavar=metavar, help=help_text)]
            )
            continue
        flag = "--" + fields.option_names.get(name, name).replace("_", "-")
        default = inspect.Parameter.empty if info.is_required() else _default(info)
        if default is None or may_be_none or (is_many and not info.is_required()):
            annotation = annotation | None
        option = typer.Option(flag, metavar=metavar, help=help_text)
        yield _parameter(name, Annotated[annotation, option], default)
        if is_many and kind is Path:
            more = typer.Argument(metavar="FILE", help=f"More {name}.", show_default=False)
            yield _parameter(f"more_{name}", Annotated[list[Path] | None, more], None)


def _setting_parameters(fields: type[Source]) -> Iterator[inspect.Parameter]:
    signature = inspect.signature(fields.scan, eval_str=True)
    for name, help_text in fields.settings.items():
        known = signature.parameters[name]
        kind, is_many, _ = _plain_type(known.annotation)
        annotation: Any = list[kind] if is_many else kind  # type: ignore[valid-type]
        default = list(known.default) if is_many else known.default
        yield _parameter(name, Annotated[annotation, typer.Option(help=help_text)], default)


def _kind_option(kinds: Sequence[str]) -> Any:
    return typer.Option(
        "--kind",
        help=f"What is made of it: {', '.join(kinds)}.",
        autocompletion=complete.words(*kinds),
    )


def _parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _plain_type(annotation: Any) -> tuple[Any, bool, bool]:
    """A type that a command line knows, whether there may be many of it, and whether none."""
    if get_origin(annotation) is Annotated:
        return _plain_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        kind, is_many, _ = _plain_type(parts[0])
        return kind, is_many, type(None) in get_args(annotation)
    if get_origin(annotation) is tuple:
        return _plain_type(get_args(annotation)[0])[0], True, False
    if get_origin(annotation) is Literal:
        return str, False, False
    return (annotation if annotation in PLAIN else str), False, False


def _default(info: FieldInfo) -> Any:
    value = info.get_default(call_default_factory=True)
    return (list(value) or None) if isinstance(value, tuple) else value


def _first_sentence(source: type[Source]) -> str:
    return " ".join((source.__doc__ or "").split("\n\n")[0].split())
