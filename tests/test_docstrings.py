"""Every docstring begins with a whole sentence that can be read alone, as an editor shows it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
FRAGMENT = re.compile(
    r"(After|And|As|At|Before|Between|But|By|For|From|In|Into|It|Its|Of|On|Or|Over|So|That|The same"
    r"|Theirs|These|This|Those|Through|To|Under|Up|Whose|With|Within|Without)\b"
)
"""Beginnings of what only goes on from something else: ``Of the values.``, ``As above.``."""
FEWEST_WORDS = 3


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """The line, name and text of each docstring, those of attributes included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield node.body[0].lineno, getattr(node, "name", "module"), text
            for before, after in zip(node.body, node.body[1:], strict=False):
                if not isinstance(before, ast.Assign | ast.AnnAssign):
                    continue
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    target = before.target if isinstance(before, ast.AnnAssign) else before.targets
                    name = ast.unparse(target if isinstance(target, ast.AST) else target[0])
                    yield after.lineno, name, str(after.value.value).strip()


def fault(text: str) -> str:
    """What is wrong with a docstring; nothing if it begins with a sentence."""
    first = " ".join(text.split("\n\n")[0].split())
    if FRAGMENT.match(first):
        return f"begins with {first.split()[0]!r}, a fragment"
    if not re.match(r"[A-Z0-9`]", first):
        return "does not begin with a capital letter"
    if not first.endswith("."):
        return "does not end with a full stop"
    if len(first.split()) < FEWEST_WORDS:
        return f"has fewer than {FEWEST_WORDS} words"
    return ""


def test_docstrings_are_sentences() -> None:
    seen, faults = 0, []
    for path in sorted([*SRC.rglob("*.py"), *(ROOT / "examples" / "admission").glob("*.py")]):
        for line, name, text in docstrings(ast.parse(path.read_text())):
            seen += 1
            if wrong := fault(text):
                faults.append(f"{path.relative_to(ROOT)}:{line}: {name} {wrong}: {text[:60]!r}")
    assert seen > 4000
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Of the values.", "begins with 'Of', a fragment"),
        ("The same with more room.", "begins with 'The', a fragment"),
        ("and at the end of the period.", "does not begin with a capital letter"),
        ("Requests in the order of arrival,", "does not end with a full stop"),
        ("Finds the first\n\nand", "does not end with a full stop"),
        ("The profile.", "has fewer than 3 words"),
        ("Returns the values.", ""),
        ("``P(T > t)`` of a chain.", ""),
        ("Offers the first line.\n\nOf more there is nothing to say", ""),
    ],
)
def test_what_is_no_sentence_is_found(text: str, wrong: str) -> None:
    assert fault(text) == wrong


def test_docstrings_of_attributes_are_found() -> None:
    tree = ast.parse(
        '"""A module."""\nA = 1\n"""Of one."""\n\nclass B:\n    c: int\n    """Two."""\n'
    )
    assert [(name, text) for _, name, text in docstrings(tree)] == [
        ("module", "A module."),
        ("A", "Of one."),
        ("c", "Two."),
    ]
