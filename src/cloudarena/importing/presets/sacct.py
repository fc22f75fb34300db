"""Slurm's accounting: ``sacct -a -X -P --format=JobIDRaw,User,...,Submit,Start,End,...``.

Values that sacct writes: ``Unknown`` and ``None`` for times that have not come, ``CANCELLED by
1001``, time limits in minutes (TimelimitRaw), ``UNLIMITED`` and ``Partition_Limit``, ``4Gc`` and
``16Gn`` before version 21.08 (of each core, of each node), and TRES such as
``cpu=4,mem=16G,node=1,billing=4,gres/gpu=2``. Steps (``123.batch``) of exports without -X are left
out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import Column, Mapped
from cloudarena.importing.presets.common import one_sheet, replaced
from cloudarena.importing.roles import WHOLE_NODE, tidy
from cloudarena.importing.sheet import Bad, Sheet, sheet_of_records
from cloudarena.importing.units import is_nothing, stamp

DESCRIPTION = "Slurm: sacct -a -X -P --format=JobIDRaw,User,State,Submit,Start,End,..."
ROLES = {
    "id": ("job_id_raw", "job_id"),
    "submit": ("submit", "eligible"),
    "start": ("start",),
    "end": ("end",),
    "duration": ("elapsed_raw", "elapsed"),
    "cores": ("alloc_cpus", "ncpus", "req_cpus"),
    "nodes": ("alloc_nodes", "nnodes", "req_nodes"),
    "memory": ("req_mem",),
    "user": ("user", "account"),
    "state": ("state",),
}
"""The columns of each role, the best first, by tidy names."""
GPU = re.compile(r"gres/gpu(?::[^=,]*)?=(\d+)")
MEMORY = re.compile(r"(?:^|,)mem=([^,]+)")
ALL_MEMORY = re.compile(r"0+(\.0*)?[KMGTP]?[cn]?", re.IGNORECASE)
"""What ReqMem is of jobs that asked for all memory of their nodes (``--mem=0``)."""


def recognises(file: File) -> bool:
    """Recognises the format by columns that only sacct has, and ``sacct --json``."""
    if file.holds("jobs"):
        jobs = file.document["jobs"]
        return bool(jobs) and isinstance(jobs[0], Mapping) and {"job_id", "time"} <= set(jobs[0])
    words = {word.replace("_", "") for word in file.words}
    return (
        ("jobid" in words and bool(words & {"allocnodes", "alloctres", "elapsedraw"}))
        or ("jobidraw" in words and "submit" in words)
        or {"jobid", "elapsed", "state"} <= words
        or {"jobid", "jobname", "partition", "state"} <= words
    )


def read(files: Sequence[File]) -> Found:
    """The jobs of an export."""
    sheet = _without_steps(_of_json(files) if files[0].holds("jobs") else one_sheet(files))
    names = {tidy(name).replace("_", ""): name for name in sheet.names}
    mapping: Mapped = {}
    for role, words in ROLES.items():
        found = next(
            (names[w.replace("_", "")] for w in words if w.replace("_", "") in names), None
        )
        if found is not None:
            mapping[role] = Column(found)
    sheet, mapping = _with_cores(sheet, names, mapping)
    sheet, mapping = _with_tres(sheet, names, mapping)
    sheet, mapping = _with_limits(sheet, names, mapping)
    return Found(sheet, "jobs", mapping, notes=())


def _of_json(files: Sequence[File]) -> Sheet:
    """The jobs of ``sacct --json`` as the columns of its tables."""
    records = [_record(job) for file in files for job in file.document["jobs"]]
    return sheet_of_records(files[0].path, records, remarks=("sacct --json",))


def _record(job: Mapping[str, Any]) -> dict[str, Any]:
    time, required = job.get("time") or {}, job.get("required") or {}
    state = job.get("state")
    state = state.get("current") if isinstance(state, Mapping) else state
    tres = job.get("tres") or {}
    each, whole = _set(required.get("memory_per_cpu")), _set(required.get("memory_per_node"))
    return {
        "JobIDRaw": job.get("job_id"),
        "User": job.get("user"),
        "State": state[0] if isinstance(state, list) and state else state,
        **{
            name: stamp(float(time[key])) if time.get(key) else "Unknown"
            for name, key in (("Submit", "submission"), ("Start", "start"), ("End", "end"))
        },
        "ElapsedRaw": time.get("elapsed"),
        "TimelimitRaw": _set(time.get("limit")) or "UNLIMITED",
        "ReqCPUS": required.get("CPUs"),
        "ReqMem": f"{each}Mc" if each else f"{whole}Mn" if whole else "",
        "AllocNodes": job.get("allocation_nodes"),
        "AllocTRES": _tres(tres.get("allocated")),
        "ReqTRES": _tres(tres.get("requested")),
    }


def _set(value: Any) -> Any:
    """What ``{"set": true, "infinite": false, "number": 60}`` says; None if it says nothing."""
    if not isinstance(value, Mapping):
        return value
    return value.get("number") if value.get("set") and not value.get("infinite") else None


def _tres(parts: Any) -> str:
    names = [
        (f"{one.get('type')}/{one['name']}" if one.get("name") else one.get("type"), one)
        for one in parts or ()
        if isinstance(one, Mapping)
    ]
    return ",".join(
        f"{name}={one.get('count')}{'M' if name == 'mem' else ''}" for name, one in names
    )


def _without_steps(sheet: Sheet) -> Sheet:
    """The sheet without the steps of jobs, which sacct lists unless -X is given."""
    name = next((n for n in sheet.names if tidy(n).replace("_", "") in ("jobidraw", "jobid")), None)
    if name is None:
        return sheet
    texts = sheet.texts(name)
    is_step = np.array(["." in text for text in texts])
    if not is_step.any():
        return sheet
    from cloudarena.base.arrow import pa

    keep = pa.array(~is_step)
    lines = np.array([sheet.line(row) for row in range(len(sheet))])
    bad = tuple(
        Bad(int(lines[row]), "a step of a job, which is there itself", texts[row])
        for row in np.flatnonzero(is_step).tolist()
    )
    columns = {key: values.filter(keep) for key, values in sheet.columns.items()}
    return Sheet(sheet.path, columns, lines[~is_step], (*sheet.bad, *bad), sheet.remarks)


def _with_cores(sheet: Sheet, names: dict[str, str], mapping: Mapped) -> tuple[Sheet, Mapped]:
    """Cores as allocated, and as requested for jobs that never had any."""
    parts = [names[one] for one in ("alloccpus", "ncpus", "reqcpus") if one in names]
    nodes = [names[one] for one in ("allocnodes", "nnodes", "reqnodes") if one in names]
    for role, columns in (("cores", parts), ("nodes", nodes)):
        if len(columns) > 1:
            texts = [sheet.texts(column) for column in columns]
            first = [
                next((text for text in row if not is_nothing(text) and text != "0"), "")
                for row in zip(*texts, strict=True)
            ]
            sheet = replaced(sheet, **{f"{role} of the job": list(first)})
            mapping[role] = Column(f"{role} of the job")
    return sheet, mapping


def _with_tres(sheet: Sheet, names: dict[str, str], mapping: Mapped) -> tuple[Sheet, Mapped]:
    """Memory and GPUs of AllocTRES or ReqTRES; and of what ReqMem is, by its last letter."""
    tres = [sheet.texts(names[one]) for one in ("alloctres", "reqtres") if one in names]
    joined = [next((text for text in row if text), "") for row in zip(*tres, strict=True)]
    gpus = [(GPU.search(text) or ["", ""])[1] for text in joined]
    if any(gpus):
        sheet = replaced(sheet, **{"gpus of the job": [one or None for one in gpus]})
        mapping["gpus"] = Column("gpus of the job")
    per = np.full(len(sheet), "job", dtype=object)
    given = [""] * len(sheet)
    if "memory" in mapping:
        texts = sheet.texts(mapping["memory"].source)
        given = ["" if ALL_MEMORY.fullmatch(text) else text for text in texts]
        per[:] = [{"c": "core", "n": "node"}.get(text[-1:], "job") for text in texts]
        per[[text != kept for text, kept in zip(texts, given, strict=True)]] = WHOLE_NODE
    told = [(MEMORY.search(text) or ["", ""])[1] for text in joined]
    if any(told) or WHOLE_NODE in per:
        both = [one or other for one, other in zip(told, given, strict=True)]
        sheet = replaced(sheet, **{"memory of the job": list(both)})
        mapping["memory"] = Column("memory of the job")
        per = np.where(np.array([bool(one) for one in told]), "job", per)
    if "memory" in mapping:  # a bare number is in MB, as Slurm counts
        mapping["memory"] = Column(mapping["memory"].source, "mb")
    extra = {**sheet.extra, "memory_per": per}
    return Sheet(sheet.path, sheet.columns, sheet.lines, sheet.bad, sheet.remarks, extra), mapping


def _with_limits(sheet: Sheet, names: dict[str, str], mapping: Mapped) -> tuple[Sheet, Mapped]:
    """The time limit, in minutes where it is raw."""
    if "timelimitraw" in names:
        mapping["estimate"] = Column(names["timelimitraw"], "min")
    elif "timelimit" in names:
        mapping["estimate"] = Column(names["timelimit"])
    return sheet, mapping
