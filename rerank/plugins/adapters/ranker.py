"""The ranker behind every adapter: it is loaded once, ranks texts, and reports how each got its place.

Texts, or rows of numbers with a word vector for each column, are scikit-learn's X. An adapter whose host is
not installed raises an error that names the pip line.
"""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moverank.rerank.bags.bag import Bag
from moverank.rerank.errors import BagError, EmbeddingError, MissingExtra, OptionError
from moverank.rerank.plugins.adapters.document_bags import Known
from moverank.rerank.ranking import Highlight, Hit, Passage, Ranking
from moverank.rerank.words.embedding import Embedding, unusable_rows
from moverank.rerank.words.tokenizer import StopWords, tokenizer_of

_Loaded = TypeVar("_Loaded")


class LoadedOnce(Generic[_Loaded]):
    """The object `given`, or, if it is a path, the object that `load` makes of it, once for all threads.

    Pickled by its path, and loaded again by the process that unpickles it.
    """

    def __init__(self, given: _Loaded | str | os.PathLike[str], load: Callable[[str], _Loaded]) -> None:
        self._given, self._load = given, load
        self._loaded: _Loaded | None = None
        self._lock = Lock()

    def get(self) -> _Loaded:
        """Return the object; raises the errors of `load`."""
        given = self._given
        if not isinstance(given, str | os.PathLike):
            return given
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load(os.fspath(given))
            return self._loaded

    def __getstate__(self) -> dict[str, Any]:
        return {"_given": self._given, "_load": self._load}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_given"], state["_load"])  # type: ignore[misc]  # the lock and the loaded object are new


Status = Literal["exact", "pruned", "wordless", "unranked"]
"""How a candidate got its place: by its exact distance, by a lower bound of it (only beyond the first k), last because
it has no known word, or in the given order because the query has no known word."""

STATUS = "moverank_status"
"""The field of a host's metadata that holds the status of a candidate without an exact distance."""

HIGHLIGHTS = "moverank_highlights"
"""The field of a host's metadata that holds where words of the query stand in a candidate, as `Hit.highlights`."""

PASSAGE = "moverank_passage"
"""The field of a host's metadata that holds the window of a candidate nearest to the query, as `Hit.passage`."""

EngineScores = Sequence[float | None]
"""The scores that a host gave to the candidates, larger being better; None: no score."""


@runtime_checkable
class Ranker(Protocol):
    """The part of `moverank.Reranker` that adapters use."""

    def rank_many(
        self,
        queries: Sequence[Any],
        candidates: Sequence[Any],
        k: int | None = None,
        scores: Sequence[EngineScores | None] | None = None,
        rank: str | None = None,
        *,
        highlight: bool = False,
        passage: int | None = None,
    ) -> list[Ranking]:
        """Return all candidates of each query, best first, of which the first `k` are exact.

        `highlight`, `passage`: the first `k` have places and passages, see `Hit`. The ranking of a query without known
        words has a `problem`, and its candidates in their order.
        """
        ...


GivenRanker = Ranker | str | os.PathLike[str] | None
"""A ranker, the path of a file of word vectors or of a collection, or None: BM25 with stems, without word vectors."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A candidate by its `index` among the candidates; the higher its `score`, in (0, 1], the better."""

    index: int
    score: float
    status: Status
    highlights: tuple[Highlight, ...] = ()
    passage: Passage | None = None


class Wanted(NamedTuple):
    """What the first hits have beside their scores: places of the query's words, and passages of so many words."""

    highlight: bool = False
    passage: int | None = None


_NOTHING = Wanted()


