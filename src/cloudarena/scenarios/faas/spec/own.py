"""Functions of one's own that a spec names in place of a rule: ``FILE.py:NAME``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo

from cloudarena.contract.source import from_folder

OWN = ".py:"


def _found(value: Any, info: ValidationInfo) -> Any:
    """Names of files start from the folder of the spec."""
    if not is_own(value):
        return value
    file, _, name = value.rpartition(":")
    return f"{from_folder(Path(file), info)}:{name}"


Own = Annotated[str, Field(pattern=r"\.py:[A-Za-z_]\w*$"), BeforeValidator(_found)]
"""A function of one's own; its file is relative to the spec."""


def is_own(value: Any) -> bool:
    """Whether a value names a function of one's own."""
    return isinstance(value, str) and OWN in value


def _form(value: Any) -> str:
    """How a rule is given; error messages leave words in angle brackets out."""
    return "<own>" if is_own(value) else "<rule>"


RouterName = Literal["round-robin", "least-loaded", "random", "locality", "newest"]
KeepName = Literal["fixed", "hybrid-histogram", "forever"]
EvictName = Literal["none", "lru", "greedy-dual"]
ModelName = Literal["shared", "none"]
_Own = Annotated[Own, Tag("<own>")]
Router = Annotated[Annotated[RouterName, Tag("<rule>")] | _Own, Discriminator(_form)]
Keep = Annotated[Annotated[KeepName, Tag("<rule>")] | _Own, Discriminator(_form)]
Evict = Annotated[Annotated[EvictName, Tag("<rule>")] | _Own, Discriminator(_form)]
Model = Annotated[Annotated[ModelName, Tag("<rule>")] | _Own, Discriminator(_form)]


def own_or(value: str) -> str:
    """The word for a function of one's own, or the rule as it is called."""
    return "own" if is_own(value) else value
