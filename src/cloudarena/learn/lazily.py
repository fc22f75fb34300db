"""A mapping that is made when somebody reads it: what few read costs nobody a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Lazily(Mapping[str, Any]):
    """A dict that a function makes when it is first read; another process is sent the dict."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self._make = make
        self._made: dict[str, Any] | None = None

    def _dict(self) -> dict[str, Any]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, key: str) -> Any:
        return self._dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict())

    def __len__(self) -> int:
        return len(self._dict())

    def __repr__(self) -> str:
        return repr(self._dict())

    def __reduce__(self) -> Any:
        return dict, (self._dict(),)
