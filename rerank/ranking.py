"""Results of a search: hits, counts per stage, and the proven accuracy; their JSON objects are a public interface."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, field
from math import isnan, nan
from typing import TYPE_CHECKING, Any, Literal

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
class Span:
    """A stretch of a text: code points `start` to `end` of the part with that number, from 0; None is the title."""

    part: int | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Flow:
    """Mass moved between two words: `mass` in [0, 1], `cost` their distance, `share` the part of the total cost.

    `source_spans` are the places of the word in the query, `target_spans` those in the document; empty unless
    highlights were requested, too.
    """

    source: str
    target: str
    mass: float
    cost: float
    share: float
    source_spans: tuple[Span, ...] = ()
    target_spans: tuple[Span, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the flow as `search --json` prints it, without spans if there are none."""
        values = {name: getattr(self, name) for name in ("source", "target", "mass", "cost", "share")}
        if self.source_spans or self.target_spans:
            values["source_spans"] = [asdict(span) for span in self.source_spans]
            values["target_spans"] = [asdict(span) for span in self.target_spans]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Flow":
        """Return the flow whose `to_dict` is `values`; KeyError and TypeError for anything else."""
        spans = {
            name: tuple(Span(**span) for span in values.get(name, ())) for name in ("source_spans", "target_spans")
        }
        return cls(**{**values, **spans})


@dataclass(frozen=True, slots=True)
class Highlight:
    """A place in a document where a word of the query stands, or one near to it; `part`, `start`, `end`: see `Span`."""

    part: int | None
    start: int
    end: int
    word: str
    """The word as it is compared."""
    source: str
    """The word of the query."""
    cost: float
    """The distance of the two words; 0 for the same word, a phrase that contains it, one that a scorer counts as the
    same, and one with the same vector."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The window of a document nearest to the query; `part`, `start`, `end`: see `Span`."""

    part: int
    start: int
    end: int
    text: str
    """The text of the window."""
    distance: float
    """The distance of the window from the query: none of the document's windows is nearer."""
    windows: int
    """The number of windows that were compared."""


