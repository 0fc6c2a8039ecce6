"""Queries by a record: a title, and ranked parts, which count as those of a stored document."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Hit, NoKnownWords, Part, UsageError
from moverank.indexer.values.settings import default_rank
from tests.indexer.search.conftest import Searchable
from tests.indexer.world import NO_VECTOR, WORDS, CollectionFactory, check_exact, document
from tests.installed import installed

RANKINGS = installed(
    [
        "wmd",
        "wmd:weights=tfidf",
        "pwmd:gamma=0.75",
        "pwmd:gamma=0.5,weights=tfidf",
        "rwmd",
        "wcd",
        "tfidf",
        "bm25",
        "bm25:stem=english,gamma=0.75",
        "wmd+bm25:ngrams=2,gamma=0.75",
        "interpolation",
        "lsi:dim=3",
        "pwmd:weights=tfidf+cosine+2*bm25:gamma=0.3,stem=english",
        default_rank(0.75, stem="english"),
    ]
)


def _threads() -> list[Document]:
    """Return threads whose first posts begin with their titles or not, with words that have no vector, and twins."""
    rng = np.random.default_rng(5)
    forms = [*WORDS, *(f"{word}s" for word in WORDS[:5]), *NO_VECTOR]
    made = []
    for i in range(40):
        title, *posts = (" ".join(rng.choice(forms, size)) for size in (3, 6, 4, 4))
        opening = f"{title}: {posts[0]}" if i % 3 == 0 else posts[0]
        parts = tuple(Part(text, rank) for text, rank in zip((opening, *posts[1:]), (0, 1, 1 + i % 3), strict=True))
        made.append(Document(f"t{i}", title, parts[: 1 + i % 3], title_counts=i % 5 > 0))
    twin = Document("twin", made[7].title, made[7].parts, title_counts=made[7].title_counts)
    return [*made, twin, Document("late", "", (Part("ant bee zorp", 3), Part("cat", 7)))]


@pytest.fixture(scope="module")
def threads(factory: CollectionFactory) -> Iterator[Collection]:
    """A collection of threads, the first ones in a snapshot, the others in the tail."""
    with factory.partly_stored(_threads()[:25], _threads(), title_weight=3, gamma=0.75) as collection:
        yield collection


@pytest.mark.slow
@pytest.mark.parametrize("rank", RANKINGS)
def test_the_record_of_a_stored_thread_ranks_as_that_thread(threads: Collection, rank: str) -> None:
    """It finds the thread itself, too, at distance 0."""
    stored = [thread for thread in _threads() if thread.key in ("t0", "t5", "t7", "t13", "t27", "t33", "t38", "late")]
    k = len(threads)
    for thread, found in zip(stored, threads.search_many(stored, k=k, rank=rank), strict=True):
        hits = {hit.key: hit for hit in found.hits}
        own = hits.pop(thread.key)
        if rank.startswith(("wmd", "pwmd", "rwmd")):
            assert own.distance == pytest.approx(0, abs=1e-6)
        _check_same_ranking(list(hits.values()), threads.similar(thread.key, k=k, rank=rank).hits)


_KEYS = st.sampled_from(["a", "b", "c", "d"])
_TEXTS = st.lists(st.sampled_from(["ant", "bee", "Cat", "dog", "dogs", "elk", "zorp", "the"]), max_size=4).map(" ".join)
_PARTS = st.lists(st.builds(Part, _TEXTS, st.integers(0, 4)), max_size=3).map(tuple)
_DOCUMENTS = st.builds(Document, _KEYS, _TEXTS, _PARTS, title_counts=st.booleans())


@given(st.lists(_DOCUMENTS, min_size=1, max_size=4, unique_by=lambda one: one.key), st.sampled_from(RANKINGS[2:]))
def test_any_stored_record_ranks_as_it_does_by_key(
    factory: CollectionFactory, documents: list[Document], rank: str
) -> None:
    with factory.empty(title_weight=2, gamma=0.5) as collection:
        collection.index([*documents, document("last", "fox gnu elk", title="cat")])
        for one in documents:
            try:
                expected = collection.similar(one.key, k=9, rank=rank).hits
            except NoKnownWords:
                with pytest.raises(NoKnownWords):
                    collection.search(one, k=9, rank=rank)
                continue
            hits = [hit for hit in collection.search(one, k=9, rank=rank).hits if hit.key != one.key]
            _check_same_ranking(hits, expected)


def test_a_text_is_a_record_of_one_part(threads: Collection) -> None:
    text = "ant bee dogs zorp"
    for rank in RANKINGS:
        record = Document("any", "not counted", (Part(text),), title_counts=False)
        _check_same_ranking(*(threads.search(query, k=99, rank=rank).hits for query in (text, record)))


def test_a_title_counts_by_its_weight_and_not_twice(threads: Collection) -> None:
    """The collection's title weight is 3."""
    for one, other in [
        (Document("", "ant bee", (Part("cat"),)), Document("", "", (Part("ant bee " * 3 + "cat"),))),
        (Document("", "ant bee", (Part("Ant  bee! cat"),)), Document("", "", (Part("ant bee " * 3 + "cat"),))),
        (Document("", "ant", (Part("ant", 1),)), Document("", "", (Part("ant"),))),
    ]:
        _check_same_ranking(threads.search(one, k=99, rank="wmd").hits, threads.search(other, k=99, rank="wmd").hits)


