"""The counted texts of a stored collection: every document that has a word, including words without a vector."""

import hashlib
from collections.abc import Sequence

import numpy as np

from moverank.indexer.errors import CollectionError
from moverank.indexer.reranking.counted_texts import CorpusVocabulary
from moverank.indexer.snapshot.segment import assemble, concatenated
from moverank.indexer.store import Reader
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.unknown import UNKNOWN

_SPLIT, _PARTS = "split", ("train", "test")  # the metadata field with a document's part of a split, and its values


def stored_counts(reader: Reader) -> tuple[list[int], PartCounts, list[str]]:
    """Return the ids of the documents that have a word, their counts, and the words by index."""
    parts = list(reader.counted_parts())
    used = np.unique(np.frombuffer(b"".join(part.words for part in parts), "<i4")).astype(np.int64)
    ids, counts = concatenated(list(assemble(parts, used)))
    texts = {word.id: word.word for word in reader.all_words()}
    return ids.tolist(), counts, [texts[id_] for id_ in used.tolist()]


def check_counted(ids: Sequence[object]) -> None:
    """Raise CollectionError if no document has a word."""
    if not len(ids):
        raise CollectionError("there is no document with a word in the collection: index some first")


def corpus_vocabulary(words: Sequence[str], embedding: Embedding) -> CorpusVocabulary:
    """Return a vocabulary of words, with the vectors of those that have one."""
    rows = embedding.find(words)
    known = rows != UNKNOWN
    vectors = np.zeros((len(words), embedding.dim), np.float32)
    names = [word for word, has_vector in zip(words, known.tolist(), strict=True) if has_vector]
    vectors[known] = embedding.gather(names, rows[known])
    digest = hashlib.sha256("\0".join([embedding.fingerprint, *words]).encode(errors="surrogatepass"))
    return CorpusVocabulary(vectors, known, digest.hexdigest(), tuple(words))


def stored_splits(reader: Reader, keys: dict[int, str]) -> dict[str, str]:
    """Return the part, train or test, of each document with a field `split`, by key; `keys` are by id."""
    if _SPLIT not in reader.field_names():
        return {}
    return {keys[id_]: part for part in _PARTS for id_ in reader.matching(_SPLIT, [part]) if id_ in keys}
