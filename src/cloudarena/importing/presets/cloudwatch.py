"""CloudWatch: ``get-metric-statistics`` and ``get-metric-data``, in no order of time.

Sums over a period, such as RequestCount of a load balancer or Invocations of a function, become a
series of requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cloudarena.base.errors import TraceError
from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import Column
from cloudarena.importing.sheet import sheet_of_records

DESCRIPTION = (
    "CloudWatch: get-metric-statistics or get-metric-data of a count, such as RequestCount"
)
STATISTICS = ("Sum", "SampleCount", "Average", "Maximum")


def recognises(file: File) -> bool:
    """Recognises the answer by its keys."""
    return file.holds("Datapoints") or file.holds("MetricDataResults")


def read(files: Sequence[File]) -> Found:
    """The series, all results added up."""
    records = [record for file in files for record in _points(file)]
    if not records:
        raise TraceError(f"{files[0].path}: has no data points")
    units = {record["unit"] for record in records}
    if "Percent" in units:
        raise TraceError(
            f"{files[0].path}: a utilisation in per cent is not allowed: a count of requests. "
            "How busy instances are is said with their list: import what aws ec2 "
            "describe-instances prints, and set workload.cpu_percent"
        )
    statistic = {record["statistic"] for record in records}
    notes: tuple[str, ...] = ()
    if statistic & {"Average", "Maximum"}:
        notes = ("an average or a maximum is taken for a count: ask CloudWatch for the Sum",)
    sheet = sheet_of_records(files[0].path, records, remarks=("data points of CloudWatch",))
    return Found(sheet, "tiers", {"time": Column("time"), "count": Column("value")}, notes=notes)


def _points(file: File) -> Iterator[dict[str, Any]]:
    if file.holds("Datapoints"):
        for point in file.document["Datapoints"]:
            name = next((one for one in STATISTICS if one in point), None)
            if name is None:
                raise TraceError(f"{file.path}: a data point has none of {', '.join(STATISTICS)}")
            yield {
                "time": point.get("Timestamp"),
                "value": point[name],
                "unit": point.get("Unit"),
                "statistic": name,
            }
        return
    for result in file.document["MetricDataResults"]:
        pairs = zip(result.get("Timestamps", []), result.get("Values", []), strict=False)
        for time, value in pairs:
            yield {"time": time, "value": value, "unit": None, "statistic": "Sum"}
