"""Results of a search: hits, counts per stage, and the proven accuracy; their JSON objects are a public interface."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from moverank.rerank.answer import OPTIONAL, Answer, Key, Number, Numbers

if TYPE_CHECKING:  # a client of a server prints rankings without numpy: the import takes a third of the client's time
    import numpy as np
    from numpy.typing import NDArray

Distance = Literal["wmd", "pwmd", "rwmd", "chamfer", "cover", "wcd"]
DISTANCES: tuple[Distance, ...] = ("wmd", "pwmd", "rwmd", "chamfer", "cover", "wcd")
"""`chamfer` is the sum of both sides of RWMD, `cover` the query's side alone."""

AUTO_RANK = "auto"
"""As a query's ranking, the collection's own ranking; as a collection's setting, the best known ranking."""

NEAR = 0.72
"""A word is near if its cost is below this share of the typical one; an English word has about a dozen such words."""


@dataclass(frozen=True, slots=True)
class Span(Answer):
    """A stretch of a text."""

    part: int | None
    """The number of the part, counting from 0; None: the title."""
    start: int
    """The first code point."""
    end: int
    """The code point after the last one."""


@dataclass(frozen=True, slots=True)
class Flow(Answer):
    """Mass that moves from a word of the query to a word of the document."""

    source: str
    """The word of the query."""
    target: str
    """The word of the document."""
    mass: float
    """The weight moved, from 0 to 1."""
    cost: float
    """The distance of the two words."""
    share: float
    """The part of the total cost, from 0 to 1."""
    source_spans: Annotated[tuple[Span, ...], Key(optional=True, unless="target_spans")] = ()
    """Where the word stands in the query, with `highlight`; left out beyond the size of an answer."""
    target_spans: Annotated[tuple[Span, ...], Key(optional=True, unless="source_spans")] = ()
    """Where the word stands in the document, as `source_spans`."""


@dataclass(frozen=True, slots=True)
class Highlight(Span):
    """A place in a document where a word of the query stands, or one near to it."""

    word: str
    """The word as it is compared."""
    source: str
    """The word of the query."""
    cost: float
    """The distance of the two words; 0 for the same word, a phrase that contains it, one that a scorer counts as the
    same, and one with the same vector."""


@dataclass(frozen=True, slots=True)
class Passage(Answer):
    """The window of a document nearest to the query."""

    part: int
    """The number of the part, counting from 0."""
    start: int
    """The first code point of it."""
    end: int
    """The code point after the last one."""
    text: str
    """The text of the window."""
    distance: float
    """The distance of the window from the query: none of the document's windows is nearer."""
    windows: int
    """The number of windows that were compared."""


@dataclass(frozen=True, slots=True)
class TermScale(Answer):
    """How a term of a ranking counts for one query: a value x costs `weight * abs(x - best) / unit`.

    The manual's page `ranking` has the exceptions: `mu`, mutual proximity, and documents without a value.
    """

    OBJECT = "Term"

    term: str
    """The specification as it was typed, without its weight."""
    name: str
    """What the term compares, in words."""
    part: str
    """The key of the term in `Hit.parts` and `Hit.costs`."""
    weight: float
    """The factor in the sum."""
    unit: float | None = None
    """What values are divided by: the typical distance, or the range of scores; None: they are not divided."""
    best: float | None = 0.0
    """The value that costs nothing; None: all documents cost the same."""


@dataclass(frozen=True, slots=True)
class Percentile(Answer):
    """The share of the collection's documents that rank above a hit, 0 to 1, whatever the filter is."""

    share: float
    """The share, known from the place of the hit, or estimated from a sample of documents."""
    low: float
    """The lower end of an interval that contains the true share in at least 95 % of cases."""
    high: float
    """The upper end of the interval; all three are equal if the share is known."""


