import numpy as np
import pytest

from moverank import CollectionError, Document, Part
from moverank.indexer.plugins.laboratory.corpus import corpus_of
from moverank.indexer.plugins.laboratory.duplicates import find_duplicates
from tests.indexer.plugins.laboratory.ranked import QUERY, ranked
from tests.indexer.world import MakeCollection, document

METHODS = ("wmd", "pwmd:weights=tfidf", "rwmd", "wcd:gamma=1", "bm25", "tfidf:gamma=0.75", "centroid", "lsi:dim=3")


def test_a_corpus_is_the_same_after_changes(make_collection: MakeCollection, documents: list[Document]) -> None:
    at_once, step_by_step = make_collection(), make_collection()
    at_once.index(documents[3:])
    step_by_step.index(documents[:6])
    step_by_step.index(documents[6:])
    step_by_step.remove(["d0", "d1", "d2"])
    tables = [
        ranked("pwmd:weights=tfidf", texts, texts)
        for texts in (corpus_of(collection).documents for collection in (at_once, step_by_step))
    ]
    assert tables[0] == pytest.approx(tables[1])


def test_titles_count_as_often_as_the_collection_says(
    make_collection: MakeCollection, documents: list[Document]
) -> None:
    titles = ["ant", "quux", "lark kiwi", "", *(document.parts[0].text for document in documents[4:])]
    titled = [Document(old.key, title, old.parts) for old, title in zip(documents, titles, strict=True)]
    repeated = [
        Document(old.key, "", (*[Part(title)] * 3, *old.parts)) if i < 4 else document(old.key, *_texts(old, title))
        for i, (old, title) in enumerate(zip(documents, titles, strict=True))
    ]
    weighted, plain = make_collection(title_weight=3), make_collection()
    weighted.index(titled)
    plain.index(repeated)
    corpora = [corpus_of(collection, [("q", QUERY)]) for collection in (weighted, plain)]
    for method in METHODS:
        found, expected = (ranked(method, corpus.documents, corpus.queries) for corpus in corpora)
        assert found == pytest.approx(expected, rel=1e-5)
    hits = weighted.search(QUERY, k=20, distance="wmd", exact=True).hits
    distances = ranked("wmd", corpora[0].documents, corpora[0].queries)[0]
    assert {hit.key: hit.distance for hit in hits} == pytest.approx(
        {key: distances[row] for key, row in corpora[0].documents.row_of.items() if np.isfinite(distances[row])}
    )


def _texts(old: Document, title: str) -> list[str]:
    """The texts of a document whose first part begins with its title, with the title two more times."""
    first, *others = (part.text for part in old.parts)
    assert first.startswith(title)
    return [f"{title} {title} {first}", *others]


def test_duplicates_are_compared_with_their_titles(make_collection: MakeCollection) -> None:
    texts = ("bee cat", "ant"), ("bee cat", "lark"), ("cat bee bee cat", "ant ant"), ("bee cat cat", "ant")
    collection = make_collection(title_weight=3)
    collection.index([Document(f"d{i}", title, (Part(text),)) for i, (text, title) in enumerate(texts)])
    found = find_duplicates(corpus_of(collection).documents)
    assert found.first.tolist() == [0, 1, 0, 3]
    assert (found.facts(), found.example) == ({"duplicates": 1}, ("d0", "d2"))


def test_a_collection_without_words_has_no_corpus(make_collection: MakeCollection) -> None:
    collection = make_collection([document("d", "of the")])
    with pytest.raises(CollectionError, match="no document with a word"):
        corpus_of(collection)
