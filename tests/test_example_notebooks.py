"""The notebooks of the six kinds run, cell by cell, as Jupyter would run them."""

import ast
import json

import pytest
from tools.make_notebooks import FOLDER, TOURS, notebook

from cloudarena.scenarios import kinds


def test_each_kind_has_a_notebook():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(TOURS) == set(kinds())


@pytest.mark.parametrize("kind", TOURS)
def test_a_notebook_is_made_by_the_script_and_runs(kind):
    text = (FOLDER / f"{kind}.ipynb").read_text()
    assert text == notebook(kind), "run python tools/make_notebooks.py"
    names = {"__name__": "notebook"}
    shown = []
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, kind, "exec"), names)
        if last is not None:  # what Jupyter shows below a cell
            value = eval(compile(ast.Expression(last.value), kind, "eval"), names)
            shown.append(getattr(value, "_repr_html_", lambda value=value: repr(value))())
    assert len(shown) >= 6
    assert all(shown)
