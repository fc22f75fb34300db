"""``cloudarena trace`` for job traces: their formats, their generators, their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli.options import Json, Seed, TraceFolder, people, print_json

if TYPE_CHECKING:
    from cloudarena.contract import Scenario
    from cloudarena.workloads.jobs.columns import JobWorkload

KIND = "jobs"
FILES: Sequence[str] = ("jobs",)

Trace = Annotated[Path, typer.Argument(metavar="FILE", help="The trace, plain or .gz.")]
Jobs = Annotated[int, typer.Option(help="How many jobs arrive.")]
Estimates = Annotated[
    str, typer.Option(help="What is said about run times beforehand: exact, modal or factor.")
]
Offset = Annotated[int, typer.Option(help="Leaves out so many of the first jobs.")]
Some = Annotated[int | None, typer.Option("--jobs", help="Takes so many jobs.", show_default="all")]


def describe_files(files: Mapping[str, Path]) -> dict[str, Any]:
    """The figures of a trace in neutral form."""
    from cloudarena.workloads.jobs.columns import describe
    from cloudarena.workloads.jobs.files import load_job_file

    return describe(load_job_file(files["jobs"]))


def describe_scenario(scenario: Scenario, seed: int) -> dict[str, Any]:
    """The figures of a scenario's jobs under a seed."""
    from cloudarena.workloads.jobs.columns import describe

    workload: JobWorkload = scenario.load_workload(seed)  # type: ignore[attr-defined]
    return describe(workload)


