"""Answers to questions, one or many: by a distance, by a scorer, or by both."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from itertools import chain, repeat

from moverank.indexer.search.by_distance import search
from moverank.indexer.search.by_score import blended, scored
from moverank.indexer.search.query import Outcome, Request, Words
from moverank.indexer.search.view import View
from moverank.rerank.runtime.threads import core_count, single_threaded, single_threaded_blas, thread_pool

_AHEAD = 4  # questions for each core that are begun before an answer is waited for

Question = tuple[Words, Request]


def answer(view: View, words: Words, request: Request, stage_gamma: float) -> Outcome:
    """Answer a question; `stage_gamma` is the gamma that the first stage was made with."""
    if request.scorer is not None:
        return scored(view, words, request, request.scorer, stage_gamma)
    if request.blend is not None:
        return blended(view, words, request, request.blend, stage_gamma)
    return search(view, words, request, stage_gamma)


def search_many(
    view: View, questions: Iterable[Question | str], stage_gamma: float
) -> Iterator[tuple[Question | str, Outcome | None]]:
    """Answer questions in order, several side by side; a text says why there is no question, and has no outcome.

    The first is answered before others are begun, for it opens what they share.
    """
    opened = False
    waiting: deque[tuple[Question | str, Future[Outcome] | None]] = deque()
    for question in chain(questions, repeat(None)):
        if question is not None:
            begun = None if isinstance(question, str) else thread_pool().submit(_alone, view, question, stage_gamma)
            waiting.append((question, begun))
        while waiting and (len(waiting) > _AHEAD * core_count() or question is None or not opened):
            told, found = waiting.popleft()
            opened = opened or found is not None
            yield told, found.result() if found else None
        if question is None:
            return


def _alone(view: View, question: Question, stage_gamma: float) -> Outcome:
    """Answer a question on one core."""
    with single_threaded(), single_threaded_blas():
        return answer(view, *question, stage_gamma)
