"""Tables that no preset knows: other languages, wide tables, bills, lists of what is there."""

import json
import zipfile

import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.importing.instance_names import by_name
from cloudarena.importing.lexicon import score
from cloudarena.importing.run import import_files


def imported(tmp_path, text, name="export.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_text(text, encoding=encoding)
    return import_files([path])


VMS = {
    "German, out of a spreadsheet": (
        "sep=;\nServername;Status;Anzahl vCPU;Arbeitsspeicher;Erstellt am;Gelöscht am\n"
        "a;läuft;2;8,0 GB;02.03.2026 08:00:00;-\n"
        "b;aus;4;16,5 GB;02.03.2026 09:00:00;02.03.2026 11:00\n",
        "cp1252",
    ),
    "French": (
        "Nom\tCréé le\tSupprimé le\tProcesseurs\tMémoire (Mo)\n"
        "a\t02/03/2026 08:00\ten cours\t2\t8192\nb\t02/03/2026 09:00\t02/03/2026 11:00\t4\t16896\n",
        "latin-1",
    ),
    "Polish, UTF-16": (
        "Nazwa maszyny\tRdzenie\tPamięć RAM\tData utworzenia\tData usunięcia\r\n"
        "a\t2\t8 GiB\t2026-03-02T09:00:00+01:00\tbrak\r\n"
        "b\t4\t16896 MiB\t2026-03-02T10:00:00+01:00\t2026-03-02T12:00:00+01:00\r\n",
        "utf-16",
    ),
    "Chinese": (
        "名称,命名空间,CPU请求,内存请求,开始时间,结束时间\n"
        "a,default,2000m,8Gi,2026-03-02 08:00:00,<none>\n"
        "b,default,4,16.5Gi,2026-03-02 09:00:00,2026-03-02 11:00:00\n",
        "gb18030",
    ),
    "Russian": (
        "Сервер;Ядра;Память (ГБ);Создан;Удален\n"
        "a;2;8;02.03.2026 08:00;нет\nb;4;16,5;02.03.2026 09:00;02.03.2026 11:00\n",
        "cp1251",
    ),
    "times counted from 1970, 0 for never": (
        '"identificador","inicio","fin","núcleos","memoria"\n'
        '"a","1772438400000","0","2","8192MiB"\n"b","1772442000000","1772449200000","4","16.5GiB"\n',
        "utf-8-sig",
    ),
    "dates and times of day apart": (
        "vm;vcpu;ram_gb;Startdatum;Startzeit;Enddatum;Endzeit\n"
        "a;2;8;02.03.2026;08:00;;\nb;4;16,5;02.03.2026;09:00;02.03.2026;11:00\n",
        "utf-8",
    ),
}


@pytest.mark.parametrize("case", VMS)
def test_vms_of_other_places(tmp_path, case):
    text, encoding = VMS[case]
    draft = imported(tmp_path, text, encoding=encoding).draft
    assert draft.kind == "vm"
    assert [tuple(row.values()) for row in draft.preview] == [
        ("a", "2026-03-02T08:00:00Z", "still there", 2.0, 8.0),
        ("b", "2026-03-02T09:00:00Z", "2026-03-02T11:00:00Z", 4.0, 16.5),
    ]
    assert draft.counts["rows"] == 2
    assert draft.counts["rejected"] == 0


def test_jobs_in_italian(tmp_path):
    draft = imported(
        tmp_path,
        "Lavoro;Utente;Inviato;Iniziato;Durata;CPU;Memoria\n"
        "j0;u;20/03/2026 08:00:00;20/03/2026 08:05:00;1-02:03:04;2;1,5G\n"
        "j1;u;20/03/2026 08:01:00;20/03/2026 08:05:00;00:10:00;8;512M\n",
    ).draft
    assert draft.kind == "jobs"
    assert [row["runs_s"] for row in draft.preview] == [93784.0, 600.0]
    assert [row["memory_gb_each"] for row in draft.preview] == [1.5, 0.5]


SERIES = {
    "American": (
        'Time,Requests Per Minute\n03/02/2026 12:00 AM,"1,200"\n03/02/2026 12:01 AM,"1,260"\n'
    ),
    "Russian, milliseconds, two services": (
        "Время;Сервис;Количество запросов\n1772409600000;a;600\n1772409600000;b;600\n"
        "1772409660000;a;1000\n1772409660000;b;260\n"
    ),
    "a column for each service, points between thousands": (
        "Datum/Uhrzeit;api;web;Summe\n02.03.2026 00:00;1.000;200;1.200\n"
        "02.03.2026 00:01;1.050;210;1.260\n"
    ),
    "Grafana": (
        '"Time","{job=""api""}","{job=""web""}"\n2026-03-02 00:00:00,19 req/s,1 req/s\n'
        "2026-03-02 00:01:00,0.02 K req/s,1 req/s\n"
    ),
    "errors are not added up": (
        "api;Fehler;Zeit;web\n1000;7;02.03.2026 00:00;200\n1050;9;02.03.2026 00:01;210\n"
    ),
    "the number first": ("xyz,when\n1200,2026-03-02T00:00:00Z\n1260,2026-03-02T00:01:00Z\n"),
    "dates and times of day apart": (
        "date;heure;requêtes\n02/03/2026;00:00;1200\n02/03/2026;00:01;1260\n"
    ),
}


@pytest.mark.parametrize("case", SERIES)
def test_requests_counted_by_others(tmp_path, case):
    draft = imported(tmp_path, SERIES[case]).draft
    assert draft.kind == "tiers"
    assert [tuple(row.values()) for row in draft.preview] == [
        ("2026-03-02T00:00:00Z", 20.0),
        ("2026-03-02T00:01:00Z", 21.0),
    ]


def test_a_row_for_each_day_and_a_column_for_each_hour(tmp_path):
    hours = [f"{hour:02}:00" for hour in range(24)]
    counts = ";".join(str(3600 * (hour + 1)) for hour in range(24))
    text = f"Datum;{';'.join(hours)}\n02.03.2026;{counts}\n03.03.2026;{counts}\n"
    draft = imported(tmp_path, text).draft
    assert draft.counts["intervals"] == 48
    assert [row["requests_a_second"] for row in draft.preview] == [1, 2, 3, 4, 5]


def test_a_column_for_each_minute_of_each_function(tmp_path):
    minutes = ",".join(str(minute) for minute in range(1, 1441))
    zeros = ",".join(["0"] * 1438)
    draft = imported(
        tmp_path,
        f"HashOwner,HashApp,HashFunction,Trigger,{minutes}\no,a,f,http,1,2,{zeros}\n"
        f"o,a,g,timer,0,1,{zeros}\n",
    ).draft
    assert draft.kind == "faas"
    assert draft.counts["invocations"] == 4
    times = draft.tables["invocations"]["time_s"].to_pylist()
    assert times == [0.0, 45.0, 60.0, 75.0]  # 1 in the middle of its minute; 2, and 1, in the next


def test_an_invocation_may_say_only_when_it_ended(tmp_path):
    text = "app,func,end_timestamp,duration\na,f,100.5,0.5\nb,f,110,2\n"
    made = imported(tmp_path, text)
    table = made.draft.tables["invocations"].to_pylist()
    assert [row["time_s"] for row in table] == [0, 8]
    assert [row["function"] for row in table] == ["a/f", "b/f"]
    text = "Started,Finished,Lambda name\n2026-03-02T08:00:00Z,2026-03-02T08:00:01.5Z,f\n"
    table = imported(tmp_path, text).draft.tables["invocations"].to_pylist()
    assert table[0]["duration_s"] == 1.5


def test_a_bill_has_a_row_for_each_hour_of_a_vm(tmp_path):
    rows = [
        f"i-1,2026-03-02T0{hour}:00:00Z,2026-03-02T0{hour + 1}:00:00Z,m5.large"
        for hour in (1, 0, 4)
    ]
    head = "lineItem/ResourceId,lineItem/UsageStartDate,lineItem/UsageEndDate,product/instanceType"
    draft = imported(tmp_path, "\n".join([head, *rows]) + "\n").draft
    assert draft.counts["rows"] == draft.counts["vms"] + draft.counts["rows_that_go_on"] == 3
    assert [row["end"] for row in draft.preview] == ["2026-03-02T02:00:00Z", "2026-03-02T05:00:00Z"]


def test_lines_of_keys_and_values(tmp_path):
    made = imported(
        tmp_path,
        "time=2026-03-02T08:00:00Z level=info fn=resize duration_ms=250 mem=256MB\nrubbish\n"
        'time=2026-03-02T08:00:01Z level=info fn="mail out" duration_ms=100 mem=128MB\n',
        "service.log",
    )
    assert [row["function"] for row in made.draft.preview] == ["resize", "mail out"]
    assert [row["duration_s"] for row in made.draft.preview] == [0.25, 0.1]
    assert [(one.line, one.reason) for one in made.found.sheet.bad] == [(2, "has no key=value")]


def test_days_are_drawn_of_those_on_which_vms_begin(tmp_path):
    rows = [
        f"v{k};2;4;2026-03-{2 + k // 4:02} {6 * (k % 4):02}:00;2026-03-{10 + k // 4:02} 00:00"
        for k in range(24)
    ]
    draft = imported(tmp_path, "\n".join(["vm;vcpu;ram_gb;created;deleted", *rows])).draft
    assert "--set 'workload.resample={blocks: day}' --set ticks=7200" in draft.questions[0]
    assert any("days are drawn of the 5 until then" in note for note in draft.notes)


def test_a_list_of_what_is_there_today(tmp_path):
    draft = imported(tmp_path, "Hostname,OS,vCPU,RAM GB\na,linux,2,8\nb,linux,4,16\n").draft
    assert draft.counts["open_ends"] == 2
    assert any("GUESS: no column tells when they begin" in note for note in draft.notes)
    assert "start_date" not in draft.spec


def test_jobs_without_times_are_no_vms(tmp_path):
    with pytest.raises(CloudarenaError, match=r"which column is submit or start.*sacct -a -X -P"):
        imported(tmp_path, "JobID|JobName|Partition|AllocCPUS|State\n1|a|p|4|COMPLETED\n")


SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(path, rows):
    """A workbook with one sheet, of which numbers written as dates have style 1."""
    cells = [
        "".join(
            f'<c r="{chr(65 + k)}{n}" t="inlineStr"><is><t>{cell}</t></is></c>'
            if isinstance(cell, str)
            else f'<c r="{chr(65 + k)}{n}" s="{int(cell > 40000)}"><v>{cell!r}</v></c>'
            for k, cell in enumerate(row)
            if cell is not None
        )
        for n, row in enumerate(rows, 1)
    ]
    data = "".join(f'<row r="{n}">{row}</row>' for n, row in enumerate(cells, 1))
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{LINKS}"><sheets>'
        '<sheet name="VMs" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="rId1" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{SHEET}"><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="22"/></cellXfs></styleSheet>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{data}</sheetData>'
        "</worksheet>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def test_a_workbook_of_excel(tmp_path):
    rows = [
        ["Virtuelle Maschinen, Stand März"],
        [],
        ["Server", "vCPU", "RAM (GB)", "Erstellt", "Gelöscht", "Bemerkung"],
        ["a", 2, 8, 46083 + 1 / 3, None, "x"],
        ["b", 4, 16.5, 46083.375, 46083 + 11 / 24],
        ["Summe", 6],
    ]
    draft = import_files([workbook(tmp_path / "vms.xlsx", rows)]).draft
    assert [tuple(row.values()) for row in draft.preview] == [
        ("a", "2026-03-02T08:00:00Z", "still there", 2.0, 8.0),
        ("b", "2026-03-02T09:00:00Z", "2026-03-02T11:00:00Z", 4.0, 16.5),
    ]
    assert (draft.counts["rows"], draft.counts["rejected"]) == (3, 1)
    (tmp_path / "broken.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(CloudarenaError, match=r"broken.xlsx: is no Excel workbook"):
        import_files([tmp_path / "broken.xlsx"])


def test_the_clouds_lists_of_machines(tmp_path):
    address = "https://www.googleapis.com/compute/v1/projects/p/zones/z/machineTypes/e2-medium"
    google = [
        {"name": "a", "machineType": address, "creationTimestamp": "2026-03-01T23:00:00-09:00"}
    ]
    azure = [
        {
            "name": "a",
            "hardwareProfile": {"vmSize": "Standard_D2s_v3"},
            "timeCreated": "2026-03-02T08:00:00.123456+00:00",
        }
    ]
    for records, size in ((google, (2.0, 4.0)), (azure, (2.0, 8.0))):
        draft = imported(tmp_path, json.dumps(records), "list.json").draft
        row = draft.preview[0]
        assert (row["start"], row["cores"], row["memory_gb"]) == ("2026-03-02T08:00:00Z", *size)
        assert any("GUESS: sizes of types by their names" in note for note in draft.notes)


def test_sacct_as_json(tmp_path):
    job = {
        "job_id": 7,
        "user": "anna",
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "time": {
            "submission": 1772438400, "start": 1772438430, "end": 1772438490, "elapsed": 60,
            "limit": {"set": True, "infinite": False, "number": 30},
        },
        "required": {
            "CPUs": 4,
            "memory_per_cpu": {"set": True, "infinite": False, "number": 1024},
            "memory_per_node": {"set": False, "infinite": False, "number": 0},
        },
        "allocation_nodes": 1,
        "tres": {"allocated": [{"type": "cpu", "name": "", "count": 4}], "requested": []},
    }  # fmt: skip
    running = {**job, "job_id": 8, "state": ["RUNNING"], "time": {**job["time"], "end": 0}}
    made = imported(tmp_path, json.dumps({"jobs": [job, running]}), "jobs.json")
    assert made.preset == "sacct"
    assert made.draft.counts["jobs"] == 2
    assert made.draft.preview[0]["memory_gb_each"] == 4
    assert made.draft.tables["jobs"]["estimate_s"].to_pylist()[0] == 1800


@pytest.mark.parametrize(
    ("name", "vcpu", "memory_gb"),
    [
        ("c6i.2xlarge", 8, 16), ("r6g.large", 2, 16), ("t4g.micro", 2, 1), ("t3a.xlarge", 4, 16),
        ("Standard_E8ds_v5", 8, 64), ("Standard_F4s", 4, 8), ("n1-standard-2", 2, 7.5),
        ("e2-custom-4-8192", 4, 8), ("n2d-highmem-8", 8, 64), ("4vCPU-16GB", 4, 16),
    ],
)  # fmt: skip
def test_sizes_in_the_names_of_types(name, vcpu, memory_gb):
    found = by_name(name)
    assert (found.vcpu, found.memory_gb) == (vcpu, memory_gb)


@pytest.mark.parametrize("name", ["m5.metal", "big", "Standard_LRS", "x", "2026-03-02"])
def test_names_that_say_no_size(name):
    assert by_name(name) is None


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("cores", "CPU-Auslastung (%)"), ("cores", "cpu_time"), ("memory", "Memory used"),
        ("memory", "内存使用率"), ("start", "Last modified"), ("count", "error count"),
        ("time", "Antwortzeit (Dauer)"),
    ],
)  # fmt: skip
def test_what_a_name_does_not_say(role, name):
    assert score("vm", role, name) == 0