@dataclass(frozen=True, slots=True)
class TermScale:
    """How a term of a ranking counts for one query: a value x costs `weight * abs(x - best) / unit`.

    The manual's page `ranking` has the exceptions: `mu`, mutual proximity, and documents without a value.
    """

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
class Percentile:
    """The share of the collection's documents that rank above a hit, 0 to 1, whatever the filter is."""

    share: float
    """The share, known from the place of the hit, or estimated from a sample of documents."""
    low: float
    """The lower end of an interval that contains the true share in at least 95 % of cases."""
    high: float
    """The upper end of the interval; all three are equal if the share is known."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: a document, the values that ranked it, and the texts to show."""

    key: str
    """The key of the document; of a text without one, its index among the candidates."""
    distance: float
    """The distance that ranked the document, or the WMD in a sum; nan if no distance was computed."""
    title: str = ""
    """The title of the document, empty if it has none."""
    label: str | None = None
    """The label of the document."""
    snippet: str = ""
    """The sentence of the document with most words of the query; empty where texts are not read, as in `rerank`."""
    flows: tuple[Flow, ...] = ()
    """Which words moved where, the costliest first; empty unless they were requested."""
    scored: float | None = None
    """The value of the scorer that ranked the document, larger being better; of a reranked document, its score."""
    parts: tuple[tuple[str, float], ...] = ()
    """The value of each term of a sum, before it is scaled, by `TermScale.part`; nan: the document has none."""
    total: float | None = None
    """The value of the sum that ranked the document, smaller being better; None: no sum ranked it."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The metadata of the document."""
    candidate: int | None = None
    """The index of the document among the candidates that were reranked; None in a search."""
    exact: bool = True
    """False if a candidate was pruned: its `total`, or else its `distance`, is a lower bound."""
    wordless: bool = False
    """Whether a candidate has no known word, or is not in the collection: it comes last."""
    text: str | None = None
    """The whole text, its parts separated by empty lines; None unless it was requested."""
    costs: tuple[tuple[str, float], ...] = ()
    """The share of each term in `total`, by `TermScale.part`; the shares add up to `total`."""
    percentile: Percentile | None = None
    """The share of the documents that rank above this one; None unless it was requested."""
    highlights: tuple[Highlight, ...] = ()
    """Where the query's words stand in title and parts, and words near to one; empty unless they were requested."""
    snippet_highlights: tuple[Highlight, ...] = ()
    """Those of the `highlights` that the snippet shows; their `start` and `end` count in the snippet."""
    part_starts: tuple[int, ...] = ()
    """Where each part begins in `text`; empty without highlights and without a passage."""
    passage: Passage | None = None
    """The window nearest to the query; None unless it was requested, and if no window has a known word."""
    highlighted: bool = False
    """Whether highlights were requested, and found in time."""

    @property
    def score(self) -> float:
        """Return `scored`, or 1 / (1 + x) if a distance or total x ranked the document: 1 for equal bags, falling to 0.

        gensim's WmdSimilarity computes the same score from a distance.
        """
        if self.scored is not None:
            return self.scored
        return 1.0 / (1.0 + (self.distance if self.total is None else self.total))

    def to_dict(self) -> dict[str, Any]:
        """Return the hit as `search --json` prints it, without its rank; a missing number is None."""
        values: dict[str, Any] = {
            "key": self.key,
            "title": self.title,
            "distance": number_or_none(self.distance),
            "score": self.score,
            "label": self.label,
            "metadata": dict(self.metadata),
            "snippet": self.snippet,
        }
        if self.text is not None:
            values["text"] = self.text
        if self.total is not None:
            values |= {"total": self.total, "parts": numbers_by_name(self.parts), "costs": dict(self.costs)}
        if self.percentile is not None:
            values["percentile"] = asdict(self.percentile)
        if self.candidate is not None:
            values |= {"candidate": self.candidate, "exact": self.exact, "wordless": self.wordless}
        if self.flows:
            values["flows"] = [flow.to_dict() for flow in self.flows]
        for name, found in (("highlights", self.highlights), ("snippet_highlights", self.snippet_highlights)):
            if found or self.highlighted:
                values[name] = [asdict(one) for one in found]
        if self.part_starts:
            values["part_starts"] = list(self.part_starts)
        return values | ({} if self.passage is None else {"passage": asdict(self.passage)})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Hit":
        """Return the hit whose `to_dict` is `values`; KeyError and TypeError for anything else."""
        distance, total, candidate = values["distance"], values.get("total"), values.get("candidate")
        by_scorer = distance is None and total is None
        return cls(
            values["key"],
            nan if distance is None else float(distance),
            values["title"],
            values["label"],
            values["snippet"],
            tuple(Flow.from_dict(flow) for flow in values.get("flows", ())),
            float(values["score"]) if by_scorer or candidate is not None else None,
            tuple((name, nan if value is None else float(value)) for name, value in values.get("parts", {}).items()),
            total,
            values["metadata"],
            candidate,
            values.get("exact", True),
            values.get("wordless", False),
            values.get("text"),
            tuple((name, float(value)) for name, value in values.get("costs", {}).items()),
            Percentile(**values["percentile"]) if "percentile" in values else None,
            tuple(Highlight(**one) for one in values.get("highlights", ())),
            tuple(Highlight(**one) for one in values.get("snippet_highlights", ())),
            tuple(values.get("part_starts", ())),
            Passage(**values["passage"]) if "passage" in values else None,
            "highlights" in values,
        )


def number_or_none(value: float) -> float | None:
    """Return a number, None for nan, which JSON does not have."""
    return None if isnan(value) else value


def numbers_by_name(values: Iterable[tuple[str, float]]) -> dict[str, float | None]:
    """Return numbers by name, None for nan."""
    return {name: number_or_none(value) for name, value in values}


