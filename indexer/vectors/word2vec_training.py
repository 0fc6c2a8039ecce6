"""Word vectors trained on the corpus by word2vec, and the options of training with their ranges."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from moverank.indexer.errors import TooFewWords, UsageError
from moverank.indexer.values.search_options import Progress, silent
from moverank.indexer.vectors.formats.gensim_pickle import chunks_of
from moverank.indexer.vectors.formats.word2vec import VectorTable, word_label
from moverank.indexer.vectors.open_vectors import open_vectors
from moverank.indexer.vectors.vectors_writer import vectors_directory, write_manifest, write_vectors
from moverank.rerank.errors import OptionError
from moverank.rerank.options import key_values
from moverank.rerank.runtime.gensim_log import gensim_imports, without_gensim_log
from moverank.rerank.words.embedding import Embedding

TrainingMethod = Literal["skip-gram", "cbow", "lsi"]


@dataclass(frozen=True, slots=True)
class _Number:
    kind: type[int] | type[float]
    default: float | None
    low: float
    high: float = math.inf

    def __str__(self) -> str:
        kind = "a whole number" if self.kind is int else "a number"
        return f"{kind} of {self.low} or more" + (f", at most {self.high:.10g}" if self.high < math.inf else "")


_LSI = {"dim": _Number(int, None, 1, 10_000), "min_count": _Number(int, 1, 1), "seed": _Number(int, 1, 0, 2**32 - 1)}
_WORD2VEC = {
    **_LSI,
    "dim": _Number(int, 100, 1, 10_000),
    "min_count": _Number(int, 2, 1),
    "window": _Number(int, 5, 1, 10_000),
    "negative": _Number(int, 5, 1, 1_000),
    "subsample": _Number(float, 1e-3, 0, 1),
    "epochs": _Number(int, None, 1),
}
_OPTIONS = {"skip-gram": _WORD2VEC, "cbow": _WORD2VEC, "lsi": _LSI}


def training_options(method: str, pairs: Sequence[str]) -> dict[str, int | float]:
    """Parse options typed as `KEY=VALUE` for `train_vectors` or `train_lsi`. Raises UsageError."""
    known = _known_options(method)
    options: dict[str, int | float] = {}
    for pair in pairs:
        try:
            [(key, text)] = key_values([pair]).items()
            number = known[key]
        except (OptionError, KeyError):
            raise UsageError(
                f"{pair!r} is no option of {method} training: write KEY=VALUE with {', '.join(known)}"
            ) from None
        try:
            options[key] = number.kind(text)
        except ValueError:
            raise UsageError(f"{pair!r}: {key} must be {number}") from None
    checked_options(method, options)
    return options


def checked_options(method: str, options: Mapping[str, float]) -> dict[str, Any]:
    """Return all options of training, by default as in `_OPTIONS`; UsageError for a value out of its range."""
    known = _known_options(method)
    for key, value in options.items():
        number = known[key]
        if not number.low <= value <= number.high:
            raise UsageError(f"{key}={value}: {key} must be {number}")
    return {name: number.default for name, number in known.items()} | dict(options)


def _known_options(method: str) -> Mapping[str, _Number]:
    if method not in _OPTIONS:
        raise UsageError(f"there is no training by {method!r}: choose one of {', '.join(_OPTIONS)}")
    return _OPTIONS[method]


# gensim silently drops the words of a sentence beyond this number.
_LONGEST_SENTENCE = 10_000
# Small corpora need many epochs: this many training words give usable vectors, in about half a minute.
_TRAINING_WORDS = 10_000_000


def train_vectors(
    sentences: Callable[[], Iterable[list[str]]],
    directory: Path,
    *,
    method: Literal["skip-gram", "cbow"] = "skip-gram",
    normalize: bool = True,
    progress: Progress = silent,
    **options: float,
) -> Embedding:
    """Train vectors by word2vec with negative sampling (Mikolov et al. 2013), write them to `directory`, and open them.

    One worker and a `seed` make the result reproducible. Raises TooFewWords if the corpus is too small, UsageError for
    an option out of its range.

    `sentences` is called once for each pass over the corpus; `directory` is created or replaced. `method` is the model,
    `normalize` scales vectors to unit length; `progress` is called after each epoch. Of the `options`, `dim` is the
    dimension, `window` the largest distance between a word and a word of its context, `negative` the number of noise
    words for each word, `subsample` the threshold for subsampling frequent words (0: none). Words that occur fewer than
    `min_count` times get no vector. Without `epochs`: enough for ten million training words, from 5 to 20.
    """
    chosen = checked_options(method, options)
    with vectors_directory(directory) as temporary, without_gensim_log:
        vectors, epochs = _train(_Sentences(sentences), method, chosen, progress)
        chunks = chunks_of(vectors.index_to_key, vectors.vectors)
        table = VectorTable("trained", chosen["dim"], len(vectors), word_label, chunks)
        sizes = write_vectors(temporary, table, "the training", normalize=normalize)
        training = {"method": method, **chosen, "epochs": epochs}
        write_manifest(temporary, {**sizes, "source": "train", "training": training})
    return open_vectors(directory)


def _train(sentences: "_Sentences", method: str, options: dict[str, Any], progress: Progress) -> tuple[Any, int]:
    """Return gensim's vectors and the number of epochs."""
    with gensim_imports(f"{method} training", 'train by "lsi", or name a file of word vectors'):
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
    epochs = options["epochs"] or min(max(-(-_TRAINING_WORDS // total), 5), 20)
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
