"""Each preset on files with the odd values that the real tools write."""

import csv
import json
import random

import numpy as np
import pytest
from tools.make_exports import EXPORTS, write_exports

from cloudarena.base.errors import CloudarenaError
from cloudarena.importing.run import import_files
from cloudarena.kubernetes.snapshot import read_snapshot


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    write_exports(folder)
    return folder


def imported(exports, *names, **options):
    return import_files([exports / name for name in names], **options)


def reasons(made):
    return {one.reason for one in made.rejected} | {one.reason for one in made.found.sheet.bad}


def test_the_files_are_made_by_the_seed_alone():
    for name, make in EXPORTS.items():
        assert make(random.Random(1)) == make(random.Random(1)), name


def test_a_vm_list(exports):
    made = imported(exports, "vms.csv")
    assert (made.preset, made.draft.kind) == ("tabular", "vm")
    counts = made.draft.counts
    assert (counts["rows"], counts["vms"], counts["rejected"]) == (303, 300, 3)
    assert counts["open_ends"] > 0
    assert counts["out_of_order"] > 0
    assert reasons(made) == {
        "vCPUs: 'two' is no number of cores", "it ends before it begins", "Launched At: is empty",
    }  # fmt: skip
    table = made.draft.tables["vmtable"].to_pydict()
    created = table["vmcreated"]
    assert created == sorted(created)
    sizes = dict(zip(table["vmid"], table["vmmemorybucket"], strict=True))
    assert {size / 2 for size in sizes.values()} <= set(range(1, 33))
    assert 'start_date: "2026-03-02T' in made.draft.spec


def test_sacct(exports):
    made = imported(exports, "sacct.txt")
    assert (made.preset, made.draft.kind) == ("sacct", "jobs")
    jobs = made.draft.tables["jobs"].to_pylist()
    rows = {row["job"]: row for row in jobs}
    assert list(rows) == ["106", "101", "103", "104"]
    assert rows["101"]["estimate_s"] == 7200
    assert (rows["101"]["cpu"], rows["101"]["memory"]) == (4, 16)
    assert rows["103"]["instances"] == 2  # of 32 cores, 64 GB and 2 GPUs each, at once
    assert (rows["103"]["cpu"], rows["103"]["memory"], rows["103"]["gpu"]) == (32, 64, 2)
    assert rows["103"]["gang"]
    assert rows["104"]["memory"] == 16  # 16Gn, on its one node
    assert rows["104"]["duration_s"] == 1200  # up to the last time of the file
    assert rows["106"]["memory"] == pytest.approx(3000 / 1024)  # Slurm counts in MB
    assert rows["104"]["estimate_s"] == 7200  # the longest: Partition_Limit tells nothing
    assert made.draft.counts["open_ends"] == 1
    assert made.draft.counts["out_of_order"] == 1
    assert reasons(made) == {
        "it ran for no time, as jobs that were cancelled do", "it has not run yet: pending",
        "a step of a job, which is there itself",
    }  # fmt: skip


def test_sacct_with_a_bar_at_the_end_and_elapsed_times(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|State|Submit|Start|End|Elapsed|Timelimit|NCPUS|ReqMem|NNodes|\n"
        "7|COMPLETED|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-06T10:03:04|1-02:03:04|"
        "2-00:00:00|2|4Gc|1|\n"
    )
    row = import_files([path]).draft.tables["jobs"].to_pylist()[0]
    assert (row["duration_s"], row["estimate_s"], row["memory"]) == (93784, 172800, 8)


def test_sacct_of_jobs_that_ask_for_all_memory_of_their_nodes(tmp_path):
    """Slurm's --mem=0; what was allocated, if that is told, is what they got."""
    path = tmp_path / "sacct.txt"
    times = "2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T09:00:00"
    asked = ["16|0n|1|", "4|0|1|", "16|32Gn|1|", "4|0n|1|cpu=4,mem=8G"]
    rows = [f"{job}|COMPLETED|{times}|{rest}" for job, rest in enumerate(asked)]
    path.write_text(
        "\n".join(["JobID|State|Submit|Start|End|NCPUS|ReqMem|NNodes|AllocTRES", *rows]) + "\n"
    )
    made = import_files([path])
    assert not made.draft.counts["rejected"]
    memory = [row["memory"] for row in made.draft.tables["jobs"].to_pylist()]
    assert memory[2:] == [32, 8]
    assert memory[0] == memory[1] >= 32
    assert any("2 jobs asked for all memory" in note for note in made.draft.notes)


