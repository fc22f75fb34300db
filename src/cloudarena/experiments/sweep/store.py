"""The store of a sweep: a folder with Parquet files of rows, and the ledger.

Workers write their rows under a temporary name and rename them; the process that runs the sweep
then notes the file and the runs in the ledger, at once. So whoever is killed, at whatever moment, a
run is either noted with its row, or is run again. A file that was written and not noted is noted by
the next sweep. Merging (``compact``) writes new files first, notes the exchange, and removes the
old ones last.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cloudarena.base.arrow import pa, pq
from cloudarena.base.errors import CloudarenaError
from cloudarena.base.files import DRAFT, check_writable, draft_name, sweep_drafts, write_text
from cloudarena.experiments.sweep.ledger import Ledger, Outcome
from cloudarena.experiments.sweep.rows import is_merged, joined, kind_of, part_name

LEDGER = "ledger.sqlite"
RUNS = "runs"
TOKEN = "store-id"
"""A file by which a worker knows that it sees the folder, and not one of the same name."""
ROWS_PER_FILE = 1_000_000
ROWS_PER_GROUP = 131_072
SMALL_BYTES = 4_000_000
"""Files up to this size are read by one thread: handing out their columns takes longer."""


class Store:
    """A store in a folder, to be written to; as a context, it is closed at the end."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = check_writable(folder).absolute()
        self.runs = self.folder / RUNS
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            sweep_drafts(self.runs)
            self.ledger = Ledger(self.folder / LEDGER)
            self.token = self._token()
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        self._adopt()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            sweep_drafts(self.runs)
        self.ledger.close()

    def note(self, outcomes: list[Outcome], part: str, rows: int) -> None:
        """Notes the outcomes of some runs, whose rows are in a file."""
        done = [one for one in outcomes if not one.error]
        is_there = not part or (self.runs / part).is_file()
        if not is_there and not self.ledger.are_done([one.key for one in done]):
            raise CloudarenaError(
                f"{self.runs / part}: is not there: the workers must see the folder of the store"
            )
        self.ledger.record(outcomes, part, rows)

    def compact(self) -> int:
        """Merges all files into a few large ones, sorted; returns how many rows there are.

        Their names and bytes depend on the runs alone: not on who ran them, when, or how often.
        """
        total = 0
        with self.ledger.transaction():
            live = self.ledger.live_parts()
            for kind in sorted({kind_of(part) for part in live}):
                old = [part for part in live if kind_of(part) == kind]
                table = joined([read_part(self.runs / part) for part in old])
                total += table.num_rows
                new = list(self._write(kind, table))
                stale = set(old) - {name for name, _ in new}
                self.ledger.replace_parts(sorted(stale), new)
        self._remove_merged()
        return total

    def is_compact(self) -> bool:
        """Whether all rows are in large files already."""
        return all(is_merged(part) for part in self.ledger.live_parts())

    def _token(self) -> str:
        """What the file says by which workers know the folder: whoever is first writes it."""
        token = self.folder / TOKEN
        with self.ledger.transaction():
            if not token.exists():
                write_text(token, uuid.uuid4().hex + "\n")
        return token.read_text()

    def _write(self, kind: str, table: pa.Table) -> Iterator[tuple[str, int]]:
        for start in range(0, table.num_rows, ROWS_PER_FILE):
            piece = table.slice(start, ROWS_PER_FILE).combine_chunks()
            name = part_name(kind, piece["key"].to_pylist(), is_merged=True)
            write_part(self.runs, name, piece)
            yield name, piece.num_rows

    def _adopt(self) -> None:
        """Notes the files that a sweep wrote and could not note any more."""
        self._remove_merged()
        live = set(self.ledger.live_parts())
        for file in sorted(self.runs.glob("*.parquet")):
            if file.name in live or file.name.startswith(DRAFT):
                continue
            with contextlib.suppress(CloudarenaError, FileNotFoundError):
                table = read_part(file)
                outcomes = [
                    Outcome(key, "", 0.0, "", seed)
                    for key, seed in zip(
                        table["key"].to_pylist(), table["seed"].to_pylist(), strict=True
                    )
                ]
                if self.ledger.are_done([one.key for one in outcomes]):
                    file.unlink(missing_ok=True)
                else:
                    self.ledger.record(outcomes, file.name, table.num_rows)

    def _remove_merged(self) -> None:
        gone = self.ledger.merged_parts()
        for name in gone:
            with contextlib.suppress(OSError):
                (self.runs / name).unlink(missing_ok=True)
        left = [name for name in gone if not (self.runs / name).exists()]
        if left:
            self.ledger.forget_merged(left)


def write_part(folder: Path, name: str, table: pa.Table) -> None:
    """Writes a file of rows under a temporary name, then renames it."""
    draft = folder / f"{draft_name()}{name}"
    try:
        with draft.open("wb") as file:
            pq.write_table(table, file, compression="zstd", row_group_size=ROWS_PER_GROUP)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, folder / name)  # noqa: PTH105
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def read_part(file: Path) -> pa.Table:
    """The rows of a file."""
    try:
        with pq.ParquetFile(file, memory_map=False, pre_buffer=False) as opened:
            return opened.read(use_threads=file.stat().st_size > SMALL_BYTES)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise CloudarenaError(f"{file}: cannot be read: {str(error).splitlines()[0]}") from None


def cannot_write(folder: Path, error: Any) -> CloudarenaError:
    """The line for a disk that is full, or a folder that may not be written to."""
    words = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return CloudarenaError(f"{folder}: cannot be written: {words}")
