"""Where results are written: checked before, complete or not at all, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.files import DRAFT, check_writable, write_text, written_folder


def draft_of_a_dead_process(folder: Path) -> Path:
    """A draft as a process leaves it that was killed while it wrote."""
    program = (
        "import os, sys\n"
        "from cloudarena.base.files import written_folder\n"
        "with written_folder(sys.argv[1]) as draft:\n"
        "    (draft / 'half').write_text('half')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(folder)], check=False)
    (draft,) = [*folder.parent.glob(f"{DRAFT}*"), *folder.glob(f"{DRAFT}*")]
    return draft


@pytest.mark.parametrize("exists", [True, False])
def test_the_draft_of_a_killed_process_is_swept_by_the_next(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "results"
    if exists:
        folder.mkdir()
    draft = draft_of_a_dead_process(folder)
    assert not (folder / "half").exists()
    with written_folder(folder) as fresh:
        (fresh / "whole").write_text("whole")
    assert not draft.exists()
    assert sorted(file.name for file in folder.iterdir()) == ["whole"]
    assert [file.name for file in tmp_path.iterdir()] == ["results"]


def test_a_draft_of_a_living_process_stays(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    with written_folder(folder) as mine:
        write_text(tmp_path / "other.txt", "other")
        (mine / "file").write_text("mine")
    assert (folder / "file").read_text() == "mine"


def test_a_folder_that_is_a_file_system_of_its_own_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a container's volume is: nothing can be renamed into it from outside."""
    volume = tmp_path / "volume"
    volume.mkdir()
    rename = os.replace

    def within_a_file_system(source: Path, target: Path) -> None:
        if (volume in Path(source).parents) != (volume in Path(target).parents):
            raise OSError(18, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(os, "replace", within_a_file_system)
    with written_folder(volume) as draft:
        (draft / "file").write_text("here")
    assert [file.name for file in volume.iterdir()] == ["file"]


def test_a_place_that_cannot_be_written_is_known_before(tmp_path: Path) -> None:
    file = tmp_path / "afile"
    file.write_text("")
    with pytest.raises(CloudarenaError, match=r"afile/sub/deep: cannot be written: .*afile is not"):
        check_writable(file / "sub" / "deep")
    with pytest.raises(CloudarenaError, match=r"afile: cannot be written: .*afile is not a folder"):
        check_writable(file)
    with pytest.raises(CloudarenaError, match="File name too long") as caught:
        check_writable(tmp_path / ("x" * 4000))
    assert len(str(caught.value)) < 300
    check_writable(tmp_path / "not" / "yet" / "there")
    assert [one.name for one in tmp_path.iterdir()] == ["afile"]


@pytest.mark.parametrize(
    "command",
    [
        ["run", "vm/toy"],
        ["compare", "vm/toy"],
        ["optimize", "tiers/rubis-hour"],
        ["trace", "generate", "azure-like", "--vms", "100"],
    ],
)
def test_out_is_looked_at_before_anything_is_computed(
    cloudarena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("it was computed first")

    # What is imported while a name is replaced would keep the replacement for good.
    for module in ("simulate", "compare", "optimize"):
        import_module(f"cloudarena.experiments.{module}")
    monkeypatch.setattr("cloudarena.catalogue.load", computed)
    monkeypatch.setattr("cloudarena.experiments.optimize.optimize", computed)
    monkeypatch.setattr("cloudarena.workloads.vm.azure_like.generate", computed)
    file = tmp_path / "afile"
    file.write_text("")
    code, _, err = cloudarena(*command, "--out", file / "sub")
    assert code == 2
    assert err == f"error: {file}/sub: cannot be written: {file} is not a folder\n"
