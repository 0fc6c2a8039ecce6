"""Word vectors trained on the corpus by word2vec."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from moverank.indexer.errors import TooFewWords
from moverank.indexer.progress import Progress, silent
from moverank.indexer.vectors.gensim_pickle import chunks_of
from moverank.indexer.vectors.layout import open_vectors
from moverank.indexer.vectors.training_options import check_options
from moverank.indexer.vectors.vector_rows import VectorTable, word_label
from moverank.indexer.vectors.vectors_writer import vectors_directory, write_manifest, write_vectors
from moverank.rerank.runtime.gensim_log import without_gensim_log
from moverank.rerank.words.embedding import Embedding

# gensim silently drops the words of a sentence beyond this number.
_LONGEST_SENTENCE = 10_000
# Small corpora need many epochs: this many training words give usable vectors, in about half a minute.
_TRAINING_WORDS = 10_000_000


def train_vectors(
    sentences: Callable[[], Iterable[list[str]]],
    directory: Path,
    *,
    method: Literal["skip-gram", "cbow"] = "skip-gram",
    dim: int = 100,
    window: int = 5,
    negative: int = 5,
    subsample: float = 1e-3,
    min_count: int = 2,
    epochs: int | None = None,
    seed: int = 1,
    normalize: bool = True,
    progress: Progress = silent,
) -> Embedding:
    """Train vectors by word2vec with negative sampling (Mikolov et al. 2013), write them to `directory`, and open them.

    One worker and a `seed` make the result reproducible. Raises TooFewWords if the corpus is too small, UsageError for
    an option out of its range.

    `sentences` is called once for each pass over the corpus; `directory` is created or replaced. `method` is the model,
    `dim` the dimension, `window` the largest distance between a word and a word of its context, `negative` the number
    of noise words for each word, `subsample` the threshold for subsampling frequent words (0: none). Words that occur
    fewer than `min_count` times get no vector. `epochs` None: enough for ten million training words, from 5 to 20.
    `normalize` scales vectors to unit length; `progress` is called after each epoch.
    """
    options: dict[str, int | float] = {"dim": dim, "window": window, "negative": negative, "subsample": subsample}
    options |= {"min_count": min_count, "seed": seed}
    check_options(method, options if epochs is None else {**options, "epochs": epochs})
    with vectors_directory(directory) as temporary, without_gensim_log:
        vectors, epochs = _train(_Sentences(sentences), method, options, epochs, progress)
        chunks = chunks_of(vectors.index_to_key, vectors.vectors)
        table = VectorTable("trained", dim, len(vectors), word_label, chunks)
        sizes = write_vectors(temporary, table, "the training", normalize=normalize)
        training = {"method": method, **options, "epochs": epochs}
        write_manifest(temporary, {**sizes, "source": "train", "training": training})
    return open_vectors(directory)


def _train(
    sentences: "_Sentences", method: str, options: dict[str, int | float], epochs: int | None, progress: Progress
) -> tuple[Any, int]:
    """Return gensim's vectors and the number of epochs."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=options["dim"], window=options["window"], negative=options["negative"], sample=options["subsample"],
        min_count=options["min_count"], seed=options["seed"], sg=int(method == "skip-gram"), hs=0, workers=1,
    )  # fmt: skip
    progress("Counting words", 0, None, "words")
    model.build_vocab(corpus_iterable=sentences)
    if not len(model.wv):
        raise TooFewWords(
            f"no word occurs {options['min_count']} times in the corpus: "
            "vectors cannot be trained on it; index more text, or name a file of word vectors"
        )
    total = model.corpus_total_words
    epochs = epochs or min(max(-(-_TRAINING_WORDS // total), 5), 20)
    progress("Training vectors", 0, epochs, "epochs")
    model.train(sentences, total_words=total, epochs=epochs, callbacks=[_callback(epochs, progress)])
    return model.wv, epochs


def _callback(epochs: int, progress: Progress) -> Any:
    from gensim.models.callbacks import CallbackAny2Vec

    class EpochProgress(CallbackAny2Vec):  # type: ignore[misc]  # gensim ships no types
        """Reports each completed epoch."""

        done = 0

        def on_epoch_end(self, model: Any) -> None:  # noqa: ARG002 - gensim's signature
            self.done += 1
            progress("Training vectors", self.done, epochs, "epochs")

    return EpochProgress()


class _Sentences:
    """The corpus as gensim requires it: iterable repeatedly, without sentences longer than gensim's limit."""

    def __init__(self, sentences: Callable[[], Iterable[list[str]]]) -> None:
        self._sentences = sentences

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in self._sentences():
            for start in range(0, len(sentence), _LONGEST_SENTENCE):
                yield sentence[start : start + _LONGEST_SENTENCE]
