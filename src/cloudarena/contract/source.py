"""Where the work of a scenario comes from: one class for each format of traces and each generator.

A class is defined in the file of its reader, and is all that there is to say of it: the keys of a
spec, how it is read, what it does not tell, by what a file of it is known, and, made of the same
fields, the options of ``cloudarena trace convert`` or ``cloudarena trace generate``. The room
``sources`` of a kind lists its classes in ``SOURCES``.
"""

from __future__ import annotations

import csv
import gzip
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, get_args

from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import TraceError
from cloudarena.base.files import UNREADABLE
from cloudarena.base.yaml import parse_yaml
from cloudarena.contract.spec import Spec

LONGEST_NAME = 255
"""Characters of the name of a file or folder: no file system allows more."""


def from_folder(path: Path, info: ValidationInfo) -> Path:
    """Resolves a relative path from the folder of the spec it stands in."""
    if max(map(len, path.parts), default=0) > LONGEST_NAME:
        raise PydanticCustomError(
            "not_allowed",
            f"a path with a name of {max(map(len, path.parts)):,} characters is not allowed: at "
            f"most {LONGEST_NAME}",
        )
    folder = (info.context or {}).get("folder")
    return Path(folder) / path if folder is not None else path


SpecPath = Annotated[Path, AfterValidator(from_folder)]
"""A path in a spec: relative ones start from the folder of the spec."""


def from_yaml(value: Any, info: ValidationInfo) -> Any:
    """A path stands for what is in the YAML file there."""
    if not isinstance(value, (str, Path)):
        return value
    path = from_folder(Path(value), info)
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise PydanticCustomError("not_allowed", f"{path}: {reason}") from None
    except ValueError as error:
        raise PydanticCustomError("not_allowed", f"{path}, {error}") from None


class Beginning:
    """How a file begins, by which a source may know its format."""

    BYTES: ClassVar[int] = 2**16

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
                self.data = file.read(self.BYTES)
        except UNREADABLE as error:
            raise TraceError(f"{path}: cannot be read: {error}") from None

    @cached_property
    def text(self) -> str:
        """The beginning as text, without blanks before it."""
        return self.data.decode("utf-8-sig", errors="replace").lstrip()

    @cached_property
    def cells(self) -> list[str]:
        """The cells of the first line, as of a CSV."""
        return next(csv.reader(self.text.splitlines()[:1]), [])


class Scan(NamedTuple):
    """What was read or drawn, and what is to be said of it."""

    workload: Any
    """What the kind's ``write`` takes, and its ``describe``."""
    counts: Mapping[str, int] = {}
    """How much was read, skipped, dropped, by name."""
    specs: Mapping[str, Mapping[str, Any]] = {}
    """Scenarios to be written beside the trace, by the name of their file."""
    notes: tuple[str, ...] = ()
    """What the user should know."""


class Source(Spec):
    """A format of traces, a generator, or work that stands in the spec itself.

    A class has a field ``source`` of type ``Literal`` with its names; all other fields are keys of
    the spec and options of the command, whose help is the docstring below the field. ``load`` gives
    a run its work, under a seed and what else the scenario says.
    """

    is_generator: ClassVar[bool] = False
    """Whether it is drawn by a seed: ``trace generate``, else ``trace convert``."""
    reads_files: ClassVar[bool] = True
    """Whether it is read from files; if it is neither read nor drawn, it is written in a spec."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names of its command. A format of several kinds is that of the kind without any."""
    arguments: ClassVar[tuple[str, ...]] = ("path",)
    """The fields that the command takes without a name."""
    option_names: ClassVar[Mapping[str, str]] = {}
    """The options of fields that are called differently there, such as ``pods`` for ``path``."""
    settings: ClassVar[Mapping[str, str]] = {}
    """What a scenario says and a command asks for: further parameters of ``scan``, with help."""
    canonical: ClassVar[Mapping[str, str]] = {}
    """The files of the kind's canonical format by field, such as ``jobs`` for ``path``."""
    shows_counts: ClassVar[bool] = False
    """Whether ``trace describe`` shows its counts beside the figures."""
    example: ClassVar[str] = ""
    """What may stand behind the command, for its help."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """What users write as ``source:``."""
        return get_args(cls.model_fields["source"].annotation)

    @property
    def name(self) -> str:
        """The name under which it was written."""
        found: str = self.source  # type: ignore[attr-defined]
        return found

    @classmethod
    def command(cls) -> type[Source]:
        """The class whose fields are the options of the command."""
        return cls

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Whether a file is of this format, by how it begins."""
        return False

    @property
    def resampled(self) -> str:
        """What replications draw again of a recorded trace, in words; nothing if they do not."""
        return ""

    @abstractmethod
    def scan(self, seed: int) -> Scan:
        """The work as it is written to a file, and what was read, skipped and dropped."""

    def not_told(self, seed: int) -> Mapping[str, str]:
        """The figures that it does not tell, and where they come from."""
        if self.is_generator:
            return {"all": f"drawn by the generator {self.name} under seed {seed}"}
        return {}


def sources_of(union: Any) -> tuple[type[Source], ...]:
    """The classes of an annotated union of sources."""
    return tuple(get_args(get_args(union)[0]))


def load_workload(source: Any, seed: int, *others: float) -> Any:
    """The work of a source under a seed. The last one is kept, for the next policy on it.

    What the source needs besides, such as the speed of a core, is given to its ``load`` too.
    """
    return _load(source, stamp(source), seed, *others)


def stamp(source: Any) -> tuple[int, ...]:
    """Changes when a file behind the source does."""
    values = [
        value
        for entry in dict(source).values()
        for value in (entry if isinstance(entry, tuple) else (entry,))
    ]
    paths = [value for value in values if isinstance(value, Path)]
    return tuple(path.stat().st_mtime_ns for path in paths if path.exists())


@lru_cache(maxsize=1)
def _load(source: Any, stamp: tuple[int, ...], seed: int, *others: float) -> Any:
    return source.load(seed, *others)
