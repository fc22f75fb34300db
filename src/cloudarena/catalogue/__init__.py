"""The named scenarios, and scenarios from files.

An entry ``vm/toy`` is the file ``toy.yaml`` in the folder of its kind, for kinds of this package
one beneath this file. What ``cloudarena optimize`` tries for it is in ``toy.optimize.yaml``, and
what its metrics are in ``toy.answer.yaml``, if there are such files.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import SpecError, nearest
from cloudarena.base.yaml import parse_yaml
from cloudarena.scenarios import kind_named, kinds

if TYPE_CHECKING:
    from cloudarena.contract.scenario import Scenario

ENTRY = ".yaml"
STUDY = ".optimize.yaml"
"""The ending of files that say what is optimised."""
ANSWER = ".answer.yaml"
"""The ending of files that say what comes out, metric by metric."""

DESCRIPTION = re.compile(r"^description:.*\n?(?:(?:[ \t].*)?\n)*", re.MULTILINE)
"""The key of that name at the beginning of a line, and all indented lines after it."""


def _files(ending: str) -> dict[str, Path]:
    """The files of all kinds with an ending, by the name of their entry, such as ``vm/toy``."""
    found = {
        f"{kind.name}/{file.name.removesuffix(ending)}": file
        for kind in kinds().values()
        for file in kind.entries.glob(f"*{ending}")
        if ending != ENTRY or not file.name.endswith((STUDY, ANSWER))
    }
    return dict(sorted(found.items()))


def names() -> list[str]:
    """The names of the catalogue."""
    return list(_files(ENTRY))


def studies() -> dict[str, Path]:
    """The files that say what ``cloudarena optimize`` tries, by the names of their entries."""
    return _files(STUDY)


def answers() -> dict[str, Path]:
    """The files that say what metrics come out under the default policy, by names of entries."""
    return _files(ANSWER)


def descriptions() -> dict[str, str]:
    """The description of each entry, on one line; of the files no more than that is parsed."""
    return {name: _description(file) for name, file in _files(ENTRY).items()}


def _description(file: Path) -> str:
    found = DESCRIPTION.search(file.read_text(encoding="utf-8"))
    if found is None:
        return ""
    return " ".join(str(parse_yaml(found.group())["description"]).split())


def load(
    spec: str | Path | Mapping[str, Any],
    overrides: Sequence[str] | Mapping[str, Any] = (),
    folder: Path | None = None,
) -> Scenario:
    """A scenario from a name of the catalogue, a YAML file, or a dict.

    Args:
        spec: such as ``vm/azure-like-10k``, ``my-cloud.yaml`` or ``{"scenario": "vm", ...}``.
        overrides: changes such as ``["oversubscription.cpu=1.15", "machines[0].count=50"]``, or
            the same as a dict from key to value.
        folder: where relative paths in a dict start from.
    """
    data, name, home = read_spec(spec)
    folder = home or folder
    for key, value in read_overrides(overrides).items():
        override(data, key, value)
    kind = data.get("scenario")
    if kind is None:
        raise SpecError(f"{name}: scenario: is required: one of {', '.join(kinds())}")
    return kind_named(str(kind)).scenario.parse(data, name, folder)


def read_overrides(overrides: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Changes such as ``["oversubscription.cpu=1.15"]`` as a dict from key to value."""
    return dict(overrides if isinstance(overrides, Mapping) else map(_split_override, overrides))


def override(data: dict[str, Any], key: str, value: Any) -> None:
    """Sets ``machines[0].cores`` or ``buffer.budget_ticks`` in a raw description."""
    holder, last = _holder(data, key)
    holder[last] = value


def leave_out(data: dict[str, Any], key: str) -> None:
    """Takes ``machines[0]`` or ``devices.types.xavier`` out of a raw description."""
    holder, last = _holder(data, key)
    del holder[last]


def _holder(data: dict[str, Any], key: str) -> tuple[Any, Any]:
    """The mapping or list in which a key of a raw description is, and what it is called there."""
    parts: list[str | int] = [
        int(number) if number else word
        for word, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", key)
    ]
    if not parts:
        raise SpecError(f"--set {key}: is not the name of a key")
    here: Any = data
    for part, following in itertools.pairwise(parts):
        if isinstance(here, dict):
            here = here.setdefault(part, [] if isinstance(following, int) else {})
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            raise SpecError(f"--set {key}: there is no {part!r}")
    last: Any = parts[-1]
    if not (isinstance(here, dict) or (isinstance(here, list) and last in range(len(here)))):
        raise SpecError(f"--set {key}: there is no {last!r}")
    return here, last


def read_spec(spec: str | Path | Mapping[str, Any]) -> tuple[dict[str, Any], str, Path | None]:
    """The raw description, its name, and the folder its relative paths start from."""
    if isinstance(spec, Mapping):
        return copy.deepcopy(dict(spec)), "", None
    text = str(spec)
    path = Path(text)
    if text in (entries := _files(ENTRY)):
        path = entries[text]
    elif not path.is_file():
        if path.suffix in (".yaml", ".yml"):
            raise SpecError(f"{text}: does not exist")
        raise SpecError(
            f"{text!r} is neither a file nor a scenario of the catalogue.{nearest(text, entries)}"
        )
    return read_yaml(path, text), text, path.parent


def read_yaml(path: Path, name: str) -> dict[str, Any]:
    """The mapping of a YAML file; errors call the file by ``name``."""
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{name}: cannot be read: {error}") from None
    except ValueError as error:
        raise SpecError(f"{name}, {error}") from None
    if not isinstance(data, dict):
        raise SpecError(f"{name}: is not a mapping of keys")
    return data


def _split_override(text: str) -> tuple[str, Any]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise SpecError(f"--set {text!r} is not allowed: key=value")
    try:
        return key, parse_yaml(value)
    except ValueError:
        raise SpecError(f"--set {text!r} is not allowed: the value is not YAML") from None
