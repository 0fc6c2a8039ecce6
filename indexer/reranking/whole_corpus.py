"""All documents of a collection, in one place or in shards, over one vocabulary, for experiments and for pairs."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self

import numpy as np

from moverank.indexer.reranking.pool import SearchPool
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.search.differences import Facts
from moverank.indexer.search.pairs import PairSource
from moverank.indexer.search.query import Prior
from moverank.indexer.search.sum_terms import without_numbers
from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.indexer.snapshot.segment import Portion, concatenated, packed_rows
from moverank.indexer.state.counted_documents import CountedDocuments
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.indexer.values.settings import Settings
from moverank.indexer.values.word_factors import CorpusVocabulary


class CountedCollection(Protocol):
    """A collection, in one place or in shards, whose documents can be read as counts of words."""

    @property
    def settings(self) -> Settings:
        """Return the settings."""
        ...

    @property
    def directory(self) -> Path:
        """Return the directory of the files that belong to all documents."""
        ...

    def counted_documents(self, fields: Iterable[str] = ()) -> list[CountedDocuments]:
        """Return all documents that have a word, shard by shard, with the numbers in some fields."""
        ...

    def facts(self, keys: Sequence[str]) -> dict[str, Facts]:
        """Return what the documents with some keys state, and how they begin."""
        ...

    def vectors_of(self, words: Sequence[str]) -> CorpusVocabulary:
        """Return words with their vectors."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class WholeCorpus:
    """The `texts` of all documents that have a word, their `titles`, `splits`, and the `priors` of numeric fields.

    Ids are the store's; the ids of a shard are shifted above the ids of the shards before it.
    """

    texts: Texts
    titles: tuple[str, ...]
    splits: Mapping[str, str]
    priors: Mapping[str, Prior]

    @classmethod
    def of(cls, collection: CountedCollection, more: Iterable[str] = (), fields: Iterable[str] = ()) -> Self:
        """Read all documents; the vocabulary has `more` words, too.

        Raises CollectionError without word vectors, UsageError if no document has a number in one of the `fields`.
        """
        fields, parts, last = list(fields), list[CountedDocuments](), 0
        for part in collection.counted_documents(fields):
            parts.append(part.after(last))
            last = parts[-1].last_id
        words = list(dict.fromkeys([*(word for part in parts for word in part.words), *sorted(more)]))
        ids, counts = _counted(parts, words)
        texts = Texts(
            tuple(key for part in parts for key in part.keys),
            counts,
            _identified(collection.vectors_of(words)),
            tuple(label for part in parts for label in part.labels),
            collection.settings.title_weight,
            tuple(ids.tolist()),
            sum(part.total for part in parts),
            ContentSample(*map(np.concatenate, zip(*(part.sample for part in parts), strict=True))).least(),
        )
        titles = tuple(title for part in parts for title in part.titles)
        splits = {key: split for part in parts for key, split in part.splits.items()}
        return cls(texts, titles, splits, {field: _numbers(parts, field) for field in fields})


def pair_source(collection: CountedCollection, ranking: RankingSpec, *, far: bool) -> PairSource:
    """Return all documents of a collection, in one place or in shards, to compare their pairs by WMD."""
    whole = WholeCorpus.of(collection)
    texts, titles = whole.texts, whole.titles
    row_of = {id_: row for row, id_ in enumerate(texts.ids)}

    def keys(ids: Sequence[int]) -> dict[int, str]:
        return {id_: texts.keys[row_of[id_]] for id_ in ids}

    def named(ids: Sequence[int]) -> dict[int, tuple[str, str, Sequence[str]]]:
        rows = {id_: row_of[id_] for id_ in ids}
        return {id_: (texts.keys[row], titles[row], texts.unknown_words(row)) for id_, row in rows.items()}

    def facts(ids: Sequence[int]) -> dict[int, Facts]:
        own = keys(ids)
        found = collection.facts(list(own.values()))
        return {id_: found[key] for id_, key in own.items()}

    view = SearchPool(texts, directory=collection.directory).view
    return PairSource(view, ranking, keys, named, facts, far)


def _counted(parts: Sequence[CountedDocuments], words: Sequence[str]) -> Portion:
    """Return the ids (n,) of all documents, and their counts of `words`."""
    number, portions = {word: i for i, word in enumerate(words)}, list[Portion]()
    for part in parts:
        counts, places = part.counts, np.array([number[word] for word in part.words], np.int32)
        if not np.array_equal(places, np.arange(len(places))):
            rows = np.repeat(np.arange(len(counts)), np.diff(counts.starts))
            counts = packed_rows(rows, places[counts.words], counts.ranks, counts.counts, len(counts))
        portions.append((part.ids, counts))
    return concatenated(portions)


def _identified(vocabulary: CorpusVocabulary) -> CorpusVocabulary:
    """Return a vocabulary whose fingerprint identifies its words, too."""
    content = "\0".join([vocabulary.fingerprint, *vocabulary.words]).encode(errors="surrogatepass")
    return replace(vocabulary, fingerprint=hashlib.sha256(content).hexdigest())


def _numbers(parts: Sequence[CountedDocuments], field: str) -> Prior:
    """Return the numbers in a field; UsageError if no document has one."""
    found = [part.priors[field] for part in parts if field in part.priors]
    if not found:
        raise without_numbers(field)
    return Prior(np.concatenate([own.ids for own in found]), np.concatenate([own.values for own in found]))
