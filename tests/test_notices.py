"""What people are told while they wait."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numba
from cloudarena.base.notices import tell
from cloudarena.engine.compiled import jit_for_signature

def twice(x):
    return 2 * x

print(jit_for_signature(twice, numba.int64(numba.int64), lambda: tell("compiling")) (4))
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no pty")
def test_a_terminal_is_told_of_compiling_once_and_a_pipe_never(tmp_path: Path) -> None:
    import pty

    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    env = {**os.environ, "CLOUDARENA_CACHE_DIR": str(tmp_path / "cache")}

    def on_a_terminal() -> str:
        process, terminal = pty.fork()
        if process == 0:
            os.execve(sys.executable, [sys.executable, str(file)], env)
        text = b""
        while True:
            try:
                part = os.read(terminal, 4096)
            except OSError:  # it has ended
                break
            if not part:
                break
            text += part
        os.waitpid(process, 0)
        os.close(terminal)
        # Numba ends with a reset of colours where colorama is installed, as with the extra docs.
        return text.decode().replace("\x1b[0m", "")

    assert on_a_terminal().split() == ["compiling", "8"]
    assert on_a_terminal().split() == ["8"]
