"""The cache of compiled code: never stale, nothing compiled without need, no reason to fail."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from cloudarena.engine.code_cache import DAYS_KEPT, _Files, cache_folder, fingerprint, sweep
from cloudarena.engine.compiled import jit_inline, jit_uncounted

CALLEE = '''
from typing import NamedTuple
from cloudarena.engine.compiled import jit_inline

FACTOR = 3

class Pair(NamedTuple):
    left: int
    right: int

@jit_inline
def scaled(x):
    """Docstring."""
    return FACTOR * x

@jit_inline
def unused(x):
    return x
'''
CALLER = """
import numpy as np
import callee
from callee import Pair, scaled
from cloudarena.engine.compiled import jit

@jit
def work(pair, y):
    return later(scaled(pair.left) + 10 * y)

@jit
def later(x):
    return x + 1

def answer():
    print(work(Pair(1, 2), 3), sum(work._cache_hits.values()))
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., tuple[int, bool]]:
    """Runs the two modules in a new process: the result, and whether it was compiled before."""

    def start(edit: tuple[str, str] = ("", "")) -> tuple[int, bool]:
        for name, text in (("callee", CALLEE), ("caller", CALLER)):
            changed = text.replace(*edit) if edit[0] else text
            (tmp_path / f"{name}.py").write_text(changed)
        printed = subprocess.run(
            [sys.executable, "-B", "-c", "import caller; caller.answer()"],
            env={
                **os.environ,
                "CLOUDARENA_CACHE_DIR": str(tmp_path / "cache"),
                "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
            },
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        return int(printed[0]), printed[1] == "1"

    return start


def test_a_second_process_takes_the_code_from_the_cache(run: Callable[..., object]) -> None:
    assert run() == (34, False)
    assert run() == (34, True)


def test_an_edited_callee_constant_or_field_order_gives_the_new_result(
    run: Callable[..., object],
) -> None:
    assert run() == (34, False)
    assert run(("FACTOR * x", "FACTOR * x + 1")) == (35, False)
    assert run(("FACTOR = 3", "FACTOR = 5")) == (36, False)
    assert run(("x + 1", "x + 2")) == (35, False)
    swapped = ("    left: int\n    right: int", "    right: int\n    left: int")
    assert run(swapped) == (37, False)
    assert run() == (34, True)  # what was compiled first is still there


def test_edits_that_change_no_machine_code_compile_nothing(run: Callable[..., object]) -> None:
    assert run() == (34, False)
    assert run(("Docstring.", "Another docstring.")) == (34, True)
    assert run(("\nFACTOR", "\n# A comment that moves lines.\n\nFACTOR")) == (34, True)
    assert run(("def unused(x):\n    return x", "def unused(x):\n    return -x")) == (34, True)


def test_options_of_the_compiler_count() -> None:
    def function(x: int) -> int:
        return x

    assert fingerprint(function) != fingerprint(function, {"boundscheck": True})


def test_a_function_that_closes_over_a_compiled_one_has_one_key() -> None:
    """Numba's key has the bytes of a closure, and no two compiled functions have the same."""

    def one(x: int) -> int:
        return x + 1

    def made(factor: int) -> Any:
        part = jit_inline(one)

        def whole(x: int) -> int:
            return part(x) * factor

        return jit_uncounted(whole)

    first, again, other = made(2), made(2), made(3)
    keys = [
        one._cache._index_key(numba.int64(numba.int64), one.targetctx.codegen())
        for one in (first, again)
    ]
    assert keys[0] == keys[1]
    assert fingerprint(first.py_func) == fingerprint(again.py_func) != fingerprint(other.py_func)


def test_a_damaged_file_is_compiled_anew(run: Callable[..., object], tmp_path: Path) -> None:
    assert run() == (34, False)
    for file in (tmp_path / "cache" / "cloudarena" / "compiled").glob("*.nb*"):
        file.write_bytes(file.read_bytes()[:20])
    assert run() == (34, False)


def test_processes_that_compile_at_once_never_take_each_others_code(tmp_path: Path) -> None:
    """The second had looked at the index before the first wrote it, with another signature."""
    first, second = (_Files(str(tmp_path), "work", "stamp") for _ in range(2))
    first.save("one", 1)
    seen = first._load_index()
    second._load_index = dict  # type: ignore[method-assign]
    second.save("two", 2)
    assert first._load_data(seen["one"]) == 1
    assert first.load("two") == 2


def test_what_nobody_used_for_a_month_goes(tmp_path: Path) -> None:
    old, new = tmp_path / "old.nbc", tmp_path / "new.nbc"
    for file in (old, new):
        file.write_bytes(b"")
    month_ago = time.time() - (DAYS_KEPT + 1) * 86_400
    os.utime(old, (month_ago, month_ago))
    sweep(tmp_path)
    assert not old.exists()
    assert new.exists()
    old.write_bytes(b"")
    os.utime(old, (month_ago, month_ago))
    sweep(tmp_path)  # it looks once a day
    assert old.exists()


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("CLOUDARENA_CACHE_DIR", raising=False)
    assert cache_folder().is_relative_to(tmp_path / "xdg")
    monkeypatch.setenv("CLOUDARENA_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_folder().is_relative_to(tmp_path / "mine")
    assert cache_folder().is_dir()


@pytest.fixture
def not_writable(tmp_path: Path) -> Path:
    """A folder that cannot be made, even by root: it is below a file."""
    file = tmp_path / "file"
    file.write_text("")
    return file / "cache"


def test_a_folder_that_cannot_be_written_gives_way_to_a_temporary_one(
    not_writable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUDARENA_CACHE_DIR", str(not_writable))
    folder = cache_folder()
    assert folder.is_relative_to(tempfile.gettempdir())
    assert folder.is_dir()
    assert cache_folder() != folder  # nobody else can have put anything there


def test_compiled_code_runs_without_a_home_and_leaves_nothing_behind(
    not_writable: Path, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = "from cloudarena.engine.power import power_w; print(power_w(100.0, 200.0, 1.0, 0.5))"
    printed = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "CLOUDARENA_CACHE_DIR": str(not_writable),
            "TMPDIR": str(temporary),
        },
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert printed == "150.0\n"
    assert list(temporary.iterdir()) == []
