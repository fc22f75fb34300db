"""What the specs of all scenarios share about where their work comes from."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from cloudarena.base.yaml import parse_yaml

LONGEST_NAME = 255
"""Characters of the name of a file or folder: no file system allows more."""


def _from_folder(path: Path, info: ValidationInfo) -> Path:
    """Resolves a relative path from the folder of the spec it stands in."""
    if max(map(len, path.parts), default=0) > LONGEST_NAME:
        raise PydanticCustomError(
            "not_allowed",
            f"a path with a name of {max(map(len, path.parts)):,} characters is not allowed: at "
            f"most {LONGEST_NAME}",
        )
    folder = (info.context or {}).get("folder")
    return Path(folder) / path if folder is not None else path


SpecPath = Annotated[Path, AfterValidator(_from_folder)]
"""A path in a spec: relative ones start from the folder of the spec."""


def from_yaml(value: Any, info: ValidationInfo) -> Any:
    """A path stands for what is in the YAML file there."""
    if not isinstance(value, (str, Path)):
        return value
    path = _from_folder(Path(value), info)
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise PydanticCustomError("not_allowed", f"{path}: {reason}") from None
    except ValueError as error:
        raise PydanticCustomError("not_allowed", f"{path}, {error}") from None


def source_names(union: Any) -> tuple[str, ...]:
    """The names of the sources in an annotated union of specs, each with a key ``source``."""
    return tuple(
        name
        for source in get_args(get_args(union)[0])
        for name in get_args(source.model_fields["source"].annotation)
    )


def load_workload(source: Any, seed: int, *others: float) -> Any:
    """The work of a source under a seed. The last one is kept, for the next policy on it.

    What the source needs besides, such as the speed of a core, is given to its ``load`` too.
    """
    return _load(source, _stamp(source), seed, *others)


def _stamp(source: Any) -> tuple[int, ...]:
    """Changes when a file behind the source does."""
    values = [
        value
        for entry in dict(source).values()
        for value in (entry if isinstance(entry, tuple) else (entry,))
    ]
    paths = [value for value in values if isinstance(value, Path)]
    return tuple(path.stat().st_mtime_ns for path in paths if path.exists())


@lru_cache(maxsize=1)
def _load(source: Any, stamp: tuple[int, ...], seed: int, *others: float) -> Any:
    return source.load(seed, *others)
