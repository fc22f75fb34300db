"""A file as a sheet of texts: delimiter, header, encoding, JSON, and which lines are not rows."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrow import pa, pa_csv, pc, pq
from cloudarena.base.documents import decoded, read_bytes, read_json
from cloudarena.base.errors import TraceError
from cloudarena.importing.lexicon import known_words
from cloudarena.importing.survey import Survey, surveyed
from cloudarena.importing.units import NOTHING, Instants, number
from cloudarena.importing.workbook import rows_of_workbook

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_LINES = 200
BINARY = 4096
"""Characters at the beginning that are looked at to tell text from other files."""
FEWEST_COUNTED = 10
"""Columns that are counted through, at least, to be a scale such as the hours of a day."""
CODE_PAGES = ("cp1252", "cp1251", "cp1250", "gb18030", "shift_jis", "cp949", "cp1253")
"""Encodings of CSV that is not Unicode, out of spreadsheets: Western, Cyrillic, Chinese, ..."""
MOST_TITLES = 20
"""Lines above a table, such as a title, at most."""
LOGFMT_PAIR = re.compile(r'([A-Za-z_][\w.@-]*)=("[^"]*"|[^\s"]*)')
LOGFMT = r'(?:[A-Za-z_][\w.@-]*=(?:"[^"]*"|[^\s"]*)[ \t]+){2,}[A-Za-z_][\w.@-]*=(?:"[^"]*"|[^\s"]*)'
"""Three or more pairs of a key and a value on a line."""
LOGFMT_LINE = re.compile(rf"{LOGFMT}\s*\n")
DRAWN = re.compile(r"\s*\+[-=+]+\+\s*\n")
RULER = re.compile(r"[-=]+( +[-=]+)+ *")
NOT_DELIMITED = re.compile(
    rf"PAR1|\s*[{{\[]|{LOGFMT_LINE.pattern}|{DRAWN.pattern}|[^\n]*\n{RULER.pattern}\r?\n"
)
"""How text begins that is no table with delimiters."""
BATCH = 2**16
"""Texts that are Python's at a time."""
CUT = 400
"""Characters of a bad line that are kept to show it."""


class Bad(NamedTuple):
    """A line that cannot be used, and why."""

    line: int
    reason: str
    text: str


class Texts(Sequence[str]):
    """Texts that stay in Arrow's memory, a fifth of what Python takes, until one is asked for."""

    def __init__(self, values: Any):
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, which: Any) -> Any:
        found = self._values[which]
        return found.to_pylist() if isinstance(which, slice) else found.as_py()

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), BATCH):
            yield from self._values.slice(begin, BATCH).to_pylist()


@dataclass(frozen=True)
class Sheet:
    """Rows of texts with names of columns."""

    path: Path
    columns: Mapping[str, Any]
    """Arrow arrays of texts by name; null where there is nothing."""
    lines: Any = None
    """The line of each row; None if a row has no line of its own, as in JSON."""
    bad: tuple[Bad, ...] = ()
    """Lines that are not rows."""
    remarks: tuple[str, ...] = ()
    """What was found out about the file."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What a preset keeps beside the rows, such as machines."""

    known: dict[str, Texts] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The different texts of columns that were asked for; :func:`filled` keeps them."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self.columns)

    @property
    def is_day_likely_first(self) -> bool:
        """Whether 03/04/2026 is rather in April: by semicolons, or accents in names."""
        return self.has_semicolons or not all(name.isascii() for name in self.columns)

    @property
    def has_semicolons(self) -> bool:
        """Whether it is divided by semicolons, as where the comma is for decimals."""
        return "delimiter ';'" in self.remarks

    def texts(self, name: str, most: int | None = None) -> list[str]:
        """The texts of a column, or the first of them; empty where there is nothing."""
        values = self.columns[name] if most is None else self.columns[name].slice(0, most)
        return ["" if text is None else text for text in values.to_pylist()]

    def line(self, row: int) -> int:
        """The line of a row, or its number."""
        return int(self.lines[row]) if self.lines is not None else row + 1


