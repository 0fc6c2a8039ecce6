"""Word vectors learned from the corpus by word2vec."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from moverank.indexer.errors import TooFewWords
from moverank.indexer.files.atomic_directory import building
from moverank.indexer.progress import Progress, silent
from moverank.indexer.vectors.gensim_pickle import rows_of
from moverank.indexer.vectors.layout import open_vectors
from moverank.indexer.vectors.training_options import check_options
from moverank.indexer.vectors.vector_rows import Table, word_number
from moverank.indexer.vectors.vectors_writer import write_about, write_vectors
from moverank.rerank.runtime.gensim_log import without_gensim_log
from moverank.rerank.words.embedding import Embedding

# gensim silently drops what goes beyond this in a sentence.
_LONGEST_SENTENCE = 10_000
# Few texts need many rounds, many texts few: as many words as give usable vectors in about half a minute.
_WORDS_WANTED = 10_000_000


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
    """Train vectors on the words of `sentences`, which is called anew for each round, into `directory`, and open them.

    Negative sampling and subsampling of frequent words (Mikolov et al. 2013). Words that occur fewer than `min_count`
    times get no vector. `epochs` None: as many rounds as make ten million words, at least 5 and at most 20. One worker
    and a `seed` make the result the same every time. Raises VectorsError where the corpus is too small, UsageError for
    an option out of its range.
    """
    options: dict[str, int | float] = {"dim": dim, "window": window, "negative": negative, "subsample": subsample}
    options |= {"min_count": min_count, "seed": seed}
    check_options(method, options if epochs is None else {**options, "epochs": epochs})
    with building(directory) as folder, without_gensim_log:
        vectors, rounds = _trained(_Sentences(sentences), method, options, epochs, progress)
        chunks = rows_of(vectors.index_to_key, vectors.vectors)
        table = Table("trained", dim, len(vectors), word_number, chunks)
        sizes = write_vectors(folder, table, "the training", normalize=normalize)
        training = {"method": method, **options, "epochs": rounds}
        write_about(folder, {**sizes, "source": "train", "training": training})
    return open_vectors(directory)


def _trained(
    sentences: "_Sentences", method: str, options: dict[str, int | float], epochs: int | None, progress: Progress
) -> tuple[Any, int]:
    """Return gensim's vectors and the number of rounds."""
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
    rounds = epochs or min(max(-(-_WORDS_WANTED // total), 5), 20)
    progress("Training vectors", 0, rounds, "epochs")
    model.train(sentences, total_words=total, epochs=rounds, callbacks=[_callback(rounds, progress)])
    return model.wv, rounds


def _callback(rounds: int, progress: Progress) -> Any:
    from gensim.models.callbacks import CallbackAny2Vec

    class Rounds(CallbackAny2Vec):  # type: ignore[misc]
        """Tells of each round that is done."""

        done = 0

        def on_epoch_end(self, model: Any) -> None:  # noqa: ARG002 - gensim's signature
            self.done += 1
            progress("Training vectors", self.done, rounds, "epochs")

    return Rounds()


class _Sentences:
    """The corpus as gensim wants it: started anew for each round, no sentence longer than gensim takes."""

    def __init__(self, sentences: Callable[[], Iterable[list[str]]]) -> None:
        self._sentences = sentences

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in self._sentences():
            for start in range(0, len(sentence), _LONGEST_SENTENCE):
                yield sentence[start : start + _LONGEST_SENTENCE]
