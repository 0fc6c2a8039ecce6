"""The main page: a search and its hits. The query is a text, or a whole thread that is typed or pasted.

A posted thread leads to an address that contains it, compressed, unless it is too long for that.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from math import isnan
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.formatters.document_lines import ranking_words
from moverank.indexer.formatters.marking import is_same, marked, note, of_part, words_of
from moverank.indexer.formatters.sentences import BETTER, legend, ranking_value, shares, verdict, work_done
from moverank.indexer.plugins.serving.pages.rendering import PageValues, Work, error_page, page_about, rendered
from moverank.indexer.plugins.serving.pages.typed_form import TypedForm, posted_form
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.requests import check_length
from moverank.indexer.plugins.serving.search_api import ThisServer, count_work
from moverank.indexer.plugins.serving.served import Served, State
from moverank.indexer.plugins.serving.state import ServerState
from moverank.indexer.plugins.serving.workers import Task
from moverank.indexer.values.documents import Document, Metadata, values_by_field
from moverank.indexer.values.queries import StoredKey
from moverank.indexer.values.search_options import SHOWN
from moverank.rerank.ranking import Highlight, Hit, Ranking

PROOF = "“compare all documents”"
_LONGEST_VALUE, _LONGEST_TITLE = 80, 160
_MOST_NEAR = 100
_MOST_LINKED = 5_000_000  # characters of the query and its options in the links of all hits


def shown_ranking(ranking: Ranking) -> dict[str, Any]:
    """Return the values of a ranking for the template; words of the query, and words near to them, are marked."""
    return {
        "hits": [
            {
                "key": hit.key,
                "title": marked(cut_title(hit.title or hit.key), _in_title(hit)),
                "whole_title": hit.title or hit.key,
                "snippet": marked(hit.snippet, hit.snippet_highlights),
                "label": hit.label,
                "metadata": metadata_values(hit.metadata),
                "measure": name,
                "better": BETTER[name],
                "value": number_or_dash(value),
                "parts": list(shares(ranking.terms, hit.parts, hit.costs)),
            }
            for hit, (name, value) in zip(ranking.hits, map(ranking_value, ranking.hits), strict=True)
        ],
        "certified": ranking.certified,
        "verdict": verdict(ranking, PROOF),
        "work": work_done(ranking, ranking.seconds),
        "legend": legend(ranking),
        "terms": []
        if all(hit.total is None for hit in ranking.hits)
        else [(term, None, None) for term in ranking.terms],
        "ranked_by": ranking.ranked_by,
        "words": list(ranking_words(ranking)),
        "near": near_words(one for hit in ranking.hits for one in (*_in_title(hit), *hit.snippet_highlights)),
    }


def _in_title(hit: Hit) -> list[Highlight]:
    return of_part(hit.highlights, None) if hit.title else []


def near_words(highlights: Iterable[Highlight]) -> list[tuple[str, str]]:
    """Return the words near to a word of the query with notes, nearer words first."""
    near = {one.word: one for one in highlights if not is_same(one)}
    nearest = sorted(near.values(), key=lambda one: (one.cost, one.word))
    return [(one.word, note(one)) for one in nearest[:_MOST_NEAR]]


def cut_title(title: str) -> str:
    """Return a title, cut if it is too long for a heading."""
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1].rstrip()}…"


def metadata_values(metadata: Metadata) -> list[tuple[str, str]]:
    """Return names and values of metadata; the values of a list are joined, long values are cut."""
    joined = ((name, ", ".join(values)) for name, values in values_by_field(metadata).items())
    return [(name, text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…") for name, text in joined]


def number_or_dash(value: float) -> str:
    """Return a number; a dash for a missing one."""
    return "\N{EN DASH}" if isnan(value) else f"{value:.4f}"


router = APIRouter()

_COMMENTS, _MOST_COMMENTS = 2, 100
_LONGEST_LINK = 8000  # characters that servers and proxies accept
_EXAMPLES, _TRIED, _EXAMPLE_WORDS, _LONGEST_BEGINNING = 4, 3, 10, 2000
_SIGNATURE = re.compile(r"^\s*[\w.]+\(.*?\)(?=\s*(?:->|\n|[A-Z]))(\s*->\s*[\w.\[\]| ]+?(?=\s[A-Z]|\n|$))?[\s:.-]*")
"""The signature of a function in front of its description."""
_END = re.compile(r"(?<=[.!?])\s|\s[(\[]|[;:]\s|\n\s*\n")
"""The end of a sentence, or of a text that can stand alone."""

RANKINGS = (
    ("wmd", "Word Mover's Distance"),
    ("wmd:weights=tfidf", "WMD, rare words count more"),
    ("pwmd", "WMD, first posts count more"),
    ("pwmd:weights=tfidf+0.4*bm25", "WMD of posts, and BM25"),
    ("chamfer:weights=tfidf", "nearest words, both ways"),
    ("bm25", "BM25, words alone"),
    ("cosine", "cosine of mean vectors"),
)
"""Rankings to choose from, with descriptions; BM25, where it is the last term, counts stems if the language has any."""


def rankings_of(served: Served) -> list[tuple[str, str]]:
    """Return the rankings to choose from for the language of a collection."""
    stem = None
    with suppress(HttpProblem):
        stem = served.facts.settings.stem
    return [(f"{rank}:stem={stem}" if stem and rank.endswith("bm25") else rank, text) for rank, text in RANKINGS]


@router.get("/")
async def search_page(request: Request, state: ThisServer) -> HTMLResponse:
    """Show the form, and the hits of the typed query, or of the stored document `similar`."""
    form = TypedForm.of(request.query_params.multi_items())
    values = _values(form)
    try:
        served = chosen_collection(state, form)
        values |= {"name": served.name, "rankings": rankings_of(served)}
        if not (form.query or form.one("similar")):
            return rendered(request, "search.html", values | {"examples": await _examples(request, state, served)})
        return await page_about(request, served, "search.html", values, search_of_form(state, form))
    except (HttpProblem, IndexerError) as error:
        return error_page(request, "search.html", values, error)


@router.post("/")
async def posted_search_page(request: Request, state: ThisServer) -> Response:
    """Show the hits of the typed thread, or one more field for an answer."""
    values = _values(TypedForm())
    try:
        form = await posted_form(request)
        values = _values(form)
        served = chosen_collection(state, form)
        values |= {"name": served.name, "rankings": rankings_of(served)}
        if form.one("more"):
            values["comments"].append("")
            return rendered(request, "search.html", values)
        if not form.thread:
            raise UsageError("type or paste a thread: a title, the opening post or a comment")
        link = form.link("/", collection=served.name)
        if form.packed and len(link) <= _LONGEST_LINK:
            return RedirectResponse(f"{link}#results", 303)
        return await page_about(request, served, "search.html", values, search_of_form(state, form))
    except (HttpProblem, IndexerError) as error:
        return error_page(request, "search.html", values, error)


def _values(form: TypedForm) -> PageValues:
    comments = form.every("comment")[:_MOST_COMMENTS]
    comments += [""] * max(0, _COMMENTS - len(comments))
    shown = {"page": "search", "form": form, "rankings": RANKINGS, "comments": comments}
    return shown | {"found": None, "examples": []}


async def _examples(request: Request, state: ServerState, served: Served) -> list[str]:
    """Return some titles of documents, or beginnings of texts, to search for; none if there is no time."""
    try:
        return await state.workers.run(request, lambda _: served.answer(_beginnings))
    except (HttpProblem, IndexerError):
        return []


def _beginnings(view: State) -> list[str]:
    """Return titles, or first words, of a few documents that are spread over the collection and can be searched for."""
    found = dict[str, None]()
    with view.contents() as contents:
        for i in range(_EXAMPLES):
            for entry in contents.entries(_TRIED, first=i * len(contents) // _EXAMPLES):
                text = entry.title or first_sentence(contents.describe(entry.key).document)
                beginning = " ".join(text.split()[:_EXAMPLE_WORDS])
                words = list(words_of([beginning], view.settings.tokenizer))
                if beginning not in found and view.nearest_words(words, words):
                    found[beginning] = None
                    break
    return list(found)


def first_sentence(document: Document) -> str:
    """Return the first sentence of a document, up to a bracket, without the signature of a function in front of it."""
    text = document.parts[0].text[:_LONGEST_BEGINNING] if document.parts else ""
    return _END.split(_SIGNATURE.sub("", text).strip(), maxsplit=1)[0]


def chosen_collection(state: ServerState, form: TypedForm) -> Served:
    """Return the collection that was chosen, the default one if none was; HttpProblem 404."""
    return state.named(form.one("collection")) if form.one("collection") else state.default


def search_of_form(state: ServerState, form: TypedForm) -> Work:
    """Return the work that finds the hits of a form; UsageError and HttpProblem if it is not valid."""
    options, similar = form.options(), form.one("similar")
    if form.query:
        check_length(form.query, state.limits)
    if (linked := options.k * len(form.link(""))) > _MOST_LINKED:
        raise HttpProblem(
            413,
            f"the links of {options.k:,} hits would repeat {linked:,} characters of the query: at most "
            f"{_MOST_LINKED:,} are allowed on a page: ask for fewer hits, or paste the text as a thread",
        )

    def work(view: State, task: Task) -> PageValues:
        query, resolved = typed_query(form, view), replace(options.resolved(state.limits, task), highlight=SHOWN)
        ranking = view.searcher.answer(StoredKey(similar) if similar else query, resolved)
        title = cut_title(query.title or query.key)
        return shown_ranking(count_work(state, ranking)) | {"query_title": title}

    return work


def typed_query(form: TypedForm, view: State) -> Document:
    """Return the query of a form: the stored document `similar`, or the typed query. Raises UnknownKey."""
    if not form.one("similar"):
        return form.query or Document("")
    with view.contents() as contents:
        return contents.describe(form.one("similar")).document