def test_kubectl_in_yaml_or_in_several_lists(exports, tmp_path):
    import yaml

    document = json.loads((exports / "pods.json").read_text())
    lists = [
        {"kind": f"{kind}List", "items": [one for one in document["items"] if one["kind"] == kind]}
        for kind in ("Node", "Pod")
    ]
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(document))
    (tmp_path / "b.yaml").write_text(yaml.safe_dump_all(lists))
    (tmp_path / "c.json").write_text("\n".join(json.dumps(one, indent=1) for one in lists))
    wanted = import_files([exports / "pods.json"]).draft
    for name in ("a.yaml", "b.yaml", "c.json"):
        made = import_files([tmp_path / name])
        assert made.preset == "kubectl", name
        assert made.draft.counts == wanted.counts, name
        assert made.draft.preview == wanted.preview, name
        assert len(read_snapshot([tmp_path / name]).nodes) == len(lists[0]["items"])
    (tmp_path / "d.yaml").write_text("kind: [List")
    with pytest.raises(CloudarenaError, match=r"d\.yaml: is not YAML"):
        import_files([tmp_path / "d.yaml"])


def test_kubectl(exports):
    made = imported(exports, "pods.json")
    assert (made.preset, made.draft.kind) == ("kubectl", "vm")
    table = made.draft.tables["vmtable"].to_pylist()
    rows = {row["vmid"].removeprefix("web/"): row for row in table}
    cores = {name: row["vmcorecountbucket"] for name, row in rows.items()}
    assert cores == {
        "plain": 0.25, "decimal": 1.0, "sidecar": 0.6, "init": 2.0, "both": 2.1, "overhead": 0.35,
        "choosy": 0.1,
    }  # fmt: skip
    assert rows["decimal"]["vmmemorybucket"] == pytest.approx(1e9 / 2**30)
    assert rows["sidecar"]["vmmemorybucket"] == 1.125
    assert "has ended: Succeeded" in reasons(made)
    assert any("no quantity" in reason for reason in reasons(made))
    machines = made.found.machines
    # n1 has the daemon set's pod on it, n2 has not; n3 is cordoned, n4 not ready.
    assert [(one.number, one.cores) for one in machines] == [(1, 3.8), (1, 3.92)]
    assert machines[0].instance.name == "m5.xlarge"
    assert any("n3, n4" in note for note in made.draft.notes)
    assert any("1 pods ask for a node selector" in note for note in made.draft.notes)
    assert any("1 nodes have taints" in note for note in made.draft.notes)


def test_prometheus(exports):
    made = imported(exports, "prometheus.json")
    assert (made.preset, made.draft.kind) == ("prometheus", "tiers")
    rates = made.draft.tables["rates"].to_pydict()
    assert rates["rate"][:5] == [21, 23, 25, 26, 29]  # both series added up, one value held
    assert rates["time_s"][:2] == [0, 60]
    assert made.draft.counts["rejected"] == 0


def cpu_series(tmp_path, name, *series):
    result = [
        {
            "metric": {"__name__": name, "instance": f"vm-{k}"},
            "values": [[1767571200.0 + 300 * t, str(x)] for t, x in enumerate(values)],
        }
        for k, values in enumerate(series)
    ]
    path = tmp_path / "cpu.json"
    data = {"resultType": "matrix", "result": result}
    path.write_text(json.dumps({"status": "success", "data": data}))
    return path


def test_cpu_use_of_prometheus_as_vms(tmp_path):
    path = cpu_series(tmp_path, "node:cpu:used", [0.5, 1.5, 1.0], [3, "NaN"], ["NaN"] * 3)
    made = import_files([path], kind="vm")
    table = made.draft.tables["vmtable"].to_pylist()
    assert [(row["vmid"], row["vmcorecountbucket"]) for row in table] == [
        ("instance=vm-0", 2), ("instance=vm-1", 3),
    ]  # fmt: skip
    assert "cpu_percent: 75" in made.draft.spec  # the mean of 50 and 100
    assert made.draft.counts["open_ends"] == 1
    assert any("GUESS: cores" in note for note in made.found.notes)
    assert any("vm-2: no value is a number" in note for note in made.found.notes)


