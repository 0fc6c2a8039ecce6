"""The nearest passage: the nearest of all windows by brute force, and windows that cover a text by halves."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, DocumentFrequencies, Embedding, Part, Reranker
from moverank.indexer.errors import UsageError
from moverank.indexer.search.passages import Window, windows
from moverank.indexer.values.ranked_texts import whole_texts
from moverank.rerank.ranking import Passage
from moverank.rerank.words.tokenizer import Tokenizer
from tests.indexer.world import STOP_WORDS, VECTORS, WORDS, MakeCollection, Twin, bag_distance, document

TOKENIZER = Tokenizer(frozenset(STOP_WORDS))
_WORD = st.sampled_from([*WORDS, *STOP_WORDS, "zorp"])
_TEXT = st.lists(st.tuples(_WORD, st.sampled_from([" ", " ", ". ", ", ", "! ", "\n\n"])), max_size=60).map(
    lambda pairs: "".join(word + end for word, end in pairs)
)
_DOCUMENT = st.lists(_TEXT, min_size=1, max_size=3).map(lambda texts: document("d", *texts))


def _found(one: Document, size: int) -> list[Window]:
    return list(windows(whole_texts(one), TOKENIZER, size))


@given(_DOCUMENT, st.integers(1, 12))
def test_windows_cover_each_part_and_overlap_by_half(one: Document, size: int) -> None:
    every = _found(one, size)
    for number, part in enumerate(one.parts):
        own = [window for window in every if window.part == number]
        spans = list(Tokenizer().spans(part.text))
        covered = {start for start, end, _ in spans for window in own if window.start <= start and end <= window.end}
        assert covered == {start for start, _, _ in spans}
        for window in own:
            assert 1 <= len(window.words) <= size
            assert [word for _, _, word in Tokenizer().spans(part.text[window.start : window.end])] == window.words
        for window, after in pairwise(own):
            between = [start for start, _, _ in spans if window.start <= start < after.start]
            assert 1 <= len(between) <= max(1, size // 2)
            before = part.text[: after.start].rstrip()
            assert (
                before[-1:] in ".!"
                or part.text[len(before) : after.start] == "\n\n"
                or (
                    len(between) == max(1, size // 2)  # within a long sentence
                )
            )


def test_windows_begin_and_end_with_sentences() -> None:
    one = document("d", "Ant bee cat. Dog elk fox! (Gnu hen ibis jay kiwi lark ant bee cat dog.) Elk")
    texts = [one.parts[0].text[window.start : window.end] for window in _found(one, 6)]
    assert texts == [
        "Ant bee cat. Dog elk fox!",
        "Dog elk fox! (Gnu hen ibis",
        "Gnu hen ibis jay kiwi lark",
        "jay kiwi lark ant bee cat",
        "ant bee cat dog.) Elk",
    ]


def _plain(one: Document) -> Document:
    """Return a document whose words are separated by spaces, as its naive twin splits them."""
    return replace(one, parts=tuple(replace(part, text=" ".join(TOKENIZER.words(part.text))) for part in one.parts))


def _brute(one: Document, query: Document, size: int, twin: Twin) -> list[tuple[Window, float]]:
    """Return the distance of each window that has a known word, by POT."""
    own = twin.bag(_plain(query).parts, 0.0)
    assert own
    bags = ((window, twin.bag([Part(" ".join(window.words))], 0.0)) for window in _found(one, size))
    return [(window, bag_distance(own, bag, "wmd")) for window, bag in bags if bag]


def _check(passage: Passage | None, one: Document, query: Document, size: int, twin: Twin) -> None:
    every = _brute(one, query, size, twin)
    if passage is None:
        assert not every
        return
    least = min(distance for _, distance in every)
    assert passage.distance == pytest.approx(least, abs=1e-6)
    assert passage.windows == len(every)
    assert passage.text == one.parts[passage.part].text[passage.start : passage.end]
    chosen = {(window.part, window.start, window.end): distance for window, distance in every}
    assert chosen[passage.part, passage.start, passage.end] == pytest.approx(least, abs=1e-6)
    first = next(window for window, distance in every if distance <= least + 1e-12)
    assert (passage.part, passage.start) <= (first.part, first.start) or least == pytest.approx(passage.distance)


EMBEDDING = Embedding.of(WORDS, VECTORS)


@given(_DOCUMENT, st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), st.integers(1, 12))
def test_a_passage_of_a_text_is_that_of_brute_force(one: Document, words: list[str], size: int) -> None:
    query = document("q", " ".join(words))
    found = Reranker(EMBEDDING, STOP_WORDS, rank="wmd").rank(query, [one], passage=size).hits[0]
    twin = Twin.of([_plain(one)])
    assert found.wordless == (twin.bag(_plain(one).parts, 0.0) is None)
    if not found.wordless:
        _check(found.passage, one, query, size, twin)


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
def test_a_passage_of_a_hit_is_that_of_brute_force(make_collection: MakeCollection, weights: str) -> None:
    rng = np.random.default_rng(5)
    documents = [
        document(f"d{i}", *(". ".join(" ".join(rng.choice(WORDS, 5)) for _ in range(6)) for _ in range(2)))
        for i in range(20)
    ]
    collection = make_collection(documents, weights=weights)
    by_key = {one.key: one for one in documents}
    twin, query = Twin.of(map(_plain, documents), weights), document("q", "ant bee lark")
    for rank in ("wmd", "bm25", "wmd+bm25"):  # BM25 alone has no distance: then the collection's weights count
        hits = collection.search("ant bee lark", k=5, rank=rank, passage=8).hits
        assert len(hits) == 5
        for hit in hits:
            _check(hit.passage, by_key[hit.key], query, 8, twin)
    (one,) = collection.rerank("ant bee lark", ["d3"], passage=8).hits
    _check(one.passage, by_key["d3"], query, 8, twin)
    similar = collection.similar("d0", k=1, passage=8).hits[0]
    _check(similar.passage, by_key[similar.key], by_key["d0"], 8, twin)


def test_equally_near_windows_give_the_first(collection: Collection) -> None:
    collection.index([document("d", "Gnu gnu. Ant bee. Gnu gnu. Ant bee.")])
    passage = collection.search("ant bee", passage=2).hits[0].passage
    assert passage == Passage(0, 9, 17, "Ant bee.", 0.0, 7)


def test_without_a_known_word_there_is_no_passage(collection: Collection) -> None:
    collection.index([document("d", "zorp"), document("e", "ant zorp")])
    hits = {hit.key: hit for hit in collection.search("zorp ant", rank="wmd+bm25", passage=5).hits}
    assert hits["d"].passage is None
    assert hits["e"].passage is not None
    assert all(hit.passage is None for hit in collection.search("zorp", rank="bm25", passage=5).hits)
    assert "passage" not in hits["d"].to_dict()


@pytest.mark.parametrize("options", [{}, {"weights": "tfidf"}, {"weights": "norm"}, {"frequencies": True}])
def test_a_title_written_differently_in_the_text_is_in_its_passage(options: dict[str, Any]) -> None:
    words = ["strasse", "straße", "plug", "hot"]
    embedding = Embedding.of(words, np.diag([3.0, 2.0, 1.0, 1.0]), normalize=True)
    if options.pop("frequencies", False):
        own = DocumentFrequencies(9, {"plug": 3, "strasse": 9, "hot": 4})
        options = {"weights": "tfidf", "frequencies": own}
    one = Document("x", "STRASSE", (Part("Straße plug hot"),))
    passage = Reranker(embedding, "none", rank="wmd", **options).rank("plug", [one], passage=2).hits[0].passage
    assert passage is not None
    assert passage.text in ("Straße plug", "plug hot")


def test_the_number_of_words_of_a_passage_is_limited(collection: Collection) -> None:
    collection.index([document("d", "ant bee")])
    assert collection.search("ant", passage=10_000).hits[0].passage
    for search in (collection.search, lambda query, **more: Reranker(EMBEDDING).rank(query, ["ant"], **more)):
        with pytest.raises(UsageError, match="passage must be at most 10,000 words, not 10,001"):
            search("ant", passage=10_001)


@pytest.mark.slow
def test_windows_of_many_sentences_take_linear_time() -> None:
    found = _found(document("d", "ant. " * 50_000), 2)
    assert len(found) == 49_999
    assert all(window.start == 5 * i for i, window in enumerate(found))


def test_a_window_before_an_empty_line_ends_with_its_sentence() -> None:
    text = "Ant bee cat \n\nDog elk fox"
    found = [text[window.start : window.end] for window in _found(document("d", text), 4)]
    assert found[0] == "Ant bee cat"
    assert not any(one.endswith("\n") for one in found)
