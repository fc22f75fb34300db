"""The policies that ship with the package, made anew and tested: ``python -m benchmarks.learned``.

``vm``, ``workflow``, ``clusters``, ``tiers`` and ``scale`` train on generated work and test on work
that nobody trained on. ``alibaba --data FOLDER`` trains ``learned:alibaba`` on the first 200 chunks
of ten jobs of Alibaba's list of 2017, as it comes with CloudSimPy (``alibaba-2017-jobs.csv`` in
FOLDER), and tests it on the last 320. ``batch --data FOLDER`` trains ``learned:batch`` on variants
of the four logs of ``benchmarks.rlscheduler``, and tests it: FOLDER has the logs; those that nobody
trained on (``UNSEEN``) are tested on where they are in it. Without a name all are made, those two
where there is a FOLDER. All print the tables of docs/learned.md in Markdown. ``--policy NAME``
tests one that is there already. ``--out DIR`` keeps the policy with its results, of several each in
a folder of its name.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.learned_alibaba import make_alibaba
from benchmarks.learned_batch import make_batch
from benchmarks.learned_clusters import make_clusters
from benchmarks.learned_scale import make_scale
from benchmarks.learned_tiers import make_tiers
from benchmarks.learned_vm import make_vm
from benchmarks.learned_workflow import make_workflow

RECIPES = {
    "vm": make_vm,
    "workflow": make_workflow,
    "clusters": make_clusters,
    "tiers": make_tiers,
    "scale": make_scale,
}
"""Those that need no data."""
OF_DATA = ("alibaba", "batch")


def main() -> int:
    """Trains and tests what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=(*OF_DATA, *RECIPES), help="all by default")
    parser.add_argument("--data", type=Path, help="alibaba, batch: the folder of the logs")
    parser.add_argument("--out", type=Path, help="where the policy is written to")
    parser.add_argument("--policy", help="tests this one, and trains none")
    parser.add_argument("--quick", action="store_true", help="a tenth of all; figures say little")
    parser.add_argument(
        "--parts", default="ten,random,robust", help="batch: which tables: ten, random, robust"
    )
    parser.add_argument("--windows", type=int, default=100, help="random windows of each log")
    given = parser.parse_args()
    if given.what in OF_DATA and given.data is None:
        parser.error(f"--data is required for {given.what}")
    if given.what is None and given.policy is not None:
        parser.error("--policy is of one of them: name it too")
    for what in chosen(given):
        begin = time.process_time()
        print(f"## `learned:{what}`\n", flush=True)
        out = given.out if given.what or given.out is None else given.out / what
        make(what, out, given)
        print(f"{what}: {time.process_time() - begin:.0f} CPU seconds", file=sys.stderr)
    return 0


def chosen(given: argparse.Namespace) -> tuple[str, ...]:
    """What is made: one, or all that there is data for."""
    if given.what is not None:
        return (given.what,)
    if given.data is not None:
        return (*OF_DATA, *RECIPES)
    print(f"without --data there is no {' and no '.join(OF_DATA)}", file=sys.stderr)
    return tuple(RECIPES)


def make(what: str, out: Path | None, given: argparse.Namespace) -> None:
    """Trains and tests one of them."""
    if what == "alibaba":
        make_alibaba(given.data, out, given.policy, given.quick)
    elif what == "batch":
        count = 20 if given.quick else given.windows
        parts = given.parts.split(",")
        make_batch(given.data, out, given.policy, given.quick, parts, count)
    else:
        RECIPES[what](out, given.policy, given.quick)


if __name__ == "__main__":
    sys.exit(main())
