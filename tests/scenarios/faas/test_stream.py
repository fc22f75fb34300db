"""A log that is read as its requests arrive gives the numbers of one that is read at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.scenarios.faas import sources
from cloudarena.workloads.faas import log_stream

NAMES = ("small", "large", "rare")


def log(folder: Path, times: Any, **columns: Any) -> str:
    """A log of invocations in row groups of 50."""
    rng = np.random.default_rng(3)
    names = [NAMES[k] for k in rng.choice(3, len(times), p=(0.6, 0.35, 0.05))]
    table = pa.table({"time_s": times, "function": names, **columns})
    pq.write_table(table, folder / "log.parquet", row_group_size=50)
    return str(folder / "log.parquet")


def spec(path: str, stream: bool, **more: Any) -> dict[str, Any]:
    """The toy with functions of the log's names."""
    toy = cloudarena.load("faas/toy").model_dump(mode="json", exclude_unset=True)
    function = {**toy["functions"][0]}
    function.pop("requests", None)
    functions = [{**function, "name": name} for name in NAMES]
    trace = {"source": "invocations", "path": path, "stream": stream, "start_s": 3.0}
    return {**toy, "functions": functions, "duration_s": 300, "trace": trace, **more}


def test_a_streamed_log_gives_the_same_numbers(tmp_path, monkeypatch):
    """But for times of response, which are counted by their length: to a thousandth."""
    monkeypatch.setattr(sources, "WINDOW_REQUESTS", 40)
    times = np.sort(np.round(np.random.default_rng(1).uniform(0, 320, 1500), 1))  # with ties
    path = log(tmp_path, times, duration_s=np.ones(1500))
    streamed, loaded = (cloudarena.simulate(spec(path, stream)) for stream in (True, False))
    assert loaded.metrics["requests"] > 1000
    assert streamed.metrics.keys() == loaded.metrics.keys()
    for name, value in loaded.metrics.items():
        is_counted = "response" in name or "_p5" in name or "_p9" in name
        near = pytest.approx(value, rel=2e-3 if is_counted else 1e-9, abs=1e-12, nan_ok=True)
        assert streamed.metrics[name] == near, name


def test_windows_are_the_whole_log(tmp_path):
    times = np.sort(np.round(np.random.default_rng(2).uniform(0, 100, 900), 1))
    path = Path(log(tmp_path, times))
    whole = log_stream.window_requests(path, NAMES, 80.0, 5.0, 0, 1)
    parts = [log_stream.window_requests(path, NAMES, 80.0, 5.0, k, 7) for k in range(7)]
    for column in ("arrival_s", "function"):
        joined = np.concatenate([getattr(part, column) for part in parts])
        assert joined.tolist() == getattr(whole, column).tolist()
    moved = times - 5.0
    assert len(whole.arrival_s) == ((moved >= 0) & (moved < 80.0)).sum()


def test_a_log_that_is_not_sorted_is_refused_with_its_row(tmp_path):
    path = log(tmp_path, [*range(60), 7.0])
    words = r"row 61: time_s: 7.0 is not allowed: at least that of the row before"
    with pytest.raises(CloudarenaError, match=words):
        cloudarena.simulate(spec(path, True))


def test_what_cannot_be_streamed_is_refused(tmp_path):
    path = log(tmp_path, list(range(60)))
    with pytest.raises(CloudarenaError, match=r"stream: true is not allowed with log\.csv"):
        cloudarena.load(spec(path.replace("parquet", "csv"), True))
    with pytest.raises(CloudarenaError, match="load_scale: 2 is not allowed with stream: true: 1"):
        cloudarena.simulate(spec(path, True, load_scale=2))
    odd = tmp_path / "odd.parquet"
    odd.write_bytes(b"PAR1 and no more")
    with pytest.raises(CloudarenaError, match=r"odd\.parquet: cannot be read"):
        cloudarena.simulate(spec(str(odd), True))
