"""Reading whole documents, such as JSON, with errors that name the file and the location in it."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cloudarena.base.errors import TraceError, nearest
from cloudarena.base.files import UNREADABLE

KINDS: dict[type, str] = {dict: "a mapping of keys", list: "a list", str: "text"}


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked if it ends in ``.gz``."""
    if not path.is_file():
        raise TraceError(f"{path}: " + ("is a folder" if path.is_dir() else "does not exist"))
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except UNREADABLE as error:
        raise TraceError(f"{path}: cannot be read: {error}") from None


def read_json(path: Path) -> Any:
    """The value of a JSON file, which may be gzipped."""
    try:
        return json.loads(read_bytes(path))
    except json.JSONDecodeError as error:
        raise TraceError(f"{path}, line {error.lineno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: is not JSON: {error}") from None


def document_name(path: Path) -> str:
    """The name of a file without its endings."""
    name = path.name
    for ending in (".gz", ".xml", ".dax", ".json"):
        name = name.removesuffix(ending)
    return name


def member(where: str, mapping: Any, key: str, kind: type, default: Any = None) -> Any:
    """The value of a key, which must be of a kind; without a default it must be there.

    Args:
        where: the file and the location in it, as in ``file.json: workflow.``.
        mapping: the mapping, which is checked to be one.
        key: the key.
        kind: dict, list or str.
        default: what stands for a key that is not there.
    """
    if not isinstance(mapping, dict):
        raise not_a(where.rstrip(".: "), mapping, dict)
    if key not in mapping:
        if default is None:
            raise TraceError(f"{where}{key}: is missing")
        return default
    if not isinstance(mapping[key], kind):
        raise not_a(f"{where}{key}", mapping[key], kind)
    return mapping[key]


def not_a(where: str, value: Any, kind: type) -> TraceError:
    """The error that a value is not of a kind."""
    return TraceError(f"{where}: {_short(value)} is not allowed: {KINDS[kind]}")


def number(where: str, value: Any, least: float, most: float) -> float:
    """A number within limits."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not plain or not least <= value <= most:
        upper = f" to {most:g}" if math.isfinite(most) else " on"
        raise TraceError(f"{where}: {_short(value)} is not allowed: a number from {least:g}{upper}")
    return float(value)


def whole_number(where: str, value: Any, least: int, most: int) -> int:
    """A whole number within limits; such floats as 1e9 are whole as well."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise TraceError(
            f"{where}: {_short(value)} is not allowed: a whole number from {least} to {most:,}"
        )
    return value


def only_keys(where: str, mapping: dict[str, Any], known: Iterable[str]) -> None:
    """Raises for a key that is not known."""
    for key in mapping:
        if key not in known:
            raise TraceError(
                f"{where}: key {key!r} is not allowed: only {', '.join(known)}."
                + nearest(key, known)
            )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
