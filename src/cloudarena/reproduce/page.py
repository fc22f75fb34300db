"""The page of ``cloudarena reproduce`` in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cloudarena.reproduce.entry import Reproduced, shown

HEAD = """# Published tables, and ours beside them

`cloudarena reproduce` runs tables of the field again; this page is what it wrote:

```console
$ cloudarena reproduce {words}--out docs/reproduce.md
```

A verdict says whether what was published lies within our interval (*agrees*, *differs*), whether a
policy of ours is better or worse than a published one beyond that interval (within it, the two
agree), or that nothing was published (*ours only*).
`--json` prints the same as JSON, `--full` takes all replications, and `cloudarena reproduce NAME`
runs one entry.
"""


def page(found: Sequence[Reproduced], words: str) -> str:
    """The page of these entries, made with these words of the command."""
    return "\n".join(
        [
            HEAD.format(words=words),
            *(_summary(found)),
            *(part for one in found for part in _section(one)),
        ]
    )


def _summary(found: Sequence[Reproduced]) -> Iterator[str]:
    """A line for each entry: how many cells have which verdict."""
    yield "| entry | what | verdicts |"
    yield "| --- | --- | --- |"
    for entry, findings in found:
        counts = Counter(row.verdict for row in findings.rows)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        yield f"| [{entry.name}](#{entry.name}) | {entry.title} | {verdicts or 'needs data'} |"
    yield ""


def _section(one: Reproduced) -> Iterator[str]:
    """The section of an entry."""
    entry, findings = one
    yield f"## {entry.name}\n\n**{entry.title}.** Source: {entry.source}\n\n{entry.protocol}\n"
    yield from (f"- {line}" for line in findings.why)
    if findings.missing:
        yield f"Not run: {findings.missing}\n"
        return
    yield "\n| cell | published | ours | from | to | verdict |"
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    for row in findings.rows:
        cells = [row.cell, *(shown(value) for value in row[1:5]), row.verdict]
        yield "| " + " | ".join(cells) + " |"
    yield ""
