"""What the tests of job traces share."""

import numpy as np
import pyarrow as pa


def same_jobs(one, other):
    """Asserts that two workloads are equal; times of submission to a nanosecond."""
    assert abs(one.begin_s - other.begin_s) < 1e-9
    assert np.array_equal(one.gpu_models, other.gpu_models)
    for name in one._fields[: one._fields.index("begin_s")]:
        ours, theirs = getattr(one, name), getattr(other, name)
        if isinstance(ours, pa.Array):
            assert ours.equals(theirs), name
        elif name == "submit":
            assert np.allclose(ours, theirs, rtol=0, atol=1e-9)
        else:
            assert ours.dtype == theirs.dtype, name
            assert np.array_equal(ours, theirs, equal_nan=ours.dtype == float), name
