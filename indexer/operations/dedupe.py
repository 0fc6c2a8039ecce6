"""Documents of which no two are near each other, and the removal of all others."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from moverank.indexer.errors import UsageError
from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.operations.pairs import compared_by
from moverank.indexer.search.near_documents import Deduplication
from moverank.indexer.values.arguments import switch
from moverank.indexer.values.limit_or_share import part_of
from moverank.indexer.values.pair_options import DedupeOptions, PairSearch
from moverank.indexer.values.search_options import Progress, SearchOptions

if TYPE_CHECKING:
    from moverank.indexer.operations.operated import Operated


@dataclass(frozen=True, slots=True, kw_only=True)
class FindDuplicates(Operation[Deduplication]):
    """Keep documents of which no two are near; each of the others is near a kept one; exact."""

    NAME: ClassVar = "dedupe"
    ANSWER: ClassVar = Deduplication
    SERVED: ClassVar = False  # all pairs within the distance, and the keys of all documents, are in memory

    search: DedupeOptions

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Deduplication:
        """Return the documents to keep and the others; UsageError for a ranking that compares no pairs."""
        from moverank.indexer.values.ranking_spec import resolve

        asked, options = self.search, work.of_search(compared_by(self.search, state))
        far, within = asked.unknown == "far", asked.within
        if asked.unknown is None and not asked.explained:
            far = resolve(options.rank, options.gamma, state.settings.ranking).can_have_far_words
        search = PairSearch(progress=work.progress, resumed=asked.resumed, far=far)
        if isinstance(within, str):
            within = _distance_of_share(within, state, search, options)
        return state.searcher.dedupe(replace(search, within=within), options, asked)


def _distance_of_share(share: str, state: OperatedState, search: PairSearch, options: SearchOptions) -> float:
    """Return the distance of the last pair of a share of all pairs, nearest first; 0 if the share has no pair."""
    with state.contents() as contents:
        documents = contents.total
    k = int(part_of(share) * documents * (documents - 1) / 2)
    found = state.searcher.pairs(replace(search, k=k), options).pairs if k else ()
    return found[-1].distance if found else 0.0


def deduplicated(
    of: "Operated", search: DedupeOptions, progress: Progress, *, remove: bool, confirmed: bool, dry_run: bool
) -> Deduplication:
    """Choose the documents to keep; see `Collection.dedupe` for the removal of the others."""
    for name, value in {"remove": remove, "confirmed": confirmed, "dry_run": dry_run}.items():
        switch(name, value)
    if dry_run or not remove:
        return of.run(FindDuplicates(search=search), progress=progress)
    # Before the comparison, which a failure after it would lose.
    collection = of._checked_writable()  # noqa: SLF001 - for this function
    found: Deduplication | None = None
    while True:
        before, earlier = (collection.revision, collection.settings), found
        found = collection.run(FindDuplicates(search=search), progress=progress)
        new = [one.key for one in found.removed]
        search = replace(search, within=found.within)  # later rounds take the distance of the share
        found = found if earlier is None else found.after(earlier)
        if not new:
            return found
        if not confirmed:
            _check_most_stay(found)
        changes = collection._remove_unless_changed(new, before, progress)  # noqa: SLF001 - likewise
        found = found.with_changes(changes)


def _check_most_stay(found: Deduplication) -> None:
    """Raise UsageError if more than half of the documents would be removed."""
    removed, documents = len(found.removed), len(found.kept) + len(found.removed)
    if 2 * removed > documents:
        raise UsageError(
            f"nothing was removed: that would be {removed:,} of {documents:,} documents; --yes (in Python "
            "confirmed=True) confirms it"
        )
