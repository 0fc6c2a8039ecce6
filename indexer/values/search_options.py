"""The options of a search and of a server, and the callback of progress of long work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol

from moverank.indexer.errors import UsageError
from moverank.indexer.values import arguments
from moverank.indexer.values.option import Option, descriptions, options_of
from moverank.rerank.answer import members

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


EXACT_UP_TO = 2_000_000
"""Number of documents up to which a search without `depth` compares all, usually in less than a second."""

DEFAULT_DEPTH = 20_000
"""Number of candidates of a search without `depth` in a larger collection."""

_RANKING = "Ranking"

Rank = Annotated[
    str | None,
    Option(
        "What to rank by: a distance (wmd, pwmd, rwmd, chamfer, cover, wcd), a scorer (bm25:stem=english), an "
        "encoder, or a sum of these (wmd:weights=tfidf+0.5*bm25); see `moverank help ranking`.",
        "the collection's",
        metavar="SPEC",
        panel=_RANKING,
    ),
]
"""The ranking; the manual's page `ranking` has the grammar."""

Gamma = Annotated[
    float | None,
    Option("Sensitivity to rank: 0 ignores ranks.", "the collection's", least=0, panel=_RANKING),
]
"""The sensitivity to rank of P-WMD."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a search."""

    k: Annotated[int, Option("Number of hits.", flags=("-k",), least=1, panel=_RANKING)] = 10
    depth: Annotated[
        int | None,
        Option(
            "Number of candidates from the first stage.",
            f"all; {DEFAULT_DEPTH} in collections of over {EXACT_UP_TO:,} documents",
            least=1,
            panel=_RANKING,
        ),
    ] = None
    exact: Annotated[
        bool,
        Option("Compare every document; with a depth, after the candidates of the first stage.", panel=_RANKING),
    ] = False
    rank: Rank = None
    distance: Annotated[str | None, Option("The same as --rank.", metavar="SPEC", panel=_RANKING, http=False)] = None
    gamma: Gamma = None
    where: Annotated[Where | None, Option("The filter: only documents that pass it are candidates.")] = None
    """A list of conditions such as "year>=2019", or a mapping of field names to accepted values; the manual's page
    `filters` has the grammar."""
    max_distance: Annotated[
        float | str | None,
        Option(
            "Leave out hits with a larger distance, or a larger total of a sum; or, as in 0.1%, hits below a larger "
            "share of all documents.",
            "no limit",
            flags=("--max-distance", "--within"),
            metavar="D|P%",
            panel=_RANKING,
        ),
    ] = None
    """Then no hit at all may be left. With a share, by any ranking, hits have percentiles."""
    spelling: Annotated[
        bool,
        Option(
            "Replace words of the query that no document has by stored ones with the fewest typing errors.",
            panel=_RANKING,
        ),
    ] = True
    """Of a typed query, one of up to 50 words, if the ranking counts words, those without a vector; see
    `Ranking.respelled_words`."""
    percentile: Annotated[
        bool, Option("Show the share of all documents that rank above each hit, with its error.", panel=_RANKING)
    ] = False
    """It goes without a `budget`; see `Percentile`."""
    budget: Annotated[
        float | None,
        Option(
            "Stop after SECONDS and report how far the result may be off.",
            "no limit",
            metavar="SECONDS",
            above=0,
            panel=_RANKING,
        ),
    ] = None
    """The search returns the hits found so far, and `Ranking.largest_error` is an upper bound of their error."""
    group_by: Annotated[
        str | None,
        Option(
            "Only the best hit of each value of this field, label or metadata, such as the page of a chunk.",
            "all hits",
            metavar="FIELD",
            panel=_RANKING,
        ),
    ] = None
    """Documents without it are groups of their own; the manual's page `search` has the details."""
    explained: Annotated[bool, Option("Show every word that moved.", key="explain")] = False
    """Hits have flows."""
    full: Annotated[bool, Option("Show the whole text of each hit instead of an extract.")] = False
    """It is `Hit.text`."""
    highlight: Annotated[
        bool | Literal["shown"],
        Option("Each hit has the places where words of the query stand in its texts, and words near to them."),
    ] = False
    """Flows have the places of their words, too. "shown": only places in the title and in the snippet, which take less
    time. Hits have no places, and no passage, if the time is over before."""
    passage: Annotated[
        int | None,
        Option(
            "Show the passage of up to WORDS words that is nearest to the query.",
            "no passage",
            metavar="WORDS",
            least=1,
            most=LONGEST_PASSAGE,
        ),
    ] = None
    """It is proven to be the nearest among all windows of the document."""
    stop: Annotated[
        Callable[[], bool] | None,
        Option("Called often, in any thread; once it is True, the search ends.", http=False),
    ] = None
    """It ends as if its budget were used up, or by OutOfTime while percentiles are computed."""
    most_characters: Annotated[
        int | None, Option("The largest size of texts, flows and highlights.", "no limit", http=False)
    ] = None
    """The size of the hits' texts, which `full` returns and `highlight` and `passage` read, passages, flows
    (`explained`), of which each word counts 100 characters and each span 40, and highlights, of which each counts 100;
    TooLarge for more, and for a stored query whose text, which `highlight` reads, has more."""

    def __post_init__(self) -> None:
        """Raise UsageError for a value of a wrong type or out of range; numbers become Python's own."""
        changed = {name: getattr(self, name) for name in _DEFAULTS if getattr(self, name) is not _DEFAULTS[name]}
        if changed:
            for name, value in _checked(changed).items():
                object.__setattr__(self, name, value)
            if self.depth is not None and self.depth < self.k:
                raise UsageError(
                    f"depth must be at least k, which is {self.k}, not {self.depth}: hits are chosen from the "
                    "candidates"
                )

    @classmethod
    def of(cls, options: "SearchOptions | None", fields: Mapping[str, Any]) -> "SearchOptions":
        """Return `options` (None: the defaults) with `fields` changed by name; UsageError for an unknown field."""
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
        from moverank.indexer.values.limit_or_share import part_of  # as above

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
        if self.rank is not None and self.distance is not None:
            raise UsageError("rank and distance are two names of one option: leave one out")
        return self.distance if self.rank is None else self.rank


