"""Lists of pods of Alibaba's gpu-v2023 as jobs."""

import pytest

from cloudarena.base.errors import TraceError
from cloudarena.workloads.jobs.openb import load_openb_jobs, scan_openb_jobs

HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)
PODS = (
    "pod-b,4000,8192,0,0,,BE,Succeeded,1600,1900,1601.0",
    "pod-a,12500,16384,1,460,G2,LS,Running,1000,,1000.0",
    "pod-c,88000,327680,8,1000,V100M16|V100M32,Burstable,Failed,1300,2300,1500",
    "pod-pending,8000,30517,1,470,,BE,Pending,1400,1500,",
    "pod-deleted,8000,30517,1,470,,BE,Pending,1400,1500,1501",
    "pod-nothing,0,0,0,0,,BE,Running,1400,1500,1400",
    "pod-gpu,0,0,1,500,,BE,Running,1400,1400,1400",
)


@pytest.fixture
def pods(tmp_path):
    """Writes a list of pods and returns its path."""

    def build(*rows, header=HEADER):
        path = tmp_path / "pods.csv"
        path.write_text("\n".join((header, *rows)) + "\n")
        return path

    return build


def test_by_hand(pods):
    workload, reading = scan_openb_jobs(pods(*PODS))
    assert workload.job_ids.to_pylist() == ["pod-a", "pod-c", "pod-gpu", "pod-b"]
    assert workload.submit.tolist() == [0, 300, 400, 600]
    assert workload.instances.tolist() == [1, 1, 1, 1]
    # Pod a runs to the end of the trace at 2300.
    assert workload.duration.tolist() == [1300, 800, 1, 299]
    assert workload.demand.tolist() == [
        [12.5, 16, 0, 0.46],
        [88, 320, 0, 8],
        [0, 0, 0, 0.5],
        [4, 8, 0, 0],
    ]
    assert reading == (4, 2, 1)


def test_models_of_gpus_are_asked_for_where_the_spec_says_so(pods):
    workload, _ = scan_openb_jobs(pods(*PODS), gpu_models=True)
    assert workload.gpu_models.tolist() == ["G2", "V100M16|V100M32", "", ""]
    assert load_openb_jobs(pods(*PODS)).gpu_models is None
    header = "name,cpu_milli,memory_mib,qos,creation_time,deletion_time"
    with pytest.raises(TraceError, match="has no column gpu_spec: gpu_models is true"):
        scan_openb_jobs(pods("p,1000,1024,LS,5,9", header=header), gpu_models=True)


def test_few_columns(pods):
    header = "name,cpu_milli,memory_mib,qos,creation_time,deletion_time"
    workload = load_openb_jobs(pods("p,1000,1024,LS,5,9", header=header))
    assert workload.demand.tolist() == [[1, 1, 0, 0]]
    assert workload.duration.tolist() == [4]


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        ("p,many,1,0,0,,LS,Running,0,9,0", "cpu_milli: 'many' is not allowed: a number"),
        ("p,1,-1,0,0,,LS,Running,0,9,0", "memory_mib: -1.0 is not allowed: a number, at least 0"),
        ("p,1,1,,0,,LS,Running,0,9,0", "num_gpu: nan is not allowed: a number, at least 0"),
        ("p,1,1,0,0,,LS,Running,,9,0", "creation_time: nan is not allowed"),
        ("p,1,1,0,0,,LS,Running,5,9,-4", "scheduled_time: -4.0 .* a number, at least 0"),
        ("p,1,1,0,0,,LS,Running,5,4,5", "deletion_time: 4.0 .* a number, at least creation_time"),
        ("p,2e9,1,0,0,,LS,Running,0,9,0", "cpu_milli: 2000000.0 is not allowed: from 0"),
        ("p,1,1,2000,1e6,,LS,Running,0,9,0", "num_gpu .* gpu_milli: 2000000.0 is not allowed"),
        ("p,1,1,1e308,1000,,LS,Running,0,9,0", "num_gpu: 1e.308 is not allowed: .* at most 1e.15"),
        (",1,1,0,0,,LS,Running,0,9,0", "name: '' is not allowed: any name"),
        ("pod-b,1,1,0,0,,LS,Running,0,9,0", "name: 'pod-b' is not allowed: each pod once"),
    ],
)
def test_bad_pods(pods, pod, words):
    with pytest.raises(TraceError, match=f"pods.csv, line 3: {words}"):
        load_openb_jobs(pods(PODS[0], pod))


def test_lists_without_jobs(pods, tmp_path):
    with pytest.raises(TraceError, match=r"has no pods$"):
        load_openb_jobs(pods())
    with pytest.raises(TraceError, match="has no pods that ran and ask for anything"):
        load_openb_jobs(pods(PODS[3], PODS[4], PODS[5]))
    with pytest.raises(TraceError, match="column 'cpu_milli' is missing: needed are name"):
        load_openb_jobs(pods("p", header="name"))
    with pytest.raises(TraceError, match="does not exist"):
        load_openb_jobs(tmp_path / "nowhere.csv")
