"""Checks the database for consistency: redundant and derived data, such as word counts, must agree with the rest."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.indexing.stored_form import (
    document_digest,
    field_values,
    part_digests,
    restored_document,
    stored_parts,
    text_digests,
)
from moverank.indexer.indexing.word_counts import sorted_pairs
from moverank.indexer.maintenance.report import Report
from moverank.indexer.store import AuditedBlock, Auditor
from moverank.rerank.bags.bag import TITLE
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.vocabulary import UNKNOWN


def valid_counts(
    parts: Sequence[Any], exists: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int32]]:
    """Return which parts (p,) have valid counts, and the words of these parts: rows (n,) of `parts`, and ids (n,).

    Counts are valid if the rank is valid, the ids of words increase and exist (`exists`, by id), and each count is
    positive.
    """
    sizes, others, positions, ranks = (
        (
            np.array(values, np.int64).reshape(-1)
            for values in zip(
                *((len(one.words), len(one.counts), one.position, one.rank) for one in parts), strict=True
            )
        )
        if parts
        else (np.empty(0, np.int64),) * 4
    )
    valid = (sizes % 4 == 0) & (sizes == others) & (ranks >= np.where(positions < 0, TITLE, 0))
    shaped = [part for part, usable in zip(parts, valid.tolist(), strict=True) if usable]
    words = np.frombuffer(b"".join(part.words for part in shaped), "<i4")
    counts = np.frombuffer(b"".join(part.counts for part in shaped), "<i4")
    rows = np.repeat(np.arange(len(parts)), np.where(valid, sizes // 4, 0))
    wrong = (words < 0) | (words >= len(exists)) | (counts <= 0)
    wrong |= ~exists[np.where(wrong, 0, words)]
    wrong[1:] |= (words[1:] <= words[:-1]) & (rows[1:] == rows[:-1])
    valid[rows[wrong]] = False
    kept = valid[rows]
    return valid, rows[kept], words[kept]


def check_database(auditor: Auditor, salt: bytes, embedding: Embedding | None, report: Report) -> None:
    """Check every row that `auditor` reads, and add faults to `report`.

    `salt` is the salt of the documents' digests; without an `embedding`, rows of word vectors are not checked.
    """
    words, revision, dim = list(auditor.all_words()), auditor.revision(), auditor.vector_dim()
    ids, rows, frequencies = (np.array([word[i] for word in words], np.int64) for i in (0, 3, 2))
    size = int(ids[-1]) + 1 if len(ids) else 1
    exists, known, counted = np.zeros(size, bool), np.zeros(size, bool), np.zeros(size, np.int64)
    exists[ids], known[ids] = True, rows != UNKNOWN
    for block in auditor.blocks():
        _check_contents(block, salt, dim, report)
        _check_fields(block, report)
        counted += _check_counts(block, exists, known, report)
        for document in block.documents:
            if document.revision > revision:
                report.add("was changed by a revision that does not exist", document.key)
    texts = [word.word for word in words]
    found = embedding.find(texts).astype(np.int64) if embedding else rows
    for i in np.flatnonzero(frequencies != counted[ids]).tolist():
        report.add("is a word with a wrong number of documents", texts[i])
        report.frequencies[int(ids[i])] = int(counted[ids[i]])
    for i in np.flatnonzero(rows != found).tolist():
        report.add("is a word with a wrong vector, or wrongly without one", texts[i])
        report.rows[int(ids[i])] = int(found[i])


def _check_contents(block: AuditedBlock, salt: bytes, dim: int, report: Report) -> None:
    """Check the texts, digests and vectors of documents; `dim` is the number of dimensions of the vectors."""
    grouped = {id_: list(parts) for id_, parts in groupby(block.parts, attrgetter("document_id"))}
    for document in block.documents:
        parts, vector = grouped.get(document.id, []), block.vectors.get(document.id, b"")
        faults = [] if parts else ["has no text"]
        if document.id in block.vectors and len(vector) != 4 * dim:
            faults.append("has a vector of another dimension than other documents")
        digests = text_digests(part.text for part in parts)
        own = [digest for part, digest in zip(parts, digests, strict=True) if part.rank != TITLE]
        readable = bool(document.digest) and isinstance(document.metadata, dict)
        whole = document._replace(parts=parts, vector=vector)
        if not readable or document.digest != document_digest(restored_document(whole), own, salt):
            faults.append("has a text, title, metadata or vector that is not what was indexed")
        if digests != [part.digest for part in parts]:
            faults.append("has a part that is not what was indexed")
        for fault in faults:
            report.add(fault, document.key)
            report.documents.append(document.id)


def _check_fields(block: AuditedBlock, report: Report) -> None:
    """Compare the filter fields with labels and metadata."""
    fields: dict[int, set[tuple[str, str]]] = {}
    for id_, name, value in block.fields:
        fields.setdefault(id_, set()).add((name, value))
    for document in block.documents:
        own = fields.pop(document.id, set())
        if not isinstance(document.metadata, dict):
            continue  # `_check_contents` reports it
        if own != field_values(document.label, document.metadata):
            report.add("has filter fields other than its label and metadata", document.key)
            report.documents.append(document.id)
    for id_ in fields:
        report.add("is the id of fields without a document", id_)


def _check_counts(
    block: AuditedBlock, exists: NDArray[np.bool_], known: NDArray[np.bool_], report: Report
) -> NDArray[np.int64]:
    """Check the word counts of documents, and return how many of them have each word, by its id.

    `exists` and `known` say by id whether there is such a word, and whether it has a vector.
    """
    ids = np.array([document.id for document in block.documents], np.int64)
    own = np.array([part.document_id for part in block.parts], np.int64)
    parts = [block.parts[i] for i in np.flatnonzero(np.isin(own, ids)).tolist()]
    valid, rows, words = valid_counts(parts, exists)
    for i in np.flatnonzero(~valid).tolist():
        _report_counts(block, parts[i], report)
    documents = np.searchsorted(ids, np.array([part.document_id for part in parts], np.int64))
    pairs, distinct, _ = sorted_pairs(documents[rows], words)
    wordless = np.bincount(pairs[known[distinct]], minlength=len(ids)) == 0
    for document, without in zip(block.documents, wordless.tolist(), strict=True):
        if without != document.wordless:
            report.add("is wrongly marked as having known words, or none", document.key)
            report.wordless[document.id] = without
    return np.bincount(distinct, minlength=len(exists))


def _report_counts(block: AuditedBlock, part: Any, report: Report) -> None:
    """Report a part with impossible counts, with the text whose words are to be counted."""
    document = next(one for one in block.documents if one.id == part.document_id)
    own = [one for one in block.parts if one.document_id == document.id]
    found = restored_document(document._replace(parts=own, vector=block.vectors.get(document.id)))
    counted = {one.position: one.counted for one in stored_parts(found, part_digests(found))}
    report.add("has impossible word counts", document.key)
    report.texts[part.id] = counted.get(part.position, part.text)
