"""Reads a whole collection for experiments: every document, including words without a vector, and queries."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moverank.indexer.collection import Collection
from moverank.indexer.errors import CollectionError
from moverank.indexer.ranked_texts import QueryText
from moverank.indexer.reranking.counted_texts import CorpusVocabulary, Texts
from moverank.indexer.search.counted_query import part_counts, ranked_words
from moverank.indexer.snapshot.segment import assemble, concatenated
from moverank.indexer.store import Reader
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN

_SPLIT, _PARTS = "split", ("train", "test")  # the metadata field with a document's part of a split, and its values


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """The documents of one state of a collection, queries over the same words, and each key's part of a split."""

    documents: Texts
    queries: Texts
    splits: Mapping[str, str]


def corpus_of(collection: Collection, queries: Sequence[tuple[str, QueryText]] = ()) -> Corpus:
    """Read every document of a collection that has a word, and count the words of `queries` (id, text or record).

    Raises CollectionError if the collection has no word vectors, or no document with a word.
    """
    embedding, title_weight = collection.embedding, collection.settings.title_weight
    tokenizer = Tokenizer(frozenset(collection.settings.stop_words))
    counted = [ranked_words(tokenizer, text) for _, text in queries]
    with collection.reading() as reader:
        ids, counts, words = _stored_counts(reader)
        total = reader.document_count()
        shown = reader.shown(ids)
        splits = _splits(reader, {id_: shown[id_].key for id_ in ids})
    words += sorted({word for each in counted for word, _ in each}.difference(words))
    vocabulary = _vocabulary(words, embedding)
    keys, labels = tuple(shown[id_].key for id_ in ids), tuple(shown[id_].label for id_ in ids)
    packed = part_counts(counted, {word: i for i, word in enumerate(words)})
    return Corpus(
        Texts(keys, counts, vocabulary, labels, title_weight, tuple(ids), total),
        Texts(tuple(id_ for id_, _ in queries), packed, vocabulary, title_weight=title_weight),
        splits,
    )


def _stored_counts(reader: Reader) -> tuple[list[int], PartCounts, list[str]]:
    """Return the ids of the documents that have a word, their counts, and the words by index."""
    parts = list(reader.counted_parts())
    used = np.unique(np.frombuffer(b"".join(part.words for part in parts), "<i4")).astype(np.int64)
    ids, counts = concatenated(list(assemble(parts, used)))
    if not len(ids):
        raise CollectionError("there is no document with a word in the collection: index some first")
    texts = {word.id: word.word for word in reader.all_words()}
    return ids.tolist(), counts, [texts[id_] for id_ in used.tolist()]


def _vocabulary(words: Sequence[str], embedding: Embedding) -> CorpusVocabulary:
    rows = embedding.find(words)
    known = rows != UNKNOWN
    vectors = np.zeros((len(words), embedding.dim), np.float32)
    names = [word for word, has_vector in zip(words, known.tolist(), strict=True) if has_vector]
    vectors[known] = embedding.gather(names, rows[known])
    digest = hashlib.sha256("\0".join([embedding.fingerprint, *words]).encode(errors="surrogatepass"))
    return CorpusVocabulary(vectors, known, digest.hexdigest(), tuple(words))


def _splits(reader: Reader, keys: Mapping[int, str]) -> dict[str, str]:
    """Return the part, train or test, of each document with a field `split`, by key; `keys` are by id."""
    if _SPLIT not in reader.field_names():
        return {}
    return {keys[id_]: part for part in _PARTS for id_ in reader.matching(_SPLIT, [part]) if id_ in keys}
