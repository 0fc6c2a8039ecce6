"""The default stop words, and stop words given as text."""

from functools import cache

from moverank.rerank.words.tokenizer import Tokenizer


@cache
def default_stop_words() -> frozenset[str]:
    """Return the words of `stop_words.txt`: one or more words on each line; lines that start with # are comments."""
    from importlib.resources import files  # 17 ms, for zipfile and tempfile

    lines = files("moverank.rerank.words").joinpath("stop_words.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def parse_stop_words(text: str) -> frozenset[str]:
    """Return the words of a stop list, given as text; it is split as documents are."""
    return frozenset(Tokenizer().words(text))
