"""Stop words: the English list, which is the default, none, or those given."""

from collections.abc import Collection
from contextlib import suppress
from functools import cache, lru_cache

from moverank.rerank.errors import OptionError
from moverank.rerank.words.tokenizer import Tokenizer

LISTS = ENGLISH, NO_STOP_WORDS = "english", "none"

StopWords = Collection[str]
"""A choice of stop words: "english", "none", or the words themselves; see `stop_words`."""


def stop_words(choice: StopWords = ENGLISH) -> frozenset[str]:
    """Return the English list, no words for "none", or the words given, split as texts are (`don't` is `don`, `t`).

    Raises OptionError for anything else.
    """
    if isinstance(choice, str):
        if choice not in LISTS:
            raise OptionError(f'stop words are "{ENGLISH}", "{NO_STOP_WORDS}", or a list of words, not {choice!r}')
        return _english() if choice == ENGLISH else frozenset()
    words: list[object] = [choice]
    with suppress(TypeError):  # what is no list is no word either
        words = list(choice)
    if not all(isinstance(word, str) for word in words):
        raise OptionError(f'stop words are "{ENGLISH}", "{NO_STOP_WORDS}", or a list of words, not {repr(choice)[:60]}')
    return _split(tuple(map(str, words)))


@lru_cache(maxsize=8)  # the settings of a collection are restored with each of its states
def _split(words: tuple[str, ...]) -> frozenset[str]:
    """Return words, split as texts are."""
    tokenizer = Tokenizer()
    return frozenset(part for word in words for part in tokenizer.words(word))


@cache
def _english() -> frozenset[str]:
    """Return the words of `stop_words.txt`: one or more words on each line; lines that start with # are comments."""
    from importlib.resources import files  # 17 ms, for zipfile and tempfile

    lines = files("moverank.rerank.words").joinpath("stop_words.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
