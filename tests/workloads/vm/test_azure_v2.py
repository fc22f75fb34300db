"""AzurePublicDatasetV2 as published: the preprocessing, by hand on a few rows."""

import gzip

import numpy as np
import pyarrow.parquet as pq
import pytest

from cloudarena import load
from cloudarena.base.errors import SpecError, TraceError
from cloudarena.workloads import columns
from cloudarena.workloads.vm.azure_v2 import convert_azure_v2, read_azure_v2
from cloudarena.workloads.vm.files import read_vm_files

ROWS = (
    "v-late,sub-b,dep-b,900,1200,90,10,50,Interactive,4,8",
    "v-first,sub-a,dep-a,0,299,,,,Unknown,>24,>64",
    "v-long,sub-a,dep-b,310,1799,90,10,50,Delay-insensitive,2,32",
    "v-undeleted,sub-c,dep-c,310,,90,10,50,Unknown,2,4",
    "v-nameless,sub-c,,310,600,90,10,50,Unknown,2,4",
    "v-twin,sub-b,dep-b,599,600,90,10,50,Unknown,24,64",
)
READINGS = (
    "0,v-first,0,150,1",
    "300,v-long,0,10,1",
    "310,v-twin,0,3,1",
    "599,v-twin,0,9,1",
    "600,v-twin,0,4,1",
    "900,v-long,0,-2,1",
    "900,v-late,0,33.5,1",
    "900,v-stranger,0,50,1",
    "3000,v-late,0,50,1",
)


@pytest.fixture
def files(tmp_path):
    """Writes the two files and returns their paths."""

    def build(rows=ROWS, readings=READINGS):
        (tmp_path / "vmtable.csv").write_text("\n".join(rows) + "\n")
        (tmp_path / "readings.csv").write_text("\n".join(readings) + "\n")
        return tmp_path / "vmtable.csv", [tmp_path / "readings.csv"]

    return build


def same(one, other):
    assert one.ids.to_pylist() == other.ids.to_pylist()
    for name in one._fields[1:]:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("batch", [1, 2**18])
def test_preprocessing_by_hand(files, monkeypatch, batch):
    monkeypatch.setattr(columns, "BATCH_ROWS", batch)
    monkeypatch.setattr(columns, "BLOCK_BYTES", 128 if batch == 1 else 2**22)
    workload = read_azure_v2(*files())
    # Incomplete rows are gone; v-long stands before v-twin, as in the file.
    assert workload.ids.to_pylist() == [1, 2, 3, 4]
    assert workload.created.tolist() == [0, 1, 1, 3]
    assert workload.lifetime.tolist() == [1, 5, 2, 2]
    assert workload.subscription.tolist() == [1, 1, 2, 2]
    assert workload.deployment.tolist() == [1, 2, 2, 2]
    assert workload.category.tolist() == [2, 0, 2, 1]
    assert workload.cores.tolist() == [32, 2, 24, 4]
    assert workload.memory_gb.tolist() == [128, 32, 64, 8]
    # Clipped; the larger of two in a tick; a gap holds; the stranger and the late one ignored.
    assert workload.readings.tolist() == [100, 10, 10, 0, 0, 0, 9, 4, 33.5, 33.5]


