"""Settings are stored and restored; only those that derived files depend on may change."""

import json
import math
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Settings, SettingsError, UsageError
from moverank.indexer.values.settings import CHANGEABLE, check_settings, default_rank
from moverank.rerank.errors import MissingExtra, OptionError
from moverank.rerank.words.languages import CODES
from moverank.rerank.words.segmentation import CHOICES, segmenter_of

_WORDS = st.lists(st.text(max_size=5), max_size=3).map(tuple)
_SETTINGS = st.builds(
    Settings,
    embedding=st.text(),
    normalize=st.none() | st.booleans(),
    train_options=_WORDS,
    stop_words=_WORDS,
    language=st.sampled_from(CODES),
    segmentation=st.sampled_from(CHOICES),
    title_weight=st.integers(1, 100),
    weights=st.sampled_from(["tf", "tfidf"]),
    gamma=st.floats(0, 9),
    faiss=st.text(),
)


@given(_SETTINGS)
def test_stored_settings_are_restored(settings: Settings) -> None:
    stored = json.loads(json.dumps(settings.stored()))
    assert Settings.restored(stored) == settings
    assert Settings.restored(stored | {"revision": 7, "of a later version": 1}) == settings


def test_settings_that_an_older_version_did_not_store_have_their_defaults() -> None:
    assert Settings.restored({"gamma": 0.5}) == Settings(gamma=0.5)
    assert Settings.restored(Settings().stored()) == Settings()


@pytest.mark.parametrize("name", sorted(asdict(Settings())))
def test_only_settings_of_derived_files_can_change(name: str) -> None:
    values: dict[str, Any] = {"weights": "tfidf", "gamma": 0.5, "faiss": "Flat", "normalize": True, "title_weight": 3}
    values |= {"language": "de", "segmentation": "icu"}
    value = values.get(name, ("x",) if name.endswith(("words", "options")) else "other")
    if name in CHANGEABLE:
        assert Settings().changed({name: value}) == replace(Settings(), **{name: value})
    else:
        message = "other stop words" if name == "stop_words" else f"another {name.replace('_', ' ')}"
        with pytest.raises(SettingsError, match=f"made with {message}"):
            Settings().changed({name: value})
    assert Settings().changed({name: getattr(Settings(), name)}) == Settings()


def test_a_long_value_is_shortened_in_the_message() -> None:
    with pytest.raises(SettingsError, match=r"embedding \(x{57}\.\.\.\): leave that option out"):
        Settings(embedding="x" * 99).changed({"embedding": "y"})
    with pytest.raises(SettingsError, match=r"stop words \(a b\)"):
        Settings(stop_words=("a", "b")).changed({"stop_words": ()})


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"weights": "bm25"}, "weights must be tf, tfidf, norm or model, not 'bm25'"),
        ({"title_weight": 0}, "the title weight must be a whole number from 1 to 100, not 0"),
        ({"title_weight": 2.5}, "the title weight must be a whole number from 1 to 100, not 2.5"),
        ({"gamma": -1.0}, "gamma must be a number of 0 or more, not -1.0"),
        ({"gamma": math.nan}, "gamma must be a number"),
        ({"gamma": math.inf}, "gamma must be a number"),
        ({"first_stage_options": ("k=3",)}, "the first stage: centroid has no option 'k'"),
        ({"first_stage": "fisher", "first_stage_options": ("k=none",)}, "k must be a whole number"),
        ({"first_stage": "fisher", "first_stage_options": ("k",)}, "'k' is not of the form KEY=VALUE"),
        ({"first_stage": "magic"}, "the first stage: there is no encoder 'magic': choose centroid, fisher"),
    ],
)
def test_invalid_settings_are_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_settings(replace(Settings(), **choices))


@given(_SETTINGS)
def test_valid_settings_pass(settings: Settings) -> None:
    check_settings(replace(settings, faiss="Flat"))


def test_a_first_stage_is_an_encoder_with_or_without_a_joined_scorer() -> None:
    assert Settings(first_stage="fisher+bm25").encoder == "fisher"
    assert Settings(first_stage="fisher").joined_scorer() is None


def test_derived_files_depend_on_weights_and_first_stage() -> None:
    one = Settings(embedding="a", stop_words=("x",))
    assert one.derived_key() == Settings().derived_key()
    for name, value in {"weights": "tfidf", "gamma": 0.5, "faiss": "Flat", "first_stage": "lsi"}.items():
        changed: Any = {name: value}
        assert replace(Settings(), **changed).derived_key() != Settings().derived_key()


