"""Intensities of grids as others publish them, with dates."""

import pytest

from cloudarena.base.errors import TraceError
from cloudarena.workloads.carbon import read_intensities

LINES = {
    "Time,Carbon Intensity": ("2020-01-01 00:00:00,200.5", "2020-01-01 00:15:00,210"),
    "UTC time,carbon_intensity": (
        "2020-01-01 00:00:00+00:00,200.5",
        "2020-01-01 00:15:00+00:00,210",
    ),
    "timestamp,carbon_intensity": ("01/01/2020 00:00:00,200.5", "01/01/2020 00:15:00,210"),
}


@pytest.mark.parametrize("head", LINES)
def test_published_forms_count_from_their_first_row(tmp_path, head):
    path = tmp_path / "grid.csv"
    rows = LINES[head]
    path.write_text("\n".join([head, *rows, rows[1], rows[1].split(",")[0] + ",", ""]))
    assert read_intensities(path) == ((0.0, 200.5), (900.0, 210.0))


def test_what_is_no_date_is_said(tmp_path):
    path = tmp_path / "grid.csv"
    path.write_text("Time,Carbon Intensity\nnoon,100\n")
    with pytest.raises(TraceError, match="Time: 'noon' is not allowed: a date such as"):
        read_intensities(path)
    with pytest.raises(TraceError, match="does not exist"):
        read_intensities(tmp_path / "gone.csv")
