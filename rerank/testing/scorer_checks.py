"""The contract of every scorer, as functions that raise AssertionError with the requirement that is not met.

A check takes the class of a scorer and its options; pytest is not needed.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.options import Option, check_options
from moverank.rerank.scorers import Scorer
from moverank.rerank.testing.assertions import Options, error_of, invalid_options, require
from moverank.rerank.testing.sample_counts import Counted, Counts

ScorerCheck = Callable[[type[Scorer], Options], None]

_CLOSE = 1e-9  # relative and absolute: scores of a document differ by rounding alone
_TERMS = tuple(f"t{i}" for i in range(12))
_UNSEEN = ("x0", "x1")
"""Terms that no document has; the first has a vector."""


def check_scorer(scorer: type[Scorer], options: Options | None = None) -> None:
    """Check the whole contract of a scorer with `options` of its `fit`; AssertionError names the fault."""
    for check in SCORER_CHECKS:
        check(scorer, options or {})


def sample_collections() -> Iterator[Counted]:
    """Yield counted texts: many, few, one, equal and empty ones, of whole and of fractional counts."""
    for seed, size in enumerate((1, 2, 5, 12, 40)):
        rng = np.random.default_rng(seed)
        known = [term for term in (*_TERMS, "x0") if rng.random() < 0.8]
        vectors = {term: rng.standard_normal(3).astype(np.float32) for term in known}
        documents = [_counts(rng) for _ in range(size)]
        yield Counted([*documents, documents[0], {}], vectors)


def _counts(rng: np.random.Generator) -> Counts:
    """Return the counts of a text; a quarter of them are fractional, as weights by rank are."""
    terms = rng.choice(_TERMS, rng.integers(0, 7), replace=False).tolist()
    whole = rng.random() < 0.75
    return {term: float(rng.integers(1, 5)) if whole else float(rng.uniform(0.01, 9)) for term in terms}


def sample_queries(collection: Counted) -> Iterator[Counts]:
    """Yield queries: texts of the collection, words of no text, a single word, and an empty query."""
    rng = np.random.default_rng(len(collection.documents))
    yield from (collection.documents[0], {"t1": 1.0}, dict.fromkeys(_UNSEEN, 2.0), {})
    yield from ({**_counts(rng), "x0": 1.0}, _counts(rng))


def _cases() -> Iterator[tuple[Counted, Counts]]:
    return ((collection, query) for collection in sample_collections() for query in sample_queries(collection))


def check_scorer_declarations(scorer: type[Scorer], options: Options) -> None:
    """Check the name, the options and the properties."""
    require(bool(scorer.name) and scorer.name.isidentifier(), f"name must be an identifier, not {scorer.name!r}")
    declared = all(isinstance(option, Option) for option in scorer.options)
    require(declared, "options must be a tuple of Integer, Number, Choice and Switch of moverank.rerank.options")
    check_options(scorer.name, scorer.options, options, ScorerError)
    for name in ("ascending", "needs_vectors"):
        require(isinstance(getattr(scorer, name), bool), f"{name} must be True or False, a variable of the class")


def check_scores(scorer: type[Scorer], options: Options) -> None:
    """Check that there is a finite float64 for each document, also without documents, and for empty queries."""
    for collection, query in (*_cases(), (Counted([], {"t1": np.ones(2, np.float32)}), {"t1": 1.0})):
        scores = collection.segment().score(scorer, options, query)
        require(scores.dtype == np.float64, f"score must return float64, not {scores.dtype}")
        expected = (len(collection.documents),)
        require(scores.shape == expected, f"score must return the shape (n,) {expected}, not {scores.shape}")
        require(bool(np.all(np.isfinite(scores))), "score returned a number that is not finite")


def check_unrelated(scorer: type[Scorer], options: Options) -> None:
    """Check that exactly the documents without a term of the query have the score `unrelated`, unless it is None."""
    for collection, query in _cases():
        segment = collection.segment()
        fitted = segment.fit(scorer, options)
        if fitted.unrelated is None:
            require(scorer.needs_vectors, "unrelated may be None only if words are compared by their vectors")
            continue
        scores = fitted.score(segment.query(query))
        shares = np.array([bool(query.keys() & document.keys()) for document in collection.documents])
        require(
            np.array_equal(scores != fitted.unrelated, shares),
            "all documents that share no term with the query, and no others, must have the score `unrelated`",
        )


def check_direction(scorer: type[Scorer], options: Options) -> None:
    """Check that a text ranks itself no worse than a text of other words, in the order that `ascending` names."""
    query = {"cat": 2.0, "mat": 1.0}
    vectors = {"cat": [1, 0, 0], "mat": [0.6, 0.8, 0], "law": [0, 0, 1], "tax": [0, -0.6, 0.8]}
    documents: list[Counts] = [{"law": 2.0, "tax": 1.0}, query, {"law": 1.0, "tax": 2.0}, {"law": 1.0}, {}]
    collection = Counted(documents, {word: np.array(row, np.float32) for word, row in vectors.items()})
    scores = collection.segment().score(scorer, options, query)
    best = np.argmin(scores) if scorer.ascending else np.argmax(scores)
    word = "smallest" if scorer.ascending else "largest"
    require(int(best) == 1, f"the {word} score must be that of the text itself, not of one with other words")


def check_segments(scorer: type[Scorer], options: Options) -> None:
    """Check that a document's score depends neither on its segment nor on the order of documents and terms."""
    for collection, query in _cases():
        whole = collection.segment().score(scorer, options, query)
        rows = list(range(len(collection.documents)))
        for cut in {0, 1, len(rows) // 2}:
            parts = [collection.segment(some, seed=cut) for some in (rows[:cut], rows[cut:])]
            found = np.concatenate([part.score(scorer, options, query) for part in parts])
            _require_close(found, whole, "in a segment of some documents of the collection")
        order = np.random.default_rng(0).permutation(len(rows)).tolist()
        backwards = {term: query[term] for term in reversed(list(query))}
        found = collection.segment(order, seed=9).score(scorer, options, backwards)
        _require_close(found, whole[order], "in another order of documents and terms")


def check_reproducible(scorer: type[Scorer], options: Options) -> None:
    """Check that scores have the same bits when they are computed again, by the same scorer and by a second one."""
    for collection, query in _cases():
        segment = collection.segment()
        fitted = segment.fit(scorer, options)
        first = fitted.score(segment.query(query)).tobytes()
        require(fitted.score(segment.query(query)).tobytes() == first, "score must not change the scorer")
        require(segment.score(scorer, options, query).tobytes() == first, "two fits must give the same scores")


def check_unseen_words(scorer: type[Scorer], options: Options) -> None:
    """Check that a word in no document and without a vector favours no document."""
    for collection in sample_collections():
        scores = collection.segment().score(scorer, options, {"x1": 2.0})
        require(bool(np.all(scores == scores[0])), "a word that no document has must give all the same score")


def check_invalid_scorer_options(scorer: type[Scorer], _options: Options) -> None:
    """Check that `fit` raises ScorerError for an unknown option and for invalid values."""
    segment = next(sample_collections()).segment()
    for name, text in invalid_options(scorer.options):
        error = error_of(lambda given: segment.fit(scorer, given), {name: text})
        what = f"fit must raise ScorerError for {name}={text}, as check_options does, not {error!r}"
        require(isinstance(error, ScorerError) and name in str(error), what)


SCORER_CHECKS: tuple[ScorerCheck, ...] = (
    check_scorer_declarations,
    check_scores,
    check_unrelated,
    check_direction,
    check_segments,
    check_reproducible,
    check_unseen_words,
    check_invalid_scorer_options,
)
"""Every part of the contract."""


def _require_close(scores: NDArray[np.float64], expected: NDArray[np.float64], where: str) -> None:
    close = np.allclose(scores, expected, rtol=_CLOSE, atol=_CLOSE)
    require(bool(close), f"a document's score must be the same {where}")
