"""The cache of compiled code: never stale, and no reason to fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cloudarena.engine.compiled import PACKAGE, cache_folder, source_fingerprint


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the sources."""
    copy = tmp_path / "cloudarena"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def sources_with_compiled_code() -> list[str]:
    """The files in which something is compiled, found by the decorators."""
    marks = ("@compiled", "@inner", "compiled_as(", "njit")
    return sorted(
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        # `policies.py` compiles functions that are defined in other files.
        if file != PACKAGE / "policies.py" and any(mark in file.read_text() for mark in marks)
    )


def test_there_is_compiled_code() -> None:
    assert "scenarios/vm/kernel.py" in sources_with_compiled_code()


def test_a_copy_of_the_sources_has_the_same_fingerprint(package: Path) -> None:
    assert source_fingerprint(package) == source_fingerprint()


@pytest.mark.parametrize("source", [*sources_with_compiled_code(), "scenarios/vm/policies.py"])
def test_a_change_of_any_compiled_source_changes_the_folder(package: Path, source: str) -> None:
    before = cache_folder(package)
    with (package / source).open("a") as file:
        file.write("\n# changed\n")
    after = cache_folder(package)
    assert before.name != after.name
    assert before.parent == after.parent


def test_a_new_or_renamed_source_changes_the_fingerprint(package: Path) -> None:
    before = source_fingerprint(package)
    added = package / "scenarios" / "vm" / "more.py"
    added.write_text("from cloudarena.engine.compiled import compiled\n")
    with_more = source_fingerprint(package)
    added.rename(package / "scenarios" / "vm" / "other.py")
    assert len({before, with_more, source_fingerprint(package)}) == 3


def test_a_source_without_compiled_code_does_not_touch_the_cache(package: Path) -> None:
    before = source_fingerprint(package)
    (package / "cli" / "added.py").write_text("print()\n")
    assert source_fingerprint(package) == before


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("CLOUDARENA_CACHE_DIR", raising=False)
    assert cache_folder().is_relative_to(tmp_path / "xdg")
    monkeypatch.setenv("CLOUDARENA_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_folder().is_relative_to(tmp_path / "mine")
    assert cache_folder().is_dir()
    assert list(cache_folder().iterdir()) == []


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
