"""The command ``cloudarena k8s``: what-if on a snapshot of a Kubernetes cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloudarena.cli.options import Json, listed, print_json, stderr, stdout
from cloudarena.cli.usage import Group

if TYPE_CHECKING:
    from cloudarena.kubernetes.snapshot import Node
    from cloudarena.workloads.prices.instances import Instance

HELP = "What-if on a snapshot of a Kubernetes cluster."
ARCH = "kubernetes.io/arch"
ARM = re.compile(r"[a-z]+\d+g[a-z]*[.]|Standard_[A-Z]+\d+p|t2a-|c4a-")
"""How names of instance types with ARM processors begin: Graviton, Ampere, Axion."""
BURSTABLE = ("t3.", "t4g.", "Standard_B")
"""How names of types begin whose CPU is theirs only now and then."""
MOST_ROWS = 40
"""Rows of a table that are printed; ``--json`` has all."""

app = typer.Typer(cls=Group, help=HELP, add_completion=False)

Snapshots = Annotated[
    list[Path],
    typer.Argument(metavar="SNAP...", help="What kubectl get nodes,pods -A -o json printed."),
]


@app.callback()
def k8s() -> None:
    """What-if on a snapshot of a Kubernetes cluster."""


@app.command("headroom")
def headroom(
    snapshots: Snapshots,
    pod: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Whose pods: deployment/web, shop/deployment/web, statefulset/db, pod/shop/db-0.",
        ),
    ] = None,
    request: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="A pod that only asks for so much: cpu=500m,memory=1Gi."),
    ] = None,
    as_json: Json = False,
) -> None:
    """How many more pods fit, and which limit stops them on which node.

    Example: cloudarena k8s headroom snapshot.json --pod deployment/web
    """
    from cloudarena.base.errors import CloudarenaError
    from cloudarena.kubernetes.find import find_pod, plain_pod
    from cloudarena.kubernetes.headroom import headroom as count
    from cloudarena.kubernetes.snapshot import read_snapshot

    if (pod is None) == (request is None):
        raise CloudarenaError("either --pod or --request is needed: as in --pod deployment/web")
    snapshot = read_snapshot(snapshots)
    found = count(snapshot, plain_pod(request) if request else find_pod(snapshot, str(pod)))
    if as_json:
        print_json(found.summary())
        return
    rows = [(room.node, f"{room.pods:,}", ", ".join(room.stopped_by)) for room in found.rooms]
    _show(("node", "more pods", "then stopped by"), rows, right=(1,))
    _conclude(found.conclusion(), found.summary())


@app.command("drain")
def drain(
    snapshots: Snapshots,
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node that goes.")],
    as_json: Json = False,
) -> None:
    """Where the pods of a node would go, and which do not fit, and why.

    Example: cloudarena k8s drain snapshot.json node-3
    """
    from cloudarena.kubernetes.drain import drain as plan
    from cloudarena.kubernetes.snapshot import read_snapshot

    found = plan(read_snapshot(snapshots), node)
    if as_json:
        print_json(found.summary())
        return
    rows = [(str(pod), why) for pod, why in found.stuck.items()]
    rows += [(str(pod), f"→ {target}") for pod, target in found.moves.items()]
    rows += [(str(pod), "is bare: nothing makes it again") for pod in found.bare]
    rows += [(str(pod), f"stays: of a {pod.owner[0]}") for pod in found.stays]
    rows += [(str(pod), "is being deleted") for pod in found.ending]
    _show(("pod", "where"), rows)
    summary = found.summary()
    if summary["loses_local_data"]:
        number = len(summary["loses_local_data"])
        stderr().print(f"note: {number:,} pods lose an emptyDir", highlight=False)
    _conclude(found.conclusion(), summary)


@app.command("mix")
def mix(
    snapshots: Snapshots,
    types: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Instance types: name, vcpu, memory_gb, hour_usd. "
            "By default those of the list that ships in the cloud of the nodes, ARM if one is.",
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these types, as in m5.*,c5.large.")
    ] = None,
    max_pods: Annotated[
        int | None, typer.Option(min=1, help="Pods of a node; as in the snapshot by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The cheapest mix of nodes that holds all pods, beside today's.

    Example: cloudarena k8s mix snapshot.json --types prices.csv
    """
    from cloudarena.kubernetes.mix import cheapest_mix
    from cloudarena.kubernetes.snapshot import read_snapshot

    snapshot = read_snapshot(snapshots)
    instances = _types(types, listed(only), snapshot.nodes)
    found = cheapest_mix(snapshot, instances, max_pods)
    if as_json:
        print_json(found.summary())
        return
    prices = {one.name: one.hour_usd for one in instances}
    rows = [
        ("today", str(one.number), one.instance, _dollars(one.hour_usd, one.number))
        for one in found.today
    ]
    rows += [
        ("cheapest", str(number), name, _dollars(prices[name], number))
        for name, number in found.numbers.items()
    ]
    _show(("mix", "nodes", "type", "$ an hour"), rows, right=(1, 3))
    for pod, why in list(found.left_out.items())[:MOST_ROWS]:
        stderr().print(f"note: {pod} is left out: {why}", highlight=False, soft_wrap=True)
    _conclude(found.conclusion(), found.summary())


def _dollars(price: float | None, number: int) -> str:
    return "?" if price is None else f"{price * number:,.4f}"


def _types(path: Path | None, patterns: Sequence[str], nodes: Sequence[Node]) -> list[Instance]:
    """The instance types that may be used.

    Of the list that ships these are those of the cloud that the nodes are in, and ARM ones only if
    some node is: images of pods may not run there. Burstable ones are left out.
    """
    from fnmatch import fnmatchcase

    from cloudarena.base.errors import CloudarenaError
    from cloudarena.workloads.prices.instances import SHIPPED, read_instances

    known = read_instances(path or SHIPPED)
    found = list(known.values())
    if path is None and not patterns:
        clouds = {known[node.instance].cloud for node in nodes if node.instance in known}
        if len(clouds) != 1:
            raise CloudarenaError(
                "--types: is needed: the labels of the nodes do not tell whose types may be used. "
                "A CSV with the columns name, vcpu, memory_gb, hour_usd"
            )
        may_be_arm = any(node.labels.get(ARCH) == "arm64" for node in nodes)
        found = [
            one
            for one in found
            if one.cloud in clouds
            and (may_be_arm or not ARM.match(one.name))
            and not one.name.startswith(BURSTABLE)
        ]
    if patterns:
        found = [one for one in found if any(fnmatchcase(one.name, like) for like in patterns)]
    if not found:
        names = ", ".join(list(known)[:8])
        raise CloudarenaError(f"--only: {','.join(patterns)!r} matches none of {names}, ...")
    return found


def _show(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Prints the first rows of a table."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index in right else "left")
    for row in rows[:MOST_ROWS]:
        table.add_row(*map(Text, row))
    stdout().print(table, highlight=False)
    if len(rows) > MOST_ROWS:
        stdout().print(f"and {len(rows) - MOST_ROWS:,} more: --json has all", highlight=False)


def _conclude(sentence: str, summary: dict[str, Any]) -> None:
    """Prints the answer, then what it leaves out."""
    console = stderr()
    for note in summary["notes"]:
        console.print(f"note: {note}", style="yellow", highlight=False, soft_wrap=True)
    stdout().print(sentence, style="bold", highlight=False, markup=False, soft_wrap=True)
    left_out = ", ".join(summary["not_modelled"])
    console.print(f"not modelled: {left_out}", style="dim", highlight=False, soft_wrap=True)
