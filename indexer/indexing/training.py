"""Trains word vectors on the collection's own texts."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from moverank.indexer.indexing.creation import training_method
from moverank.indexer.store import Store
from moverank.indexer.values.search_options import Progress
from moverank.indexer.values.settings import AUTO_EMBEDDING, Settings
from moverank.indexer.vectors.lsi_training import train_lsi
from moverank.indexer.vectors.word2vec_training import train_vectors
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer

FEW_TEXTS = 50
"""The number of texts below which "auto" learns nothing to rank by.

Mean average precision of BM25 and of the default ranking over LSI, on samples of four judged sets: 25 texts .698, .689;
50 texts .639, .641; 100 texts .616, .620; 400 texts .532, .548.
"""

SMALL_COLLECTION = 100
"""The number of texts below which the default ranking is better by the vectors of a file.

Mean nDCG@10 without a file, with one, and of BM25, on samples of eleven judged sets: 25 texts .792, .818, .792; 50
texts .741, .754, .738; 100 texts .701, .707, .694 (p of the file .002, .026, .359).
"""

SMALL_CORPUS = 2_000_000
"""Number of words below which "auto" chooses LSI: word2vec is better only with more text."""

_SENTENCE = 1000


def train(
    store: Store, vectors: Path, settings: Settings, *, normalize: bool, progress: Progress
) -> tuple[str, Embedding]:
    """Train vectors on the texts in `store`, write them to the directory `vectors`, and open them.

    `settings` name the method; "auto" chooses it by the size of the corpus; `normalize` scales vectors to unit length;
    `progress` is called during training. Returns the method used, "lsi" or "train", and the vectors. With fewer than
    `FEW_TEXTS` texts, the method stays "auto", so that the default ranking does not use the vectors.
    """
    embedding, tokenizer = settings.embedding, settings.tokenizer
    if embedding == AUTO_EMBEDDING and not has_few_texts(store):
        embedding = "lsi" if _word_count(store) < SMALL_CORPUS else "train"
    method, options = training_method("lsi" if embedding == AUTO_EMBEDDING else embedding, settings.train_options)
    if method == "lsi":
        documents = partial(_documents, store, tokenizer)
        return embedding, train_lsi(documents, vectors, normalize=normalize, progress=progress, **options)
    sentences = partial(_sentences, store, tokenizer)
    return embedding, train_vectors(
        sentences, vectors, method=method, normalize=normalize, progress=progress, **options
    )


def has_few_texts(store: Store) -> bool:
    """Return whether a collection has fewer documents than `FEW_TEXTS`."""
    with store.reading() as reader:
        return reader.document_count() < FEW_TEXTS


def few_texts(count: int, settings: Settings) -> str | None:
    """Return the sentence that the `count` texts of a collection are too few to learn from; None if they are not."""
    if settings.embedding != AUTO_EMBEDDING:
        return None
    texts, they = ("one text is", "it is") if count == 1 else (f"{count} texts are", "they are")
    return (
        f"{texts} too few to learn word vectors from: {they} ranked by {settings.specification} until there are "
        f"{FEW_TEXTS}"
    )


def _word_count(store: Store) -> int:
    with store.reading() as reader:
        return sum(int(np.frombuffer(part.counts, "<i4").sum()) for part in reader.counted_parts())


def _documents(store: Store, tokenizer: Tokenizer) -> Iterator[Counter[str]]:
    with store.reading() as reader:
        for texts in reader.all_texts():
            yield tokenizer.count("\n".join(texts))


def _sentences(store: Store, tokenizer: Tokenizer) -> Iterator[list[str]]:
    """Yield the words of each document in order, in pieces short enough for gensim."""
    with store.reading() as reader:
        for texts in reader.all_texts():
            words = tokenizer.words("\n".join(texts))
            for start in range(0, len(words), _SENTENCE):
                yield words[start : start + _SENTENCE]
