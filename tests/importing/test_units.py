"""Texts that other tools write become the right numbers."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from cloudarena.importing import units
from cloudarena.importing.units import Instants


@pytest.mark.parametrize(
    ("text", "value"),
    [("4", 4), ("1,234", 1234), ("1,234.5", 1234.5), ("0,5", 0.5), ("1e3", 1000), ("1_000", 1000)],
)
def test_numbers(text, value):
    assert units.number(text) == value


@pytest.mark.parametrize(
    "text", ["14:05", "2026-02-30 10:00", "10.0.0.1", "13/13/2026", "5 xyz 2026", "12:61 5.1.2026"]
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError):
        Instants(UTC).parse(text)


@pytest.mark.parametrize("text", ["", "two", "nan", "inf", "1.2.3", "0x10"])
def test_what_is_no_number(text):
    with pytest.raises(ValueError):
        units.number(text)


@pytest.mark.parametrize(
    ("text", "unit", "gigabytes"),
    [
        ("4G", "gb", 4), ("512 MiB", "gb", 0.5), ("512", "mb", 0.5), ("4Gc", "gb", 4),
        ("16Gn", "gb", 16), ("2048M", "gb", 2), ("1T", "gb", 1024), ("1073741824", "bytes", 1),
        ("16333764Ki", "gb", 16333764 / 2**20),
    ],
)  # fmt: skip
def test_memory(text, unit, gigabytes):
    assert units.gigabytes(unit)(text) == pytest.approx(gigabytes)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93784), ("02:03:04", 7384), ("03:04", 184), ("03:04.500", 184.5),
        ("1h30m", 5400), ("12 ms", 0.012), ("PT1H5M", 3900), ("P1DT1S", 86401), ("90", 90),
        ("3 days, 04:05:06", 273906), ("0 days 00:05:00", 300), ("250us", 0.00025), ("2 min", 120),
    ],
)  # fmt: skip
def test_lengths_of_time(text, seconds):
    assert units.seconds()(text) == pytest.approx(seconds)


def test_a_unit_of_plain_numbers():
    assert units.seconds("min")("120") == 7200
    assert units.cores("m")("1500") == 1.5


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-05T08:00:00Z", "2026-01-05T08:00:00+00:00", "2026-01-05 09:00:00+0100",
        "2026-01-05 08:00", "2026/01/05 08:00:00", "05.01.2026 08:00", "1767600000",
        "1767600000000", "1767600000000000", "05/Jan/2026:08:00:00 +0000",
        "1/5/2026, 8:00:00.000 AM", "05. Januar 2026 08:00 Uhr", "5 janv. 2026 08h00",
        "2026年1月5日 08:00", "Mon Jan  5 08:00:00 2026", "2026-01-05 09:00:00 +0100 CET",
        "Jan 5, 2026 @ 08:00:00.000", "5 de enero de 2026 08:00", "Mo 05.01.26 08:00",
        "2026-01-05T08:00:00.000000000Z", "2026-01-05 08:00:00 UTC", "20260105080000",
    ],
)  # fmt: skip
def test_instants(text):
    assert Instants(UTC).parse(text) == 1767600000


def test_times_without_a_zone_are_of_the_one_given():
    berlin = Instants(ZoneInfo("Europe/Berlin"))
    assert berlin.parse("2026-01-05 09:00:00") == 1767600000
    assert berlin.parse("2026-07-05 10:00:00") == 1783238400  # summer time


def test_days_and_months_are_told_apart_by_the_column():
    assert units.day_order(["03/04/2026", "13/04/2026"]) == (True, "")
    assert units.day_order(["03/04/2026", "03/14/2026"]) == (False, "")
    assert units.day_order(["2026-03-04"]) == (False, "")
    order = units.day_order(["03/04/2026", "04/04/2026", "05/04/2026"])  # a week, not three months
    assert order.is_day_first
    assert "taken for day/month/year" in order.guess
    assert not units.day_order(["3/4/2026 1:05 PM", "4/4/2026 1:05 PM"]).is_day_first
    assert Instants(UTC, "", day_first=True).parse("05/01/2026 08:00") == 1767600000
    assert Instants(UTC, "", day_first=False).parse("01/05/2026 08:00") == 1767600000


def test_years_that_stand_for_never():
    assert units.is_far(Instants(UTC).parse("0001-01-01T00:00:00Z"))
    assert units.is_far(Instants(UTC).parse("9999-12-31T23:59:59Z"))
    assert not units.is_far(1767600000)
