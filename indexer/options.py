"""The options of a search and of a deduplication, and the callback of progress of long work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import inf
from typing import Any, Literal, Protocol

SHOWN: Literal["shown"] = "shown"
"""As `SearchOptions.highlight`: only the places that a list of hits shows."""

LONGEST_PASSAGE = 10_000
"""The most words of a passage."""


@dataclass(frozen=True, slots=True)
class OtherGroups:
    """The documents that pass the filter `where` and whose groups a grouped search has not found so far.

    `seen` are the values of the `field`, sorted, of each group found; `keys` are the keys of hits without the field.
    """

    where: "Where | None"
    field: str
    seen: frozenset[tuple[str, ...]]
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class TheseKeys:
    """The documents with one of the `keys`, to complete the hits of a grouped search."""

    keys: frozenset[str]


Where = str | Sequence[str] | Mapping[str, "str | float | Sequence[str | float]"] | OtherGroups | TheseKeys
"""A filter: conditions as on the command line, `["year>=2019", "label=red"]`, or the accepted values of fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a search.

    `k`: number of hits.

    `depth`: number of candidates from the first stage. None: all documents, or `DEFAULT_DEPTH` candidates in a
    collection of more than `EXACT_UP_TO` documents.

    `exact`: compare every document; with a `depth`, after the candidates of the first stage.

    `rank`: the ranking, as "wmd", "bm25:k1=0.9,stem=english" or a sum, "pwmd:weights=tfidf+0.4*bm25"; the manual's page
    `ranking` has the grammar. None: the collection's own. `distance`: a short form of `rank`.

    `gamma`: sensitivity to rank, 0 or more. None: the collection's.

    `where`: the filter, a list of conditions such as "year>=2019", or a mapping of field names to accepted values; only
    documents that pass it are candidates. The manual's page `filters` has the grammar.

    `max_distance`: leave out hits with a larger distance, or a larger total of a sum: then no hit at all may be left.
    A share in percent, such as "0.1%", leaves out hits below a larger share of the collection, by any ranking; the hits
    have percentiles then. None: no limit.

    `percentile`: hits have a percentile, the share of the collection's documents that rank above them, with its error;
    see `Percentile`. It goes without a `budget`.

    `explained`: include the flows of each hit.

    `full`: include the whole text of each hit, `Hit.text`.

    `highlight`: each hit has the places in its texts where the words of the query stand, and words near to one, and its
    flows have the places of their words. "shown": only places in the title and in the snippet, which take less time.
    Hits have no places, and no passage, if the time is over before.

    `passage`: each hit has the window of up to so many words, at most 10,000, that is nearest to the query, proven to
    be among all windows of the document. None: no passage.

    `group_by`: only the best hit of each value of this field, label or metadata; documents without it are groups of
    their own. The manual's page `search` has the details. None: all hits.

    `spelling`: a word of a typed query, one of up to 50 words, that no document has and that has no vector is replaced
    by the stored words with the fewest typing errors, see `Ranking.respelled_words`, if the ranking counts words.

    `budget`: time limit in seconds. A search that reaches it returns the hits found so far, and
    `Ranking.largest_error` is an upper bound of their error. None: no limit.

    `most_characters`: the largest size of the hits' texts, which `full` returns and `highlight` and `passage` read,
    passages, flows (`explained`), of which each word counts 100 characters and each span 40, and highlights, of which
    each counts 100; TooLarge for more, and for a stored query whose text, which `highlight` reads, has more. None: no
    limit.

    `stop`: called often while distances are computed, in any thread; once it returns True, the search ends as if its
    budget were used up, or by OutOfTime while percentiles are computed.
    """

    k: int = 10
    depth: int | None = None
    exact: bool = False
    rank: str | None = None
    distance: str | None = None
    gamma: float | None = None
    where: Where | None = None
    max_distance: float | str | None = None
    percentile: bool = False
    explained: bool = False
    full: bool = False
    highlight: bool | Literal["shown"] = False
    passage: int | None = None
    group_by: str | None = None
    spelling: bool = True
    budget: float | None = None
    stop: Callable[[], bool] | None = None
    most_characters: int | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for a value of a wrong type or out of range; numbers become Python's own."""
        changed = {name: getattr(self, name) for name in _DEFAULTS if getattr(self, name) is not _DEFAULTS[name]}
        if changed:
            for name, value in _checked(changed).items():
                object.__setattr__(self, name, value)
            if self.depth is not None and self.depth < self.k:
                from moverank.indexer.errors import UsageError

                raise UsageError(
                    f"depth must be at least k, which is {self.k}, not {self.depth}: hits are chosen from the "
                    "candidates"
                )

    @classmethod
    def of(cls, options: "SearchOptions | None", fields: Mapping[str, Any]) -> "SearchOptions":
        """Return `options` (None: the defaults) with `fields` changed by name; UsageError for an unknown field."""
        from moverank.indexer.errors import UsageError  # here, since `moverank --help` imports this module
        from moverank.rerank.options import did_you_mean

        if options is not None and not isinstance(options, cls):
            raise UsageError(f"options of a search are SearchOptions or keywords, such as k=3, not {options!r}")
        unknown = sorted(set(fields) - set(cls.__slots__))
        if unknown:
            similar = did_you_mean(unknown[0], cls.__slots__)
            raise UsageError(f"there is no search option {unknown[0]!r}{similar}: choose {', '.join(cls.__slots__)}")
        return replace(options or cls(), **fields)

    @property
    def within(self) -> float:
        """Return the largest distance or total of hits, infinite without such a limit."""
        return self.max_distance if isinstance(self.max_distance, float) else inf

    @property
    def largest_share(self) -> float:
        """Return the largest share of the documents that may be above a hit, infinite without such a limit."""
        from moverank.indexer.arguments import part_of  # as above

        return part_of(self.max_distance) if isinstance(self.max_distance, str) else inf

    @property
    def has_percentiles(self) -> bool:
        """Return whether hits have percentiles."""
        return self.percentile or self.largest_share < inf

    @property
    def is_located(self) -> bool:
        """Return whether hits have places in the texts of their documents, which are read for that."""
        return bool(self.highlight) or self.passage is not None

    @property
    def ranking(self) -> str | None:
        """Return the ranking, by either of its names; UsageError if both are given."""
        from moverank.indexer.errors import UsageError  # as above

        if self.rank is not None and self.distance is not None:
            raise UsageError("rank and distance are two names of one option: leave one out")
        return self.distance if self.rank is None else self.rank


