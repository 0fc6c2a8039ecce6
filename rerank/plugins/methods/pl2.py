"""PL2 of the divergence-from-randomness models (Amati & van Rijsbergen 2002): Poisson counts as the null model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Number, Option, check_options
from moverank.rerank.scorers.postings import Postings
from moverank.rerank.scorers.scorer import Statistics, TermCounts, TermQuery

C = Number("c", 1.0, 0.001, 1000)

_LOWEST = 1 / 6
"""The x at which 1 / (12 x) + ln(2 pi x) / 2 is least."""


@dataclass(frozen=True, slots=True, eq=False)
class Pl2:
    """The score is the sum over the query's terms of `qtf * information / (tfn + 1)`, in bits.

    tfn = tf log2(1 + c avgdl / dl) is the count in a document of average length, lambda = F / N the term's mean count,
    and information is -log2 of the Poisson probability of tfn, with Stirling's series for the factorial:
    tfn log2(tfn / lambda) + (lambda + 1 / (12 tfn) - tfn) log2 e + log2(2 pi tfn) / 2.

    No term is negative, so none is clipped: tfn ln(tfn / lambda) + lambda - tfn >= 0, and the rest of the series is
    0.52 nats or more. Below tfn = 1/6 the rest would grow without bound, and a word that occurs once in a huge document
    would carry much information: there the rest is replaced by its minimum, the value at 1/6.
    """

    name: ClassVar[str] = "pl2"
    ascending: ClassVar[bool] = False
    needs_vectors: ClassVar[bool] = False
    options: ClassVar[tuple[Option, ...]] = (C,)

    impacts: Postings

    @classmethod
    def fit(cls, counts: TermCounts, statistics: Statistics, options: Mapping[str, str]) -> Self:
        """See `Scorer.fit`; the contribution of each term to each document is computed here."""
        check_options(cls.name, cls.options, options, ScorerError)
        raw = Postings.of(counts, statistics)
        lengths = raw.lengths
        # An empty document has no postings, so any length is right.
        relative = statistics.average_length / np.where(lengths > 0, lengths, 1.0)
        tfn = raw.values * (np.log1p(C.read(options) * relative) / np.log(2))[raw.documents]
        mean = raw.by_term(statistics.collection_frequencies / max(statistics.documents, 1))
        return cls(raw.with_values(_information(tfn, mean) / (tfn + 1)))

    @property
    def unrelated(self) -> float:
        """See `Scorer.unrelated`."""
        return 0.0

    def score(self, query: TermQuery) -> NDArray[np.float64]:
        """See `Scorer.score`."""
        return self.impacts.weighted_sums(query.terms, query.counts)


def _information(tfn: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the information (m,), in bits, of counts `tfn` (m,) > 0 with expected counts `mean` (m,) > 0."""
    series = np.maximum(tfn, _LOWEST)
    nats = tfn * np.log(tfn / mean) + mean - tfn
    nats += 1 / (12 * series) + np.log(2 * np.pi * series) / 2
    bits: NDArray[np.float64] = nats / np.log(2)
    return bits
