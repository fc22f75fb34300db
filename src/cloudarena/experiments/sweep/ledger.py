"""The ledger of a store: which runs are done or have failed, and which files hold their rows.

It is SQLite with a write-ahead log, and the truth: a file that it does not list holds nothing yet.
Only the process that runs a sweep touches it, so it may lie on a disk that workers do not see.
Wall-clock times are here and nowhere else in a store.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.files import is_alive

FORMAT = "2"
DONE, FAILED = "done", "failed"
LIVE, MERGED = "live", "merged"
BATCH = 5_000
"""Keys that are asked for at a time."""
BUSY_S = 120.0
"""How long a process waits for another one that writes."""
SILENT_S = 60.0
"""A sweep on another machine that has said nothing for so long is no more."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS runs (
    key BLOB PRIMARY KEY, state TEXT, tries INTEGER, seconds REAL, error TEXT, cell TEXT, seed
    INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS failures ON runs (state) WHERE state = 'failed';
CREATE TABLE IF NOT EXISTS experiments (number INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS cells (words BLOB PRIMARY KEY, digest BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outdated (digest BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (name TEXT PRIMARY KEY, rows INTEGER, state TEXT);
CREATE TABLE IF NOT EXISTS owners (
    id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT, process INTEGER, beat REAL
);
CREATE TABLE IF NOT EXISTS claims (key BLOB PRIMARY KEY, owner INTEGER) WITHOUT ROWID;
"""


class Outcome(NamedTuple):
    """What became of one run."""

    key: str
    error: str
    """Why it failed; nothing if it did not."""
    seconds: float
    cell: str
    """The cell of a run that failed, as its row says it, as JSON."""
    seed: int


class Failure(NamedTuple):
    """A run that failed."""

    key: str
    error: str
    tries: int
    seconds: float
    cell: str
    seed: int


class Ledger:
    """The ledger in a folder; as a context, it is closed at the end."""

    def __init__(self, file: Path, read_only: bool = False) -> None:
        self.file = file
        # A folder that may not be written to has no log beside the file either.
        is_fixed = read_only and not os.access(file.parent, os.W_OK)
        mode = "mode=ro&immutable=1" if is_fixed else "mode=ro" if read_only else "mode=rwc"
        with self._one_line():
            self._base = sqlite3.connect(
                f"{file.absolute().as_uri()}?{mode}",
                timeout=BUSY_S,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
            if not read_only:
                self._write_ahead()
                self._base.execute("PRAGMA synchronous=NORMAL")
                self._base.executescript(SCHEMA)
                self._base.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (FORMAT,))
            row = self._base.execute("SELECT value FROM meta WHERE name='format'").fetchone()
        if row is None:
            # Who reads may come between the tables and their first row.
            raise CloudarenaError(f"{file}: is not ready: it is being made at this moment")
        if row[0] != FORMAT:
            raise CloudarenaError(f"{file}: is not of this version: format {row[0]}, not {FORMAT}")
        self._owner = 0

    def _write_ahead(self) -> None:
        """Turns the write-ahead log on, waiting for others who open the file at this moment.

        SQLite waits by itself for every other statement; for this one it says "locked" at once.
        """
        until = time.monotonic() + BUSY_S
        while True:
            try:
                self._base.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def close(self) -> None:
        """Gives up all claims and closes the file."""
        with contextlib.suppress(sqlite3.Error):
            if self._owner:
                self._base.execute("DELETE FROM claims WHERE owner=?", (self._owner,))
                self._base.execute("DELETE FROM owners WHERE id=?", (self._owner,))
            self._base.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def keys(self, state: str) -> set[str]:
        """The keys of all runs in a state."""
        with self._one_line():
            found = self._base.execute("SELECT key FROM runs WHERE state=?", (state,))
            return {key.hex() for (key,) in found}

    def are_done(self, keys: Sequence[str]) -> bool:
        """Whether all of some runs are done."""
        with self._one_line():
            for start in range(0, len(keys), BATCH):
                some = [bytes.fromhex(key) for key in keys[start : start + BATCH]]
                marks = ",".join("?" * len(some))
                query = f"SELECT count(*) FROM runs WHERE state='done' AND key IN ({marks})"
                if self._base.execute(query, some).fetchone()[0] < len(set(some)):
                    return False
        return True

    def counts(self) -> dict[str, int]:
        """How many runs are done, and how many have failed."""
        with self._one_line():
            # With the word itself in the query, SQLite looks at the index of failures.
            query = "SELECT count(*) FROM runs"
            (both,) = self._base.execute(query).fetchone()
            (failed,) = self._base.execute(f"{query} WHERE state='failed'").fetchone()
            return {DONE: both - failed, FAILED: failed}

    def failures(self) -> list[Failure]:
        """All runs that failed, by key."""
        with self._one_line():
            found = self._base.execute(
                "SELECT key, error, tries, seconds, cell, seed FROM runs WHERE state='failed' "
                "ORDER BY key"
            )
            return [Failure(key.hex(), *rest) for key, *rest in found]

    def failed_tries(self) -> dict[str, int]:
        """How often each run that has failed was tried, by key."""
        with self._one_line():
            found = self._base.execute("SELECT key, tries FROM runs WHERE state='failed'")
            return {key.hex(): tries for key, tries in found}

    def timings(self) -> tuple[int, float]:
        """How many runs were timed, and their seconds together."""
        with self._one_line():
            row = self._base.execute("SELECT count(*), total(seconds) FROM runs").fetchone()
            return int(row[0]), float(row[1])

    def remember(self, experiment: str) -> None:
        """Notes an experiment that is run, as JSON."""
        with self.transaction():
            self._base.execute("DELETE FROM experiments WHERE text=?", (experiment,))
            self._base.execute("INSERT INTO experiments (text) VALUES (?)", (experiment,))

    def experiments(self) -> list[str]:
        """All experiments that were run, the last one first."""
        with self._one_line():
            found = self._base.execute("SELECT text FROM experiments ORDER BY number DESC")
            return [text for (text,) in found]

    def name_cells(self, cells: Iterable[tuple[bytes, bytes]]) -> None:
        """Notes what the cells of a sweep are made of now.

        Cells of the same words that were made of something else, such as a policy before it was
        changed, are outdated until a sweep runs them again.

        Args:
            cells: of each a hash of its words, and the hash of what it is made of.
        """
        pairs = list(cells)
        with self.transaction():
            self._base.execute("CREATE TEMP TABLE IF NOT EXISTS named (words BLOB, digest BLOB)")
            self._base.execute("DELETE FROM named")
            self._base.executemany("INSERT INTO named VALUES (?, ?)", pairs)
            self._base.execute(
                "INSERT OR IGNORE INTO outdated SELECT cells.digest FROM named JOIN cells "
                "USING (words) WHERE cells.digest <> named.digest"
            )
            self._base.execute("DELETE FROM outdated WHERE digest IN (SELECT digest FROM named)")
            self._base.execute("INSERT OR REPLACE INTO cells SELECT words, digest FROM named")

    def outdated(self) -> set[str]:
        """The cells that were made of something else than those of their words are now."""
        with self._one_line():
            found = self._base.execute("SELECT digest FROM outdated")
            return {digest.hex() for (digest,) in found}

    def live_parts(self) -> list[str]:
        """The files that hold rows, by name."""
        return self._parts(LIVE)

    def merged_parts(self) -> list[str]:
        """The files whose rows have gone into others."""
        return self._parts(MERGED)

    def record(self, outcomes: Sequence[Outcome], part: str = "", rows: int = 0) -> None:
        """Notes what became of some runs and, at the same moment, the file with their rows."""
        with self.transaction():
            if part:
                self._base.execute(
                    "INSERT OR IGNORE INTO parts VALUES (?, ?, ?)", (part, rows, LIVE)
                )
            self._base.executemany(
                "INSERT INTO runs VALUES (?, ?, 1, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                "state=excluded.state, tries=tries+1, seconds=excluded.seconds, "
                "error=excluded.error, cell=excluded.cell WHERE runs.state <> 'done'",
                [
                    (
                        bytes.fromhex(one.key),
                        FAILED if one.error else DONE,
                        one.seconds,
                        one.error or None,
                        one.cell if one.error else None,
                        one.seed,
                    )
                    for one in outcomes
                ],
            )
            self._base.executemany(
                "DELETE FROM claims WHERE key=?", [(bytes.fromhex(one.key),) for one in outcomes]
            )

    def replace_parts(self, old: Iterable[str], new: Iterable[tuple[str, int]]) -> None:
        """Notes that the rows of some files are in others now; within a transaction."""
        self._base.executemany(
            "UPDATE parts SET state=? WHERE name=?", [(MERGED, name) for name in old]
        )
        self._base.executemany(
            "INSERT INTO parts VALUES (?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET state=excluded.state",
            [(name, rows, LIVE) for name, rows in new],
        )

    def forget_merged(self, names: Iterable[str]) -> None:
        """Forgets files that are gone."""
        with self.transaction():
            self._base.executemany(
                "DELETE FROM parts WHERE name=? AND state='merged'", [(name,) for name in names]
            )

    def claim(self, keys: Sequence[str]) -> tuple[list[str], list[str]]:
        """Takes runs so that no other sweep on this store runs them meanwhile.

        Returns:
            those that are now ours, and those that another sweep is at; what is done is in neither.
        """
        raw = [bytes.fromhex(key) for key in keys]
        with self.transaction():
            owner = self._own()
            marks = ",".join("?" * len(raw))
            done = {
                key
                for (key,) in self._base.execute(
                    f"SELECT key FROM runs WHERE state='done' AND key IN ({marks})", raw
                )
            }
            taken = dict(
                self._base.execute(f"SELECT key, owner FROM claims WHERE key IN ({marks})", raw)
            )
            living = {one for one in set(taken.values()) - {owner} if self._is_living(one)}
            others = [key for key in raw if taken.get(key) in living and key not in done]
            mine = [key for key in raw if key not in done and taken.get(key) not in living]
            self._base.executemany(
                "INSERT OR REPLACE INTO claims VALUES (?, ?)", [(key, owner) for key in mine]
            )
        return [key.hex() for key in mine], [key.hex() for key in others]

    def beat(self) -> None:
        """Says that this sweep is alive."""
        if self._owner:
            with self._one_line():
                self._base.execute(
                    "UPDATE owners SET beat=? WHERE id=?", (time.time(), self._owner)
                )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is noted in the block is noted together, or none of it."""
        with self._one_line():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    def _own(self) -> int:
        """The number of this sweep among all that ever ran on the store."""
        if not self._owner:
            self._base.execute(
                "INSERT INTO owners (host, process, beat) VALUES (?, ?, ?)",
                (socket.gethostname(), os.getpid(), time.time()),
            )
            (self._owner,) = self._base.execute("SELECT last_insert_rowid()").fetchone()
        return self._owner

    def _is_living(self, owner: int) -> bool:
        row = self._base.execute(
            "SELECT host, process, beat FROM owners WHERE id=?", (owner,)
        ).fetchone()
        if row is None:
            return False
        host, process, beat = row
        is_silent = time.time() - beat > SILENT_S
        return (
            is_alive(process) and not is_silent if host == socket.gethostname() else not is_silent
        )

    def _parts(self, state: str) -> list[str]:
        with self._one_line():
            found = self._base.execute(
                "SELECT name FROM parts WHERE state=? ORDER BY name", (state,)
            )
            return [name for (name,) in found]

    @contextlib.contextmanager
    def _one_line(self) -> Iterator[None]:
        """Turns an error of SQLite into one line that names the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise CloudarenaError(f"{self.file}: cannot be used: {error}") from None
