"""Damages files of traces and prints what ``cloudarena trace`` made of each: a JSON object a line.

A program of its own, since what it looks for may take all memory, never end, or kill it:
``python tests/validation/damaged_traces.py SOURCE SEED COUNT FIRST``, a source being KIND/NAME.
Of each there is a small file that is read; it is cut, shuffled, filled with absurd cells, badly
encoded or badly packed.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import random
import re
import resource
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from cloudarena import cli

Damage = Callable[[bytes, random.Random], bytes]
MEMORY_BYTES = 6 * 10**9
CELLS = (
    "", " ", "-1", "0", "-0.0", "nan", "NaN", "inf", "-inf", "1e308", "1e400", "-1e300", "1e-320",
    str(2**31), str(2**63), str(2**63 - 1), str(10**30), "0x10", "1_000", " 5", "5 ", "1,5", "x",
    "x" * 5000, "true", "None", "null", "\x00", "\u0663", "é", '"', "'", "[]", "{}", "=1+1", "%",
    "2020-01-01", "12:30", "1;2", "\t", "../../etc", "<a>", "&lt;",
)  # fmt: skip


def text(*lines: str) -> bytes:
    """Lines of a file."""
    return ("\n".join(lines) + "\n").encode()


def minutes(name: str, trigger: str, **counts: int) -> str:
    """A row of Azure's counts by minute."""
    cells = [str(counts.get(f"m{minute}", 0)) for minute in range(1, 1441)]
    return ",".join(["o", "a", name, trigger, *cells])


AZURE_2019 = text(
    ",".join(["HashOwner", "HashApp", "HashFunction", "Trigger", *map(str, range(1, 1441))]),
    minutes("f1", "http", m1=2, m3=1, m1440=4),
    minutes("f2", "http", m2=1),
    minutes("f3", "timer", m7=3),
)
FUNCTION = {"computation": 2000, "memory_req": 128, "parallelism": 2}
WORKFLOWS = json.dumps(
    {"workflows": [{"arrival": 0, "functions": [FUNCTION, FUNCTION], "edges": [[0, 1, 9]]}]}
).encode()
TEMPLATES = json.dumps(
    {"templates": [{"functions": [FUNCTION, FUNCTION], "edges": [[0, 1, 9]]}]}
).encode()
BATCH_TASK = text(
    "M1,1,j_2,1,Terminated,87076,87083,50,0.2",
    "R2_1,3,j_2,1,Terminated,87076,87086,100,0.39",
    "M1,2,j_7,12,Terminated,87000,87010,150,40",
    "R6_3,371,j_3,1,Terminated,157297,157325,100,0.49",
)
PODS = text(
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time",
    "pod-b,4000,8192,0,0,,BE,Succeeded,1600,1900,1601.0",
    "pod-a,12500,16384,1,1000,G2,LS,Succeeded,1000,4000,1000.0",
    "pod-c,8000,2560,2,1000,V100M16|V100M32,Burstable,Failed,1300,2300,",
)
DAX = text(
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" jobCount="2" childCount="1">',
    '<job id="a" name="make" runtime="158.10">',
    '  <uses file="x" link="output" size="1024"/>',
    "</job>",
    '<job id="b" name="use" runtime="2">',
    '  <uses file="x" link="input" size="1024"/>',
    "</job>",
    '<child ref="b"><parent ref="a"/></child>',
    "</adag>",
)
WFFORMAT = json.dumps(
    {
        "name": "fork",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    {"name": "a", "id": "a", "parents": [], "children": ["b"]},
                    {"name": "b", "id": "b", "parents": ["a"], "children": []},
                ],
                "files": [{"id": "one", "sizeInBytes": 100}],
            },
            "execution": {
                "makespanInSeconds": 10,
                "tasks": [
                    {"id": "a", "runtimeInSeconds": 5.0, "coreCount": 1},
                    {"id": "b", "runtimeInSeconds": 3.5, "coreCount": 2},
                ],
            },
        },
    },
    indent=1,
).encode()
BORG = text(
    *(
        json.dumps({"time": t * 10**6, "type": kind, "collection_id": 7, "instance_index": one,
                    "resource_request": {"cpus": 0.05, "memory": 0.01}})
        for one in (0, 1)
        for t, kind in ((600, 0), (601, 3), (630, 6))
    )
)  # fmt: skip
SWF = text(
    "; Version: 2.2",
    "  1 100 0 50 4 -1 -1 4 600 -1 1 12 1 1 1 1 -1 -1",
    "  2 110 5 70 2 -1 -1 2 900 -1 1 11 1 1 1 1 -1 -1",
    "  3 120 0 9 1 -1 1024 1 30 -1 0 11 1 1 1 1 -1 -1",
)
VMTABLE = text(
    "vmid,subscriptionid,deploymentid,vmcreated,vmdeleted,vmcategory,vmcorecountbucket,"
    "vmmemorybucket,lifetime",
    "11,7,1,0,3,0,2,4,4",
    "12,7,2,2,2,1,4,8,1",
    "13,9,3,2,6,2,8,32,5",
)
READINGS = text("timestamp,vmid,maxcpu", "0,11,10", "1,11,20", "2,12,50", "2,13,5", "3,13,6")
AZURE_V2 = text(
    "v-first,sub-a,dep-a,0,299,,,,Unknown,>24,>64",
    "v-long,sub-a,dep-b,310,1799,90,10,50,Delay-insensitive,2,32",
    "v-late,sub-b,dep-b,900,1200,90,10,50,Interactive,4,8",
)
AZURE_READINGS = text("0,v-first,0,50,1", "300,v-long,0,10,1", "900,v-late,0,33.5,1")
JOBS = text(
    "job,submit_s,task,instances,cpu,memory,duration_s,parents",
    "late,25.5,a,1,1.0,0.25,10,",
    "late,25.5,b,3,0.5,0,30,a",
    "early,20.25,x,2,2,0.5,20,",
)
CLOUDSIMPY = text(
    ",submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk",
    "0,539,116.5,1.0,0.0054,9,1,283,0",
    "1,7,73.5,0.5,0.0078,3,23,67,0",
    "2,540,87.25,0.5,0.0078,9,24,21,0.5",
)
BATCHES = text("time_s,class,tasks", "0,a,3", "0,b,4", "5,b,1")
RATES = text("time_s,rate", "0,2", "3,5", "9,0.5")
GAPS = text("inter_arrival_s", "1", "0", "2.5")
INVOCATIONS = text("time_s,function", "0,f", "1.5,g", "2,f", "7.25,f")
AZURE_2021 = text(
    "app,func,end_timestamp,duration", "x,f,10,1", "x,f,12.5,0.25", "x,f,13,2", "y,f,14,2"
)


