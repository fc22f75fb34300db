"""Records what every built-in policy and method does, or compares with what was recorded.

    python tests/validation/golden.py record FILE
    python tests/validation/golden.py check FILE [--kinds vm,jobs] [--renamed old=new,old=new]

A record holds the metrics of every policy on every scenario of the catalogue, with hashes of all
columns of its tables, and the figures of ``golden_parts``. A refactoring must not change a bit:
``check`` prints each number that is another, and exits with 1. Texts, such as conclusions and
errors, are listed as well, but only numbers fail. ``--kinds`` are kinds of scenario, optimizers,
map, reduce and queueing. ``--renamed`` says which names of metrics, tables or columns are new.
What the tool needs of the code is in ``golden_faces``.

The figures are those of one platform: another one's mathematics library may differ in the last
bit.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import multiprocessing
import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import golden_faces as faces
from golden_parts import SEEDS, SMALLER, SMALLER_ENTRIES, array_digest, column_digests, parts

Record = dict[str, dict[str, dict[str, str]]]
"""For each part ``numbers`` and ``words``, each of them by name."""
LONG = 24
"""Lists of more numbers are kept as a hash."""
UNTOLD = re.compile(r"\b(version|scenario|kind|out|written|folder|path|seconds_taken)$")
"""What may change without a change of behaviour."""


def small(name: str) -> Any:
    """A scenario of the catalogue with settings that keep its runs short."""
    scenario = faces.load(name)
    if scenario.model_dump().get("workload", {}).get("source") == "inline":
        return scenario
    return faces.load(name, SMALLER_ENTRIES.get(name) or SMALLER[name.partition("/")[0]])


def figures(result: Any) -> dict[str, str]:
    """What is kept of a result."""
    kept = {
        name: f"{'>' if faces.is_bound(value) else ''}{float(value)!r}"
        for name, value in result.metrics.items()
    }
    for name, table in result.tables.items():
        for column, hashed in column_digests(table).items():
            kept[f"{name}.{column}"] = hashed
    return kept


def runs(name: str, policy: str) -> dict[str, dict[str, str]]:
    """Both speeds under all seeds; why not, where a scenario does not allow a policy."""
    warnings.simplefilter("ignore")
    scenario = small(name)
    numbers: dict[str, str] = {}
    words: dict[str, str] = {}
    for seed in SEEDS:
        try:
            quick = figures(faces.simulate(scenario, policy, seed))
            slow = figures(faces.stepped(scenario, policy, seed))
            if seed == SEEDS[0]:
                full = figures(faces.simulate(scenario, policy, seed, record="full"))
                numbers |= {f"{seed} full {key}": full[key] for key in full if key not in quick}
        except faces.CloudarenaError as error:
            numbers[f"{seed} refused"] = "yes"
            words[f"{seed} refused"] = str(error)
            continue
        numbers |= {f"{seed} {key}": value for key, value in quick.items()}
        numbers |= {
            f"{seed} stepped {key}": slow.get(key, "none")
            for key in {*quick, *slow}
            if slow.get(key) != quick.get(key)
        }
    return {"numbers": numbers, "words": words}


def flat(value: Any, path: str = "") -> Iterator[tuple[bool, str, str]]:
    """The leaves of plain values: whether it is a number, where it stands, and what it is."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from flat(part, f"{path} {key}".strip())
    elif isinstance(value, list | tuple):
        if len(value) > LONG and all(isinstance(one, int | float) for one in value):
            yield True, path, array_digest(value)
            return
        yield True, f"{path} length", str(len(value))
        for place, part in enumerate(value):
            yield from flat(part, f"{path} {place}")
    elif not UNTOLD.search(path):
        is_word = isinstance(value, str) and not re.fullmatch(r"[0-9a-f]{16}", value)
        yield not is_word, path, value if isinstance(value, str) else repr(value)


def figures_of(part: Any, arguments: tuple[Any, ...]) -> dict[str, dict[str, str]]:
    """What a function of ``golden_parts`` gives, in numbers and words."""
    warnings.simplefilter("ignore")
    leaves = list(flat(part(*arguments)))
    return {
        "numbers": {path: text for is_number, path, text in leaves if is_number},
        "words": {path: text for is_number, path, text in leaves if not is_number},
    }


