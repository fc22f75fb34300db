"""List heuristics on matrices small enough to do by hand."""

import numpy as np
import pytest

from cloudarena.mapping import lower_bound, map_tasks

#         machine 0  machine 1
MATRIX = [[2, 4],  # task 0
          [3, 1],  # task 1
          [5, 6],  # task 2
          [4, 9]]  # task 3  # fmt: skip

# OLB: loads (0, 0): task 0 to 0, 2. (2, 0): task 1 to 1, 1. (2, 1): task 2 to 1, 1 + 6 = 7.
#     (2, 7): task 3 to 0, 2 + 4 = 6.
# MET: the smaller of each row: 0, 1, 0, 0. Loads 2 + 5 + 4 = 11 and 1.
# MCT: task 0: 2 < 4, to 0. Task 1: 2 + 3 = 5 > 1, to 1. Task 2: 2 + 5 = 7 = 1 + 6, a tie, to 0.
#     Task 3: 7 + 4 = 11 > 1 + 9 = 10, to 1. Loads 7 and 10.
# Min-min: earliest ends 2, 1, 5, 4: task 1 to 1, 1. Of 2, 5, 4: task 0 to 0, 2. Task 2 can end
#     at 2 + 5 = 7 = 1 + 6, task 3 at 2 + 4 = 6: task 3 to 0, 6. Task 2: 6 + 5 = 11 > 1 + 6 = 7,
#     to 1. Loads 6 and 7.
# Max-min: of 2, 1, 5, 4: task 2 to 0, 5. Task 0: 7 > 4. Task 1: 8 > 1. Task 3: 5 + 4 = 9 = 9, a
#     tie. Of 4, 1, 9: task 3 to 0, 9. Of 4 (on 1) and 1: task 0 to 1, 4. Task 1: 12 > 4 + 1, to 1.
#     Loads 9 and 5.
# Duplex: Min-min, since 7 < 9.
# Sufferage: task 0 asks for 0 and would lose 4 - 2 = 2; task 2 asks for 0, 6 - 5 = 1; task 3 asks
#     for 0, 9 - 4 = 5; task 1 asks for 1, 3 - 1 = 2. Task 3 gets 0, 4; task 1 gets 1, 1. Next
#     round: task 0: 6 > 5 asks for 1 and would lose 1; task 2: 9 > 7 asks for 1, 2. Task 2 gets 1,
#     7. Task 0: 6 < 11, to 0. Loads 6 and 7.
BY_HAND = {
    "olb": ([0, 1, 1, 0], [6, 7]),
    "met": ([0, 1, 0, 0], [11, 1]),
    "mct": ([0, 1, 0, 1], [7, 10]),
    "min-min": ([0, 1, 1, 0], [6, 7]),
    "max-min": ([1, 1, 0, 0], [9, 5]),
    "duplex": ([0, 1, 1, 0], [6, 7]),
    "sufferage": ([0, 1, 1, 0], [6, 7]),
}


@pytest.mark.parametrize("heuristic", BY_HAND)
def test_four_tasks_on_two_machines(heuristic):
    assignment, finish = BY_HAND[heuristic]
    mapping = map_tasks(MATRIX, heuristic)
    assert mapping.heuristic == heuristic
    assert mapping.assignment.dtype == np.int64
    assert mapping.assignment.tolist() == assignment
    assert mapping.finish.tolist() == finish
    assert mapping.makespan == max(finish)


