"""The language of a collection, as users choose it."""

import json
from pathlib import Path
from shlex import quote

import pytest

from moverank import (
    Collection,
    Document,
    DocumentFrequencies,
    Embedding,
    NoKnownWords,
    Part,
    RecordError,
    Rejection,
    Reranker,
    Settings,
)
from moverank.indexer.files.location import display_name
from moverank.indexer.maintenance.check import check_collection
from tests.indexer.commands.program import Call

TEXTS = {"haus": "Die Häuser und der Hund.", "katze": "Eine Katze ist die Katze."}

PROSE = {
    "de": "Der Stecker wird heiß, wenn das Gerät länger als eine Stunde läuft, und niemand weiß, woran das liegt.",
    "en": "The plug gets hot when the device has been running for more than an hour, and nobody knows why that is.",
    "pl": "Wtyczka nagrzewa się, gdy urządzenie działa dłużej niż godzinę, i nikt nie wie, dlaczego tak się dzieje.",
    "th": "ปลั๊กจะร้อนเมื่อเปิดเครื่องใช้งานนานกว่าหนึ่งชั่วโมง และไม่มีใครรู้ว่าเป็นเพราะอะไร ทุกคนจึงรอช่างมาซ่อม",
}
"""One sentence in four languages."""


def prose(file: Path, *codes: str, times: int = 12) -> Path:
    """Write texts of languages to a table."""
    lines = [f'{code}{i},"{PROSE[code]} {i}"\n' for code in codes for i in range(times)]
    file.write_text("id,text\n" + "".join(lines))
    return file


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
    without = call(*line)
    assert json.loads(without.out)["hits"][0]["key"] == "b", without.err


def test_candidates_have_the_language_of_their_collection(call: Call, german: Path) -> None:
    refused = call("rerank", "-i", german, "--language", "de", stdin=b"")
    assert (refused.code, "--language goes without -i, or with --embedding" in refused.err) == (2, True)


def test_a_reranker_has_the_language_of_its_collection(german: Path) -> None:
    reranker = Reranker.load(german)
    assert "stem=german" in reranker.ranking
    found = reranker.rank("das Haus", TEXTS, rank="bm25:stem=german")
    assert (found.hits[0].key, found.unknown_words, found.ignored_words) == ("haus", ("haus",), ())


def test_texts_are_split_by_one_rule() -> None:
    embedding = Embedding.of(["hund"], [[1.0]])
    reranker = Reranker(embedding, language="de")
    assert reranker.ranking.endswith("bm25:k1=1.6,stem=german+2*bm25:k1=1.6,ngrams=4+cosine")
    assert Reranker(embedding, "none", language="de").ranking == reranker.ranking
    unknown = reranker.rank(Document("q", "", (Part("Die Häuser und Hund"),)), ["Hund"]).unknown_words
    frequencies = DocumentFrequencies.of(["Die Häuser und Hund"], language="de")
    ranker = pytest.importorskip("moverank.rerank.plugins.adapters.ranker", reason="the adapters are removed")
    (counted,) = ranker.count_texts(["Die Häuser und Hund"], "auto", "de")
    assert {*(unknown or ()), "hund"} == {*frequencies.words} == {*counted} == {"häuser", "hund"}


def test_the_first_texts_determine_the_language(call: Call, vectors: Path, tmp_path: Path) -> None:
    path, file = tmp_path / "auto", prose(tmp_path / "texts.csv", "de")
    line = ("index", file, "-i", path, "--embedding", vectors, "--language", "auto")
    made = call(*line)
    command = f"`moverank refit -i {quote(display_name(path))} --language CODE`"
    assert f"language: de (from 12 texts); {command} chooses another" in made.err
    info = call("info", "-i", path, "--json").json
    assert (info["language"], info["stop_words"]) == ("de", len(Settings(language="de").stop_words))
    again = call(*line, "--json")
    assert (again.code, again.json["unchanged"], "language:" in again.err) == (0, 12, False)
    assert call("check", "-i", path).code == 0


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        (("de", "en", "th"), "36 texts have no main language that can be told"),
        (("pl",), "12 texts seem to be pl, which is none of the languages"),
    ],
)
def test_texts_of_several_languages_or_of_an_unknown_one_have_none(
    call: Call, vectors: Path, tmp_path: Path, codes: tuple[str, ...], reason: str
) -> None:
    file = prose(tmp_path / "texts.csv", *codes)
    made = call("index", file, "-i", tmp_path / "auto", "--embedding", vectors, "--language", "auto")
    assert f"language: none ({reason})" in made.err
    assert call("info", "-i", tmp_path / "auto", "--json").json["language"] == "none"


