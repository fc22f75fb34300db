"""The key of a run: the same for the same run, whenever and wherever it is asked for.

It is a hash of all that decides the outcome: the description of the scenario, the policy, the seed
and the version of cloudarena. Files count by what is in them, not by where they lie: traces, a
user's policy, the decisions of a replay, the folder of a learned policy.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import cloudpickle

from cloudarena.contract import Policy
from cloudarena.version import __version__

BYTES = 16
UNTOLD = ("description", "policy", "record")
"""Keys of a scenario that do not decide what a run measures: the policy is told apart."""


def cell_digest(
    spec: Mapping[str, Any],
    policy: str | Policy,
    folder: Path | None,
    metrics: tuple[str, ...],
    columns: Mapping[str, Any],
) -> bytes:
    """A hash of all that the replications of a cell have in common.

    Args:
        spec: the raw description of the scenario, with all changes.
        policy: as the user gave it; a path in it is absolute.
        folder: where relative paths in the description start.
        metrics: metrics of the user's, ``FILE.py:NAME``.
        columns: what the rows say of the cell; ``vms: 4`` that was set is told from the spec's own.
    """
    told = {key: value for key, value in spec.items() if key not in UNTOLD}
    text = json.dumps(
        {
            "version": __version__,
            "spec": _plain(told, folder),
            "policy": policy_digest(policy),
            "metrics": [policy_digest(one) for one in metrics],
            "columns": {key: one for key, one in columns.items() if key != "policy"},
        },
        sort_keys=True,
        default=str,
    )
    return hashlib.blake2b(text.encode(), digest_size=BYTES).digest()


def words_digest(columns: Mapping[str, Any]) -> bytes:
    """A hash of what rows say of a cell, whatever is in the files that it names."""
    text = json.dumps(dict(columns), sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=BYTES).digest()


def run_key(cell: bytes, seed: int) -> str:
    """The key of a replication of a cell, 32 hexadecimal digits."""
    return hashlib.blake2b(b"%b %d" % (cell, seed), digest_size=BYTES).hexdigest()


def policy_digest(policy: str | Policy) -> str:
    """What a policy is: its words, and the contents of the file that it names, if it names one."""
    if not isinstance(policy, str):
        return _digest_of_object(policy)
    for scheme in ("replay:", "learned:"):
        path = Path(policy.removeprefix(scheme))
        if policy.startswith(scheme) and path.exists():
            return f"{scheme}{file_digest(path)}"
    if ".py:" in policy:
        stem, _, rest = policy.partition(".py:")
        source = Path(f"{stem}.py")
        if source.is_file():
            return " ".join([f"{rest} of", *(file_digest(one) for one in sources_of(source))])
    return policy


def sources_of(source: Path) -> list[Path]:
    """A user's file and those beside it that it imports, and that these import."""
    found, left = [source], [source]
    while left:
        file = left.pop()
        for name in _imported(str(file), *_stamp(file)):
            stem = source.parent.joinpath(*name.split("."))
            for other in (stem.with_suffix(".py"), stem / "__init__.py"):
                if other.is_file() and other not in found:
                    found.append(other)
                    left.append(other)
    return [source, *sorted(found[1:])]


def file_digest(path: Path) -> str:
    """A hash of a file, or of all files of a folder with their names."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    parts = [
        f"{file.relative_to(path)} {_contents(str(file), *_stamp(file))}"
        for file in files
        if file.is_file() and file.parent.name != "__pycache__"
    ]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=BYTES).hexdigest()


@lru_cache(maxsize=4096)
def _imported(path: str, size: int, changed_ns: int) -> list[str]:
    """The modules and packages that a file may import, by name; none if it is no Python."""
    try:
        nodes = list(ast.walk(ast.parse(Path(path).read_bytes())))
    except (SyntaxError, ValueError):
        return []
    names: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            head = [node.module] if node.module else []
            names |= dict.fromkeys([*head, *(".".join([*head, one.name]) for one in node.names)])
    words = [name.split(".") for name in names]
    return list(
        dict.fromkeys(".".join(some[:k]) for some in words for k in range(1, len(some) + 1))
    )


def _stamp(file: Path) -> tuple[int, int]:
    there = file.stat()
    return there.st_size, there.st_mtime_ns


@lru_cache(maxsize=4096)
def _contents(path: str, size: int, changed_ns: int) -> str:
    """A hash of what is in a file; it is read again when its size or time is another."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=BYTES)).hexdigest()


def _plain(value: Any, folder: Path | None) -> Any:
    """Plain values in which the contents of a file stand for its path."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one, folder) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, folder) for one in value]
    if isinstance(value, str | Path) and (path := path_in(str(value), folder)) is not None:
        return {"file": file_digest(path)}
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return str(value)


def path_in(text: str, folder: Path | None) -> Path | None:
    """The file or folder that a value of a spec names; None if it names none."""
    if not ("/" in text or "." in text) or len(text) > 1000 or "\n" in text or "\0" in text:
        return None
    path = (folder or Path()) / text
    try:
        return path if path.exists() else None
    except OSError:
        return None


def _digest_of_object(policy: Policy) -> str:
    """A function or an object of a user's by its source and its state."""
    holder = policy if inspect.isfunction(policy) or inspect.isclass(policy) else type(policy)
    function = getattr(policy, "function", None)  # that of an array policy
    holder = function if inspect.isfunction(function) else holder
    try:
        words = inspect.getsource(holder).encode()
    except (OSError, TypeError):
        words = b""
    kept = getattr(holder, "__closure__", None) or ()
    state = [cell.cell_contents for cell in kept], getattr(policy, "__dict__", {})
    if holder is function:
        state = ([], {"parameters": getattr(policy, "parameters", {})})
    pickled = cloudpickle.dumps(state if words else policy)
    name = getattr(holder, "__qualname__", "")
    return f"{name} {hashlib.blake2b(words + pickled, digest_size=BYTES).hexdigest()}"