def read_sheet(path: Path) -> Sheet:
    """A table of any kind: Parquet, a workbook, JSON, a table with lines around, delimited text."""
    survey = surveyed(path)
    if survey is not None and not NOT_DELIMITED.match(survey.head):
        found = _from_delimited(path, survey.head, survey)
        if found is not None:
            return found
    data = read_bytes(path)
    if data[:4] == b"PAR1":
        return _from_parquet(path)
    if data[:4] == b"PK\x03\x04":
        return _from_workbook(path, data)
    if not data.strip():
        raise TraceError(f"{path}: is empty")
    text = text_of(data)
    if "\0" in text[:BINARY]:
        raise TraceError(f"{path}: is neither text nor Parquet")
    if LOGFMT_LINE.match(text):
        return _from_logfmt(path, text)
    if text.lstrip()[:1] in ("{", "["):
        document = read_json(path, text)
        return sheet_of_records(path, records_of(path, document))
    if DRAWN.match(text):
        return _from_drawn(path, text)
    lines = text.splitlines()
    if len(lines) > 1 and RULER.fullmatch(lines[1]):
        return _from_fixed_width(path, lines)
    found = _from_delimited(path, text)
    assert found is not None
    return found


def text_of(data: bytes) -> str:
    """The text of a file: in UTF-8 or UTF-16, else in the code page that makes its names words."""
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    else:
        return decoded(data)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return decoded(data)
    head = b"\n".join(data[:BINARY].splitlines()[:3])
    scores = {page: known_words(head.decode(page, errors="replace")) for page in CODE_PAGES}
    best = max(CODE_PAGES, key=lambda page: scores[page])
    return data.decode(best, errors="replace") if scores[best] else decoded(data)


def records_of(path: Path, document: Any) -> list[dict[str, Any]]:
    """The objects of a document: a list of them, or the first list of them within it."""
    found = _first_records(document)
    if found is None:
        raise TraceError(f"{path}: has no list of objects in it")
    return found


def _first_records(value: Any, depth: int = 0) -> list[dict[str, Any]] | None:
    if isinstance(value, list):
        inner = [one for one in value if isinstance(one, dict)]
        return inner or None
    if isinstance(value, dict) and depth < 4:
        for part in value.values():
            found = _first_records(part, depth + 1)
            if found is not None:
                return found
    return None


def flattened(record: Mapping[str, Any], prefix: str = "") -> dict[str, str | None]:
    """An object with its inner ones laid out: ``{"a": {"b": 1}}`` is ``{"a.b": "1"}``."""
    flat: dict[str, str | None] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{name}.")
        elif value is None:
            flat[name] = None
        elif isinstance(value, (list, bool)):
            flat[name] = json.dumps(value)
        else:
            flat[name] = str(value)
    return flat


def sheet_of_records(path: Path, records: Iterable[Mapping[str, Any]], **others: Any) -> Sheet:
    """A sheet of objects, each a row."""
    rows = [flattened(record) for record in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not rows or not names:
        raise TraceError(f"{path}: has no rows")
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}
    return Sheet(path, columns, **others)


def sheet_of_rows(
    path: Path, names: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]], **others: Any
) -> Sheet:
    """A sheet of rows, each with its line; those of another length are bad."""
    good = [row for row in rows if len(row[1]) == len(names)]
    bad = tuple(
        Bad(line, f"has {len(cells)} columns: {len(names)} are needed", " ".join(cells)[:CUT])
        for line, cells in rows
        if len(cells) != len(names)
    )
    if not good:
        raise TraceError(f"{path}: has no rows")
    columns = {
        name: pa.array([cells[k].strip() for _, cells in good], pa.string())
        for k, name in enumerate(distinct(names))
    }
    return Sheet(path, columns, np.array([line for line, _ in good]), bad, **others)


def distinct(names: Sequence[str]) -> list[str]:
    """Names of columns, of which those that repeat, or are empty, are told apart."""
    found: list[str] = []
    for k, name in enumerate(names):
        word = name.strip() or f"column_{k + 1}"
        while word in found:
            word = f"{word}_{k + 1}"
        found.append(word)
    return found