def test_utilisation_of_prometheus_needs_the_size_of_vms(tmp_path):
    path = cpu_series(tmp_path, "instance:cpu_utilisation:ratio", [0.2, 0.4], [0.6, 0.8])
    with pytest.raises(CloudarenaError, match="which column is"):
        import_files([path], kind="vm")
    made = import_files([path], kind="vm", mapping="cores=4")
    assert "cpu_percent: 50" in made.draft.spec
    assert made.draft.tables["vmtable"]["vmcorecountbucket"].to_pylist() == [4, 4]


def test_a_counter_of_prometheus_becomes_its_rate(exports):
    made = imported(exports, "counter.json")
    assert set(made.draft.tables["rates"]["rate"].to_pylist()) == {10.0, 0.0}
    assert any("a counter" in note for note in made.draft.notes)


def test_openstack(exports):
    made = imported(exports, "openstack.txt", "flavors.json")
    assert (made.preset, made.draft.kind) == ("openstack", "vm")
    rows = {row["vmid"]: row for row in made.draft.tables["vmtable"].to_pylist()}
    sizes = {name: (row["vmcorecountbucket"], row["vmmemorybucket"]) for name, row in rows.items()}
    assert sizes == {"aa-1": (1, 2), "aa-2": (6, 12)}
    assert made.draft.counts["rejected"] == 1  # of a flavor that nobody knows


def test_nova(exports):
    made = imported(exports, "nova.csv")
    rows = {row["vmid"]: row for row in made.draft.tables["vmtable"].to_pylist()}
    assert (rows["u1"]["vmmemorybucket"], rows["u2"]["vmcorecountbucket"]) == (4, 4)
    assert made.draft.counts["open_ends"] == 1
    assert made.draft.counts["rejected"] == 1


def test_ec2(exports):
    made = imported(exports, "ec2.json")
    assert (made.preset, made.draft.kind) == ("ec2", "vm")
    rows = {row["vmid"]: row for row in made.draft.tables["vmtable"].to_pylist()}
    assert (rows["i-1"]["vmcorecountbucket"], rows["i-1"]["vmmemorybucket"]) == (2, 8)
    assert rows["i-3"]["vmcorecountbucket"] == 8  # of CpuOptions; its memory is guessed
    assert any("x99.huge" in reason for reason in reasons(made))
    assert made.draft.counts["open_ends"] == 2


def test_cloudwatch(exports):
    made = imported(exports, "cloudwatch.json")
    assert made.draft.tables["rates"]["rate"].to_pylist() == [1, 2, 3, 4]
    assert made.draft.counts["out_of_order"] == 1


def test_requests_per_minute(exports):
    made = imported(exports, "rpm.csv")
    assert (made.preset, made.draft.kind) == ("requests", "tiers")
    assert made.draft.counts["missing_intervals"] == 4
    rates = made.draft.tables["rates"].to_pydict()
    at = rates["time_s"].index(701 * 60.0)
    assert rates["rate"][at] == 0


def test_invocations(exports):
    made = imported(exports, "invocations.csv")
    assert (made.preset, made.draft.kind) == ("invocations", "faas")
    table = made.draft.tables["invocations"]
    assert len(table) == 1500
    assert table["time_s"].to_pylist() == sorted(table["time_s"].to_pylist())
    durations = np.array(table["duration_s"])
    assert 0.01 < np.median(durations) < 1
    assert made.draft.counts["rejected"] == 1


def test_reports_of_lambda(exports):
    made = imported(exports, "lambda.log")
    assert made.preset == "invocations"
    table = made.draft.tables["invocations"].to_pydict()
    assert len(table["time_s"]) == 20
    assert table["duration_s"][:2] == [0.10025, 0.10125]
    assert set(table["function"]) == {"lambda"}


def test_swf(exports):
    made = imported(exports, "log.swf")
    assert (made.preset, made.draft.kind) == ("swf", "jobs")
    rows = {row["job"]: row for row in made.draft.tables["jobs"].to_pylist()}
    assert list(rows) == ["1", "3"]
    assert (rows["1"]["instances"], rows["1"]["cpu"], rows["1"]["memory"]) == (1, 64, 0.125)
    assert rows["3"]["instances"] == 300  # more than a machine has: spread core by core
    assert 'start_date: "2026-01-05T00:00:00Z"' in made.draft.spec
    assert made.draft.counts["rejected"] == 2


