"""The face of a collection: its searches, whether its documents are in one place or in shards."""

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from moverank.indexer.arguments import limit, optional_number, switch, text, whole_number
from moverank.indexer.errors import UsageError
from moverank.indexer.limit_or_share import limit_or_share, part_of
from moverank.indexer.operations.operated import Operated
from moverank.indexer.operations.operation import OperatedState
from moverank.indexer.ranking_spec import RankingSpec, distance_of, resolve
from moverank.indexer.search_options import KeepOrder, PairSearch, Progress, SearchOptions, Where, silent
from moverank.indexer.settings import Settings

if TYPE_CHECKING:  # only the methods that need these import them: every command opens a collection
    from moverank.indexer.documents import Changes
    from moverank.indexer.search.deduplication import Deduplication
    from moverank.indexer.search.pairs import Pairs

_Answer = TypeVar("_Answer")


class _Run(Protocol):
    """Returns the result of work on the state that is searched."""

    def __call__(self, work: Callable[[OperatedState], _Answer], /) -> _Answer: ...


class Face(Operated):
    """A collection in this process with the given `settings`; `_run` works on its current state."""

    _run: _Run

    if TYPE_CHECKING:

        @property
        def settings(self) -> Settings:
            """Return the settings of the collection."""
            ...

        @property
        def revision(self) -> Any:
            """Return the number of the last committed change; for shards, the number of each."""
            ...

        def refresh(self) -> None:
            """Make changes by other processes visible."""
            ...

        def __len__(self) -> int:
            """Return the number of documents."""
            ...

        def _check_writable(self) -> None:
            """Make changes by others visible; raise the errors of a removal: a taken lock, unusable settings."""
            ...

        def _remove_unless_changed(
            self, keys: Sequence[str], state: tuple[Any, Settings], progress: Progress
        ) -> "Changes":
            """Remove documents if revision and settings still equal `state`; CollectionError if not."""
            ...

    def prepare(self, options: SearchOptions | None = None, *, progress: Progress = silent, **fields: Any) -> None:
        """Compute the data of all documents that searches with these options need: distances for mutual proximity.

        Otherwise the first search does so, without `progress`. An interrupted run continues later.
        """
        chosen = SearchOptions.of(options, fields)
        self._run(lambda state: state.searcher.prepare(chosen, progress))

    def pairs(
        self,
        within: float | None = None,
        k: int | None = None,
        *,
        rank: str | None = None,
        gamma: float | None = None,
        where: Where | None = None,
        unknown: str = "ignored",
        resumed: bool = True,
        progress: Progress = silent,
    ) -> "Pairs":
        """Find all pairs of documents whose distance is at most `within`, or the `k` nearest of them, exactly.

        `rank`: "wmd" or "pwmd" with options, by default with the collection's gamma and word weights; or a sum, of
        which the larger total with either document as the query counts, by one search for each document. `gamma` and
        `where` as in `SearchOptions`. `unknown`: words without a vector are "ignored", or "far" from all other words.
        `progress` is called after each document; an interrupted run by wmd or pwmd continues after the last of these at
        the next call with the same arguments, unless it is not `resumed`. Raises UsageError for other rankings, and
        without `within` and `k`.
        """
        options, most = pair_options(within, k, rank, gamma, where, self.settings.ranking)
        search, far = PairSearch(most, k, progress, resumed), far_words(unknown)
        return self._run(lambda state: state.searcher.pairs(search, options, far=far))

    def dedupe(
        self,
        within: float | str,
        *,
        keep: str = "first",
        keep_where: Where | None = None,
        rank: str | None = None,
        gamma: float | None = None,
        where: Where | None = None,
        unknown: str | None = None,
        differing: bool = False,
        explained: bool = False,
        remove: bool = False,
        confirmed: bool = False,
        dry_run: bool = False,
        progress: Progress = silent,
    ) -> "Deduplication":
        """Choose documents to keep so that every other one is `within` a distance of a kept one, and no two kept are.

        Documents are visited in the order `keep`: "first" (as they were indexed), "longest" (by counted words), or
        "oldest" or "newest" by the field `date`, or another one ("newest:year"); a document is kept unless a kept one
        is within the distance. Documents that pass the filter `keep_where` come before all others, documents without
        the field last, equal ones as they were indexed. The rest is as in `pairs`; `explained`: with the flows of each
        removed document. `within`: also a share of all pairs, such as "0.01%": the distance of the last of so many
        nearest ones. `unknown`: None is "far" for WMD with weights that do not come from vectors, without flows, else
        "ignored". Documents that differ in a negation, a number, a quantity, a date or a limiting word are no copies,
        unless `differing` ones are; see `Deduplication.differing`. `remove`: remove the others, more than half only if
        `confirmed`, and compare the rest again until no two are near, since weights depend on all documents; with
        `dry_run`, remove nothing. CollectionError, and no more is removed, if the collection was changed meanwhile.
        """
        flags = {"explained": explained, "remove": remove, "confirmed": confirmed, "dry_run": dry_run}
        for name, value in (flags | {"differing": differing}).items():
            switch(name, value)
        removes, order = remove and not dry_run, KeepOrder.of(keep, keep_where, differing=differing)
        limited = limit_or_share("the largest distance of a pair", within)
        options, _ = pair_options(0.0, None, rank, gamma, where, self.settings.ranking)
        usual = has_far_words(options, self.settings.ranking) and not explained
        far = usual if unknown is None else far_words(unknown)
        if explained and far:
            raise UsageError("flows move words that have a vector: leave them out if words without one are far")
        if removes:
            self._check_writable()  # before the comparison, which a failure after it would lose
        if isinstance(limited, str):
            limited = self._distance_of_share(limited, options, progress, far=far)
        search = PairSearch(limited, progress=progress)
        found: Deduplication | None = None
        while True:
            before, earlier = (self.revision, self.settings), found
            found = self._run(lambda state: state.searcher.dedupe(search, options, order, far=far, explained=explained))
            new = [one.key for one in found.removed]
            found = found if earlier is None else found.after(earlier)
            if not (removes and new):
                return found
            if not confirmed:
                _check_most_stay(found)
            found = found.with_changes(self._remove_unless_changed(new, before, progress))

    def _distance_of_share(self, share: str, options: SearchOptions, progress: Progress, *, far: bool) -> float:
        """Return the distance of the last pair of a share of all pairs, nearest first; 0 if the share has no pair."""
        documents = len(self)
        k = int(part_of(share) * documents * (documents - 1) / 2)
        if not k:
            return 0.0
        search = PairSearch(k=k, progress=progress)
        found = self._run(lambda state: state.searcher.pairs(search, options, far=far))
        return found.pairs[-1].distance if found.pairs else 0.0


