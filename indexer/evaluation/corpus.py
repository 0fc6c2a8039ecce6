"""Reads all of a collection for experiments: every document, with words of no vector, and questions."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import CollectionError
from moverank.indexer.evaluation.counted_texts import CorpusVocabulary, Texts
from moverank.indexer.snapshot.segment import assemble, joined
from moverank.indexer.store import Reader
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """The documents of one state of a collection, questions by text over the same words, sides of a split by key."""

    documents: Texts
    questions: Texts
    splits: Mapping[str, str]


def read_corpus(
    reader: Reader, embedding: Embedding, tokenizer: Tokenizer, questions: Sequence[tuple[str, str]] = ()
) -> Corpus:
    """Read every document that has a word, and count the questions (id, text).

    Raises CollectionError where there is no document.
    """
    stored = {found.word: found.id for found in reader.all_words()}
    parts = list(reader.counted_parts())
    used = np.unique(np.frombuffer(b"".join(part.words for part in parts), "<i4")).astype(np.int64)
    ids, counts = joined(list(assemble(parts, used)))
    if not len(ids):
        raise CollectionError("there is no document with a word in the collection: index some first")
    place = {int(id_): i for i, id_ in enumerate(used.tolist())}
    words = [""] * len(used)
    for word, id_ in stored.items():
        if id_ in place:
            words[place[id_]] = word
    counted = [tokenizer.count(text) for _, text in questions]
    new = sorted({word for each in counted for word in each if stored.get(word) not in place})
    vocabulary = _vocabulary([*words, *new], embedding)
    places = {word: i for i, word in enumerate([*words, *new])}
    shown = reader.shown(ids.tolist())
    keys = tuple(shown[id_].key for id_ in ids.tolist())
    labels = tuple(shown[id_].label for id_ in ids.tolist())
    documents = Texts(keys, counts, vocabulary, labels)
    asked = Texts(tuple(id_ for id_, _ in questions), _packed(counted, places), vocabulary)
    return Corpus(documents, asked, _splits(reader, ids, keys))


def _vocabulary(words: Sequence[str], embedding: Embedding) -> CorpusVocabulary:
    rows = embedding.find(words)
    known = rows != UNKNOWN
    vectors = np.zeros((len(words), embedding.dim), np.float32)
    names = [word for word, there in zip(words, known.tolist(), strict=True) if there]
    vectors[known] = embedding.gather(names, rows[known])
    digest = hashlib.sha256("\0".join([embedding.fingerprint, *words]).encode(errors="surrogatepass"))
    return CorpusVocabulary(vectors, known, digest.hexdigest())


def _packed(counted: Sequence[Mapping[str, int]], places: Mapping[str, int]) -> PartCounts:
    """Pack counts by word, all of rank 0, into rows."""
    rows = [sorted((places[word], count) for word, count in counts.items()) for counts in counted]
    entries = np.array([entry for row in rows for entry in row], np.int32).reshape(-1, 2)
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    words, counts = np.ascontiguousarray(entries[:, 0]), np.ascontiguousarray(entries[:, 1])
    return PartCounts(starts, words, np.zeros_like(words), counts)


def _splits(reader: Reader, ids: NDArray[np.int64], keys: Sequence[str]) -> dict[str, str]:
    """Return the side, train or test, of every document whose metadata name one as their `split`."""
    if "split" not in reader.field_names():
        return {}
    names = dict(zip(ids.tolist(), keys, strict=True))
    return {names[id_]: side for side in ("train", "test") for id_ in reader.matching("split", [side]) if id_ in names}
