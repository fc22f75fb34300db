"""Drawing by quota: the mix is met, whatever is made alike."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.special import ndtri

from cloudarena.workloads.quotas import (
    deal_to_groups,
    part_of_quota,
    quota_counts,
    strata,
    strata_by_group,
)

SHARES = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6)
GROUPS = st.lists(st.integers(0, 20), max_size=200).map(lambda g: np.array(g, np.int64))


def rng():
    return np.random.default_rng(7)


@given(st.integers(0, 5000), SHARES)
def test_counts_add_up_and_differ_from_the_shares_by_less_than_one(count, shares):
    counts = quota_counts(count, shares)
    assert counts.sum() == count
    assert np.abs(counts - np.array(shares) / sum(shares) * count).max() < 1 + 1e-6


def test_counts_by_hand():
    assert_array_equal(quota_counts(10, (0.5, 0.25, 0.25)), [5, 3, 2])
    assert_array_equal(quota_counts(7, (0.0, 1.0)), [0, 7])


@given(st.lists(st.integers(0, 50), min_size=3, max_size=3), st.floats(0, 1), SHARES)
def test_a_part_of_a_quota_takes_what_there_is(quota, share, shares):
    shares = [*shares, 0.1, 0.1][:3]
    quota = np.array(quota)
    count = int(share * quota.sum())
    part = part_of_quota(quota, count, shares)
    assert part.sum() == count
    assert (part >= 0).all()
    assert (part <= quota).all()


def test_a_part_of_a_quota_by_hand():
    """Eight of ten shall be of the first kind, of which there are five: the others make it up."""
    assert_array_equal(part_of_quota(np.array([5, 6, 3]), 10, (0.8, 0.1, 0.1)), [5, 3, 2])
    assert_array_equal(part_of_quota(np.array([50, 50]), 10, (0.8, 0.2)), [8, 2])


@given(GROUPS, SHARES)
def test_groups_are_of_one_code_and_the_quota_is_met(group, shares):
    counts = quota_counts(len(group), shares)
    codes = deal_to_groups(rng(), group, counts)
    assert_array_equal(np.bincount(codes, minlength=len(counts)), counts)
    mixed = sum(len(set(codes[group == g])) > 1 for g in set(group.tolist()))
    assert mixed < len(counts)


def test_groups_are_dealt_at_random():
    group = np.arange(1000)
    codes = deal_to_groups(rng(), group, np.array([500, 500]))
    assert 200 < codes[:500].sum() < 300


@given(GROUPS)
def test_each_stratum_has_one_number(group):
    for numbers in (strata(rng(), len(group)), strata_by_group(rng(), group, 0.7)):
        places = np.sort(np.floor(numbers * len(group)))
        assert_array_equal(places, np.arange(len(group)))


def test_members_of_a_group_are_near_each_other():
    group = np.repeat(np.arange(2000), 2)
    for correlation in (0.0, 0.75, 1.0):
        numbers = strata_by_group(rng(), group, correlation).reshape(-1, 2)
        found = np.corrcoef(ndtri(numbers).T)[0, 1]
        assert abs(found - correlation) < 0.06
