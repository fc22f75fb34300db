"""A large file is read block by block, and is what it would be in one piece."""

import bz2
import gzip
import subprocess
import sys

import numpy as np
import pytest

from cloudarena.importing import survey
from cloudarena.importing.kinds.tiers import _without_gaps
from cloudarena.importing.mapping import Column
from cloudarena.importing.rows import Rows
from cloudarena.importing.sheet import Texts, filled, read_sheet, sheet_of_records

ROWS = "".join(f"vm-{k},2026-03-01 08:{k % 60:02}:00,,{1 + k % 4}\n" for k in range(90))
NAMES = "id,start,end,cores\n"
TABLES = {
    "plain": NAMES + ROWS,
    "byte order mark": "\ufeff" + NAMES + ROWS,
    "title": "Our servers\n\n" + NAMES + ROWS,
    "sep": "sep=;\n" + (NAMES + ROWS).replace(",", ";"),
    "comments": "# made by hand\n# on Monday\n" + NAMES + ROWS,
    "carriage returns": (NAMES + ROWS).replace("\n", "\r\n"),
    "no header": ROWS,
    "blank lines": NAMES + ROWS.replace("vm-7,", "\nvm-7,") + "\n\n",
    "short rows": NAMES + ROWS.replace("vm-8,2026-03-01 08:08:00,,", "vm-8,") + "a,b,c,d,e,f\n",
    "quotes": NAMES + ROWS.replace("vm-9,", '"vm ""9"", old",'),
    "cells over lines": NAMES + ROWS.replace("vm-9,", '"vm\n9",'),
    "odd breaks": NAMES + ROWS.replace("vm-9,", "vm\x0b9,"),
    "lone returns": (NAMES + ROWS).replace("\n", "\r"),
    "bars at the end": (NAMES + ROWS).replace(",", "|").replace("\n", "|\n"),
    "blanks": (NAMES + ROWS.replace(",,", ",-,")).replace(" 08", "T08").replace(",", " "),
    "accents": NAMES + ROWS.replace("vm-", "ñandú-"),
    "no line behind": (NAMES + ROWS).rstrip("\n"),
    "logfmt": "".join(f"id=vm-{k} start=2026-03-01 cores={k} x=1\n" for k in range(90)),
    "lines of JSON": "".join(f'{{"id": "vm-{k}", "cores": {k}}}\n' for k in range(90)),
    "ruler": "id        cores\n--------- -----\n"
    + "".join(f"vm-{k:<6} {k:5}\n" for k in range(190)),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("pack", ["", ".gz", ".bz2"])
def test_a_file_in_blocks_is_what_it_is_in_one_piece(tmp_path, monkeypatch, table, pack):
    path = tmp_path / f"table.csv{pack}"
    data = TABLES[table].encode()
    path.write_bytes({"": lambda b: b, ".gz": gzip.compress, ".bz2": bz2.compress}[pack](data))
    whole = read_sheet(path)
    monkeypatch.setattr(survey, "LARGE", 1500)
    monkeypatch.setattr(survey, "BLOCK", 1500)
    blocks = read_sheet(path)
    assert blocks.names == whole.names
    assert [blocks.texts(name) for name in whole.names] == [whole.texts(n) for n in whole.names]
    assert [blocks.line(k) for k in range(len(whole))] == [whole.line(k) for k in range(len(whole))]
    assert (blocks.bad, blocks.remarks) == (whole.bad, whole.remarks)


def test_only_what_is_large_and_plain_is_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "LARGE", 1500)
    monkeypatch.setattr(survey, "BLOCK", 1500)
    path = tmp_path / "table.csv"
    found = {}
    for name, text in {**TABLES, "small": NAMES, "latin": ""}.items():
        path.write_bytes(text.encode() or TABLES["accents"].encode("latin-1"))
        found[name] = survey.surveyed(path) is not None
    no = {"odd breaks", "lone returns", "small", "latin"}
    assert {name for name, is_in_blocks in found.items() if not is_in_blocks} == no


def test_different_texts_are_a_sequence():
    sheet = sheet_of_records("x", [{"a": text} for text in ("b", "N/A", "c", "b", None, " läuft ")])
    texts = filled(sheet, "a")
    assert isinstance(texts, Texts)
    assert (list(texts), texts[0], texts[:1], len(texts)) == (["b", "c"], "b", ["b"], 2)


def rows_of(ids, **columns):
    records = [{"id": name, **{k: str(v[n]) for k, v in columns.items()}}
               for n, name in enumerate(ids)]  # fmt: skip
    return Rows(sheet_of_records("x", records), "vm", {"id": Column("id"), "user": Column("user")})


def test_duplicates_are_rows_with_the_id_and_the_numbers_of_one_before():
    rows = rows_of(["a", "b", "a", None, "a", None, "a", "b"], user="12345678")
    nan = float("nan")
    rows.reject_repeated(
        np.array([1.0, 2.0, 1.0, 4.0, 3.0, 4.0, 1.0, 2.0]),
        np.array([nan, 0.0, nan, 5.0, nan, 5.0, nan, -0.0]),
    )
    assert [one.row for one in rows.rejected] == [2, 6]


def test_names_and_groups_are_numbered_in_the_order_that_is_asked_for():
    rows = rows_of(["a", "b", "a", None, "row 4"], user=["u", "v", "u", "w", "v"])
    names, again = rows.names(np.array([2, 1, 0, 3, 4]))
    assert (names.to_pylist(), again) == (["a", "b", "a#2", "row 4", "row 4#2"], 2)
    assert rows.names(np.array([1, 2]))[0].to_pylist() == ["b", "a"]
    assert rows.groups(np.array([3, 2, 1, 0, 4])).tolist() == [0, 1, 2, 1, 2]


@pytest.mark.parametrize(("hold", "rates"), [(True, [1, 2, 2, 3]), (False, [1, 2, 0, 3])])
def test_gaps_of_a_series_are_filled(hold, rates):
    starts, held, missing = _without_gaps(
        np.array([0.0, 60.0, 240.0]), np.array([1.0, 2.0, 3.0]), 60.0, hold
    )
    assert (starts.tolist(), held.tolist(), missing) == ([0.0, 60.0, 120.0, 240.0], rates, 2)


@pytest.mark.slow
def test_a_row_takes_less_than_half_a_kilobyte(tmp_path):
    """By the peak of the process, of two sizes, so that what is there without rows counts not."""
    script = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from cloudarena.importing.run import import_files\n"
        "made = import_files([Path(sys.argv[1])])\n"
        "print(made.found.kind, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for count in (100_000, 600_000):
        path = tmp_path / "vms.csv"
        with path.open("w") as file:
            file.write("vm,created_at,deleted_at,vcpus,memory_mb\n")
            for k in range(count):
                day, minute = k // 40_000, k // 28 % 1440
                begin = f"2026-03-{1 + day:02} {minute // 60:02}:{minute % 60:02}:{k % 28:02}"
                end = "" if k % 50 == 0 else f"2026-04-{1 + k % 28:02} 08:{k % 60:02}:00"
                file.write(f"vm-{k:07},{begin},{end},{1 + k % 4},4096\n")
        done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
        kind, peak = done.stdout.split()
        assert kind == "vm", done.stderr
        peaks.append(1024 * int(peak))
    assert (peaks[1] - peaks[0]) / 500_000 < 500