def test_the_language_of_a_collection_is_found_once(vectors: Path, tmp_path: Path) -> None:
    texts = [Document(code, "", (Part(PROSE[code] * 2),)) for code in ("de", "en")]
    with Collection.create(tmp_path / "auto", Settings(str(vectors), language="auto")) as collection:
        with pytest.raises(NoKnownWords):
            collection.search("Stecker")
        assert collection.index(texts[:1], dry_run=True).added == 1
        assert collection.index([]).documents == 0
        assert (collection.settings.language, collection.settings.stop_words) == ("auto", "auto")
        with Collection.open(tmp_path / "auto") as opened:
            assert opened.settings == collection.settings
        collection.index(texts[:1])
        assert collection.settings == Settings(str(vectors), language="de", normalize=False, phrases="")
        collection.index(texts[1:])
        with Collection.open(tmp_path / "auto") as opened:
            assert opened.settings == collection.settings
    assert check_collection(tmp_path / "auto").sentences() == ()


def test_vectors_find_the_forms_of_the_language_that_is_found(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("Stecker 1 2\nHEISS 2 1\nwaerme 3 3\n")
    texts = [Document(key, "", (Part(f"{PROSE['de']} Wärme"),)) for key in "ab"]
    made = []
    for language in ("auto", "de"):
        settings = Settings(str(tmp_path / "vectors.txt"), language=language)
        with Collection.create(tmp_path / language, settings) as collection:
            changes = collection.index(texts)
            info = collection.info()
            made.append((collection.settings, collection.embedding.fingerprint, info["coverage_by"], changes.wordless))
            assert changes.revision == collection.revision
        assert check_collection(tmp_path / language).sentences() == ()
    assert made[0] == made[1]
    assert made[0][2]["marks"] > 0


def test_a_run_that_fails_determines_no_language(vectors: Path, tmp_path: Path) -> None:
    german = Document("a", "", (Part(PROSE["de"]),))
    settings = Settings(str(vectors), language="auto", stop_words=["Stecker"])
    with Collection.create(tmp_path / "auto", settings) as collection:
        with pytest.raises(RecordError):
            collection.index([german, Rejection("a.txt", 1, "is no text")], strict=True)
        collection.refresh()
        assert (collection.settings.language, collection.settings.stop_words) == ("auto", ("Stecker",))
        collection.index([Document("b", "", (Part(PROSE["en"]),))])
        assert (collection.settings.language, collection.settings.stop_words) == ("en", ("stecker",))


def test_without_the_package_the_line_that_installs_it_is_named(
    call: Call, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.rerank.words.detection.find_spec", lambda _: None)
    line = ("index", prose(tmp_path / "texts.csv", "de"), "-i", tmp_path / "new", "--embedding", vectors)
    refused = call(*line, "--language", "auto")
    assert (refused.code, (tmp_path / "new").exists()) == (1, False)
    assert "python -m pip install 'moverank[languages]'" in refused.err
    made = call(*line)
    assert (made.code, "seem to be" in made.err) == (0, False)


def test_texts_of_another_language_are_noticed_with_the_remedy(call: Call, vectors: Path, tmp_path: Path) -> None:
    path, line = tmp_path / "texts.index", ("--embedding", vectors)
    remedy = "--language de` changes the language"
    noted = call("index", prose(tmp_path / "one.csv", "de"), "-i", path, *line).err
    assert "most of these texts seem to be German (de), but the collection's language is English: " in noted
    assert remedy in noted
    unchanged = call("index", tmp_path / "one.csv", "-i", path)
    english = call("index", prose(tmp_path / "two.csv", "en"), "-i", path)
    tiny = call("index", prose(tmp_path / "three.csv", "pl", times=3), "-i", path)
    assert [("seem to be" in answer.err) for answer in (unchanged, english, tiny)] == [False] * 3
    noted = call("index", prose(tmp_path / "four.csv", "pl"), "-i", path).err
    assert "seem to be another language (pl), but the collection's language is English" in noted
    assert "a collection of their own finds more, or `moverank refit" in noted
    assert "--language none` for texts of several languages" in noted
    noted = call("index", prose(tmp_path / "five.csv", "th"), "-i", path).err
    assert "seem to be Thai (th)" in noted
    assert "whole sentences count as one word" in noted
    assert "a collection of their own finds more" in noted
    changed = call("refit", "-i", path, "--language", "none")
    assert (changed.code, changed.out.splitlines()[0].endswith("without 0 stop words")) == (0, True)
    quiet = call("index", prose(tmp_path / "six.csv", "de", times=13), "-i", path)
    assert (quiet.code, "seem to be" in quiet.err) == (0, False)


def test_a_query_of_another_language_is_noticed(call: Call, tmp_path: Path) -> None:
    made = prose(tmp_path / "en.csv", "en", times=30)
    assert call("index", made, "-i", tmp_path / "en").code == 0
    answer = call("search", PROSE["de"] + " plug", "-i", tmp_path / "en")
    seems = "the query seems to be German (de), but the collection's language is English: "
    assert (answer.code, seems in answer.err) == (0, True)
    for query in (PROSE["en"], "hot plug", "Stecker plug"):
        assert "seems to be" not in call("search", query, "-i", tmp_path / "en").err


def test_english_texts_need_no_model_of_languages(
    call: Call, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.rerank.words.detection._identifier", lambda: pytest.fail("it was loaded"))
    made = call("index", prose(tmp_path / "texts.csv", "en"), "-i", tmp_path / "en", "--embedding", vectors)
    assert made.code == 0


def test_refit_changes_the_language(call: Call, vectors: Path, tmp_path: Path) -> None:
    path, file = tmp_path / "texts.index", prose(tmp_path / "texts.csv", "de")
    call("index", file, "-i", path, "--embedding", vectors)
    refused = call("index", file, "-i", path, "--language", "de")
    assert (refused.code, "change it by `moverank refit -i INDEX --language de`" in refused.err) == (2, True)
    changed = call("refit", "-i", path, "--language", "de", "--json")
    assert (changed.code, changed.json["language"]) == (0, "de")
    found = call("refit", "-i", path, "--language", "auto")
    assert "language: de (from 12 texts)" in found.err
    assert "language de: " in found.out
    kept = call("refit", "-i", path, "--language", "de", "--setting", "stop_words=none", "--json")
    assert (kept.json["stop_words"], kept.json["ranking"].count("stem=german")) == (0, 1)
    for options, sentence in (
        (("--setting", "stop_words=none"), "are changed with the language"),
        (("--language", "klingon"), "a language is one of none, ar"),
        (("--language", "th", "--setting", "segmentation=words"), "the segmentation is one of"),
    ):
        answer = call("refit", "-i", path, *options)
        assert (answer.code, sentence in answer.err) == (2, True), answer.err
    assert call("check", "-i", path).code == 0


JAPANESE = ("冷蔵庫から変な音がします。", "洗濯機の水が止まりません。", "電気料金が高すぎます。", "画面が真っ暗です。")
GERMAN = (
    "Der Kühlschrank macht ein seltsames Geräusch, besonders in der Nacht, wenn alle schlafen.",
    "Die Waschmaschine verliert Wasser, und der Boden in der Küche ist seit gestern nass.",
    "Die Stromrechnung ist in diesem Monat viel zu hoch ausgefallen.",
    "Der Bildschirm bleibt nach dem Einschalten schwarz, obwohl die Lampe leuchtet.",
)


@pytest.mark.parametrize("more", [(), ("Die Heizung springt seit gestern nicht mehr an.",)])
def test_each_text_counts_once_whatever_its_length(call: Call, tmp_path: Path, more: tuple[str, ...]) -> None:
    """Japanese texts have fewer letters than German ones; half of the texts are no main language."""
    texts = [text for pair in zip(JAPANESE, GERMAN, strict=True) for text in pair] + [*more]
    file = tmp_path / "mixed.jsonl"
    file.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)))
    made = call("index", file, "-i", tmp_path / "mixed", "--language", "auto")
    assert f"language: {'de' if more else 'none'} (" in made.err
    assert call("search", "冷蔵庫の音", "-i", tmp_path / "mixed", "-k", "1", "--json").json["hits"][0]["key"] == "0"
    assert call("search", "Waschmaschine", "-i", tmp_path / "mixed", "-k", "1", "--json").json["hits"][0]["key"] == "3"
    assert call("refit", "-i", tmp_path / "mixed", "--language", "auto").code == 0
    assert call("search", "冷蔵庫の音", "-i", tmp_path / "mixed", "-k", "1", "--json").json["hits"][0]["key"] == "0"
