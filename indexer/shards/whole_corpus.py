"""All documents of a collection in shards, for experiments and near duplicates, which compare all of them."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.reranking.texts import CorpusVocabulary, Texts
from moverank.indexer.search.query import Prior
from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.rerank.bags.weights import PartCounts


@dataclass(frozen=True, slots=True, eq=False)
class ShardCorpus:
    """The documents of one shard that have a word, row by row, with `counts` of `words`; `total` counts all documents.

    `priors` are the values of numeric fields: rows (m,), increasing, and values. `sample` is the shard's, by row.
    """

    keys: tuple[str, ...]
    titles: tuple[str, ...]
    labels: tuple[str | None, ...]
    counts: PartCounts
    words: Sequence[str]
    total: int
    splits: Mapping[str, str]
    priors: Mapping[str, Prior]
    sample: ContentSample


@dataclass(frozen=True, slots=True, eq=False)
class WordVectorsOf:
    """Whether each of some words (t,) has a vector, and the vectors (t, d); `fingerprint` is that of all vectors."""

    known: NDArray[np.bool_]
    vectors: NDArray[np.float32]
    fingerprint: str


@dataclass(frozen=True, slots=True, eq=False)
class WholeCorpus:
    """The `texts` of all shards, in the order of shards, with ids 1, 2, ...; their `titles`, `splits` and `priors`."""

    texts: Texts
    titles: tuple[str, ...]
    splits: Mapping[str, str]
    priors: Mapping[str, Prior]


def joined_words(parts: Sequence[ShardCorpus], more: Iterable[str]) -> list[str]:
    """Return the words of all shards, each once, and `more`."""
    return list(dict.fromkeys([*(word for part in parts for word in part.words), *sorted(more)]))


def joined(
    parts: Sequence[ShardCorpus], words: Sequence[str], vectors: WordVectorsOf, title_weight: float
) -> WholeCorpus:
    """Return the documents of all shards over `words`, whose vectors are given."""
    index = {word: i for i, word in enumerate(words)}
    columns, starts, offset = list[PartCounts](), [np.zeros(1, np.int64)], 0
    priors: dict[str, list[tuple[NDArray[np.int64], NDArray[np.float64]]]] = {}
    first, samples = 1, [(np.empty(0, np.int64), np.empty(0))]
    for part in parts:
        places = np.array([index[word] for word in part.words], np.int32)
        columns.append(_sorted_rows(part.counts, places))
        starts.append(part.counts.starts[1:] + offset)
        offset += int(part.counts.starts[-1])
        for name, prior in part.priors.items():
            priors.setdefault(name, []).append((prior.ids + first, prior.values))
        samples.append((part.sample.ids + first, part.sample.digests))
        first += len(part.keys)
    names = ("words", "ranks", "counts")
    arrays = [np.concatenate([np.empty(0, np.int32), *(getattr(own, name) for own in columns)]) for name in names]
    digest = hashlib.sha256("\0".join([vectors.fingerprint, *words]).encode(errors="surrogatepass")).hexdigest()
    keys = tuple(key for part in parts for key in part.keys)
    texts = Texts(
        keys,
        PartCounts(np.concatenate(starts), *arrays),
        CorpusVocabulary(vectors.vectors, vectors.known, digest, tuple(words)),
        tuple(label for part in parts for label in part.labels),
        title_weight,
        tuple(range(1, 1 + len(keys))),
        sum(part.total for part in parts),
        ContentSample(*map(np.concatenate, zip(*samples, strict=True))).least(),
    )
    titles = tuple(title for part in parts for title in part.titles)
    splits = {key: split for part in parts for key, split in part.splits.items()}
    joined_priors = {
        name: Prior(np.concatenate([ids for ids, _ in own]), np.concatenate([values for _, values in own]))
        for name, own in priors.items()
    }
    return WholeCorpus(texts, titles, splits, joined_priors)


def _sorted_rows(counts: PartCounts, places: NDArray[np.int32]) -> PartCounts:
    """Return counts with words renumbered by `places` (t,), sorted again by word and rank within each row."""
    rows = np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))
    words = places[counts.words]
    order = np.lexsort((counts.ranks, words, rows))
    ranks = np.ascontiguousarray(np.asarray(counts.ranks)[order])
    return PartCounts(counts.starts, words[order], ranks, counts.counts[order])
