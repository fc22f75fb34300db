"""Checkpoints: all that training needs to go on, in one file that is whole or not there."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cloudarena.base.errors import CloudarenaError
from cloudarena.learn.algorithm import State

CHECKPOINT = "checkpoint.npz"
PLAN = "plan"
SHOWN = 3
"""How many differences between two plans are told."""
DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


def write_checkpoint(folder: Path, plan: Mapping[str, Any], state: State) -> None:
    """Puts a checkpoint into a folder, in the place of the former one."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **{PLAN: np.array(_text(plan))}, **state)
    draft = folder / f".{CHECKPOINT}-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f".{CHECKPOINT}-*"):
            old.unlink(missing_ok=True)
        with draft.open("wb") as file:
            file.write(content.getvalue())
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, folder / CHECKPOINT)  # noqa: PTH105
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise CloudarenaError(
            f"{folder / CHECKPOINT}: cannot be written: {error.strerror or error}"
        ) from None


def read_checkpoint(folder: Path, plan: Mapping[str, Any]) -> State | None:
    """The state in a folder, if there is one; it must be of the same training."""
    file = folder / CHECKPOINT
    if not file.is_file():
        return None
    try:
        with np.load(file, allow_pickle=False) as arrays:
            state = {name: np.array(arrays[name]) for name in arrays.files}
        found = json.loads(str(state.pop(PLAN)))
    except DAMAGED as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CloudarenaError(
            f"{file}: cannot be read: {reason}; remove it to start anew"
        ) from None
    wanted = json.loads(_text(plan))
    if found != wanted:
        keys = [key for key in plan if found.get(key) != wanted[key] and key != "command"]
        raise CloudarenaError(
            f"{folder}: is not allowed: it holds the checkpoint of another training, with another "
            f"{', '.join(keys[:SHOWN]) or 'version'}; take another folder, or remove "
            f"{CHECKPOINT} to start anew"
        )
    return state


def remove_checkpoint(folder: Path) -> None:
    """Removes the checkpoint of a training that has ended."""
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _text(plan: Mapping[str, Any]) -> str:
    return json.dumps(plan, sort_keys=True)
