"""The threads of the demo, and its queries for them; those for docstrings are tested with the demo itself."""

from collections.abc import Iterator
from typing import Any

import pytest

from moverank import Collection, Document, Settings
from moverank.indexer.demo.examples import (
    THREAD_QUERIES,
    THREAD_TRAINING,
    Example,
    threads_path,
)
from moverank.indexer.reading import read_threads
from moverank.rerank.ranking import Hit
from moverank.rerank.words.tokenizer import Tokenizer, stop_words

TWINS = [
    ("lukewarm-radiators", "chilly-bedrooms"),
    ("boiler-pressure", "needle-red"),
    ("plug-hot", "outlet-smell"),
    ("chain-slips", "gears-skip"),
    ("flat-again", "soft-overnight"),
    ("battery-drains", "dead-by-lunch"),
    ("paper-jam", "crumpled-sheets"),
    ("pale-streaks", "washed-out"),
    ("wifi-drops", "video-stutters"),
    ("weak-attic", "far-room"),
    ("flat-bread", "heavy-buns"),
    ("yellow-tomatoes", "pale-foliage"),
    ("slugs-lettuce", "holes-hostas"),
    ("wont-start", "engine-silent"),
    ("steering-wobble", "motorway-vibration"),
    ("forgot-password", "shut-out"),
    ("odd-bank-mail", "fake-parcel"),
    ("wont-drain", "soaked-clothes"),
    ("tap-drips", "leaky-faucet"),
    ("blocked-sink", "slow-shower"),
    ("slow-laptop", "old-notebook"),
]


@pytest.fixture(scope="module")
def threads() -> dict[str, Document]:
    documents = list(read_threads([str(threads_path())]))
    return {thread.key: thread for thread in documents if isinstance(thread, Document)}


@pytest.fixture(scope="module")
def thread_collection(threads: dict[str, Document], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    training: dict[str, Any] = {"embedding": "lsi", "train_options": THREAD_TRAINING}
    settings = Settings(**training, title_weight=1, gamma=0.75, rank="")
    with Collection.create(tmp_path_factory.mktemp("threads"), settings) as collection:
        collection.index(threads.values())
        yield collection


def words_of(thread: Document, parts: int | None = None) -> set[str]:
    tokenizer = Tokenizer(stop_words())
    return {word for part in thread.parts[:parts] for word in tokenizer.words(part.text)}


def hits(collection: Collection, example: Example, k: int = 3) -> tuple[Hit, ...]:
    search = collection.search if example.command == "search" else collection.similar
    return search(example.text, k=k, rank=example.rank).hits


def test_the_threads_are_read_without_a_rejection(threads: dict[str, Document]) -> None:
    assert len(list(read_threads([str(threads_path())]))) == len(threads) == 114
    for thread in threads.values():
        assert thread.title
        assert thread.label
        assert [part.rank for part in thread.parts] == list(range(len(thread.parts)))
        assert len(thread.parts) >= 3


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_twin_threads_share_few_words_and_are_found(
    one: str, other: str, threads: dict[str, Document], thread_collection: Collection
) -> None:
    assert not words_of(threads[one], 1) & words_of(threads[other], 1)  # titles and opening posts
    assert len(words_of(threads[one]) & words_of(threads[other])) <= 2
    for key, twin in ((one, other), (other, one)):
        assert twin in [hit.key for hit in thread_collection.similar(key, k=5).hits]


@pytest.mark.parametrize("example", THREAD_QUERIES)
def test_thread_queries_have_the_expected_hits(example: Example, thread_collection: Collection) -> None:
    assert set(example.expected) <= {hit.key for hit in hits(thread_collection, example)}


def test_the_best_hit_shares_no_word_with_the_query(
    threads: dict[str, Document], thread_collection: Collection
) -> None:
    example = THREAD_QUERIES[0]
    best = hits(thread_collection, example)[0].key
    assert best in example.expected
    assert not words_of(threads[best]) & set(Tokenizer(stop_words()).words(example.text))
    assert not words_of(threads["yellow-tomatoes"]) & words_of(threads["pale-foliage"])


def test_ranks_of_posts_decide_the_topic_of_a_digressing_thread(
    threads: dict[str, Document], thread_collection: Collection
) -> None:
    plain, ranked = (hits(thread_collection, example) for example in THREAD_QUERIES[2:4])
    assert {threads[hit.key].label for hit in plain} == {"cooking"}
    assert {threads[hit.key].label for hit in ranked} == {"wiring"}