def _from_parquet(path: Path) -> Sheet:
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise TraceError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    columns = {}
    for name in table.column_names:
        values = table[name].combine_chunks()
        if pa.types.is_timestamp(values.type) and values.type.tz:
            values = pc.cast(values.cast(pa.timestamp("us", "UTC")), pa.string())
        columns[name] = values.cast(pa.string())
    if not len(table):
        raise TraceError(f"{path}: has no rows")
    return Sheet(path, columns)


def _from_workbook(path: Path, data: bytes) -> Sheet:
    """The first sheet of an Excel workbook, below what stands above its table."""
    rows = rows_of_workbook(path, data)
    counts = [sum(bool(cell.strip()) for cell in cells) for _, cells in rows[:SAMPLE_LINES]]
    titles = next((k for k, count in enumerate(counts) if count > max(counts) / 2), 0)
    rows = rows[titles:]
    remarks = ("the first sheet of a workbook",)
    if has_header([cells for _, cells in rows[:50]]):
        return sheet_of_rows(path, rows[0][1], rows[1:], remarks=remarks)
    names = [f"column_{k + 1}" for k in range(len(rows[0][1]))]
    return sheet_of_rows(path, names, rows, remarks=(*remarks, "no header"))


def _from_logfmt(path: Path, text: str) -> Sheet:
    """Lines of ``key=value`` pairs, as many services write their logs."""
    records, bad = [], []
    lines = []
    for k, line in enumerate(text.splitlines(), 1):
        pairs = LOGFMT_PAIR.findall(line)
        if pairs:
            records.append({key: value.strip('"') for key, value in pairs})
            lines.append(k)
        elif line.strip():
            bad.append(Bad(k, "has no key=value", line[:CUT]))
    remarks = ("lines of key=value",)
    return sheet_of_records(path, records, lines=np.array(lines), bad=tuple(bad), remarks=remarks)


def _from_drawn(path: Path, text: str) -> Sheet:
    """A table with lines around it, as OpenStack's and MySQL's commands print it."""
    rows = [
        (line, [cell.strip() for cell in row.strip().strip("|").split("|")])
        for line, row in enumerate(text.splitlines(), 1)
        if row.strip().startswith("|")
    ]
    return sheet_of_rows(path, rows[0][1], rows[1:], remarks=("a table drawn with lines",))


def _from_fixed_width(path: Path, lines: list[str]) -> Sheet:
    """Columns of a fixed width below a ruler of hyphens, as sacct prints them without -P."""
    spans = [match.span() for match in re.finditer(r"[-=]+", lines[1])]
    rows = [
        (k, [line[begin:end].strip() for begin, end in spans])
        for k, line in enumerate(lines, 1)
        if k != 2 and line.strip()
    ]
    cut = any("+" in row[1] for row in rows)
    remarks = ("columns of a fixed width",) + (
        ("values that end in + are cut off: export with -P instead",) if cut else ()
    )
    return sheet_of_rows(path, rows[0][1], rows[1:], remarks=remarks)


def sniff_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that divides most lines into the same number of cells, which is more than one.

    Without any the lines are one column, or words divided by blanks.
    """
    best, best_score = "", 0.0
    for delimiter in DELIMITERS:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        common = max(set(counts), key=counts.count)
        score = counts.count(common) / len(counts) * (common > 1) * (1 + min(common, 50) / 1000)
        if score > best_score + 1e-9:
            best, best_score = delimiter, score
    if best_score >= 0.5:
        return best
    counts = [len(line.split()) for line in lines]
    common = max(set(counts), key=counts.count)
    return " " if common > 1 and counts.count(common) / len(counts) >= 0.8 else best or ","


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names columns: it has no numbers and times where the others have."""
    first, others = rows[0], rows[1:]
    if not others:
        return not any(_is_number(cell) for cell in first)
    values = [k for k, cell in enumerate(first) if _is_number(cell) or _is_time(cell)]
    if values and not is_scale([first[k] for k in values]):
        return False
    return len(set(first)) == len(first) or all(cell.strip() for cell in first)


