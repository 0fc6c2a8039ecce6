"""Reads a whole collection for experiments: every document, including words without a vector, and queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moverank.indexer.cluster.cluster import Cluster
from moverank.indexer.collection import Collection
from moverank.indexer.ranked_texts import QueryText
from moverank.indexer.reranking.counted_texts import Texts
from moverank.indexer.reranking.stored_texts import (
    check_counted,
    corpus_vocabulary,
    stored_counts,
    stored_splits,
)
from moverank.indexer.search.counted_query import RankedWords, part_counts, ranked_words
from moverank.indexer.snapshot.content_sample import SAMPLE, ContentSample
from moverank.rerank.words.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """The documents of one state of a collection, queries over the same words, and each key's part of a split."""

    documents: Texts
    queries: Texts
    splits: Mapping[str, str]


def corpus_of(collection: Collection | Cluster, queries: Sequence[tuple[str, QueryText]] = ()) -> Corpus:
    """Read every document of a collection that has a word, and count the words of `queries` (id, text or record).

    Raises CollectionError if the collection has no word vectors, or no document with a word.
    """
    if isinstance(collection, Cluster):
        return _of_shards(collection, queries)
    embedding, title_weight = collection.embedding, collection.settings.title_weight
    with collection.reading() as reader:
        ids, counts, words = stored_counts(reader)
        check_counted(ids)
        total = reader.document_count()
        shown = reader.shown(ids)
        splits = stored_splits(reader, {id_: shown[id_].key for id_ in ids})
        sample = ContentSample.of(reader.least_digests(SAMPLE))
    counted = _counted_queries(collection, queries)
    words += sorted({word for each in counted for word, _ in each}.difference(words))
    vocabulary = corpus_vocabulary(words, embedding)
    keys, labels = tuple(shown[id_].key for id_ in ids), tuple(shown[id_].label for id_ in ids)
    documents = Texts(keys, counts, vocabulary, labels, title_weight, tuple(ids), total, sample)
    return Corpus(documents, _query_texts(queries, counted, documents), splits)


def _of_shards(cluster: Cluster, queries: Sequence[tuple[str, QueryText]]) -> Corpus:
    counted = _counted_queries(cluster, queries)
    whole = cluster.documents_of_shards({word for each in counted for word, _ in each})
    check_counted(whole.texts.keys)
    return Corpus(whole.texts, _query_texts(queries, counted, whole.texts), whole.splits)


def _counted_queries(collection: Collection | Cluster, queries: Sequence[tuple[str, QueryText]]) -> list[RankedWords]:
    tokenizer = Tokenizer(frozenset(collection.settings.stop_words))
    return [ranked_words(tokenizer, text) for _, text in queries]


def _query_texts(queries: Sequence[tuple[str, QueryText]], counted: Sequence[RankedWords], documents: Texts) -> Texts:
    """Return queries over the vocabulary of the documents, which has their words."""
    packed = part_counts(counted, {word: i for i, word in enumerate(documents.vocabulary.words)})
    names = tuple(id_ for id_, _ in queries)
    return Texts(names, packed, documents.vocabulary, title_weight=documents.title_weight)
