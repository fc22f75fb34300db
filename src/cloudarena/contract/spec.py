"""What every part of a spec has in common: frozen, no unknown keys, errors that help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import nearest, one_line
from cloudarena.version import __version__

NUMBERS = (int, float, int | None, float | None)
SPEC_VERSION: Final = 1
"""The version of the specs that this package reads; it rises when a key changes its meaning."""


def _readable_version(value: Any) -> Any:
    if type(value) is not int or value != SPEC_VERSION:
        raise PydanticCustomError(
            "not_allowed",
            f"{one_line(value)} is not allowed: {SPEC_VERSION}, the version of specs that "
            f"cloudarena {__version__} reads",
        )
    return value


SpecVersion = Annotated[Literal[1], BeforeValidator(_readable_version), Field(exclude=True)]
"""The key ``version`` of a file. It is no part of what is described: what is written of a spec and
what is computed from it are the same with and without it."""


class Spec(BaseModel):
    """Part of what a user writes: frozen, no unknown keys, errors that name the nearest key."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = {info.alias or name: info.annotation for name, info in cls.model_fields.items()}
            for key, value in data.items():
                if key not in known:
                    hint = nearest(str(key), known, 0.6) or f" Allowed: {', '.join(known)}."
                    raise PydanticCustomError("unknown_key", f"unknown key {str(key)!r}.{hint}")
                # Pydantic would take true for 1.
                if isinstance(value, bool) and known[key] in NUMBERS:
                    raise PydanticCustomError(
                        "not_allowed", f"{key}: {value} is not allowed: a number"
                    )
        return data


def or_also(schema: dict[str, Any], *path: str, **other: Any) -> None:
    """Adds a form to a JSON schema, as where a validator takes a word for a mapping.

    Args:
        schema: the schema of a model, as ``json_schema_extra`` has it; it is changed.
        path: the keys that lead to the part; none is the model itself.
        other: the further form, such as ``type="string"``.
    """
    for key in path:
        schema = schema[key]
    first = dict(schema)
    schema.clear()
    schema |= {"anyOf": [first, other]}


@cache
def union_tags(model: type[BaseModel]) -> tuple[str, ...]:
    """The tags of all tagged unions within a model, which error messages leave out of paths."""
    return tuple(dict.fromkeys(_tags(model, set())))


def _tags(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[str]:
    if model in seen:
        return
    seen.add(model)
    for info in model.model_fields.values():
        members = list(mentioned_models(info.annotation))
        for holder in (info, *_annotated(info.annotation)):
            tag = getattr(holder, "discriminator", None)
            if isinstance(tag, str):
                for member in members:
                    if tag in member.model_fields:
                        yield from map(str, get_args(member.model_fields[tag].annotation))
        for member in members:
            yield from _tags(member, seen)


def mentioned_models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that an annotation mentions, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from mentioned_models(part)


def _annotated(annotation: Any) -> Iterator[Any]:
    """What stands in the ``Annotated`` parts of an annotation."""
    yield from getattr(annotation, "__metadata__", ())
    for part in get_args(annotation):
        yield from _annotated(part)
