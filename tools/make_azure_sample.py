"""Makes the small day of functions of the catalogue's faas/azure-sample: no row is Azure's.

The form is that of Azure's trace of 2019, the figures are drawn from what its authors publish
(Shahrad et al., "Serverless in the Wild", USENIX ATC 2020): mean execution times are log-normal
(log mean -0.38, deviation 2.36, in seconds), memory is Burr (c 11.652, k 0.221, scale 107.083, in
MB), and of the functions some 45 % are invoked once an hour or less and 81 % once a minute or
less. Times are cut off at a minute and memory at 500 MB, so that the sample fits few hosts.

    python tools/make_azure_sample.py src/cloudarena/catalogue/faas/azure-sample
"""

from __future__ import annotations

import gzip
import hashlib
import sys
from pathlib import Path

import numpy as np

FUNCTIONS, MINUTES = 40, 1440
PERCENTILES = (0, 1, 25, 50, 75, 99, 100)
TRIGGERS = ("http", "timer", "queue", "event")


def main(folder: Path) -> None:
    """Writes invocations, durations and memory of a day."""
    rng = np.random.default_rng(2019)
    minute = np.arange(MINUTES)
    daily = 10.0 ** np.clip(rng.normal(1.63, 1.75, FUNCTIONS), 0.3, 4.0)
    means = np.minimum(np.exp(rng.normal(-0.38, 2.36, FUNCTIONS)), 60.0)
    burr = 107.083 * ((1.0 - rng.random(FUNCTIONS)) ** (-1.0 / 0.221) - 1.0) ** (1.0 / 11.652)
    memory = np.clip(burr, 32.0, 500.0)
    heads = ["HashOwner", "HashApp", "HashFunction", "Trigger"]
    counts = [",".join([*heads, *(str(m + 1) for m in minute)])]
    quantiles = [f"percentile_Average_{p}" for p in PERCENTILES]
    columns = [*heads[:3], "Average", "Count", "Minimum", "Maximum"]
    durations = [",".join([*columns, *quantiles])]
    sizes = ["HashOwner,HashApp,SampleCount,AverageAllocatedMb,AverageAllocatedMb_pct95"]
    for k in range(FUNCTIONS):
        owner, app, name = (
            hashlib.sha256(f"{what} {k}".encode()).hexdigest() for what in ("owner", "app", "f")
        )
        trigger = TRIGGERS[int(rng.choice(4, p=(0.5, 0.3, 0.15, 0.05)))]
        if trigger == "timer":
            every = max(1, round(MINUTES / daily[k]))
            row = (minute % every == k % every) * max(1, round(daily[k] * every / MINUTES))
        else:
            day = 1.0 + 0.6 * np.sin(2.0 * np.pi * (minute / MINUTES - 0.3))
            row = rng.poisson(daily[k] / MINUTES * day)
        counts.append(",".join([owner, app, name, trigger, *map(str, row)]))
        spread = np.array([0.2, 0.3, 0.7, 0.9, 1.2, 2.5, 4.0]) * means[k] * 1000.0
        cells = [f"{value:.0f}" for value in (means[k] * 1000.0, row.sum(), spread[0], spread[-1])]
        durations.append(",".join([owner, app, name, *cells, *(f"{v:.0f}" for v in spread)]))
        sizes.append(f"{owner},{app},1,{memory[k] * 0.8:.0f},{memory[k]:.0f}")
    text = "\n".join([*counts, ""]).encode()
    (folder / "invocations.csv.gz").write_bytes(gzip.compress(text, 9, mtime=0))
    (folder / "durations.csv").write_text("\n".join([*durations, ""]), encoding="utf-8")
    (folder / "memory.csv").write_text("\n".join([*sizes, ""]), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
