"""What a large file of text is, found out block by block: it is never in memory as a whole."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.base.documents import opened

LARGE = 2**20
"""Bytes from which a file is read block by block; so much of its beginning is looked at."""
BLOCK = 2**22
ODD_BREAKS = re.compile("[\0\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|\r(?=[^\n])")
"""What Python takes for the end of a line and Arrow does not."""


class Survey(NamedTuple):
    """A large file in UTF-8, with plain ends of lines."""

    path: Path
    head: str
    """The first lines, without a byte order mark."""
    quotes: int
    """How many double quotes are in it."""

    @contextmanager
    def below(self, lines: int) -> Iterator[Any]:
        """The file from after some lines on, as bytes that are unpacked."""
        with opened(self.path) as file:
            for _ in range(lines):
                file.readline()
            if not lines and file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                file.seek(0)
            yield file


def surveyed(path: Path) -> Survey | None:
    """The survey of a file; None if it is small, or not as plain as that."""
    decode = codecs.getincrementaldecoder("utf-8")().decode
    quotes, last, head = 0, "", b""
    with opened(path) as file:
        while block := file.read(BLOCK):
            if not head:
                if len(block) < LARGE:
                    return None
                head = block[:LARGE]
            try:
                text = decode(block)
            except UnicodeDecodeError:
                return None
            if ODD_BREAKS.search(last + text):
                return None
            quotes, last = quotes + text.count('"'), text[-1:]
    begin = head[: head.rfind(b"\n") + 1].decode("utf-8-sig")
    return Survey(path, begin, quotes) if begin else None
