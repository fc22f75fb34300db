"""How fast learning is: ``python -m benchmarks.learn [PART] [--quick] [--json]``.

A part is ``environments``, ``vectors``, ``floors`` or ``networks``: single environments and vectors
of 256 as ratios to Gymnasium's CartPole in the same process, what of that is the simulation alone,
and networks alone; all four if none is named.
``--quick`` takes fewer steps; ``--json`` prints one object.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

from benchmarks import learn_environments, learn_floors, learn_networks, learn_vectors

PARTS = {
    "environments": learn_environments.main,
    "vectors": learn_vectors.main,
    "floors": learn_floors.main,
    "networks": learn_networks.main,
}


def main() -> None:
    """Measures the parts that are named, one after the other."""
    named = [word for word in sys.argv[1:] if not word.startswith("-")]
    unknown = [word for word in named if word not in PARTS]
    if unknown:
        sys.exit(f"{unknown[0]!r} is not allowed: one of {', '.join(PARTS)}")
    found = {}
    for name in named or PARTS:
        if "--json" in sys.argv:
            with contextlib.redirect_stdout(io.StringIO()) as written:
                PARTS[name]()
            found[name] = json.loads(written.getvalue())
        else:
            print(f"{name}:")
            PARTS[name]()
    if found:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