def maro(fields: str, types: str, *rows: tuple[float, ...]) -> bytes:
    """A binary file as MARO writes it: header, description, records."""
    attributes = "".join(
        f"- !MaroAttribute\n  adjust_ratio: null\n  dtype: {kind}\n  name: {name}\n"
        "  raw_name: r\n  slot: 1\n  tzone: null\n"
        for name, kind in zip(fields.split(), types, strict=True)
    )
    events = "events:\n- !MaroEvent\n  display_name: vm_required\n  type_name: R\n  value: null\n"
    described = f"attributes:\n{attributes}default_event_name: null\n{events}".encode()
    record = struct.Struct(f"<{types}")
    data = b"".join(record.pack(*row) for row in rows)
    sizes = (69, len(described), 69 + len(described), len(data))
    ticks = [int(row[0]) for row in rows]
    packed = struct.pack(
        "<4s b I Q I QQ QQ qq", b"MARO", 1, 100, len(rows), record.size, *sizes, ticks[0], ticks[-1]
    )
    return packed + described + data


MARO_VMS = maro(
    "timestamp vm_id sub_id deploy_id vm_lifetime vm_deleted vm_category vm_cpu_cores vm_memory",
    "iiiiiiiii",
    (0, 7, 1, 11, 3, 2, 1, 2, 8),
    (0, 3, 1, 12, 2, 1, 2, 1, 4),
    (2, 9, 2, 13, 4, 5, 0, 4, 32),
)
MARO_READINGS = maro(
    "timestamp vm_id cpu_utilization", "iif", (0, 7, 50), (0, 3, 100), (1, 7, 25), (2, 9, 80)
)
SAMPLES: dict[str, tuple[dict[str, bytes], str]] = {
    # the files, the first of which is damaged most; what stands behind ``trace convert``
    "clusters/file": ({"batches.csv": BATCHES}, "file --kind clusters {batches.csv}"),
    "jobs/file": ({"jobs.csv": JOBS}, "file --kind jobs {jobs.csv}"),
    "workflow/file": ({"w.json": WORKFLOWS}, "file --kind workflow {w.json}"),
    "faas/recorded": ({"gaps.csv": GAPS}, "recorded {gaps.csv}"),
    "faas/invocations": ({"calls.csv": INVOCATIONS}, "invocations {calls.csv}"),
    "faas/azure-2019": ({"d01.csv": AZURE_2019}, "azure-2019 {d01.csv}"),
    "faas/azure-2021": ({"t.csv": AZURE_2021}, "azure-2021 {t.csv}"),
    "jobs/cloudsimpy-csv": ({"jobs.csv": CLOUDSIMPY}, "cloudsimpy-csv {jobs.csv}"),
    "jobs/alibaba-2018": ({"b.csv": BATCH_TASK}, "alibaba-2018 {b.csv}"),
    "workflow/alibaba-2018": ({"b.csv": BATCH_TASK}, "alibaba-2018 --kind workflow {b.csv}"),
    "jobs/swf": ({"log.swf": SWF}, "swf {log.swf}"),
    "jobs/borg-2019": ({"e.json": BORG}, "borg-2019 {e.json}"),
    "jobs/openb": ({"pods.csv": PODS}, "openb --kind jobs --pods {pods.csv}"),
    "vm/openb": ({"pods.csv": PODS}, "openb --pods {pods.csv}"),
    "tiers/series": ({"rates.csv": RATES}, "series {rates.csv}"),
    "vm/files": (
        {"vms.csv": VMTABLE, "cpu.csv": READINGS},
        "files --vmtable {vms.csv} --readings {cpu.csv}",
    ),
    "vm/azure-v2": (
        {"vms.csv": AZURE_V2, "cpu.csv": AZURE_READINGS},
        "azure-v2 --vmtable {vms.csv} --readings {cpu.csv}",
    ),
    "vm/maro": (
        {"vms.bin": MARO_VMS, "cpu.bin": MARO_READINGS},
        "maro --vmtable {vms.bin} --readings {cpu.bin}",
    ),
    "workflow/dax": ({"m.xml": DAX}, "dax {m.xml}"),
    "workflow/wfcommons": ({"w.json": WFFORMAT}, "wfcommons {w.json}"),
    "workflow/azure-functions-2019": (
        {"d01.csv": AZURE_2019, "t.json": TEMPLATES},
        "azure-functions-2019 {d01.csv} --templates {t.json}",
    ),
}


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file, at least one."""
    return data.split(b"\n") or [b""]


def cut(data: bytes, rng: random.Random) -> bytes:
    """The file up to some byte."""
    return data[: rng.randrange(len(data))]


def without_a_line(data: bytes, rng: random.Random) -> bytes:
    """Not all of its lines."""
    lines = lines_of(data)
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def with_a_line_twice(data: bytes, rng: random.Random) -> bytes:
    """A line again, somewhere."""
    lines = lines_of(data)
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return b"\n".join(lines)


def shuffled(data: bytes, rng: random.Random) -> bytes:
    """All lines in another order, often the first one too."""
    lines = lines_of(data)
    kept = lines[:1] if rng.random() < 0.5 else []
    others = lines[len(kept) :]
    rng.shuffle(others)
    return b"\n".join(kept + others)


def columns_swapped(data: bytes, rng: random.Random) -> bytes:
    """Two columns changed places, in all lines or in one."""
    lines = [line.split(b",") for line in lines_of(data)]
    first, second = rng.sample(range(max(2, len(lines[0]))), 2)
    chosen = range(len(lines)) if rng.random() < 0.5 else [rng.randrange(len(lines))]
    for place in chosen:
        cells = lines[place]
        if max(first, second) < len(cells):
            cells[first], cells[second] = cells[second], cells[first]
    return b"\n".join(b",".join(cells) for cells in lines)


def absurd_cell(data: bytes, rng: random.Random) -> bytes:
    """Another value in one place."""
    places = list(re.finditer(rb'[^,\s"<>:\[\]{}=;/]+', data))
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(CELLS).encode() + data[place.end() :]


def absurd_number(data: bytes, rng: random.Random) -> bytes:
    """Another value in the place of a number."""
    places = list(re.finditer(rb"(?<![\w.-])-?\d+(\.\d+)?(?![\w.])", data))
    if not places:
        return absurd_cell(data, rng)
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(CELLS).encode() + data[place.end() :]


def cell_gone_or_added(data: bytes, rng: random.Random) -> bytes:
    """A line that is shorter or longer than the others."""
    lines = lines_of(data)
    place = rng.randrange(len(lines))
    cells = lines[place].split(b",")
    if rng.random() < 0.5:
        del cells[rng.randrange(len(cells))]
    else:
        cells.insert(rng.randrange(len(cells) + 1), b"7")
    lines[place] = b",".join(cells)
    return b"\n".join(lines)


def bytes_changed(data: bytes, rng: random.Random) -> bytes:
    """A few bytes are others."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


