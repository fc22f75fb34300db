"""What machines cost, and lists of instance types."""

import re

import pytest

from cloudarena.base.errors import CloudarenaError
from cloudarena.workloads.prices.instances import instance_named, nearest_instance, read_instances
from cloudarena.workloads.prices.machine import MONTH_H, MachinePrice


def test_the_list_that_ships():
    instances = read_instances()
    assert len(instances) >= 60
    assert {one.cloud for one in instances.values()} == {"aws", "azure", "gcp"}
    assert all(one.date and one.region and one.hour_usd > 0 for one in instances.values())
    assert instances["m5.large"][1:4] == (2, 8, 0.096)


def test_a_list_of_ones_own(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("instanceType,vcpu,memory,price,note\nbig,64,256 GiB,1.5,x\n")
    assert instance_named("big", path)[:4] == ("big", 64, 256, 1.5)
    price = MachinePrice(instance="big", prices=path)
    assert price.hourly_usd == 1.5
    path = tmp_path / "bad.csv"
    path.write_text("name,vcpu,memory_gb,hour_usd\nbig,64,256,cheap\n")
    with pytest.raises(
        CloudarenaError, match=re.escape("line 2: hour_usd: 'cheap' is not allowed")
    ):
        read_instances(path)
    path.write_text("name,vcpu,memory_gb\nbig,64,256\n")
    read_instances.cache_clear()
    with pytest.raises(CloudarenaError, match="column 'hour_usd' is missing"):
        read_instances(path)


def test_owned_machines_are_written_off():
    owned = MachinePrice(purchase_usd=9600, years=4, month_usd=50)
    assert owned.basis == "owned"
    assert owned.hourly_usd * MONTH_H == pytest.approx(9600 / 48 + 50)
    assert not owned.is_by_use


def test_rented_machines():
    assert MachinePrice(hour_usd=2).is_by_use
    assert MachinePrice(instance="m5.large").hourly_usd == 0.096
    reserved = MachinePrice(instance="m5.large", terms="reserved", discount=0.4)
    assert reserved.hourly_usd == pytest.approx(0.0576)
    assert not reserved.is_by_use


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "hour_usd or instance is needed"),
        ({"hour_usd": 1, "instance": "m5.large"}, "only one of them"),
        ({"instance": "m5.larg"}, "Did you mean 'm5.large'"),
        ({"purchase_usd": 5, "hour_usd": 1}, "not allowed with terms: owned"),
        ({"month_usd": 5, "terms": "spot", "hour_usd": 1}, "not allowed with terms: spot"),
    ],
)
def test_prices_that_make_no_sense(given, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        MachinePrice(**given)


def test_the_nearest_instance_is_large_enough():
    assert nearest_instance(60, 200).vcpu >= 60
    assert nearest_instance(10**6, 1).vcpu == max(one.vcpu for one in read_instances().values())