def test_two_columns_are_enough_for_carbon(exports, tmp_path):
    made = imported(exports, "carbon.csv")
    assert made.draft.kind == "carbon"
    assert made.draft.tables["carbon"]["g_per_kwh"].to_pylist()[:2] == [300, 305]
    path = tmp_path / "ci.csv"
    path.write_text("when,much\n2026-01-05T00:00Z,300\n2026-01-05T01:00Z,310\n")
    assert import_files([path], kind="carbon").draft.counts["intervals"] == 2


def test_every_spec_loads_and_rejected_rows_are_written(exports, tmp_path):
    for name in EXPORTS:
        if name == "flavors.json":
            continue
        made = imported(
            exports, *(("openstack.txt", "flavors.json") if name == "openstack.txt" else (name,))
        )
        files = made.save(tmp_path / name)
        assert ("rejected.csv" in files) == (made.draft.counts["rejected"] > 0), name
        if "rejected.csv" in files:
            with (tmp_path / name / "rejected.csv").open() as file:
                rows = list(csv.DictReader(file))
            assert len(rows) == made.draft.counts["rejected"], name
            assert all(row["line"] and row["reason"] for row in rows), name


def test_a_map_says_what_columns_are(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("wer,wann,bis,kerne,platz\na,2026-01-05,2026-01-06,500,2048\n")
    options = {"kind": "vm", "mapping": "id=wer,start=wann,end=bis,cores=kerne:m,memory=platz:MB"}
    row = import_files([path], **options).draft.tables["vmtable"].to_pylist()[0]
    assert (row["vmid"], row["vmcorecountbucket"], row["vmmemorybucket"]) == ("a", 0.5, 2)
    constant = import_files([path], kind="vm", mapping="start=wann,end=bis,cores=2,memory=4GB")
    row = constant.draft.tables["vmtable"].to_pylist()[0]
    assert (row["vmcorecountbucket"], row["vmmemorybucket"]) == (2, 4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "vms"}, "--kind: 'vms' is not allowed"),
        ({"preset": "slurm"}, "--preset: 'slurm' is not allowed"),
        ({"mapping": "begin=Owner"}, "'begin' is not allowed for vm: one of id, start"),
        ({"mapping": "start=launched"}, "has no column 'launched': one of VM Name"),
        ({"mapping": "memory=vCPUs:m"}, "^$"),
        ({"mapping": "memory=vCPUs:cores"}, "the unit 'cores' is not allowed"),
        ({"kind": "faas"}, "for faas it is not known which column is function"),
        ({"zone": "Mars/Base"}, "--zone: 'Mars/Base' is not allowed"),
    ],
)  # fmt: skip
def test_errors_say_what_is_allowed(exports, options, words):
    if words == "^$":
        assert imported(exports, "vms.csv", **options).draft.kind == "vm"
        return
    with pytest.raises(CloudarenaError, match=words):
        imported(exports, "vms.csv", **options)


def written(path, text):
    path.write_text(text)
    return path


def test_openstack_as_csv_with_only_the_columns_that_matter(tmp_path):
    servers = written(
        tmp_path / "servers.csv",
        '"ID","Name","Status","Flavor Name","Created At"\n'
        '"a","s1","ACTIVE","c9.huge","2026-01-10T00:00:00Z"\n',
    )
    flavors = written(
        tmp_path / "flavors.json",
        json.dumps([{"ID": "9", "Name": "c9.huge", "RAM": 98304, "Disk": 0, "VCPUs": 24}]),
    )
    made = import_files([servers, flavors])
    assert made.preset == "openstack"
    assert [made.draft.preview[0][name] for name in ("cores", "memory_gb")] == [24, 96]


