import unicodedata
from importlib.resources import files

import pytest

from moverank.rerank.errors import OptionError
from moverank.rerank.words.languages import CODES, language_of, listed_stop_words
from moverank.rerank.words.tokenizer import LANGUAGES, Tokenizer, stem_words, stemmer_named, stop_words

WITHOUT_SPACES = "ja km lo my th zh"
SNOWBALL = "ar hy eu ca da nl en fi fr de el hi hu id ga it lt ne no pt ro ru sr es sv ta tr yi"
# Words of a sentence about a dog, and what is left without stop words, as stems.
SENTENCES = (
    ("de", "Die Hunde und die Katze sind in den Häusern", ["hund", "katz", "haus"]),
    ("fr", "Les chiens n'ont pas mangé", ["chien", "mang"]),
    ("ru", "Собаки и кошки были в домах", ["собак", "кошк", "дом"]),
    ("es", "Los perros están en las casas", ["perr", "cas"]),
    ("hi", "किताबें और किताब", ["किताब", "किताब"]),
    ("ar", "الكتاب على الطاولة", ["كتاب", "طاول"]),
    ("tr", "Kitaplar ve evler", ["kitap", "ev"]),
    ("el", "γάτες και στα σπίτια", ["γατ", "σπιτ"]),
    ("vi", "con chó và con mèo", ["con", "chó", "và", "con", "mèo"]),
)


def test_all_stemmers_of_snowball_have_a_language() -> None:
    assert {*SNOWBALL.split()} <= {*CODES}
    stemmers = {stemmer for code in CODES if (stemmer := language_of(code).stemmer)}
    assert stemmers == {*LANGUAGES} - {"porter"}
    assert {code for code in CODES if not language_of(code).spaces} == {*WITHOUT_SPACES.split()}


@pytest.mark.parametrize(("code", "text", "stems"), SENTENCES)
def test_a_language_has_stop_words_and_stems(code: str, text: str, stems: list[str]) -> None:
    words = Tokenizer(stop_words(language=code)).words(text)
    stemmer = language_of(code).stemmer
    assert (stem_words(words, stemmer) if stemmer else words) == stems


@pytest.mark.parametrize("code", CODES)
def test_a_list_is_of_its_language_and_names_its_source(code: str) -> None:
    words = listed_stop_words(code)
    assert bool(words) == language_of(code).stop_words
    if words:
        head = files("moverank.rerank.words").joinpath("stop_words", f"{code}.txt").read_text("utf-8").splitlines()[:2]
        assert all(line.startswith("# ") for line in head)
        assert code == "en" or language_of(code).name.title() in head[0]
        assert len(set(words)) == len(words) > 60
        assert all(word == unicodedata.normalize("NFC", word) for word in words)
        # Each is a word of texts: a list has an effect only in the form in which texts are split.
        assert stop_words(language=code) == {part for word in words for part in Tokenizer().words(word)}


def test_a_language_is_named_by_its_code_or_in_english() -> None:
    assert language_of("german") == language_of("de")
    assert language_of("none").stemmer is None
    for wrong in ("klingon", "DE", "", None, 5):
        with pytest.raises(OptionError, match=r"a language is one of none, ar, az, ca, .*, not "):
            language_of(wrong)


def test_a_stemmer_is_named_by_itself_or_by_its_language() -> None:
    assert (stemmer_named("de"), stemmer_named("german"), stemmer_named("porter")) == ("german", "german", "porter")
    assert stemmer_named("none") is stemmer_named("vi") is None
    with pytest.raises(OptionError, match="a language is one of"):
        stemmer_named("klingon")
