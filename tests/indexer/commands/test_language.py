"""The language of a collection, as users choose it."""

import json
from pathlib import Path

import pytest

from moverank import Document, DocumentFrequencies, Embedding, Part, Reranker
from moverank.rerank.adapters.ranker import count_texts
from tests.indexer.commands.program import Call

TEXTS = {"haus": "Die Häuser und der Hund.", "katze": "Eine Katze ist die Katze."}


@pytest.fixture
def german(call: Call, vectors: Path, tmp_path: Path) -> Path:
    """A collection of German texts, with vectors of other words."""
    file = tmp_path / "texts.csv"
    file.write_text("id,text\n" + "".join(f"{key},{text}\n" for key, text in TEXTS.items()))
    made = call("index", file, "-i", tmp_path / "german", "--embedding", vectors, "--language", "de", "--json")
    assert made.code == 0
    return tmp_path / "german"


def test_a_collection_has_a_language(call: Call, german: Path, tmp_path: Path) -> None:
    info = call("info", "-i", german, "--json").json
    assert (info["language"], info["ranking"].count("stem=german"), info["words"]) == ("de", 1, 3)
    for number in ("Haus", "die Häuser"):
        found = call("search", number, "-i", german, "--rank", "bm25:stem=german", "--json").json
        assert found["hits"][0]["key"] == "haus"
    refused = call("index", tmp_path / "texts.csv", "-i", german, "--language", "fr")
    assert (refused.code, refused.out) == (2, "")
    assert "the collection was made with another language (de): leave that option out" in refused.err


def test_explain_shows_words_as_the_texts_write_them(call: Call, vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("id,text\na,The CAT by the River\n")
    index = tmp_path / "english"
    assert call("index", tmp_path / "one.csv", "-i", index, "--embedding", vectors).code == 0
    lines = call("explain", "a Cat and a dog", "a", "-i", index).out.splitlines()
    moved = {tuple(line.split()[:2]) for line in lines if line.split()[2:3] and line.split()[2].startswith("0.")}
    assert ("Cat", "CAT") in moved
    assert ("dog", "River") in moved
    flows = call("explain", "a Cat and a dog", "a", "-i", index, "--json").json["flows"]
    assert {flow["target"] for flow in flows} == {"cat", "river"}


def test_without_icu_a_note_names_the_package(
    call: Call, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.rerank.words.segmentation.find_spec", lambda _: None)
    (tmp_path / "one.csv").write_text("id,text\na,ภาษาไทย\n")
    (tmp_path / "two.csv").write_text("id,text\nb,สวยงาม\n")
    for name, noted in (("one.csv", True), ("two.csv", False)):
        line = ("index", tmp_path / name, "-i", tmp_path / "thai", "--embedding", vectors)
        made = call(*line, *(("--language", "th") if noted else ()))
        assert ("moverank[languages]" in made.err, "a script without spaces" in made.err) == (noted, False)
    assert call("info", "-i", tmp_path / "thai", "--json").json["segmentation"] == "vocabulary"


def test_a_file_has_the_words_of_texts_without_spaces(call: Call, vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("ภาษา\nไทย the\n")
    (tmp_path / "one.csv").write_text("id,text\na,ภาษาไทย\n")
    line = ("index", tmp_path / "one.csv", "--embedding", vectors, "--language", "th")
    given = ("--setting", f"vocabulary={tmp_path / 'words.txt'}")
    assert call(*line, *given, "-i", tmp_path / "thai").code == 0
    info = call("info", "-i", tmp_path / "thai", "--json").json
    assert (info["segmentation"], info["vocabulary"], info["words"]) == ("vocabulary", 2, 2)
    again = call(*line, "--setting", f"vocabulary={tmp_path / 'one.csv'}", "-i", tmp_path / "thai")
    assert (again.code, "made with another vocabulary (ภาษา ไทย): leave that option out" in again.err) == (2, True)
    other = call(*line, *given, "--setting", "segmentation=characters", "-i", tmp_path / "other")
    assert (other.code, "a vocabulary needs segmentation=vocabulary, not characters" in other.err) == (2, True)
    missing = call(*line, "--setting", "vocabulary=nowhere.txt", "-i", tmp_path / "other")
    assert "nowhere.txt: the words of the vocabulary cannot be read: No such file" in missing.err


def test_texts_without_spaces_are_found_by_their_words(call: Call, vectors: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.csv"
    file.write_text("id,text\na,我们在北京大学学习自然语言处理。\nb,他们在上海喝咖啡。\n")
    line = ("index", file, "--embedding", vectors, "--rank", "bm25")
    assert "a script without spaces between words" in call(*line, "-i", tmp_path / "en").err
    made = call(*line, "-i", tmp_path / "zh", "--language", "zh")
    assert (made.code, "a script without spaces" in made.err) == (0, False)
    info = call("info", "-i", tmp_path / "zh", "--json").json
    assert (info["segmentation"], info["words"]) == ("icu", 12)
    found = call("search", "北京的大学", "-i", tmp_path / "zh", "--json").json
    assert [hit["key"] for hit in found["hits"]] == ["a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--language", "klingon"], "a language is one of none, ar, az, ca, "),
        (["--setting", "language=de"], "write --language de"),
    ],
)
def test_an_invalid_choice_names_the_valid_ones(
    call: Call, tmp_path: Path, german: Path, options: list[str], message: str
) -> None:
    refused = call("index", tmp_path / "texts.csv", "-i", tmp_path / "new", *options)
    assert (refused.code, german.exists(), (tmp_path / "new").exists()) == (2, True, False)
    assert message in refused.err


def test_candidates_have_the_language_of_a_file_of_vectors(call: Call, vectors: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text('{"query": "Haus", "candidates": [{"id": "a", "text": "Katzen"}, {"id": "b", "text": "Häuser"}]}\n')
    line = ("rerank", "--run", run, "--rank", "bm25:stem=german", "--json", "--language", "de")
    found = call(*line, "--embedding", vectors)
    assert json.loads(found.out)["hits"][0]["key"] == "b", found.err
    refused = call(*line)
    assert (refused.code, "--language goes with --embedding: a collection has its language" in refused.err) == (2, True)


def test_a_reranker_has_the_language_of_its_collection(german: Path) -> None:
    reranker = Reranker.load(german)
    assert "stem=german" in reranker.ranking
    found = reranker.rank("das Haus", TEXTS, rank="bm25:stem=german")
    assert (found.hits[0].key, found.unknown_words, found.ignored_words) == ("haus", ("haus",), ())


def test_texts_are_split_by_one_rule() -> None:
    embedding = Embedding.of(["hund"], [[1.0]])
    reranker = Reranker(embedding, language="de")
    assert reranker.ranking.endswith("2*bm25:k1=1.6,stem=german+cosine")
    assert Reranker(embedding, "none", language="de").ranking == reranker.ranking
    unknown = reranker.rank(Document("q", "", (Part("Die Häuser und Hund"),)), ["Hund"]).unknown_words
    frequencies = DocumentFrequencies.of(["Die Häuser und Hund"], language="de")
    (counted,) = count_texts(["Die Häuser und Hund"], "auto", "de")
    assert {*(unknown or ()), "hund"} == {*frequencies.words} == {*counted} == {"häuser", "hund"}