def test_the_order_and_number_of_readings_files_do_not_matter(files, tmp_path):
    vmtable, whole = files()
    want = read_azure_v2(vmtable, whole)
    folder = tmp_path / "readings"
    folder.mkdir()
    (folder / "part-1.csv").write_text("\n".join(READINGS[4:]) + "\n")
    (folder / "part-2.csv.gz").write_bytes(gzip.compress("\n".join(READINGS[:4]).encode()))
    same(want, read_azure_v2(vmtable, [folder / "part-1.csv", folder / "part-2.csv.gz"]))
    same(want, read_azure_v2(vmtable, [folder]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match="empty: has no"):
        read_azure_v2(vmtable, [tmp_path / "empty"])


def test_gzip_works(files, tmp_path):
    vmtable, readings = files()
    zipped = tmp_path / "vmtable.csv.gz"
    zipped.write_bytes(gzip.compress(vmtable.read_bytes()))
    same(read_azure_v2(vmtable, readings), read_azure_v2(zipped, readings))


def many_vms(count):
    rows = [f"v{k},s{k % 7},d{k % 11},{(k * 37 % 50) * 300},99999,1,1,1,Unknown,2,4"
            for k in range(count)]  # fmt: skip
    readings = [f"{t * 300},v{k},0,{k % 100},0" for t in range(50, 53) for k in range(count)]
    return rows, readings


def test_a_sample_is_a_part_of_the_whole_with_the_same_numbers(files):
    paths = files(*many_vms(40))
    whole, part = read_azure_v2(*paths), read_azure_v2(*paths, vms=10, seed=5)
    rows = part.ids.to_numpy() - 1
    assert len(rows) == 10
    assert (np.diff(part.created) >= 0).all()
    for name in ("subscription", "deployment", "created", "lifetime", "category", "cores"):
        assert np.array_equal(getattr(part, name), getattr(whole, name)[rows]), name
    for k, vm in enumerate(rows):
        lifetime = part.lifetime[k]
        ours = part.readings[part.first_reading[k] :][:lifetime]
        assert np.array_equal(ours, whole.readings[whole.first_reading[vm] :][:lifetime])
    same(part, read_azure_v2(*paths, vms=10, seed=5))
    assert part.ids != read_azure_v2(*paths, vms=10, seed=6).ids
    same(whole, read_azure_v2(*paths, vms=40, seed=1))
    for count in (0, 41):
        with pytest.raises(TraceError, match=f"vms: {count} is not allowed: from 1 to 40"):
            read_azure_v2(*paths, vms=count)


def test_convert_writes_the_neutral_form_and_always_the_same(files, tmp_path):
    paths = files()
    done = convert_azure_v2(*paths, tmp_path / "one")
    assert (done.vms, done.dropped_rows) == (4, 2)
    assert done.readings == (9, 1, 1, 0)
    convert_azure_v2(*paths, tmp_path / "two")
    one, two = tmp_path / "one", tmp_path / "two"
    for name in ("vmtable.parquet", "readings.parquet"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    assert len(pq.read_table(one / "readings.parquet")) == 6
    neutral = read_vm_files(one / "vmtable.parquet", one / "readings.parquet")
    same(neutral, read_azure_v2(*paths))


def test_a_failed_conversion_leaves_nothing(files, tmp_path):
    with pytest.raises(TraceError):
        convert_azure_v2(*files(readings=["0,v-first,0,much,1"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


GOOD = "v,s,d,0,600,1,1,1,Unknown,2,4"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("w,s,d,0,600,1,1,1,Unknown,2", "line 3: has 10 columns: 11 are needed"),
        ("w,s,d,0,600,1,1,1,Unknown,2,4,5", "line 3: has 12 columns: 11 are needed"),
        ("w,s,d,soon,600,1,1,1,Unknown,2,4", "line 3: vmcreated: 'soon' .* a whole number"),
        ("w,s,d,-300,600,1,1,1,Unknown,2,4", "line 3: vmcreated: -300 is not allowed: at least 0"),
        ("w,s,d,900,599,1,1,1,Unknown,2,4", "line 3: vmdeleted: 599 .* at least vmcreated"),
        ("w,s,d,0,99999999999999,1,1,1,Unknown,2,4", "line 3: vmdeleted: 9.* less than"),
        ("w,s,d,0,600,1,1,1,Batch,2,4", "line 3: vmcategory: 'Batch' .* Delay-insensitive, "),
        ("w,s,d,0,600,1,1,1,Unknown,0,4", "line 3: vmcorecountbucket: '0' .* more than 0"),
        ("w,s,d,0,600,1,1,1,Unknown,>64,4", "line 3: vmcorecountbucket: '>64' .* or >24"),
        ("w,s,d,0,600,1,1,1,Unknown,2,big", "line 3: vmmemorybucket: 'big' .* or >64"),
        ("w,s,d,0,600,1,1,1,Unknown,2,nan", "line 3: vmmemorybucket: 'nan' .* or >64"),
        ("v,s,d,0,600,1,1,1,Unknown,2,4", "line 3: vmid: 'v' is not allowed: each VM once"),
    ],
)
def test_bad_vmtables(files, row, words):
    # The second row is dropped, but it is a line.
    with pytest.raises(TraceError, match=f"vmtable.csv, {words}"):
        read_azure_v2(*files((GOOD, "x,s,,0,600,1,1,1,Unknown,2,4", row)))


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        ("300,v-long,0,10", "line 2: has 4 columns: 5 are needed"),
        ("300,v-long,0,ten,1", "line 2: maxcpu: 'ten' is not allowed: a number"),
        ("300,v-long,0,,1", "line 2: maxcpu: is empty"),
        ("300,v-long,0,nan,1", "line 2: maxcpu: nan is not allowed: a number"),
        ("-300,v-long,0,10,1", "line 2: timestamp: -300 is not allowed: at least 0"),
        ("300.5,v-long,0,10,1", "line 2: timestamp: '300.5' .* a whole number"),
    ],
)
def test_bad_readings(files, reading, words):
    with pytest.raises(TraceError, match=f"readings.csv, {words}"):
        read_azure_v2(*files(readings=(READINGS[0], reading)))


def test_no_vms(files, tmp_path):
    with pytest.raises(TraceError, match="has no VMs: every row has an empty cell"):
        read_azure_v2(*files(rows=["v,s,d,0,,1,1,1,Unknown,2,4"]))
    with pytest.raises(TraceError, match="has no VMs"):
        read_azure_v2(*files(rows=[""]))
    with pytest.raises(TraceError, match=r"nowhere.csv: does not exist"):
        read_azure_v2(tmp_path / "nowhere.csv", [])


def spec(**changes):
    machine = {"count": 1, "cores": 64, "memory_gb": 256}
    source = {"source": "azure-v2", "vmtable": "vmtable.csv", "readings": ["readings.csv"]}
    return {"scenario": "vm", "ticks": 6, "machines": [machine], "workload": source, **changes}


def test_as_the_workload_of_a_scenario(files, tmp_path):
    import yaml

    paths = files()
    (tmp_path / "cloud.yaml").write_text(yaml.safe_dump(spec()))
    scenario = load(tmp_path / "cloud.yaml")
    same(scenario.load_workload(0), read_azure_v2(*paths))
    paths[1][0].write_text("0,v-first,0,7,1\n")
    assert scenario.load_workload(0).readings[0] == 7


def test_a_scenario_with_other_ticks_is_refused():
    with pytest.raises(SpecError, match="workload: has ticks of 300 s: tick_seconds is 60"):
        load(spec(tick_seconds=60))
    with pytest.raises(SpecError, match=r"workload.readings: .* at least 1"):
        load(spec(workload={"source": "azure-v2", "vmtable": "a", "readings": []}))
    with pytest.raises(SpecError, match=r"workload.vms: 0 is not allowed: at least 1"):
        load(spec(workload={**spec()["workload"], "vms": 0}))
