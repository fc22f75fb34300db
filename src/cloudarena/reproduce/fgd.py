"""FGD: shares of GPUs in Alibaba's cluster, six policies, and what their ties are worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.csv as pacsv

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.statistics import interval
from cloudarena.engine.gpu_scores import KINDS, WHOLE, Nodes, Pods, Rule, Typical, typical_of
from cloudarena.engine.gpu_tuned import WEIGHTS
from cloudarena.reproduce.entry import (
    AGREES,
    DIFFERS,
    Entry,
    Findings,
    Row,
    Settings,
    control,
    find,
    rival,
)
from cloudarena.reproduce.gpu_cluster import fragments, place_all

NODES, LIST = "openb_node_list_gpu_node.csv", "openb_pod_list_{}.csv"
ARRIVE = 1.3
"""The GPUs that pods ask for in all, of those that there are."""
FIRST_SEED = 42
QUICK, FULL = 5, 10
"""How many seeds."""
DRAWN_ORDER, LISTED_ORDER, CHANCE = "drawn order", "listed order", "chance"
"""Who of equals is taken: the first in an order that is drawn once a run, the first of the list, or
any."""
TUNED = "fgd-tuned"
SAME_DRAWS = "less FGD, same draws"
POLICIES = {
    "random": Rule.RANDOM,
    "dot-product": Rule.DOT_PRODUCT,
    "clustering": Rule.CLUSTERING,
    "packing": Rule.PACKING,
    "best-fit": Rule.BEST_FIT,
    "FGD": Rule.FGD,
}
CONTROLS = (
    ("FGD, equals by the list", Rule.FGD, LISTED_ORDER),
    ("FGD, equals by chance", Rule.FGD, CHANCE),
    ("FGD, exact scores", Rule.FGD_EXACT, DRAWN_ORDER),
    ("best-fit, equals by chance", Rule.BEST_FIT, CHANCE),
)
PUBLISHED = {
    "cpu050": (
        (91.243, 93.267, 93.787, 93.717, 93.794, 95.206),
        (0.211, 0.187, 0.323, 0.298, 0.143, 0.094),
    ),
    "cpu100": (
        (89.113, 91.955, 92.643, 92.715, 93.443, 95.354),
        (0.292, 0.271, 0.436, 0.456, 0.128, 0.139),
    ),
    "cpu200": (
        (83.77, 87.704, 89.921, 90.225, 92.4, 95.045),
        (0.337, 0.624, 0.387, 0.495, 0.239, 0.156),
    ),
    "cpu250": (
        (80.415, 83.805, 87.99, 88.28, 91.446, 93.411),
        (0.291, 0.461, 0.583, 0.651, 0.219, 0.275),
    ),
    "default": (
        (87.47, 90.849, 91.878, 92.002, 93.076, 95.391),
        (0.319, 0.202, 0.625, 0.545, 0.134, 0.082),
    ),
    "gpushare100": (
        (79.443, 82.417, 82.647, 82.568, 85.006, 86.901),
        (0.131, 0.312, 0.481, 0.487, 0.198, 0.146),
    ),
    "gpushare40": (
        (86.002, 89.559, 90.015, 90.03, 91.689, 94.148),
        (0.362, 0.135, 0.588, 0.503, 0.21, 0.066),
    ),
    "gpushare60": (
        (83.653, 87.115, 87.203, 87.447, 89.359, 91.401),
        (0.29, 0.282, 0.42, 0.379, 0.193, 0.119),
    ),
    "gpushare80": (
        (81.223, 84.486, 84.848, 84.998, 87.007, 89.305),
        (0.291, 0.199, 0.537, 0.492, 0.237, 0.121),
    ),
    "gpuspec10": (
        (87.428, 90.39, 92.177, 92.459, 93.305, 94.949),
        (0.275, 0.376, 0.716, 0.665, 0.202, 0.211),
    ),
    "gpuspec20": (
        (87.24, 89.967, 92.245, 92.936, 93.297, 94.837),
        (0.324, 0.403, 0.613, 0.644, 0.086, 0.121),
    ),
    "gpuspec25": (
        (86.936, 89.634, 92.08, 92.983, 93.231, 94.741),
        (0.381, 0.358, 0.643, 0.72, 0.084, 0.248),
    ),
    "gpuspec33": (
        (86.456, 89.144, 92.117, 93.22, 93.093, 94.547),
        (0.135, 0.382, 0.68, 0.626, 0.148, 0.145),
    ),
    "multigpu20": (
        (88.691, 92.062, 93.557, 93.71, 93.933, 95.651),
        (0.477, 0.32, 0.609, 0.636, 0.23, 0.158),
    ),
    "multigpu30": (
        (89.266, 93.281, 94.722, 94.873, 94.719, 96.456),
        (0.408, 0.303, 0.312, 0.318, 0.218, 0.088),
    ),
    "multigpu40": (
        (90.091, 94.194, 95.504, 95.741, 95.235, 96.99),
        (0.435, 0.207, 0.313, 0.301, 0.237, 0.093),
    ),
    "multigpu50": (
        (90.275, 94.85, 95.811, 96.182, 95.738, 97.178),
        (0.438, 0.215, 0.294, 0.314, 0.187, 0.103),
    ),
}
"""The means and the standard deviations of each list over ten seeds, policy by policy."""
DOWNLOAD = (
    f"{NODES} and lists of pods such as {LIST.format('default')}, plain or gzipped, of "
    "github.com/hkust-adsl/kubernetes-scheduler-simulator or alibaba/clusterdata "
    "(cluster-trace-gpu-v2023). Name their folder by --data."
)


class Cluster(NamedTuple):
    """Nodes, the requests that differ, which of them each pod of a list makes, typical ones."""

    nodes: Nodes
    pods: Pods
    listed: Ints
    typical: Typical


def read_cluster(nodes: Path, pods: Path) -> Cluster:
    """Reads a list of nodes and a list of pods, plain or gzipped."""
    table = pacsv.read_csv(nodes)
    models = {name: k for k, name in enumerate(sorted(set(table["model"].to_pylist())))}
    gpus = table["gpu"].to_numpy().astype(np.int64)
    free = Nodes(
        table["cpu_milli"].to_numpy().astype(np.int64),
        table["memory_mib"].to_numpy().astype(np.int64),
        np.where(np.arange(8) < gpus[:, None], WHOLE, 0),
        gpus,
        np.array([models[name] for name in table["model"].to_pylist()], np.int64),
        np.zeros((len(gpus), KINDS), np.int64),
    )
    listed = pacsv.read_csv(pods)
    columns = [
        listed[name].to_numpy().astype(np.int64)
        for name in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
    ]
    named = "gpu_spec" in listed.column_names
    specs = [word or "" for word in listed["gpu_spec"].to_pylist()] if named else [""] * len(listed)
    masks = np.array([allowed_models(word, models) for word in specs], np.int64)
    requests, which = np.unique(np.column_stack([*columns, masks]), axis=0, return_inverse=True)
    distinct = Pods(*(np.ascontiguousarray(column) for column in requests.T))
    return Cluster(free, distinct, which.ravel(), typical_of(distinct, which.ravel()))


def allowed_models(word: str, models: dict[str, int]) -> int:
    """A bit for each model that a pod allows: all if it names none."""
    names = word.split("|") if word else list(models)
    return sum(1 << models[name] for name in set(names) if name in models)


def arrivals(cluster: Cluster, rng: np.random.Generator) -> Ints:
    """The pods of the list and clones of some, until they ask for 130 % of the GPUs, shuffled."""
    asked = cluster.pods.gpus * cluster.pods.milli
    target = ARRIVE * WHOLE * cluster.nodes.gpus.sum()
    pods, total = list(cluster.listed), int(asked[cluster.listed].sum())
    if total > target:
        rng.shuffle(pods)
        while total > target:
            total -= int(asked[pods.pop()])
    pod = cluster.listed[rng.integers(0, len(cluster.listed))]
    while total + cluster.pods.milli[pod] <= target:
        pods.append(pod)
        total += int(asked[pod])
        pod = cluster.listed[rng.integers(0, len(cluster.listed))]
    rng.shuffle(pods)
    return np.array(pods, np.int64)


def allocated(
    cluster: Cluster,
    rule: Rule,
    seed: int,
    ties: str = DRAWN_ORDER,
    weights: Floats = WEIGHTS,
) -> tuple[float, float]:
    """The percentage of GPUs that pods got, and the fragments in percent of what is idle."""
    rng = np.random.default_rng(seed)
    pods = arrivals(cluster, rng)
    count = len(cluster.nodes.cpu)
    order = rng.permutation(count) if ties == DRAWN_ORDER else np.arange(count)
    nodes = Nodes(*(column[order] for column in cluster.nodes))
    chance = ties == CHANCE or rule == Rule.RANDOM
    given = place_all(nodes, cluster.pods, cluster.typical, pods, int(rule), chance, weights, rng)
    share = 100.0 * given / (WHOLE * int(nodes.gpus.sum()))
    return share, 100.0 * fragments(nodes, cluster.typical)


def runs(cluster: Cluster, rule: Rule, seeds: int, ties: str = DRAWN_ORDER) -> Floats:
    """Both percentages (rows) of each seed."""
    return np.array([allocated(cluster, rule, FIRST_SEED + k, ties) for k in range(seeds)]).T


def rows_of(name: str, cluster: Cluster, seeds: int) -> list[Row]:
    """The cells of a list of pods: the six policies, the ties, and a rule of ours."""
    rows, idle, given = [], [], np.empty(0)
    for (policy, rule), mean, sd in zip(POLICIES.items(), *PUBLISHED[name], strict=True):
        given, lost = runs(cluster, rule, seeds)
        ours = interval(given)
        verdict = AGREES if abs(ours.mean - mean) <= 2.0 * sd else DIFFERS
        rows.append(Row(f"{name}: {policy}", mean, *ours, verdict))
        idle.append(control(f"{name}: {policy}, fragments in percent of idle", interval(lost)))
    tuned, _ = runs(cluster, Rule.TUNED, seeds)
    published = PUBLISHED[name][0][-1]
    rows.append(rival(f"{name}: FGD, ours {TUNED}", published, interval(tuned), lower=False))
    rows.append(control(f"{name}: {TUNED} {SAME_DRAWS}", interval(tuned - given)))
    for cell, rule, ties in CONTROLS:
        rows.append(control(f"{name}: {cell}", interval(runs(cluster, rule, seeds, ties)[0])))
    return rows + idle


def run(settings: Settings) -> Findings:
    """Runs the default list with five seeds, in full all lists that are there with ten."""
    nodes = find(settings, NODES, f"{NODES}.gz")
    wanted = PUBLISHED if settings.full else ("default",)
    lists = {name: find(settings, LIST.format(name), f"{LIST.format(name)}.gz") for name in wanted}
    there = {name: path for name, path in lists.items() if path is not None}
    if nodes is None or not there:
        return Findings((), missing=DOWNLOAD)
    seeds = FULL if settings.full else QUICK
    rows = [
        row
        for name, path in there.items()
        for row in rows_of(name, read_cluster(nodes, path), seeds)
    ]
    return Findings(rows, _why(rows, [name for name in lists if name not in there]))


def _why(rows: Sequence[Row], missing: Sequence[str]) -> list[str]:
    """What the rows say together, and what they do not."""
    paired = [row for row in rows if row.cell.endswith(SAME_DRAWS)]
    surely = sum(row.low > 0.0 for row in paired)
    lines = [
        *WHY,
        f"On the same draws {TUNED} is better than FGD, beyond chance, in {surely} of "
        f"{len(paired)} lists.",
    ]
    differing = [row.cell for row in rows if row.verdict == DIFFERS]
    if differing:
        lines.append(
            f"More than two standard deviations off: {', '.join(differing)}. Not found why."
        )
    if missing:
        lines.append(f"Not in the folder of --data: {', '.join(missing)}.")
    return lines


WHY = (
    "FGD's program rounds its score down to a whole number, and many nodes are equal. Of the ways "
    "tried to choose among equals, the order of the list, a draw each time, and an order that is "
    "drawn once a run, only the last gives the means and the spreads that were published: by the "
    "order of the list FGD is six standard deviations low on cpu200. "
    "kube-scheduler draws one of the equals each time: on the default list the same rule then gets "
    "less than best-fit.",
    "fgd-tuned is by how much FGD's fragments shrink, less a weighted sum of what is left of the "
    "node and the device. Its 44 weights were searched by CMA-ES (45 generations of 16, four CPU "
    "minutes) on six lists, of which default and multigpu30 are here, with draws from seed 1,000 "
    "on. The draws here, from seed 42 on, and the other lists took no part; but where FGD leaves "
    "GPUs idle was looked at on the draw of seed 42 of five lists before the features were chosen, "
    "and the search began from an earlier rule's weights, which had been seen on these draws. In "
    "the search typical requests were taken ten by ten. On ten draws that nobody had seen, from "
    "seed 20,000 on, looked at once, fgd-tuned gives more in ten of the eleven lists, by 0.30 "
    "(multigpu30) to 1.14 percentage points (gpuspec20), all beyond chance; on multigpu40 the two "
    "are equal (0.004, from -0.063 to 0.070). All lists are samples of the same pods on the same "
    "nodes: what the weights are worth elsewhere was not measured.",
    "In full, ten seeds of the eleven lists that were at hand: all 66 published cells agree, and "
    "fgd-tuned gives more GPUs than FGD on the same draws in all eleven, by 0.09 (multigpu40) to "
    "1.13 percentage points (gpuspec10).",
    "Typical are the most frequent requests until they are 95 % of all, and of equally frequent "
    "ones the largest, as the program has it. Taken ten by ten, as here before, they are 50 "
    "instead of 42 on multigpu40, and FGD gives 0.16 points less there.",
    "The clones are other draws than those of the program, which was not run again.",
    "The same policies are fgd, fgd-tuned, gpu-best-fit, gpu-packing, gpu-clustering and "
    "gpu-dot-product of the scenario vm; a test holds that both give as many GPUs. Here a score is "
    "kept until its node changes, which makes hundreds of experiments a matter of minutes.",
)
ENTRY = Entry(
    "fgd",
    "Shares of GPUs: six policies, and what their ties are worth",
    "Weng et al., Beware of fragmentation, USENIX ATC 2023; the results of 1,020 experiments in "
    "github.com/hkust-adsl/kubernetes-scheduler-simulator at 8f3d641.",
    "1,213 nodes with 6,212 GPUs; the pods of a list, and clones of some until they ask for 130 % "
    "of the GPUs, shuffled, come one after the other, and none leaves. A pod needs CPU, memory, a "
    "model of GPU that it allows, and a share of one device or whole ones. Measured is the "
    "percentage of the GPUs that is allocated when all have come. A cell agrees if our mean is "
    "within two standard deviations of the published one. Five seeds of the default list; in full "
    "ten seeds of every list that is there.",
    run,
)
