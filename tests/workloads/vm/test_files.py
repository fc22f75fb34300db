"""The canonical format of a VM trace: what may stand in it, and what is made of it."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from cloudarena.base.errors import TraceError
from cloudarena.workloads import columns
from cloudarena.workloads.vm import files as vm_files
from cloudarena.workloads.vm import readings
from cloudarena.workloads.vm.files import read_vm_files, scan_vm_files, write_vm_files

VMS = {
    "vmid": [11, 12, 13],
    "subscriptionid": [7, 7, 9],
    "deploymentid": [1, 2, 3],
    "vmcreated": [0, 2, 2],
    "vmdeleted": [3, 2, 6],
    "vmcategory": [0, 1, 2],
    "vmcorecountbucket": [2, 4, 8],
    "vmmemorybucket": [4, 8, 32],
    "lifetime": [4, 1, 5],
}
READINGS = {
    "timestamp": [0, 1, 2, 3, 2, 3, 5],
    "vmid": [11, 11, 12, 11, 13, 13, 13],
    "maxcpu": [10.0, 20.0, 50.0, 40.0, 5.0, 6.0, 7.5],
}


def write(path, columns):
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pacsv.write_csv(table, path)
    return path


@pytest.fixture(params=["csv", "parquet"])
def trace(request, tmp_path):
    """Writes a trace, with some columns changed, and returns its two paths."""

    def build(vms=None, readings=None):
        vms = VMS if vms is None else {**VMS, **vms}
        readings = READINGS if readings is None else {**READINGS, **readings}
        return (
            write(tmp_path / f"vmtable.{request.param}", vms),
            write(tmp_path / f"readings.{request.param}", readings),
        )

    return build


def readings_of(workload, vm):
    start = workload.first_reading[vm]
    return workload.readings[start : start + workload.lifetime[vm]].tolist()


def same(one, other):
    assert one.ids.to_pylist() == other.ids.to_pylist()
    for name in one._fields[1:]:
        ours, theirs = getattr(one, name), getattr(other, name)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        assert np.array_equal(ours, theirs), name


def test_columns_and_readings(trace):
    workload = read_vm_files(*trace())
    assert workload.ids.to_pylist() == [11, 12, 13]
    assert workload.subscription.tolist() == [7, 7, 9]
    assert workload.deployment.tolist() == [1, 2, 3]
    assert workload.created.tolist() == [0, 2, 2]
    assert workload.lifetime.tolist() == [4, 1, 5]
    assert workload.category.tolist() == [0, 1, 2]
    assert workload.cores.tolist() == [2, 4, 8]
    assert workload.memory_gb.tolist() == [4, 8, 32]
    assert readings_of(workload, 1) == [50]


def test_a_gap_holds_the_last_reading(trace):
    workload = read_vm_files(*trace())
    assert readings_of(workload, 0) == [10, 20, 20, 40]
    assert readings_of(workload, 2) == [5, 6, 6, 7.5, 7.5]


def test_before_the_first_reading_and_without_readings_a_vm_is_idle(trace):
    readings = {"timestamp": [2, 4], "vmid": [11, 13], "maxcpu": [30.0, 60.0]}
    _, counts = scan_vm_files(*trace(readings=readings))
    assert counts.vms_without_readings == 1
    workload = read_vm_files(*trace(readings=readings))
    assert readings_of(workload, 0) == [0, 0, 30, 30]
    assert readings_of(workload, 1) == [0]
    assert readings_of(workload, 2) == [0, 0, 60, 60, 60]


def test_readings_outside_a_life_and_of_unknown_vms_are_ignored(trace):
    readings = {
        "timestamp": [0, 1, 2, 3, 9, 4],
        "vmid": [12, 12, 12, 12, 11, 99],
        "maxcpu": [90.0, 90.0, 50.0, 90.0, 90.0, 90.0],
    }
    paths = trace(readings=readings)
    _, counts = scan_vm_files(*paths)
    assert counts == vm_files.ReadingCounts(
        reading_rows=6,
        readings_of_unknown_vms=1,
        readings_outside_life=4,
        vms_without_readings=2,
    )
    assert readings_of(read_vm_files(*paths), 1) == [50]


def test_no_readings_at_all(trace):
    readings = {name: pa.array([], pa.int64()) for name in READINGS}
    workload = read_vm_files(*trace(readings=readings))
    assert not workload.readings.any()
    assert workload.cpu_percent == 0


def test_without_a_file_of_readings_no_room_is_made_for_them(trace):
    vmtable, _ = trace()
    workload = read_vm_files(vmtable, None, 40.0)
    assert workload.first_reading.tolist() == [-1] * 3
    assert len(workload.readings) == 0
    assert workload.cpu_percent == 40


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vmcreated": [0, 2, 1]}, "3: vmcreated: 1 is not allowed: .*row before.*sort the table"),
        ({"vmcreated": [-1, 2, 2]}, "1: vmcreated: -1 is not allowed: at least 0"),
        ({"vmcreated": [0, 2, 10**12]}, "3: vmcreated: 1000000000000 is not allowed: less than"),
        ({"lifetime": [4, 0, 5]}, "2: lifetime: 0 is not allowed: at least 1"),
        ({"lifetime": [4, 1, 10**12]}, "3: lifetime: 1000000000000 is not allowed: less than"),
        ({"vmcorecountbucket": [2, 0, 8]}, "2: vmcorecountbucket: 0.0 is not .*: 1e-06 to"),
        ({"vmmemorybucket": [2, 4, -8]}, "3: vmmemorybucket: -8.0 is not allowed: 1e-06 to"),
        ({"vmcategory": [0, 1, 3]}, "3: vmcategory: 3 is not allowed: 0, 1 or 2"),
        ({"vmid": [11, 12, 11]}, "3: vmid: 11 is not allowed: each VM once"),
        ({"vmid": ["a", "b", "a"]}, "3: vmid: 'a' is not allowed: each VM once"),
        ({"vmcreated": [0, None, 2]}, "2: vmcreated: is empty"),
    ],
)
def test_bad_vmtables(trace, change, words):
    with pytest.raises(TraceError, match=in_row(words)):
        read_vm_files(*trace(vms=change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"timestamp": [0, 1, 2, 1, 2, 3, 5]}, "4: timestamp: 1 is not allowed: more than the one"),
        ({"timestamp": [1, 0, 2, 3, 2, 3, 5]}, "2: timestamp: 0 is not allowed: more than the one"),
        ({"timestamp": [0, 1, 2, 3, 2, 3, -5]}, "7: timestamp: -5 is not allowed: at least 0"),
        ({"maxcpu": [10, 20, 30, 40, 50, 60, np.nan]}, "7: maxcpu: nan is not allowed: a number"),
        (
            {"maxcpu": [10, 20, 30, 100.5, 50, 60, 7]},
            "4: maxcpu: 100.5 is not allowed: .* 0 to 100",
        ),
        ({"maxcpu": [10, 20, -0.5, 40, 50, 60, 7]}, "3: maxcpu: -0.5 is not allowed: .* 0 to 100"),
        ({"maxcpu": [10, 20, 30, 40, None, 60, 7]}, "5: maxcpu: is empty"),
    ],
)
def test_bad_readings(trace, change, words):
    with pytest.raises(TraceError, match=in_row(words)):
        read_vm_files(*trace(readings=change))


def in_row(words):
    """The same row is one line further down in a CSV, which has a header."""
    row, _, rest = words.partition(":")
    return rf"(row {row}|line {int(row) + 1}):{rest}"


def test_missing_and_extra_columns(trace, tmp_path):
    vmtable, readings = trace()
    suffix = readings.suffix
    few = {"timestamp": [1], "vmid": [11], "cpu": [5.0]}
    bad = write(tmp_path / f"few{suffix}", few)
    with pytest.raises(TraceError, match=r"few.*column 'maxcpu' is missing.*Did you mean 'cpu'"):
        read_vm_files(vmtable, bad)
    bad = write(tmp_path / f"many{suffix}", {**READINGS, "mincpu": [0] * 7})
    with pytest.raises(TraceError, match=r"many.*column 'mincpu' is not allowed: only timestamp"):
        read_vm_files(vmtable, bad)
    bad = write(tmp_path / f"vms{suffix}", {k: v for k, v in VMS.items() if k != "lifetime"})
    with pytest.raises(TraceError, match="column 'lifetime' is missing"):
        read_vm_files(bad, readings)


def test_a_column_that_stands_twice(tmp_path, trace):
    vmtable, _ = trace()
    twice = tmp_path / "twice.csv"
    twice.write_text("timestamp,vmid,maxcpu,maxcpu\n0,11,1,1\n")
    with pytest.raises(TraceError, match="column 'maxcpu' is a duplicate"):
        read_vm_files(vmtable, twice)


def test_a_header_that_is_no_text(tmp_path, trace):
    vmtable, readings = trace()
    bad = tmp_path / "bytes.csv"
    bad.write_bytes(b"timestamp,vmid,max\xffcpu\n0,11,1\n")
    for files in ((vmtable, bad), (bad, readings)):
        with pytest.raises(TraceError, match=r"bytes\.csv: cannot be read"):
            read_vm_files(*files)


def test_empty_table_and_missing_files(trace, tmp_path):
    vmtable, readings = trace()
    bad = write(tmp_path / f"none{vmtable.suffix}", pa.table(VMS).slice(0, 0).to_pydict())
    with pytest.raises(TraceError, match=r"none.*has no VMs"):
        read_vm_files(bad, readings)
    with pytest.raises(TraceError, match=r"nowhere.csv: does not exist"):
        read_vm_files(vmtable, tmp_path / "nowhere.csv")
    with pytest.raises(TraceError, match="is a folder"):
        read_vm_files(vmtable, tmp_path)
    (tmp_path / "zero.csv").write_text("")
    with pytest.raises(TraceError, match=r"zero.csv: cannot be read"):
        read_vm_files(tmp_path / "zero.csv", readings)
    (tmp_path / "text.parquet").write_text("no parquet")
    with pytest.raises(TraceError, match=r"text.parquet: cannot be read"):
        read_vm_files(vmtable, tmp_path / "text.parquet")


def test_lives_that_are_too_long_for_memory(trace, monkeypatch):
    monkeypatch.setattr(readings, "MOST_READINGS", 10**6)
    with pytest.raises(TraceError, match="live 1,200,000 ticks in all, more than the 1,000,000"):
        read_vm_files(*trace(vms={"lifetime": [400_000] * 3}))


@pytest.mark.parametrize("batch", [1, 2**18])
def test_text_where_a_number_belongs_names_the_line(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(columns, "BATCH_ROWS", batch)
    vmtable = write(tmp_path / "vmtable.csv", VMS)
    readings = tmp_path / "readings.csv"
    # The blank line counts as a line, though not as a row.
    readings.write_text("timestamp,vmid,maxcpu\n0,11,5\n\n1,11,busy\n")
    with pytest.raises(TraceError, match=r"readings.csv, line 4: maxcpu: 'busy' .* a number"):
        read_vm_files(vmtable, readings)
    readings.write_text("timestamp,vmid,maxcpu\n0,11,5\n\n1,11,500\n")
    with pytest.raises(TraceError, match=r"readings.csv, line 4: maxcpu: 500.0 is not allowed"):
        read_vm_files(vmtable, readings)
    readings.write_text("timestamp,vmid,maxcpu\n0,11,5\n1,eleven,5\n")
    with pytest.raises(TraceError, match=r"line 3: vmid: 'eleven' .* a whole number"):
        read_vm_files(vmtable, readings)
    readings.write_text("timestamp,vmid,maxcpu\n0,11,5\n1.5,11,5\n")
    with pytest.raises(TraceError, match=r"line 3: timestamp: '1.5' .* a whole number"):
        read_vm_files(vmtable, readings)
    readings.write_text("timestamp,vmid,maxcpu\n0,11,5\n1,11\n")
    with pytest.raises(TraceError, match=r"line 3: has 2 columns: 3 are needed"):
        read_vm_files(vmtable, readings)
    vmtable.write_text(vmtable.read_text().replace("12,7,2,2,2,1,4,8,1", "12,7,2,2,2,1,four,8,1"))
    with pytest.raises(TraceError, match=r"vmtable.csv, line 3: vmcorecountbucket: 'four'"):
        read_vm_files(vmtable, readings)


def test_csv_and_parquet_agree_and_gzip_works(tmp_path):
    csv = [write(tmp_path / f"{name}.csv", table) for name, table in PAIR]
    parquet = [write(tmp_path / f"{name}.parquet", table) for name, table in PAIR]
    zipped = []
    for path in csv:
        zipped.append(path.with_suffix(".csv.gz"))
        zipped[-1].write_bytes(gzip.compress(path.read_bytes()))
    one = read_vm_files(*csv)
    same(one, read_vm_files(*parquet))
    same(one, read_vm_files(*zipped))


PAIR = (("vmtable", VMS), ("readings", READINGS))


def test_a_broken_gzip_is_an_error(tmp_path):
    vmtable = write(tmp_path / "vmtable.csv", VMS)
    zipped = tmp_path / "readings.csv.gz"
    zipped.write_bytes(gzip.compress(b"timestamp,vmid,maxcpu\n" + b"0,99,5\n" * 999)[:-20])
    with pytest.raises(TraceError, match=r"readings.csv.gz: cannot be read"):
        read_vm_files(vmtable, zipped)


def test_ids_may_be_text(trace):
    names = {11: "a/b+1", 12: "a/b+2", 13: "x"}
    vms = {"vmid": [names[vm] for vm in VMS["vmid"]], "subscriptionid": ["s", "s", "t"]}
    readings = {"vmid": [names[vm] for vm in READINGS["vmid"]]}
    workload = read_vm_files(*trace(vms, readings))
    assert workload.ids.to_pylist() == ["a/b+1", "a/b+2", "x"]
    assert workload.subscription.tolist() == [0, 0, 1]
    assert workload.readings.tolist() == read_vm_files(*trace()).readings.tolist()


def test_ids_may_be_far_apart_or_stored_in_other_types(tmp_path):
    want = read_vm_files(*(write(tmp_path / f"{name}.parquet", table) for name, table in PAIR))
    far = {11: -(2**62), 12: 0, 13: 2**62}
    vmtable = write(tmp_path / "vmtable.parquet", {**VMS, "vmid": [far[vm] for vm in VMS["vmid"]]})
    readings = write(
        tmp_path / "readings.parquet", {**READINGS, "vmid": [far[vm] for vm in READINGS["vmid"]]}
    )
    assert read_vm_files(vmtable, readings).readings.tolist() == want.readings.tolist()
    for kind in (pa.int32(), pa.string(), pa.dictionary(pa.int32(), pa.string()), pa.uint64()):
        ids = pa.array(READINGS["vmid"])
        ids = ids.cast(pa.string()).dictionary_encode() if "dict" in str(kind) else ids.cast(kind)
        write(tmp_path / "vmtable.parquet", VMS)
        write(tmp_path / "readings.parquet", {**READINGS, "vmid": ids})
        assert read_vm_files(vmtable, readings).readings.tolist() == want.readings.tolist()


def test_gaps_stay_gaps_when_written(trace, tmp_path):
    workload, _ = scan_vm_files(*trace())
    write_vm_files(workload, tmp_path / "trace")
    paths = tmp_path / "trace" / "vmtable.parquet", tmp_path / "trace" / "readings.parquet"
    assert len(pq.read_table(paths[1])) == 7
    again, counts = scan_vm_files(*paths)
    assert counts == vm_files.ReadingCounts(7, 0, 0, 0)
    assert np.array_equal(workload.readings, again.readings, equal_nan=True)


def test_a_folder_named_like_a_partition_adds_no_column(tmp_path):
    folder = tmp_path / "day=3"
    folder.mkdir()
    paths = [write(folder / f"{name}.parquet", table) for name, table in PAIR]
    assert len(read_vm_files(*paths).created) == 3
