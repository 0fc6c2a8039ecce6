"""Reference implementations of the scorers: plain loops over the formulas of the papers."""

import math
from collections.abc import Callable, Mapping, Sequence

from tests.naive import cosine, idf, length

Counts = Mapping[str, float]
"""The count of each term of a text."""
Vectors = Mapping[str, Sequence[float]]
"""The vectors of the terms that have one."""


def score(
    name: str, options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors
) -> list[float]:
    """Return the scores of all documents of a collection by the scorer `name`."""
    return _SCORERS[name](options, query, documents, vectors)


def _distance(options: Mapping[str, str], one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the distance of two vectors scaled to length 1; the largest one if a vector is empty."""
    l1 = options.get("norm", "l1") == "l1"
    if not one or not other:
        return 2.0 if l1 else math.sqrt(2)
    lengths = [math.fsum(weights.values()) if l1 else length([*weights.values()]) for weights in (one, other)]
    differences = [
        one.get(term, 0) / lengths[0] - other.get(term, 0) / lengths[1] for term in one.keys() | other.keys()
    ]
    return math.fsum(map(abs, differences)) if l1 else length(differences)


def bow(options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors) -> list[float]:
    """Return the distances of normalised counts."""
    del vectors
    return [_distance(options, query, document) for document in documents]


def tfidf(options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors) -> list[float]:
    """Return the distances of normalised counts times idf."""
    del vectors

    def weighted(counts: Counts) -> dict[str, float]:
        return {
            term: count * idf(_document_frequency(term, documents), len(documents)) for term, count in counts.items()
        }

    return [_distance(options, weighted(query), weighted(document)) for document in documents]


def bm25(options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors) -> list[float]:
    """Return the scores of Okapi BM25."""
    del vectors
    k1, b, k3 = (float(options.get(name, default)) for name, default in (("k1", 1.2), ("b", 0.75), ("k3", math.inf)))
    average = _tokens(documents) / len(documents) if documents else 1

    def term_score(term: str, count: float, document: Counts) -> float:
        df, tf, dl = _document_frequency(term, documents), document[term], math.fsum(document.values())
        term_idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        weight = count if math.isinf(k3) else count * (k3 + 1) / (count + k3)
        return weight * term_idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / average))

    return [_shared_terms_sum(query, document, term_score) for document in documents]


def pl2(options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors) -> list[float]:
    """Return the divergence from a Poisson process."""
    del vectors
    c = float(options.get("c", 1))

    def term_score(term: str, count: float, document: Counts) -> float:
        average, dl = _tokens(documents) / len(documents), math.fsum(document.values())
        tfn = document[term] * math.log2(1 + c * average / dl)
        mean = _collection_frequency(term, documents) / len(documents)
        stirling = max(tfn, 1 / 6)
        information = (
            tfn * math.log2(tfn / mean)
            + (mean + 1 / (12 * stirling) - tfn) * math.log2(math.e)
            + 0.5 * math.log2(2 * math.pi * stirling)
        )
        return count * information / (tfn + 1)

    return [_shared_terms_sum(query, document, term_score) for document in documents]


def translation(
    options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors
) -> list[float]:
    """Return the log-likelihoods of the query, with each word translated from the words of the document."""
    mu, share, own = (float(options.get(name, value)) for name, value in (("mu", 1000), ("lambda", 0.5), ("self", 0)))
    vocabulary = {term for document in documents for term in document}
    normalisers = {u: math.fsum(_clipped_cosine(w, u, vectors) for w in vocabulary) for u in vocabulary}
    scores = []
    for document in documents:
        total, dl = 0.0, math.fsum(document.values())
        for term, count in query.items():
            frequency = _collection_frequency(term, documents)
            if not frequency and not _has_direction(term, vectors):
                continue
            background = (frequency or 1) / (_tokens(documents) or 1)
            translated = math.fsum(
                ((1 - own) * _clipped_cosine(term, u, vectors) / normalisers[u] + own * (term == u)) * tf / dl
                for u, tf in document.items()
            )
            if options.get("smoothing", "dirichlet") == "dirichlet":
                likelihood = dl / (dl + mu) * translated + mu / (dl + mu) * background
            else:
                likelihood = (1 - share) * translated + share * background
            total += count * math.log(likelihood)
        scores.append(total)
    return scores


def interpolation(
    options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors
) -> list[float]:
    """Return the interpolation of the cosine of counts with that of centroids."""
    alpha = float(options.get("alpha", 0.5))
    scores = []
    for document in documents:
        terms = sorted(query.keys() | document.keys())
        exact = cosine(*([counts.get(term, 0.0) for term in terms] for counts in (query, document)))
        one, other = _centroid(query, vectors), _centroid(document, vectors)
        scores.append((1 - alpha) * exact + alpha * (cosine(one, other) if one and other else 0.0))
    return scores


def _shared_terms_sum(query: Counts, document: Counts, term_score: Callable[[str, float, Counts], float]) -> float:
    """Return the sum of term_score(term, count in the query, document) over the terms that both contain."""
    total = 0.0
    for term, count in query.items():
        if term in document:
            total += term_score(term, count, document)
    return total


def _document_frequency(term: str, documents: Sequence[Counts]) -> int:
    return sum(term in document for document in documents)


def _collection_frequency(term: str, documents: Sequence[Counts]) -> float:
    return math.fsum(document.get(term, 0) for document in documents)


def _tokens(documents: Sequence[Counts]) -> float:
    return math.fsum(math.fsum(document.values()) for document in documents)


def _has_direction(term: str, vectors: Vectors) -> bool:
    return term in vectors and any(vectors[term])


def _clipped_cosine(one: str, other: str, vectors: Vectors) -> float:
    """Return max(cos, 0) of two words, 1 for the same word, 0 if one has no direction."""
    if one == other:
        return 1.0
    if not (_has_direction(one, vectors) and _has_direction(other, vectors)):
        return 0.0
    return max(cosine(vectors[one], vectors[other]), 0.0)


def _centroid(counts: Counts, vectors: Vectors) -> list[float] | None:
    """Return the sum of count * word vector, or None without vectors, or if they cancel out."""
    known = [(count, vectors[term]) for term, count in counts.items() if term in vectors]
    if not known:
        return None
    summed = [math.fsum(count * vector[i] for count, vector in known) for i in range(len(known[0][1]))]
    longest = math.fsum(count * length(vector) for count, vector in known)
    return summed if length(summed) > 1e-6 * longest else None


_SCORERS: Mapping[str, Callable[[Mapping[str, str], Counts, Sequence[Counts], Vectors], list[float]]] = {
    "bow": bow,
    "tfidf": tfidf,
    "bm25": bm25,
    "pl2": pl2,
    "translation": translation,
    "interpolation": interpolation,
}
