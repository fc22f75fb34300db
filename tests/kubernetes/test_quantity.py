"""Quantities are exact, and rounded up as kube-scheduler does."""

import pytest

from cloudarena.kubernetes.quantity import amount, quantity
from cloudarena.kubernetes.requests import requested


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("250m", 0.25), ("1.5", 1.5), ("1e3", 1000), ("2G", 2e9), ("1Gi", 2**30), ("100n", 1e-7),
        ("3920m", 3.92), ("128974848", 128974848), ("123Mi", 123 * 2**20), ("129e6", 129e6),
        ("1E", 1e18), ("1E2", 100), (".5", 0.5), ("1.", 1),
    ],
)  # fmt: skip
def test_quantities(text, value):
    assert float(quantity(text)) == value


@pytest.mark.parametrize("text", ["1,5x", "1Gx", "m", "1 Gi", "1 Gib i", "", "1e999999999", "1K"])
def test_what_is_no_quantity(text):
    with pytest.raises(ValueError):
        quantity(text)


def test_amounts_are_rounded_up():
    assert [amount("cpu", text) for text in ("0.1", "1n", "1500m", "2")] == [100, 1, 1500, 2000]
    assert [amount("memory", text) for text in ("1Ki", "100m", "1.5Gi")] == [1024, 1, 3 * 2**29]


def test_what_a_whole_pod_asks_for_stands_in_place_of_its_containers():
    container = {"resources": {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}}}
    spec = {"containers": [container, container], "resources": {"requests": {"cpu": "500m"}}}
    assert requested(spec) == {"cpu": 500, "memory": 2**31, "nvidia.com/gpu": 2, "pods": 1}