def test_a_flavor_of_openstack_without_a_size_is_left_out(tmp_path):
    servers = [
        {"ID": k, "Status": "ACTIVE", "Flavor Name": name, "Created At": "2026-01-05T08:00:00Z"}
        for k, name in enumerate(("g1", "gone"))
    ]
    flavors = [
        {"Name": "g1", "RAM": "2048", "VCPUs": "2", "Disk": 0},
        {"Name": "gone", "RAM": "", "VCPUs": "", "Disk": 0},
    ]
    paths = [
        written(tmp_path / f"{k}.json", json.dumps(one)) for k, one in enumerate((servers, flavors))
    ]
    made = import_files(paths)
    assert [(row["cores"], row["memory_gb"]) for row in made.draft.preview] == [(2.0, 2.0)]
    assert "flavor gone: its cores or memory are no numbers: left out" in made.draft.notes


def test_where_nothing_ends_the_trace_lasts_a_day_longer(tmp_path):
    rows = "id,vcpus,ram_gb,created_at\na,2,4,2026-01-10T00:00:00Z\nb,2,4,2026-01-10T01:00:00Z\n"
    made = import_files([written(tmp_path / "vms.csv", rows)])
    assert "ticks: 1501\n" in made.draft.spec
    assert "no VM has an end: all stay for a day after the last has begun" in made.draft.notes


def test_an_end_is_found_by_its_values(tmp_path):
    head = "name;vcpus;created at;xyz\n"
    path = written(
        tmp_path / "vms.csv",
        f"{head}a;2;2026-01-10 08:00;2026-01-10 09:00\nb;2;2026-01-10 08:30;\n",
    )
    made = import_files([path])
    assert made.found.mapping["end"].source == "xyz"
    assert any("xyz is taken for the end" in note for note in made.draft.notes)
    path.write_text(f"{head}a;2;2026-01-10 08:00;2026-01-09 09:00\n")
    assert "end" not in import_files([path]).found.mapping


def test_decimal_commas_hold_for_a_whole_column(tmp_path):
    path = written(
        tmp_path / "vms.tsv",
        "\ufeffName\tvCPU\tRAM (GB)\tStart\tEnde\tCPU-Last (%)\n"
        "a\t0,5\t3,75\t10.01.2026 08:00\t10.01.2026 09:00\t12,5\n"
        "b\t1,0\t1,125\t10.01.2026 08:00\t10.01.2026 09:00\t37,5\n",
    )
    made = import_files([path])
    assert [row["memory_gb"] for row in made.draft.preview] == [3.75, 1.125]
    assert [row["cores"] for row in made.draft.preview] == [0.5, 1]
    assert "cpu_percent: 25}  # the mean of 2 VMs\n" in made.draft.spec


def test_utilisation_in_parts_of_one_is_made_per_cent(tmp_path):
    path = written(
        tmp_path / "vms.csv",
        "id,vcpus,start,end,avg_cpu\n"
        "a,2,2026-01-10,2026-01-11,0.2\nb,2,2026-01-10,2026-01-11,0.6\n",
    )
    spec = import_files([path]).draft.spec
    assert "cpu_percent: 40}  # the mean of 2 VMs; GUESS: parts of 1" in spec


def test_a_job_that_runs_has_run_as_long_as_sacct_says(tmp_path):
    path = written(
        tmp_path / "sacct.txt",
        "JobIDRaw|State|Submit|Start|End|ElapsedRaw|AllocCPUS|ReqMem|AllocNodes\n"
        "7|RUNNING|2026-01-05T08:00:00|2026-01-05T08:00:00|Unknown|900|4|4G|1\n"
        "8|COMPLETED|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T12:00:00|14400|4|4G|1\n",
    )
    made = import_files([path])
    assert made.draft.tables["jobs"]["duration_s"].to_pylist() == [900, 14400]
    assert made.draft.counts["open_ends"] == 1


def test_swf_tells_how_many_processors_there_are_and_when_jobs_started(tmp_path):
    job = "{0} {1} 10 600 8 -1 -1 8 900 -1 1 3 1 -1 1 1 -1 -1\n"
    cancelled = "9 50 10 -1 8 -1 -1 8 900 -1 5 3 1 -1 1 1 -1 -1\n"
    head = "; UnixStartTime: 1767225600\n; MaxProcs: 128\n"
    first = written(tmp_path / "a.swf", head + job.format(1, 0) + cancelled)
    second = written(tmp_path / "b.swf", head + job.format(2, 60))
    made = import_files([first, second])
    assert (made.draft.counts["rows"], made.draft.counts["jobs"]) == (3, 2)
    assert "count: 8, cpu: 16," in made.draft.spec
    assert "terms: reserved" in made.draft.spec
    assert "the log has 128 processors" in made.draft.spec


