"""Componential counting grid: a document is where it lies on a grid of words (Perina et al. 2013)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.counting_grid import Reals, first_grid, infer, step, window_means
from moverank.rerank.encoders.counts import counted, frequent_words
from moverank.rerank.encoders.encoder import Documents, Metric, State, part, sample_rows
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Option, Whole, check_options

EXTENT = Whole("extent", 24, 1, 100)
WINDOW = Whole("window", 2, 1, 100)
ITERATIONS = Whole("iterations", 25, 1, 10_000)
STEPS = Whole("steps", 10, 1, 10_000)
WORDS = Whole("words", 20_000, 1, 10**9)
SAMPLE = Whole("sample", 10_000, 1, 10**9)
SEED = Whole("seed", 0, 0, 2**32 - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Ccg:
    """Vectors are the square roots of a document's shares of the grid's locations: unit vectors, for the inner product.

    That is the order of the Hellinger distance, as with `Lda`. Options: `extent` E of the grid, whose E * E locations
    are the vector's length, `window` W (the grid has room for about (E / W)^2 separate themes), `iterations` of
    expectation maximisation to learn the grid, `steps` of it to find a document's shares on it (few: the best fit to
    one document alone is too sharp to be near any other), `words` that are known at most, `sample` documents to learn
    from at most, `seed`. A document without known words lies everywhere alike.
    """

    name: ClassVar[str] = "ccg"
    metric: ClassVar[Metric] = "ip"
    options: ClassVar[tuple[Option, ...]] = (EXTENT, WINDOW, ITERATIONS, STEPS, WORDS, SAMPLE, SEED)

    word_ids: NDArray[np.int64]
    """(w,), increasing."""
    windows: NDArray[np.float32]
    """(w, E * E) the probability of each word at each location."""
    steps: int

    @property
    def dim(self) -> int:
        """Return the number of locations."""
        return int(self.windows.shape[1])

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`; raises EncoderError for a window larger than the grid, too."""
        check_options(cls.name, cls.options, options, EncoderError)
        extent, window, seed = EXTENT.read(options), WINDOW.read(options), SEED.read(options)
        if window > extent:
            raise EncoderError(f"window must be at most extent, which is {extent}, not {window}")
        learned_from = documents.take(sample_rows(len(documents), SAMPLE.read(options), seed))
        word_ids = frequent_words(learned_from, WORDS.read(options))
        counts = counted(learned_from, word_ids)
        grid: Reals = first_grid(np.asarray(counts.sum(axis=0)), extent**2, seed)
        theta: Reals = np.full((counts.shape[0], extent**2), 1 / extent**2, np.float32)
        for _ in range(ITERATIONS.read(options)):
            grid, theta, _ = step(counts, grid, theta, window)
        return cls(word_ids, window_means(grid, extent, window).astype(np.float32), STEPS.read(options))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; each document is placed by itself, from the same start."""
        counts = counted(documents, self.word_ids)
        vectors = np.empty((len(documents), self.dim), np.float32)
        for row, (start, stop) in enumerate(zip(counts.indptr[:-1], counts.indptr[1:], strict=True)):
            of_words = self.windows[counts.indices[start:stop]].astype(np.float64)
            vectors[row] = np.sqrt(infer(counts.data[start:stop], of_words, self.steps))
        return vectors

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        return {"word_ids": self.word_ids, "windows": self.windows, "steps": np.array(self.steps, np.int64)}

    @classmethod
    def restore(cls, state: State) -> Self:
        """See `Encoder.restore`."""
        word_ids = part(state, "word_ids", np.int64, (None,))
        windows = part(state, "windows", np.float32, (len(word_ids), None))
        steps = int(part(state, "steps", np.int64, ()))
        if not (windows.size and np.all(np.diff(word_ids) > 0) and np.all(windows >= 0) and steps > 0):
            raise EncoderError("the state of ccg needs words that increase, probabilities and steps: fit it again")
        return cls(word_ids, windows, steps)
