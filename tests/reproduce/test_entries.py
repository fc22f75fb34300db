"""Every entry of ``cloudarena reproduce`` in quick settings, smaller where that is needed."""

import gzip
import json

import numpy as np
import pytest
from benchmarks import thesis as tables

from cloudarena.base.statistics import Estimate
from cloudarena.reproduce import (
    NAMES,
    azure_rows,
    batch_logs,
    braun,
    deepjs,
    entry_of,
    faas_energy,
    lets_wait_awhile,
    maro,
    rlscheduler,
    simfaas,
    spane,
    theory,
    thesis,
)
from cloudarena.reproduce.entry import Settings, claimed, exact, measured, number, rival, shown

DATA = {"rlscheduler", "deepjs", "lets-wait-awhile", "spane", "fgd"}


def verdicts(rows):
    return {row.verdict for row in rows}


def test_verdicts():
    assert exact("a", 1.0, 1.004, 0.01).verdict == "agrees"
    assert exact("a", 1.0, 1.02, 0.01).verdict == "differs"
    assert measured("a", 3.0, number(2.0)).verdict == "differs"
    assert claimed("a", "above 0", number(2.0), True).verdict == "agrees"
    near, far = Estimate(2.0, 1.0, 3.0), Estimate(2.0, 1.5, 2.5)
    assert rival("a", 3.0, near).verdict == "agrees"
    assert rival("a", 3.0, far).verdict == "better"
    assert rival("a", 3.0, far, lower=False).verdict == "worse"
    assert rival("a", 1.0, far).verdict == "worse"
    assert rival("a", 1.0, far, lower=False).verdict == "better"
    assert rival("a", 2.0, number(2.0)).verdict == "agrees"
    assert [shown(value) for value in (None, "x", 1234.5, 0.01234, 3.0, float("nan"))] == [
        "", "x", "1,234.50", "0.01234", "3", "\N{EN DASH}",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_says_where_it_comes_from_and_what_is_done(name):
    entry = entry_of(name)
    assert entry.name == name
    assert len(entry.source) > 20
    assert len(entry.protocol) > 60


@pytest.mark.parametrize("name", sorted(DATA))
def test_without_data_an_entry_says_what_to_download(name, tmp_path):
    for data in (None, tmp_path):
        found = entry_of(name).run(Settings(data=data))
        assert not found.rows
        assert "--data" in found.missing


def test_theory_agrees(monkeypatch):
    monkeypatch.setattr(theory, "QUICK", 3)
    monkeypatch.setattr(theory, "SHARED", 600)
    monkeypatch.setattr(theory, "COLD", 100)
    rows = entry_of("theory").run(Settings()).rows
    assert verdicts(rows) == {"agrees"}
    words = " ".join(row.cell for row in rows)
    for name in ("M/M/1,", "M/M/1/5", "M/M/3", "Erlang B", "M/G/1", "sharing", "Jackson", "Little"):
        assert name in words


def test_rows_of_azure():
    rows = azure_rows.rows_of({"10k": 2})
    assert len(rows) == 10
    assert [row.published for row in rows[:8:2]] == [9850, 10_000, 8011, 7917]


@pytest.mark.parametrize(("spread", "verdict"), [(50, "differs"), (1, "agrees")])
def test_who_allocates_more_is_said_by_the_whole_interval(monkeypatch, spread, verdict):
    def counts(wanted, seeds):
        more = {"random": 94.0, "best-fit": 0.0}
        return {
            row: np.array(
                [[8000 + more[row[2]] + s, 7000] for s in (spread * sign, -spread * sign)]
            )
            for row in wanted
            for sign in [1 if row[2] == "random" else -1]
        }

    monkeypatch.setattr(azure_rows, "run_rows", counts)
    rows = {row.cell: row for row in azure_rows.rows_of({"10k": 2})}
    row = rows["10k, 16 cores: random less best-fit"]
    assert (row.ours, row.verdict) == (94.0, verdict)
    assert rows["10k, 32 cores: random less best-fit"].verdict == "differs"


def test_a_log_has_a_row_for_each_published_figure(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    submit = np.cumsum(rng.integers(1, 400, 200))
    lines = [
        f"{k} {when} -1 {rng.integers(20, 4000)} {rng.integers(1, 64)} -1 -1 -1 4000 -1 1 "
        f"{k % 5} 1 1 1 1 -1 -1"
        for k, when in enumerate(submit, 1)
    ]
    log = batch_logs.LOGS[0]
    with gzip.open(tmp_path / f"{log.file}.gz", "wt") as file:
        file.write("; MaxProcs: 256\n" + "\n".join(lines) + "\n")
    for module in (batch_logs, rlscheduler):
        monkeypatch.setattr(module, "LOGS", (log,))
        monkeypatch.setattr(module, "JOBS", 50)
    monkeypatch.setattr(batch_logs, "FIRST_JOBS", (0, 20))
    rows = entry_of("rlscheduler").run(Settings(data=tmp_path)).rows
    assert [row.published for row in rows[:5]] == list(batch_logs.PUBLISHED["Lublin-1", "none"])
    assert sum("right wait" in row.cell for row in rows) == 4
    assert sum("network" in row.cell for row in rows) == 4
    assert sum("20 windows" in row.cell for row in rows) == 2


def test_order_of_the_heuristics():
    rows = braun.class_rows("consistent-high-high", (*braun.LIST, "ga"), 3)
    assert verdicts(rows) == {"agrees", "ours only"}


def test_chunks_of_ten_jobs(tmp_path):
    spec = {**deepjs.spec_of(tmp_path), "workload": {"source": "alibaba-like", "jobs": 40}}
    chunks = deepjs.Chunks(spec)
    rows = deepjs.rows_of(chunks, range(4))
    assert len(rows) == 6 + 6 + 4
    bound = next(row for row in rows if "bound" in row.cell)
    assert all(row.ours >= bound.ours for row in rows if row.cell.startswith("mean makespan"))


def test_the_numa_node_and_its_leases():
    rows = entry_of("numa").run(Settings()).rows
    assert len(rows) == 20
    assert verdicts(rows) == {"agrees"}


def huawei_like(folder, vms=400):
    """A table of VMs and two first rows, as SPANE's repository has them."""
    rng = np.random.default_rng(0)
    at = np.cumsum(rng.integers(1, 30, vms))
    cores, memory = rng.choice([1, 2, 4, 8], vms), rng.choice([2, 8, 16, 32], vms)
    life = rng.integers(50, 5000, vms)
    lines = [f"{k},{cores[k]},{memory[k]},{at[k]},{life[k]}" for k in range(vms)]
    with gzip.open(folder / f"{spane.TABLE}.gz", "wt") as file:
        file.write("vmid,cpu,mem,at,lt\n" + "\n".join(lines) + "\n")
    np.save(folder / spane.STARTS, np.array([0, 50]))


def test_episodes_on_numa_servers(tmp_path):
    huawei_like(tmp_path)
    rows = entry_of("spane").run(Settings(data=tmp_path)).rows
    trimmed = [row for row in rows if "trimmed" in row.cell]
    assert [row.published for row in trimmed] == [89822.5225, 86009.90875, 63697, 63697, 63697]
    assert all(row.low <= row.ours <= row.high for row in rows)
    assert sum("plain" in row.cell for row in rows) == 5


def test_an_episode_by_hand():
    """Two servers of 80 cores: four VMs of a node each fit, and the fifth does not."""
    trace = spane.Trace(np.full(60, 40.0), np.full(60, 8.0), np.arange(60), np.full(60, 100))
    assert spane.episode_vms(trace, 2, 0) == 4 + spane.MORE_VMS
    scenario, work = spane.scenario_of(2), spane.episode(trace, 0, 6)
    # The fifth and sixth come at 4 and 5, and the first two leave at 100 and 101.
    for policy in (*spane.BASELINES, *spane.RULES):
        assert spane.total_wait(scenario, work, policy) == 96 + 96


def test_parts_of_the_thesis():
    rows = [*thesis.ordinal_rows(2), *thesis.metric_rows(False)]
    wrong = [row.cell for row in rows if row.verdict == "differs"]
    assert wrong == ["layers of the rough evaluations"]


def test_figures_of_the_thesis():
    figures = thesis.figures
    rows = figures.tier_rows(3) + figures.similarity_rows() + figures.weight_rows()
    assert verdicts(rows) == {"agrees", "ours only"}
    error = next(row for row in rows if "median error" in row.cell)
    assert 0.0 < error.ours < 0.15
    slow = figures.sla_rows(3)
    assert [row.verdict for row in slow] == ["ours only", "ours only", "agrees", "ours only"]
    search = figures.search_rows((16,), 3)
    assert verdicts(search) == {"agrees", "ours only"}
    selected = [row.ours for row in search[::3]]
    assert selected == sorted(selected)


def test_reduced_metrics_of_the_thesis():
    rows = thesis.figures.metric_rows(2, 60, 12)
    needed = [row.ours for row in rows if "table 7.4" in row.cell]
    assert needed == sorted(needed)
    assert len(needed) == 8
    (fuller,) = thesis.figures.f_test_rows(3)
    assert fuller.ours > 0.0  # exchange leaves less
    assert all(row.ours < 0.0 for row in thesis.figures.failure_rows(3))


def test_the_tables_of_the_thesis_are_the_same_measures(monkeypatch):
    monkeypatch.setattr(tables, "VMS", (8,))
    monkeypatch.setattr(tables, "PROPER", 50)
    hour = tables.predicted_response(3).splitlines()[2].split("|")
    rows = thesis.figures.tier_rows(3)
    error, correlation = (
        next(row.ours for row in rows if words in row.cell)
        for words in ("median error", "correlation of predicted")
    )
    assert hour[3].split()[0] == f"{100.0 * error:.3g}"
    assert hour[4].split()[0] == f"{correlation:.3g}"
    wanted = [int(line.split("|")[4]) for line in tables.selected(1).splitlines()[2:]]
    assert wanted == sorted(wanted)
    assert wanted[0] >= 1
    assert {len(line.split("|")) for line in tables.similarity(1).splitlines()} == {15}


@pytest.mark.slow
def test_deciders_of_the_thesis():
    assert verdicts([*thesis.decider_rows(False), *thesis.provisioning_rows(3)]) == {"agrees"}


def test_simfaas(monkeypatch):
    monkeypatch.setattr(simfaas, "QUICK", (1e5, 3))
    assert verdicts(entry_of("simfaas").run(Settings()).rows) == {"agrees"}


def test_the_energy_study_says_why_it_differs():
    found = entry_of("faas-energy").run(Settings())
    assert len(found.rows) == 4 * len(faas_energy.POWER_W)
    assert any("logs the node" in line for line in found.why)


def test_waiting_for_clean_electricity_saves_more_in_parts():
    hours = np.arange(366 * 48) / 2
    carbon = 300.0 + 100.0 * np.sin(2 * np.pi * hours / 24) + 20.0 * np.sin(hours / 7)
    whole, parts = (lets_wait_awhile.emitted(carbon, carbon, "semi-weekly", p) for p in (0, 1))
    base = lets_wait_awhile.emitted(carbon, carbon, "", False)
    assert parts < whole < base


def test_deadlines_by_hand():
    monday = 5 * 48  # 6 January 2020
    nine, ten, eighteen = 18, 20, 36
    assert lets_wait_awhile.semi_weekly(monday + nine) == monday + nine
    assert lets_wait_awhile.semi_weekly(monday + ten) == monday + 3 * 48 + nine
    assert lets_wait_awhile.semi_weekly(monday + 3 * 48 + ten) == monday + 7 * 48 + nine
    assert lets_wait_awhile.next_workday(monday + ten) == monday + ten
    assert lets_wait_awhile.next_workday(monday + eighteen) == monday + 48 + nine
    assert lets_wait_awhile.next_workday(monday + 5 * 48) == monday + 7 * 48 + nine


def test_learned_placement(monkeypatch):
    monkeypatch.setitem(maro.SCENARIOS, "10k", ("vm/azure-like-10k-16c", {}, 2))
    rows = entry_of("maro").run(Settings()).rows
    assert [row.published for row in rows] == ["no learner above 0", None]


def test_the_command(cloudarena, tmp_path):
    code, out, _ = cloudarena("reproduce", "numa", "--json")
    assert code == 0
    (one,) = json.loads(out)
    assert list(one) == ["name", "rows"]
    assert one["name"] == "numa"
    assert list(one["rows"][0]) == ["cell", "published", "ours", "low", "high", "verdict"]
    code, out, err = cloudarena("reproduce", "deepjs", "--json")
    assert (code, json.loads(out)) == (0, [{"name": "deepjs", "rows": []}])
    assert "deepjs: not run; download: alibaba-2017-jobs.csv" in err
    page = tmp_path / "page.md"
    code, out, _ = cloudarena("reproduce", "numa", "deepjs", "--out", page)
    assert code == 0
    assert "Download" in out
    assert "## numa" in page.read_text()
    code, _, err = cloudarena("reproduce", "nume")
    assert code == 2
    assert err.count("\n") == 1
    assert "NAME: 'nume' is not allowed" in err
    code, _, err = cloudarena("reproduce", "numa", "--data", tmp_path / "none")
    assert code == 2
    assert "--data" in err
