"""Which shard a document belongs to."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.plugins.shards.cluster_file import shard_of

NAMES = st.lists(st.text("abcs123", min_size=1, max_size=4), min_size=1, max_size=6, unique=True)


@given(st.text(), NAMES, st.text("xyz", min_size=1, max_size=3))
def test_another_shard_takes_documents_but_moves_none_between_the_others(key: str, names: list[str], new: str) -> None:
    before, after = shard_of(key, names), shard_of(key, [*names, new])
    assert after in (before, new)


@given(st.text(), NAMES)
def test_the_order_of_the_shards_does_not_matter(key: str, names: list[str]) -> None:
    assert shard_of(key, names) == shard_of(key, names[::-1]) in names


def test_documents_are_spread_evenly() -> None:
    found = Counter(shard_of(f"thread-{i}", ["s1", "s2", "s3", "s4"]) for i in range(8000))
    assert all(1800 < count < 2200 for count in found.values())


def test_a_key_with_half_a_character_has_a_shard() -> None:
    assert shard_of("\ud800", ["s1", "s2"]) in ("s1", "s2")
