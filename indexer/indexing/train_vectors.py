"""Training word vectors on the collection's own texts, where it was given none."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from moverank.indexer.errors import UsageError
from moverank.indexer.progress import Progress
from moverank.indexer.store import Store, Writer
from moverank.indexer.vectors import train_lsi, train_vectors, training_options
from moverank.indexer.vectors.training_options import Method
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN

TRAINED = ("auto", "train", "lsi")
"""Sources of vectors that are no source: they are trained on the texts, once those are there."""

SMALL_CORPUS = 2_000_000
"""Words under which LSI is chosen: prediction-based vectors need more text than that to be better."""

_SENTENCE = 1000


def check_training(embedding: str, options: tuple[str, ...]) -> None:
    """Raise UsageError for options of training that cannot be meant with that source of vectors."""
    if embedding in ("train", "lsi"):
        _method(embedding, options)
    elif options:
        raise UsageError("options of training need --embedding train or --embedding lsi")


def _method(embedding: str, options: tuple[str, ...]) -> tuple[Method, dict[str, Any]]:
    """Return the method and its options; `method=cbow` among the options chooses between the two of word2vec."""
    if embedding == "lsi":
        return "lsi", training_options("lsi", options)
    named = [option.partition("=")[2] for option in options if option.startswith("method=")]
    rest = [option for option in options if not option.startswith("method=")]
    for method in ("skip-gram", "cbow"):
        if method == (named or ["skip-gram"])[-1]:
            return method, training_options(method, rest)
    raise UsageError(f"method={named[-1]}: method must be skip-gram or cbow")


def train(
    store: Store,
    directory: Path,
    embedding: str,
    options: tuple[str, ...],
    tokenizer: Tokenizer,
    *,
    normalize: bool,
    progress: Progress,
) -> tuple[str, Embedding]:
    """Train vectors on the stored texts into `directory`.

    `embedding` is "train", "lsi", or "auto": LSI for a small corpus. Returns which of the two it was, and the vectors.
    """
    if embedding == "auto":
        embedding = "lsi" if _word_count(store) < SMALL_CORPUS else "train"
    method, chosen = _method(embedding, options)
    if method == "lsi":
        trained = train_lsi(
            lambda: _documents(store, tokenizer), directory, normalize=normalize, progress=progress, **chosen
        )
    else:
        trained = train_vectors(
            lambda: _sentences(store, tokenizer),
            directory,
            method=method,
            normalize=normalize,
            progress=progress,
            **chosen,
        )
    return embedding, trained


def assign_rows(writer: Writer, embedding: Embedding) -> int:
    """Give every stored word the row of its vector, and return how many documents are wordless now."""
    words = list(writer.all_words())
    rows = embedding.find([found.word for found in words])
    writer.set_word_rows({found.id: row for found, row in zip(words, rows.tolist(), strict=True) if row != found.row})
    known = {found.id for found, row in zip(words, rows.tolist(), strict=True) if row != UNKNOWN}
    alive = {
        part.document_id
        for part in writer.counted_parts()
        if not known.isdisjoint(np.frombuffer(part.words, "<i4").tolist())
    }
    return writer.mark_wordless(sorted(alive), writer.next_revision())


def _word_count(store: Store) -> int:
    with store.reading() as reader:
        return sum(int(np.frombuffer(part.counts, "<i4").sum()) for part in reader.counted_parts())


def _documents(store: Store, tokenizer: Tokenizer) -> Iterator[Counter[str]]:
    with store.reading() as reader:
        for texts in reader.all_texts():
            yield tokenizer.count("\n".join(texts))


def _sentences(store: Store, tokenizer: Tokenizer) -> Iterator[list[str]]:
    """Give each document's words in order, in pieces that gensim does not cut off."""
    with store.reading() as reader:
        for texts in reader.all_texts():
            words = tokenizer.words("\n".join(texts))
            for start in range(0, len(words), _SENTENCE):
                yield words[start : start + _SENTENCE]