def test_samples_of_prometheus_that_are_no_numbers_are_held(tmp_path):
    values = [[1767225600 + 60 * k, text] for k, text in enumerate(["5", "NaN", "7", "+Inf", "9"])]
    result = [{"metric": {"instance": name}, "values": values} for name in "ab"]
    path = written(
        tmp_path / "range.json",
        json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}),
    )
    made = import_files([path])
    assert made.draft.tables["rates"]["rate"].to_pylist() == [10, 10, 14, 14, 18]
    assert "4 samples are NaN or infinite: the one before goes on" in made.draft.notes


def test_a_gap_in_rates_is_held_and_one_in_counts_is_none(tmp_path):
    times = [f"2026-01-10T00:0{minute}:00Z" for minute in (0, 1, 2, 5)]
    for name, last in (("rps", 3.0), ("requests", 0.0)):
        rows = "".join(f"{time},3\n" for time in times)
        made = import_files([written(tmp_path / f"{name}.csv", f"time,{name}\n{rows}")])
        assert made.draft.tables["rates"]["rate"].to_pylist()[3] == last
        assert made.draft.counts["missing_intervals"] == 2


def test_nested_names_of_functions_are_known(tmp_path):
    record = {"@timestamp": "2026-01-10T00:00:00Z", "faas": {"name": "f"}, "durationMs": 250}
    made = import_files([written(tmp_path / "log.jsonl", f"{json.dumps(record)}\n" * 2)])
    assert made.draft.kind == "faas"
    assert made.draft.preview[0]["duration_s"] == 0.25


@pytest.mark.parametrize(
    ("days", "option"), [(10, "workload.resample={blocks: day}"), (0.5, "blocks: hour"), (2, None)]
)
def test_the_commands_that_are_proposed_draw_long_traces_again(tmp_path, days, option):
    end = np.datetime64("2026-01-10T00:00") + np.timedelta64(int(days * 1440), "m")
    begins = [
        np.datetime64("2026-01-10T00:00") + np.timedelta64(int(k * days * 144), "m")
        for k in range(10)
    ]
    rows = "".join(f"{k},2,{begin}Z,{end}Z\n" for k, begin in enumerate(begins))
    made = import_files([written(tmp_path / "vms.csv", f"id,vcpus,start,end\n{rows}")])
    question = made.draft.questions[0]
    assert option in question if option else "resample" not in question


def test_an_access_log_is_counted_by_the_minute(tmp_path):
    line = '10.0.0.1 - bob [10/Jan/2026:00:0{} +0100] "GET /x HTTP/1.1" 200 12 "-" "curl"\n'
    lines = [line.format(at) for at in ("0:03", "0:59.999", "2:00", "9:99")] + ["oops\n"]
    made = import_files([written(tmp_path / "access.log", "".join(lines))])
    assert (made.preset, made.draft.kind) == ("access", "tiers")
    assert made.draft.tables["rates"]["rate"].to_pylist() == [2 / 60, 0, 1 / 60]
    assert 'start_date: "2026-01-09T23:00:00Z"' in made.draft.spec
    assert reasons(made) == {
        "has no date in square brackets", "'10/Jan/2026:00:09:99 +0100' is no date",
    }  # fmt: skip


def test_what_is_no_text_is_said_so(tmp_path):
    path = tmp_path / "image.bin"
    path.write_bytes(bytes(range(256)) * 8)
    with pytest.raises(CloudarenaError, match="is neither text nor Parquet"):
        import_files([path])


def test_a_trace_that_all_begins_on_one_day_is_not_to_be_drawn_day_by_day(tmp_path):
    rows = "id,vcpus,start,end\na,2,2026-01-10T00:00Z,2026-01-20T00:00Z\n"
    made = import_files([written(tmp_path / "vms.csv", rows)])
    assert "resample" not in made.draft.questions[0]


