"""Digests and counts the texts of documents in the process that reads them; the writer only numbers their words."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.documents import Document, Part, Rejection
from moverank.indexer.errors import UsageError
from moverank.indexer.indexing.counted_document import CountedDocument, CountedForm, CountedTexts
from moverank.indexer.indexing.stored_form import check_document, document_content, part_digests, text_digests
from moverank.indexer.ranked_texts import ranked_texts
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.word_numbers import ManyWords

_CACHED_WORDS = 2_000_000


class _Row(NamedTuple):
    """A counted document: its fields as tuples, which are pickled several times as fast as objects."""

    fields: tuple[Any, ...]
    texts: list[tuple[str, int]]
    content: bytes
    digests: tuple[bytes, ...]


class _Message(NamedTuple):
    """Records, counts of the texts of the rows among them, and the words that follow those sent `before`."""

    records: list[_Row | Document | Rejection]
    before: int
    words: list[str]
    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int32]


class CountAhead:
    """Sends documents as `CountedDocument`s from the process that reads them; see `reading_process.Preparation`.

    Stop words are counted, too: the collection, which may not exist yet, chooses them. `meanwhile` is what will be
    needed, done in the process that writes whenever it has to wait.
    """

    def __init__(self, meanwhile: Iterable[Callable[[], None]] = ()) -> None:
        self._meanwhile = list(meanwhile)
        self._numbers: ManyWords | None = None
        self._words: list[str] = []

    def prepared(self, batch: list[Document | Rejection]) -> _Message:
        """Count the texts of records; a document that cannot be stored is left for the writer to report."""
        records: list[_Row | Document | Rejection] = []
        texts: list[str] = []
        for record in batch:
            if isinstance(record, Rejection) or not _is_storable(record):
                records.append(record)
                continue
            digests = part_digests(record)
            counted = [text for _, text in ranked_texts(record)]
            texts += counted
            titled = text_digests([record.title] if len(counted) > len(digests) else [])
            records.append(
                _Row(_fields(record), _texts(record), document_content(record, digests), (*titled, *digests))
            )
        return self._counted(records, texts)

    def received(self, message: _Message) -> list[Document | Rejection]:
        """Return the records of a message."""
        if not message.before:
            self._words = []  # documents of earlier messages keep theirs
        self._words += message.words
        among = CountedTexts(self._words, message.starts, message.numbers, message.counts)
        records: list[Document | Rejection] = []
        first = 0
        for record in message.records:
            if isinstance(record, _Row):
                form = CountedForm(record.content, record.digests, among, first)
                first += len(record.digests)
                key, title, label, metadata, title_counts, vector, origin = record.fields
                parts = tuple(Part(*text) for text in record.texts)
                own = key, title, parts, label, metadata, title_counts, vector, origin
                records.append(CountedDocument(*own, form))
            else:
                records.append(record)
        return records

    def meanwhile(self) -> bool:
        """Do the next part of what will be needed; return whether there was any."""
        if not self._meanwhile:
            return False
        self._meanwhile.pop(0)()
        return True

    def _counted(self, records: list[_Row | Document | Rejection], texts: Sequence[str]) -> _Message:
        if self._numbers is None or len(self._numbers) > _CACHED_WORDS:
            self._numbers = ManyWords(Tokenizer())
        before = len(self._numbers)
        blocks = list(self._numbers.number(texts))
        lengths = np.concatenate([np.zeros(1, np.int64), *(block.lengths for block in blocks)])
        numbers = np.concatenate([np.empty(0, np.int32), *(block.numbers for block in blocks)])
        counts = np.concatenate([np.empty(0, np.int32), *(block.counts for block in blocks)])
        words = self._numbers.since(before)
        return _Message(records, before, words, np.cumsum(lengths, dtype=np.int64), numbers, counts)


def _is_storable(document: Document) -> bool:
    try:
        check_document(document)
    except UsageError:
        return False
    return True


def _fields(document: Document) -> tuple[Any, ...]:
    """Return the fields of a document in their order, but for its parts."""
    return (
        document.key,
        document.title,
        document.label,
        document.metadata,
        document.title_counts,
        document.vector,
        document.origin,
    )


def _texts(document: Document) -> list[tuple[str, int]]:
    return [(part.text, part.rank) for part in document.parts]