@dataclass(frozen=True, slots=True)
class StageCounts:
    """The number of candidates, the number that each bound pruned, and the number of transport problems solved."""

    candidates: int = 0
    rwmd: int = 0
    dual: int = 0
    sinkhorn: int = 0
    solved: int = 0

    def __add__(self, other: "StageCounts") -> "StageCounts":
        """Return the sums of the counts of two searches."""
        return StageCounts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name, in the order of the stages."""
        return asdict(self)


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
class Ranking:
    """The answer to a query: hits, and how accurate they are proven to be."""

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
    """The time taken."""
    problem: str | None = None
    """Why a query of a batch could not be answered."""
    ranked_by: str = ""
    """The specification of the ranking."""
    unknown_words: tuple[str, ...] | None = None
    """The words of the query without a vector; None if it is a stored document."""
    ignored_words: tuple[str, ...] | None = None
    """Words of the query without effect: a distance ignores words without a vector, a scorer words in no document, a
    sum of both only words that are both; None if the query is a stored document."""
    respelled_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Misspelt words of the query, which no document has, and the stored words in the place of each, most frequent
    first."""
    missing_shards: tuple[str, ...] = ()
    """The shards that did not answer."""
    terms: tuple[TermScale, ...] = ()
    """How each term of the ranking counts for this query."""
    why_empty: str | None = None
    """Why no document passes the filter: the condition that none meets; None if any passes."""
    group_by: str | None = None
    """The field of whose values only the best hits are in the list: it is certified as a list of groups. None: all."""

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking as `search --json` prints it."""
        respelled = self.respelled_words
        of_query = {"unknown_words": self.unknown_words, "ignored_words": self.ignored_words}
        return {
            "hits": [{"rank": rank, **hit.to_dict()} for rank, hit in enumerate(self.hits, start=1)],
            "certified": self.certified,
            "scope": self.scope,
            "largest_error": self.largest_error,
            "counts": self.counts.as_dict(),
            "seconds": round(self.seconds, 6),
            "ranking": self.ranked_by,
            "terms": [asdict(term) for term in self.terms],
            **{name: list(words) for name, words in of_query.items() if words is not None},
            **({"respelled_words": {word: list(own) for word, own in respelled.items()}} if respelled else {}),
            **({"missing_shards": list(self.missing_shards)} if self.missing_shards else {}),
            **({"why_empty": self.why_empty} if self.why_empty else {}),
            **({"group_by": self.group_by} if self.group_by is not None else {}),
            **({"error": self.problem} if self.problem else {}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Ranking":
        """Return the ranking whose `to_dict` is `values`; KeyError and TypeError for anything else."""
        unknown, ignored = (
            tuple(values[name]) if name in values else None for name in ("unknown_words", "ignored_words")
        )
        return cls(
            tuple(Hit.from_dict(hit) for hit in values["hits"]),
            bool(values["certified"]),
            values["scope"],
            StageCounts(**values["counts"]),
            float(values["largest_error"]),
            float(values["seconds"]),
            values.get("error"),
            str(values["ranking"]),
            unknown,
            ignored,
            {word: tuple(own) for word, own in values.get("respelled_words", {}).items()},
            tuple(values.get("missing_shards", ())),
            tuple(TermScale(**term) for term in values.get("terms", ())),
            values.get("why_empty"),
            values.get("group_by"),
        )


def largest_error(distances: "NDArray[np.float64]", unsolved_bounds: "NDArray[np.float64]", k: int) -> float:
    """Return an upper bound of how much farther the last hit is than the true `k`-th nearest document.

    `distances` belong to the hits, at most `k`, increasing; `unsolved_bounds` (u,) are lower bounds of the distances of
    other documents. Fewer than `k` distances mean that all documents were found: the error is 0.
    """
    import numpy as np

    if len(distances) < k:
        return 0.0
    return float(max(0.0, distances[-1] - np.sort(np.concatenate([distances, unsolved_bounds]))[k - 1]))
