"""Tables that fit the width of the terminal: columns that do not fit go into a next block."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from cloudarena.report.numbers import UNKNOWN

GAP = 2
"""Columns of the terminal between two columns of a table."""
OUT = "⊘"
"""Stands behind the name of a policy that is out of the running."""
ASCII = str.maketrans({"±": "+/-", "↑": "^", "↓": "v", "∞": "inf", UNKNOWN: "-", OUT: "x"})


@dataclass(frozen=True)
class Grid:
    """Cells with a label for each row and column."""

    corner: str
    rows: list[Text]
    columns: list[Text]
    cells: list[list[Text]]

    def transposed(self) -> Grid:
        """Returns the same cells with rows for columns: a row for each policy."""
        cells = [list(row) for row in zip(*self.cells, strict=True)]
        return Grid("policy", self.columns, self.rows, cells)

    def plain(self) -> Grid:
        """Returns the same cells in ASCII."""
        cells = [[_plain(cell) for cell in row] for row in self.cells]
        rows, columns = ([_plain(label) for label in side] for side in (self.rows, self.columns))
        return Grid(self.corner, rows, columns, cells)

    def blocks(self, width: int) -> list[range]:
        """Columns that fit side by side, block by block; at least one in each."""
        labels = max(len(self.corner), *(_width(label) for label in self.rows))
        blocks, start, used = [], 0, labels
        for k, head in enumerate(self.columns):
            column = max(_width(head), *(_width(row[k]) for row in self.cells))
            if k > start and used + GAP + column > width:
                blocks.append(range(start, k))
                start, used = k, labels
            used += GAP + column
        return [*blocks, range(start, len(self.columns))]

    def height(self, width: int) -> int:
        """How many lines all blocks take."""
        lines = sum(max(cell.plain.count("\n") + 1 for cell in row) for row in self.cells)
        return len(self.blocks(width)) * (lines + 3)

    def table(self, title: str, block: range) -> Table:
        """One block as a table."""
        table = Table(
            title=Text(title) if title else None,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, GAP - 1, 0, 0),
        )
        table.add_column(self.corner, no_wrap=True)
        for k in block:
            table.add_column(self.columns[k], justify="right", no_wrap=True)
        for label, row in zip(self.rows, self.cells, strict=True):
            table.add_row(label, *(row[k] for k in block))
        return table


@dataclass(frozen=True)
class Adaptive:
    """The first layout if it fits in one block, else the one that takes the fewest lines."""

    title: str
    layouts: list[Grid]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        layouts = [grid.plain() for grid in self.layouts] if options.ascii_only else self.layouts
        grid = layouts[0]
        if len(grid.blocks(width)) > 1:
            grid = min(layouts, key=lambda layout: layout.height(width))
        title = _plain(Text(self.title)).plain if options.ascii_only else self.title
        for number, block in enumerate(grid.blocks(width)):
            yield grid.table(title if number == 0 else "", block)
            yield ""


@dataclass(frozen=True)
class Words:
    """A sentence, in characters that the terminal has."""

    text: str
    style: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = Text(self.text, self.style)
        yield _plain(text) if options.ascii_only else text


def _width(text: Text) -> int:
    return max(line.cell_len for line in text.split("\n", allow_blank=True))


def _plain(text: Text) -> Text:
    """The text in ASCII, for terminals that have no more; pieces keep their styles."""
    plain = Text("", text.style)
    for piece in text.divide({span.start for span in text.spans}):
        style = piece.spans[0].style if piece.spans else ""
        plain.append(piece.plain.translate(ASCII).encode("ascii", "replace").decode(), style)
    return plain