SearchOptions.__doc__ = "\n\n".join([f"{SearchOptions.__doc__}", *descriptions(SearchOptions)])

_DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(SearchOptions)}


def _passage(value: Any) -> int:
    words = arguments.whole_number("passage", value)
    if words > LONGEST_PASSAGE:
        raise UsageError(f"passage must be at most {LONGEST_PASSAGE:,} words, not {words:,}")
    return words


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options that are not the defaults, numbers as Python's own; UsageError for invalid ones.

    Conditions and rankings are parsed where a search resolves them.
    """
    from moverank.indexer.values.limit_or_share import limit_or_share

    kinds: dict[Any, Callable[..., Any]] = {
        bool: arguments.switch,
        int: arguments.whole_number,
        str: arguments.text,
    }
    checks = dict[str, Callable[[Any], Any]]()
    for name, one in options_of(SearchOptions).items():
        if check := kinds.get(next(members(one.type))):
            checks[name] = partial(check, name)
    checks |= {
        "passage": _passage,
        "highlight": lambda one: one if isinstance(one, str) and one == SHOWN else arguments.switch("highlight", one),
        "gamma": partial(arguments.finite_number, "gamma"),
        "where": lambda one: (
            one if isinstance(one, str | Mapping | OtherGroups | TheseKeys) else arguments.texts("where", one)
        ),
        "max_distance": partial(limit_or_share, "the largest distance"),
        "budget": partial(arguments.limit, "the budget", above=True, unit=" of seconds"),
        "stop": partial(arguments.function, "stop"),
    }
    return {name: checks[name](value) if name in checks else value for name, value in values.items()}


FILTER = Option(
    "Only documents with this label, metadata, key or source: FIELD=V, !=, <, <=, >, >=, ^= (prefix), FIELD, !FIELD; "
    "repeatable, see `moverank help filters`.",
    metavar="CONDITION",
)
"""The filter of a command."""

TAU = Option(
    "The largest cost at which a word is carried to another.",
    ".6 of the typical cost of words",
    metavar="TAU",
    least=0,
)
"""The largest cost of a comparison of texts."""

CONVERSION_SECONDS = 60.0
"""How long a command that converts a file to text may run, unless the user names another time."""


class Progress(Protocol):
    """A callback for tasks that may take more than a second."""

    def __call__(self, task: str, done: int, total: int | None, unit: str) -> None:
        """Report that `done` of `total` (None: unknown) items of a `task` are done; `unit` names the items."""


def silent(task: str, done: int, total: int | None, unit: str) -> None:
    """No-op `Progress` callback."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The address of a server, and the clients that may use it."""

    PANEL: ClassVar = "Options"

    host: Annotated[str, Option("Address to listen at.", metavar="ADDRESS")] = "127.0.0.1"
    port: Annotated[int, Option("Port to listen at; 0: any free one.", least=0, most=65535)] = 8080
    token_file: Annotated[
        Path | None, Option("Clients must send a token of this file, which has one on each line.", metavar="FILE")
    ] = None
    no_auth: Annotated[bool, Option("No token is needed, even if other machines can reach the server.")] = False
    open_metrics: Annotated[bool, Option("Answer /metrics without a token, as for Prometheus.")] = False
    processes: Annotated[
        int, Option("Processes that answer; as many as there are cores give most answers.", least=1, most=256)
    ] = 1
    """For most of a search, one interpreter uses one core."""
    read_only: Annotated[bool, Option("Refuse all changes.")] = False
    allow_host: Annotated[
        list[str] | None, Option("Another name of this server, as in URLs; repeatable.", metavar="NAME")
    ] = None
    allow_rank: Annotated[
        list[str] | None,
        Option("Allow a ranking that must be fitted to all documents first; repeatable.", metavar="RANK"),
    ] = None
    root_path: Annotated[
        str, Option("What a proxy puts in front of all paths, such as /moverank.", metavar="PREFIX")
    ] = ""
    proxy: Annotated[
        list[str] | None,
        Option("A proxy, or a network of them, whose X-Forwarded-For names the client; repeatable.", metavar="ADDRESS"),
    ] = None
    """From other senders, X-Forwarded-For is ignored."""
    cors: Annotated[
        list[str] | None, Option("Pages of this web origin may use the server; repeatable.", metavar="ORIGIN")
    ] = None
    log: Annotated[Literal["text", "json"], Option("The log on standard error: lines, or JSON objects.")] = "text"
