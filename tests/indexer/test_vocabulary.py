"""A collection of texts without spaces keeps the words by which it splits them, chosen once."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moverank import (
    Collection,
    CollectionError,
    Document,
    DocumentFrequencies,
    Embedding,
    Part,
    Reranker,
    Settings,
    SettingsError,
    UsageError,
)
from moverank.indexer.errors import RecordError
from moverank.indexer.indexing import first_texts
from moverank.indexer.maintenance.backup import copy_collection
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.values.documents import Rejection
from moverank.indexer.values.settings import check_settings
from moverank.rerank.errors import OptionError
from moverank.rerank.words.segmentation import frequent_parts

WORDS = ["แมว", "หมา", "บ้าน", "รถไฟ", "สถานี", "กาแฟ", "หนังสือ", "โรงเรียน"]
"""Thai for cat, dog, house, train, station, coffee, book, school."""


@pytest.fixture(autouse=True)
def without_icu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.rerank.words.segmentation.find_spec", lambda _: None)


def thai(number: int, seed: int = 0, words: list[str] = WORDS) -> Iterator[Document]:
    """Yield documents of twelve words without spaces."""
    choice = random.Random(seed)  # noqa: S311 - not for secrets
    for i in range(number):
        yield Document(f"{seed}-{i}", choice.choice(words), (Part("".join(choice.choices(words, k=12))),))


def scores(collection: Collection, query: str) -> list[tuple[str, float | None]]:
    """Return the keys and scores of the hits."""
    return [(hit.key, hit.scored) for hit in collection.search(query, k=5, exact=True).hits]


def vectors_of(words: list[str], path: Path) -> str:
    """Write a file of word vectors; return its path."""
    path.write_text(f"{len(words)} 2\n" + "".join(f"{word} {i % 7}.5 1\n" for i, word in enumerate(words)))
    return str(path)


def many(number: int) -> list[str]:
    """Return Thai words, first those of the texts, then others."""
    letters = "กขคงจ"
    return (
        WORDS + [a + b + c + d + e for a in letters for b in letters for c in letters for d in letters for e in letters]
    )[:number]


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Collection.create(tmp_path / "thai", Settings(language="th")) as made:
        yield made


def test_the_words_are_those_of_the_first_texts(collection: Collection, tmp_path: Path) -> None:
    first = list(thai(40))
    assert collection.settings.lacks_vocabulary
    collection.index(iter(first))
    expected = frequent_parts(text for one in first for text in (one.title, *(part.text for part in one.parts)))
    assert collection.settings.vocabulary == " ".join(expected)
    assert {"แมว", "หมา", "บ้าน"} <= {*expected}
    collection.index(thai(60, 1, ["ตลาด", "ดอกไม้"]))
    with Collection.open(tmp_path / "thai") as opened:
        assert opened.settings.vocabulary == " ".join(expected)
        assert opened.settings.tokenizer.words("แมวบ้าน") == ["แมว", "บ้าน"]
        assert opened.info()["vocabulary"] == len(expected)
        found = opened.search("แมว", k=100, exact=True, rank="bm25").hits
    assert {hit.key for hit in found} >= {one.key for one in first if "แมว" in one.title}
    assert check_collection(collection.path).sentences() == ()


def test_unchanged_texts_stay_unchanged(collection: Collection) -> None:
    assert collection.index(thai(20)).added == 20
    assert collection.index(thai(20)).unchanged == 20


def test_words_are_folded_and_few_records_are_read(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_texts, "_MOST_TEXTS", 2)
    monkeypatch.setattr(first_texts, "_CHARACTERS", 11)
    texts = ["ｶﾞx" * 2, "ガx中国中国", "人人人"]
    collection.index([Document(str(i), "", (Part(text),)) for i, text in enumerate(texts)])
    assert (
        collection.settings.vocabulary == "ガ"
    )  # of eleven characters ガxガx and ガx, with the ends of titles, since ｶﾞ is written as two


@pytest.mark.parametrize("options", [{"dry_run": True}, {"strict": True}])
def test_a_run_that_writes_nothing_chooses_no_words(collection: Collection, options: dict[str, Any]) -> None:
    records: list[Document | Rejection] = [*thai(20), Rejection("file", 1, "is bad")]
    if options.get("dry_run"):
        assert collection.index(records, **options).added == 20
    else:
        with pytest.raises(RecordError):
            collection.index(records, **options)
    collection.refresh()
    assert collection.settings.lacks_vocabulary
    collection.index([])
    assert collection.settings.lacks_vocabulary
    collection.index(thai(20, 5))
    assert collection.settings.vocabulary


def test_without_such_texts_there_are_no_words(collection: Collection) -> None:
    collection.index([Document("a", "", (Part("plain words"),))])
    assert collection.settings.vocabulary == ""
    collection.index(thai(40))
    assert collection.settings.vocabulary == ""
    assert collection.settings.tokenizer.words("แมว") == list("แมว")


def test_word_vectors_of_the_script_have_the_words(tmp_path: Path) -> None:
    words = many(1000)
    vectors = vectors_of(["the", "中国", *words], tmp_path / "vectors.txt")
    with Collection.create(tmp_path / "thai", Settings(vectors, language="th")) as made:
        assert made.settings.vocabulary == " ".join(words)
        made.index(thai(3))
        assert made.settings.vocabulary == " ".join(words)
        assert made.settings.tokenizer.words("รถไฟสถานี") == ["รถไฟ", "สถานี"]
    few = vectors_of(["the", "中国", *words[:999]], tmp_path / "few.txt")
    with Collection.create(tmp_path / "other", Settings(few, language="th")) as made:
        assert made.settings.lacks_vocabulary
        made.index(thai(40))
        assert made.settings.vocabulary


def test_copies_keep_the_words(collection: Collection, schema_url: str, tmp_path: Path) -> None:
    collection.index(thai(40))
    expected = scores(collection, "รถไฟสถานี")
    copy_collection(str(collection.path), schema_url)
    copy_collection(schema_url, str(tmp_path / "back"))
    for place in (schema_url, tmp_path / "back"):
        with Collection.open(place) as copy:
            assert copy.settings == collection.settings
            assert scores(copy, "รถไฟสถานี") == expected
            assert copy.index(thai(40)).unchanged == 40


@pytest.mark.parametrize("way", ["language", "embedding"])
def test_another_language_finds_the_words_of_a_new_collection(tmp_path: Path, way: str) -> None:
    vectors = vectors_of(["the", *many(1000)], tmp_path / "vectors.txt")
    with Collection.create(tmp_path / "fresh", Settings(vectors, language="th")) as fresh:
        fresh.index(thai(20))
        with Collection.create(tmp_path / "changed", Settings("lsi" if way == "embedding" else vectors)) as changed:
            changed.index(thai(20))
            changed.refit(language="th", embedding=vectors if way == "embedding" else None)
            assert changed.settings == fresh.settings
            assert scores(changed, WORDS[0]) == scores(fresh, WORDS[0])


def test_another_language_finds_the_words_of_the_texts(tmp_path: Path, collection: Collection) -> None:
    collection.index(thai(40))
    with Collection.create(
        tmp_path / "changed", replace(collection.settings, language="en", segmentation="none", vocabulary=None)
    ) as changed:
        changed.index(thai(40))
        changed.refit(language="th")
        assert changed.settings.vocabulary == collection.settings.vocabulary


def test_given_words_are_kept(tmp_path: Path) -> None:
    settings = Settings(language="th", vocabulary=["the", "แมว", "บ้าน", "แมว"])
    assert (settings.segmentation, settings.vocabulary) == ("vocabulary", "แมว บ้าน")
    assert Settings.restored(settings.stored()) == settings
    assert settings.tokens_digest() != Settings(language="th", vocabulary=[]).tokens_digest()
    with Collection.create(tmp_path / "thai", settings) as made:
        made.index(thai(10))
        assert made.settings.vocabulary == settings.vocabulary
        with pytest.raises(SettingsError, match=r"made with another vocabulary \(แมว บ้าน\)"):
            made.change_settings(vocabulary=["แมว"])
        made.change_settings(vocabulary=["แมว", "บ้าน"], segmentation="auto")


def test_a_vocabulary_goes_with_its_segmentation() -> None:
    assert Settings(vocabulary=["แมว"]).segmentation == "vocabulary"
    for way in ("characters", "none"):
        with pytest.raises(UsageError, match=f"a vocabulary needs segmentation=vocabulary, not {way}"):
            check_settings(Settings(segmentation=way, vocabulary=["แมว"]))
    for wrong in (7, [7]):
        with pytest.raises(OptionError, match="a vocabulary is a list of words, most frequent first, not "):
            Settings(vocabulary=wrong)  # type: ignore[arg-type]


def test_a_reranker_splits_by_the_words_of_its_vectors(collection: Collection) -> None:
    embedding = Embedding.of(WORDS, [[float(i), 1.0] for i in range(len(WORDS))])
    reranker = Reranker(embedding, language="th")
    found = reranker.rank("รถไฟสถานี", ["กาแฟหนังสือ", "สถานีรถไฟ"], rank="bm25")
    assert (found.hits[0].candidate, found.unknown_words) == (1, ())
    frequencies = DocumentFrequencies.of(["แมวหมา", "แมว"], language="th", vocabulary=embedding.words)
    assert frequencies.words == {"แมว": 2, "หมา": 1}
    collection.index(thai(40))
    assert collection.settings.tokenizer.words("สถานี") == ["สถานี"]
    loaded = Reranker.load(collection.path)
    assert loaded.rank("สถานี", ["สถานี"], rank="bm25").unknown_words == ()


def test_settings_of_many_words_are_compared_once(collection: Collection) -> None:
    collection.index(thai(40))
    with Collection.open(collection.path) as one, Collection.open(collection.path) as other:
        assert one.settings.vocabulary is other.settings.vocabulary  # interned: comparing them takes no time


def test_a_second_collection_in_the_place_is_refused(collection: Collection) -> None:
    with pytest.raises(CollectionError):
        Collection.create(collection.path, Settings(language="th"))
