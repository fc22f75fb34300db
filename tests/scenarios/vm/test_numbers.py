"""One number for a VM: in decisions, tables, replay files and messages, whatever a trace's ids."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import cloudarena
from cloudarena.contract import Result
from cloudarena.scenarios.vm import POLICIES, REFUSE, VmDecision, VmScenario, postpone

from .clouds import cloud, column, vm

COUNT = 30
DAY = datetime.datetime(2019, 1, 1)
ODD_IDS: dict[str, tuple[list[Any], pa.DataType, bool]] = {
    "from one": (list(range(1, COUNT + 1)), pa.int64(), True),
    "not in order": ([(7 * k) % 31 for k in range(COUNT)], pa.int64(), True),
    "negative": ([-k for k in range(COUNT)], pa.int64(), True),
    "large": ([2**62 + k for k in range(COUNT)], pa.int64(), True),
    "small type": (list(range(COUNT)), pa.uint8(), True),
    "unsigned": ([2**40 + k for k in range(COUNT)], pa.uint64(), True),
    "beyond 64 bits with a sign": ([2**63 + k for k in range(COUNT)], pa.uint64(), False),
    "names": ([f'vm, "{k}" of ü\'s' for k in range(COUNT)], pa.string(), False),
    "digits as text": ([str(COUNT - k) for k in range(COUNT)], pa.string(), False),
    "leading zeros": ([f"{COUNT - k:05}" for k in range(COUNT)], pa.string(), False),
    "large text": ([f"v{k}" for k in range(COUNT)], pa.large_string(), False),
    "dictionary": ([f"v{k}" for k in range(COUNT)], pa.dictionary(pa.int8(), pa.string()), False),
    "fractions": ([k / 4 for k in range(COUNT)], pa.float64(), False),
    "times": ([DAY + datetime.timedelta(k) for k in range(COUNT)], pa.timestamp("s"), False),
}


def with_ids(folder: Path, values: list[Any], kind: pa.DataType) -> VmScenario:
    """A crowded cloud whose VMs have these ids, from files."""
    ids = pa.array(values).cast(kind) if pa.types.is_dictionary(kind) else pa.array(values, kind)
    created = np.arange(COUNT) // 3
    vmtable = {
        "vmid": ids,
        "subscriptionid": np.zeros(COUNT, np.int64),
        "deploymentid": np.zeros(COUNT, np.int64),
        "vmcreated": created,
        "vmdeleted": created + 3,
        "vmcategory": np.arange(COUNT) % 3,
        "vmcorecountbucket": 1.0 + np.arange(COUNT) % 2,
        "vmmemorybucket": np.ones(COUNT),
        "lifetime": np.full(COUNT, 4),
    }
    readings = {"timestamp": created, "vmid": ids, "maxcpu": np.full(COUNT, 50.0)}
    pq.write_table(pa.table(vmtable), folder / "vmtable.parquet")
    pq.write_table(pa.table(readings), folder / "readings.parquet")
    return cloudarena.load(
        {
            "scenario": "vm",
            "ticks": 20,
            "machines": [{"count": 4, "cores": 4, "memory_gb": 16}],
            "buffer": {"budget_ticks": 6},
            "decide_when_full": True,
            "off_after_ticks": 2,
            "workload": {
                "source": "files",
                "vmtable": str(folder / "vmtable.parquet"),
                "readings": str(folder / "readings.parquet"),
            },
        }
    )


def played(scenario: VmScenario) -> tuple[Result, list[tuple[int, int]]]:
    """A run that places, puts off and refuses, and the log of the policy: tick and VM."""
    rng, log = np.random.default_rng(1), []

    def decide(decision: VmDecision) -> int:
        log.append((decision.request.tick, decision.request.vm))
        if rng.random() < 0.1:
            return REFUSE
        if rng.random() < 0.2 or not decision.valid.any():
            return postpone(1)
        return int(rng.choice(np.flatnonzero(decision.valid)))

    return cloudarena.simulate(scenario, decide), log


@pytest.mark.parametrize("name", ODD_IDS)
def test_every_trace_that_is_read_can_be_replayed(name: str, tmp_path: Path) -> None:
    values, kind, _ = ODD_IDS[name]
    scenario = with_ids(tmp_path, values, kind)
    result, _ = played(scenario)
    assert set(column(result, "action", "decisions")) == {"place", "postpone", "refuse"}
    result.save(tmp_path)
    pacsv.write_csv(result.tables["decisions"], tmp_path / "decisions.csv")
    for form in ("parquet", "csv"):
        again = cloudarena.simulate(scenario, f"replay:{tmp_path}/decisions.{form}")
        assert again.metrics == result.metrics
        assert again.tables == result.tables


@pytest.mark.parametrize("name", ODD_IDS)
def test_a_log_of_a_policy_joins_the_tables(name: str, tmp_path: Path) -> None:
    values, kind, are_numbers = ODD_IDS[name]
    result, log = played(with_ids(tmp_path, values, kind))
    decisions = result.tables["decisions"]
    assert log == list(zip(decisions["tick"].to_pylist(), decisions["vm"].to_pylist(), strict=True))
    vms = result.tables["vms"]
    assert vms["id"].to_pylist() == values
    assert vms["vm"].to_pylist() == (values if are_numbers else list(range(COUNT)))
    arrival = dict(zip(vms["vm"].to_pylist(), vms["arrival"].to_pylist(), strict=True))
    assert set(arrival) == {number for _, number in log}
    first = {number: tick for tick, number in reversed(log)}
    assert first == arrival  # each VM is asked about when it comes


def test_the_vm_of_a_decision_is_the_vm_of_the_tables_of_a_spec() -> None:
    # A23 of the audit: the first VM was 0 in the decision and 1 in the tables.
    scenario = cloud(vm(0, 2), vm(1, 2))
    run = scenario.start()
    seen = []
    while (decision := run.decision) is not None:
        seen.append(decision.request.vm)
        run.apply(0)
    assert seen == column(run.result(), "vm") == column(run.result(), "vm", "decisions") == [1, 2]


def test_messages_name_the_vm_by_its_number_and_its_id(tmp_path: Path) -> None:
    numbered = cloud(vm(0, 9, cores=3), vm(0, 9, cores=2), decide_when_full=True).start()
    numbered.apply(0)
    with pytest.raises(cloudarena.InvalidAction, match=r"not allowed for VM 2: 2 cores"):
        numbered.apply(0)
    values, kind, _ = ODD_IDS["leading zeros"]
    run = with_ids(tmp_path, values, kind).start()
    run.apply(0)
    with pytest.raises(cloudarena.InvalidAction, match=r"not allowed for VM 1 \('00029'\): it"):
        run.apply(0)


def test_a_replay_file_may_name_vms_by_their_ids(tmp_path: Path) -> None:
    values, kind, _ = ODD_IDS["names"]
    scenario = with_ids(tmp_path, values, kind)
    result, _ = played(scenario)
    decisions = result.tables["decisions"]
    ids = [values[number] for number in decisions["vm"].to_pylist()]
    by_id = decisions.drop_columns(["vm"]).append_column("id", pa.array(ids))
    pq.write_table(by_id, tmp_path / "by-id.parquet")
    again = cloudarena.simulate(scenario, f"replay:{tmp_path}/by-id.parquet")
    assert again.tables == result.tables


def test_a_run_without_decisions_can_be_replayed(tmp_path: Path) -> None:
    scenario = cloud(vm(0, 1, cores=9), vm(1, 1, cores=9))
    result = cloudarena.simulate(scenario, "best-fit")
    assert len(result.tables["decisions"]) == 0
    result.save(tmp_path)
    again = cloudarena.simulate(scenario, f"replay:{tmp_path}/decisions.parquet")
    assert again.tables == result.tables


def test_the_oracle_finds_its_vms_by_their_numbers(tmp_path: Path) -> None:
    results = {
        name: cloudarena.simulate(with_ids(tmp_path, *ODD_IDS[name][:2]), "oracle-ilp")
        for name in ("from one", "not in order", "names")
    }
    machines = {name: column(result, "machine") for name, result in results.items()}
    assert machines["from one"] == machines["not in order"] == machines["names"]


def test_all_policies_decide_alike_whatever_the_ids(tmp_path: Path) -> None:
    for name in POLICIES.array_names():
        machines = [
            column(cloudarena.simulate(with_ids(tmp_path, *ODD_IDS[ids][:2]), name), "machine")
            for ids in ("negative", "large", "names")
        ]
        assert machines[0] == machines[1] == machines[2], name
