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
    if any(isinstance(record, Document) for record in first):
        words = frequent_parts(_words(first, settings.language))
        settings = replace(settings, vocabulary=" ".join(words[:MOST_WORDS]))
    return settings, chain(first, rest)


def _words(records: Records, language: str) -> Iterator[str]:
    """Yield the words of the first texts, folded, in which a run is one word or part of one."""
    tokenizer, left = Tokenizer(language=language), _CHARACTERS
    for record in records:
        if isinstance(record, Document):
            for text in (record.title, *(part.text for part in record.parts)):
                yield from tokenizer.words(text[:left])
                left -= len(text[:left])
