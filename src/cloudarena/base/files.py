"""Writing so that nothing half-written stays (a draft first, then a rename); reading.

A draft carries the number of its process in its name. One whose process was killed is swept by
the next who writes to the same place.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import time
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path

from cloudarena.base.errors import CloudarenaError

UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a file raises that is not there, is cut short or, gzipped, is damaged."""
DRAFT = ".cloudarena-draft-"
FORGOTTEN_S = 86_400.0
"""The age at which a draft of a process on another machine counts as left behind."""


def check_writable(folder: str | Path) -> Path:
    """The path, if a folder can be written there: asked before a long computation, not after."""
    target = Path(folder)
    with _one_line(target):
        there = target
        while not _exists(there) and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise CloudarenaError(f"{target}: cannot be written: {there} is not a folder")
        with tempfile.TemporaryFile(dir=there, prefix=DRAFT):
            pass
    return target


@contextlib.contextmanager
def written_folder(folder: str | Path) -> Iterator[Path]:
    """Yields a temporary folder whose files appear in ``folder`` when the block ends well.

    Files of ``folder`` with other names stay. When the block fails, or the disk is full,
    ``folder`` is as it was before. The draft is within ``folder`` if that exists, which may be a
    file system of its own.
    """
    target = check_writable(folder)
    with _one_line(target):
        existed = target.is_dir()
        parent = target if existed else target.parent
        parent.mkdir(parents=True, exist_ok=True)
        sweep_drafts(parent)
        draft = Path(tempfile.mkdtemp(prefix=draft_name(), dir=parent))
    try:
        yield draft
        with _one_line(target):
            draft.chmod(0o755)
            if existed:
                for file in sorted(draft.iterdir()):
                    os.replace(file, target / file.name)  # noqa: PTH105
            else:
                os.replace(draft, target)  # noqa: PTH105
    except OSError as error:
        raise _cannot_write(target, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_text(file: str | Path, text: str) -> Path:
    """Writes a file under a temporary name beside it, then renames it.

    When that fails, the file is as it was before, or is not there.
    """
    target = Path(file)
    draft = target.parent / f"{draft_name()}{target.name[:80]}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep_drafts(target.parent)
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, target)  # noqa: PTH105
    except OSError as error:
        raise _cannot_write(target, error) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
    return target


def sweep_drafts(folder: Path) -> None:
    """Removes the drafts in a folder that a process left behind which is no more."""
    for draft in folder.glob(f"{DRAFT}*"):
        host, _, rest = draft.name.removeprefix(DRAFT).partition("-")
        with contextlib.suppress(OSError, ValueError):
            if host == _host():
                is_old = not is_alive(int(rest.partition("-")[0]))
            else:
                is_old = time.time() - draft.stat().st_mtime > FORGOTTEN_S
            if is_old and draft.is_dir():
                shutil.rmtree(draft, ignore_errors=True)
            elif is_old:
                draft.unlink(missing_ok=True)


def _exists(path: Path) -> bool:
    """Whether something is there; a name that could not be one is an error."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def draft_name() -> str:
    """How the name of a draft of this process begins: each call gives another, for its threads."""
    return f"{DRAFT}{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}-"


def _host() -> str:
    """The name of this machine, as a part of a file name."""
    return "".join(letter for letter in socket.gethostname() if letter.isalnum())[:40] or "host"


def is_alive(process: int) -> bool:
    """Whether a process of this machine is there."""
    if process <= 0 or os.name == "nt":  # where to ask might end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@contextlib.contextmanager
def _one_line(target: Path) -> Iterator[None]:
    """Turns an error of the operating system into one line that names the folder."""
    try:
        yield
    except OSError as error:
        raise _cannot_write(target, error) from None


def _cannot_write(target: Path, error: OSError) -> CloudarenaError:
    return CloudarenaError(
        f"{_shortened(str(target))}: cannot be written: {error.strerror or error}"
    )


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:150]}...{text[-40:]}"