@pytest.mark.parametrize("gamma", [0.0, 0.75, 2.0])
def test_ranks_weigh_the_parts_of_a_query(searchable: Searchable, gamma: float) -> None:
    collection, twin = searchable.of(weights="tfidf")
    query = document("q", "ant bee zorp", "cat", "dog elk ant", ranks=(0, 3, 1))
    check_exact(
        collection.search(query, k=20, gamma=gamma, rank="pwmd:weights=tfidf"), twin.distances(query, gamma=gamma), 20
    )


def test_explanations_take_records(threads: Collection) -> None:
    thread = next(thread for thread in _threads() if thread.key == "t8")
    for gamma in (0.0, 0.75):
        hits = threads.search(thread, k=99, rank="pwmd", gamma=gamma).hits
        explanation = threads.explain(thread, "t5", gamma=gamma, rank="pwmd")
        assert explanation.distance == pytest.approx(next(hit.distance for hit in hits if hit.key == "t5"))
        assert threads.explain(thread, "t8", gamma=gamma).distance == pytest.approx(0, abs=1e-9)
    assert threads.why_not(thread, "t8", k=2, rank="pwmd").stage == "hit"


def test_a_query_of_another_type_or_with_a_bad_rank_is_refused(threads: Collection) -> None:
    with pytest.raises(UsageError, match="a query is a text or a Document, not int"):
        threads.search(5)  # type: ignore[arg-type]
    for rank in (-1, 2**31):
        with pytest.raises(UsageError, match="document 'q' has a rank that is not within 0 and"):
            threads.search(Document("q", parts=(Part("ant", rank),)))


def test_a_record_without_a_known_word_is_named_by_its_texts(threads: Collection) -> None:
    record = Document("q", "Unheard of", (Part("nothing  known"),))
    with pytest.raises(NoKnownWords, match="the query 'Unheard of nothing known' has no word that"):
        threads.search(record)
    with pytest.raises(NoKnownWords, match=r"the query '' .* it is empty"):
        threads.search(Document("q"))
    (found,) = threads.search_many([record])
    assert found.problem


def _check_same_ranking(hits: Sequence[Hit], others: Sequence[Hit]) -> None:
    """Check that keys, distances, scores, totals and terms are equal."""
    assert [hit.key for hit in hits] == [hit.key for hit in others]
    for hit, other in zip(hits, others, strict=True):
        values, expected = (
            (one.distance, one.score, one.total or 0, *dict(one.parts).values()) for one in (hit, other)
        )
        assert values == pytest.approx(expected, nan_ok=True)
