"""Latent Dirichlet allocation: a document is the shares that topics have in it (Blei et al. 2003)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.counts import counted, frequent_words
from moverank.rerank.encoders.encoder import Documents, Metric, State, part, sample_rows
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Number, Option, Whole, check_options
from moverank.rerank.runtime.gensim_log import without_gensim_log

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TOPICS = Whole("topics", 100, 1, 2000)
PASSES = Whole("passes", 5, 1, 1000)
CHUNK = Whole("chunk", 2000, 0, 10**9)
ITERATIONS = Whole("iterations", 50, 1, 10_000)
ALPHA = Number("alpha", 0, 0, 1000)
ETA = Number("eta", 0, 0, 1000)
WORDS = Whole("words", 50_000, 1, 10**9)
SAMPLE = Whole("sample", 10_000, 1, 10**9)
SEED = Whole("seed", 0, 0, 2**32 - 1)

_SETTLED = 1e-3
"""Inference ends when topics gain or lose fewer words than this on average: gensim's threshold, too."""

_LEAST = 1e-250
"""Added to no probability, but a floor of it: no division by zero, and no count over it overflows."""


@dataclass(frozen=True, slots=True, eq=False)
class Lda:
    """Vectors are the square roots of the topics' expected shares, which are unit vectors, compared by inner product.

    That is the order of the Hellinger distance, made for distributions: by the Euclidean distance of the shares
    themselves, one large share hides all small ones.

    Options: `topics` K, `passes` over the documents, `chunk` documents for each update of the topics (online
    variational Bayes, Hoffman et al. 2010; 0 takes all, which is batch), `iterations` at most for the inference of a
    document, Dirichlet priors `alpha` of a topic in a document and `eta` of a word in a topic (0 stands for 1 / K),
    `words` that are known at most, `sample` documents to learn from at most, `seed`. A document without known words
    gets the prior's vector.
    """

    name: ClassVar[str] = "lda"
    metric: ClassVar[Metric] = "ip"
    options: ClassVar[tuple[Option, ...]] = (TOPICS, PASSES, CHUNK, ITERATIONS, ALPHA, ETA, WORDS, SAMPLE, SEED)

    word_ids: NDArray[np.int64]
    """(w,), increasing."""
    leanings: NDArray[np.float32]
    """(w, K) exp(E[log p(word | topic)]), each word relative to its largest: inference needs no more."""
    alpha: NDArray[np.float64]
    """(K,) prior of the topics in a document."""
    iterations: int

    @property
    def dim(self) -> int:
        """Return the number of topics."""
        return len(self.alpha)

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`; gensim learns the topics."""
        check_options(cls.name, cls.options, options, EncoderError)
        rows = sample_rows(len(documents), SAMPLE.read(options), SEED.read(options))
        learned_from = documents.take(rows)
        word_ids = frequent_words(learned_from, WORDS.read(options))
        topics, alpha = _learn(counted(learned_from, word_ids), options)
        return cls(word_ids, leanings(topics).astype(np.float32), alpha, ITERATIONS.read(options))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; each document is inferred by itself, from the same start."""
        counts = counted(documents, self.word_ids)
        vectors = np.empty((len(documents), self.dim), np.float32)
        for row, (start, stop) in enumerate(zip(counts.indptr[:-1], counts.indptr[1:], strict=True)):
            of_words = self.leanings[counts.indices[start:stop]].astype(np.float64)
            gamma = infer(counts.data[start:stop], of_words, self.alpha, self.iterations, _SETTLED)
            vectors[row] = np.sqrt(gamma / gamma.sum())
        return vectors

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        return {
            "word_ids": self.word_ids,
            "leanings": self.leanings,
            "alpha": self.alpha,
            "iterations": np.array(self.iterations, np.int64),
        }

    @classmethod
    def restore(cls, state: State) -> Self:
        """See `Encoder.restore`."""
        word_ids, alpha = part(state, "word_ids", np.int64, (None,)), part(state, "alpha", np.float64, (None,))
        shape = (len(word_ids), len(alpha))
        learned = part(state, "leanings", np.float32, shape)
        iterations = int(part(state, "iterations", np.int64, ()))
        if not (all(shape) and np.all(np.diff(word_ids) > 0) and np.all(alpha > 0) and iterations > 0):
            raise EncoderError("the state of lda needs words that increase, priors and iterations: fit it again")
        if not np.all(learned >= 0):
            raise EncoderError("the leanings of lda's state must not be negative: fit it again")
        return cls(word_ids, learned, alpha, iterations)


def leanings(topics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(E[log p(word | topic)]) (w, K) of topics (K, w), Dirichlet parameters, each word over its largest.

    A factor of a word's row cancels in inference, and without it rare words underflow.
    """
    from scipy.special import psi

    expected = (psi(topics) - psi(topics.sum(axis=1, keepdims=True))).T
    scaled: NDArray[np.float64] = np.exp(expected - expected.max(axis=1, keepdims=True))
    return scaled


def infer(
    counts: NDArray[np.float64],
    of_words: NDArray[np.float64],
    alpha: NDArray[np.float64],
    iterations: int,
    settled: float,
) -> NDArray[np.float64]:
    """Return the Dirichlet parameters (K,) of a document's topics by variational Bayes (Hoffman et al. 2010, eq. 5).

    `counts` (u,) of its words, `of_words` (u, K) their leanings, `alpha` (K,). It starts with all topics equal and
    ends after `iterations`, or when gamma changes by less than `settled` on average.
    """
    from scipy.special import psi

    gamma, weights = np.ones(len(alpha)), np.ones(len(alpha))
    for _ in range(iterations):
        # einsum, not BLAS: the sums are taken in one order, whatever the number of threads.
        share = np.maximum(np.einsum("uk,k->u", of_words, weights), _LEAST)
        before, gamma = gamma, alpha + weights * np.einsum("uk,u->k", of_words, counts / share)
        if np.abs(gamma - before).mean() < settled:
            break
        expected = psi(gamma)
        weights = np.exp(expected - expected.max())
    return gamma


def _learn(
    counts: "csr_array[np.float64, tuple[int, int]]", options: Mapping[str, str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the topics (K, w), as Dirichlet parameters, and the prior of topics (K,) that gensim finds."""
    from gensim.matutils import Sparse2Corpus  # over a second
    from gensim.models import LdaModel
    from gensim.utils import FakeDict

    topics, chunk = TOPICS.read(options), CHUNK.read(options)
    with without_gensim_log:
        model = LdaModel(
            Sparse2Corpus(counts, documents_columns=False),
            num_topics=topics,
            id2word=FakeDict(counts.shape[1]),
            passes=PASSES.read(options),
            chunksize=chunk or counts.shape[0],
            update_every=1 if chunk else 0,
            iterations=ITERATIONS.read(options),
            gamma_threshold=_SETTLED,
            alpha=ALPHA.read(options) or 1 / topics,
            eta=ETA.read(options) or 1 / topics,
            eval_every=None,
            random_state=SEED.read(options),
            dtype=np.float64,  # in float32 the leanings of rare words underflow, and such words are lost for good
        )
    return model.state.get_lambda(), model.alpha
