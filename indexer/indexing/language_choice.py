"""Determines the language of a collection by its texts."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from moverank.indexer.documents import Document, Rejection
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader
from moverank.rerank.words.detection import FIRST_TEXTS, Detected, detected
from moverank.rerank.words.languages import AUTO_LANGUAGE

Records = Iterable[Document | Rejection]


def with_language(settings: Settings, records: Records) -> tuple[Settings, Records, Detected | None]:
    """Return the settings with the language of the first records, all records, and the languages that were found.

    If the setting is not "auto", or no record is a document, nothing is changed, and None is returned for them.
    """
    if settings.language != AUTO_LANGUAGE:
        return settings, records, None
    rest = iter(records)
    first = list(_until_enough(rest))
    texts = [document_text(record) for record in first if isinstance(record, Document)]
    if not texts:
        return settings, first, None
    found = detected(texts)
    return replace(settings, language=found.code), chain(first, rest), found


def document_text(document: Document) -> str:
    """Return title and parts of a document as one text."""
    return "\n".join((document.title, *(part.text for part in document.parts)))


def stored_language(reader: Reader) -> Detected:
    """Return the languages of the first stored texts."""
    return detected("\n".join(texts) for texts in islice(reader.all_texts(), FIRST_TEXTS))


def _until_enough(records: Iterator[Document | Rejection]) -> Iterator[Document | Rejection]:
    """Yield records up to the last document that determines the language."""
    documents = 0
    for record in records:
        yield record
        documents += isinstance(record, Document)
        if documents == FIRST_TEXTS:
            return
