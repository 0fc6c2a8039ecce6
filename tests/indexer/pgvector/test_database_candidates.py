"""Searches whose candidates a real PostgreSQL chooses: the same answers as with files, without a local document."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, event

from moverank import Collection, Document, Part
from moverank.indexer.errors import QueryVectorError, UsageError
from moverank.indexer.maintenance.check import check_collection
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Ranking
from tests.indexer.world import CollectionFactory, MakeCollection, Twin, check_exact, check_sound, random_documents

QUERY = "ant bee cat"
RANKINGS = (
    "wmd",
    "wcd",
    "rwmd",
    "chamfer",
    "wmd:weights=tfidf",
    "pwmd:gamma=0.5",
    "bm25",
    "tfidf",
    "bow",
    "bm25:gamma=1",
)
Make = Callable[..., Collection]


@pytest.fixture
def make(schema_url: str, factory: CollectionFactory) -> Iterator[Make]:
    """Make empty collections in PostgreSQL, whose first stage is there."""
    opened: list[Collection] = []

    def created(**choices: Any) -> Collection:
        settings = factory.settings(**({"first_stage_in": "database"} | choices))
        opened.append(Collection.create(f"{schema_url}_{len(opened)}", settings))
        return opened[-1]

    yield created
    for collection in opened:
        collection.close()


def documents(n: int = 80) -> list[Document]:
    """Return random documents of a title and two parts, with fields to filter by."""
    rows = []
    for number, one in enumerate(random_documents(n, "dog fox", words=6)):
        fields: dict[str, Any] = {
            "number": number,
            "even": number % 2 == 0,
            "place": {"x": f"p{number % 10}"} if number % 3 else {},
        }
        parts = (*one.parts, Part("ant zorp" if number % 7 == 0 else "hen gnu", 2))
        rows.append(Document(one.key, f"bee {number}", parts, f"l{number % 4}", fields))
    return rows


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect the statements of SQL that are executed in the block."""
    seen: list[str] = []

    def executed(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", executed)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", executed)


def same(one: Ranking, other: Ranking) -> bool:
    """Return whether two rankings have the same hits, values, flows, highlights and passages."""
    first, second = (
        [
            (hit.key, hit.title, hit.label, hit.snippet, hit.flows, hit.metadata, hit.highlights, hit.passage)
            for hit in each.hits
        ]
        for each in (one, other)
    )
    values, expected = (
        [hit.distance if hit.scored is None else hit.scored for hit in each.hits] for each in (one, other)
    )
    return first == second and np.allclose(values, expected, rtol=1e-9, atol=1e-12)


def snapshots(collection: Collection) -> list[str]:
    """Return the names of the derived files of documents on this machine."""
    return sorted(path.name for path in collection.path.glob("snapshot-*"))


@pytest.mark.parametrize(
    "settings",
    [{}, {"weights": "tfidf", "gamma": 0.5, "title_weight": 3}, {"weights": "norm", "gamma": 0.5, "normalize": True}],
)
@pytest.mark.usefixtures("always_compact")
def test_answers_are_those_of_files(make: Make, make_collection: MakeCollection, settings: dict[str, Any]) -> None:
    there, here = make(**settings), make_collection(**settings)
    for collection in (there, here):
        collection.index(documents())
    for rank in RANKINGS:
        for options in ({"depth": 25}, {"depth": 25, "where": ["number>=10", "label=l1", "label=l2"]}):
            chosen: dict[str, Any] = {
                "k": 6,
                "rank": rank,
                "explained": True,
                "highlight": True,
                "passage": 3,
                **options,
            }
            found, expected = there.search(QUERY, **chosen), here.search(QUERY, **chosen)
            assert same(found, expected), (rank, options)
            assert (found.certified, found.scope) == (expected.certified, expected.scope), (rank, options)
            assert same(there.similar("d3", **chosen), here.similar("d3", **chosen))
    assert snapshots(there) == []


def test_sums_rank_the_candidates(make: Make) -> None:
    there = make(rank="auto")
    there.index(documents())
    found = there.search(QUERY, depth=30, k=5)
    assert [hit.total for hit in found.hits] == sorted(hit.total or 0 for hit in found.hits)
    assert (found.certified, found.scope) == (False, "candidates")
    assert {name for name, _ in found.hits[0].parts} == {"wmd", "cover", "bm25", "cosine"}
    assert all(sum(dict(hit.costs).values()) == pytest.approx(hit.total) for hit in found.hits)
    assert [term.name for term in found.terms] == ["distance", "covered", "shared words", "topic"]
    assert found.ignored_words == ()
    assert snapshots(there) == []


