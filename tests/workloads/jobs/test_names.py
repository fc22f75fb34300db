"""Task names that say what a task waits for."""

import numpy as np
import pyarrow as pa
import pytest

from cloudarena.workloads.jobs.names import edges_by_name, parse_name


@pytest.mark.parametrize(
    ("name", "number", "parents"),
    [
        ("M1", 1, []),
        ("M2_1", 2, [1]),
        ("R4_2", 4, [2]),
        ("M5_3_4", 5, [3, 4]),
        ("5_3_4", 5, [3, 4]),
        ("12", 12, []),
        ("J10_7_9_Stg4", 10, [7, 9]),
        ("M7_Stg3", 7, []),
        # Cut off after 50 characters: the last part may be the start of 10 or 102.
        (
            "M5_14_17_28_30_40_42_52_54_64_66_76_78_88_90_100_1",
            5,
            [14, 17, 28, 30, 40, 42, 52, 54, 64, 66, 76, 78, 88, 90, 100],
        ),
        (
            "M5_14_17_28_30_40_42_52_54_64_66_76_78_88_90_1000_",
            5,
            [14, 17, 28, 30, 40, 42, 52, 54, 64, 66, 76, 78, 88, 90, 1000],
        ),
    ],
)
def test_names_with_numbers(name, number, parents):
    assert parse_name(name) == (number, parents)


@pytest.mark.parametrize(
    "name", ["task_xyz", "task_NDI1MTAzMjk3NDU2NzQ2MzE1MA==", "MergeTask", "", "M", "M1_x", "1M_2"]
)
def test_names_without_numbers(name):
    assert parse_name(name) is None


def edges(names, job=None):
    job = np.zeros(len(names), np.int64) if job is None else np.array(job)
    found, dropped = edges_by_name(job, pa.array(names, pa.string()))
    return sorted(map(tuple, found.tolist())), dropped


def test_edges_stay_within_a_job():
    names = ["M1", "M1", "R2_1", "R2_1", "task_q", "J3_1_2"]
    assert edges(names, [0, 1, 0, 1, 0, 0]) == ([(2, 0), (3, 1), (5, 0), (5, 2)], 0)


def test_parents_that_are_missing_are_dropped_and_counted():
    assert edges(["R2_1", "J5_3_4_2"]) == ([(1, 0)], 3)
    assert edges(["task_a", "b"]) == ([], 0)
    assert edges([]) == ([], 0)


def test_a_number_stands_for_every_task_that_has_it():
    assert edges(["M1", "R1", "J2_1"]) == ([(2, 0), (2, 1)], 0)


def test_dictionaries_are_taken_as_they_are():
    found, _ = edges_by_name(np.zeros(2, np.int64), pa.array(["M1", "R2_1"]).dictionary_encode())
    assert found.tolist() == [[1, 0]]
