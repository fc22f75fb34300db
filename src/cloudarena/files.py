"""Writing so that nothing half-written stays (a temporary name first, then a rename); reading."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from cloudarena.errors import CloudarenaError

UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a file raises that is not there, is cut short or, gzipped, is damaged."""


@contextlib.contextmanager
def written_folder(folder: str | Path) -> Iterator[Path]:
    """Yields a temporary folder whose files appear in ``folder`` when the block ends well.

    Files of ``folder`` with other names stay. When the block fails, or the disk is full,
    ``folder`` is as it was before.
    """
    target = Path(folder)
    try:
        existed = target.is_dir()
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise CloudarenaError(f"{target}: cannot be written: {error.strerror}") from None
    try:
        yield draft
        draft.chmod(0o755)
        if existed:
            for file in sorted(draft.iterdir()):
                os.replace(file, target / file.name)  # noqa: PTH105
        else:
            os.replace(draft, target)  # noqa: PTH105
    except OSError as error:
        raise CloudarenaError(f"{target}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_text(file: str | Path, text: str) -> Path:
    """Writes a file under a temporary name beside it, then renames it.

    When that fails, the file is as it was before, or is not there.
    """
    target = Path(file)
    draft = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, target)  # noqa: PTH105
    except OSError as error:
        raise CloudarenaError(f"{target}: cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
    return target