class HeldRanker:
    """A ranker, loaded on first use if its path is given, see `GivenRanker`; OptionError for an object of another type.

    `rank` is the specification of a ranking; None: the ranker's own.
    """

    def __init__(self, given: GivenRanker) -> None:
        if not isinstance(given, str | os.PathLike | Ranker | None):
            raise OptionError(
                f"the ranker must be a moverank.Reranker or the path of word vectors or of a collection, not {given!r}"
            )
        self._ranker = LoadedOnce[Ranker](_without_vectors() if given is None else given, _load)

    def load(self, rank: str | None) -> "HeldRanker":
        """Load the ranker now, and check `rank`; raises the errors of `Reranker.load` and `Reranker.rank_many`."""
        self._ranker.get().rank_many([], [], rank=rank)
        return self

    def places(
        self,
        query: str,
        texts: Sequence[str | None],
        k: int | None = None,
        scores: EngineScores | None = None,
        rank: str | None = None,
        wanted: Wanted = _NOTHING,
    ) -> list[Placed]:
        """Return the places of all `texts`, best first; None counts as an empty text. The first `k` are exact, or all.

        `scores` of the host are used by a ranking with the term `vector`. The first `k` have what is `wanted`.
        """
        return self.places_of_many([query], [texts], k, [scores], rank, wanted)[0]

    def places_of_many(
        self,
        queries: Sequence[str],
        texts: Sequence[Sequence[str | None]],
        k: int | None,
        scores: Sequence[EngineScores | None],
        rank: str | None = None,
        wanted: Wanted = _NOTHING,
    ) -> list[list[Placed]]:
        """Return the places of the texts of each of many queries."""
        candidates = [[text or "" for text in some] for some in texts]
        given = [finite_scores(each) for each in scores]
        ranked = self._ranker.get().rank_many(queries, candidates, k, given, rank, **wanted._asdict())
        return [places_of(found) for found in ranked]


def _without_vectors() -> Ranker:
    from moverank import Reranker  # as in `_load`

    return Reranker()


def _load(path: str) -> Ranker:
    from moverank import Reranker  # adapters are clients of the public face, which is loaded on first use

    return Reranker.load(path)


def finite_scores(scores: EngineScores | None) -> EngineScores | None:
    """Return the scores without infinite and undefined ones; None if no score is left."""
    numbers = [score if score is not None and math.isfinite(score) else None for score in scores or ()]
    return numbers if any(score is not None for score in numbers) else None


def places_of(ranking: Ranking) -> list[Placed]:
    """Return the places of the candidates of a ranking, best first."""
    unranked = ranking.problem is not None
    return [
        Placed(_index(hit), hit.score, "unranked" if unranked else _status(hit), hit.highlights, hit.passage)
        for hit in ranking.hits
    ]


def _status(hit: Hit) -> Status:
    return "wordless" if hit.wordless else "exact" if hit.exact else "pruned"


def _index(hit: Hit) -> int:
    if hit.candidate is None:
        raise OptionError("the ranker returned a hit without the index of its candidate")
    return hit.candidate


def status_metadata(place: Placed) -> dict[str, str]:
    """Return the status of a candidate as metadata; none if its exact distance placed it."""
    return {} if place.status == "exact" else {STATUS: place.status}


def place_metadata(
    highlights: Sequence[Highlight], passage: Passage | None, part_starts: Sequence[int] = (0,)
) -> dict[str, Any]:
    """Return highlights and passage as metadata; none if there are none.

    Places count in the one text that a host has of a candidate, where its parts begin at `part_starts`.
    """
    found: dict[str, Any] = {HIGHLIGHTS: [_moved(one, part_starts) for one in highlights]} if highlights else {}
    return found | ({} if passage is None else {PASSAGE: _moved(passage, part_starts)})


def _moved(place: Highlight | Passage, part_starts: Sequence[int]) -> dict[str, Any]:
    """Return a place as a mapping, with the part 0, which is all parts as one text; None: the title."""
    start = 0 if place.part is None else part_starts[place.part]
    part = None if place.part is None else 0
    return asdict(place) | {"part": part, "start": start + place.start, "end": start + place.end}


