"""Task names that say what a task waits for, as in Alibaba's traces.

Letters, the task's own number, then ``_`` and the number of each parent: ``M1`` waits for
nothing, ``M5_3_4`` (or ``5_3_4``) for tasks 3 and 4 of the same job. ``Stg`` with a number, as in
``J10_7_9_Stg4``, names no task of the trace and says nothing. Any other name, such as
``task_xyz`` or ``MergeTask``, is that of a task without number and without parents.

Alibaba's trace of 2018 cuts names off after 50 characters, possibly within a number (the
publisher's issue 136), so the last part of a name of that length is not looked at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cloudarena.base.arrow import pa, pc
from cloudarena.base.numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_NAME = 50
NUMBERED = r"^[A-Za-z]*\d"
"""How a name with a number begins."""
NAME = re.compile(r"[A-Za-z]*(\d{1,9})((?:_(?:\d{1,9}|Stg\d+))*)")
LARGEST_NUMBER = 10**9


def parse_name(name: str) -> tuple[int, list[int]] | None:
    """The number of a task and of its parents, or None for a name that has none."""
    if len(name) >= LONGEST_NAME:
        name = name.rpartition("_")[0]
    match = NAME.fullmatch(name)
    if match is None:
        return None
    parts = match[2].split("_")[1:]
    return int(match[1]), [int(part) for part in parts if not part.startswith("Stg")]


def edges_by_name(job: NDArray[np.int64], names: pa.Array) -> tuple[NDArray[np.int64], int]:
    """The edges that task names tell.

    A parent's number stands for every task of the job with that number. A number that no task
    of the job has is dropped, and counted.

    Args:
        job: the job of each task, as a number.
        names: the name of each task.

    Returns:
        Rows of (task, parent), and how many parents were dropped.
    """
    encoded = names if pa.types.is_dictionary(names.type) else pc.dictionary_encode(names)
    words = encoded.dictionary
    numbered = pc.indices_nonzero(pc.match_substring_regex(words, NUMBERED)).to_numpy()
    number = np.full(len(words), -1)
    first = np.zeros(len(words) + 1, np.int64)
    listed: list[int] = []
    for word in numbered.tolist():
        parsed = parse_name(words[word].as_py())
        if parsed is not None:
            number[word] = parsed[0]
            listed += parsed[1]
            first[word + 1] = len(parsed[1])
    np.cumsum(first, out=first)
    wanted = np.array(listed, np.int64)

    codes = np.asarray(encoded.indices.to_numpy(), np.int64)
    count = np.diff(first)[codes]
    task = np.repeat(np.arange(len(job)), count)
    within = np.arange(len(task)) - np.repeat(np.cumsum(count) - count, count)
    edges, missing = find_parents(task, wanted[first[codes[task]] + within], job, number[codes])
    return edges, int(missing.sum())


def find_parents(
    task: NDArray[np.int64],
    wanted: NDArray[np.int64],
    job: NDArray[np.int64],
    number: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The edges from tasks to all tasks of their job that have a wanted number.

    Args:
        task: tasks that wait; one stands as often as it has wants.
        wanted: the number that each waits for, less than ``LARGEST_NUMBER``.
        job: the job of every task.
        number: the number of every task, -1 for none.

    Returns:
        Rows of (task, parent), and for each want whether there is no such task.
    """
    keys = job[task] * LARGEST_NUMBER + wanted
    rows = np.flatnonzero(number >= 0)
    known = job[rows] * LARGEST_NUMBER + number[rows]
    order = np.argsort(known, kind="stable")
    rows, known = rows[order], known[order]
    begin, end = np.searchsorted(known, keys, "left"), np.searchsorted(known, keys, "right")
    found = end - begin
    within = np.arange(found.sum()) - np.repeat(np.cumsum(found) - found, found)
    parent = rows[np.repeat(begin, found) + within]
    return np.column_stack((np.repeat(task, found), parent)), found == 0
