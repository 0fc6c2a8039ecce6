"""Determines settings of a collection by its first texts: its language, and the words of scripts without spaces."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from moverank.indexer.store import Reader
from moverank.indexer.values.documents import Document, Rejection, title_and_texts
from moverank.indexer.values.settings import Settings
from moverank.rerank.words.detection import BEGINNING, FIRST_TEXTS, Detected, detected
from moverank.rerank.words.languages import AUTO_LANGUAGE
from moverank.rerank.words.segmentation import AUTO, MOST_WORDS, frequent_parts, segmentation_of
from moverank.rerank.words.tokenizer import Tokenizer

_MOST_TEXTS, _CHARACTERS = 2_000, 500_000
"""How many texts are read for a vocabulary, and characters for it or the language: these take 3 seconds and 100 MB."""

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
    own: dict[str, Any] = settings_of(found)
    if settings.segmentation != AUTO:
        own.pop("segmentation", None)
    return replace(settings, **own), records, found


def settings_of(found: Detected) -> dict[str, str]:
    """Return the settings by the languages that were found: the language, and a segmentation if some have no spaces."""
    split = {} if found.spaces else {"segmentation": segmentation_of(AUTO, spaces=False)}
    return {"language": found.code, **split}


def stored_language(reader: Reader) -> Detected:
    """Return the languages of stored texts, evenly spread."""
    return detected(spread_texts(reader, list(reader.ids()), FIRST_TEXTS))


def spread_texts(reader: Reader, ids: Sequence[int], most: int) -> list[str]:
    """Return the beginnings of the texts of at most `most` of the documents `ids`, evenly spread, without titles."""
    chosen = ids[:: max(1, len(ids) // most)][:most]
    return ["\n".join(parts)[:BEGINNING] for parts in reader.texts(chosen, BEGINNING).values()]


def with_vocabulary(settings: Settings, records: Records) -> tuple[Settings, Records]:
    """Return the settings with a vocabulary of the first records if they lack one, and all records."""
    if not settings.lacks_vocabulary:
        return settings, records
    texts, records = _first_texts(records, _MOST_TEXTS)
    return _with_vocabulary(settings, texts) if texts else settings, records


def with_stored_vocabulary(settings: Settings, reader: Reader) -> Settings:
    """Return the settings with a vocabulary of the first stored texts if they lack one, and there are any."""
    texts = _beginnings(map("\n".join, reader.all_texts()), _MOST_TEXTS) if settings.lacks_vocabulary else []
    return _with_vocabulary(settings, texts) if texts else settings


def _with_vocabulary(settings: Settings, texts: Iterable[str]) -> Settings:
    tokenizer = Tokenizer(language=settings.language)  # words are folded; a run is one word or part of one
    words = frequent_parts(word for text in texts for word in tokenizer.words(text))
    return replace(settings, vocabulary=" ".join(words[:MOST_WORDS]))


def _first_texts(records: Records, most: int) -> tuple[list[str], Records]:
    """Return the texts of at most the first `most` documents, with about `_CHARACTERS`, and all records."""
    rest, first = iter(records), list[Document | Rejection]()

    def documents() -> Iterator[str]:
        for record in rest:
            first.append(record)
            if isinstance(record, Document):
                yield "\n".join(title_and_texts(record))

    return _beginnings(documents(), most), chain(first, rest)


def _beginnings(texts: Iterable[str], most: int) -> list[str]:
    """Return at most the first `most` texts, cut at about `_CHARACTERS` in all."""
    found, left = list[str](), _CHARACTERS
    for text in islice(texts, most):
        found.append(text[:left])
        left -= len(found[-1])
        if not left:
            break
    return found
