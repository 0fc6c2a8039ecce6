"""Phrases of word vectors in a collection: their vectors, their words in scorers, and changes of the vectors."""

from pathlib import Path

import numpy as np
import ot
import pytest

from moverank import Collection, Document, DocumentFrequencies, Embedding, Part, Ranking, Reranker
from moverank.indexer.errors import SettingsError
from moverank.indexer.formatters.marking import marked
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.values.settings import Settings
from tests.indexer.commands.program import program

VECTORS = {
    "hotel": (1.0, 0.1, 0.0),
    "inn": (0.9, 0.2, 0.1),
    "york": (0.0, 1.0, 0.2),
    "new": (0.3, 0.0, 1.0),
    "New_York": (0.8, 0.8, 0.1),
    "manhattan": (0.7, 0.9, 0.1),
    "of": (0.2, 0.2, 0.2),
    "Bank_of_America": (0.1, 0.9, 0.9),
    "broker": (0.2, 0.8, 0.9),
}
TEXTS = {
    "a": "A hotel in New York",
    "b": "New inn, York",
    "c": "The Bank of America: a broker of New-York.",
    "d": "york york",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return _written(tmp_path / "phrases.txt", VECTORS)


def _written(path: Path, vectors: dict[str, tuple[float, float, float]]) -> Path:
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in vectors.items()]
    path.write_text("\n".join([f"{len(lines)} 3", *lines]) + "\n")
    return path


def _filled(directory: Path, file: Path, **settings: object) -> Collection:
    collection = Collection.create(directory, Settings(str(file), **settings))  # type: ignore[arg-type]
    collection.index([Document(key, "", (Part(text),)) for key, text in TEXTS.items()])
    return collection


def _values(ranking: Ranking) -> dict[str, float]:
    """Return the distance, total or score of each hit."""
    return {
        hit.key: next(value for value in (hit.total, hit.distance, hit.scored) if value is not None and value == value)
        for hit in ranking.hits
    }


def _state(collection: Collection) -> list[object]:
    """Return what searches see."""
    rankings = "wmd", "bm25", "bm25:ngrams=3", None
    hits = [_values(collection.search("new york hotel", k=4, exact=True, rank=rank)) for rank in rankings]
    return [hits, collection.info()["coverage_by"], collection.settings.tokenizer]


def test_a_phrase_has_its_own_vector(tmp_path: Path, file: Path) -> None:
    with _filled(tmp_path / "i", file) as collection:
        found = collection.search("manhattan", k=4, exact=True, rank="wmd")
        distances = _values(found)
        target = np.array([VECTORS["hotel"], VECTORS["New_York"]])
        cost = np.linalg.norm(np.array([VECTORS["manhattan"]])[:, None] - target[None], axis=2)
        assert distances["a"] == pytest.approx(ot.emd2([1.0], [0.5, 0.5], cost), rel=1e-6)
        assert collection.info()["coverage_by"] == pytest.approx({"exact": 7 / 10, "phrase": 3 / 10})
        assert collection.info()["phrases"] == 2
        flows = collection.explain("manhattan", "a").flows
        assert {flow.target for flow in flows} == {"hotel", "new_york"}


@pytest.mark.parametrize("rank", ["bm25", "bm25:stem=english", "bm25:ngrams=4", "tfidf"])
def test_scorers_count_the_words_of_a_phrase(rank: str, tmp_path: Path, file: Path) -> None:
    own = ["New_York"]  # without stop words, which the other collection does not count
    with _filled(tmp_path / "i", file, phrases=own) as one, _filled(tmp_path / "j", file, phrases=[]) as other:
        assert (one.info()["phrases"], other.info()["phrases"]) == (1, 0)
        for query in ("york", "New York", "new hotel", "manhattan york"):
            found, plain = (_values(each.search(query, k=4, rank=rank)) for each in (one, other))
            assert found
            assert found == pytest.approx(plain)


def test_a_document_with_the_first_phrase_comes_later(tmp_path: Path, file: Path) -> None:
    documents = [Document(key, "", (Part(text),)) for key, text in TEXTS.items()]
    with Collection.create(tmp_path / "i", Settings(str(file))) as later:
        later.index([documents[3], documents[1]])
        later.search("york", rank="bm25")
        later.index(documents)
        with _filled(tmp_path / "j", file) as fresh:
            for rank in ("bm25", "bm25:ngrams=3", "wmd"):
                one, other = (_values(each.search("new york", k=4, rank=rank)) for each in (later, fresh))
                assert one == pytest.approx(other)
        assert check_collection(later.path).sentences() == ()


