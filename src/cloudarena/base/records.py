"""Named tuples and dataclasses of arrays and plain values, as the bytes of one file.

The bytes are those of a NumPy archive without pickled objects: the arrays by their position in the
record, and the rest as JSON under ``plain``. The same record gives the same bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import CloudarenaError

Record = TypeVar("Record")
Arrays = dict[str, NDArray[Any]]


def pack(record: Any) -> bytes:
    """The bytes of a record."""
    arrays: Arrays = {}
    plain = _taken_apart(record, "record", arrays)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, plain=np.array(json.dumps(plain)), **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(kind: type[Record], data: bytes) -> Record:
    """The record of a class whose bytes these are; an error of one line if they are not."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        found: Record = _put_together(kind, json.loads(str(arrays["plain"])), arrays)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise CloudarenaError(
            f"state.npz does not hold a {kind.__name__} of this version: "
            f"{str(error).splitlines()[0] if str(error) else type(error).__name__}"
        ) from None
    return found


def _taken_apart(value: Any, path: str, arrays: Arrays) -> Any:
    """Plain values; arrays are put aside under their path."""
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return {"array": path}
    if isinstance(value, np.generic):
        return value.item()
    names = _fields(type(value))
    if names is not None:
        return {
            "record": {
                name: _taken_apart(getattr(value, name), f"{path}.{name}", arrays) for name in names
            }
        }
    if isinstance(value, dict):
        parts = {key: _taken_apart(one, f"{path}.{key}", arrays) for key, one in value.items()}
        return {"mapping": parts}
    if isinstance(value, list | tuple):
        return [_taken_apart(one, f"{path}.{k}", arrays) for k, one in enumerate(value)]
    return value


def _put_together(hint: Any, plain: Any, arrays: Arrays) -> Any:
    """The value of a type; ``hint`` is an annotation, of which the records are looked at."""
    if isinstance(plain, list):
        return tuple(_put_together(hint, one, arrays) for one in plain)
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return arrays[plain["array"]]
    if "mapping" in plain:
        return {key: _put_together(Any, one, arrays) for key, one in plain["mapping"].items()}
    kind = next(one for one in _within(hint) if _fields(one) is not None)
    hints = get_type_hints(kind)
    parts = {key: _put_together(hints[key], one, arrays) for key, one in plain["record"].items()}
    return kind(**parts)


def _within(hint: Any) -> list[Any]:
    """An annotation and all that it mentions."""
    return [hint, *(found for part in get_args(hint) for found in _within(part))]


def _fields(kind: Any) -> list[str] | None:
    """The names of the fields of a named tuple or dataclass; None for all else."""
    if isinstance(kind, type) and is_dataclass(kind):
        return [one.name for one in fields(kind)]
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return list(kind._fields)
    return None