def test_word_counts_depend_on_the_stop_words_and_the_tokenizer_only() -> None:
    digest = Settings().tokens_digest()
    assert Settings(gamma=0.5, embedding="x").tokens_digest() == digest
    assert Settings(stop_words=("a",)).tokens_digest() != digest
    assert Settings(stop_words="none", language="tr").tokens_digest() != Settings(stop_words="none").tokens_digest()
    assert Settings(stop_words=("a", "b")).tokens_digest() != Settings(stop_words=("ab",)).tokens_digest()


def test_the_default_ranking_follows_the_vectors_and_the_stop_words() -> None:
    ranks = {Settings(embedding=name).specification for name in ("lsi", "glove.txt")}
    assert ranks == {default_rank(0.0, stem="english")}
    assert Settings().specification == "bm25:k1=1.6,stem=english"  # there is nothing else to rank by yet
    trained = Settings(embedding="train", gamma=0.5, language="none")
    assert trained.specification == "pwmd:mu=20,weights=tfidf+2*cover+6*bm25+cosine"
    assert str(trained.ranking) == trained.specification


def test_the_default_ranking_follows_the_language() -> None:
    assert Settings(language="de").specification == "bm25:k1=1.6,stem=german+2*bm25:k1=1.6,ngrams=4"
    assert Settings(language="ko").specification == "bm25:k1=1.6+2*bm25:k1=1.6,ngrams=2"  # particles stay in words
    assert Settings(language="de", stop_words="none").stem == "german"
    letters = "+0.5*cover+bm25:k1=1.6,stem=german+2*bm25:k1=1.6,ngrams=4+cosine"
    assert Settings("lsi", language="de").specification == f"wmd:mu=20,weights=tfidf{letters}"
    assert Settings("lsi", stop_words=["the"]).specification == default_rank(0.0, stem="english")
    for code in ("none", "vi"):
        assert Settings("lsi", language=code).specification == default_rank(0.0, stem=None)


def test_the_language_has_the_stop_words_unless_others_are_chosen() -> None:
    assert {"und", "der"} <= {*Settings(language="de").stop_words}
    assert Settings(language="de").tokenizer.words("Der Hund und die Katze") == ["hund", "katze"]
    assert Settings(language="de", stop_words="english").stop_words == Settings().stop_words
    assert Settings(language="de", stop_words="none").stop_words == Settings(language="none").stop_words == ()
    with pytest.raises(SettingsError, match=r"made with other stop words \(de\): "):
        Settings(language="de").changed({"stop_words": "none"})


def test_a_language_has_one_name_in_a_collection() -> None:
    assert Settings(language="german") == Settings(language="de")
    with pytest.raises(SettingsError, match=r"made with another language \(de\): leave that option out"):
        Settings(language="de").changed({"language": "en"})
    with pytest.raises(OptionError, match=r"a language is one of none, ar, .*, not 'klingon'"):
        Settings(language="klingon")


def test_the_segmentation_is_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().segmentation == Settings(language="ko").segmentation == "none"
    assert Settings(language="zh").segmentation == "icu"
    assert (
        Settings(language="zh", segmentation="characters").changed({"segmentation": "auto"}).segmentation
        == "characters"
    )
    monkeypatch.setattr("moverank.rerank.words.segmentation.find_spec", lambda _: None)
    without = Settings(language="zh")
    assert without.segmentation == "vocabulary"
    monkeypatch.undo()
    assert Settings.restored(without.stored()) == without == replace(without, gamma=0.0)
    assert without.tokens_digest() != Settings(language="zh").tokens_digest()
    with pytest.raises(
        OptionError, match="the segmentation is one of auto, icu, vocabulary, characters, none, not 'jieba'"
    ):
        Settings(segmentation="jieba")


def test_a_collection_of_icu_words_needs_icu(monkeypatch: pytest.MonkeyPatch) -> None:
    segmenter_of.cache_clear()
    monkeypatch.setattr("moverank.rerank.words.segmentation._word_breaker", _missing)
    for call in (lambda own: check_settings(own), lambda own: own.tokenizer.words("我们")):
        with pytest.raises(MissingExtra, match=r"pip install 'moverank\[languages\]'"):
            call(Settings(language="zh", segmentation="icu"))
    assert Settings(language="zh", segmentation="icu").tokenizer.words("ASCII only") == ["ascii", "only"]


def _missing() -> None:
    raise MissingExtra("words of ICU need a package that is not installed: python -m pip install 'moverank[languages]'")