RVTOOLS = (
    "VM;Powerstate;Guest state;PowerOn;Creation date;CPUs;Memory;Provisioned MiB\n"
    "a;poweredOn;running;05.03.2026 08:00:00;02.03.2026 08:00:00;2;8.192;81.920\n"
    "b;poweredOff;notRunning;;02.03.2026 09:00:00;4;16.384;81.920\n"
    "c;poweredOn;running;06.03.2026 08:00:00;03.03.2026 08:00:00;4;16.384;81.920\n"
)


def test_a_size_is_no_start_and_the_last_boot_no_end_and_what_is_off_is_not_there(tmp_path):
    done = imported(tmp_path, RVTOOLS, encoding="utf-8-sig")
    mapping = {role: column.source for role, column in done.found.mapping.items()}
    assert mapping["start"] == "Creation date"
    assert "end" not in mapping
    assert done.draft.counts["vms"] == 2
    assert [one.reason for one in done.rejected] == ["it is poweredOff, and since when is not told"]
    table = done.draft.tables["vmtable"]
    assert table["vmmemorybucket"].to_pylist() == [8.0, 16.0]


def test_what_is_off_since_a_time_counts_until_then(tmp_path):
    text = (
        "vm,status,created_at,deleted_at,vcpus,memory_gb\n"
        "a,stopped,2026-03-02 08:00,2026-03-02 12:00,2,4\n"
        "b,running,2026-03-02 08:00,,2,4\nc,Deallocated,2026-03-02 09:00,,2,4\n"
    )
    done = imported(tmp_path, text)
    assert done.draft.tables["vmtable"]["vmid"].to_pylist() == ["a", "b"]


