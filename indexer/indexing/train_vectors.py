"""Trains word vectors on the collection's own texts, if the settings name no source."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from moverank.indexer.documents import Changes
from moverank.indexer.errors import TooFewWords
from moverank.indexer.files.directory import VECTORS
from moverank.indexer.indexing.collection_vectors import FINGERPRINT
from moverank.indexer.indexing.settings_check import check_choices, training_method
from moverank.indexer.progress import Progress
from moverank.indexer.settings import Settings
from moverank.indexer.store import Store, Writer
from moverank.indexer.vectors import train_lsi, train_vectors
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN

SMALL_CORPUS = 2_000_000
"""Number of words below which "auto" chooses LSI: word2vec is better only with more text."""

_SENTENCE = 1000


def train_collection(
    store: Store, directory: Path, settings: Settings, changes: Changes, progress: Progress
) -> tuple[Settings, Embedding | None, Changes]:
    """Train vectors on a collection's texts after a run, and store the row of each word's vector.

    `store`, `directory` and `settings` are the collection's, `changes` those of the run; `progress` is called during
    training. Returns the settings with the method used, the vectors, and the changes with the number of wordless
    documents in the collection. With too few words nothing is changed: the vectors are None, and the next run retries.
    """
    normalize = settings.normalize is not False
    vectors = directory / VECTORS
    shutil.rmtree(vectors, ignore_errors=True)  # left by a run that was killed before it stored their fingerprint
    try:
        method, embedding = train(store, vectors, settings, normalize=normalize, progress=progress)
    except TooFewWords:
        return settings, None, replace(changes, wordless=changes.documents)
    settings = replace(settings, embedding=method, normalize=normalize)
    check_choices(settings, embedding.dim)
    with store.writing() as writer:
        wordless = assign_rows(writer, embedding)
        writer.set_settings(settings.stored() | {FINGERPRINT: embedding.fingerprint})
        return settings, embedding, replace(changes, wordless=wordless, revision=writer.revision())


def train(
    store: Store, vectors: Path, settings: Settings, *, normalize: bool, progress: Progress
) -> tuple[str, Embedding]:
    """Train vectors on the texts in `store`, write them to the directory `vectors`, and open them.

    `settings` name the method, of which "auto" chooses by the size of the corpus; `normalize` scales vectors to unit
    length; `progress` is called during training. Returns the method used, "lsi" or "train", and the vectors.
    """
    embedding, tokenizer = settings.embedding, Tokenizer(frozenset(settings.stop_words))
    if embedding == "auto":
        embedding = "lsi" if _word_count(store) < SMALL_CORPUS else "train"
    method, options = training_method(embedding, settings.train_options)
    if method == "lsi":
        documents = partial(_documents, store, tokenizer)
        return embedding, train_lsi(documents, vectors, normalize=normalize, progress=progress, **options)
    sentences = partial(_sentences, store, tokenizer)
    return embedding, train_vectors(
        sentences, vectors, method=method, normalize=normalize, progress=progress, **options
    )


def assign_rows(writer: Writer, embedding: Embedding) -> int:
    """Store the row of each word's vector, and return the number of wordless documents."""
    words = list(writer.all_words())
    rows = embedding.find([found.word for found in words])
    writer.set_word_rows({found.id: row for found, row in zip(words, rows.tolist(), strict=True) if row != found.row})
    known = {found.id for found, row in zip(words, rows.tolist(), strict=True) if row != UNKNOWN}
    with_known_word = {
        part.document_id
        for part in writer.counted_parts()
        if not known.isdisjoint(np.frombuffer(part.words, "<i4").tolist())
    }
    return writer.mark_wordless(sorted(with_known_word), writer.next_revision())


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
