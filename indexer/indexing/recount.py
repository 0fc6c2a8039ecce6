"""Counts the words of all stored texts again, after a change of the settings that determine them."""

from collections.abc import Iterable
from typing import Any

from moverank.indexer.indexing.stored_form import document_digest, restored_document
from moverank.indexer.indexing.word_counts import WordCounter, distinct_words
from moverank.indexer.store import PartRow, StoredDocument, Writer
from moverank.indexer.values.documents import counted_texts
from moverank.indexer.values.search_options import Progress
from moverank.indexer.values.settings import Settings
from moverank.rerank.bags.bag import TITLE
from moverank.rerank.runtime.parallel import batches

_BATCH = 1000


def count_again(writer: Writer, settings: Settings, progress: Progress) -> None:
    """Count the words of all texts by new `settings`, in the writer's transaction, and write the digests for them.

    New words get no vector, and documents keep their revision: both follow from the vectors, see `assign_rows`. The
    empty digest of a damaged document stays empty.
    """
    counter, salt = WordCounter(settings.tokenizer, None), settings.tokens_digest()
    ids = list(writer.ids())
    for done, some in enumerate(batches(ids, _BATCH)):
        documents = writer.documents(some)
        parts = [part for document in documents for part in document.parts]
        counted = counter.count(writer, [text for document in documents for text in _texts(document.parts)])
        rows = [{"id": part.id, **counts._asdict()} for part, counts in zip(parts, counted, strict=True)]
        writer.set_counts(rows)
        writer.set_digests([{"id": one.id, "digest": _digest(one, salt)} for one in documents if one.digest])
        fresh = iter(counted)
        now: list[Iterable[Any]] = [[next(fresh) for _ in document.parts] for document in documents]
        counter.add_documents(distinct_words(now).ids)
        counter.add_documents(distinct_words([document.parts for document in documents]).ids, -1)
        counter.store(writer)
        progress("Counting words", done * _BATCH + len(some), len(ids), "documents")


def _texts(parts: Iterable[PartRow]) -> list[str]:
    """Return the texts whose words are counted for a document's `parts`, which are in order, the title first."""
    titles = [part.text for part in parts if part.position < 0]
    own = [(part.rank, part.text) for part in parts if part.position >= 0]
    return [*titles, *counted_texts(titles[0] if titles else "", own)]


def _digest(document: StoredDocument, salt: bytes) -> bytes:
    """Return the digest of a document; the digests of its parts are the stored ones, which damage does not change."""
    digests = [part.digest for part in document.parts if part.rank != TITLE]
    return document_digest(restored_document(document), digests, salt)
