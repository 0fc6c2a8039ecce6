"""What sources cover of a claim, and the changes between two versions of a text, by the vectors of a collection."""

from collections.abc import Sequence
from dataclasses import replace

from fastapi import APIRouter, Depends, Request

from moverank.indexer.documents import Document, title_and_texts
from moverank.indexer.server.answers import JsonObject, sends
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import HttpProblem
from moverank.indexer.server.requests import ChangesBody, CompareBody, as_query
from moverank.indexer.server.search_api import ServedHere, ThisServer, answered, known_parameters
from moverank.indexer.server.served import State
from moverank.indexer.server.workers import Task
from moverank.rerank.distance.evidence import Evidence
from moverank.rerank.distance.text_changes import TextChanges

router = APIRouter(prefix="/collections", tags=["collections"], dependencies=[Depends(known_parameters)])


@router.post("/{name}/compare", responses=sends(Evidence))
async def compare(served: ServedHere, state: ThisServer, request: Request, body: CompareBody) -> JsonObject:
    """Show what sources cover of a claim, sentence by sentence, and what not; covered need not be true."""
    if len(body.sources) + len(body.keys) > state.limits.texts:
        raise HttpProblem(422, f"at most {state.limits.texts} sources are allowed in a request here")

    def work(view: State, _: Task) -> JsonObject:
        comparer = view.comparer
        claim = as_query(body.claim, state.limits, "the claim")
        given = (as_query(one, state.limits, f"source {i}") for i, one in enumerate(body.sources))
        sources = [replace(document, key=str(i)) for i, document in enumerate(given)]
        left = left_after([claim, *sources], state.limits.characters, state.limits)
        with view.contents() as contents:
            for key in body.keys:
                sources.append(contents.describe(key).document)
                left = left_after(sources[-1:], left, state.limits)
        return comparer.evidence(claim, sources, body.tau).to_dict()

    return await answered(state, served, request, work)


@router.post("/{name}/changes", responses=sends(TextChanges))
async def changes(served: ServedHere, state: ThisServer, request: Request, body: ChangesBody) -> JsonObject:
    """Show what was kept, moved, changed, added and dropped between two versions of a text."""

    def work(view: State, _: Task) -> JsonObject:
        old = as_query(body.old, state.limits, "the old version")
        new = as_query(body.new, state.limits, "the new version")
        left_after([old, new], state.limits.characters, state.limits)
        return view.comparer.changes(old, new, body.tau).to_dict()

    return await answered(state, served, request, work)


def left_after(documents: Sequence[Document], left: int, limits: Limits) -> int:
    """Return how many of the characters that are `left` for the texts of a request remain after these documents.

    Raises HttpProblem 413 if there are none left: together, the texts may be as long as a single one.
    """
    left -= sum(len(text) for document in documents for text in title_and_texts(document))
    if left < 0:
        raise HttpProblem(413, f"the texts have more than {limits.characters:,} characters together, the limit here")
    return left
