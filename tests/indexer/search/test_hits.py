"""What a hit shows of its document."""

from moverank import Collection
from tests.indexer.world import document


def test_a_hit_has_title_label_and_snippet(collection: Collection) -> None:
    collection.index([document("a", "of ant", "zorp bee", title="A title", label="red"), document("b", "ant")])
    hits = {hit.key: hit for hit in collection.search("bee").hits}
    assert (hits["a"].title, hits["a"].label, hits["a"].snippet) == ("A title", "red", "of ant zorp bee")
    assert (hits["b"].title, hits["b"].label) == ("", None)


def test_a_hit_without_a_bag_has_no_flows(collection: Collection) -> None:
    collection.index([document("a", "ant bee"), document("zorp", "zorp")])
    hits = {hit.key: hit for hit in collection.search("ant zorp", rank="wmd+bm25", explained=True).hits}
    assert hits["a"].flows
    assert hits["zorp"].flows == ()
