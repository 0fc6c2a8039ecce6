"""Checks the database for consistency: redundant and derived data must agree with the rest."""

from collections import Counter
from typing import Any

import numpy as np

from moverank.indexer.indexing.stored_form import (
    document_digest,
    field_values,
    part_digests,
    restored,
    stored_parts,
    text_digest,
)
from moverank.indexer.maintenance.report import Report
from moverank.indexer.store import Auditor, StoredDocument
from moverank.rerank.bags.weights import TITLE
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.vocabulary import UNKNOWN


def check_database(auditor: Auditor, salt: bytes, embedding: Embedding | None, report: Report) -> None:
    """Check every row that `auditor` reads, and add what is wrong to `report`.

    `salt` is that of the documents' digests; `embedding` None: no word vectors are usable, and rows are not checked.
    """
    rows = {word.id: word.row for word in auditor.all_words()}
    fields, revision = auditor.all_fields(), auditor.revision()
    counted: Counter[int] = Counter()
    dim = auditor.vector_dim()
    for document in auditor.stored():
        words = _check_parts(document, rows, salt, dim, report)
        if fields.pop(document.id, set()) != field_values(document.label, document.metadata):
            report.add("has filter fields other than its label and metadata", document.key)
            report.documents.append(document.id)
        wordless = all(rows.get(word, UNKNOWN) == UNKNOWN for word in words)
        if wordless != document.wordless:
            report.add("is wrongly marked as having known words, or none", document.key)
            report.wordless[document.id] = wordless
        if document.revision > revision:
            report.add("was changed by a revision that does not exist", document.key)
        counted.update(words)
    for id_ in fields:
        report.add("is the id of fields without a document", id_)
    _check_words(auditor, counted, embedding, report)


def _check_parts(document: StoredDocument, rows: dict[int, int], salt: bytes, dim: int, report: Report) -> set[int]:
    """Check the texts, digests, counts and vector of a document, and return the ids of its words.

    `dim` is the number of dimensions of the vectors.
    """
    words: set[int] = set()
    if not document.parts:
        report.add("has no text", document.key)
        report.documents.append(document.id)
    if document.vector is not None and len(document.vector) != 4 * dim:
        report.add("has a vector of another dimension than other documents", document.key)
        report.documents.append(document.id)
    found = restored(document)
    digests = part_digests(found)
    parts = stored_parts(found, digests)
    if not document.digest or document.digest != document_digest(found, digests, salt):
        report.add("has a text, title, metadata or vector that is not what was indexed", document.key)
        report.documents.append(document.id)
    counted = {part.position: part.counted for part in parts}
    for part in document.parts:
        if text_digest(part.text) != part.digest:
            report.add("has a part that is not what was indexed", document.key)
            report.documents.append(document.id)
        if not _has_valid_counts(part, rows):
            report.add("has impossible word counts", document.key)
            report.texts[part.id] = counted.get(part.position, part.text)
            continue
        words.update(np.frombuffer(part.words, "<i4").tolist())
    return words


def _has_valid_counts(part: Any, rows: dict[int, int]) -> bool:
    """Return whether the rank is valid, and the words are existing ids, increasing, each with a positive count."""
    if len(part.words) % 4 or len(part.words) != len(part.counts) or part.rank < (TITLE if part.position < 0 else 0):
        return False
    words, counts = np.frombuffer(part.words, "<i4"), np.frombuffer(part.counts, "<i4")
    return bool((np.diff(words) > 0).all() and (counts > 0).all() and all(word in rows for word in words.tolist()))


def _check_words(auditor: Auditor, counted: Counter[int], embedding: Embedding | None, report: Report) -> None:
    """Compare the words' frequencies with the documents, and their rows with the word vectors."""
    frequencies = auditor.all_frequencies()
    words = list(auditor.all_words())
    rows = embedding.find([word.word for word in words]).tolist() if embedding else [word.row for word in words]
    for word, row in zip(words, rows, strict=True):
        if frequencies[word.id] != counted[word.id]:
            report.add("is a word with a wrong number of documents", word.word)
            report.frequencies[word.id] = counted[word.id]
        if word.row != row:
            report.add("is a word with a wrong vector, or wrongly without one", word.word)
            report.rows[word.id] = row
