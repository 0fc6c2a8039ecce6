"""Places of words: each is in the stored text what the word is, for every script and format."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Embedding, Part, Rejection, Reranker, SearchOptions, Settings
from moverank.indexer.errors import UsageError
from moverank.indexer.reading import read_documents, read_threads
from moverank.indexer.search import locating
from moverank.indexer.search import occurrences as occurring
from moverank.indexer.search import searcher as searching
from moverank.indexer.search.answer_size import AnswerSize
from moverank.indexer.search.highlights import highlights_in
from moverank.indexer.search.hits import snippet, with_parts
from moverank.indexer.search.locating import Locator
from moverank.indexer.search.occurrences import Occurrence, occurrences
from moverank.indexer.values.queries import QueryText, StoredKey
from moverank.indexer.values.ranked_texts import RankedTexts, ranked_texts, whole_texts
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.errors import OutOfTime, TooLarge
from moverank.rerank.ranking import Highlight, Hit, Ranking, Span
from moverank.rerank.words.languages import CODES
from moverank.rerank.words.tokenizer import Tokenizer, tokenizer_of
from tests.indexer.world import TABLE, document

SCRIPTS = {
    "en": "The cafe\u0301, CAFÉ and co\u00adop\u00aderate; ﬁne ½ x² don't 🙂 x\U0001f600y",
    "ar": "الْكِتَابُ كتـــاب الكتاب",
    "th": "ภาษาไทยไม่เว้นวรรคระหว่างคำ",
    "zh": "我们在北京大学学习自然语言处理。𠮷野家",
    "ja": "日本語の文章を単語に分ける。ｶﾞｷﾞ",
    "ko": "한국어 문장을 나눈다 \u1112\u1161\u11ab",
    "tr": "ISPARTA İzmir ıspanak iğne",
    "hi": "नमस्ते दुनिया क्षेत्र",
    "el": "ΟΔΟΣ οδός Σ",
    "fa": "می\u200cخواهم کتاب‌ها",
    "gothic": "\U00010330\U00010331 \U0001d400\U0001d401",
}


def _check(text: str, place: Occurrence, tokenizer: Tokenizer) -> None:
    """Check that the text at a place is the word: split alone it is that, or, of a part of a run, folds to it."""
    piece = text[place.start : place.end]
    assert piece
    alone = [one for _, _, one in tokenizer.spans(piece)]
    joined = "".join(Tokenizer(language=tokenizer.language).words(piece))
    assert alone == [place.word] or joined == place.word.replace("_", "") or tokenizer.segmentation != "whole"


@pytest.mark.parametrize("language", SCRIPTS)
def test_places_of_each_script_are_its_words(language: str) -> None:
    text = SCRIPTS[language]
    code = language if language in CODES else "en"
    for tokenizer in (tokenizer_of("none", code), Tokenizer(language=code)):
        one = document("d", "x", f"{text}\n{text}")
        found = list(occurrences(whole_texts(one), tokenizer))
        assert Counter(one.word for one in found) == tokenizer.count("x") + tokenizer.count(f"{text}\n{text}")
        for place in found:
            assert place.part in (0, 1)
            if tokenizer.segmentation == "whole":
                _check(one.parts[place.part or 0].text, place, tokenizer)
        ends = [place[:3] for place in found]
        assert ends == sorted(ends)


_LETTERS = st.text("aIiİıßé e\u0301\u0640\u0628\u064eกำ我\u00ad\u200c\U00010330\U0001d400.-_ \n", max_size=30)


@given(_LETTERS, st.lists(_LETTERS, max_size=3), st.sampled_from(["en", "tr", "ar"]))
def test_places_are_those_of_the_words_that_count(title: str, texts: list[str], language: str) -> None:
    tokenizer = Tokenizer(language=language)
    texts = [f"{title} {texts[0]}", *texts[1:]] if texts else []
    one = Document("d", title, tuple(Part(text, rank) for rank, text in enumerate(texts)))
    found = list(occurrences(whole_texts(one), tokenizer))
    for place in found:
        _check(title if place.part is None else texts[place.part], place, tokenizer)
    counted = sum((tokenizer.count(text) for _, text in ranked_texts(one)), Counter[str]())
    places = Counter(one.word for one in found)
    assert not counted - places
    assert set(places) == set(counted)  # a repeated title has more places, but no other words


def test_a_title_that_does_not_count_has_no_places() -> None:
    parts = (Part("ant"), Part("bee", 1))
    for counts, expected in ((True, [None, 0, 1]), (False, [0, 1])):
        found = occurrences(whole_texts(Document("d", "gnu", parts, title_counts=counts)), Tokenizer())
        assert [one.part for one in found] == expected


def test_the_words_of_a_repeated_title_have_places_in_both() -> None:
    one = Document("d", "New York", (Part("new york, City"),))
    tokenizer = tokenizer_of("none", "en", phrases=["new_york", "york_city"])
    assert list(occurrences(whole_texts(one), tokenizer)) == [
        (None, 0, 8, "new_york"),
        (0, 0, 8, "new_york"),
        (0, 10, 14, "city"),
    ]


def _text_of(one: Document, span: Span | Highlight) -> str:
    text = one.title if span.part is None else one.parts[span.part].text
    return text[span.start : span.end]


def _documents(folder: Path) -> list[Document]:
    """Write a file of each format about a hot plug, and read them."""
    mail = (
        "From: a@b.c\nSubject: =?utf-8?q?The_pl=C3=BCg?=\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nMessage-ID: <%s@b>\n\n"
    )
    body = "The plug, é is hot.\n\n> quoted plug\n"
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["# A plug\n", "is *hot*."]}
    rows = (
        '<row Id="1" PostTypeId="1" Title="A &amp; plug" Body="&lt;p&gt;my &lt;b&gt;hot&lt;/b&gt; plug&lt;/p&gt;" />',
        '<row Id="2" PostTypeId="2" ParentId="1" Body="&lt;p&gt;hót plug&lt;/p&gt;" />',
    )
    thread = {
        "key": "t",
        "title": "The plug",
        "body": "The plug: is hot",
        "comments": [{"text": "a hot plug"}, {"text": "hót"}],
    }
    post = {"id": 1, "post_number": 1, "post_type": 1, "cooked": "<p>My plug is <b>hot</b> &amp; hót.</p>"}
    files = {
        "docs.jsonl": json.dumps({"id": "j", "title": "The plug", "text": "The PLUG gets hót"}) + "\n",
        "table.csv": 'id,title,text\nc,The plug,"A ""plug"" gets\nhot"\n',
        "note.txt": "The plug\n\nIt gets\thot, and the pl\u00adug.",
        "notes.md": "---\ntitle: The plug\n---\n# The plug\n\nIt gets **hot**.\n",
        "page.html": "<html><title>A plug</title><body><p>The&nbsp;plug <b>gets</b> hot &amp; hót.</p></html>",
        "one.eml": mail % 1 + body,
        "box.mbox": f"From a@b.c Mon Jan  1 00:00:00 2024\n{mail % 2}{body}",
        "book.ipynb": json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
    }
    threads = {
        "Posts.xml": f"<posts>{''.join(rows)}</posts>",
        "threads.jsonl": json.dumps(thread) + "\n",
        "topic.json": json.dumps({"post_stream": {"posts": [post], "stream": [1]}, "id": 7, "title": "Hot plug"}),
        "list.mbox": f"From a@b.c Mon Jan  1 00:00:00 2024\n{mail % 3}{body}",
    }
    found = list[Document | Rejection]()
    for read, written in ((read_documents, files), (read_threads, threads)):
        for name, text in written.items():
            (folder / name).write_text(text, encoding="utf-8")
            found += list(read([str(folder / name)]))
    assert len(found) == len(files) + len(threads)
    assert not [str(one) for one in found if not isinstance(one, Document)]
    return [one for one in found if isinstance(one, Document)]


def _check_hit(hit: Hit, one: Document, query: str, tokenizer: Tokenizer) -> None:
    """Check all places in a hit of a document for a query."""
    assert hit.flows
    for flow in hit.flows:
        assert {word for span in flow.source_spans for word in tokenizer.words(query[span.start : span.end])} == {
            flow.source
        }
        assert {word for span in flow.target_spans for word in tokenizer.words(_text_of(one, span))} == {flow.target}
    assert hit.text is not None
    assert hit.highlights
    for place in hit.highlights:
        assert tokenizer.words(_text_of(one, place)) == [place.word]
        if place.part is not None:
            start = hit.part_starts[place.part]
            assert hit.text[start + place.start : start + place.end] == _text_of(one, place)
    for place in hit.snippet_highlights:
        assert tokenizer.words(hit.snippet[place.start : place.end]) == [place.word]


def test_places_are_in_the_stored_texts_of_every_format(tmp_path: Path) -> None:
    words = ["plug", "hot", "socket", "gets", "title", "quoted", "hót", "plüg"]
    vectors = np.random.default_rng(3).standard_normal((len(words), 4))
    rows = (f"{word} {' '.join(map(str, row))}" for word, row in zip(words, vectors, strict=True))
    (tmp_path / "v.txt").write_text("\n".join(rows), encoding="utf-8")
    query = "The PLUG is hot, hot é"
    with Collection.create(tmp_path / "index", Settings(str(tmp_path / "v.txt"))) as collection:
        collection.index(_documents(tmp_path))
        documents = {one.key: one for one in collection.documents()}
        found = collection.search(query, k=50, rank="wmd", explained=True, highlight=True, full=True)
        assert {hit.key for hit in found.hits} == documents.keys()
        for hit in found.hits:
            _check_hit(hit, documents[hit.key], query, collection.settings.tokenizer)
        assert sum(place.word == "hot" for hit in found.hits for place in hit.snippet_highlights) >= 8
        assert Ranking.from_dict(json.loads(json.dumps(found.to_dict()))).hits == found.hits


def test_highlights_are_words_of_the_query_and_near_ones(collection: Collection) -> None:
    collection.index([document("d", "Ant zorp bee", "the Gnu. gnu zorp"), document("e", "ant")])
    near = collection.search("ant zorp", rank="rwmd", highlight=True).hits
    (hit,) = (one for one in near if one.key == "d")
    costs = {word: min(math.dist(TABLE[word], TABLE["ant"]), 9) for word in ("bee", "gnu")}
    typical = _typical("ant")
    expected = [("Ant", "ant", 0.0), ("zorp", "zorp", 0.0)]
    expected += [(word, "ant", cost) for word, cost in costs.items() if cost < 0.72 * typical]
    found = {(place.word, place.source, round(place.cost, 6)) for place in hit.highlights}
    assert found == {(word.lower(), source, round(cost, 6)) for word, source, cost in expected}
    assert [place.part for place in hit.highlights if place.word == "zorp"] == [0, 1]
    assert all(not one.highlights for one in collection.search("ant zorp", rank="rwmd").hits)


def _typical(word: str) -> float:
    """Return the root of the mean squared distance of a word to all words."""
    vectors = np.array(list(TABLE.values()))
    return float(np.sqrt(np.square(vectors - TABLE[word]).sum(axis=1).mean()))


def test_near_words_are_the_same_with_flows_in_pages_and_explanations(collection: Collection) -> None:
    collection.index([document("d", "ant bee cat dog elk fox gnu zorp")])
    (hit,) = collection.search("ant hen zorp", rank="wmd", highlight=True, explained=True).hits
    without = collection.search("ant hen zorp", rank="wmd", highlight=True).hits[0]
    explanation = collection.explain("ant hen zorp", "d", rank="wmd")
    assert hit.highlights == without.highlights == explanation.highlights
    assert {place.word for place in hit.highlights} > {"ant", "zorp"}
    assert explanation.flows == hit.flows
    assert collection.explain(similar="d", key="d").flows[0].source_spans
    plain = collection.search("ant hen zorp", rank="wmd", explained=True).hits[0]
    assert [flow.cost for flow in plain.flows] == [flow.cost for flow in hit.flows]
    assert not any(flow.source_spans or flow.target_spans for flow in plain.flows)
    by_words = collection.explain("ant hen zorp", "d", rank="bm25")
    assert {place.word for place in by_words.highlights} == {"ant", "zorp"}


def test_shown_places_are_those_of_the_title_and_the_snippet(collection: Collection) -> None:
    parts = ("the " * 30_000 + "ant bee", "Ant bee. " * 20_000)
    long = Document("e", "The Bee", tuple(map(Part, parts)))
    collection.index([document("d", "Bee ant zorp", "fox gnu cat bee"), long])
    for query in ("ant zorp", "zorp bee fox"):
        whole = collection.search(query, highlight=True, explained=True).hits
        for hit, one in zip(collection.search(query, highlight="shown", explained=True).hits, whole, strict=True):
            assert hit.snippet_highlights == one.snippet_highlights
            assert hit.highlights == tuple(place for place in one.highlights if place.part is None)
            assert hit.flows
            assert not any(flow.source_spans for flow in hit.flows)
    with pytest.raises(UsageError, match="highlight"):
        SearchOptions(highlight="whole")  # type: ignore[arg-type]


class _Clock:
    """A function `stop` that returns True from the `n`-th call on, once it is `begun`."""

    def __init__(self, n: int) -> None:
        self.left, self.begun = n, False

    def __call__(self) -> bool:
        self.left -= self.begun
        return self.left < 0


@pytest.mark.parametrize("calls", [0, 1, 3, 10**9])
def test_hits_have_no_places_when_the_time_is_over(
    collection: Collection, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection.index([document(f"d{i}", "ant bee. " * (i + 1) * 100) for i in range(4)])
    expected = collection.search("ant cat", rank="wmd").hits
    clock, located = _Clock(calls), Locator.of_stored

    def of_stored(*given: Any) -> tuple[Hit, ...]:
        clock.begun = True
        return located(*given)

    monkeypatch.setattr(Locator, "of_stored", of_stored)
    options = SearchOptions(rank="wmd", explained=True, highlight=True, passage=4, stop=clock)
    found = collection.search("ant cat", options)
    assert [hit.key for hit in found.hits] == [hit.key for hit in expected]
    assert found.certified
    placed = [bool(hit.highlights and hit.passage) for hit in found.hits]
    assert placed == [calls == 10**9] * 4


def test_an_explanation_has_no_places_when_the_time_is_over(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def over() -> None:
        raise OutOfTime("over")

    collection.index([document("d", "ant bee")])
    monkeypatch.setattr(occurring, "check_time", over)
    explanation = collection.explain("ant cat", "d")
    assert explanation.flows
    assert not explanation.highlights
    assert not any(flow.source_spans or flow.target_spans for flow in explanation.flows)


@pytest.mark.parametrize(("rank", "expected"), [("bm25", {"run"}), ("bm25:stem=english", {"run", "running", "runs"})])
def test_a_scorer_alone_highlights_what_it_counts(rank: str, expected: set[str]) -> None:
    words = ["run", "running", "runs", "walk"]
    reranker = Reranker(Embedding.of(words, np.ones((4, 2))))
    found = reranker.rank("run", ["Running, he runs; run, walk", "walk"], rank=rank, highlight=True).hits[0]
    assert {place.word for place in found.highlights} == expected
    assert {(place.source, place.cost) for place in found.highlights} == {("run", 0.0)}


def test_only_the_first_candidates_have_highlights(collection: Collection) -> None:
    documents = [document(f"d{i}", f"ant {word}") for i, word in enumerate(("bee", "cat", "dog"))]
    collection.index(documents)
    stored = collection.rerank("ant bee", ["d0", "d1", "gone", "d2"], k=2, highlight=True, passage=5)
    (many,) = collection.rerank_many(["ant bee"], [["d0", "d1", "gone", "d2"]], k=2, highlight=True, passage=5)
    reranker = Reranker.load(collection.path)
    texts = reranker.rank("ant bee", documents, k=2, highlight=True, passage=5)
    for ranking in (stored, many, texts):
        assert [bool(hit.highlights) for hit in ranking.hits][:3] == [True, True, False]
        assert [hit.passage is not None for hit in ranking.hits][:3] == [True, True, False]
    places = [(hit.key, hit.highlights, hit.passage) for hit in stored.hits[:2]]
    assert places == [(hit.key, hit.highlights, hit.passage) for hit in texts.hits[:2]]
    assert places == [(hit.key, hit.highlights, hit.passage) for hit in many.hits[:2]]


def test_all_candidates_have_places_if_keys_are_repeated(collection: Collection) -> None:
    collection.index([document("a", "ant bee"), document("b", "ant"), document("s", "bee ant cat")])
    keys = ["a", "a", "a", "b", "s"]
    hits = collection.rerank("ant bee", keys, highlight=True).hits
    assert all(hit.highlights for hit in hits)
    first = collection.rerank("ant bee", keys, k=2, highlight=True).hits
    assert [bool(hit.highlights) for hit in first] == [True, True, False, False, False]


def test_a_grouped_search_has_places(collection: Collection) -> None:
    collection.index([document(f"d{i}", "ant bee", label=str(i % 2)) for i in range(6)])
    for depth in (None, 4):
        hits = collection.search("ant", group_by="label", highlight=True, passage=3, k=2, depth=depth).hits
        assert len(hits) == 2
        assert all(hit.highlights and hit.passage for hit in hits)


def _places(one: Document, *words: str) -> list[Highlight]:
    """Return the places of some words."""
    found = occurrences(whole_texts(one), Tokenizer())
    return [Highlight(*place, place.word, 0.0) for place in found if place.word in words]


def test_a_short_snippet_is_not_looked_for_within_the_title() -> None:
    one = Document("d", "Hotel", (Part("Hotel hot"),))
    places = _places(one, "hot")
    (place,) = highlights_in(snippet(["Hotel hot"], "Hotel", frozenset(), Tokenizer()), ["Hotel hot"], places)
    assert (place.start, place.end) == (0, 3)


def test_the_size_of_places_is_limited(collection: Collection) -> None:
    collection.index([document("d", "ant bee " * 50)])
    for options in (SearchOptions(highlight=True), SearchOptions(explained=True, highlight=True)):
        assert collection.search("ant", options, most_characters=20_000).hits
        with pytest.raises(TooLarge, match="request fewer hits"):
            collection.search("ant", options, most_characters=2_000)
    for options in (
        SearchOptions(highlight=True),
        SearchOptions(passage=100),
    ):  # texts are counted before they are read
        with pytest.raises(TooLarge, match="that are read for it"):
            collection.search("ant", options, most_characters=300)
    assert collection.search("ant", passage=100, most_characters=900).hits
    with pytest.raises(TooLarge):  # and the text of the passage
        collection.search("ant", passage=100, most_characters=700)
    assert collection.search("ant", explained=True, most_characters=400).hits[0].flows


def test_places_beyond_the_size_of_an_explanation_are_left_out(collection: Collection) -> None:
    collection.index([document("d", "ant bee cat " * 20)])
    whole = collection.explain("ant dog", "d", rank="wmd")
    sizes = []
    for most in (10**6, 10_000, 4_000, 300):
        cut = AnswerSize(most).cut(whole)
        spans = sum(len(flow.source_spans) + len(flow.target_spans) for flow in cut.flows)
        sizes.append(40 * spans + 100 * len(cut.highlights))
        assert sizes[-1] <= most
        assert cut.highlights == whole.highlights[: len(cut.highlights)]
        assert [flow.mass for flow in cut.flows] == [flow.mass for flow in whole.flows]
    assert AnswerSize(10**6).cut(whole) == whole
    assert sizes == sorted(sizes, reverse=True)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Occurrence]:
    """The words that searches and explanations find in texts from now on."""
    seen: list[Occurrence] = []

    def counting(texts: RankedTexts, tokenizer: Tokenizer) -> Iterator[Occurrence]:
        for one in occurrences(texts, tokenizer):
            seen.append(one)
            yield one

    monkeypatch.setattr(searching, "occurrences", counting)
    monkeypatch.setattr(locating, "occurrences", counting)
    return seen


def _explain(collection: Collection, query: QueryText | StoredKey, key: str, most: int) -> Explanation:
    """Return the explanation of a server that limits the size of an answer."""
    options = SearchOptions(rank="wmd", highlight=True, most_characters=most)
    return collection._states.run(lambda state: state.searcher.explain(query, key, options))  # noqa: SLF001 - not public


def test_an_explanation_reads_no_more_than_it_keeps(collection: Collection, seen: list[Occurrence]) -> None:
    collection.index([document("big", "ant bee " * 20_000), document("small", "ant bee")])
    found = _explain(collection, "ant", "big", 200_000)
    assert len(found.highlights) == 1_999  # and a span in the query
    assert found.flows
    assert not any(flow.target_spans for flow in found.flows)
    assert len(seen) < 10_000
    seen.clear()
    for query, key in (("ant", "big"), (StoredKey("big"), "small")):  # no text is read that is too long
        found = _explain(collection, query, key, 100_000)
        assert found.flows
        assert not found.highlights
        assert len(seen) <= 1
    whole = _explain(collection, "ant", "small", 200_000)
    assert all(flow.target_spans for flow in whole.flows)
    assert whole == collection.explain("ant", "small", rank="wmd")


def test_the_text_of_a_stored_query_counts(collection: Collection, seen: list[Occurrence]) -> None:
    collection.index([document("big", "ant bee " * 20_000), document("small", "ant bee")])
    with pytest.raises(TooLarge, match="that are read for it"):
        collection.similar("big", rank="wmd", highlight=True, most_characters=100_000)
    assert not seen
    assert collection.similar("big", rank="wmd", highlight=True, most_characters=160_000).hits[0].highlights
    with pytest.raises(TooLarge):
        collection.search("ant", rank="wmd", highlight=True, k=1, most_characters=160_000)


def test_the_budget_pays_for_all_places_once(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    collection.index([document("big", "ant bee " * 60_000), document("other", "ant bee " * 60_000)])
    calls: list[int] = []

    def monotonic() -> float:  # each look at the clock takes a second
        calls.append(1)
        return float(len(calls))

    monkeypatch.setattr(locating, "time", SimpleNamespace(monotonic=monotonic))
    (hit,) = collection.similar("big", k=1, rank="wmd", highlight=True, budget=20.0).hits
    assert not hit.highlights
    assert len(calls) <= 23


@given(st.lists(st.text("ab \n.é", max_size=20), min_size=1, max_size=3))
def test_highlights_of_a_snippet_are_those_of_the_text(parts: list[str]) -> None:
    one = document("d", *parts)
    found = _places(one, "b", "ab")
    shown = snippet(parts, "", with_parts(["b"]), Tokenizer(), 12)
    for place in (places := highlights_in(shown, parts, found)):
        assert Tokenizer().words(shown[place.start : place.end]) == [place.word]
    whole = shown.removeprefix("… ").removesuffix(" …")
    words = Counter(word for word in Tokenizer().words(whole) if word in ("b", "ab"))
    cut = len(whole) == 12  # the last word may be cut
    assert not highlights_in("", parts, found)
    assert cut or Counter(place.word for place in places) == words
