"""The glossary names code that exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

GLOSSARY = Path(__file__).parents[1] / "docs" / "glossary.md"


def rows() -> list[tuple[str, list[str]]]:
    """Each word, with its names in code."""
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in GLOSSARY.read_text().splitlines()
        if line.startswith("| ") and not line.startswith(("| word", "| ---"))
    ]
    return [(row[0].strip(), re.findall(r"`([^`]+)`", row[-1])) for row in cells]


def found(name: str) -> Any:
    """What is below ``cloudarena`` under a name: a module, or something in one."""
    module, parts = "cloudarena", name.split(".")
    value: Any = importlib.import_module(module)
    while parts:
        try:
            value = importlib.import_module(f"{module}.{parts[0]}")
        except ModuleNotFoundError:
            break
        module = f"{module}.{parts.pop(0)}"
    for part in parts:
        fields = {**getattr(value, "__annotations__", {}), **getattr(value, "model_fields", {})}
        value = fields[part] if part in fields else getattr(value, part)
    return value


@pytest.mark.parametrize(("word", "names"), rows(), ids=lambda value: str(value)[:30])
def test_its_names_are_in_the_code(word: str, names: list[str]) -> None:
    assert names, f"{word} has no name in the code"
    for name in names:
        assert found(name) is not None


def test_there_are_some_sixty_words_and_none_is_a_duplicate() -> None:
    words = [word for word, _ in rows()]
    assert 60 <= len(words) <= 90
    assert len(set(words)) == len(words)


def test_a_name_that_is_gone_is_found() -> None:
    with pytest.raises(AttributeError):
        found("engine.calendar.Agenda")