_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(SearchOptions)}


def _passage(value: Any) -> int:
    from moverank.indexer.arguments import whole_number
    from moverank.indexer.errors import UsageError

    words = whole_number("passage", value)
    if words > LONGEST_PASSAGE:
        raise UsageError(f"passage must be at most {LONGEST_PASSAGE:,} words, not {words:,}")
    return words


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options that are not the defaults, numbers as Python's own; UsageError for invalid ones.

    Conditions and rankings are parsed where a search resolves them.
    """
    from moverank.indexer import arguments  # here, since `moverank --help` imports this module

    switches = {
        name: partial(arguments.switch, name) for name, default in _DEFAULTS.items() if isinstance(default, bool)
    }
    checks: dict[str, Callable[[Any], Any]] = switches | {
        "k": partial(arguments.whole_number, "k"),
        "depth": partial(arguments.whole_number, "depth"),
        "passage": _passage,
        "most_characters": partial(arguments.whole_number, "most_characters"),
        "highlight": lambda one: one if isinstance(one, str) and one == SHOWN else switches["highlight"](one),
        "rank": partial(arguments.text, "rank"),
        "distance": partial(arguments.text, "distance"),
        "group_by": partial(arguments.text, "group_by"),
        "gamma": partial(arguments.finite_number, "gamma"),
        "where": lambda one: (
            one if isinstance(one, str | Mapping | OtherGroups | TheseKeys) else arguments.texts("where", one)
        ),
        "max_distance": partial(arguments.limit_or_share, "the largest distance"),
        "budget": partial(arguments.limit, "the budget", above=True, unit=" of seconds"),
        "stop": partial(arguments.function, "stop"),
    }
    return {name: checks[name](value) if name in checks else value for name, value in values.items()}


EXACT_UP_TO = 2_000_000
"""Number of documents up to which a search without `depth` compares all, usually in less than a second."""

DEFAULT_DEPTH = 20_000
"""Number of candidates of a search without `depth` in a larger collection."""

CONVERSION_SECONDS = 60.0
"""How long a command that converts a file to text may run, unless the user names another time."""


class Progress(Protocol):
    """A callback for tasks that may take more than a second."""

    def __call__(self, task: str, done: int, total: int | None, unit: str) -> None:
        """Report that `done` of `total` (None: unknown) items of a `task` are done; `unit` names the items."""


def silent(task: str, done: int, total: int | None, unit: str) -> None:
    """No-op `Progress` callback."""


_BY_FIELD = ("oldest", "newest")
_ORDERS = ("first", "longest", *_BY_FIELD)


@dataclass(frozen=True, slots=True)
class KeepOrder:
    """The order in which documents are visited: `by` first, longest, oldest or newest, the last two by a `field`.

    Documents that pass the filter `where` come before all others. A document that states something else than a near one
    is no copy of it, unless `differing` ones are.
    """

    by: str = "first"
    field: str = "date"
    where: Where | None = None
    differing: bool = False

    @classmethod
    def of(cls, keep: str, where: Where | None = None, *, differing: bool = False) -> "KeepOrder":
        """Return the order that a text such as "newest:year" names; UsageError for other texts."""
        from moverank.indexer.arguments import text
        from moverank.indexer.errors import UsageError

        by, colon, field = text("keep", keep).partition(":")
        if by not in _ORDERS or (colon and not (by in _BY_FIELD and field)):
            raise UsageError(f"keep is first, longest, oldest[:FIELD] or newest[:FIELD], not {keep!r}")
        return cls(by, field or "date", where, differing)

    @property
    def by_field(self) -> bool:
        """Return whether the values of a field determine the order."""
        return self.by in _BY_FIELD
