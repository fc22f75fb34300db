"""Writing a VM trace in the canonical format: exact, and whole or not at all."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.workloads.vm import azure_like
from cloudarena.workloads.vm import files as vm_files
from cloudarena.workloads.vm.files import read_vm_files, write_vm_files


def test_round_trip_is_exact(tmp_path, monkeypatch):
    monkeypatch.setattr(vm_files, "ROWS_AT_ONCE", 500)
    workload = azure_like.generate(60, 3, ticks=500)
    write_vm_files(workload, tmp_path / "trace")
    paths = tmp_path / "trace" / "vmtable.parquet", tmp_path / "trace" / "readings.parquet"
    assert pq.ParquetFile(paths[1]).num_row_groups > 1
    again = read_vm_files(*paths)
    assert workload.ids == again.ids
    for name in workload._fields[1:]:
        ours, theirs = getattr(workload, name), getattr(again, name)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        assert np.array_equal(ours, theirs), name


def test_nothing_half_written_stays(tmp_path, monkeypatch):
    workload = azure_like.generate(10, 0, ticks=100)
    write_vm_files(workload, tmp_path / "trace")
    before = (tmp_path / "trace" / "vmtable.parquet").read_bytes()
    monkeypatch.setattr(
        vm_files, "readings_table", lambda _: (_ for _ in ()).throw(OSError("full"))
    )
    with pytest.raises(CloudarenaError, match="cannot be written: full"):
        write_vm_files(azure_like.generate(10, 1, ticks=100), tmp_path / "trace")
    assert (tmp_path / "trace" / "vmtable.parquet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace"]