def measured(name: str, function: Any, arguments: tuple[Any, ...]) -> tuple[str, Any, float]:
    """A part by name, what it is, and the CPU seconds that it took."""
    began = time.process_time()
    try:
        found = figures_of(function, arguments) if function is not runs else runs(*arguments)
    except Exception:
        found = {"numbers": {"failed": "yes"}, "words": {"failed": traceback.format_exc()}}
    return name, found, time.process_time() - began


def everything(kinds: set[str]) -> Record:
    """All parts of some kinds, or all."""
    work: list[tuple[str, str, Any, tuple[Any, ...]]] = list(parts())
    book: dict[str, list[str]] = {}
    for entry in faces.entries():
        kind = entry.partition("/")[0]
        if not kinds or kind in kinds:
            book.setdefault(kind, faces.policies(kind))
            work += [(kind, f"{entry} {one}", runs, (entry, one)) for one in book[kind]]
    unknown = kinds - {kind for kind, *_ in work}
    if unknown:
        sys.exit(f"--kinds: {', '.join(sorted(unknown))} is not allowed")
    chosen = [one for one in work if not kinds or one[0] in kinds]
    found: Record = {}
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), spawned) as pool:
        tasks = [pool.submit(measured, *one[1:]) for one in chosen]
        for done, task in enumerate(as_completed(tasks), start=1):
            name, part, seconds = task.result()
            found[name] = part
            if seconds > 10 or done % 50 == 0 or "failed" in part["numbers"]:
                state = "FAILED" if "failed" in part["numbers"] else f"{seconds:.0f} CPU s"
                print(f"{done}/{len(tasks)} {name}: {state}", file=sys.stderr, flush=True)
    return dict(sorted(found.items()))


def renamed(record: Record, names: dict[str, str]) -> Record:
    """The record with new names of metrics, tables and columns."""
    if not names:
        return record

    def new(path: str) -> str:
        return re.sub(r"[^ .]+", lambda word: names.get(word[0], word[0]), path)

    return {
        part: {of: {new(path): text for path, text in held.items()} for of, held in both.items()}
        for part, both in record.items()
    }


def differences(before: Record, after: Record, of: str) -> Iterator[str]:
    """Each number, or each text, that is another."""
    for part in sorted({*before, *after}):
        if part not in before or part not in after:
            if of == "numbers":
                yield f"{part}: {'is new' if part in after else 'is gone'}"
            continue
        old, new = before[part][of], after[part][of]
        for path in sorted({*old, *new}):
            if old.get(path) != new.get(path):
                yield f"{part}: {path}: {old.get(path)} -> {new.get(path)}{_by(old, new, path)}"


def _by(old: dict[str, str], new: dict[str, str], path: str) -> str:
    """How large a difference of numbers is, for those that are no hashes."""
    try:
        first, second = float(old[path]), float(new[path])
    except (KeyError, ValueError):
        return ""
    if len(old[path]) == 16 or not first or not math.isfinite(second - first):
        return ""
    return f" ({(second - first) / abs(first):+.2g} of it)"


def main() -> None:
    """Records or checks."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("command", choices=("record", "check"))
    reader.add_argument("file", type=Path)
    reader.add_argument("--kinds", default="")
    reader.add_argument("--renamed", default="")
    asked = reader.parse_args()
    kinds = set(filter(None, asked.kinds.split(",")))
    now = everything(kinds)
    if asked.command == "record":
        asked.file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(now, indent=0, sort_keys=True).encode()
        asked.file.write_bytes(gzip.compress(text, mtime=0))
        numbers = sum(len(part["numbers"]) for part in now.values())
        print(f"wrote {asked.file}: {len(now)} parts, {numbers:,} numbers and hashes")
        return
    before: Record = json.loads(gzip.decompress(asked.file.read_bytes()))
    if kinds:
        belongs = re.compile(rf"({'|'.join(map(re.escape, sorted(kinds)))})([ /]|$)")
        before = {part: both for part, both in before.items() if belongs.match(part)}
    before = renamed(before, dict(one.split("=") for one in asked.renamed.split(",") if one))
    words = list(differences(before, now, "words"))
    numbers = list(differences(before, now, "numbers"))
    for line in words:
        print(f"words: {line}")
    for line in numbers:
        print(f"NUMBER: {line}")
    print(f"{len(numbers)} numbers and {len(words)} texts differ in {len(now)} parts")
    sys.exit(1 if numbers else 0)


if __name__ == "__main__":
    main()
