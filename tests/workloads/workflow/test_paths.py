"""Longest paths through workflows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudarena.workloads.workflow.columns import lay_out
from cloudarena.workloads.workflow.paths import (
    critical_path_s,
    function_seconds,
    remaining_path_s,
)

from .cases import chain, diamond, templates


def test_by_hand():
    workload = lay_out([diamond(), chain()], [0, 1], [0, 1])
    assert function_seconds(workload, 1000).tolist() == [4, 1, 3, 1, 1, 2, 3]
    assert remaining_path_s(workload, 1000).tolist() == [4, 8, 7, 5, 6, 5, 3]
    assert critical_path_s(workload, 1000).tolist() == [8, 6]
    assert critical_path_s(workload, 2000).tolist() == [4, 3]


def longest(template, seconds, function):
    """Every path, one by one."""
    after = [edge[1] for edge in template.edges.tolist() if edge[0] == function]
    return seconds[function] + max((longest(template, seconds, k) for k in after), default=0)


@given(st.lists(templates(), min_size=1, max_size=3))
def test_as_every_path_one_by_one(some):
    workload = lay_out(some, np.zeros(len(some)), np.arange(len(some)))
    seconds = function_seconds(workload, 7)
    remaining = remaining_path_s(workload, 7)
    for w, template in enumerate(some):
        own = slice(*workload.first_function[w : w + 2])
        want = [longest(template, seconds[own], k) for k in range(len(template.computation))]
        assert remaining[own].tolist() == pytest.approx(want)
        assert critical_path_s(workload, 7)[w] == pytest.approx(max(want))
