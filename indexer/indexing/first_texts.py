"""Completes the settings of an empty collection by its first texts: the words of scripts without spaces."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from moverank.indexer.documents import Document, Rejection
from moverank.indexer.settings import Settings
from moverank.rerank.words.segmentation import MOST_WORDS, frequent_parts
from moverank.rerank.words.tokenizer import Tokenizer

_FIRST, _CHARACTERS = 2_000, 500_000
"""How many records and characters are read for a vocabulary: half a million take 3 seconds and 100 MB."""

Records = Iterable[Document | Rejection]


def completed_by_texts(settings: Settings, records: Records) -> tuple[Settings, Records]:
    """Return the settings with a vocabulary of the first `records` if they lack one, and an iterator of all records."""
    if not settings.lacks_vocabulary:
        return settings, records
    rest = iter(records)
    first = list(islice(rest, _FIRST))
    documents = [record for record in first if isinstance(record, Document)]
    if documents:
        texts = (text for one in documents for text in (one.title, *(part.text for part in one.parts)))
        settings = replace(settings, vocabulary=vocabulary_of_texts(texts, settings.language))
    return settings, chain(first, rest)


def vocabulary_of_texts(texts: Iterable[str], language: str) -> str:
    """Return the words of a vocabulary of the first characters of some texts, with spaces between them."""
    return " ".join(frequent_parts(_first_words(texts, language))[:MOST_WORDS])


def _first_words(texts: Iterable[str], language: str) -> Iterator[str]:
    """Yield the words of the first texts, folded, in which a run is one word or part of one."""
    tokenizer, left = Tokenizer(language=language), _CHARACTERS
    for text in texts:
        yield from tokenizer.words(text[:left])
        left -= len(text[:left])
        if not left:
            return
