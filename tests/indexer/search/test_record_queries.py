"""Queries by a record: a title, and ranked parts, which count as those of a stored document."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from moverank import Collection, Document, Hit, Part
from moverank.indexer.settings import default_rank
from tests.indexer.world import NO_VECTOR, WORDS, CollectionFactory, snapshot_above

RANKINGS = [
    "wmd",
    "wmd:weights=tfidf",
    "pwmd:gamma=0.75",
    "pwmd:gamma=0.5,weights=tfidf",
    "rwmd",
    "wcd",
    "tfidf",
    "bm25",
    "bm25:stem=english,gamma=0.75",
    "interpolation",
    "lsi:dim=3",
    "pwmd:weights=tfidf+cosine+2*bm25:gamma=0.3,stem=english",
    default_rank(0.75, english=True),
]


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
    collection = factory.empty(title_weight=3, gamma=0.75)
    with pytest.MonkeyPatch.context() as patch:
        snapshot_above(patch, 0)
        collection.index(_threads()[:25])
    collection.index(_threads())
    yield collection
    collection.close()


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


def _check_same_ranking(hits: Sequence[Hit], others: Sequence[Hit]) -> None:
    """Check that keys, distances, scores, totals and terms are equal."""
    assert [hit.key for hit in hits] == [hit.key for hit in others]
    for hit, other in zip(hits, others, strict=True):
        values, expected = (
            (one.distance, one.score, one.total or 0, *dict(one.parts).values()) for one in (hit, other)
        )
        assert values == pytest.approx(expected, nan_ok=True)
