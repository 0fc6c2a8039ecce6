"""From a query to the nearest documents: first stage, rerank, and what is proven of the result."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from indexer.candidates import allowed_rows, candidates
from indexer.request import Outcome, Request, Words
from indexer.view import LiveSegment, View
from rerank.cascade import SCRATCH, never
from rerank.coarse import Coarse
from rerank.cores import blas_alone, cores, one_core, pool
from rerank.query import Query
from rerank.ranking import StageCounts, largest_error
from rerank.reranker import nearest


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Ids and distances, nearest first, the stages' counts, and lower bounds of what was left undone."""

    ids: NDArray[np.int64]
    distances: NDArray[np.float64]
    counts: StageCounts
    possible: NDArray[np.float64]

    def joined(self, other: "_Found", k: int) -> "_Found":
        """Return the k nearest of both."""
        ids, distances = np.append(self.ids, other.ids), np.append(self.distances, other.distances)
        best = np.lexsort((ids, distances))[:k]
        possible = np.append(self.possible, other.possible)
        return _Found(ids[best], distances[best], self.counts + other.counts, possible)


_NOTHING = _Found(np.empty(0, np.int64), np.empty(0), StageCounts(), np.empty(0))

_SHARING = 4  # questions that share a product: of many, the costs would not stay in the cache until they are used
_AHEAD = 2  # such groups for each core that are begun before an answer is waited for

Question = tuple[Words, Request]

Prepared = tuple[Query, Coarse] | None
"""A query over a segment's words, with its costs: None where they are not of use."""


def search(
    view: View, words: Words, request: Request, stage_gamma: float, prepared: Sequence[Prepared] = ()
) -> Outcome:
    """Find the nearest documents of a view; `stage_gamma` is the gamma that the first stage's centroids have."""
    began = time.monotonic()
    stop = partial(_over, began + request.budget) if request.budget is not None else never
    chosen = [allowed_rows(part, request) for part in view.segments]
    ready = prepared or [None] * len(chosen)
    if not _narrowed(request, chosen):
        found, floor = _nearest(view, words, chosen, request, stop, ready), np.inf
    else:
        some, floor = candidates(view, words, chosen, request.depth or 0, stage_gamma)
        found = _nearest(view, words, some, request, stop, [None] * len(some))
        if not (request.own and request.distance != "rwmd"):
            floor = 0.0
        if request.prove and not _proven(found, floor, request.k):
            rest = [np.setdiff1d(rows, near, assume_unique=True) for rows, near in zip(chosen, some, strict=True)]
            found = found.joined(_nearest(view, words, rest, request, stop, ready, found), request.k)
            floor = np.inf
    proven = _proven(found, floor, request.k)
    possible = np.append(found.possible, np.full(request.k if np.isfinite(floor) else 0, floor))
    error = 0.0 if proven else largest_error(found.distances, possible, request.k)
    scope: Literal["collection", "candidates"] = "collection" if proven or np.isinf(floor) else "candidates"
    return Outcome(found.ids, found.distances, proven, scope, found.counts, error, time.monotonic() - began)


def search_many(
    view: View, questions: Iterable[Question | str], stage_gamma: float
) -> Iterator[tuple[Question | str, Outcome | None]]:
    """Answer questions in order, several side by side; a text says why there is no question, and has no outcome.

    The first is answered alone, for it builds what the others share.
    """
    remaining = iter(questions)
    waiting: deque[tuple[list[Question | str], Future[list[Outcome]]]] = deque()
    for size in chain([1], repeat(_SHARING)):
        some = list(islice(remaining, size))
        if some:
            real = [question for question in some if not isinstance(question, str)]
            waiting.append((some, pool().submit(_search_several, view, real, stage_gamma)))
        while waiting and (len(waiting) > _AHEAD * cores() or not some or size == 1):
            told, found = waiting.popleft()
            outcomes = iter(found.result())
            yield from ((one, None if isinstance(one, str) else next(outcomes)) for one in told)
        if not some:
            return


def _search_several(view: View, asked: Sequence[Question], stage_gamma: float) -> list[Outcome]:
    """Answer some questions on one core; they share their product with the vocabulary."""
    if not asked:
        return []
    with one_core(), blas_alone():
        prepared = [_prepare(part, asked) for part in view.segments]
        return [
            search(view, *question, stage_gamma, [queries[i] for queries in prepared])
            for i, question in enumerate(asked)
        ]


def _prepare(part: LiveSegment, asked: Sequence[Question]) -> Sequence[Prepared]:
    """Compute the costs of all queries over a segment's words, where each is going to look at all of its documents."""
    vectors, norms = part.segment.vectors, part.norms
    whole = all(not _narrowed(request, [allowed_rows(part, request)]) for _, request in asked)
    exact = all(request.distance in ("wmd", "pwmd") for _, request in asked)
    if not (whole and exact and len(part.segment.counts.words) >= len(vectors)):
        return [None] * len(asked)
    queries = [words.over(part.segment) for words, _ in asked]
    made = Coarse.of_many(queries, vectors, norms, SCRATCH // len(queries))
    return list(zip(queries, made, strict=True))


def _over(deadline: float) -> bool:
    return time.monotonic() > deadline


def _narrowed(request: Request, chosen: Sequence[NDArray[np.int64]]) -> bool:
    """Say whether the first stage has to choose candidates: there are more documents than wanted."""
    return request.depth is not None and request.depth < sum(map(len, chosen))


def _proven(found: _Found, floor: float, k: int) -> bool:
    """Say whether nothing that is left can be nearer than the last hit: others are not nearer than `floor`."""
    complete = np.isinf(floor) or (len(found.distances) == k and floor >= found.distances[-1])
    return bool(complete and largest_error(found.distances, found.possible, k) == 0.0)


def _nearest(
    view: View,
    words: Words,
    chosen: Sequence[NDArray[np.int64]],
    request: Request,
    stop: Callable[[], bool],
    prepared: Sequence[Prepared],
    before: _Found = _NOTHING,
) -> _Found:
    """Rerank the chosen rows of each segment; what is farther than the k-th found `before` is of no interest."""
    found = _NOTHING
    for part, rows, ready in zip(view.segments, chosen, prepared, strict=True):
        if not len(rows):
            continue
        known = before.joined(found, request.k).distances
        within = float(known[-1]) if len(known) == request.k else np.inf
        bags = part.bags(rows, request.gamma)
        query, coarse = ready or (words.over(part.segment), None)
        vectors = part.segment.vectors
        near = nearest(query, bags, vectors, request.k, request.distance, within, part.norms, stop, coarse)
        ids = part.segment.ids[rows[near.rows]]
        found = found.joined(_Found(ids, near.distances, near.counts, near.possible), request.k)
    return found
