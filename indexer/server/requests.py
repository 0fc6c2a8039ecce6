"""The bodies of requests, validated: texts, records, and the options of searches."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from moverank.indexer.documents import Document
from moverank.indexer.options import SearchOptions
from moverank.indexer.reranking.candidates import as_document
from moverank.indexer.server.limits import Limits
from moverank.indexer.server.problems import Problem
from moverank.indexer.server.workers import Task

Text = str | dict[str, Any]
"""A text, or a record with the fields that `index` and `threads` read."""

Where = list[str] | dict[str, Any]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Vector = list[float] | None
"""The vector of a query, where the first stage is `given`."""


class Body(BaseModel):
    """A JSON object without unknown fields."""

    model_config = ConfigDict(extra="forbid")


class Ranked(Body):
    """The ranking of a request, and its time limit in seconds, `budget`."""

    rank: str | None = None
    gamma: Finite | None = Field(default=None, ge=0)
    budget: Finite | None = Field(default=None, gt=0)


class Options(Ranked):
    """The options of a search, as those of the command line."""

    k: int = Field(default=10, ge=1)
    depth: int | None = Field(default=None, ge=1)
    exact: bool = False
    where: Where | None = None
    max_distance: Finite | None = Field(default=None, ge=0)
    explain: bool = False
    full: bool = False
    group_by: str | None = None

    def resolved(self, limits: Limits, task: Task) -> SearchOptions:
        """Return the options of the search, which ends when the `task` does; Problem 422 beyond a limit."""
        for name in ("k", "depth"):
            value, most = getattr(self, name), getattr(limits, name)
            if value is not None and value > most:
                raise Problem(422, f"{name} must be at most {most} here, not {value}")
        return SearchOptions(
            k=self.k,
            depth=self.depth,
            exact=self.exact,
            rank=self.rank,
            gamma=self.gamma,
            where=self.where,
            max_distance=self.max_distance,
            explained=self.explain,
            full=self.full,
            group_by=self.group_by,
            budget=self.budget,
            stop=task.over,
        )


class SearchBody(Options):
    """A search for a text or a record, `query`, perhaps with a vector, or for several, `queries`."""

    query: Text | None = None
    queries: list[Text] | None = None
    vector: Vector = None


class SearchUrl(Options):
    """A search for a text, `q`, by the parameters of a URL."""

    q: str
    where: list[str] | None = None


class SimilarBody(Options):
    """A search for the documents that are similar to the stored one with a key."""

    key: str


class ExplainBody(Ranked):
    """The distance of a query, or of the stored document `similar`, from a stored document, with its flows."""

    query: Text | None = None
    similar: str | None = None
    vector: Vector = None
    key: str


class WhyNotBody(Options):
    """Why a search for a query, or for the stored document `similar`, does not find a stored document."""

    query: Text | None = None
    similar: str | None = None
    vector: Vector = None
    key: str


class StoredRerankBody(Ranked):
    """Candidates by key; the first `k` are exact, None: all."""

    query: Text
    keys: list[str]
    k: int | None = Field(default=None, ge=1)
    scores: list[Finite | None] | None = None
    full: bool = False


def as_query(text: Text, limits: Limits, name: str = "the query") -> Document:
    """Return a text or record as a document; Problem 413 for one that is too long, UsageError for an invalid one."""
    return check_length(as_document(text, name), limits, name)


def check_length(document: Document, limits: Limits, name: str = "the query") -> Document:
    """Return a document; Problem 413 for one that is too long."""
    length = len(document.title) + sum(len(part.text) for part in document.parts)
    if length > limits.characters:
        raise Problem(413, f"{name} has {length:,} characters: at most {limits.characters:,} are allowed here")
    return document
