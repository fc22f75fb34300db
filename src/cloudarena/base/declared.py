"""Names that decorators give, read from source: what there is is told without importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path


def given_names(module: str) -> list[str]:
    """The first text of each decorator, and of each call that is a statement of its own.

    As ``first-fit`` of ``@POLICIES.register("first-fit")``, in the order of the files.

    Args:
        module: a module or a package, such as ``cloudarena.scenarios.vm.policies``.
    """
    found = []
    for tree in _trees(module):
        calls = [*_decorators(tree), *(one.value for one in tree.body if isinstance(one, ast.Expr))]
        for call in calls:
            first = next(iter(call.args), None) if isinstance(call, ast.Call) else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.append(first.value)
    return list(dict.fromkeys(found))


def decorated_names(module: str, decorator: str) -> list[str]:
    """The functions under a decorator, such as ``metric``, in the order of the files."""
    return [
        function.name
        for tree in _trees(module)
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for one in function.decorator_list
        if ast.unparse(one).partition("(")[0].rpartition(".")[2] == decorator
    ]


def _decorators(tree: ast.Module) -> Iterator[ast.expr]:
    for one in tree.body:
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            yield from one.decorator_list


def _trees(module: str) -> Iterator[ast.Module]:
    """The source of a module, or of all modules of a package."""
    spec = find_spec(module)
    if spec is None:
        return
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    for file in files or [Path(spec.origin or "")]:
        if file.suffix == ".py" and file.is_file():
            yield ast.parse(file.read_text(encoding="utf-8"))
