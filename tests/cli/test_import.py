"""``cloudarena import``: what it shows, asks and writes."""

import json

import pytest
from tools.make_exports import write_exports


@pytest.fixture
def exports(tmp_path):
    write_exports(tmp_path, "vms.csv", "sacct.txt")
    return tmp_path


def test_it_shows_what_it_understood_and_writes(cloudarena, exports, tmp_path):
    code, out, err = cloudarena("import", exports / "vms.csv", "--yes", "--out", tmp_path / "out")
    assert code == 0, err
    assert "tabular → vm (delimiter ';')" in out
    assert "RAM (MB) in mb" in out
    assert "rejected 1: vCPUs: 'two' is no number of cores" in out
    assert "note: times that name no zone are taken for UTC" in err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"vmtable.parquet", "spec.yaml", "rejected.csv"}
    assert "GUESS" in (tmp_path / "out" / "spec.yaml").read_text()


def test_json_is_one_object(cloudarena, exports, tmp_path):
    code, out, _ = cloudarena("import", exports / "sacct.txt", "--out", tmp_path / "out", "--json")
    assert code == 0
    said = json.loads(out)
    assert (said["preset"], said["kind"], said["jobs"], said["open_ends"]) == (
        "sacct",
        "jobs",
        4,
        1,
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "import asks only on a terminal: --yes"),
        (["--yes", "--kind", "vms"], "--kind: 'vms' is not allowed: one of vm, jobs"),
        (["--yes", "--map", "start=when"], "has no column 'when': one of VM Name"),
    ],
)
def test_nothing_is_written_when_it_cannot_be(cloudarena, exports, tmp_path, options, words):
    code, _, err = cloudarena("import", exports / "vms.csv", "--out", tmp_path / "out", *options)
    assert code == 2
    assert words in err
    assert not (tmp_path / "out").exists()


def test_presets_are_listed(cloudarena):
    code, out, _ = cloudarena("import", "--presets")
    assert code == 0
    assert "Slurm: sacct" in out
    assert cloudarena("import")[0] == 2
