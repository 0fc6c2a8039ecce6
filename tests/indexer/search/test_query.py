"""A resolved query."""

import pytest

from moverank.indexer.search.query import QueryWords


def test_words_of_a_bag_have_no_counts() -> None:
    with pytest.raises(ValueError, match="these words have no counts"):
        QueryWords.none(3).counted()
