"""The decisions of a run are a table; as a file they can be replayed, changed, or brought along."""

import tempfile
from pathlib import Path

import cloudarena


def main() -> None:
    """Runs, replays, and replays with one decision changed."""
    scenario = cloudarena.load("vm/azure-like-10k", {"ticks": 200})
    first = cloudarena.simulate(scenario, "random", seed=3)
    with tempfile.TemporaryDirectory() as folder:
        first.save(folder)
        again = cloudarena.simulate(scenario, f"replay:{folder}/decisions.parquet", seed=3)
        rows = first.tables["decisions"].select(["vm", "machine", "action"]).to_pylist()
        rows[0] |= {"machine": "", "action": "refuse"}
        lines = [f"{row['vm']},{row['machine']},{row['action']}" for row in rows]
        changed = Path(folder) / "changed.csv"
        changed.write_text("vm,machine,action\n" + "\n".join(lines) + "\n")
        other = cloudarena.simulate(scenario, f"replay:{changed}", seed=3)
    print("replay equals the run:", again.metrics == first.metrics)
    print("with the first VM refused:", first.metrics["refused"], "->", other.metrics["refused"])


if __name__ == "__main__":
    main()
