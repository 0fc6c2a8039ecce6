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


def test_a_hit_has_its_whole_text_on_request(collection: Collection) -> None:
    collection.index([document("a", "ant\nbee", "zorp " * 99, title="A title"), document("zorp", "zorp")])
    for ranking in (
        collection.search("bee", full=True),
        collection.similar("zorp", full=True, rank="bm25"),
        next(iter(collection.search_many(["bee"], full=True))),
        collection.rerank("bee", ["a", "gone"], full=True),
        next(iter(collection.rerank_many(["bee"], [["gone", "a"]], full=True))),
    ):
        texts = {hit.key: hit.text for hit in ranking.hits}
        assert texts["a"] == "ant\nbee\n\n" + "zorp " * 99
        assert texts.get("gone") is None
    assert [hit.text for hit in collection.search("bee").hits] == [None]