def test_a_row_that_stands_there_twice_counts_once(tmp_path):
    """One with the same id at another time is another VM; without ids equal rows are several."""
    row = "2026-01-10T00:00Z,2026-01-11T00:00Z,2,4\n"
    later = "2026-01-12T00:00Z,2026-01-13T00:00Z,2,4\n"
    text = f"id,start,end,vcpus,memory_gb\na,{row}a,{row}a,{later}b,{row}"
    made = import_files([written(tmp_path / "vms.csv", text)])
    assert made.draft.tables["vmtable"]["vmid"].to_pylist() == ["a", "b", "a#2"]
    assert [one.reason[:20] for one in made.rejected] == ["it is a duplicate: t"]
    nameless = f"start,end,vcpus,memory_gb\n{row}{row}"
    assert import_files([written(tmp_path / "n.csv", nameless)]).draft.counts["vms"] == 2


def test_names_of_columns_in_german_with_binary_units(tmp_path):
    text = (
        "\ufeffInstanz;Notiz;Kerne;Arbeitsspeicher GiB;created;deleted\n"
        'a;"zwei\nZeilen; ""x""";2;2,5;2026-01-10T00:00:00-05:00;NULL\n'
        "b;;4;10,0;2026-01-10T00:00:00+01:00;2026-01-11T00:00:00Z\n"
    )
    made = import_files([written(tmp_path / "liste.csv", text)])
    assert made.draft.kind == "vm"
    table = made.draft.tables["vmtable"].to_pydict()
    assert (table["vmid"], table["vmmemorybucket"]) == (["b", "a"], [10.0, 2.5])
    assert 'start_date: "2026-01-09T23:00:00Z"' in made.draft.spec
    assert made.draft.counts["open_ends"] == 1


def test_what_boots_is_a_vm(tmp_path):
    text = "id\tboot\tlifetime\tcpu\tmem\n1\t1775000000\t3h\t500m\t512Mi\n"
    made = import_files([written(tmp_path / "vms.tsv", text)])
    assert made.draft.kind == "vm"
    assert made.draft.preview[0]["cores"] == 0.5


def test_a_query_of_prometheus_that_failed_says_why(tmp_path):
    answer = {"status": "error", "errorType": "bad_data", "error": "parse error"}
    with pytest.raises(CloudarenaError, match="the query failed: parse error"):
        import_files([written(tmp_path / "error.json", json.dumps(answer))])


def test_series_of_prometheus_that_may_be_utilisation_are_said_to_be(tmp_path):
    path = cpu_series(tmp_path, "", [0.1, 0.9], [0.2, 0.4])
    assert any("--kind vm" in note for note in import_files([path]).draft.notes)
    vms = import_files([path], kind="vm")
    assert vms.draft.counts["open_ends"] == 0  # the trace ends with its last sample
    assert "ticks: 6\n" in vms.draft.spec


@pytest.mark.parametrize("kind", ["tiers", "vm"])
def test_a_series_of_prometheus_without_values_is_left_out(tmp_path, kind):
    """A native histogram has no values."""
    path = cpu_series(tmp_path, "node:cpu:used", [], [0.5, 1.5, 1.0])
    made = import_files([path], kind=kind)
    assert made.draft.counts["rows"] == {"tiers": 3, "vm": 1}[kind]
    assert "instance=vm-0: has no values that are numbers: it is left out" in made.draft.notes


def test_nodes_of_one_type_with_different_room_have_names_of_their_own(tmp_path):
    def node(name, memory):
        labels = {"node.kubernetes.io/instance-type": "m5.large"}
        free = {"cpu": "2", "memory": memory, "pods": "29"}
        status = {"allocatable": free, "conditions": [{"type": "Ready", "status": "True"}]}
        return {
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {},
            "status": status,
        }

    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "x"},
        "spec": {"containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"},
    }
    items = [node("a", "7Gi"), node("b", "6Gi"), pod]
    text = json.dumps({"kind": "List", "items": items})
    made = import_files([written(tmp_path / "snap.json", text)])
    assert 'name: "m5.large", count: 1' in made.draft.spec
    assert 'name: "m5.large#2", count: 1' in made.draft.spec
    assert "kube-default" in made.draft.questions[0]


def test_the_guessed_service_can_keep_its_guessed_limit(tmp_path):
    """A VM that serves 20 requests a second has a 95th percentile of 0.15 s if nobody waits."""
    text = "timestamp,requests\n2026-01-01T00:00Z,60\n2026-01-01T00:01Z,90\n"
    spec = import_files([written(tmp_path / "rpm.csv", text)]).draft.spec
    assert "thin: {rate: 20," in spec
    assert "seconds: 0.5" in spec
