"""The words of a title count separately, as often as the title weight says: in every distance and score."""

from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Part, Rejection
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.values.documents import begins_with_title, counted_texts, title_end, without_title
from moverank.rerank.words.tokenizer import Tokenizer
from tests.indexer.stored_state import stored_parts
from tests.indexer.world import (
    MakeCollection,
    Twin,
    check_exact,
    document,
    random_documents,
    record_counted_texts,
    snapshot_above,
)
from tests.installed import installed

_COUNT = Tokenizer().count


@pytest.mark.parametrize(
    ("text", "title", "begins"),
    [
        ("Late train\nIt never came.", "Late train", True),
        ("late TRAIN: it never came", "Late train", True),
        ("Late trains", "Late train", False),
        ("My late train", "Late train", False),
        ("Late", "Late train", False),
        ("Late train", "", False),
        ("", "", False),
        ("", "Late train", False),
        ("\n Late \t train\nIt never came.", "Late  train", True),
    ],
)
def test_a_text_may_begin_with_its_title(text: str, title: str, begins: bool) -> None:
    assert begins_with_title(text, title) == begins
    assert (without_title(text, title) != text) == begins


@given(st.sampled_from(["Late train", "Late", "late"]), st.sampled_from(["", "I wait", "Later", "late train", "!"]))
def test_every_word_is_counted_once(title: str, body: str) -> None:
    for text in (f"{title}\n{body}", f"{title.upper()}: {body}"):
        end = title_end(text, title)
        assert end is not None
        rest = text[end:]
        assert _COUNT(title) + _COUNT(rest) == _COUNT(text)
        assert counted_texts(title, [(0, text), (1, "more")]) == [rest, "more"]
        assert counted_texts(title, [(1, text)]) == [text]  # a comment is not an opening post
    assert counted_texts(title, []) == []


class _Titled(NamedTuple):
    """A document whose title counts, and its body without the title."""

    document: Document
    body: Document

    def repeated(self, weight: int) -> Document:
        """Return an equivalent document without a title: its first part begins with the title `weight` times."""
        first, *others = self.body.parts
        text = f"{self.document.title.lower()} " * weight + first.text
        return replace(self.body, title="", parts=(replace(first, text=text), *others))


def _titled_documents() -> list[_Titled]:
    """Return documents with their title beside the text or, every third, at the beginning of the text."""
    documents = []
    for position, one in enumerate(random_documents(20, seed=3)):
        title = "Elk fox" if position % 2 else "Gnu"
        body = Document(one.key, title, (Part(one.parts[0].text), Part("bee", 1)))
        within = replace(body, parts=(Part(f"{title.upper()}\n{one.parts[0].text}"), body.parts[1]))
        documents.append(_Titled(within if position % 3 == 0 else body, body))
    return documents


TITLED = _titled_documents()


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("snapshot", [False, True])
def test_the_title_weight_may_change_at_any_time(
    make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch, weights: str, snapshot: bool
) -> None:
    snapshot_above(monkeypatch, 0 if snapshot else 999)
    collection = make_collection(title_weight=3, gamma=0.5, weights=weights)
    collection.index([*(one.document for one in TITLED), Rejection("x", 1, "bad")])
    counted = record_counted_texts(monkeypatch)
    for weight in (3, 1, 7):
        collection.change_settings(title_weight=weight)
        assert collection.settings.title_weight == weight
        assert collection.index([one.document for one in TITLED]).unchanged == 20
        expected = Twin.of((one.repeated(weight) for one in TITLED), weights).distances("elk ant", gamma=0.5)
        for depth in (None, 20):
            ranking = collection.search("elk ant", k=20, depth=depth)
            check_exact(ranking, expected, 20)
        assert not any(hit.snippet.lower().startswith(hit.title.lower()) for hit in ranking.hits)
        assert check_collection(collection.path).sentences() == ()
    assert set(counted) <= {"elk ant"}  # no document is read again


def test_scores_apply_the_title_weight(make_collection: MakeCollection) -> None:
    collection, repeated = make_collection(title_weight=3), make_collection()
    collection.index([one.document for one in TITLED])
    repeated.index([one.repeated(3) for one in TITLED])
    for spec in installed(("bm25", "tfidf", "pl2", "translation")):
        hits, expected = (one.search("elk ant", k=20, distance=spec).hits for one in (collection, repeated))
        assert [hit.key for hit in hits] == [hit.key for hit in expected]
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected])
    hits, expected = (one.similar("d1", k=5).hits for one in (collection, repeated))
    assert [hit.distance for hit in hits] == pytest.approx([hit.distance for hit in expected])


def _ranks(collection: Collection, key: str) -> list[int]:
    """Return the stored ranks of a document's parts, its title first if that counts."""
    return [rank for _, _, _, rank, *_ in stored_parts(collection, key)]


def test_a_title_that_is_only_shown_does_not_count(collection: Collection) -> None:
    shown = document("a", "ant bee", title="Elk")
    collection.index([shown, document("b", "cat")])
    assert collection.search("ant bee", k=1).hits[0].distance == 0
    assert _ranks(collection, "a") == [0]
    assert collection.index([replace(shown, title_counts=True)]).updated == 1
    assert _ranks(collection, "a") == [-1, 0]
    assert collection.search("ant bee", k=1).hits[0].distance > 0
    assert collection.index([shown]).updated == 1
    assert collection.search("ant bee", k=1).hits[0].distance == 0
    assert check_collection(collection.path).sentences() == ()


def test_a_document_may_have_a_title_only(collection: Collection) -> None:
    collection.index([Document("a", "Elk fox"), Document("b", "", (Part("ant"),))])
    (hit, _) = collection.search("fox elk", k=2).hits
    assert (hit.key, hit.distance, hit.snippet) == ("a", 0, "")
    assert check_collection(collection.path).sentences() == ()
    assert collection.info()["parts"] == 1


def test_a_changed_title_changes_the_counts_of_the_text(collection: Collection) -> None:
    """The words of the text that repeat the title at its beginning count as the title."""
    collection.change_settings(title_weight=1)
    for title, counted in (("Elk", "elk elk ant"), ("Fox", "fox elk elk ant"), ("Elk elk", "elk elk ant")):
        collection.index([Document("a", title, (Part("elk elk ant"),))])
        expected = Twin.of([document("a", counted)]).distances("ant")
        check_exact(collection.search("ant", k=1), expected, 1)
        assert check_collection(collection.path).sentences() == ()


def test_word_vectors_are_trained_on_titles_once(make_collection: MakeCollection) -> None:
    titled, repeated = make_collection(embedding="lsi", title_weight=5), make_collection(embedding="lsi")
    titled.index([one.document for one in TITLED])
    repeated.index([one.repeated(1) for one in TITLED])
    assert titled.embedding.fingerprint == repeated.embedding.fingerprint
