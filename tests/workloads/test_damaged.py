"""A gzipped trace that is damaged is an error of one line, whoever reads it."""

import gzip

import pytest

from cloudarena.base.errors import TraceError
from cloudarena.workloads.documents import read_json
from cloudarena.workloads.formats import recognise
from cloudarena.workloads.jobs.alibaba2018 import load_alibaba2018
from cloudarena.workloads.jobs.borg import load_borg
from cloudarena.workloads.jobs.cloudsimpy import load_cloudsimpy
from cloudarena.workloads.jobs.swf import load_swf
from cloudarena.workloads.workflow.dax import read_dax

READERS = [
    read_json,
    recognise,
    load_alibaba2018,
    load_borg,
    load_cloudsimpy,
    load_swf,
    read_dax,
]
HEADER = gzip.compress(b"", mtime=0)[:10]


@pytest.mark.parametrize(
    "content", [HEADER + b"\xff" * 20, HEADER, b"plain"], ids=["damaged", "cut short", "plain"]
)
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_damaged_file_is_named(tmp_path, reader, content):
    path = tmp_path / "trace.gz"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"trace\.gz(, line 1)?: ") as raised:
        reader(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("encoding", ["true", "shift_jis"])
def test_an_encoding_that_no_dax_can_have(tmp_path, encoding):
    path = tmp_path / "odd.dax"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?><adag></adag>')
    with pytest.raises(TraceError, match=r"odd\.dax: cannot be read: .*encoding"):
        read_dax(path)
