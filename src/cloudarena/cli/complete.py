"""What a shell completes: values of options, of the kind of the scenario that is on the line.

Names are read from source, since shells ask at each key: Numba alone takes longer than a user
waits.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import typer

Complete = Callable[..., list[str]]
"""What Typer calls for the words that a value may be."""

SCENARIO = re.compile(r"^scenario:\s*[\"']?([\w-]+)", re.MULTILINE)
"""The line of a spec that says of which kind it is."""
SPEC = re.compile(r"^spec:\s*[\"']?([^\s\"']+)", re.MULTILINE)
"""The line of a study that says which scenario it searches."""
SCHEMES = ("learned:", "replay:")
"""How policies begin that are no names."""


def words(*allowed: str) -> Complete:
    """Completes one of some words."""
    return lambda incomplete: beginning(allowed, incomplete)


def beginning(names: Iterable[str], incomplete: str) -> list[str]:
    """The names that begin so."""
    return [name for name in names if name.startswith(incomplete)]


def of_list(names: Iterable[str], incomplete: str) -> list[str]:
    """Completes the last of several values, as in ``first-fit,be``."""
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    return [f"{before}{comma}{name}" for name in beginning(names, last) if name not in taken]


def specs(incomplete: str) -> list[str]:
    """Names of the catalogue; shells complete files themselves if none begins so."""
    from cloudarena import catalogue

    return beginning(catalogue.descriptions(), incomplete)


def kind_names(incomplete: str) -> list[str]:
    """Kinds of scenario."""
    from cloudarena.scenarios import kinds

    return beginning(kinds(), incomplete)


def policy(ctx: typer.Context, incomplete: str) -> list[str]:
    """A policy of the kind."""
    return beginning([*_policies(ctx), *SCHEMES], incomplete)


def policies(ctx: typer.Context, incomplete: str) -> list[str]:
    """Policies of the kind, with commas between."""
    return of_list([*_policies(ctx), *SCHEMES], incomplete)


def metric(ctx: typer.Context, incomplete: str) -> list[str]:
    """A metric of the kind."""
    return beginning(_metrics(ctx), incomplete)


def metrics(ctx: typer.Context, incomplete: str) -> list[str]:
    """Metrics of the kind, with commas between."""
    return of_list(_metrics(ctx), incomplete)


def method(incomplete: str) -> list[str]:
    """A method of ``optimize``."""
    return beginning(_methods(), incomplete)


def methods(incomplete: str) -> list[str]:
    """Methods of ``optimize``, with commas between."""
    return of_list(_methods(), incomplete)


def import_kinds(incomplete: str) -> list[str]:
    """What ``import`` makes of a file."""
    from cloudarena.importing import kinds

    return beginning(sorted(one.name for one in pkgutil.iter_modules(kinds.__path__)), incomplete)


def presets(incomplete: str) -> list[str]:
    """The tools whose files ``import`` knows."""
    from cloudarena.importing.presets import PRESETS

    return beginning(PRESETS, incomplete)


def heuristics(incomplete: str) -> list[str]:
    """The heuristics of ``map``, with commas between."""
    from cloudarena.mapping import HEURISTICS

    return of_list(HEURISTICS, incomplete)


def _policies(ctx: typer.Context) -> list[str]:
    from cloudarena.base.declared import given_names

    return _of_kinds(ctx, lambda package: given_names(f"{package}.policies"))


def _metrics(ctx: typer.Context) -> list[str]:
    from cloudarena.base.declared import decorated_names

    return _of_kinds(ctx, lambda package: decorated_names(f"{package}.metrics", "metric"))


def _methods() -> list[str]:
    from cloudarena.base.declared import given_names

    return sorted(given_names("cloudarena.optimizers.methods"))


def _of_kinds(ctx: typer.Context, names: Callable[[str], list[str]]) -> list[str]:
    """The names of the kind on the line, or of all kinds if it is not known."""
    from cloudarena.scenarios import kinds

    kind = kind_of(spec_on_line(ctx))
    some = [kinds()[kind]] if kind in kinds() else kinds().values()
    return sorted({name for one in some for name in names(one.package)})


def spec_on_line(ctx: typer.Context) -> str:
    """The scenario that a command line names: in its parameters, or not yet sorted into them."""
    from cloudarena.scenarios import kinds

    named = [str(ctx.params.get("spec") or ""), *ctx.args]
    return next((word for word in named if kind_of(word) in kinds()), "")


def kind_of(spec: str) -> str:
    """The kind of an entry of the catalogue or of a file, as it says; nothing if it does not."""
    file = Path(spec)
    if file.suffix not in (".yaml", ".yml") or not file.is_file():
        return spec.partition("/")[0]
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    if found := SCENARIO.search(text):
        return found[1]
    named = SPEC.search(text)
    return kind_of(named[1]) if named and named[1] != spec else ""
