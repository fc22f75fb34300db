"""GPUs as devices: where pods have room, what is a fragment, and what policies choose."""

import gzip

import numpy as np
import pytest

from cloudarena.engine import gpu_scores
from cloudarena.engine.gpu_scores import KINDS, Nodes, Pods, Rule, Typical, fragment
from cloudarena.engine.gpu_tuned import FEATURES, tuned_score
from cloudarena.reproduce import entry_of, fgd
from cloudarena.reproduce.entry import Settings
from cloudarena.reproduce.gpu_cluster import fits, fragments, place_all

ANY = 0b11
NO_WEIGHTS = np.zeros((3, FEATURES))


def column(*values):
    return np.array(values, np.int64)


def nodes_of(gpu, cpu=None, model=None):
    """Nodes with devices of so many free thousandths."""
    count = len(gpu)
    free = np.zeros((count, 8), np.int64)
    for k, left in enumerate(gpu):
        free[k, : len(left)] = left
    return Nodes(
        column(*(cpu or [64_000] * count)),
        column(*[1_000_000] * count),
        free,
        column(*(len(left) for left in gpu)),
        column(*(model or [0] * count)),
        np.zeros((count, KINDS), np.int64),
    )


def pods_of(*rows):
    """Pods of CPU, GPUs, thousandths and models."""
    cpu, gpus, milli, models = (column(*values) for values in zip(*rows, strict=True))
    return Pods(cpu, column(*[1] * len(rows)), gpus, milli, models)


def typical_of(*rows):
    columns = (column(*values) for values in zip(*(row[:4] for row in rows), strict=True))
    return Typical(*columns, np.array([row[4] for row in rows], float))


def place(nodes, pods, arrivals, rule, typical=None):
    typical = typical or typical_of((1000, 1, 500, ANY, 1.0))
    rng = np.random.default_rng(0)
    return place_all(nodes, pods, typical, column(*arrivals), int(rule), False, NO_WEIGHTS, rng)


def test_typical_are_the_most_frequent_until_they_are_95_percent():
    """Of those that are equally frequent the largest are taken, as FGD's program does."""
    pods = pods_of((1000, 1, 500, ANY), (2000, 1, 300, ANY), (2000, 1, 400, ANY), (500, 0, 0, ANY))
    listed = np.repeat([0, 1, 2, 3], [90, 3, 3, 4])
    typical = gpu_scores.typical_of(pods, listed)
    assert list(zip(typical.cpu, typical.gpus, typical.milli, strict=True)) == [
        (1000, 1, 500), (500, 0, 0), (2000, 1, 400)
    ]  # fmt: skip
    assert typical.share == pytest.approx(np.array([90, 4, 3]) / 97)
    assert len(gpu_scores.typical_of(pods, np.repeat([0, 3], [95, 5])).cpu) == 1


def test_shares_are_of_one_device():
    """Three pods of 0.6 GPU do not fit two GPUs, though 1.8 is less than 2."""
    nodes = nodes_of([[1000, 1000]])
    assert place(nodes, pods_of((1000, 1, 600, ANY)), [0, 0, 0], Rule.BEST_FIT) == 1200
    assert nodes.gpu[0, :2].tolist() == [400, 400]


def test_whole_gpus_are_free_ones():
    nodes = nodes_of([[1000, 400, 1000]])
    assert place(nodes, pods_of((1000, 2, 1000, ANY)), [0, 0], Rule.FGD) == 2000
    assert nodes.gpu[0, :3].tolist() == [0, 400, 0]


def test_a_pod_needs_its_model_its_cpu_and_its_devices():
    nodes = nodes_of([[1000], [1000], [500, 500]], cpu=[64_000, 500, 64_000], model=[1, 0, 0])
    pods = pods_of((1000, 1, 600, 0b01), (1000, 1, 500, 0b01), (1000, 0, 0, ANY))
    assert [fits(nodes, pods, node, 0) for node in range(3)] == [False, False, False]
    assert [fits(nodes, pods, node, 1) for node in range(3)] == [False, False, True]
    assert [fits(nodes, pods, node, 2) for node in range(3)] == [True, False, True]


def test_fragments_by_hand():
    """Devices of 300 and 1000: a pod of half a GPU can use the second, one of two GPUs neither."""
    nodes = nodes_of([[300, 1000]])
    half, two, none = (1000, 1, 500, ANY), (1000, 2, 1000, ANY), (1000, 0, 0, ANY)
    assert fragment(nodes, typical_of((*half, 1.0)), 0, 64_000) == 300
    assert fragment(nodes, typical_of((*two, 1.0)), 0, 64_000) == 1300
    assert fragment(nodes, typical_of((*none, 1.0)), 0, 64_000) == 1300
    assert fragment(nodes, typical_of((*half, 1.0)), 0, 500) == 1300
    mixed = typical_of((*half, 0.75), (*two, 0.25))
    assert fragment(nodes, mixed, 0, 64_000) == 0.75 * 300 + 0.25 * 1300
    assert fragments(nodes, mixed) == pytest.approx(550 / 1300)


@pytest.mark.parametrize(
    ("rule", "chosen"),
    [
        (Rule.BEST_FIT, 1),  # the least is left
        (Rule.DOT_PRODUCT, 1),  # the fewest GPUs times what is asked
        (Rule.PACKING, 1),  # a GPU that is used already
        (Rule.FGD, 1),  # what it fills was of no use to others
    ],
)
def test_a_share_goes_where_a_gpu_is_begun(rule, chosen):
    nodes = nodes_of([[1000, 1000], [1000, 600]])
    typical = typical_of((1000, 1, 1000, ANY, 1.0))
    place(nodes, pods_of((1000, 1, 600, ANY)), [0], rule, typical)
    assert nodes.gpu[chosen, :2].tolist() == [1000, 0]


