"""Files as bytes, as texts and as JSON; what cannot be read is said in one line."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cloudarena.base.arrow import pa
from cloudarena.base.errors import TraceError
from cloudarena.base.files import UNREADABLE

PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""How packed files begin."""


def read_bytes(path: Path) -> bytes:
    """All of a file, unpacked."""
    with opened(path) as file:
        data: bytes = file.read()
    return data


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A file whose bytes are read, unpacked, piece by piece."""
    if path.is_dir():
        raise TraceError(f"{path}: is a folder: a file is needed")
    if not path.exists():
        raise TraceError(f"{path}: does not exist")
    try:
        with _unpacking(path) as file:
            yield file
    except (*UNREADABLE, lzma.LZMAError) as error:
        raise TraceError(f"{path}: cannot be read: {error}") from None


def _unpacking(path: Path) -> Any:
    """A file that unpacks what is read, if it is named or begins as a packed one."""
    with path.open("rb") as file:
        begin = file.read(5)
    how = next((how for magic, how in PACKED.items() if begin.startswith(magic)), "")
    if path.suffix == ".gz" or how == "gzip":
        return gzip.open(path, "rb")
    if how == "bz2":
        return bz2.open(path, "rb")
    if how == "xz":
        return lzma.open(path, "rb")
    return pa.input_stream(str(path), compression="zstd") if how else path.open("rb")


def decoded(data: bytes) -> str:
    """The text of a file in UTF-8, in UTF-16 with its mark, or else in Latin-1."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_json(path: Path, text: str) -> Any:
    """A document, or the list of the documents of a file that has several one after the other."""
    try:
        return json.loads(text)
    except ValueError as error:
        for parts in (_on_lines, _in_a_row):
            try:
                return parts(text)
            except ValueError:
                continue
        where = getattr(error, "lineno", 0)
        raise TraceError(
            f"{path}, line {where}: is not JSON: {getattr(error, 'msg', error)}"
        ) from None


def _on_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _in_a_row(text: str) -> list[Any]:
    """Documents over several lines each, as ``kubectl get ... >> file`` leaves them."""
    found, at, decoder = [], 0, json.JSONDecoder()
    while rest := text[at:].lstrip()[:1]:
        begin = text.index(rest, at)
        document, at = decoder.raw_decode(text, begin)
        found.append(document)
    return found