def _describe_cloudsimpy(trace: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.jobs.cloudsimpy import load_cloudsimpy
    from cloudarena.workloads.jobs.columns import describe

    return describe(load_cloudsimpy(trace))


def _describe_alibaba2018(trace: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.jobs.alibaba2018 import load_alibaba2018
    from cloudarena.workloads.jobs.columns import describe

    return describe(load_alibaba2018(trace))


def _describe_swf(trace: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.jobs.columns import describe
    from cloudarena.workloads.jobs.swf import load_swf

    return describe(load_swf(trace))


def _describe_borg(trace: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.jobs.borg import load_borg
    from cloudarena.workloads.jobs.columns import describe

    return describe(load_borg(trace))


def _describe_openb(pods: Path, seed: int) -> dict[str, Any]:
    from cloudarena.workloads.jobs.columns import describe
    from cloudarena.workloads.jobs.openb import load_openb_jobs

    return describe(load_openb_jobs(pods))


def _describe_jobs(trace: Path, seed: int) -> dict[str, Any]:
    return describe_files({"jobs": trace})


def convert_cloudsimpy(
    trace: Trace, out: TraceFolder, offset: Offset = 0, jobs: Some = None, as_json: Json = False
) -> None:
    """CloudSimPy's list of jobs, such as Alibaba's of 2017; text ids may tell a DAG.

    Example: cloudarena trace convert cloudsimpy-csv jobs.csv --out alibaba-2017
    """
    from cloudarena.workloads.jobs.cloudsimpy import scan_cloudsimpy

    workload, counts = scan_cloudsimpy(trace)
    _write(workload, counts._asdict(), out, offset, jobs, as_json)


def convert_alibaba2018(
    trace: Trace,
    out: TraceFolder,
    status: Annotated[
        str, typer.Option(help="Takes tasks of this status; 'any' takes all.")
    ] = "Terminated",
    offset: Offset = 0,
    jobs: Some = None,
    as_json: Json = False,
) -> None:
    """The table batch_task of Alibaba's trace of 2018, CSV without header.

    Example: cloudarena trace convert alibaba-2018 batch_task.csv --jobs 1000 --out alibaba-2018
    """
    from cloudarena.workloads.jobs.alibaba2018 import scan_alibaba2018

    workload, counts = scan_alibaba2018(trace, None if status == "any" else status)
    _write(workload, counts._asdict(), out, offset, jobs, as_json)


def convert_swf(
    trace: Trace, out: TraceFolder, offset: Offset = 0, jobs: Some = None, as_json: Json = False
) -> None:
    """A log of the Parallel Workloads Archive in Standard Workload Format.

    Example: cloudarena trace convert swf SDSC-SP2-1998-4.2-cln.swf.gz --out sdsc-sp2
    """
    from cloudarena.workloads.jobs.swf import scan_swf

    workload, counts = scan_swf(trace)
    _write(workload, counts._asdict(), out, offset, jobs, as_json)


def convert_borg(
    trace: Trace, out: TraceFolder, offset: Offset = 0, jobs: Some = None, as_json: Json = False
) -> None:
    """InstanceEvents of Google's Borg trace of 2019, JSON lines.

    Example: cloudarena trace convert borg-2019 instance_events.json.gz --out borg
    """
    from cloudarena.workloads.jobs.borg import scan_borg

    workload, counts = scan_borg(trace)
    _write(workload, counts._asdict(), out, offset, jobs, as_json)


def convert_openb(
    pods: Annotated[Path, typer.Option(metavar="FILE", help="The list of pods, CSV or .csv.gz.")],
    out: TraceFolder,
    offset: Offset = 0,
    jobs: Some = None,
    as_json: Json = False,
) -> None:
    """A list of pods of Alibaba's gpu-v2023 (openb), each a job of one instance.

    Example: cloudarena trace convert openb-jobs --pods openb_pod_list_default.csv --out openb
    """
    from cloudarena.workloads.jobs.openb import scan_openb_jobs

    workload, counts = scan_openb_jobs(pods)
    _write(workload, counts._asdict(), out, offset, jobs, as_json)


def convert_jobs(
    trace: Annotated[Path, typer.Argument(metavar="FILE", help="The table, CSV or Parquet.")],
    out: TraceFolder,
    offset: Offset = 0,
    jobs: Some = None,
    as_json: Json = False,
) -> None:
    """A job trace in neutral form, checked and sorted.

    Example: cloudarena trace convert jobs my-jobs.csv --out my-trace
    """
    from cloudarena.workloads.jobs.files import load_job_file

    workload = load_job_file(trace)
    counts = {"jobs": len(workload.submit), "tasks": len(workload.instances)}
    _write(workload, counts, out, offset, jobs, as_json)


def generate_alibaba_like(
    jobs: Jobs,
    out: TraceFolder,
    seed: Seed = 0,
    rate: Annotated[float, typer.Option(help="How many times as fast as there.")] = 1.0,
    estimates: Estimates = "factor",
    as_json: Json = False,
) -> None:
    """Jobs like Alibaba's batch jobs of 2017, at any size.

    Example: cloudarena trace generate alibaba-like --jobs 1000 --out alibaba-like-1000
    """
    from cloudarena.workloads.jobs.alibaba_like import alibaba_like

    _generated(alibaba_like(jobs, seed, rate), estimates, seed, out, as_json)


def generate_lublin_feitelson(
    jobs: Jobs,
    out: TraceFolder,
    seed: Seed = 0,
    processors: Annotated[int, typer.Option(help="The size of the machine.")] = 128,
    kind: Annotated[str, typer.Option(help="all, batch or interactive.")] = "all",
    rate: Annotated[float, typer.Option(help="How many times as fast as published.")] = 1.0,
    estimates: Estimates = "modal",
    as_json: Json = False,
) -> None:
    """Rigid parallel jobs by the model of Lublin and Feitelson.

    Example: cloudarena trace generate lublin-feitelson --jobs 5000 --out lublin
    """
    from cloudarena.workloads.jobs.lublin import lublin_feitelson

    _generated(lublin_feitelson(jobs, seed, processors, kind, rate), estimates, seed, out, as_json)


def generate_deeprm(
    jobs: Jobs,
    out: TraceFolder,
    seed: Seed = 0,
    rate: Annotated[float, typer.Option(help="The probability of a job in a step.")] = 0.7,
    step_seconds: Annotated[float, typer.Option(help="The length of a step.")] = 1.0,
    estimates: Estimates = "factor",
    as_json: Json = False,
) -> None:
    """The short and long jobs of DeepRM, each hungry for cpu or for memory.

    Example: cloudarena trace generate deeprm --jobs 35 --out deeprm
    """
    from cloudarena.workloads.jobs.deeprm import deeprm

    _generated(deeprm(jobs, seed, rate, step_seconds=step_seconds), estimates, seed, out, as_json)


def generate_tpch_like(
    jobs: Jobs,
    out: TraceFolder,
    seed: Seed = 0,
    mean_gap: Annotated[float, typer.Option(help="Seconds between jobs on average.")] = 25.0,
    estimates: Estimates = "factor",
    as_json: Json = False,
) -> None:
    """DAGs of stages like TPC-H queries of several sizes.

    Example: cloudarena trace generate tpch-like --jobs 200 --out tpch
    """
    from cloudarena.workloads.jobs.tpch_like import tpch_like

    _generated(tpch_like(jobs, seed, mean_gap), estimates, seed, out, as_json)


CONVERTERS: Mapping[str, Callable[..., None]] = {
    "cloudsimpy-csv": convert_cloudsimpy,
    "alibaba-2018": convert_alibaba2018,
    "swf": convert_swf,
    "borg-2019": convert_borg,
    "openb-jobs": convert_openb,
    "jobs": convert_jobs,
}
DESCRIBERS: Mapping[str, Callable[[Path, int], dict[str, Any]]] = {
    "cloudsimpy-csv": _describe_cloudsimpy,
    "alibaba-2018": _describe_alibaba2018,
    "swf": _describe_swf,
    "borg-2019": _describe_borg,
    "openb-jobs": _describe_openb,
    "jobs": _describe_jobs,
}
GENERATORS: Mapping[str, Callable[..., None]] = {
    "alibaba-like": generate_alibaba_like,
    "lublin-feitelson": generate_lublin_feitelson,
    "deeprm": generate_deeprm,
    "tpch-like": generate_tpch_like,
}


NOBODY = {"users": "not told: one user for all", "gang_tasks": "not told: none"}
NO_EDGES = {"edges": "not told: none"}
NOT_TOLD: Mapping[str, Mapping[str, str]] = {
    "cloudsimpy-csv": NOBODY,
    "alibaba-2018": NOBODY,
    "swf": {"gang_tasks": "set: the processors of a job start together", **NO_EDGES},
    "borg-2019": {**NOBODY, **NO_EDGES},
    "openb-jobs": {**NOBODY, **NO_EDGES},
    "openb": {**NOBODY, **NO_EDGES},
}
"""What formats and sources do not tell, by figure."""


def not_told(name: str, seed: int) -> dict[str, str]:
    """The figures that a format or a source of specs does not tell, and where they come from."""
    if name in GENERATORS:
        return {"all": f"drawn by the generator {name} under seed {seed}"}
    return dict(NOT_TOLD.get(name, {}))


def _generated(workload: JobWorkload, estimates: str, seed: int, out: Path, as_json: bool) -> None:
    from cloudarena.workloads.jobs.estimates import with_estimates

    counts = {"jobs": len(workload.submit), "tasks": len(workload.instances)}
    whole = with_estimates(workload, estimates, seed)  # type: ignore[arg-type]
    _write(whole, counts, out, 0, None, as_json)


def _write(
    workload: JobWorkload,
    counts: Mapping[str, int],
    out: Path,
    offset: int,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Writes the wanted jobs, and says what was made, and where."""
    from cloudarena.workloads.jobs.columns import slice_jobs
    from cloudarena.workloads.jobs.files import write_job_files

    chosen = slice_jobs(workload, offset, jobs)
    write_job_files(chosen, out)
    summary = {**counts, "written_jobs": len(chosen.submit)}
    summary["written_instances"] = int(chosen.instances.sum())
    if as_json:
        print_json({**summary, "out": str(out)})
        return
    for name, value in summary.items():
        people().print(f"{name.replace('_', ' ')}: {value:,}", highlight=False)
    people().print(f"wrote {out}/jobs.parquet", highlight=False)