def test_clustering_keeps_kinds_apart():
    nodes = nodes_of([[1000, 1000], [1000, 1000]])
    pods = pods_of((1000, 1, 300, ANY), (1000, 1, 1000, ANY))
    place(nodes, pods, [0, 1, 0, 1], Rule.CLUSTERING)
    assert nodes.gpu[:, :2].tolist() == [[400, 1000], [0, 0]]


def tuned(nodes, pod, typical, **weights):
    """The tuned score of the first node, with weights of a class of pods by feature."""
    table = np.zeros((3, FEATURES))
    for name, value in weights.items():
        table[int(name[1]), int(name[3:])] = value
    before = nodes.gpu.copy()
    found = tuned_score(nodes, pods_of(pod), typical, 0, 0, table)
    assert (nodes.gpu == before).all()
    return found


def test_the_tuned_score_without_weights_is_by_how_much_fragments_shrink():
    """A share of 0.6 fills a device that no whole GPU fits, or breaks one that is whole."""
    typical = typical_of((1000, 1, 1000, ANY, 1.0))
    half = nodes_of([[1000, 600]])
    assert tuned(half, (1000, 1, 600, ANY), typical) == (0.6, 1)
    assert tuned(half, (1000, 1, 700, ANY), typical) == (-0.3, 0)  # 0.6, then 0.3 + 0.6


# A device of 700 of a node with 1000 CPU left takes 600: 300 + 100 are idle, 0.4 of a GPU.
ONE_SHARE = {
    0: 1 / 128, 1: 0.05, 2: 999_999 / 1_048_576, 3: 0.0, 4: 0.05 / 128, 5: 0.25, 6: 0.0,
    7: (0.4 - 1 / 8) / 8, 8: 0.0, 9: (0.4 - 1 / 4) / 8, 10: 0.0, 11: 1.0, 12: 0.0, 17: -1.0,
    18: 0.0, 21: 0.0,
}  # fmt: skip
# The second of two whole GPUs is left, with 48 cores of 64.
ONE_WHOLE = {
    0: 0.375, 1: 0.125, 3: 0.125, 4: 0.375 / 8, 5: 0.25, 6: 1.0, 7: 0.0, 8: 5 / 16, 9: 0.0,
    10: 0.0, 11: 0.0,
}  # fmt: skip


def test_the_features_of_the_tuned_score():
    typical = typical_of((1000, 1, 1000, ANY, 1.0))
    node, pod = nodes_of([[300, 700]]), (63_000, 1, 600, ANY)
    for k, value in ONE_SHARE.items():
        score, device = tuned(node, pod, typical, **{f"c1f{k}": 1.0})
        assert (score, device) == (pytest.approx(0.6 - value, abs=1e-8), 1), k
        assert tuned(node, pod, typical, **{f"c2f{k}": 1.0}) == (0.6, 1)
    for k, value in ONE_WHOLE.items():
        score, _ = tuned(nodes_of([[1000, 1000]]), (16_000, 1, 1000, ANY), typical,
                         **{f"c2f{k}": 1.0})  # fmt: skip
        assert score == pytest.approx(-value, abs=1e-8), k
    score, _ = tuned(nodes_of([[1000]]), (1000, 1, 250, ANY), typical, c1f21=1.0, c1f18=0.5)
    assert score == pytest.approx(-0.75 - 1.0 - 0.5)  # a whole one is begun, 0.75 is left of it
    score, _ = tuned(nodes_of([[400]]), (64_000, 0, 0, ANY), typical, c0f1=1.0)
    assert score == pytest.approx(-0.05)


def test_models_of_a_pod():
    models = {"A10": 0, "T4": 1}
    assert fgd.allowed_models("", models) == 0b11
    assert fgd.allowed_models("T4|P4", models) == 0b10
    assert fgd.allowed_models("P4", models) == 0


def test_an_entry_of_a_small_cluster(tmp_path):
    rng = np.random.default_rng(0)
    nodes = [f"n{k},64000,262144,{(2, 8)[k % 2]},{('T4', 'G2')[k % 2]}" for k in range(20)]
    pods = [
        f"p{k},{rng.choice([2000, 8000])},4096,1,{rng.choice([200, 500, 1000])},"
        f"{rng.choice(['', 'T4'])}"
        for k in range(60)
    ]
    with gzip.open(tmp_path / f"{fgd.NODES}.gz", "wt") as file:
        file.write("\n".join(["sn,cpu_milli,memory_mib,gpu,model", *nodes]) + "\n")
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec"
    (tmp_path / fgd.LIST.format("default")).write_text("\n".join([header, *pods]) + "\n")
    found = entry_of("fgd").run(Settings(data=tmp_path))
    assert [row.published for row in found.rows[:6]] == list(fgd.PUBLISHED["default"][0])
    assert all(row.low <= row.ours <= row.high for row in found.rows)
    assert all(0 <= row.ours <= 100.0 for row in found.rows if "less" not in row.cell)
    assert found == entry_of("fgd").run(Settings(data=tmp_path))
    cluster = fgd.read_cluster(tmp_path / f"{fgd.NODES}.gz", tmp_path / fgd.LIST.format("default"))
    asked = (cluster.pods.gpus * cluster.pods.milli)[fgd.arrivals(cluster, rng)].sum()
    assert 1.29 * 100_000 < asked <= 1.3 * 100_000
