"""ETC matrices: the twelve classes, and CSV files."""

import numpy as np
import pytest

from cloudarena.base.errors import CloudarenaError, TraceError
from cloudarena.mapping import CLASSES, Etc, generate_etc, read_etc, write_etc

TASK = {"high": 3000.0, "low": 100.0}
MACHINE = {"high": 1000.0, "low": 10.0}


def test_there_are_twelve_classes():
    assert len(set(CLASSES)) == 12
    assert "semi-consistent-low-high" in CLASSES


@pytest.mark.parametrize("name", CLASSES)
def test_times_are_in_the_ranges_of_their_class(name):
    _, task, machine = name.rsplit("-", 2)
    etc = generate_etc(name, seed=7)
    assert etc.times.shape == (512, 16)
    assert etc.times.min() >= 1.0
    assert etc.times.max() < TASK[task] * MACHINE[machine]
    # Within a row only the machine's factor differs.
    ratios = etc.times.max(axis=1) / etc.times.min(axis=1)
    assert ratios.max() < MACHINE[machine]
    # Means of uniform distributions: (1 + 3000) / 2 and so on. 512 baselines: 2.5 % standard error.
    expected = (1.0 + TASK[task]) / 2.0 * (1.0 + MACHINE[machine]) / 2.0
    assert etc.times.mean() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("name", CLASSES)
def test_consistency(name):
    times = generate_etc(name, seed=1).times
    is_sorted = (np.diff(times, axis=1) >= 0).all(axis=1)
    even_is_sorted = (np.diff(times[:, ::2], axis=1) >= 0).all(axis=1)
    odd_is_sorted = (np.diff(times[:, 1::2], axis=1) >= 0).all(axis=1)
    if name.startswith("consistent"):
        assert is_sorted.all()
    elif name.startswith("semi"):
        assert even_is_sorted.all()
        assert not odd_is_sorted.any()
    else:
        # 16 or 8 numbers in order by chance: 1 in 8! = 40,320 rows.
        assert not even_is_sorted.any()
        assert not odd_is_sorted.any()


def test_the_seed_decides_and_classes_share_their_draws():
    drawn = generate_etc("inconsistent-high-low", seed=5).times
    assert np.array_equal(drawn, generate_etc("inconsistent-high-low", seed=5).times)
    assert not np.array_equal(drawn, generate_etc("inconsistent-high-low", seed=6).times)
    in_order = generate_etc("consistent-high-low", seed=5).times
    assert np.array_equal(np.sort(drawn, axis=1), in_order)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("consistent-high",), "class: 'consistent-high' is not allowed: one of .* Did you mean"),
        (("consistent-high-high", 0), "tasks: 0 is not allowed: at least 1"),
        (("consistent-high-high", 1, 0), "machines: 0 is not allowed: at least 1"),
        (("consistent-high-high", 1, 1, -1), "seed: -1 is not allowed: a whole number"),
        (("consistent-high-high", 2**60, 2**60), "do not fit in memory"),
    ],
)
def test_what_cannot_be_generated_is_named(arguments, message):
    with pytest.raises(CloudarenaError, match=message):
        generate_etc(*arguments)


def test_a_matrix_comes_back_from_its_file_to_the_last_bit(tmp_path):
    etc = generate_etc("inconsistent-high-high", 30, 4, seed=1)
    back = read_etc(write_etc(etc, tmp_path / "etc.csv"))
    assert np.array_equal(back.times, etc.times)
    assert (back.tasks, back.machines) == (etc.tasks, etc.machines)


def test_names_come_back_too(tmp_path):
    etc = Etc(np.array([[0.1, 1e-9], [2.0, 3e200]]), ("a, b", 'c "d"'), ("fast", "ß"))
    back = read_etc(write_etc(etc, tmp_path / "etc.csv"))
    assert np.array_equal(back.times, etc.times)
    assert back[1:] == etc[1:]


@pytest.mark.parametrize(
    ("text", "tasks", "machines"),
    [
        ("1,2\n3,4\n", ("0", "1"), ("0", "1")),
        ("fast,slow\n1,2\n3,4\n", ("0", "1"), ("fast", "slow")),
        ("task,fast,slow\na,1,2\nb,3,4\n", ("a", "b"), ("fast", "slow")),
        ("Task_ID,0,1\n7,1,2\n9,3,4\n", ("7", "9"), ("0", "1")),
        (",0,1\n0,1,2\n1,3,4\n", ("0", "1"), ("0", "1")),
        ("\ufeff1, 2 \r\n\r\n3,+4e0\r\n , \r\n", ("0", "1"), ("0", "1")),
    ],
    ids=["plain", "machines", "task", "task_id", "pandas", "BOM and empty lines"],
)
def test_headers_and_names_are_recognised(tmp_path, text, tasks, machines):
    file = tmp_path / "etc.csv"
    file.write_text(text, encoding="utf-8", newline="")
    etc = read_etc(file)
    assert etc.times.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert etc.tasks == tasks
    assert etc.machines == machines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "etc.csv: is empty"),
        ("\n\n", "etc.csv: is empty"),
        ("task\na\n", "line 1: has no machines"),
        ("a,b\n", "etc.csv: has no tasks"),
        ("1,2\n3\n", "line 2: has 1 columns: 2 are needed"),
        ("task,a\nx,1,2\n", "line 2: has 3 columns: 2 are needed"),
        ("1,2\n\n3,x\n", "line 3: machine 1: 'x' is not allowed: a finite number of seconds"),
        ("a,b\n1,0\n", "line 2: machine b: '0' is not allowed: .* more than 0"),
        ("1,-2\n", "line 1: machine 1: '-2' is not allowed"),
        ("1,nan\n", "line 1: machine 1: 'nan' is not allowed"),
        ("1,2\ninf,2\n", "line 2: machine 0: 'inf' is not allowed"),
        ("1,1_000\n", "line 1: machine 1: '1_000' is not allowed"),
        ("1,2\n3,\n", "line 2: machine 1: '' is not allowed"),
        ("t1,1\nt2,2\n", "line 1: machine 0: 't1' .*names of tasks need a header"),
        ("task,a,a\nx,1,2\n", "machine 'a' is a duplicate"),
        ("task,a\nx,1\ny,2\nx,3\n", "task 'x' is a duplicate"),
        ('1,2\n"3,4\n', "line 2: cannot be read"),
    ],
)
def test_bad_files_are_named_with_their_line(tmp_path, text, message):
    file = tmp_path / "etc.csv"
    file.write_text(text)
    with pytest.raises(TraceError, match=message):
        read_etc(file)


def test_files_that_are_not_there_or_not_text(tmp_path):
    with pytest.raises(TraceError, match=r"none\.csv: does not exist"):
        read_etc(tmp_path / "none.csv")
    with pytest.raises(TraceError, match="is a folder"):
        read_etc(tmp_path)
    (tmp_path / "etc.csv").write_bytes(b"\xff\xfe1,2\n")
    with pytest.raises(TraceError, match="cannot be read"):
        read_etc(tmp_path / "etc.csv")
