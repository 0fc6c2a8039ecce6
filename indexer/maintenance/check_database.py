"""The database against itself: what is stored twice, or follows from the rest, has to agree."""

from collections import Counter
from typing import Any

import numpy as np

from moverank.indexer.indexing.sync import field_values, stored_digest, text_digest
from moverank.indexer.maintenance.report import Report
from moverank.indexer.store import Auditor, StoredDocument
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.vocabulary import UNKNOWN


def check_truth(auditor: Auditor, salt: bytes, embedding: Embedding | None, findings: Report) -> None:
    """Look through every row; `salt` is the one of the documents' digests, `embedding` None where none is usable."""
    rows = {word.id: word.row for word in auditor.all_words()}
    fields, revision = auditor.all_fields(), auditor.revision()
    counted: Counter[int] = Counter()
    for document in auditor.stored():
        words = _check_parts(document, rows, findings)
        if not document.digest or document.digest != stored_digest(document, salt):
            findings.add("has a text, title or metadata that is not what was indexed", document.key)
            findings.documents.append(document.id)
        if fields.pop(document.id, set()) != field_values(document.label, document.metadata):
            findings.add("is not found by its label and metadata", document.key)
            findings.documents.append(document.id)
        wordless = all(rows.get(word, UNKNOWN) == UNKNOWN for word in words)
        if wordless != document.wordless:
            findings.add("is wrongly said to have known words, or none", document.key)
            findings.wordless[document.id] = wordless
        if document.revision > revision:
            findings.add("was changed by a revision that never was", document.key)
        counted.update(words)
    for id_ in fields:
        findings.add("is the number of a document that is not there, but has fields", id_)
    _check_words(auditor, counted, embedding, findings)


def _check_parts(document: StoredDocument, rows: dict[int, int], findings: Report) -> set[int]:
    """Look at the parts of a document, and return the ids of its words."""
    words: set[int] = set()
    if not document.parts:
        findings.add("has no text", document.key)
        findings.documents.append(document.id)
    for part in document.parts:
        if text_digest(part.text) != part.digest:
            findings.add("has a part that is not what was indexed", document.key)
            findings.documents.append(document.id)
        if not _sound(part, rows):
            findings.add("has word counts that cannot be", document.key)
            findings.texts[part.id] = part.text
            continue
        words.update(np.frombuffer(part.words, "<i4").tolist())
    return words


def _sound(part: Any, rows: dict[int, int]) -> bool:
    """Say whether the counts of a part can be: ids of words that there are, increasing, each with a count."""
    if len(part.words) % 4 or len(part.words) != len(part.counts) or part.rank < 0:
        return False
    words, counts = np.frombuffer(part.words, "<i4"), np.frombuffer(part.counts, "<i4")
    return bool((np.diff(words) > 0).all() and (counts > 0).all() and all(word in rows for word in words.tolist()))


def _check_words(auditor: Auditor, counted: Counter[int], embedding: Embedding | None, findings: Report) -> None:
    """Compare the words' frequencies with the documents, and their rows with the word vectors."""
    frequencies = auditor.all_frequencies()
    words = list(auditor.all_words())
    rows = embedding.find([word.word for word in words]).tolist() if embedding else [word.row for word in words]
    for word, row in zip(words, rows, strict=True):
        if frequencies[word.id] != counted[word.id]:
            findings.add("is a word with a wrong number of documents", word.word)
            findings.frequencies[word.id] = counted[word.id]
        if word.row != row:
            findings.add("is a word with the vector of another, or wrongly with none", word.word)
            findings.rows[word.id] = row
