"""``cloudarena trace`` for VM traces: their formats, their generators, their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli.options import Json, Seed, TraceFolder, notices, people, print_json

if TYPE_CHECKING:
    from cloudarena.contract import Scenario

KIND = "vm"
FILES: Sequence[str] = ("vmtable", "readings")

Vmtable = Annotated[Path, typer.Option(metavar="FILE", help="The table of VMs, CSV or .csv.gz.")]


def describe_files(files: Mapping[str, Path]) -> dict[str, Any]:
    """The figures of a trace in neutral form, and how its readings fit its VMs."""
    from cloudarena.workloads.vm.columns import describe, fill_gaps
    from cloudarena.workloads.vm.files import scan_vm_files

    workload, counts = scan_vm_files(files["vmtable"], files["readings"])
    fill_gaps(workload.first_reading, workload.lifetime, workload.readings)
    return {**describe(workload), **counts._asdict()}


def describe_scenario(scenario: Scenario, seed: int) -> dict[str, Any]:
    """The figures of a scenario's VMs under a seed."""
    from cloudarena.scenarios.vm.spec import VmScenario
    from cloudarena.workloads.vm.columns import describe

    assert isinstance(scenario, VmScenario)
    return describe(scenario.load_workload(seed))


def convert_azure_v2(
    vmtable: Vmtable,
    readings: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Readings: files, or folders of files.")
    ],
    out: TraceFolder,
    more_readings: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="More readings.", show_default=False),
    ] = None,
    vms: Annotated[int | None, typer.Option(min=1, help="Takes a sample of so many VMs.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """AzurePublicDatasetV2: its vmtable and its readings, CSV without header or .csv.gz.

    Example: cloudarena trace convert azure-v2 --vmtable vmtable.csv.gz --readings cpu/ --out azure
    """
    from cloudarena.workloads.vm import azure_v2

    files = [*readings, *(more_readings or ())]
    done = azure_v2.convert_azure_v2(vmtable, files, out, vms, seed)
    summary = {"vms": done.vms, "dropped_rows": done.dropped_rows}
    _report({**summary, **done.readings._asdict()}, out, as_json)


def convert_openb(
    pods: Annotated[Path, typer.Option(metavar="FILE", help="The list of pods, CSV or .csv.gz.")],
    out: TraceFolder,
    tick_seconds: Annotated[float, typer.Option(help="The length of a tick.")] = 300.0,
    cpu_percent: Annotated[float, typer.Option(help="How busy every VM is, always.")] = 50.0,
    as_json: Json = False,
) -> None:
    """A list of pods of Alibaba's gpu-v2023 (openb), with one constant CPU utilisation.

    Example: cloudarena trace convert openb --pods openb_pod_list_default.csv --out openb
    """
    from cloudarena.workloads.vm import openb

    done = openb.convert_openb(pods, out, tick_seconds, cpu_percent)
    _report(done._asdict(), out, as_json)


def convert_maro(
    out: TraceFolder,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A config.yml: its machines, rules, prices, files."),
    ] = None,
    vmtable: Annotated[
        Path | None, typer.Option(metavar="FILE", help="vmtable.bin, if not the config's.")
    ] = None,
    readings: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Readings, if not the config's: .bin files or folders."),
    ] = None,
    ticks: Annotated[int, typer.Option(min=1, help="How long a scenario of the config runs.")] = (
        8638
    ),
    as_json: Json = False,
) -> None:
    """A topology and binary trace of MARO's vm_scheduling, as a scenario and a trace.

    Example: cloudarena trace convert maro --config config.yml --out azure-10k
    """
    import yaml

    from cloudarena.base.errors import CloudarenaError
    from cloudarena.scenarios.vm.spec import VmScenario
    from cloudarena.workloads.vm.files import write_vm_files
    from cloudarena.workloads.vm.maro import scan_maro
    from cloudarena.workloads.vm.maro_config import read_config

    topology = None if config is None else read_config(config, ticks)
    table = vmtable or (topology.vmtable if topology else None)
    files = readings or (topology.readings if topology else ())
    if table is None or not files:
        raise CloudarenaError("which trace? Give --config, or --vmtable and --readings")
    texts = {}
    if topology is not None:
        trace = {"source": "files", "vmtable": "vmtable.parquet", "readings": "readings.parquet"}
        spec = {**topology.spec, "workload": trace}
        VmScenario.parse(spec, str(config))
        texts = {"scenario.yaml": yaml.safe_dump(spec, sort_keys=False)}
    workload, counts = scan_maro(table, files)
    write_vm_files(workload, out, texts)
    notes = topology.notes if topology else ()
    for note in notes:
        notices().print(f"note: {note}", highlight=False)
    _report({"vms": len(workload.created), **counts._asdict()}, out, as_json)


def convert_files(
    vmtable: Vmtable,
    readings: Annotated[Path, typer.Option(metavar="FILE", help="The readings.")],
    out: TraceFolder,
    as_json: Json = False,
) -> None:
    """A trace in neutral form as CSV, checked; readings that do not count are left out.

    Example: cloudarena trace convert files --vmtable vms.csv --readings cpu.csv --out my-trace
    """
    from cloudarena.workloads.vm.files import scan_vm_files, write_vm_files

    workload, counts = scan_vm_files(vmtable, readings)
    write_vm_files(workload, out)
    _report({"vms": len(workload.created), **counts._asdict()}, out, as_json)


def generate_azure_like(
    vms: Annotated[int, typer.Option(help="How many VMs arrive.")],
    out: TraceFolder,
    seed: Seed = 0,
    concurrent: Annotated[
        float | None, typer.Option(help="How many are alive on average; 8.4 % by default.")
    ] = None,
    cpu_percent: Annotated[float | None, typer.Option(help="The mean CPU reading.")] = None,
    ticks: Annotated[int | None, typer.Option(help="The length; a month by default.")] = None,
    as_json: Json = False,
) -> None:
    """VMs like those of Azure's trace of 2019, at any size.

    Example: cloudarena trace generate azure-like --vms 10000 --seed 0 --out azure-like-10k
    """
    from pydantic import ValidationError

    from cloudarena.base.errors import SpecError, explain
    from cloudarena.scenarios.vm.sources import AzureLike
    from cloudarena.workloads.vm.files import write_vm_files

    wanted = {"vms": vms, "concurrent": concurrent, "cpu_percent": cpu_percent, "ticks": ticks}
    given = {name: value for name, value in wanted.items() if value is not None}
    try:
        law = AzureLike.model_validate({"source": "azure-like", **given})
    except ValidationError as error:
        raise SpecError(explain(error.errors(include_url=False))) from None
    workload = law.load(seed)
    write_vm_files(workload, out)
    _report({"vms": vms, "readings": len(workload.readings)}, out, as_json)


DESCRIBERS: Mapping[str, Callable[[Path, int], dict[str, Any]]] = {}
"""A table of VMs says little without its readings, which are other files."""
CONVERTERS: Mapping[str, Callable[..., None]] = {
    "azure-v2": convert_azure_v2,
    "maro": convert_maro,
    "openb": convert_openb,
    "files": convert_files,
}
GENERATORS: Mapping[str, Callable[..., None]] = {"azure-like": generate_azure_like}


CONSTANT = "set: every VM uses the same share of its cores, always"
NOT_TOLD: Mapping[str, Mapping[str, str]] = {
    "openb": {"readings": CONSTANT, "cpu_percent_mean": CONSTANT, "categories": "set: by qos"},
}
"""What sources do not tell, by figure."""


def not_told(name: str, seed: int) -> dict[str, str]:
    """The figures that a source of specs does not tell, and where they come from."""
    if name in GENERATORS:
        return {"all": f"drawn by the generator {name} under seed {seed}"}
    return dict(NOT_TOLD.get(name, {}))


def _report(summary: Mapping[str, int], out: Path, as_json: bool) -> None:
    """Says what was made, and where."""
    if as_json:
        print_json({**summary, "out": str(out)})
        return
    for name, value in summary.items():
        people().print(f"{name.replace('_', ' ')}: {value:,}", highlight=False)
    people().print(f"wrote {out}/vmtable.parquet and {out}/readings.parquet", highlight=False)