def test_other_vectors_have_other_phrases(tmp_path: Path, file: Path) -> None:
    plain = _written(tmp_path / "plain.txt", {word: own for word, own in VECTORS.items() if "_" not in word})
    with _filled(tmp_path / "i", file) as changed, _filled(tmp_path / "j", plain) as other:
        before = _state(changed)
        changed.refit(embedding=str(plain))
        assert _state(changed) == _state(other)
        changed.refit(embedding=str(file))
        assert _state(changed) == before
        changed.refit(language="de")
        assert changed.search("New York", rank="wmd", k=1).hits[0].distance < 1
        assert changed.settings.phrases == "new_york bank_of_america"
        assert check_collection(changed.path).sentences() == ()
    with Collection.open(tmp_path / "j") as other:
        other.refit(embedding=str(file))
        assert _state(other) == before


def test_a_reranker_splits_as_the_collection(tmp_path: Path, file: Path) -> None:
    embedding = Embedding.of(list(VECTORS), np.array(list(VECTORS.values())), "en")
    frequencies = DocumentFrequencies.of(TEXTS.values(), phrases=embedding.phrases("en"))
    with _filled(tmp_path / "i", file) as collection:
        rerankers = [
            Reranker(embedding, frequencies=frequencies),
            Reranker.load(file, frequencies=frequencies),
            Reranker.load(collection.path),
        ]
        # The mean length in words of phrases is estimated from document frequencies.
        for rank, error in (("wmd", 1e-6), ("wmd+bm25", 1e-2), ("wmd+bm25:stem=english", 1e-2)):
            hits = _values(collection.search("old york hotel", k=4, exact=True, rank=rank))
            for reranker in rerankers:
                found = _values(reranker.rank("old york hotel", TEXTS, rank=rank))
                assert {key: found[key] for key in hits} == pytest.approx(hits, rel=error)
            found = _values(Reranker.load(collection.path, rank=rank).rank("old york hotel", TEXTS))
            assert {key: found[key] for key in hits} == pytest.approx(hits)


def test_vectors_that_find_no_other_forms_have_phrases_in_lower_case_only() -> None:
    words = ["New_York", "new_delhi", "new", "york", "delhi"]
    embedding = Embedding.of(words, np.random.default_rng(0).normal(size=(5, 3)))
    assert embedding.phrases("en") == "new_delhi"
    found = Reranker(embedding).rank("new york", {"a": "york", "b": "new delhi"}, rank="wmd")
    assert [hit.key for hit in found.hits if not hit.wordless] == ["a", "b"]


def test_snippets_and_marks_of_phrases(tmp_path: Path, file: Path) -> None:
    with Collection.create(tmp_path / "i", Settings(str(file))) as collection:
        collection.index([Document("d", "", (Part("broker " * 100 + "in New York"),))])
        for query, rank in (("new york", "wmd"), ("york", "bm25")):
            hit = collection.search(query, rank=rank).hits[0]
            assert hit.snippet.endswith("in New York")
        hit = collection.search("york", rank="bm25", highlight=True).hits[0]
        pieces = marked(hit.snippet, hit.snippet_highlights)
        assert [piece for piece, mark in pieces if mark] == ["New York"]


def test_own_phrases_and_none(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = program(monkeypatch, capsys)
    (tmp_path / "own.txt").write_text("New_York\n")
    (tmp_path / "d.txt").write_text("The Bank of America in New York")
    for name, value, expected in (("a", "none", ""), ("b", str(tmp_path / "own.txt"), "new_york")):
        index = tmp_path / f"{name}.index"
        answer = run("index", tmp_path / "d.txt", "-i", index, "--embedding", file, "--setting", f"phrases={value}")
        assert answer.code == 0
        with Collection.open(index) as collection:
            assert collection.settings.phrases == expected
    with Collection.open(tmp_path / "b.index") as collection, pytest.raises(SettingsError, match="another phrases"):
        collection.settings.changed({"phrases": "bank_of_america"})
    (tmp_path / "own.txt").write_text("new york\n")
    answer = run("index", tmp_path / "d.txt", "-i", tmp_path / "c", "--setting", f"phrases={tmp_path / 'own.txt'}")
    assert answer.code != 0
    assert "'new' is no phrase" in answer.err
    answer = run("explain", "york", tmp_path / "d.txt", "-i", tmp_path / "b.index")
    assert "New York" in answer.out
