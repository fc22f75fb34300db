"""The whole spec of a kind as YAML with comments: every key, its default, what is allowed."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

WIDTH = 100
INDENT = "  "
WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    Path: "path",
}


def spec_text(model: type[BaseModel], example: Mapping[str, Any]) -> str:
    """The spec of a model as YAML that can be used as it is.

    Args:
        model: the class of the scenario.
        example: what a user might write: the values of keys that have no default.
    """
    return "\n".join(_lines(model, example, ""))


def _lines(model: type[BaseModel], given: Mapping[str, Any], indent: str) -> Iterator[str]:
    """The keys of a model, one after the other."""
    words = docstrings(model)
    for name, info in model.model_fields.items():
        key = info.alias or name
        value = given.get(key, PydanticUndefined)
        yield from _comment(words.get(name, ""), indent)
        yield from _key(key, info, value, indent)


def _key(key: str, info: FieldInfo, value: Any, indent: str) -> Iterator[str]:
    """One key with its value and, behind it, what is allowed."""
    allowed = _allowed(info)
    if value is PydanticUndefined and info.is_required():
        yield f"{indent}# {key}: required{': ' + allowed if allowed else ''}"
        return
    value = info.get_default(call_default_factory=True) if value is PydanticUndefined else value
    found = list(_models(info.annotation))
    yield from _alternatives(found, value, indent)
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", exclude_defaults=True)
        value = value if value or not found else {}
    entries = _entries(info.annotation)
    if isinstance(value, Mapping) and entries and not value:
        keys = ", ".join(one.alias or name for name, one in entries[0].model_fields.items())
        yield from _comment(f"By name: NAME: {{{keys}}}", indent)
        yield f"{indent}{key}: {{}}"
    elif isinstance(value, Mapping) and entries:
        yield f"{indent}{key}:"
        for name, entry in value.items():
            yield f"{indent}{INDENT}{_inline(name)}:"
            yield from _lines(_chosen(entries, entry), entry, indent + INDENT * 2)
    elif isinstance(value, Mapping) and found:
        yield f"{indent}{key}:"
        yield from _lines(_chosen(found, value), value, indent + INDENT)
    elif isinstance(value, (list, tuple)) and found and value:
        yield f"{indent}{key}:"
        for entry in value:
            if not isinstance(entry, Mapping):
                yield f"{indent}{INDENT}- {_inline(entry)}"
                continue
            lines = [*_lines(_chosen(found, entry), entry, indent + INDENT * 2)]
            first = next(k for k, line in enumerate(lines) if not line.lstrip().startswith("#"))
            lines[first] = f"{indent}{INDENT}- {lines[first].lstrip()}"
            yield from lines
    else:
        yield f"{indent}{key}: {_inline(value)}" + (f"  # {allowed}" if allowed else "")


def _alternatives(found: list[type[BaseModel]], value: Any, indent: str) -> Iterator[str]:
    """The other forms that a key may have, each on a line."""
    if len(found) < 2:
        return
    current = _chosen(found, value) if isinstance(value, Mapping) else None
    yield f"{indent}# one of:"
    for model in found:
        mark = "  (below)" if model is current else ""
        title = " ".join((model.__doc__ or "").split(". ")[0].split()).rstrip(".")
        keys = ", ".join(
            f"{info.alias or name}: {'|'.join(map(str, get_args(info.annotation)))}"
            if get_origin(info.annotation) is Literal and info.is_required()
            else (info.alias or name)
            for name, info in model.model_fields.items()
        )
        yield from _comment(f"{{{keys}}}: {title}{mark}", indent + INDENT)


def _chosen(found: list[type[BaseModel]], value: Mapping[str, Any]) -> type[BaseModel]:
    """The form that a value has: the one whose tags it carries."""
    for model in found:
        tags = {
            info.alias or name: get_args(info.annotation)
            for name, info in model.model_fields.items()
            if get_origin(info.annotation) is Literal and info.is_required()
        }
        if tags and all(value.get(key) in words for key, words in tags.items()):
            return model
    return found[0]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _entries(annotation: Any) -> list[type[BaseModel]]:
    """The models of the values of a mapping by names; none if an annotation is no such mapping."""
    parts = [annotation, *get_args(annotation)]
    tables = [part for part in parts if get_origin(part) in (dict, Mapping)]
    return [model for table in tables for model in _models(get_args(table)[1])]


def _allowed(info: FieldInfo) -> str:
    """What a key may be, in words."""
    annotation = info.annotation
    parts = [part for part in get_args(annotation) if part is not type(None)]
    may_be_null = type(None) in get_args(annotation)
    if get_origin(annotation) in (Union, types.UnionType) and len(parts) == 1:
        annotation = parts[0]
    if get_origin(annotation) is Literal:
        choices = ", ".join(map(str, get_args(annotation)))
        words = f"one of {choices}" if len(get_args(annotation)) > 1 else ""
    elif get_origin(annotation) in (tuple, list):
        inner = get_args(annotation)[0]
        choices = ", ".join(map(str, get_args(inner))) if get_origin(inner) is Literal else ""
        words = f"a list of {choices}" if choices else "a list"
    else:
        words = WORDS.get(annotation, "")
    limits = [
        text.format(getattr(bound, name))
        for bound in info.metadata
        for kind, name, text in (
            (Ge, "ge", "at least {:,g}"),
            (Gt, "gt", "more than {:,g}"),
            (Le, "le", "at most {:,g}"),
            (Lt, "lt", "less than {:,g}"),
            (MinLen, "min_length", "at least {} entries"),
        )
        if isinstance(bound, kind)
    ]
    return ", ".join([*filter(None, [words]), *limits, *(["or null"] if may_be_null else [])])


def _inline(value: Any) -> str:
    """A value as YAML on one line."""
    import yaml

    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    plain = list(plain) if isinstance(plain, tuple) else plain
    plain = str(plain) if isinstance(plain, Path) else plain
    text = yaml.safe_dump(plain, default_flow_style=True, width=10**6).strip()
    return text.removesuffix("...").strip()


def _comment(text: str, indent: str) -> Iterator[str]:
    """A text as comment lines."""
    for line in textwrap.wrap(" ".join(text.split()), WIDTH - len(indent) - 2):
        yield f"{indent}# {line}"


def docstrings(model: type[BaseModel]) -> dict[str, str]:
    """What stands below each attribute of a class and of those that it extends."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, BaseModel) and one is not BaseModel:
            found |= _docstrings(one.__module__).get(one.__qualname__, {})
    return found


@cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """What stands below each attribute of each class of a module."""
    try:
        body = ast.parse(inspect.getsource(sys.modules[module])).body
    except (KeyError, OSError, TypeError, SyntaxError):
        return {}
    return {part.name: dict(_below(part)) for part in body if isinstance(part, ast.ClassDef)}


def _below(part: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for before, after in itertools.pairwise(part.body):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            yield before.target.id, after.value.value
