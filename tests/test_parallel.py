"""Work for many processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloudarena.base import parallel
from cloudarena.base.errors import CloudarenaError
from cloudarena.base.parallel import check_workers, in_parallel, worker_count


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    jobs = [(number, 2) for number in range(9)]
    alone = sorted(in_parallel(pow, jobs, 1))
    assert sorted(in_parallel(pow, jobs, 2)) == alone


def test_a_function_of_the_moment_goes_to_the_workers_by_value() -> None:
    shift = 5
    assert sorted(in_parallel(lambda x: x + shift, [(1,), (2,)], 2)) == [6, 7]


def test_workers_are_where_the_caller_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path.cwd()
    assert set(in_parallel(Path.cwd, [(), ()], 2)) == {here}
    monkeypatch.chdir(tmp_path)
    assert set(in_parallel(Path.cwd, [(), ()], 2)) == {tmp_path}


def test_an_error_in_a_worker_is_that_error() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_parallel(divmod, [(1, 1), (1, 0), (2, 1)], 2))
    assert sorted(in_parallel(pow, [(2, 1), (2, 2)], 2)) == [2, 4]  # and the next call works


@pytest.mark.parametrize("workers", [0, -2])
def test_numbers_of_workers_that_make_no_sense(workers: int) -> None:
    with pytest.raises(CloudarenaError, match="at least 1, or -1 for all cores"):
        check_workers(workers)


def test_all_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "core_count", lambda: 7)
    assert (worker_count(-1), worker_count(3)) == (7, 3)