def is_scale(cells: Sequence[str]) -> bool:
    """Whether cells of a first row count columns: 1 to 1440, 0 to 23, 00:00 to 23:00."""
    if len(cells) < FEWEST_COUNTED:
        return False
    if all(re.fullmatch(r"\d\d?:\d\d(:\d\d)?", cell.strip()) for cell in cells):
        return len(set(cells)) == len(cells)
    first = cells[0].strip()
    return first in ("0", "1", "00") and all(
        cell.strip().lstrip("0") == str(int(first) + k).lstrip("0") for k, cell in enumerate(cells)
    )


def _is_time(text: str) -> bool:
    word = text.strip()
    if not re.search(r"\d[-/.:年]\s?\d", word) or not word[:1].isdigit():
        return False
    for is_day_first in (False, True):
        with suppress(ValueError, OverflowError):
            Instants(day_first=is_day_first).parse(word)
            return True
    return bool(re.fullmatch(r"\d\d?:\d\d(:\d\d)?", word))


def _is_number(text: str) -> bool:
    try:
        number(text)
    except ValueError:
        return False
    return True


def _from_delimited(path: Path, text: str, survey: Survey | None = None) -> Sheet | None:
    """The rows of a table with delimiters.

    Args:
        path: the file.
        text: all of it, or the beginning of a large one.
        survey: the large one, which is read by Arrow alone: None comes back where that cannot be.
    """
    all_lines = text.splitlines()
    skipped = 0
    while skipped < len(all_lines) and (
        not all_lines[skipped].strip() or all_lines[skipped].startswith(("#", ";"))
    ):
        skipped += 1
    said = (
        re.fullmatch(r"sep=(.)", all_lines[skipped].strip("\r"))
        if skipped < len(all_lines)
        else None
    )
    skipped += said is not None  # Excel writes its delimiter so
    sample = [line for line in all_lines[skipped : skipped + SAMPLE_LINES] if line.strip()]
    if not sample:
        if survey is not None:
            return None
        raise TraceError(f"{path}: has no rows")
    delimiter = said[1] if said else sniff_delimiter(sample)
    titles = 0 if delimiter == " " else _titles(all_lines[skipped:], sample, delimiter)
    skipped += titles
    sample = [line for line in all_lines[skipped : skipped + SAMPLE_LINES] if line.strip()]
    remarks: tuple[str, ...] = (f"delimiter {delimiter!r}",)
    if skipped:
        remarks += (f"lines before the table: {skipped}",)
    if survey is not None and (delimiter == " " or not sample):
        return None
    if delimiter == " ":
        rows = [(k, line.split()) for k, line in enumerate(all_lines, 1) if k > skipped and line]
    else:
        first = next(csv.reader(sample[:1], delimiter=delimiter))
        trailing = first[-1:] == [""] and len(first) > 1  # sacct -p ends its lines with a bar
        fast = None
        if not trailing:
            with _body(text, all_lines, skipped, survey) as (body, quotes):
                fast = _by_arrow(path, body, quotes, skipped, delimiter, sample)
        if fast is not None or survey is not None:
            return fast
        rows = _csv_rows(all_lines, skipped, delimiter, cut=trailing)
    if has_header([cells for _, cells in rows[:50]]):
        return sheet_of_rows(path, rows[0][1], rows[1:], remarks=remarks)
    names = [f"column_{k + 1}" for k in range(len(rows[0][1]))]
    return sheet_of_rows(path, names, rows, remarks=(*remarks, "no header"))


def _titles(lines: Sequence[str], sample: Sequence[str], delimiter: str) -> int:
    """The lines above a table that have fewer cells than most lines, such as its title."""
    counts = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
    common = max(set(counts), key=counts.count)
    if common < 2 or counts.count(common) < 0.8 * len(counts):
        return 0
    for k, line in enumerate(lines[: MOST_TITLES + 1]):
        cells = next(csv.reader([line], delimiter=delimiter), [])
        if len(cells) >= common and sum(bool(cell.strip()) for cell in cells) > 1:
            return k
    return 0


