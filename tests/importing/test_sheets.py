"""Files of any form become the same sheet of texts, and lines that are no rows are named."""

import bz2
import gzip
import json
import lzma

import pytest

from cloudarena.base.errors import CloudarenaError, TraceError
from cloudarena.importing.mapping import parse_map, propose
from cloudarena.importing.sheet import read_sheet

ROWS = [("vm-1", "2", "2026-01-05T08:00:00Z"), ("vm-2", "4", "2026-01-05T09:00:00Z")]
NAMES = ("name", "vcpus", "launched_at")


def table(delimiter):
    return "\n".join(delimiter.join(row) for row in (NAMES, *ROWS)) + "\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters(tmp_path, delimiter):
    path = tmp_path / "vms.csv"
    path.write_text(table(delimiter))
    sheet = read_sheet(path)
    assert sheet.names == list(NAMES)
    assert list(zip(*(sheet.texts(name) for name in NAMES), strict=True)) == ROWS
    assert [sheet.line(row) for row in range(2)] == [2, 3]


def test_other_forms_of_the_same_table(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    records = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    (tmp_path / "list.json").write_text(json.dumps({"data": {"vms": records}}))
    (tmp_path / "lines.json").write_text("\n".join(map(json.dumps, records)))
    with gzip.open(tmp_path / "vms.csv.gz", "wt") as file:
        file.write(table(","))
    (tmp_path / "vms.csv.bz2").write_bytes(bz2.compress(table(",").encode()))
    (tmp_path / "packed").write_bytes(lzma.compress(table(",").encode()))
    with pa.CompressedOutputStream(str(tmp_path / "vms.csv.zst"), "zstd") as file:
        file.write(table(",").encode())
    (tmp_path / "utf16.csv").write_text(table(","), encoding="utf-16")
    drawn = "+--+--+--+\n" + "".join(f"| {' | '.join(row)} |\n" for row in (NAMES, *ROWS))
    (tmp_path / "drawn.txt").write_text(drawn + "+--+--+--+\n")
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "vms.parquet")
    for path in sorted(tmp_path.iterdir()):
        sheet = read_sheet(path)
        assert sheet.texts("vcpus") == ["2", "4"], path
        assert propose(sheet).kind == "vm", path


def test_packed_files_that_are_cut_short_are_one_line(tmp_path):
    import pyarrow as pa

    text = "".join(f"{k},{k * k}\n" for k in range(5000)).encode()
    with pa.CompressedOutputStream(str(tmp_path / "a.zst"), "zstd") as file:
        file.write(text)
    (tmp_path / "a.bz2").write_bytes(bz2.compress(text))
    (tmp_path / "a.xz").write_bytes(lzma.compress(text))
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    for path in sorted(tmp_path.iterdir()):
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(TraceError, match=rf"{path.name}: cannot be read"):
            read_sheet(path)


def test_lines_that_are_no_rows_are_named(tmp_path):
    path = tmp_path / "vms.csv"
    path.write_text("# made by a tool\n" + table(",") + "vm-3,2\n\nvm-4,1,2026-01-05T10:00:00Z\n")
    sheet = read_sheet(path)
    assert sheet.texts("name") == ["vm-1", "vm-2", "vm-4"]
    assert [(one.line, one.reason) for one in sheet.bad] == [(5, "has 2 columns: 3 are needed")]
    assert [sheet.line(row) for row in range(3)] == [3, 4, 7]


def test_a_cell_may_go_on_over_several_lines(tmp_path):
    path = tmp_path / "vms.csv"
    path.write_text('name,vcpus,launched_at\n"a\nb",2,2026-01-05\nc,4,2026-01-06\n')
    sheet = read_sheet(path)
    assert sheet.texts("name") == ["a\nb", "c"]
    assert [sheet.line(row) for row in range(2)] == [2, 4]


def test_a_table_without_a_header(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("2026-01-05T08:00,5\n2026-01-05T08:01,7\n")
    sheet = read_sheet(path)
    assert sheet.names == ["column_1", "column_2"]
    assert propose(sheet).kind == "tiers"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("{,}", "is not JSON"),
        ('{"a": 1}', "no list of objects"),
        ("a,b\n", "no rows"),
    ],
)
def test_what_is_no_table(tmp_path, content, words):
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(CloudarenaError, match=words):
        read_sheet(path)


def test_columns_that_nobody_knows(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("foo,bar,baz\nx,y,z\n")
    with pytest.raises(CloudarenaError, match="it is not known what its columns foo, bar, baz are"):
        propose(read_sheet(path))


def test_a_map():
    assert parse_map("start=launched_at,memory=ram_mb:MB, cores=2") == {
        "start": ("launched_at", ""),
        "memory": ("ram_mb", "mb"),
        "cores": ("2", ""),
    }
    with pytest.raises(CloudarenaError, match="'start' is not allowed: ROLE=COLUMN"):
        parse_map("start")