def test_centroids_in_exact_order_prove_what_files_prove(make: Make) -> None:
    there = make()
    there.index(random_documents(300, words=4))
    twin = Twin.of(random_documents(300, words=4))
    proven = 0
    for query in ("ant", "bee cat", QUERY, "dog dog elk"):
        for depth in (3, 30, 150, 400):
            ranking = there.search(query, k=3, depth=depth, rank="wmd")
            check_sound(ranking, twin.distances(query), 3)
            proven += ranking.certified
            if depth > 300:
                assert ranking.certified
                check_exact(ranking, twin.distances(query), 3)
    assert proven > 4
    assert not there.search(QUERY, k=3, depth=30, rank="rwmd").certified
    assert snapshots(there) == []


def test_two_statements_read_documents(make: Make) -> None:
    there = make()
    there.index(documents())
    with Collection.open(there.path) as collection:
        collection.search("fox", depth=20, rank="wmd", where="even=true")
        with statements() as seen:
            collection.search(QUERY, depth=20, k=5, rank="wmd:weights=tfidf", where="even=true")
    candidates = [statement for statement in seen if 'FROM "stage_' in statement]
    assert len(candidates) == 1
    assert "EXISTS" in candidates[0]
    assert len([statement for statement in seen if "counts" in statement]) == 1
    # Words of the query, of the candidates, and those that occur; titles, texts and metadata of the five hits.
    assert len(seen) <= 9, seen
    assert snapshots(there) == []


def test_a_batch_answers_as_single_searches(make: Make) -> None:
    there = make()
    there.index(documents())
    queries = [QUERY, "zorp", "dog elk", "fox"]
    single = [there.search(query, depth=20, k=3, rank="wmd") for query in queries if query != "zorp"]
    many = list(there.search_many(queries, depth=20, k=3, rank="wmd"))
    assert many.pop(1).problem
    assert all(same(one, other) for one, other in zip(single, many, strict=True))
    (alike,) = there.similar_many(["d5"], depth=20, k=3, rank="wmd")
    assert same(alike, there.similar("d5", depth=20, k=3, rank="wmd"))
    with pytest.raises(NoKnownWords):
        there.search("zorp", depth=20)


