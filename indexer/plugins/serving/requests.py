"""The bodies of requests, validated: texts, records, and the options of searches and of operations."""

from collections.abc import Mapping
from typing import Any

from moverank.indexer.filters.where import alternatives, checked_size
from moverank.indexer.operations.json_types import Listed, TextOrRecord, Vector, model_of
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.workers import Task
from moverank.indexer.reranking.texts import document_of_text
from moverank.indexer.values.documents import Document
from moverank.indexer.values.option import options_of
from moverank.indexer.values.search_options import SearchOptions

_DEPTH, _VALUES = 100, 100_000

_OPTIONS = options_of(SearchOptions)
BUDGET = _OPTIONS["budget"]
"""The time limit of a request in seconds."""

_Searched: Any = model_of("SearchParameters", _OPTIONS.values())


class SearchParameters(_Searched):  # type: ignore[misc]  # made of the options
    """The options of a search, as on the command line."""

    def resolved(self, limits: Limits, task: Task, queries: int = 1) -> SearchOptions:
        """Return the options of one search of `queries` queries; the `task` ends it, by the budget of the request.

        Raises as `check_options`.
        """
        values = {name: getattr(self, one.key) for name, one in _OPTIONS.items() if one.option.http}
        check_options(values, limits)
        values |= {"budget": None, "stop": task.over, "most_characters": limits.answer // queries}
        return SearchOptions(**values)


def check_options(values: Mapping[str, Any], limits: Limits) -> None:
    """Raise HttpProblem 422 for options of a search or a list beyond a limit.

    Also for a budget with percentiles, which would be lost when it is used up.
    """
    for name in ("k", "depth", "limit"):
        value, most = values.get(name), getattr(limits, name)
        if value is not None and value > most:
            raise HttpProblem(422, f"{name} must be at most {most} here, not {value}")
    if values.get("where") is not None:
        checked_size(alternatives(values["where"]), limits.conditions, limits.values)
    if values.get("budget") is not None and (values.get("percentile") or isinstance(values.get("max_distance"), str)):
        raise HttpProblem(422, "percentiles go without budget: a sample of documents is compared after the search")


class SearchBody(SearchParameters):
    """A search for a text or a record, `query`, perhaps with a vector, or for several, `queries`."""

    query: TextOrRecord | None = None
    """A text, or a record with a title and a text, or a thread."""
    queries: Listed[TextOrRecord] | None = None
    """Several queries, instead of `query`."""
    vector: Vector = None
    """The vector of the query, where the first stage is `given`."""


class SearchUrl(SearchParameters):
    """A search for a text, `q`, by the parameters of a URL."""

    q: str
    """The text to search for."""
    where: Listed[str] | None = None
    """A condition such as `year>=2019`; repeatable, all must hold."""


def as_query(text: TextOrRecord | Document, limits: Limits, name: str = "the query") -> Document:
    """Return a text or record as a document; HttpProblem 413 if it is too long, UsageError if it is invalid."""
    check_depth(text, name)
    return check_length(document_of_text(text, name), limits, name)


def check_depth(value: Any, name: str) -> None:
    """Raise HttpProblem 422 for lists and objects that are nested so deeply that they cannot be sent back as JSON.

    Raise HttpProblem 413 for too many values, such as comments: each takes more time and memory than a word.
    """
    level, count = [value], 0
    for _ in range(_DEPTH):
        if not level:
            return
        count += len(level)
        if count > _VALUES:
            raise HttpProblem(413, f"{name} has more than {_VALUES:,} values: that is no text")
        nested = [one for one in level if isinstance(one, list | dict)]
        level = [child for one in nested for child in (one.values() if isinstance(one, dict) else one)]
    raise HttpProblem(422, f"{name} is nested too deeply: at most {_DEPTH} lists and objects may contain each other")


def check_length(document: Document, limits: Limits, name: str = "the query") -> Document:
    """Return a document; HttpProblem 413 for one that is too long."""
    length = len(document.title) + sum(len(part.text) for part in document.parts)
    if length > limits.characters:
        raise HttpProblem(413, f"{name} has {length:,} characters: at most {limits.characters:,} are allowed here")
    return document