def _check_most_stay(found: "Deduplication") -> None:
    """Raise UsageError if more than half of the documents would be removed."""
    removed, documents = len(found.removed), len(found.kept) + len(found.removed)
    if 2 * removed > documents:
        raise UsageError(
            f"nothing was removed: that would be {removed:,} of {documents:,} documents; --yes (in Python "
            "confirmed=True) confirms it"
        )


def pair_options(
    within: float | None,
    k: int | None,
    rank: str | None,
    gamma: float | None,
    where: Where | None,
    own: RankingSpec,
) -> tuple[SearchOptions, float]:
    """Return the options of a search for pairs, and their largest distance; see `Collection.pairs`.

    `own` is the collection's ranking. Raises UsageError for invalid arguments.
    """
    if within is None and k is None:
        raise UsageError("give the largest distance of a pair, the number of pairs, or both")
    most = inf if within is None else limit("the largest distance of a pair", within)
    if k is not None:
        whole_number("k", k)
    gamma = optional_number("gamma", gamma)
    rank, gamma = distance_of(rank, gamma, own)
    return SearchOptions(rank=rank, gamma=gamma, where=where), most


def has_far_words(options: SearchOptions, own: RankingSpec) -> bool:
    """Return whether words without a vector are far, unless otherwise requested, from `dedupe` with these options."""
    return resolve(options.ranking, options.gamma, own).can_have_far_words


def far_words(unknown: str) -> bool:
    """Return whether words without a vector are far from all others; UsageError for an unknown choice."""
    if text("unknown", unknown) not in ("ignored", "far"):
        raise UsageError(f"words without a vector are ignored or far, not {unknown!r}")
    return unknown == "far"
