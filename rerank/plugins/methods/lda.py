"""Latent Dirichlet allocation: a document is a distribution over topics (Blei et al. 2003)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.encoder import SEED, Documents, EncoderState, Metric, known, part, training_sample
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Integer, Number, Option, check_options
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.runtime.gensim_log import gensim_imports, without_gensim_log

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def count_matrix(documents: Documents, word_ids: NDArray[np.int64]) -> "csr_array[np.float64, tuple[int, int]]":
    """Return the counts (n, w) of `word_ids` (w,), strictly increasing, in each document: weight * length."""
    from scipy.sparse import csr_array  # 0.2 s

    bags = known(documents, word_ids)
    counts = bags.weights * np.repeat(documents.lengths, np.diff(bags.starts))
    return csr_array((counts, bags.words, bags.starts), shape=(len(bags), len(word_ids)))


TOPICS = Integer("topics", 100, 1, 2000)
PASSES = Integer("passes", 5, 1, 1000)
CHUNK = Integer("chunk", 2000, 0, 10**9)
ITERATIONS = Integer("iterations", 50, 1, 10_000)
ALPHA = Number("alpha", 0, 0, 1000)
ETA = Number("eta", 0, 0, 1000)
WORDS = Integer("words", 50_000, 1, 10**9)
SAMPLE = Integer("sample", 10_000, 1, 10**9)

_TOLERANCE = 1e-3
"""Inference stops when gamma changes by less than this on average; gensim has the same threshold."""

_LEAST = 1e-250
"""Floor of probabilities: it prevents division by zero, and a count divided by it does not overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Lda:
    """Vectors are the square roots of the topics' expected shares, which are unit vectors, compared by inner product.

    This ranks documents as the Hellinger distance of the shares does. In the Euclidean distance of the shares, one
    large share would dominate all small ones.

    Options: `topics` K; `passes` over the documents; `chunk`, the number of documents for each update of the topics
    (online variational Bayes, Hoffman et al. 2010; 0 takes all, which is batch); the largest number of `iterations` for
    the inference of a document; Dirichlet priors `alpha` of a topic in a document and `eta` of a word in a topic (0
    stands for 1 / K); the largest number of `words` in the vocabulary and of documents in the training `sample`;
    `seed`. A document without known words gets the vector of the prior.
    """

    name: ClassVar[str] = "lda"
    metric: ClassVar[Metric] = "ip"
    options: ClassVar[tuple[Option, ...]] = (TOPICS, PASSES, CHUNK, ITERATIONS, ALPHA, ETA, WORDS, SAMPLE, SEED)

    word_ids: NDArray[np.int64]
    """(w,), strictly increasing."""
    exp_elog_beta: NDArray[np.float32]
    """(w, K) exp(E[log beta]), beta = p(word | topic), each row divided by its maximum: see `exp_elog_beta`."""
    alpha: NDArray[np.float64]
    """(K,) Dirichlet prior of the topics in a document."""
    iterations: int

    @property
    def dim(self) -> int:
        """Return the number of topics."""
        return len(self.alpha)

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`; gensim fits the topics."""
        check_options(cls.name, cls.options, options, EncoderError)
        limit, words, seed = (option.read(options) for option in (SAMPLE, WORDS, SEED))
        sample, word_ids = training_sample(documents, limit, words, seed)
        topics, alpha = _fit_topics(count_matrix(sample, word_ids), options)
        return cls(word_ids, exp_elog_beta(topics).astype(np.float32), alpha, ITERATIONS.read(options))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; the inference of each document starts from equal topics."""
        counts = count_matrix(documents, self.word_ids)
        vectors = np.empty((len(documents), self.dim), np.float32)
        for row, (start, stop) in enumerate(zip(counts.indptr[:-1], counts.indptr[1:], strict=True)):
            if row:
                check_time()
            of_words = self.exp_elog_beta[counts.indices[start:stop]].astype(np.float64)
            gamma = infer_topics(counts.data[start:stop], of_words, self.alpha, self.iterations, _TOLERANCE)
            vectors[row] = np.sqrt(gamma / gamma.sum())
        return vectors

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        return {
            "word_ids": self.word_ids,
            "exp_elog_beta": self.exp_elog_beta,
            "alpha": self.alpha,
            "iterations": np.array(self.iterations, np.int64),
        }

    @classmethod
    def restore(cls, state: EncoderState) -> Self:
        """See `Encoder.restore`."""
        word_ids, alpha = part(state, "word_ids", np.int64, (None,)), part(state, "alpha", np.float64, (None,))
        shape = (len(word_ids), len(alpha))
        beta = part(state, "exp_elog_beta", np.float32, shape)
        iterations = int(part(state, "iterations", np.int64, ()))
        if not (all(shape) and np.all(np.diff(word_ids) > 0) and np.all(alpha > 0) and iterations > 0):
            raise EncoderError("the state of lda needs increasing word ids, priors and iterations: fit it again")
        if not np.all(beta >= 0):
            raise EncoderError("'exp_elog_beta' of lda's state must not be negative: fit it again")
        return cls(word_ids, beta, alpha, iterations)


def exp_elog_beta(topics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(E[log beta]) (w, K) of Dirichlet parameters `topics` (K, w), each row divided by its maximum.

    beta is p(word | topic). The division prevents underflow for rare words; a factor of a row cancels in inference.
    """
    from scipy.special import psi

    expected = (psi(topics) - psi(topics.sum(axis=1, keepdims=True))).T
    scaled: NDArray[np.float64] = np.exp(expected - expected.max(axis=1, keepdims=True))
    return scaled


def infer_topics(
    counts: NDArray[np.float64],
    of_words: NDArray[np.float64],
    alpha: NDArray[np.float64],
    iterations: int,
    tolerance: float,
) -> NDArray[np.float64]:
    """Return the Dirichlet parameters gamma (K,) of a document's topics (Hoffman et al. 2010, eq. 5).

    `counts` (u,) belong to the document's words, `of_words` (u, K) are their rows of exp(E[log beta]), and `alpha` (K,)
    is the prior. Variational Bayes starts from equal topics and stops after `iterations`, or when gamma changes by less
    than `tolerance` on average.
    """
    from scipy.special import psi

    gamma, weights = np.ones(len(alpha)), np.ones(len(alpha))
    for _ in range(iterations):
        # einsum, not BLAS: its order of summation does not depend on the number of threads.
        share = np.maximum(np.einsum("uk,k->u", of_words, weights), _LEAST)
        before, gamma = gamma, alpha + weights * np.einsum("uk,u->k", of_words, counts / share)
        if np.abs(gamma - before).mean() < tolerance:
            break
        expected = psi(gamma)
        weights = np.exp(expected - expected.max())
    return gamma


def _fit_topics(
    counts: "csr_array[np.float64, tuple[int, int]]", options: Mapping[str, str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return gensim's topics (K, w), as Dirichlet parameters, and the prior (K,) of the topics."""
    with gensim_imports("fitting lda", 'use the encoder "lsi"'):
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
            gamma_threshold=_TOLERANCE,
            alpha=ALPHA.read(options) or 1 / topics,
            eta=ETA.read(options) or 1 / topics,
            eval_every=None,
            random_state=SEED.read(options),
            dtype=np.float64,  # in float32 the probabilities of rare words underflow to zero, and stay zero
        )
    return model.state.get_lambda(), model.alpha
