"""A trace of one's own: VMs from a table, as a spec that runs.

The canonical format is a table of VMs and one of readings, CSV or Parquet; `cloudarena trace
convert files` checks them. Here they are written by hand.
"""

import tempfile
from pathlib import Path

import cloudarena

COLUMNS = (
    "vmid,subscriptionid,deploymentid,vmcreated,vmdeleted,vmcategory,"
    "vmcorecountbucket,vmmemorybucket,lifetime"
)
ROWS = ("1,0,0,0,5,2,2,4,5", "2,0,0,0,8,1,4,8,8", "3,0,0,2,6,2,4,8,4", "4,0,0,3,9,0,2,4,6")
READINGS = "timestamp,vmid,maxcpu\n" + "".join(
    f"{tick},{vm},{50 if vm % 2 else 80}\n"
    for vm, start, end in ((1, 0, 5), (2, 0, 8), (3, 2, 6), (4, 3, 9))
    for tick in range(start, end)
)


def main() -> None:
    """Runs two policies on the trace."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "vms.csv").write_text("\n".join((COLUMNS, *ROWS)) + "\n")
        (folder / "readings.csv").write_text(READINGS)
        spec = {
            "scenario": "vm",
            "ticks": 12,
            "machines": [{"count": 2, "cores": 8, "memory_gb": 16}],
            "workload": {"source": "files", "vmtable": "vms.csv", "readings": "readings.csv"},
        }
        scenario = cloudarena.load(spec, folder=folder)
        for policy in ("best-fit", "worst-fit"):
            result = cloudarena.simulate(scenario, policy)
            rows = result.tables["vms"].select(["vm", "machine", "outcome"]).to_pylist()
            print(policy, [(row["vm"], row["machine"], row["outcome"]) for row in rows])


if __name__ == "__main__":
    main()
