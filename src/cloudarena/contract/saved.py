"""What was measured saves itself: to a folder, and as a page.

The page is made by a module of a layer above, such as ``cloudarena.report.pages.run``. A class
names it in ``page``; it is imported when a page is first asked for, and its ``make_sheet`` says
what is on the page. So the contract needs no report, and what another package measures may bring
a page of its own.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from cloudarena.base.files import check_writable, write_text
from cloudarena.base.results import REPORT, Contents, read_results, write_results


class Saved(ABC):
    """What can be saved to a folder, loaded from it again, and shown as a page."""

    stored_as: ClassVar[str]
    """What ``metrics.json`` calls it under ``result``, such as ``run``."""
    page: ClassVar[str]
    """The module whose ``make_sheet`` says what is on its page."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """All figures as plain values for JSON."""

    @abstractmethod
    def contents(self) -> Contents:
        """What is written to a folder, but for the page."""

    @classmethod
    @abstractmethod
    def restore(cls, contents: Contents) -> Self:
        """What was saved, from the contents of its folder."""

    def save(self, folder: str | Path) -> Path:
        """Writes ``metrics.json``, a Parquet file per table, ``spec.yaml`` and ``report.html``.

        When that fails, the folder is as it was before. ``load`` reads it again.
        """
        check_writable(folder)
        contents = self.contents()
        texts = {REPORT: self._page_text(), **contents.texts}
        return write_results(folder, replace(contents, texts=texts))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """What was saved to a folder; equal to what saved it."""
        return cls.restore(read_results(folder, cls.stored_as))

    def to_html(self, path: str | Path) -> Path:
        """Writes the page, one file that holds all it needs, and returns its path."""
        return write_text(path, self._page_text())

    def _page_text(self) -> str:
        sheet = importlib.import_module(self.page).make_sheet(self)
        text: str = importlib.import_module("cloudarena.report.page").render(sheet)
        return text

    def __eq__(self, other: object) -> bool:
        """Whether both would be saved as the same files."""
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Saved)
        return self.contents().is_same(other.contents())

    __hash__ = None  # type: ignore[assignment]
