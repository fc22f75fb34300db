"""Arrow's columns made without pandas are those that PyArrow makes."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from cloudarena.base.arrow import arrow_column, arrow_table, read_numbers


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float64, np.float32, np.bool_])
@pytest.mark.parametrize("count", [0, 1, 8, 9])
def test_numbers_and_truth_values_are_the_columns_of_pyarrow(dtype, count):
    values, mask = np.arange(2 * count).astype(dtype), np.arange(count) % 3 == 1
    for part in (values[:count], values[::2]):
        made = arrow_column(part)
        made.validate(full=True)
        assert made.type == pa.array(part).type
        assert made.equals(pa.array(part))
        hidden = arrow_column(part, mask=mask)
        hidden.validate(full=True)
        assert hidden.equals(pa.array(part, mask=mask))


@pytest.mark.parametrize(
    "texts", [[], ["a"], ["", "é", None, "long " * 9], np.array(["x", "yz"]), [None]]
)
def test_texts_are_the_columns_of_pyarrow(texts):
    made = arrow_column(texts)
    made.validate(full=True)
    assert made.equals(pa.array(texts, pa.string()))
    mask = np.arange(len(texts)) % 2 == 0
    objects = np.array(texts, object)
    assert arrow_column(objects, mask=mask).equals(pa.array(objects, pa.string(), mask=mask))


def test_a_table_is_that_of_pyarrow_and_its_numbers_are_read_back():
    columns = {"a": np.arange(3), "b": pa.array([1.5, 2.5, None]), "c": np.array(["x", "y", "z"])}
    assert arrow_table(columns).equals(pa.table(columns))
    assert read_numbers(arrow_table(columns)["a"]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["vm", "jobs", "workflow"])
def test_work_is_loaded_without_pandas_and_products_of_matrices(kind):
    """What is installed beside it must not make a short run longer by half."""
    script = (
        "import sys, cloudarena, cloudarena.engine.compiled\n"
        f"scenario = cloudarena.load({kind + '/toy'!r})\n"
        "scenario.load_workload(1)\n"
        "print(sorted({'pandas', 'scipy.linalg'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_a_whole_run_does_without_them_too():
    """The result has its tables. Only who has to compile may need more, once."""
    script = (
        "import sys, cloudarena\n"
        "result = cloudarena.simulate('vm/toy')\n"
        "assert result.tables['decisions'].num_rows\n"
        "print(sorted({'pandas', 'scipy.linalg'} & set(sys.modules)))\n"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        if done.stdout == "[]\n":
            break
    assert done.stdout == "[]\n", done.stderr
