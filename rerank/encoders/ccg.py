"""Componential counting grid: a document is a distribution over locations of a grid (Perina et al. 2013)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.counting_grid import Reals, first_grid, infer, step, window_means
from moverank.rerank.encoders.counts import count_matrix, training_sample
from moverank.rerank.encoders.encoder import SEED, Documents, Metric, State, part
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Integer, Option, check_options

EXTENT = Integer("extent", 24, 1, 100)
WINDOW = Integer("window", 2, 1, 100)
ITERATIONS = Integer("iterations", 25, 1, 10_000)
STEPS = Integer("steps", 10, 1, 10_000)
WORDS = Integer("words", 20_000, 1, 10**9)
SAMPLE = Integer("sample", 10_000, 1, 10**9)


@dataclass(frozen=True, slots=True, eq=False)
class Ccg:
    """Vectors are the square roots of a document's shares of the locations: unit vectors, for the inner product.

    This ranks as the Hellinger distance of the shares does, as in `Lda`. Options: `extent` E of the grid, whose E * E
    locations are the dimensions of the vector; `window` W (the grid has room for about (E / W)^2 separate themes);
    `iterations` of expectation maximisation that fit the grid; `steps` that infer a document's shares (few, because
    shares that fit a single document best are concentrated on few locations, and no other document is near); the
    largest number of `words` in the vocabulary and of documents in the training `sample`; `seed`. A document without
    known words has equal shares.
    """

    name: ClassVar[str] = "ccg"
    metric: ClassVar[Metric] = "ip"
    options: ClassVar[tuple[Option, ...]] = (EXTENT, WINDOW, ITERATIONS, STEPS, WORDS, SAMPLE, SEED)

    word_ids: NDArray[np.int64]
    """(w,), strictly increasing."""
    windows: NDArray[np.float32]
    """(w, E * E) the probability of each word at each location."""
    steps: int

    @property
    def dim(self) -> int:
        """Return the number of locations."""
        return int(self.windows.shape[1])

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`; also raises EncoderError for a window larger than the grid."""
        check_options(cls.name, cls.options, options, EncoderError)
        extent, window, seed = EXTENT.read(options), WINDOW.read(options), SEED.read(options)
        if window > extent:
            raise EncoderError(f"window must be at most extent, which is {extent}, not {window}")
        sample, word_ids = training_sample(documents, SAMPLE.read(options), WORDS.read(options), seed)
        counts = count_matrix(sample, word_ids)
        grid: Reals = first_grid(np.asarray(counts.sum(axis=0)), extent**2, seed)
        theta: Reals = np.full((counts.shape[0], extent**2), 1 / extent**2, np.float32)
        for _ in range(ITERATIONS.read(options)):
            grid, theta, _ = step(counts, grid, theta, window)
        return cls(word_ids, window_means(grid, extent, window).astype(np.float32), STEPS.read(options))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; the inference of each document starts from equal shares."""
        counts = count_matrix(documents, self.word_ids)
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
            raise EncoderError("the state of ccg needs increasing word ids, probabilities and steps: fit it again")
        return cls(word_ids, windows, steps)
