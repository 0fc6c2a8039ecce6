"""Notes about the language of the texts of a run: which was found, or that it is not the collection's."""

import re
from collections.abc import Iterator, Sequence
from shlex import quote

from moverank.indexer import formatters, indexing
from moverank.indexer.collection import Collection
from moverank.indexer.files.location import display_name
from moverank.indexer.values.settings import Settings
from moverank.rerank.words.detection import Detected, can_detect, detected
from moverank.rerank.words.languages import CODES, NO_LANGUAGE, language_of
from moverank.rerank.words.segmentation import AUTO, VOCABULARY, WHOLE, segmentation_of
from moverank.rerank.words.tokenizer import AUTO_WORDS, Tokenizer, stop_words

_SAMPLE = 50
"""Number of texts whose language is determined."""

_LEAST_TEXTS = 5
"""Number of texts from which a language is reported as another one than the setting."""

_PLAIN, _HARDLY = 0.8, 0.1
"""The share of texts that another language must have, and that the collection's language must not exceed."""

_LEAST_WORDS = 3  # of a query whose language can be detected
_USUAL = 0.2
"""Share of stop words from which texts are of the language of the list: .2 to .45 of the words of prose are in it."""

_MANY = 0.2
"""Share of letters without spaces between words from which a note is printed."""

_FEW_WORDS = 500
"""Number of words below which a vocabulary of texts is a small one: 700 words have .90 of Thai's .95 (BM25)."""

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of Thai, Lao, Burmese, Khmer, kana and Han."""


def language_notes(collection: "Collection", revision: int, last: int) -> Iterator[str]:
    """Report the language of the documents with larger ids than `last` that were changed after a `revision`.

    That is the one that the setting "auto" chose, or one that the collection does not have; also scripts without spaces
    where each run of letters counts as one word, or few words split them.
    """
    own = collection.settings
    if collection.detected:
        yield chosen_language_note(collection.detected, collection)
    elif texts := _sample(collection, revision, last):
        other = None if own.language == NO_LANGUAGE else _other_language(texts, own)
        unspaced = _unspaced_note(texts, own)
        if other is not None:
            also = f", and {unspaced}" if unspaced else ""
            yield f"{_other_note(other, own)}{also}: {_remedy(collection, other, last)}"
        elif unspaced:
            yield f"{unspaced}: {_remedy(collection, 'zh', 0)}, or ja, th, km, lo, my"
    if collection.revision and not last:
        yield from _vocabulary_note(collection)


def chosen_language_note(found: "Detected", collection: "Collection") -> str:
    """Return the language chosen, what it is based on, and how to choose another."""
    first = f"{found.texts:,} texts" if found.texts > 1 else "one text"
    reason = f"from {first}"
    if not found.main:
        reason = f"{first} {'have' if found.texts > 1 else 'has'} no main language that can be told"
    elif found.main != found.code:
        reason = f"{first} {'seem' if found.texts > 1 else 'seems'} to be {found.main}, which is none of the languages"
    return f"language: {found.code} ({reason}); {_command(collection, 'CODE')} chooses another"


def query_note(query: str, unknown: int, own: "Settings") -> str | None:
    """Return a note on a query that seems to be of another language than the collection; None if it is not.

    `unknown` is the number of its words without a vector: with few of them, the language does no harm.
    """
    words = len(own.tokenizer.words(query))
    if own.language == NO_LANGUAGE or words < _LEAST_WORDS or 4 * unknown < words or not can_detect():
        return None
    try:
        found = detected([query])
    except OSError:  # as in `_other_language`
        return None
    if not found.main or found.main == own.language or found.share(own.language) > _HARDLY:
        return None
    seems = f"{_named(found.main)}, but the collection's language is {_name(own.language)}"
    return f"the query seems to be {seems}: {unknown} of its {words} words have no vector, and are not compared"


def _sample(collection: "Collection", revision: int, last: int) -> list[str]:
    """Return the beginnings of some new texts, evenly spread; training changes all documents, also older ones."""
    with collection.reading() as reader:
        return indexing.spread_texts(reader, [id_ for id_ in reader.changed_ids(revision) if id_ > last], _SAMPLE)


def _other_language(texts: Sequence[str], own: "Settings") -> str | None:
    """Return the code of the language of texts if it is plainly not the collection's; else None.

    Nothing is loaded where the share of stop words shows that the language is the collection's.
    """
    if _has_stop_words(texts, own) or not can_detect():
        return None
    try:
        found = detected(texts)
    except OSError:  # the package unpacks its model to a temporary file
        return None
    plain = found.share(found.main) >= _PLAIN and found.share(own.language) <= _HARDLY
    return found.main if found.main and plain and found.numbers.total() >= _LEAST_TEXTS else None


def _has_stop_words(texts: Sequence[str], own: "Settings") -> bool:
    """Return whether so many words of texts are stop words of the collection's language that they are of it."""
    listed = stop_words(AUTO_WORDS, own.language)
    split = Tokenizer(language=own.language).words
    words = [word for text in texts for word in split(text)]
    return sum(word in listed for word in words) >= _USUAL * max(1, len(words))


def _other_note(other: str, own: "Settings") -> str:
    return f"most of these texts seem to be {_named(other)}, but the collection's language is {_name(own.language)}"


def _named(code: str) -> str:
    """Return the name of a language that was found, with its code."""
    return f"{language_of(code).name.capitalize()} ({code})" if code in CODES else f"another language ({code})"


def _name(code: str) -> str:
    return language_of(code).name.capitalize()


def _unspaced_note(texts: Sequence[str], own: "Settings") -> str:
    """Return a sentence on texts without spaces whose runs of letters count as one word, "" if there are few."""
    letters = "".join(char for text in texts for char in text if char.isalpha())
    share = len(_UNSPACED.findall(letters)) / max(1, len(letters))
    if share < _MANY or own.segmentation != WHOLE:
        return ""
    return (
        f"{formatters.percentage(share)} of the letters are of a script without spaces between words, such as Chinese, "
        "Japanese or Thai, so that whole sentences count as one word and few queries match"
    )


def _remedy(collection: "Collection", other: str, last: int) -> str:
    """Return how to give the collection the language `other`, "none" if there is no such setting.

    Documents up to the id `last` are of its own language: new ones belong to another collection.
    """
    if last:
        several = f"{_command(collection, NO_LANGUAGE)} for texts of several languages"
        return f"a collection of their own finds more, or {several}"
    code = other if other in CODES else NO_LANGUAGE
    return f"{_command(collection, code)} changes the language"


def _command(collection: "Collection", code: str) -> str:
    return refit_command(collection, f"--language {code}")


def refit_command(collection: "Collection", options: str) -> str:
    """Return the command line of a refit of this collection with some options."""
    return f"`moverank refit -i {quote(display_name(collection.path))} {options}`"


def _vocabulary_note(collection: "Collection") -> Iterator[str]:
    """Report that few words split the texts since ICU is missing."""
    own = collection.settings
    words = len(str(own.vocabulary or "").split())
    best = segmentation_of(AUTO, spaces=language_of(own.language).spaces)
    if own.segmentation == best == VOCABULARY and words < _FEW_WORDS:
        parts = f"the {words} words that occur often in the first ones" if words else "characters"
        yield (
            f"all texts without spaces are split by {parts}: "
            f"{_command(collection, own.language)} finds more once there are more texts, or by the words of ICU after "
            "`python -m pip install 'moverank[languages]'`"
        )