DAMAGES: tuple[Damage, ...] = (
    cut, without_a_line, with_a_line_twice, shuffled, columns_swapped, absurd_cell, absurd_cell,
    absurd_number, absurd_number, absurd_number, cell_gone_or_added, bytes_changed,
)  # fmt: skip
WHOLE: dict[str, Damage] = {
    "other delimiter": lambda data, rng: data.replace(b",", rng.choice([b";", b"\t", b"|", b" "])),
    "nothing": lambda data, rng: b"",
    "a blank": lambda data, rng: b"\n",
    "only the first line": lambda data, rng: lines_of(data)[0] + b"\n",
    "only zeros": lambda data, rng: bytes(len(data)),
    "UTF-16": lambda data, rng: data.decode("latin-1").encode("utf-16"),
    "twice": lambda data, rng: data + data,
    "a quote": lambda data, rng: data.replace(b",", b',"', 1),
    "CR": lambda data, rng: data.replace(b"\n", b"\r"),
    "binary": lambda data, rng: rng.randbytes(300),
}
HARMLESS: dict[str, Damage] = {
    "CRLF": lambda data, rng: data.replace(b"\n", b"\r\n"),
    "BOM": lambda data, rng: b"\xef\xbb\xbf" + data,
    "no last line end": lambda data, rng: data.rstrip(b"\n"),
}
"""After these a file of text says the same as before."""


