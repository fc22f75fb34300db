"""Pegasus DAX 2.1: a workflow as XML, such as the synthetic workflows of the Pegasus gallery.

A ``job`` has an id, which may be any text, a ``runtime`` in seconds, and ``uses``: files with
``link`` (input, output or inout) and ``size`` in bytes. A ``child`` names the ``parent`` jobs it
waits for. All other elements and attributes are passed over; so are ``jobCount`` and
``childCount``, which lie in some public files.

- The bytes of an edge are the sizes of the files that the parent writes and the child reads, as
  the parent says them; if it says two, the first. An edge without such a file has 0 bytes. What
  comes from outside and what nobody reads costs nothing.
- Memory and cores are not in a DAX. DAX 3 has no run times either: a job without one is an error.

The file may be gzipped. Nothing is written beside it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple
from xml.parsers import expat

from cloudarena.base.errors import TraceError, nearest
from cloudarena.base.numpy import np
from cloudarena.contract.source import Beginning
from cloudarena.workloads.columns import not_allowed
from cloudarena.workloads.documents import document_name, read_bytes
from cloudarena.workloads.workflow.documents import Documents
from cloudarena.workloads.workflow.timed import TimedWorkflow, edge_rows

LINKS = ("input", "output", "inout")


class _Job(NamedTuple):
    runtime_s: float
    reads: set[str]
    writes: dict[str, float]  # a file's size, NaN where it is not said


class Dax(Documents):
    """Pegasus DAX 2.1, such as the synthetic workflows of the Pegasus gallery."""

    example = "Montage_100.xml CyberShake_100.xml --out gallery"

    source: Literal["dax"]

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Recognises the format by being XML."""
        return beginning.text.startswith("<")

    @staticmethod
    def read(path: Path) -> TimedWorkflow:
        """Reads a document."""
        return read_dax(path)


def read_dax(path: Path) -> TimedWorkflow:
    """Reads a DAX; the workflow is called by the name of the file."""
    reader = _Reader(path)
    reader.read()
    if not reader.jobs:
        raise TraceError(f"{path}: has no jobs")
    index_of = {name: k for k, name in enumerate(reader.jobs)}
    jobs = list(reader.jobs.values())
    edges = {}
    for (parent, child), line in reader.waits.items():
        for name in (parent, child):
            if name not in index_of:
                hint = nearest(name, index_of)
                raise TraceError(f"{path}, line {line}: job {name!r} is not defined.{hint}")
        writes, reads = reader.jobs[parent].writes, reader.jobs[child].reads
        # In the order in which they are written: sets have none.
        sizes = {file: size for file, size in writes.items() if file in reads}
        for file, size in sizes.items():
            if math.isnan(size):
                raise TraceError(f"{path}: job {parent!r}: size of file {file!r} is missing")
        edges[index_of[parent], index_of[child]] = sum(sizes.values())
    unknown = np.zeros(len(jobs), np.int64)
    return TimedWorkflow(
        name=document_name(path),
        function_names=tuple(index_of),
        runtime_s=np.array([job.runtime_s for job in jobs]),
        memory_req=unknown,
        parallelism=unknown,
        edges=edge_rows(edges),
    )


class _Reader:
    """Collects jobs and what they wait for while the parser goes through a file."""

    def __init__(self, path: Path) -> None:
        self.jobs: dict[str, _Job] = {}
        self.waits: dict[tuple[str, str], int] = {}  # (parent, child), and the line
        self._path = path
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._job: _Job | None = None
        self._child: str | None = None
        self._root = ""

    def read(self) -> None:
        try:
            self._parser.Parse(read_bytes(self._path), True)
        except expat.ExpatError as error:
            words = expat.ErrorString(error.code)
            raise TraceError(f"{self._path}, line {error.lineno}: is not XML: {words}") from None
        except (
            LookupError,
            ValueError,
        ) as error:  # an encoding that is not known, or of many bytes
            raise TraceError(f"{self._path}: cannot be read: {error}") from None

    def _begin(self, name: str, values: dict[str, str]) -> None:
        element = name.rpartition(":")[2]
        if not self._root:
            self._root = element
            if element != "adag":
                raise TraceError(f"{self._where()}: is not a DAX: begins with {name!r}, not 'adag'")
        elif element == "job":
            self._job = self._begin_job(values)
        elif element == "uses" and self._job is not None:
            self._use(self._job, values)
        elif element == "child":
            self._child = self._value("child", values, "ref")
        elif element == "parent" and self._child is not None:
            ends = (self._value("parent", values, "ref"), self._child)
            self.waits.setdefault(ends, self._parser.CurrentLineNumber)

    def _end(self, name: str) -> None:
        element = name.rpartition(":")[2]
        if element == "job":
            self._job = None
        elif element == "child":
            self._child = None

    def _begin_job(self, values: dict[str, str]) -> _Job:
        name = self._value("job", values, "id")
        if name in self.jobs:
            raise TraceError(f"{self._where()}: job {name!r} is defined twice")
        runtime = self._number("runtime", self._value(f"job {name!r}", values, "runtime"))
        self.jobs[name] = _Job(runtime, set(), {})
        return self.jobs[name]

    def _use(self, job: _Job, values: dict[str, str]) -> None:
        # DAX 3 says name where DAX 2 says file.
        file = values.get("name") or self._value("uses", values, "file")
        link = self._value("uses", values, "link")
        if link not in LINKS:
            raise not_allowed(self._where(), "link", link, f"one of {', '.join(LINKS)}")
        if link != "output":
            job.reads.add(file)
        if link != "input":
            size = self._number("size", values["size"]) if "size" in values else math.nan
            job.writes.setdefault(file, size)

    def _value(self, element: str, values: dict[str, str], name: str) -> str:
        if name not in values:
            raise TraceError(f"{self._where()}: {element}: {name} is missing")
        return values[name]

    def _number(self, name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            raise not_allowed(self._where(), name, text, "a number, at least 0")
        return value

    def _where(self) -> str:
        return f"{self._path}, line {self._parser.CurrentLineNumber}"