CONSOLE = (
    '"Name","Instance ID","Instance state","Instance type","Launch time",'
    '"State transition reason"\n'
    '"web","i-01","Running","m5.large","2026/09/14 05:12 GMT+2",""\n'
    '"","i-02","Terminated","t3.medium","2026/09/14 06:30 GMT+2",'
    '"User initiated (2026-09-14 08:14:21 GMT)"\n'
    '"old","i-03","Stopped","t3.medium","2026/09/13 06:30 GMT+2",""\n'
)


def test_the_csv_of_the_console_of_ec2_is_read_with_its_zones(tmp_path):
    done = imported(tmp_path, CONSOLE)
    assert done.preset == "ec2"
    assert [(one["id"], one["start"], one["end"]) for one in done.draft.preview] == [
        ("i-01", "2026-09-14T03:12:00Z", "still there"),
        ("i-02", "2026-09-14T04:30:00Z", "2026-09-14T08:14:21Z"),
    ]
    assert [one.reason for one in done.rejected] == ["it is stopped, and since when is not told"]
    assert not [note for note in done.draft.notes if "zone" in note]


INSIGHTS = (
    "@timestamp,@requestId,@log,@type,@duration,@memorySize\n"
    "2026-07-01 00:00:06.500,r1,123456789012:/aws/lambda/resize,REPORT,3030.2,1024000000\n"
    "2026-07-01 00:00:06.400,r1,123456789012:/aws/lambda/resize,START,,\n"
    "2026-07-01 00:00:09.000,r2,123456789012:/aws/lambda/notify,REPORT,64.9,128000000\n"
)


def test_logs_insights_has_milliseconds_and_bytes(tmp_path):
    done = imported(tmp_path, INSIGHTS)
    assert (done.preset, done.found.kind) == ("invocations", "faas")
    table = done.draft.tables["invocations"]
    assert table["function"].to_pylist() == ["resize", "notify"]
    assert table["time_s"].to_pylist() == [0.0, 2.5]
    assert table["duration_s"].to_pylist() == pytest.approx([3.0302, 0.0649])
    assert "memory_mb: 1024" in done.draft.spec
    assert "memory_mb: 128" in done.draft.spec
    assert [one.line for one in done.found.sheet.bad] == [3]
    assert done.draft.counts["rejected"] == 1
    assert "response_p95_s<=4.7" in done.draft.questions[0]
