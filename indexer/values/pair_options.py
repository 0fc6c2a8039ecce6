"""The options of `pairs` and `dedupe`, and what a search for pairs is made of."""

from dataclasses import dataclass
from math import inf
from typing import Annotated, ClassVar

from moverank.indexer.errors import UsageError
from moverank.indexer.values.arguments import limit, optional_number, switch, text, whole_number
from moverank.indexer.values.option import Option
from moverank.indexer.values.search_options import FILTER, Gamma, Progress, SearchOptions, Where, silent

_BY_FIELD = ("oldest", "newest")
_ORDERS = ("first", "longest", *_BY_FIELD)

_Rank = Annotated[
    str | None,
    Option(
        "wmd or pwmd with options, or a sum, which is slower.",
        "wmd with the weights of the `ranking` in `info`",
        metavar="SPEC",
    ),
]
"""The ranking by which pairs are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOptions:
    """Which pairs of documents are found."""

    PANEL: ClassVar = "Options"

    within: Annotated[float | None, Option("All pairs whose distance is at most D.", metavar="D")] = None
    k: Annotated[int | None, Option("Only so many pairs, the nearest.", "all within D", flags=("-k",), least=1)] = None
    rank: _Rank = None
    gamma: Gamma = None
    where: Annotated[Where | None, FILTER] = None
    unknown: Annotated[
        str,
        Option("Words without a vector are ignored, or far from all other words: ignored or far.", metavar="HOW"),
    ] = "ignored"
    resumed: bool = True
    """Whether an interrupted run continues after the last document done; that of a server begins again."""

    def __post_init__(self) -> None:
        """Raise UsageError for invalid options; the ranking is parsed by `run`."""
        if self.within is None and self.k is None:
            raise UsageError("give the largest distance of a pair, the number of pairs, or both")
        if self.within is not None:
            object.__setattr__(self, "within", limit("the largest distance of a pair", self.within))
        if self.k is not None:
            object.__setattr__(self, "k", whole_number("k", self.k))
        _check_compared(self)
        far_words(self.unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeOptions:
    """Which documents are kept, so that no two of them are near; each is kept unless it is near an earlier kept one.

    Documents are visited in an order: `by` first, longest, oldest or newest, the last two by a `field`; those that pass
    the filter `keep_where` come before all others. A document that states something else than a near one is no copy of
    it, unless `differing` ones are.
    """

    PANEL: ClassVar = "Options"

    within: Annotated[
        float | str,
        Option(
            "The largest distance of a removed document from a kept one; or, as in 0.001%, that of the last of so "
            "many of all pairs, which takes longer.",
            metavar="D|P%",
        ),
    ]
    keep: Annotated[
        str,
        Option(
            "Which of near documents to keep: the one indexed first, the one with the most words, or the oldest or "
            "newest by a date or number in a field, `date` if none is named.",
            metavar="first|longest|oldest[:FIELD]|newest[:FIELD]",
        ),
    ] = "first"
    keep_where: Annotated[
        Where | None,
        Option("Prefer documents that pass this filter to all others; repeatable, as --where.", metavar="CONDITION"),
    ] = None
    rank: _Rank = None
    gamma: Gamma = None
    where: Annotated[Where | None, FILTER] = None
    unknown: Annotated[
        str | None,
        Option(
            "Words without a vector are far from all other words, or ignored: far or ignored.",
            "far, but ignored with --flows and by sums",
            metavar="HOW",
        ),
    ] = None
    differing: Annotated[
        bool,
        Option(
            "Also remove documents that differ from the kept one in a negation, a number, a unit or a limiting word."
        ),
    ] = False
    explained: Annotated[
        bool, Option("Show the flows from each removed document to the kept one.", flags=("--flows",))
    ] = False
    resumed: bool = True
    """As in `PairOptions`."""

    def __post_init__(self) -> None:
        """Raise UsageError for invalid options; the ranking is parsed by `run`."""
        from moverank.indexer.values.limit_or_share import limit_or_share

        switch("explained", self.explained)
        switch("differing", self.differing)
        by, colon, field = text("keep", self.keep).partition(":")
        if by not in _ORDERS or (colon and not (by in _BY_FIELD and field)):
            raise UsageError(f"keep is first, longest, oldest[:FIELD] or newest[:FIELD], not {self.keep!r}")
        object.__setattr__(self, "within", limit_or_share("the largest distance of a pair", self.within))
        _check_compared(self)
        if self.unknown is not None and far_words(self.unknown) and self.explained:
            raise UsageError("flows move words that have a vector: leave them out if words without one are far")

    @property
    def by(self) -> str:
        """Return the kind of order."""
        return self.keep.partition(":")[0]

    @property
    def field(self) -> str:
        """Return the field that determines the order."""
        return self.keep.partition(":")[2] or "date"

    @property
    def by_field(self) -> bool:
        """Return whether the values of a field determine the order."""
        return self.by in _BY_FIELD


def _check_compared(record: PairOptions | DedupeOptions) -> None:
    """Raise UsageError for an invalid gamma or filter of a record."""
    object.__setattr__(record, "gamma", optional_number("gamma", record.gamma))
    object.__setattr__(record, "where", SearchOptions(where=record.where).where)


def far_words(unknown: str) -> bool:
    """Return whether words without a vector are far from all others; UsageError for an unknown choice."""
    if text("unknown", unknown) not in ("ignored", "far"):
        raise UsageError(f"words without a vector are ignored or far, not {unknown!r}")
    return unknown == "far"


@dataclass(frozen=True, slots=True)
class PairSearch:
    """Which pairs are found: all `within` a distance, or the `k` nearest of them.

    `progress` is called after each document. `resumed`: an interrupted run continues after the last document done, from
    a file in the collection's directory. `far`: words without a vector are far from all others; else they are ignored.
    """

    within: float = inf
    k: int | None = None
    progress: Progress = silent
    resumed: bool = True
    far: bool = False