# The same tasks while machine 0 is busy until 5.
# OLB: (5, 0): task 0 to 1, 4. (5, 4): task 1 to 1, 5. (5, 5): a tie, task 2 to 0, 10. (10, 5):
#     task 3 to 1, 14.
# MET: as before, machine 0 later by 5: 16 and 1.
# MCT: task 0: 7 > 4, to 1. Task 1: 8 > 5, to 1. Task 2: 10 < 11, to 0. Task 3: 14 = 14, a tie,
#     to 0.
# Min-min: earliest ends 4, 1, 6, 9 (a tie: machine 0). Task 1 to 1, 1. Task 0: 7 > 5; task 2:
#     10 > 7; task 3: 9 < 10. Task 0 to 1, 5. Task 2: 10 < 11; task 3: 9: task 3 to 0, 9. Task 2:
#     14 > 11, to 1, 11.
# Max-min: of 4, 1, 6, 9: task 3 to 0, 9. Of 4, 1, 6 (all on 1): task 2 to 1, 6. Task 0: 11 > 10;
#     task 1: 12 > 7: task 0 to 1, 10. Task 1: 12 > 11, to 1, 11.
# Duplex: both end at 11: Min-min.
# Sufferage: task 0 asks for 1, 7 - 4 = 3; task 1 for 1, 8 - 1 = 7; task 2 for 1, 10 - 6 = 4; task
#     3 for 0 (a tie), 0. Task 3 gets 0, 9; task 1 gets 1, 1. Next: task 0: 11 > 5, 6; task 2:
#     14 > 7, 7. Task 2 gets 1, 7. Task 0: 11 = 11, a tie, to 0, 11.
WITH_READY = {
    "olb": ([1, 1, 0, 1], [10, 14]),
    "met": ([0, 1, 0, 0], [16, 1]),
    "mct": ([1, 1, 0, 0], [14, 5]),
    "min-min": ([1, 1, 1, 0], [9, 11]),
    "max-min": ([1, 1, 1, 0], [9, 11]),
    "duplex": ([1, 1, 1, 0], [9, 11]),
    "sufferage": ([0, 1, 1, 0], [11, 7]),
}


@pytest.mark.parametrize("heuristic", WITH_READY)
def test_a_machine_that_is_not_free_yet(heuristic):
    assignment, finish = WITH_READY[heuristic]
    mapping = map_tasks(MATRIX, heuristic, ready=[5, 0])
    assert mapping.assignment.tolist() == assignment
    assert mapping.finish.tolist() == finish


def test_duplex_takes_max_min_where_it_is_better():
    # Lengths 1, 1, 2 on equal machines. Min-min: 1 and 1 apart, then 2 on top: 3.
    # Max-min: 2 first, then 1 and 1 on the other: 2.
    matrix = [[1, 1], [1, 1], [2, 2]]
    assert map_tasks(matrix, "min-min").makespan == 3
    assert map_tasks(matrix, "max-min").makespan == 2
    assert map_tasks(matrix, "duplex").assignment.tolist() == [1, 1, 0]
    # Lengths 1 and 2: both end at 2, Min-min with task 0 on machine 0, Max-min with task 1 there.
    assert map_tasks([[1, 1], [2, 2]], "max-min").assignment.tolist() == [1, 0]
    assert map_tasks([[1, 1], [2, 2]], "duplex").assignment.tolist() == [0, 1]


def test_ties_go_to_the_lowest_task_then_to_the_lowest_machine():
    # All times are 1: tasks in order, to the machines in turn.
    for heuristic in ("olb", "mct", "min-min", "max-min"):
        assert map_tasks(np.ones((5, 3)), heuristic).assignment.tolist() == [0, 1, 2, 0, 1]
    assert map_tasks(np.ones((5, 3)), "met").assignment.tolist() == [0, 0, 0, 0, 0]
    # Sufferage: each round all ask for the lowest machine with the least load.
    assert map_tasks(np.ones((5, 3)), "sufferage").assignment.tolist() == [0, 1, 2, 0, 1]


def test_completion_times_are_those_of_the_shortest_first():
    # MET puts tasks 0, 2, 3 (2, 5, 4 s) on machine 0 and task 1 (1 s) on machine 1: on machine 0
    # task 0 ends at 2, task 3 at 6, task 2 at 11. With ready times (10, 20) all move by those.
    mapping = map_tasks(MATRIX, "met")
    assert mapping.completion.tolist() == [2, 1, 11, 6]
    assert mapping.flowtime == 20
    assert mapping.mean_finish == 5
    assert map_tasks(MATRIX, "met", ready=[10, 20]).completion.tolist() == [12, 21, 21, 16]


def test_the_lower_bound_is_the_largest_of_three():
    # Smallest times 2, 1, 5, 4: the longest is 5, the even share (2 + 1 + 5 + 4) / 2 = 6.
    assert lower_bound(MATRIX) == 6
    # One long task: 9 s on its best machine.
    assert lower_bound([[9, 10], [1, 1]]) == 9
    # A machine that is busy until 30; and an even share of (6 + 12) / 2 = 9.
    assert lower_bound(MATRIX, ready=[30, 0]) == 30
    assert lower_bound(MATRIX, ready=[6, 0]) == 9
