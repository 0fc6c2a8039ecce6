"""Word counts as they are stored, against counts of the words of the text."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.indexing.word_counts import EncodedCounts, WordCounter
from moverank.indexer.store import Store, Writer
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer

_EMBEDDING = Embedding.of(["cat", "dog"], np.eye(2))
_TEXTS = st.lists(st.lists(st.sampled_from(["cat", "dog", "of", "zorp", "The"]), max_size=6).map(" ".join), max_size=4)


def _decoded(store: Store, counts: EncodedCounts) -> dict[str, int]:
    ids = np.frombuffer(counts.words, "<i4").tolist()
    assert ids == sorted(set(ids))
    with store.reading() as reader:
        words = {word.id: word.word for word in reader.words_of(ids)}
    return {words[id_]: int(n) for id_, n in zip(ids, np.frombuffer(counts.counts, "<i4"), strict=True)}


@given(
    st.lists(_TEXTS, max_size=3),
    st.sampled_from([0, 1, 100]),
    st.sampled_from([1, 5, 1000]),
    st.sampled_from([0, 10, 1000]),
)
def test_stored_counts_equal_the_words_of_the_texts(
    batches: Sequence[Sequence[str]], cached: int, block: int, compiled: int
) -> None:
    store = Store("sqlite://")
    counter = WordCounter(Tokenizer(frozenset(["of"])), _EMBEDDING)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moverank.indexer.indexing.word_counts._CACHED_WORDS", cached)
        patch.setattr("moverank.indexer.indexing.word_counts._MANY", compiled)
        patch.setattr("moverank.rerank.words.word_numbers._BLOCK", block)
        for texts in batches:
            with store.writing() as writer:
                counted = counter.count(writer, texts)
                counter.store(writer)
            expected = [Counter(word for word in text.lower().split() if word != "of") for text in texts]
            assert [_decoded(store, counts) for counts in counted] == expected
    store.close()


def _count(writer: Writer, text: str) -> list[EncodedCounts]:
    counter = WordCounter(Tokenizer(), _EMBEDDING)
    counted = counter.count(writer, [text])
    counter.store(writer)
    return counted


def test_all_counters_give_a_word_the_same_id(store: Store) -> None:
    with store.writing() as writer:
        one, two = (_count(writer, "dog zorp cat") for _ in range(2))
        assert one == two
        assert {word: writer.words([word])[0].row for word in ("cat", "dog", "zorp")} == {
            "cat": 0,
            "dog": 1,
            "zorp": -1,
        }


def test_known_words_are_those_with_a_vector(store: Store) -> None:
    with store.writing() as writer:
        _count(writer, "dog zorp quux")
        ids = {word.word: word.id for word in writer.words(["dog", "zorp", "quux"])}
        counter = WordCounter(Tokenizer(), _EMBEDDING)
        asked = np.array([ids[word] for word in ("zorp", "dog", "quux", "dog")])
        assert counter.known(writer, asked).tolist() == [False, True, False, True]
        assert counter.known(writer, asked[:0]).tolist() == []


def test_without_vectors_every_word_is_unknown(store: Store) -> None:
    with store.writing() as writer:
        counter = WordCounter(Tokenizer(), None)
        counter.count(writer, ["dog"])
        counter.store(writer)
        assert not counter.known(writer, np.array([writer.words(["dog"])[0].id])).any()


def test_document_frequencies_are_added_up_until_they_are_stored(store: Store) -> None:
    counter = WordCounter(Tokenizer(), _EMBEDDING)
    with store.writing() as writer:
        counter.count(writer, ["dog cat"])
        dog, cat = (2, 1)  # new words get ids in their order
        counter.add_documents(np.array([dog, cat, dog]))
        counter.store(writer)
        counter.add_documents(np.array([cat, cat]))
        counter.add_documents(np.array([dog, cat]), -1)
        counter.store(writer)
        counter.store(writer)
        assert [word.word for word in writer.words_of([dog, cat])] == ["cat", "dog"]
        assert writer.frequencies() == [(cat, 2), (dog, 1)]


def test_ids_that_the_database_lacks_have_no_vector(store: Store) -> None:
    with store.writing() as writer:
        _count(writer, "dog")
        lost = np.array([-5, 0, 1, 2, 2**31 - 1])
        assert WordCounter(Tokenizer(), _EMBEDDING).known(writer, lost).tolist() == [False, False, True, False, False]