def test_a_batch_opens_no_files(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    there = make()
    there.index(documents())
    with Collection.open(there.path) as collection:
        monkeypatch.setattr("moverank.indexer.state.open_state.OpenState._open_view", None)
        assert [bool(one.hits) for one in collection.search_many([QUERY, "fox"], depth=20, rank="wmd")] == [True, True]
        assert next(collection.similar_many(["d5"], depth=20, rank="wmd")).hits


def test_groups_are_complete_without_files(make: Make) -> None:
    there = make()
    there.index(documents())
    options: dict[str, Any] = {"depth": 30, "rank": "wmd", "explained": True, "full": True, "highlight": True}
    hits = there.search(QUERY, k=4, group_by="label", **options).hits
    assert len({hit.label for hit in hits}) == 4
    whole = {hit.key: hit for hit in there.search(QUERY, k=30, **options).hits}
    assert list(hits) == [whole[hit.key] for hit in hits]
    assert all(hit.flows and hit.text and hit.highlights for hit in hits)
    assert snapshots(there) == []


FILTERS: list[Any] = [
    ["number<20"],
    ["number!=3", "even=true"],
    ["even=True"],
    ["place.x^=p1", "place.x=p4"],
    ["place"],
    ["!place"],
    ["label!=l1"],
    {"label": ["l1", "l2"], "number": [4, 5.0, 6, 9]},
    {"label": []},
    ["number>1e9"],
    ["key^=d1", "key=d7"],
    ["key!=d7", "number<20"],
    {"key": ["d3", "d4", "nowhere"]},
    ["!key"],
    ["source"],
    ["!source", "key^=d2"],
    ["key=nowhere"],
]


@pytest.mark.parametrize("where", FILTERS)
def test_filters_choose_the_same_documents(make: Make, make_collection: MakeCollection, where: Any) -> None:
    there, here = make(), make_collection()
    for collection in (there, here):
        collection.index(documents())
    found, expected = (each.search(QUERY, depth=79, k=79, rank="wmd", where=where) for each in (there, here))
    assert {hit.key for hit in found.hits} == {hit.key for hit in expected.hits}
    assert same(found, expected)
    assert found.why_empty == expected.why_empty
    assert (found.why_empty is None) == bool(found.hits)
    assert found.hits or found.certified


def test_letters_of_unknown_words_find_candidates(make: Make) -> None:
    there = make(rank="wmd+2*bm25:ngrams=2")
    there.index(documents())
    found = there.search("bee zox", depth=30, k=5)  # zo of zorp
    assert [hit.total for hit in found.hits] == sorted(hit.total or 0 for hit in found.hits)
    assert {name for name, _ in found.hits[0].parts} == {"wmd", "bm25"}
    assert found.ignored_words == ()
    assert there.search("bee zzz", depth=30, k=5).ignored_words == ("zzz",)
    assert snapshots(there) == []


def test_a_misspelt_field_is_an_error(make: Make) -> None:
    there = make()
    there.index(documents())
    with pytest.raises(UsageError, match="no document has a field 'numbr'"):
        there.search(QUERY, depth=5, k=5, where="numbr=3")


@pytest.mark.parametrize("faiss", ["Flat", "HNSW8"])
def test_a_filter_never_starves_the_candidates(make: Make, faiss: str) -> None:
    there = make(faiss=faiss)
    many = random_documents(3000, words=4)
    rare = [Document(one.key, "", one.parts, metadata={"rare": i % 100 == 0}) for i, one in enumerate(many)]
    there.index(rare)
    order = "HNSW8" if faiss == "HNSW8" else "exact order"
    assert there.info()["database_stage"] == f"vector(4), {order}"
    for depth in (10, 30):
        found = there.search("ant bee", depth=depth, k=depth, rank="wmd", where="rare=true")
        assert len(found.hits) == depth
        assert all(hit.metadata["rare"] for hit in found.hits)
    within = there.search("ant bee", depth=40, k=40, rank="wmd", where="rare=true")
    assert len(within.hits) == 30
    assert within.certified


def test_hnsw_finds_nearly_what_the_exact_order_finds(make: Make) -> None:
    exact, index = make(), make(faiss="HNSW32")
    for collection in (exact, index):
        collection.index(random_documents(2000, words=4))
    shares = []
    for query in ("ant", "bee cat", QUERY, "dog dog elk"):
        keys = [{hit.key for hit in each.search(query, depth=50, k=50, rank="wcd").hits} for each in (exact, index)]
        shares.append(len(keys[0] & keys[1]) / 50)
        assert not index.search(query, depth=50, k=5, rank="wmd").certified
    assert np.mean(shares) >= 0.95


def test_other_rankings_use_the_files_of_this_machine(make: Make) -> None:
    there = make()
    there.index(documents(300))
    there.search(QUERY, depth=20, rank="wmd")
    assert snapshots(there) == []
    for rank in ("pl2", "wmd+0.5*vector"):
        assert len(there.search(QUERY, depth=20, k=5, rank=rank).hits) == 5
    check_exact(
        there.search(QUERY, k=5, rank="wmd", exact=True, depth=10),
        there_distances(there),
        5,
    )
    assert snapshots(there) != []
    assert check_collection(there.path).sentences() == ()


def test_percentiles_use_the_files_of_this_machine(make: Make) -> None:
    there = make()
    there.index(documents(300))
    distances = np.array(list(there_distances(there).values()))
    found = there.search(QUERY, depth=20, k=5, rank="wmd", percentile=True)
    assert len(found.hits) == 5
    for hit in found.hits:
        assert hit.percentile is not None
        assert hit.percentile.share == pytest.approx(np.mean(distances < hit.distance - 1e-9))


def there_distances(collection: Collection) -> dict[str, float]:
    """Return the distances of all documents by a search of all."""
    return {hit.key: hit.distance for hit in collection.search(QUERY, k=1000, rank="wmd").hits}


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
@pytest.mark.usefixtures("always_compact")
def test_given_vectors_choose_candidates(make: Make, make_collection: MakeCollection, metric: str) -> None:
    settings = {"first_stage": "given", "first_stage_options": (f"metric={metric}",)}
    there, here = make(**settings), make_collection(**settings)
    rng = np.random.default_rng(2)
    given = [
        Document(one.key, one.title, one.parts, vector=tuple(rng.standard_normal(3)) if i % 5 else None)
        for i, one in enumerate(documents())
    ]
    for collection in (there, here):
        collection.index(given)
    query: dict[str, Any] = {"vector": [0.3, -1.0, 0.5], "depth": 12, "k": 5, "rank": "wmd"}
    assert same(there.search(QUERY, **query), here.search(QUERY, **query))
    assert same(there.similar("d3", depth=12, rank="wmd"), here.similar("d3", depth=12, rank="wmd"))
    with pytest.raises(QueryVectorError):
        there.search(QUERY, depth=12, rank="wmd")
    assert check_collection(there.path).sentences() == ()
    assert snapshots(there) == []
