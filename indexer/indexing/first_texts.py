"""Determines settings of a collection by its first texts: its language, and the words of scripts without spaces."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from moverank.indexer.documents import Document, Rejection
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader
from moverank.rerank.words.detection import FIRST_TEXTS, Detected, detected
from moverank.rerank.words.languages import AUTO_LANGUAGE
from moverank.rerank.words.segmentation import MOST_WORDS, frequent_parts
from moverank.rerank.words.tokenizer import Tokenizer

_MOST_TEXTS, _CHARACTERS = 2_000, 500_000
"""How many texts and characters are read for a vocabulary: half a million take 3 seconds and 100 MB."""

Records = Iterable[Document | Rejection]


def with_language(settings: Settings, records: Records) -> tuple[Settings, Records, Detected | None]:
    """Return the settings with the language of the first records, all records, and the languages that were found.

    If the setting is not "auto", or no record is a document, nothing is changed, and None is returned for them.
    """
    if settings.language != AUTO_LANGUAGE:
        return settings, records, None
    texts, records = _first_texts(records, FIRST_TEXTS)
    if not texts:
        return settings, records, None
    found = detected(texts)
    return replace(settings, language=found.code), records, found


def stored_language(reader: Reader) -> Detected:
    """Return the languages of the first stored texts."""
    return detected(_stored_texts(reader, FIRST_TEXTS))


def with_vocabulary(settings: Settings, records: Records) -> tuple[Settings, Records]:
    """Return the settings with a vocabulary of the first records if they lack one, and all records."""
    if not settings.lacks_vocabulary:
        return settings, records
    texts, records = _first_texts(records, _MOST_TEXTS)
    return _with_vocabulary(settings, texts) if texts else settings, records


def with_stored_vocabulary(settings: Settings, reader: Reader) -> Settings:
    """Return the settings with a vocabulary of the first stored texts if they lack one, and there are any."""
    texts = _stored_texts(reader, _MOST_TEXTS) if settings.lacks_vocabulary else []
    return _with_vocabulary(settings, texts) if texts else settings


def _with_vocabulary(settings: Settings, texts: Iterable[str]) -> Settings:
    words = frequent_parts(_words(texts, settings.language))[:MOST_WORDS]
    return replace(settings, vocabulary=" ".join(words))


def _words(texts: Iterable[str], language: str) -> Iterator[str]:
    """Yield the words of the first texts, folded, in which a run is one word or part of one."""
    tokenizer, left = Tokenizer(language=language), _CHARACTERS
    for text in texts:
        yield from tokenizer.words(text[:left])
        left -= len(text[:left])
        if not left:
            return


def _first_texts(records: Records, most: int) -> tuple[list[str], Records]:
    """Return the texts of at most the first `most` documents, and all records."""
    rest = iter(records)
    first = list(_until_enough(rest, most))
    texts = [_text(record) for record in first if isinstance(record, Document)]
    return texts, chain(first, rest)


def _until_enough(records: Iterator[Document | Rejection], most: int) -> Iterator[Document | Rejection]:
    """Yield records up to the document number `most`."""
    documents = 0
    for record in records:
        yield record
        documents += isinstance(record, Document)
        if documents == most:
            return


def _text(document: Document) -> str:
    """Return title and parts of a document as one text."""
    return "\n".join((document.title, *(part.text for part in document.parts)))


def _stored_texts(reader: Reader, most: int) -> list[str]:
    return ["\n".join(texts) for texts in islice(reader.all_texts(), most)]
