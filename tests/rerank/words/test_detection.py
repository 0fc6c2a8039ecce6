"""Languages of texts: found in the paragraphs and questions of twelve languages, and not where there is none."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from moverank import DocumentFrequencies, Embedding, OptionError, Reranker, detect_language
from moverank.rerank.errors import MissingExtra
from moverank.rerank.words import detection
from moverank.rerank.words.detection import detected

RANDOM = np.random.default_rng(1)

SENTENCES = {
    "cs": "Praha je hlavní město České republiky a leží na řece Vltavě uprostřed Čech.",
    "da": "Jeg har en hund, og den bor sammen med os i et lille hus ved skoven.",
    "de": "Der Stecker wird heiß, wenn das Gerät länger als eine Stunde läuft.",
    "en": "The plug gets hot when the device has been running for more than an hour.",
    "fr": "La prise devient chaude lorsque l'appareil fonctionne pendant plus d'une heure.",
    "ja": "この機械を一時間以上使うと、プラグが熱くなります。",
    "ru": "Вилка нагревается, если прибор работает больше одного часа.",
}


@pytest.mark.slow
@pytest.mark.parametrize("code", ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"])
def test_texts_of_a_translated_set_have_their_language(shared: Path, code: str) -> None:
    folder = shared / "data" / "xquad" / code
    for content in (gzip.decompress((folder / "docs.jsonl.gz").read_bytes()), (folder / "queries.jsonl").read_bytes()):
        found = detected(json.loads(line)["text"] for line in content.splitlines())
        assert (found.code, found.main, found.texts) == (code, code, 200)
        assert found.share(code) >= 0.99


@pytest.mark.parametrize("texts", ["one text", 5, None, ["a text", 5]])
def test_anything_but_texts_is_refused(texts: object) -> None:
    with pytest.raises(OptionError, match="the language is found in a list of texts, not in"):
        detect_language(texts)  # type: ignore[arg-type]


def test_one_sentence_suffices() -> None:
    for code, sentence in SENTENCES.items():
        assert detected([sentence]).main == code
    assert detect_language([SENTENCES["de"]]) == "de"


def test_short_texts_are_joined() -> None:
    words = SENTENCES["de"].split()
    assert detect_language(words) == "de"
    assert detected(words).numbers == {"de": len(words)}


def test_a_language_without_a_code_and_several_languages_are_none() -> None:
    assert detect_language([SENTENCES["cs"]]) == "none"
    mixed = detected([SENTENCES[code] * 3 for code in ("de", "en", "fr", "ru")])
    assert (mixed.code, mixed.main, mixed.share("de")) == ("none", "", 0.25)


@pytest.mark.parametrize(
    "texts",
    [
        (),
        ("", "  \n"),
        ("12 34.5", "2026-11-26"),
        ("ok",),
        [" ".join(map(str, RANDOM.integers(10**9, size=200).tolist())) for _ in range(20)],
        ["".join(RANDOM.choice([*"abcdefghijklmnopqrstuvwxyz "], 500)) for _ in range(20)],
    ],
)
def test_texts_without_a_language_have_none(texts: Sequence[str]) -> None:
    assert (detected(texts).code, detected(texts).main) == ("none", "")


def test_a_variety_has_the_language_whose_words_it_has() -> None:
    nynorsk = "Eg veit ikkje kva han heiter, men ho seier at dei kjem heim frå skulen i morgon."
    assert detect_language([nynorsk]) == "no"


@pytest.mark.parametrize(
    "call",
    [
        lambda: Reranker(Embedding.of(["a"], [[1.0]]), language="auto"),
        lambda: DocumentFrequencies.of(["a"], language="auto"),
    ],
)
def test_where_no_collection_is_filled_the_language_is_named(call: Callable[[], object]) -> None:
    with pytest.raises(OptionError, match=r"find it by detect_language\(texts\)"):
        call()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "find_spec", lambda _: None)
    detection._identifier.cache_clear()  # noqa: SLF001 - other tests have loaded it
    with pytest.raises(MissingExtra, match=r"pip install 'moverank\[languages\]'"):
        detect_language(["a"])
