"""A file that is to be imported: its text, its document if it is JSON, its sheet; read once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.base.documents import decoded, opened, read_bytes
from cloudarena.importing.guess import Machines
from cloudarena.importing.mapping import Mapped
from cloudarena.importing.roles import tidy
from cloudarena.importing.sheet import Sheet, read_sheet
from cloudarena.kubernetes.snapshot import YAML, document_of

HEAD = 2**16


class File:
    """A file that is looked at by several presets and read once."""

    def __init__(self, path: Path):
        self.path = path

    @cached_property
    def data(self) -> bytes:
        """All of it, unpacked."""
        return read_bytes(self.path)

    @cached_property
    def head(self) -> str:
        """How it begins."""
        return decoded(self.begin.rpartition(b"\n")[0] or self.begin).lstrip()

    @cached_property
    def begin(self) -> bytes:
        """The first bytes, unpacked."""
        with opened(self.path) as file:
            found: bytes = file.read(HEAD)
        return found

    @cached_property
    def document(self) -> Any:
        """What is in it, if it is JSON, or what kubectl prints as YAML; else None."""
        if self.head[:1] not in ("{", "[") and not YAML.match(self.head):
            return None
        return document_of(self.path, decoded(self.data))

    @cached_property
    def sheet(self) -> Sheet:
        """The rows of it."""
        return read_sheet(self.path)

    @cached_property
    def words(self) -> frozenset[str]:
        """The tidy names of its columns; none if it is no plain table."""
        if self.head[:1] in ("{", "["):
            document = self.document
            first = document[0] if isinstance(document, list) and document else None
            return frozenset(map(tidy, first)) if isinstance(first, dict) else frozenset()
        if self.begin[:4] == b"PAR1" or not self.head:
            return frozenset()
        return frozenset(map(tidy, self.sheet.names))

    def holds(self, *keys: str) -> bool:
        """Whether it is a JSON object with these keys."""
        return isinstance(self.document, Mapping) and all(key in self.document for key in keys)


class Found(NamedTuple):
    """What a preset made of files."""

    sheet: Sheet
    kind: str
    mapping: Mapped
    machines: tuple[Machines, ...] = ()
    """Machines that the files tell of."""
    notes: tuple[str, ...] = ()
