"""The best hit of each value of a field is that of the complete ranking."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, SearchOptions, TooLarge, UsageError
from moverank.indexer.search.answer_size import AnswerSize
from moverank.rerank.ranking import Ranking
from tests.indexer.world import WORDS, MakeCollection, document, random_documents
from tests.samples import examples

RANKS = ("wmd", "bm25", "wmd:mu=5,weights=tfidf+0.5*cover+bm25+cosine")
VALUES = st.sampled_from([None, 1, "1", "red", "blue", ["red", "blue"], "long" * 1000])


def _grouped_by_hand(ranking: Ranking, groups: dict[str, Any], k: int) -> list[str]:
    """Return the keys of the best hits of the first k groups of a complete ranking."""
    seen: list[object] = []
    keys = []
    for hit in ranking.hits:
        group = groups[hit.key]
        group = "1" if group == 1 else group
        if group is None or group not in seen:
            seen.append(group)
            keys.append(hit.key)
    return keys[:k]


@pytest.fixture
def made(make_collection: MakeCollection) -> Collection:
    return make_collection(random_documents(40))


@examples(0.3)
@given(st.lists(VALUES, min_size=40, max_size=40), st.integers(1, 12), st.sampled_from(RANKS), st.sampled_from(WORDS))
def test_groups_are_those_of_the_complete_ranking(
    made: Collection, values: list[Any], k: int, rank: str, word: str
) -> None:
    groups: dict[str, Any] = {f"d{i}": value for i, value in enumerate(values)}
    extra = document("extra", "zorp", metadata={"page": 7})
    made.index([extra])
    made.index(
        Document(one.key, one.title, one.parts, metadata={} if groups[one.key] is None else {"page": groups[one.key]})
        for one in random_documents(40)
    )
    query = f"{word} ant"
    whole = made.search(query, k=100, rank=rank, exact=True)
    found = made.search(query, k=k, rank=rank, group_by="page", full=True)
    assert [hit.key for hit in found.hits] == _grouped_by_hand(whole, groups, k)
    assert found.certified
    assert all(hit.text for hit in found.hits)
    (one,) = made.search_many([query], k=k, rank=rank, group_by="page")
    assert [hit.key for hit in one.hits] == [hit.key for hit in found.hits]
    depth = max(k, 15)
    among = made.search(query, k=depth, rank=rank, depth=depth)
    some = made.search(query, k=k, rank=rank, depth=depth, group_by="page")
    assert [hit.key for hit in some.hits] == _grouped_by_hand(among, groups, k)
    odd: dict[str, Any] = {"where": {"key": [f"d{i}" for i in range(1, 40, 2)]}, "rank": rank}
    passing = made.search(query, k=100, **odd)
    assert [hit.key for hit in made.search(query, k=k, **odd, group_by="page").hits] == _grouped_by_hand(
        passing, groups, k
    )
    near = made.similar("d0", k=100, rank=rank)
    assert [hit.key for hit in made.similar("d0", k=k, rank=rank, group_by="page").hits] == _grouped_by_hand(
        near, groups, k
    )


def test_labels_are_groups_and_a_budget_is_refused(collection: Collection) -> None:
    texts = {"a": "red", "b": "red", "c": None, "d": None, "e": "blue"}
    some = zip(texts.items(), WORDS, strict=False)
    collection.index([document(key, f"ant {word}", label=label) for (key, label), word in some])
    hits = collection.search("ant", group_by="label").hits
    assert sorted(hit.label or "" for hit in hits) == ["", "", "blue", "red"]
    assert [one.problem is None for one in collection.search_many(["ant", "zzz"], group_by="label")] == [True, False]
    with pytest.raises(UsageError, match="--group-by goes without --budget"):
        collection.search("ant", group_by="label", budget=1.0)
    with pytest.raises(UsageError, match="no document has the field 'lable'"):
        collection.search("ant", group_by="lable")
    with pytest.raises(UsageError, match="why_not explains a search without"):
        collection.why_not("ant", "a", group_by="label")


@pytest.mark.parametrize("rank", RANKS)
def test_a_group_far_down_is_found_without_the_distances_of_those_above(collection: Collection, rank: str) -> None:
    far = [document(f"far{i}", "ant lark lark lark", metadata={"page": "far"}) for i in range(3)]
    near = [document(f"d{i}", "ant ant bee", f"elk {WORDS[i % 7]}", metadata={"page": "near"}) for i in range(200)]
    alone = document("alone", "ant kiwi kiwi")
    collection.index([*near, alone, *far])
    whole = collection.search("ant", k=300, rank=rank)
    pages = [hit.metadata.get("page", hit.key) for hit in whole.hits]
    assert pages.index("far") >= 100
    found = collection.search("ant", k=9, rank=rank, group_by="page", explained=True)
    assert [hit.key for hit in found.hits] == [
        whole.hits[place].key for place in sorted(map(pages.index, ("near", "alone", "far")))
    ]
    assert [hit.distance for hit in found.hits] == pytest.approx(
        [hit.distance for hit in whole.hits if hit.key in {one.key for one in found.hits}], nan_ok=True
    )
    assert found.counts.solved < 100
    assert (found.certified, found.group_by) == (True, "page")
    assert all(bool(hit.flows) == (rank != "bm25") for hit in found.hits)


def test_a_search_that_is_stopped_between_groups_is_not_certified(collection: Collection) -> None:
    collection.index([document(f"d{i}", f"ant {WORDS[i]}", label="red" if i < 9 else "blue") for i in range(12)])
    found = collection.search("ant", k=2, rank="bm25", group_by="label", stop=lambda: True)
    assert [hit.label for hit in found.hits] == ["red"]
    assert not found.certified
    assert [hit.label for hit in collection.search("ant", k=2, rank="bm25", group_by="label").hits] == ["red", "blue"]


@pytest.mark.parametrize("depth", [10, 20, 60, 99])
def test_groups_of_candidates_are_certified_only_if_none_is_missing(collection: Collection, depth: int) -> None:
    """Ten documents of one group are proven to be the nearest: further groups are behind them."""
    first = [document(f"same{i}", "ant bee", label="same") for i in range(10)]
    collection.index([*first, *(document(f"d{i}", f"{WORDS[i % 11]} kiwi", label=f"l{i}") for i in range(50))])
    whole = collection.search("ant bee", k=9, rank="wmd", group_by="label", exact=True)
    found = collection.search("ant bee", k=9, rank="wmd", group_by="label", depth=depth)
    assert len(whole.hits) == 9
    if found.certified:
        assert [hit.key for hit in found.hits] == [hit.key for hit in whole.hits]
    assert found.certified == (found.scope == "collection") == (depth >= 60)
    best = collection.search("ant bee", k=9, rank="wmd", group_by="label", depth=depth, max_distance="5%")
    assert ([hit.key for hit in best.hits], best.certified) == (["same0"], depth > 10)


def _of_three_pages(collection: Collection) -> Collection:
    """Index 60 documents; the hits of the third page are beyond the first 40."""
    pages = [0] * 20 + [1] * 20 + [2] * 20
    collection.index(
        [
            document(f"d{i}", "ant " * (60 - i) + "bee " * (i + 1), metadata={"page": page})
            for i, page in enumerate(pages)
        ]
    )
    return collection


@pytest.mark.slow
@pytest.mark.parametrize("depth", [None, 60])
@pytest.mark.parametrize("rank", ["wmd", "wmd+bm25"])
def test_the_best_hits_have_all_that_is_requested_wherever_they_are(
    collection: Collection, depth: int | None, rank: str
) -> None:
    options = SearchOptions(k=3, rank=rank, depth=depth, explained=True, full=True, highlight=True, passage=4)
    grouped = _of_three_pages(collection).search("ant", options, group_by="page").hits
    whole = {hit.key: hit for hit in collection.search("ant", options, k=60).hits}
    assert [hit.metadata["page"] for hit in grouped] == [0, 1, 2]
    assert all(hit.flows and hit.text and hit.highlights and hit.passage for hit in grouped)
    assert list(grouped) == [whole[hit.key] for hit in grouped]
    explained = collection.search("ant", k=3, rank=rank, depth=depth, group_by="page", explained=True).hits
    assert [hit.flows for hit in explained] == [
        collection.search("ant", k=60, rank=rank, explained=True).hits[place].flows for place in (0, 20, 40)
    ]


@pytest.mark.parametrize("depth", [None, 60])
def test_the_size_of_a_grouped_answer_is_that_of_its_hits(
    collection: Collection, depth: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SearchOptions(k=3, rank="wmd", depth=depth, full=True, group_by="page")
    hits = _of_three_pages(collection).search("ant", options).hits
    size = sum(len(hit.text or "") for hit in hits)
    counted: list[int] = []
    add_texts = AnswerSize.add_texts

    def counting(own: AnswerSize, reader: Any, ids: Any) -> None:
        counted.extend(ids)
        add_texts(own, reader, ids)

    monkeypatch.setattr(AnswerSize, "add_texts", counting)
    assert collection.search("ant", options, most_characters=size + 10).hits == hits
    assert len(counted) == 3
    with pytest.raises(TooLarge):
        collection.search("ant", options, most_characters=size - 10)


def test_a_document_whose_metadata_have_the_key_of_a_hit_is_not_completed(collection: Collection) -> None:
    collection.index(
        [
            document("a", "ant ant", metadata={"page": 1}),
            document(" a", "ant", metadata={"page": 1, "key": "b"}),
            document("b", "ant bee bee", metadata={"page": 2}),
        ]
    )
    found = collection.search("ant", k=2, rank="bm25", group_by="page", full=True)
    assert {hit.metadata["page"] for hit in found.hits} == {1, 2}
    assert all(hit.text for hit in found.hits)
