"""A gzipped trace that is damaged is an error of one line, whoever reads it."""

import gzip
import json

import pytest

from cloudarena.base.errors import TraceError
from cloudarena.contract.source import Beginning
from cloudarena.workloads.documents import read_json
from cloudarena.workloads.jobs.alibaba2018 import load_alibaba2018
from cloudarena.workloads.jobs.borg import load_borg
from cloudarena.workloads.jobs.cloudsimpy import load_cloudsimpy
from cloudarena.workloads.jobs.swf import load_swf
from cloudarena.workloads.workflow.dax import read_dax

READERS = [
    read_json,
    Beginning,
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


def refused(cloudarena, *words):
    """What is said of a trace that cannot be converted."""
    code, out, err = cloudarena("trace", "convert", *words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert len(err) < 500
    return err


def test_a_missing_column_of_a_thousand_is_named_without_the_others(cloudarena, tmp_path):
    path = tmp_path / "d01.csv"
    path.write_text("HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f,http,1,2\n")
    said = refused(cloudarena, "azure-2019", path, "--out", tmp_path / "out")
    assert "column '3' is missing: needed are HashOwner, " in said
    assert "and 1,434 more up to 1440" in said


def test_a_quote_that_is_never_closed(cloudarena, tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text('inter_arrival_s\n1\n"\n2.5\n')
    said = refused(cloudarena, "recorded", path, "--out", tmp_path / "out")
    assert r"gaps.csv, line 3: inter_arrival_s: '\n2.5\n' is not allowed: a number" in said


def test_requests_that_come_too_late_are_no_trace(cloudarena, tmp_path):
    """What was written could not be read again."""
    path = tmp_path / "gaps.csv"
    path.write_text("inter_arrival_s\n10000\n")
    said = refused(cloudarena, "recorded", path, "--out", tmp_path / "out")
    assert "gaps.csv: has no requests in the first 3600 s" in said
    assert not (tmp_path / "out").exists()


def test_a_single_request_has_no_rate(cloudarena, tmp_path):
    """NaN is no JSON."""
    path = tmp_path / "gaps.csv"
    path.write_text("inter_arrival_s\n1\n")
    code, out, _ = cloudarena("trace", "describe", path, "--format", "recorded", "--json")
    assert code == 0
    assert next(iter(json.loads(out).values()))["requests_per_second"] is None
    assert "NaN" not in out


def test_rates_that_no_service_could_have(cloudarena, tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("time_s,rate\n0,1\n5,1e308\n")
    said = refused(cloudarena, "series", path, "--out", tmp_path / "out")
    assert "rates.csv, line 3: rate: 1e+308 is not allowed: 0 to 10,000,000" in said


@pytest.mark.parametrize("user", ["1e308", "nan", "inf", str(2**63)])
def test_users_of_a_log_that_no_number_can_be(cloudarena, tmp_path, user):
    path = tmp_path / "log.swf"
    path.write_text(f"1 100 0 50 4 -1 -1 4 600 -1 1 {user} 1 1 1 1 -1 -1\n")
    said = refused(cloudarena, "swf", path, "--out", tmp_path / "out")
    assert "log.swf, line 1: user: " in said


@pytest.mark.parametrize(("cpu", "memory"), [("1e300", "1024"), ("1000", "1e308")])
def test_pods_that_ask_for_more_than_there_can_be(cloudarena, tmp_path, cpu, memory):
    path = tmp_path / "pods.csv"
    path.write_text(
        "name,cpu_milli,memory_mib,qos,creation_time,deletion_time\n"
        f"a,1000,1024,LS,0,900\nb,{cpu},{memory},LS,0,900\n"
    )
    said = refused(cloudarena, "openb", "--pods", path, "--out", tmp_path / "out")
    assert "pods.csv, line 3: " in said
