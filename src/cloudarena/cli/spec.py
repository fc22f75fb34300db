"""The commands ``cloudarena spec`` and ``cloudarena schema``."""

from __future__ import annotations

from typing import Annotated

import typer

from cloudarena.cli import complete
from cloudarena.cli.options import print_json

Kind = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        help="A kind of scenario, such as vm.",
        autocompletion=complete.kind_names,
    ),
]


def spec(kind: Kind) -> None:
    """The whole spec of a kind as YAML, with comments and defaults.

    Example: cloudarena spec vm > my-cloud.yaml
    """
    from cloudarena.catalogue import read_spec
    from cloudarena.contract.spec_text import spec_text
    from cloudarena.scenarios import kind_named

    found = kind_named(kind.partition("/")[0])
    example = read_spec(kind if "/" in kind else found.example)[0]
    print(f"# {found.name}: {found.description}")
    print(spec_text(found.scenario, example))


def schema(kind: Kind) -> None:
    """The JSON schema of a kind's spec, for editors.

    Example: cloudarena schema vm > vm.schema.json
    """
    from cloudarena.scenarios import kind_named

    print_json(kind_named(kind).scenario.model_json_schema())
