"""Writes docs/reference.md from the kinds: ``python tools/make_reference.py``.

``tests/test_reference.py`` holds that the page is what the code says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cloudarena import catalogue
from cloudarena.contract.spec_text import spec_text
from cloudarena.scenarios import kinds

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
HEAD = """# Reference of the kinds

Made by `python tools/make_reference.py` from the code: of each kind the entries of the catalogue,
where workloads come from, policies, metrics, and the keys of a spec with their defaults.
`cloudarena schema KIND` prints the JSON schema of a spec.
"""


def first_line(text: str | None) -> str:
    """The first sentence of a docstring, fit for a table."""
    line = (text or "").strip().partition("\n\n")[0]
    return " ".join(line.split()).replace("``", "`").replace("|", "\\|")


def is_ours(policy: Any) -> bool:
    """Whether a policy is part of the package, not one that somebody registered."""
    function = getattr(policy, "function", policy)
    module = getattr(function, "__module__", "") or type(policy).__module__
    return str(module).startswith("cloudarena")


def table(*header: str) -> Iterator[str]:
    """The first two lines of a table."""
    yield ""
    yield "| " + " | ".join(header) + " |"
    yield "| " + " | ".join("---" for _ in header) + " |"


def section(name: str, kind: Any) -> Iterator[str]:
    """The entries, environments, policies and metrics of a kind."""
    words = kind.description[0].upper() + kind.description[1:]
    yield f"\n## {name}\n\n{words}: [the page]({name}.md)."
    ids = dict.fromkeys((name, *kind.decides))
    environments = ", ".join(f"`cloudarena/{one}-v0`" for one in ids)
    yield f"\nEnvironments: {environments}. Default policy: `{kind.default_policy}`."
    yield from table("entry of the catalogue", "what it is")
    for entry, words in catalogue.descriptions().items():
        if entry.startswith(f"{name}/"):
            yield f"| `{entry}` | {first_line(words)} |"
    yield from table("workload: {source: ...}", "what it is")
    for source, model in kind.sources.items():
        yield f"| `{source}` | {first_line(model.__doc__)} |"
    yield from table("policy", "what it chooses")
    for policy in kind.policies:
        chosen = kind.policies.resolve(policy)
        if is_ours(chosen):
            yield f"| `{policy}` | {first_line(chosen.__doc__)} |"
    yield from table("metric", "better", "what it is")
    for metric in kind.metrics:
        yield f"| `{metric.name}` | {metric.better or ''} | {first_line(metric.description)} |"
    example = catalogue.read_spec(kind.example)[0]
    text = "\n".join(line.rstrip() for line in spec_text(kind.scenario, example).splitlines())
    yield f"\nThe spec, as `cloudarena spec {name}` prints it:\n\n```yaml\n{text}\n```"


def reference() -> str:
    """The whole page."""
    parts = [part for name, kind in kinds().items() for part in section(name, kind)]
    return HEAD + "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
