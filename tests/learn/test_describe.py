"""The page of the environments says what is declared."""

from pathlib import Path

import pytest

from cloudarena.learn.describe import with_features
from cloudarena.scenarios import kinds

PAGE = Path(__file__).parents[2] / "docs" / "environments.md"
ALL = [decides for kind in kinds().values() for decides in kind.candidates]


def test_the_page_has_the_features_as_they_are_declared():
    """If not: PAGE.write_text(with_features(PAGE.read_text()))."""
    assert with_features(PAGE.read_text()) == PAGE.read_text()


@pytest.mark.parametrize("decides", ALL)
def test_all_that_is_decided_by_candidates_is_on_the_page(decides):
    assert f"<!-- features of {decides}:" in PAGE.read_text()
