"""Lists of pods of Alibaba's gpu-v2023 as VMs."""

import numpy as np
import pytest

from cloudarena import load
from cloudarena.base.errors import SpecError, TraceError
from cloudarena.workloads.vm.files import read_vm_files
from cloudarena.workloads.vm.openb import convert_openb, read_openb

HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)
PODS = (
    "pod-b,4000,8192,0,0,,BE,Succeeded,1600,1900,1601.0",
    "pod-a,12500,16384,1,1000,G2,LS,Running,1000,,1000.0",
    "pod-c,8000,2560,2,1000,V100M16|V100M32,Burstable,Failed,1300,2300,",
    "pod-no-cpu,0,1024,1,500,,LS,Running,1000,2000,1000",
    "pod-no-memory,1000,0,1,500,,LS,Running,1000,2000,1000",
    "pod-short,1000,1024,0,0,,,Running,1000,1000,1000",
)


@pytest.fixture
def pods(tmp_path):
    """Writes a list of pods and returns its path."""

    def build(*rows, header=HEADER):
        path = tmp_path / "pods.csv"
        path.write_text("\n".join((header, *rows)) + "\n")
        return path

    return build


def test_pods_by_hand(pods):
    workload = read_openb(pods(*PODS), cpu_percent=40)
    assert workload.ids.to_pylist() == ["pod-a", "pod-short", "pod-c", "pod-b"]
    assert workload.cores.tolist() == [12.5, 1, 8, 4]
    assert workload.memory_gb.tolist() == [16, 1, 2.5, 8]
    # From second 1000 on: the trace ends at 2300, in tick 4.
    assert workload.created.tolist() == [0, 0, 1, 2]
    assert workload.lifetime.tolist() == [5, 1, 4, 2]
    assert workload.category.tolist() == [1, 2, 2, 0]
    assert workload.readings.tolist() == [40.0] * 12
    assert workload.first_reading.tolist() == [0, 5, 6, 10]


def test_another_length_of_ticks(pods):
    workload = read_openb(pods(*PODS), tick_seconds=60)
    assert workload.created.tolist() == [0, 0, 5, 10]
    assert workload.lifetime.tolist() == [22, 1, 17, 6]
    assert set(workload.readings) == {50.0}


def test_convert_counts_what_it_skips(pods, tmp_path):
    done = convert_openb(pods(*PODS), tmp_path / "out", cpu_percent=30)
    assert done == (4, 2)
    out = tmp_path / "out"
    again = read_vm_files(out / "vmtable.parquet", out / "readings.parquet")
    want = read_openb(pods(*PODS), cpu_percent=30)
    assert again.ids == want.ids
    for name in want._fields[1:]:
        assert np.array_equal(getattr(again, name), getattr(want, name)), name


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        ("p,many,1,0,0,,LS,Running,0,9,0", "line 3: cpu_milli: 'many' is not allowed: a number"),
        ("p,-1,1,0,0,,LS,Running,0,9,0", "line 3: cpu_milli: -1.0 is not allowed: .* at least 0"),
        ("p,1,,0,0,,LS,Running,0,9,0", "line 3: memory_mib: nan is not allowed"),
        ("p,1,1,0,0,,LS,Running,-5,9,0", "line 3: creation_time: -5.0 .* at least 0"),
        ("p,1,1,0,0,,LS,Running,,9,0", "line 3: creation_time: nan is not allowed"),
        ("p,1,1,0,0,,LS,Running,9,8,0", "line 3: deletion_time: 8.0 .* at least creation_time"),
        ("p,1,1,0,0,,LS,Running,9,inf,0", "line 3: deletion_time: inf .* a number"),
        ("p,1,1,0,0,,LS,Running,1e30,,0", "line 3: creation_time: 1e.30 .* less than"),
        ("pod-b,1,1,0,0,,LS,Running,0,9,0", "line 3: name: 'pod-b' is not allowed: each pod once"),
        ("p,1,1,0,0,,LS,Running,0,9", "line 3: has 10 columns: 11 are needed"),
    ],
)
def test_bad_pods(pods, pod, words):
    with pytest.raises(TraceError, match=f"pods.csv, {words}"):
        read_openb(pods(PODS[0], pod))


def test_columns(pods):
    with pytest.raises(TraceError, match=r"column 'qos' is missing: needed are name, cpu_milli"):
        read_openb(
            pods("p,1,1,0,9", header="name,cpu_milli,memory_mib,creation_time,deletion_time")
        )
    with pytest.raises(TraceError, match="column 'colour' is not allowed"):
        read_openb(pods(PODS[0] + ",red", header=HEADER + ",colour"))
    few = pods(
        "p,1000,1024,LS,0,9", header="name,cpu_milli,memory_mib,qos,creation_time,deletion_time"
    )
    assert read_openb(few).cores.tolist() == [1]


def test_lists_without_vms(pods, tmp_path):
    with pytest.raises(TraceError, match=r"has no pods$"):
        read_openb(pods())
    with pytest.raises(TraceError, match="has no pods that ask for CPU and memory"):
        read_openb(pods(PODS[3]))
    with pytest.raises(TraceError, match="does not exist"):
        read_openb(tmp_path / "nowhere.csv")


def test_parameters_are_checked(pods):
    with pytest.raises(SpecError, match="cpu_percent: 101 is not allowed: from 0 to 100"):
        read_openb(pods(*PODS), cpu_percent=101)
    with pytest.raises(SpecError, match="tick_seconds: 0 is not allowed: more than 0"):
        read_openb(pods(*PODS), tick_seconds=0)


def test_as_the_workload_of_a_scenario(pods):
    path = pods(*PODS)
    machine = {"count": 1, "cores": 64, "memory_gb": 256}
    spec = {"scenario": "vm", "ticks": 6, "machines": [machine]}
    source = {"source": "openb", "path": str(path), "cpu_percent": 20}
    workload = load({**spec, "workload": source}).load_workload(0)
    assert set(workload.readings) == {20.0}
    minutes = {**spec, "tick_seconds": 60}
    with pytest.raises(SpecError, match="workload: has ticks of 300 s: tick_seconds is 60"):
        load({**minutes, "workload": source})
    assert load({**minutes, "workload": {**source, "tick_seconds": 60}}).tick_seconds == 60