def check_passage(value: int | None) -> int | None:
    """Return the most words of a passage, or None for no passage; raise OptionError for any other value."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise OptionError(f"passage must be a whole number of words of 1 or more, or None for no passage, not {value!r}")


def check_count(name: str, value: int | None) -> int | None:
    """Return a number of documents, or None for all; raise OptionError for any other value."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise OptionError(f"{name} must be a whole number of 1 or more, or None for all, not {value!r}")


def missing(host: str, extra: str) -> MissingExtra:
    """Return the error to raise: the package of `host` is not installed, and `extra` of this package installs it."""
    return MissingExtra(
        f"the adapter for {host} needs a package that is not installed: python -m pip install 'moverank[{extra}]'"
    )


MOST_COLUMNS = 10_000
"""The most columns without given vectors: as many dimensions each, they take 400 MB."""


def are_texts(samples: Any) -> bool:
    """Return whether the first of one-dimensional samples is a string."""
    return getattr(samples, "ndim", 1) == 1 and hasattr(samples, "__len__") and isinstance(next(iter(samples), 0), str)


def word_lookup(embedding: object) -> Known:
    """Return the function that finds words in an `Embedding`, given itself or as `Reranker.load` takes it.

    Raises EmbeddingError for anything else, and what `Reranker.load` raises.
    """
    if isinstance(embedding, str | os.PathLike):
        embedding = _loaded(os.fspath(embedding))
    if not isinstance(embedding, Embedding):
        kind = type(embedding).__name__
        raise EmbeddingError(f"embedding must be a moverank.Embedding or the path of word vectors, not a {kind}")
    return embedding.known


@lru_cache(maxsize=1)  # a search over parameters fits many times
def _loaded(path: str) -> Embedding:
    from moverank import Reranker  # adapters are clients of the public face, which is loaded on first use

    return Reranker.load(path).embedding


def count_texts(texts: Iterable[Any], stop_words: StopWords, language: str) -> list[Counter[str]]:
    """Return the word counts of texts, without `stop_words`; both options as in `Reranker`.

    Raises OptionError for an invalid option, BagError if `texts` is a single string or has an element of another type.
    """
    if isinstance(texts, str):
        raise BagError("X must be a list of texts, not a single string: put it into a list")
    tokenizer = tokenizer_of(stop_words, language)
    counted = []
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise BagError(
                f"with an embedding, X must be a list of texts: sample {row} is of type {type(text).__name__}"
            )
        counted.append(tokenizer.count(text))
    if not counted:
        raise BagError("X has 0 texts: at least one is needed")
    return counted


def row_bags(rows: Any) -> list[Bag | None]:
    """Return the bag of each of `rows`, a CSR matrix (n, v) of numbers >= 0; None for a row of zeros."""
    bags: list[Bag | None] = []
    for start, stop in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        words, weights = rows.indices[start:stop], rows.data[start:stop]
        bags.append(Bag.of(words, weights) if np.any(weights > 0) else None)
    return bags


def column_vectors(vectors: ArrayLike | None, columns: int) -> NDArray[np.float32]:
    """Return the word vectors (v, d) float32 of `columns` columns, unit vectors of v dimensions if `vectors` is None.

    Raises EmbeddingError for vectors of another number of columns, of numbers that are not finite, and for None with
    more than `MOST_COLUMNS`.
    """
    if vectors is None:
        if columns > MOST_COLUMNS:
            raise EmbeddingError(f"X has {columns:,} columns, more than {MOST_COLUMNS:,}: give their word vectors")
        return np.eye(columns, dtype=np.float32)
    with np.errstate(over="ignore"):
        matrix = np.ascontiguousarray(vectors, np.float32)
    if matrix.ndim != 2 or len(matrix) != columns or not matrix.size:
        raise EmbeddingError(f"vectors must be a row for each column of X, ({columns}, d), not {matrix.shape}")
    bad = unusable_rows(matrix)
    if len(bad):
        raise EmbeddingError(f"row {bad[0]} of vectors has a number that is not finite, or beyond 1e15")
    return matrix