@dataclass(frozen=True, slots=True)
class Hit(Answer):
    """One result: a document, the values that ranked it, and the texts to show."""

    KEYS: ClassVar = (
        *("key", "title", "distance", "score", "label", "metadata", "snippet", "text", "total", "parts", "costs"),
        *("percentile", "candidate", "exact", "wordless", "flows", "highlights", "snippet_highlights", "part_starts"),
        "passage",
    )

    key: str
    """The key of the document; of a text without one, its index among the candidates."""
    distance: Number
    """The distance that ranked the document, or the WMD in a sum; nan if no distance was computed."""
    title: str = ""
    """The title of the document, empty if it has none."""
    label: str | None = None
    """The label of the document."""
    snippet: str = ""
    """The sentence of the document with most words of the query; empty where texts are not read, as in `rerank`."""
    flows: Annotated[tuple[Flow, ...], OPTIONAL] = ()
    """Which words moved where, the costliest first; empty unless they were requested."""
    scored: float | None = None
    """The value of the scorer that ranked the document, larger being better; of a reranked document, its score."""
    parts: Annotated[Numbers, Key(optional=True, unless="total")] = ()
    """The value of each term of a sum, before it is scaled, by `TermScale.part`; nan: the document has none."""
    total: Annotated[float | None, OPTIONAL] = None
    """The value of the sum that ranked the document, smaller being better; None: no sum ranked it."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The metadata of the document."""
    candidate: Annotated[int | None, OPTIONAL] = None
    """The index of the document among the candidates that were reranked; None in a search."""
    exact: Annotated[bool, Key(optional=True, unless="candidate")] = True
    """False if a candidate was pruned: its `total`, or else its `distance`, is a lower bound."""
    wordless: Annotated[bool, Key(optional=True, unless="candidate")] = False
    """Whether a candidate has no known word, or is not in the collection: it comes last."""
    text: Annotated[str | None, OPTIONAL] = None
    """The whole text, its parts separated by blank lines; None unless it was requested."""
    costs: Annotated[tuple[tuple[str, float], ...], Key(optional=True, unless="total")] = ()
    """The share of each term in `total`, by `TermScale.part`; the shares add up to `total`."""
    percentile: Annotated[Percentile | None, OPTIONAL] = None
    """The share of the documents that rank above this one; None unless it was requested."""
    highlights: Annotated[tuple[Highlight, ...], Key(optional=True, unless="highlighted")] = ()
    """Where the query's words stand in title and parts, and words near to one; empty unless they were requested."""
    snippet_highlights: Annotated[tuple[Highlight, ...], Key(optional=True, unless="highlighted")] = ()
    """Those of the `highlights` that the snippet shows; their `start` and `end` count in the snippet."""
    part_starts: Annotated[tuple[int, ...], OPTIONAL] = ()
    """Where each part begins in `text`; empty without highlights and without a passage."""
    passage: Annotated[Passage | None, OPTIONAL] = None
    """The window nearest to the query; None unless it was requested, and if no window has a known word."""
    highlighted: bool = False
    """Whether highlights were requested, and found in time."""

    @property
    def score(self) -> float:
        """Return 1 / (1 + x) for the distance or total x that ranked, or the value of the scorer: larger is better.

        It is 1 for equal bags, and falls to 0; gensim's WmdSimilarity computes the same score from a distance.
        """
        if self.scored is not None:
            return self.scored
        return 1.0 / (1.0 + (self.distance if self.total is None else self.total))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the hit whose `to_dict` is `values`; KeyError, TypeError or ValueError for anything else."""
        found = super(Hit, cls).from_dict(values)  # a dataclass with slots is another class than `super()` means
        by_scorer = values["distance"] is None and found.total is None
        scored = float(values["score"]) if by_scorer or found.candidate is not None else None
        return replace(found, scored=scored, highlighted="highlights" in values)


@dataclass(frozen=True, slots=True)
class StageCounts(Answer):
    """The work of a search in numbers of documents."""

    OBJECT = "Counts"

    candidates: int = 0
    """Documents that were compared."""
    rwmd: int = 0
    """Excluded by RWMD."""
    dual: int = 0
    """Excluded by the dual bound."""
    sinkhorn: int = 0
    """Excluded by Sinkhorn's lower bound."""
    solved: int = 0
    """Transport problems that were solved."""

    def __add__(self, other: "StageCounts") -> "StageCounts":
        """Return the sums of the counts of two searches."""
        return StageCounts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The nearest bags of a search."""

    rows: "NDArray[np.int64]"
    """(k,) The rows of the bags, nearest first."""
    distances: "NDArray[np.float64]"
    """(k,) Their distances, or totals if a weighted sum ranks."""
    counts: StageCounts
    """The counts per stage."""
    unsolved_bounds: "NDArray[np.float64]" = field(default_factory=lambda: _empty(0))
    """The smallest lower bounds of other rows that are below the last distance, at most k, increasing; none unless the
    search was stopped early."""
    components: "NDArray[np.float64]" = field(default_factory=lambda: _empty(0, 3))
    """(k, 3) The WMD, the document's and the query's side of RWMD if a weighted sum ranks; nan if not computed."""
    lower: "NDArray[np.float64]" = field(default_factory=lambda: _empty(0))
    """(n,) Lower bounds of the distance or total of each row."""
    known: "NDArray[np.bool_]" = field(default_factory=lambda: _empty(0).astype(bool))
    """(n,) Whether `lower` is exact."""


def _empty(*shape: int) -> "NDArray[np.float64]":
    import numpy as np

    return np.empty(shape)


@dataclass(frozen=True, slots=True)
class Ranking(Answer):
    """The answer to a query: hits, and how accurate they are proven to be."""

    KEYS: ClassVar = (
        *("hits", "certified", "scope", "largest_error", "counts", "seconds", "ranked_by", "terms", "unknown_words"),
        *("ignored_words", "respelled_words", "missing_shards", "why_empty", "group_by", "problem"),
    )

    hits: tuple[Hit, ...]
    """The hits, best first."""
    certified: bool
    """Whether it is proven that no document outside the list that passes the filter is better than the last hit."""
    scope: Literal["collection", "candidates", "shards"]
    """The documents among which the list is exact: the whole collection, the candidates of the first stage or of
    `rerank`, or the shards that answered."""
    counts: StageCounts = field(default_factory=StageCounts)
    """How many documents were compared, and how many each bound excluded."""
    largest_error: float = 0.0
    """A bound of how much farther the last hit is than the true k-th nearest document; 0 if certified."""
    seconds: float = 0.0
    """The time taken in seconds."""
    problem: Annotated[str | None, Key("error", optional=True)] = None
    """Why one of several queries could not be answered; of candidates, why they are in the order given."""
    ranked_by: Annotated[str, Key("ranking")] = ""
    """The specification of the ranking."""
    unknown_words: Annotated[tuple[str, ...] | None, OPTIONAL] = None
    """The words of the query without a vector; None if it is a stored document."""
    ignored_words: Annotated[tuple[str, ...] | None, OPTIONAL] = None
    """Words of the query without effect: a distance ignores words without a vector, a scorer words in no document, a
    sum of both only words that are both; None if the query is a stored document."""
    respelled_words: Annotated[Mapping[str, tuple[str, ...]], OPTIONAL] = field(default_factory=dict)
    """Misspelt words of the query, which no document has, and the stored words in the place of each, most frequent
    first."""
    missing_shards: Annotated[tuple[str, ...], OPTIONAL] = ()
    """The shards that did not answer."""
    terms: tuple[TermScale, ...] = ()
    """How each term of the ranking counts for this query."""
    why_empty: Annotated[str | None, OPTIONAL] = None
    """Why no document passes the filter: the condition that none meets; None if any passes."""
    group_by: Annotated[str | None, OPTIONAL] = None
    """The field of whose values only the best hits are in the list: it is certified as a list of groups; None: all."""

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking as `search --json` prints it: hits have their rank."""
        values = Answer.to_dict(self)
        values["hits"] = [{"rank": rank, **hit} for rank, hit in enumerate(values["hits"], start=1)]
        return values | {"seconds": round(self.seconds, 6)}


def largest_error(distances: "NDArray[np.float64]", unsolved_bounds: "NDArray[np.float64]", k: int) -> float:
    """Return an upper bound of how much farther the last hit is than the true `k`-th nearest document.

    `distances` belong to the hits, at most `k`, increasing; `unsolved_bounds` (u,) are lower bounds of the distances of
    other documents. Fewer than `k` distances mean that all documents were found: the error is 0.
    """
    import numpy as np

    if len(distances) < k:
        return 0.0
    return float(max(0.0, distances[-1] - np.sort(np.concatenate([distances, unsolved_bounds]))[k - 1]))
