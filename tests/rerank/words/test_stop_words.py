import pytest

from moverank.rerank.errors import OptionError
from moverank.rerank.words.tokenizer import Tokenizer, stop_words

# Words of gensim's list that carry the meaning of a text, above all at a help desk.
MEANINGFUL = (
    "amount bill bottom call computer cry describe detail empty fill fire front full interest kg km mill move part "
    "serious show side sincere system thick thin top"
)
# What the tokenizer leaves of "it's", "don't", "they'll", "we've", "I'd", "I'm".
CONTRACTIONS = "ain aren couldn d doesn hadn hasn haven isn ll m mustn s shouldn t ve wasn weren won wouldn"


def test_the_default_list_is_gensims_without_meaningful_words_and_with_contractions() -> None:
    from gensim.parsing.preprocessing import STOPWORDS  # over a second

    assert stop_words() == STOPWORDS.difference(MEANINGFUL.split()).union(CONTRACTIONS.split())


def test_the_english_list() -> None:
    stop = stop_words()
    assert {"the", "a", "and", "of", "not", "don", "t", "s", "ll", "ve", "re", "isn"} <= stop
    assert not stop & {"computer", "system", "fire", "mill", "bill", "serious", "cry", "km", "kg", "show", "move"}
    assert 300 < len(stop) < 400
    # Each is a single word for the tokenizer, else it would have no effect.
    assert all(Tokenizer().words(word) == [word] for word in stop)
    assert Tokenizer(stop).words("Don't they'll we've I'd isn't: the computer's on fire") == ["computer", "fire"]


def test_a_stop_list_is_split_as_documents_are() -> None:
    assert stop_words(["Don't\nTHE", "e-mail"]) == {"don", "t", "the", "e", "mail"}


def test_lists_have_names() -> None:
    assert stop_words("english") == stop_words() == stop_words("auto") == stop_words("english", "de")
    assert stop_words("none") == stop_words([]) == frozenset()
    for wrong in ("german", "the", 5, [5], None):
        with pytest.raises(OptionError, match='stop words are "auto", "english", "none", or a list of words, not'):
            stop_words(wrong)  # type: ignore[arg-type]