def packed(data: bytes, name: str, rng: random.Random) -> tuple[bytes, str, str]:
    """The file in a package, which may be damaged: its bytes, its name, and what was done."""
    if name.endswith(".csv") and rng.random() < 0.5:
        table = io.BytesIO()
        try:
            pq.write_table(pacsv.read_csv(io.BytesIO(data)), table)
        except pa.ArrowInvalid:
            return b"PAR1", f"{name[:-4]}.parquet", "parquet"
        whole, name, how = table.getvalue(), f"{name[:-4]}.parquet", "parquet"
    else:
        whole, name, how = gzip.compress(data, mtime=0), f"{name}.gz", "gzip"
    kind = rng.choice(("whole", "cut", "changed", "text", "appended"))
    damaged = {
        "whole": lambda: whole,
        "cut": lambda: cut(whole, rng),
        "changed": lambda: bytes_changed(whole, rng),
        "text": lambda: data,
        "appended": lambda: whole + b"rest",
    }[kind]()
    return damaged, name, f"{how} {kind}"


def called(*words: str) -> tuple[int, str, str]:
    """The exit code and what was printed by a command."""
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["cloudarena", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


def figures(files: dict[str, bytes], words: str, folder: Path) -> tuple[str, Any]:
    """What came of a trace: ``read`` with its figures, ``refused``, or what is wrong."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    paths = {name: str(folder / name) for name in files}
    given = [re.sub(r"{(.*)}", lambda found: paths[found[1]], word) for word in words.split()]
    out = str(folder / "out")
    try:
        code, _, err = called("trace", "convert", *given, "--out", out, "--json")
        if code == 0:
            code, shown, err = called("trace", "describe", out, "--json")
            if code != 0:
                return f"what was written cannot be read: {err[:300]}", None
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {str(error)[:100]}"
        return f"{words} ({where.filename[-40:]}:{where.lineno})", None
    if code == 0:
        found = json.loads(shown)
        return ("read", next(iter(found.values()))) if sane(found) else (f"read as {shown}", None)
    if Path(out).exists():
        return "something is written", None
    said = err.strip()
    if code != 2 or not said:
        return f"exit code {code}: {said[-300:]}", None
    if "\n" in said or len(said) > 600 or "Traceback" in said:
        return f"long message: {said[:300]}", None
    if not any(path in said for path in paths.values()):
        return f"names no file: {said[:300]}", None
    return "refused", said


ANY_ORIGIN = ("begin_s",)
"""What may be below 0: submissions count from an origin of the file's own."""


def sane(value: Any) -> bool:
    """Whether all numbers are finite, and none is below 0 but times from any origin."""
    if isinstance(value, dict):
        return all(
            sane(abs(one) if name in ANY_ORIGIN and isinstance(one, float) else one)
            for name, one in value.items()
        )
    if isinstance(value, list):
        return all(map(sane, value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return math.isfinite(value) and value >= 0
    return True


def damaged(sample: str, rng: random.Random) -> tuple[dict[str, bytes], str, str]:
    """Files of a trace with one of them damaged, the command, and what was done."""
    files, words = SAMPLES[sample]
    files = dict(files)
    name = rng.choice([*files, next(iter(files))])
    data = files.pop(name)
    chance = rng.random()
    if chance < 0.15:
        content, new, how = packed(data, name, rng)
        return {**files, new: content}, words.replace(f"{{{name}}}", f"{{{new}}}"), how
    if chance < 0.3:
        how, damage = rng.choice([*WHOLE.items(), *HARMLESS.items()])
        return {**files, name: damage(data, rng)}, words, how
    damage = rng.choice(DAMAGES)
    return {**files, name: damage(data, rng)}, words, damage.__name__


def changed_line(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """The first line that was not there before the damage."""
    for name, data in after.items():
        old = lines_of(before.get(name, b""))
        for line in lines_of(data):
            if line not in old:
                return line.decode(errors="replace")[:100]
    return ""


def sound(sample: str) -> Any:
    """The figures of a sample that nobody damaged."""
    with tempfile.TemporaryDirectory() as place:
        came, whole = figures(*SAMPLES[sample], Path(place))
    if came != "read":
        sys.exit(f"the sample is not read: {came} {whole}")
    return whole


def attempt(sample: str, whole: Any, seed: int, number: int) -> dict[str, Any]:
    """What came of a damage of a sample, which has these figures as a whole."""
    files, words, how = damaged(sample, random.Random(f"{sample} {seed} {number}"))
    began = time.process_time()
    with tempfile.TemporaryDirectory() as place:
        came, found = figures(files, words, Path(place))
    seconds = round(time.process_time() - began, 2)
    is_same = sample != "vm/maro" and (how.endswith(" whole") or how in HARMLESS)
    said = found if came == "refused" else changed_line(SAMPLES[sample][0], files)
    if came == "read" and is_same and found != whole:
        came = f"read otherwise: {found} not {whole}"
    if came == "refused" and is_same and how not in ("BOM", "parquet whole"):
        came = f"refused though harmless: {found}"
    return {"number": number, "how": how, "outcome": came, "said": said, "cpu_s": seconds}


def main() -> None:
    """Tries ``count`` damages of a sample, from the one with number ``first`` on."""
    sample, seed, count, first = sys.argv[1], *map(int, sys.argv[2:5])
    warnings.simplefilter("error")
    output = sys.stdout
    whole = sound(sample)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for number in range(first, count):
        print(json.dumps({"number": number, "outcome": "began"}), file=output, flush=True)
        print(json.dumps(attempt(sample, whole, seed, number)), file=output, flush=True)


if __name__ == "__main__":
    main()
