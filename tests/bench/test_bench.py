"""``cloudarena bench``: ratios to peers, and slowdowns against an earlier result."""

import json
import shutil

import pytest

from cloudarena.bench import cases, result
from cloudarena.bench.case import Case, by_rate, by_time


def fake(monkeypatch, seconds=0.5, is_there=True):
    case = Case(
        "toy",
        "Peer",
        lambda: is_there,
        "pip install peer",
        lambda: iter([by_time("toy", "Peer", "a job", seconds, 5.0)]),
    )
    monkeypatch.setattr(cases, "CASES", (case,))


def test_a_ratio_is_how_many_times_as_fast_ours_is():
    assert by_time("a", "b", "c", 2.0, 6.0).ratio == 3.0
    assert by_rate("a", "b", "c", "jobs", 6.0, 2.0).ratio == 3.0


def test_a_result_and_a_later_one(monkeypatch, cloudarena, tmp_path):
    fake(monkeypatch)
    file = tmp_path / "before.json"
    code, out, _ = cloudarena("bench", "--out", file)
    assert code == 0
    assert "10" in out
    assert json.loads(file.read_text())["results"][0]["ratio"] == 10.0
    fake(monkeypatch, seconds=0.56)
    assert cloudarena("bench", "--compare", file)[0] == 0
    fake(monkeypatch, seconds=0.6)
    code, out, _ = cloudarena("bench", "--compare", file)
    assert code == 1
    assert "SLOWER" in out
    code, out, _ = cloudarena("bench", "--compare", file, "--json")
    assert json.loads(out)["changes"][0]["slower"] is True


def test_a_peer_that_is_not_there_is_one_line(monkeypatch, cloudarena):
    fake(monkeypatch, is_there=False)
    code, out, _ = cloudarena("bench")
    assert code == 0
    assert out == "toy: Peer is not installed: pip install peer\n"


@pytest.mark.parametrize("text", [None, "no json", "[]", '{"results": [{}]}'])
def test_what_is_no_result_is_refused(cloudarena, tmp_path, text):
    file = tmp_path / "before.json"
    if text is not None:
        file.write_text(text)
    code, _, err = cloudarena("bench", "--compare", file)
    assert code == 2
    assert err.count("\n") == 1
    assert "--compare" in err


def test_a_name_that_is_none(cloudarena):
    code, _, err = cloudarena("bench", "vn")
    assert code == 2
    assert "NAME: 'vn' is not allowed: one of vm, tiers" in err


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_c_programs_place_the_same_vms(monkeypatch):
    monkeypatch.setattr(cases, "HOSTS", 100)
    monkeypatch.setattr(cases, "VMS", 3000)
    monkeypatch.setattr(cases, "TIMES", 1)
    found = list(cases.first_fit_beside_c())
    assert [one.peer for one in found] == ["C, linear search", "C, indexed search"]


def test_simpy_does_the_same_work(monkeypatch):
    pytest.importorskip("simpy")
    for name, value in (("VM_TICKS", 20), ("TANDEM", 500), ("TIMES", 1)):
        monkeypatch.setattr(cases, name, value)
    found = [*cases.vm_on_simpy(), *cases.tiers_on_simpy()]
    assert all(one.ratio > 1 for one in found)
    assert result.summary(found, [])["results"][0]["peer"] == "SimPy"
