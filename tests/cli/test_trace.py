"""``cloudarena trace``: look at, import and make workloads."""

import json

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from cloudarena.cli import trace


@pytest.fixture
def generated(cloudarena, tmp_path):
    """A small trace in a folder."""
    folder = tmp_path / "generated"
    code, out, err = cloudarena(
        "trace", "generate", "azure-like", "--vms", 50, "--ticks", 300, "--seed", 3,
        "--out", folder, "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert json.loads(out)["vms"] == 50
    return folder


def test_generate_and_describe(cloudarena, generated):
    code, out, err = cloudarena("trace", "describe", generated, "--json")
    assert (code, err) == (0, "")
    figures = json.loads(out)[str(generated)]
    assert figures["vms"] == 50
    assert figures["reading_rows"] == figures["readings"]
    assert figures["readings_of_unknown_vms"] == 0
    assert figures["readings_outside_life"] == 0
    assert figures["vms_without_readings"] == 0


def test_describe_several_side_by_side(cloudarena, generated):
    code, out, _ = cloudarena("trace", "describe", generated, "vm/toy", "--seed", 1)
    assert code == 0
    assert "vm/toy" in out
    assert "concurrent_mean" in out
    assert any(line.split() == ["vms", "50", "3"] for line in out.splitlines())


def test_describe_counts_what_does_not_fit(cloudarena, tmp_path):
    (tmp_path / "vmtable.csv").write_text(
        "vmid,subscriptionid,deploymentid,vmcreated,vmdeleted,vmcategory,vmcorecountbucket,"
        "vmmemorybucket,lifetime\n1,1,1,0,1,2,2,4,2\n2,1,1,5,5,2,2,4,1\n"
    )
    (tmp_path / "readings.csv").write_text("timestamp,vmid,maxcpu\n0,1,8\n7,1,9\n3,77,9\n")
    for arguments, name in (
        ([tmp_path], str(tmp_path)),
        (
            ["--vmtable", tmp_path / "vmtable.csv", "--readings", tmp_path / "readings.csv"],
            str(tmp_path / "vmtable.csv"),
        ),
    ):
        code, out, _ = cloudarena("trace", "describe", *arguments, "--json")
        assert code == 0
        figures = json.loads(out)[name]
        assert figures["reading_rows"] == 3
        assert figures["readings_of_unknown_vms"] == 1
        assert figures["readings_outside_life"] == 1
        assert figures["vms_without_readings"] == 1


def test_convert_files_from_csv_to_parquet(cloudarena, generated, tmp_path):
    for name in ("vmtable", "readings"):
        table = pq.read_table(generated / f"{name}.parquet")
        pacsv.write_csv(table, tmp_path / f"{name}.csv")
    code, out, _ = cloudarena(
        "trace", "convert", "files", "--vmtable", tmp_path / "vmtable.csv",
        "--readings", tmp_path / "readings.csv", "--out", tmp_path / "out",
    )  # fmt: skip
    assert code == 0
    assert "vms: 50" in out
    for name in ("vmtable", "readings"):
        one = pq.read_table(generated / f"{name}.parquet")
        assert one.equals(pq.read_table(tmp_path / "out" / f"{name}.parquet"))


def test_convert_azure_v2(cloudarena, tmp_path):
    rows = [f"v{k},s,d,{300 * k},{300 * k + 600},,,,Unknown,2,>64\n" for k in range(4)]
    (tmp_path / "vmtable.csv").write_text("".join(rows))
    for part in range(3):
        (tmp_path / f"r{part}.csv").write_text(f"{300 * part},v{part},0,50,0\n")
    parts = [tmp_path / f"r{part}.csv" for part in range(3)]
    code, out, err = cloudarena(
        "trace", "convert", "azure-v2", "--vmtable", tmp_path / "vmtable.csv",
        "--readings", *parts, "--vms", 4, "--seed", 2, "--out", tmp_path / "out", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert (summary["vms"], summary["reading_rows"]) == (4, 3)
    assert summary["vms_without_readings"] == 1
    assert pq.read_table(tmp_path / "out" / "readings.parquet")["timestamp"].to_pylist() == [
        0,
        1,
        2,
    ]


def test_convert_openb(cloudarena, tmp_path):
    (tmp_path / "pods.csv").write_text(
        "name,cpu_milli,memory_mib,qos,creation_time,deletion_time\n"
        "a,1000,1024,LS,0,900\nb,0,1024,LS,0,900\n"
    )
    code, out, _ = cloudarena(
        "trace", "convert", "openb", "--pods", tmp_path / "pods.csv", "--tick-seconds", 100,
        "--cpu-percent", 30, "--out", tmp_path / "out", "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["skipped_pods"] == 1
    assert pq.read_table(tmp_path / "out" / "readings.parquet")["maxcpu"].to_pylist() == [30.0] * 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe"], "nothing to describe: give a file, a folder, a spec, or --vmtable"),
        (["describe", "--vmtable", "a.csv"], "--vmtable and --readings go together"),
        (["describe", "."], "is not a trace: needed are files (.parquet, .csv, .csv.gz)"),
        (["describe", "vm/azure-like-20k"], "neither a file nor a scenario of the catalogue"),
        (["describe", "some.csv"], "some.csv: is of no known format: give --format, one of"),
        (["describe", "some.csv", "--format", "x"], "--format: 'x' is not allowed: one of"),
        (["describe", "some.csv", "--format", "dax"], "some.csv"),
        (["generate", "azure-like", "--vms", "0", "--out", "x"], "vms: 0 is not allowed"),
        (
            ["generate", "azure-like", "--vms", "9", "--concurrent", "-1", "--out", "x"],
            "concurrent: -1.0 is not allowed: more than 0",
        ),
        (["generate", "azure-like", "--vms", "9", "--ticks", "1", "--out", "x"], "ticks: 1 is not"),
        (["convert", "openb", "--pods", "no.csv", "--out", "x"], "no.csv: does not exist"),
        (
            ["convert", "files", "--vmtable", "no.csv", "--readings", "no.csv", "--out", "x"],
            "no.csv: does not exist",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    cloudarena, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.csv").write_text("a\n1\n")
    code, out, err = cloudarena("trace", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["some.csv"]


@pytest.mark.parametrize(
    "command",
    [[], ["describe"], *(["convert", name] for name in trace.known_sources(generators=False)),
     *(["generate", name] for name in trace.known_sources(generators=True))],
)  # fmt: skip
def test_the_help_of_each_command_has_an_example(cloudarena, command):
    code, out, _ = cloudarena("trace", *command, "--help")
    assert code == 0
    assert f"Example: cloudarena trace {' '.join(command)}".strip() in " ".join(out.split())
