"""Slow twins of the scorers: loops over the formulas, to be read beside the papers."""

import math
from collections.abc import Callable, Mapping, Sequence

Counts = Mapping[str, float]
"""How often a text holds each term."""
Vectors = Mapping[str, Sequence[float]]
"""The vectors of the terms that have one."""


def score(
    name: str, options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors
) -> list[float]:
    """Score every document of a collection by a scorer's name."""
    return _SCORERS[name](options, query, documents, vectors)


def _lengths(options: Mapping[str, str], weights: Mapping[str, float]) -> float:
    if options.get("norm", "l1") == "l1":
        return math.fsum(weights.values())
    return math.sqrt(math.fsum(weight**2 for weight in weights.values()))


def _distance(options: Mapping[str, str], one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the distance of two vectors of length 1, or of what shares nothing where one is empty."""
    l1 = options.get("norm", "l1") == "l1"
    if not one or not other:
        return 2.0 if l1 else math.sqrt(2)
    lengths = _lengths(options, one), _lengths(options, other)
    differences = [
        one.get(term, 0) / lengths[0] - other.get(term, 0) / lengths[1] for term in one.keys() | other.keys()
    ]
    if l1:
        return math.fsum(abs(difference) for difference in differences)
    return math.sqrt(math.fsum(difference**2 for difference in differences))


def bow(options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors) -> list[float]:
    """Return the distances of normalised counts."""
    del vectors
    return [_distance(options, query, document) for document in documents]


def tfidf(options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors) -> list[float]:
    """Return the distances of normalised counts times idf."""
    del vectors

    def weighted(counts: Counts) -> dict[str, float]:
        return {
            term: count * (math.log((1 + len(documents)) / (1 + _document_frequency(term, documents))) + 1)
            for term, count in counts.items()
        }

    return [_distance(options, weighted(query), weighted(document)) for document in documents]


def bm25(options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors) -> list[float]:
    """Return Okapi's scores."""
    del vectors
    k1, b, k3 = (float(options.get(name, default)) for name, default in (("k1", 1.2), ("b", 0.75), ("k3", math.inf)))
    average = _tokens(documents) / len(documents) if documents else 1
    scores = []
    for document in documents:
        total = 0.0
        for term, asked in query.items():
            if term not in document:
                continue
            df, tf, dl = _document_frequency(term, documents), document[term], math.fsum(document.values())
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            weight = asked if math.isinf(k3) else asked * (k3 + 1) / (asked + k3)
            total += weight * idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / average))
        scores.append(total)
    return scores


def pl2(options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors) -> list[float]:
    """Return the divergence from a Poisson process."""
    del vectors
    c = float(options.get("c", 1))
    scores = []
    for document in documents:
        total = 0.0
        for term, asked in query.items():
            if term not in document:
                continue
            average, dl = _tokens(documents) / len(documents), math.fsum(document.values())
            tfn = document[term] * math.log2(1 + c * average / dl)
            mean = _collection_frequency(term, documents) / len(documents)
            stirling = max(tfn, 1 / 6)
            information = (
                tfn * math.log2(tfn / mean)
                + (mean + 1 / (12 * stirling) - tfn) * math.log2(math.e)
                + 0.5 * math.log2(2 * math.pi * stirling)
            )
            total += asked * information / (tfn + 1)
        scores.append(total)
    return scores


def translation(
    options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors
) -> list[float]:
    """Return the log-likelihood of the query, each word said in any words."""
    mu, share, own = (float(options.get(name, value)) for name, value in (("mu", 1000), ("lambda", 0.5), ("self", 0)))
    vocabulary = {term for document in documents for term in document}
    normalisers = {u: math.fsum(_cosine(w, u, vectors) for w in vocabulary) for u in vocabulary}
    scores = []
    for document in documents:
        total, dl = 0.0, math.fsum(document.values())
        for term, asked in query.items():
            seen = _collection_frequency(term, documents)
            if not seen and not _has_direction(term, vectors):
                continue
            chance = (seen or 1) / (_tokens(documents) or 1)
            said = math.fsum(
                ((1 - own) * _cosine(term, u, vectors) / normalisers[u] + own * (term == u)) * tf / dl
                for u, tf in document.items()
            )
            if options.get("smoothing", "dirichlet") == "dirichlet":
                likely = dl / (dl + mu) * said + mu / (dl + mu) * chance
            else:
                likely = (1 - share) * said + share * chance
            total += asked * math.log(likely)
        scores.append(total)
    return scores


def interpolation(
    options: Mapping[str, str], query: Counts, documents: Sequence[Counts], vectors: Vectors
) -> list[float]:
    """Return the cosine of counts joined with that of centroids."""
    alpha = float(options.get("alpha", 0.5))
    scores = []
    for document in documents:
        product = math.fsum(count * document.get(term, 0) for term, count in query.items())
        squares = [math.fsum(count**2 for count in counts.values()) for counts in (query, document)]
        exact = product / math.sqrt(squares[0] * squares[1]) if all(squares) else 0.0
        one, other = _centroid(query, vectors), _centroid(document, vectors)
        meaning = 0.0
        if one and other:
            meaning = math.fsum(x * y for x, y in zip(one, other, strict=True)) / (_length(one) * _length(other))
        scores.append((1 - alpha) * exact + alpha * meaning)
    return scores


def _document_frequency(term: str, documents: Sequence[Counts]) -> int:
    return sum(term in document for document in documents)


def _collection_frequency(term: str, documents: Sequence[Counts]) -> float:
    return math.fsum(document.get(term, 0) for document in documents)


def _tokens(documents: Sequence[Counts]) -> float:
    return math.fsum(math.fsum(document.values()) for document in documents)


def _length(vector: Sequence[float]) -> float:
    return math.sqrt(math.fsum(x * x for x in vector))


def _has_direction(term: str, vectors: Vectors) -> bool:
    return term in vectors and any(vectors[term])


def _cosine(one: str, other: str, vectors: Vectors) -> float:
    """Return max(cos, 0) of two words, 1 for the same word, 0 where one has no direction."""
    if one == other:
        return 1.0
    if not (_has_direction(one, vectors) and _has_direction(other, vectors)):
        return 0.0
    product = math.fsum(x * y for x, y in zip(vectors[one], vectors[other], strict=True))
    return max(product / (_length(vectors[one]) * _length(vectors[other])), 0.0)


def _centroid(counts: Counts, vectors: Vectors) -> list[float] | None:
    """Return the sum of word vectors by count, or None where there are none or they cancel out."""
    known = [(count, vectors[term]) for term, count in counts.items() if term in vectors]
    if not known:
        return None
    summed = [math.fsum(count * vector[i] for count, vector in known) for i in range(len(known[0][1]))]
    whole = math.fsum(count * _length(vector) for count, vector in known)
    return summed if _length(summed) > 1e-6 * whole else None


_SCORERS: Mapping[str, Callable[[Mapping[str, str], Counts, Sequence[Counts], Vectors], list[float]]] = {
    "bow": bow,
    "tfidf": tfidf,
    "bm25": bm25,
    "pl2": pl2,
    "translation": translation,
    "interpolation": interpolation,
}