def _csv_rows(
    lines: list[str], skipped: int, delimiter: str, cut: bool
) -> list[tuple[int, list[str]]]:
    """The rows by Python's reader, which knows the line on which each begins."""
    reader = csv.reader(io.StringIO("\n".join(lines[skipped:]) + "\n"), delimiter=delimiter)
    rows, line = [], skipped + 1
    for cells in reader:
        if cells:
            rows.append((line, cells[:-1] if cut else cells))
        line = skipped + reader.line_num + 1
    return rows


@contextmanager
def _body(
    text: str, lines: list[str], skipped: int, survey: Survey | None
) -> Iterator[tuple[Any, int]]:
    """The bytes below some lines, and how many double quotes the file has."""
    if survey is None:
        yield io.BytesIO("\n".join(lines[skipped:]).encode()), text.count('"')
    else:
        with survey.below(skipped) as file:
            yield file, survey.quotes


def _by_arrow(
    path: Path, body: Any, quotes: int, skipped: int, delimiter: str, sample: list[str]
) -> Sheet | None:
    """The rows by Arrow, many times as fast; None where a cell goes on over several lines."""
    rows = list(csv.reader(sample, delimiter=delimiter))
    header = has_header(rows[:50])
    names = distinct(rows[0] if header else [f"column_{k + 1}" for k in range(len(rows[0]))])
    bad: list[Bad] = []
    is_split = False

    def note(row: Any) -> str:
        nonlocal is_split
        is_split = is_split or row.text.count('"') % 2 == 1
        line = int(row.number) + skipped if row.number is not None else 0
        reason = f"has {row.actual_columns} columns: {row.expected_columns} are needed"
        bad.append(Bad(line, reason if row.text.strip() else "", row.text[:CUT]))
        return "skip"

    try:
        table = pa_csv.read_csv(
            body,
            read_options=pa_csv.ReadOptions(
                column_names=names, skip_rows=int(header), use_threads=False
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=delimiter, invalid_row_handler=note, ignore_empty_lines=False
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: pa.string() for name in names}, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    if is_split or quotes % 2 == 1 or _has_breaks(table):
        return None
    numbers = np.delete(
        np.arange(skipped + 1 + header, skipped + 1 + header + table.num_rows + len(bad)),
        [one.line - skipped - 1 - header for one in bad],
    )
    columns = {}
    for name in names:  # one after the other, so that no column is there twice for long
        columns[name] = pc.utf8_trim_whitespace(table[name]).combine_chunks()
        table = table.drop_columns([name])
    pa.default_memory_pool().release_unused()
    empty = _all_empty(columns)
    if len(columns) == 1 or empty.any():
        keep = pa.array(~empty)
        columns = {name: values.filter(keep) for name, values in columns.items()}
        numbers = numbers[~empty]
    if not len(numbers):
        raise TraceError(f"{path}: has no rows")
    remarks = (f"delimiter {delimiter!r}",) + (() if header else ("no header",))
    if skipped:
        remarks += (f"lines before the table: {skipped}",)
    return Sheet(path, columns, numbers, tuple(one for one in bad if one.reason), remarks)


def _has_breaks(table: Any) -> bool:
    """Whether a cell goes on over several lines."""
    return any(pc.any(pc.match_substring(table[name], "\n")).as_py() for name in table.column_names)


def _all_empty(columns: Mapping[str, Any]) -> Any:
    """Which rows have nothing in any column: blank lines."""
    empty = np.ones(len(next(iter(columns.values()))), np.bool_)
    for values in columns.values():
        empty &= pc.equal(values, "").to_numpy(zero_copy_only=False)
    return empty


def filled(sheet: Sheet, name: str) -> Texts:
    """The different texts of a column that stand for something."""
    if name not in sheet.known:
        column = sheet.columns[name].drop_null()
        values = column.unique()
        values = column if len(values) == len(column) else values  # no second copy
        word = pc.utf8_lower(pc.utf8_trim_whitespace(values))
        is_word = pc.invert(pc.is_in(word, value_set=pa.array(sorted(NOTHING), pa.string())))
        all_words = pc.all(is_word).as_py()
        sheet.known[name] = Texts(values if all_words else values.filter(is_word))
    return sheet.known[name]
