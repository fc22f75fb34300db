"""The data of the catalogue's faas/azure-sample is what its script makes."""

import gzip
import subprocess
import sys
from pathlib import Path

import cloudarena

ROOT = Path(__file__).parents[3]
STORED = ROOT / "src/cloudarena/catalogue/faas/azure-sample"


def test_the_sample_is_made_by_its_script(tmp_path):
    script = ROOT / "tools/make_azure_sample.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    names = sorted(path.name for path in STORED.iterdir())
    assert names == ["durations.csv", "invocations.csv.gz", "memory.csv"]
    for name in names:
        made, stored = ((folder / name).read_bytes() for folder in (tmp_path, STORED))
        if name.endswith(".gz"):
            made, stored = gzip.decompress(made), gzip.decompress(stored)
        assert made == stored, name


def test_it_has_a_function_for_each_that_was_invoked():
    spec = cloudarena.load("faas/azure-sample")
    assert 20 <= len(spec.functions) <= 40
    assert len({one.image.memory_mb for one in spec.functions}) > 10
