"""Answers: pairs of documents that are near each other, and documents that are removed as copies of kept ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

from moverank.indexer.values.documents import Changes
from moverank.rerank.answer import OPTIONAL, Answer, Key
from moverank.rerank.ranking import Flow, StageCounts

if TYPE_CHECKING:  # a client imports no numpy
    from moverank.indexer.search.differences import Stated
    from moverank.indexer.search.pair_search import FoundPairs

Both = tuple[tuple[str, ...], tuple[str, ...]]
"""Words of each of two documents."""


@dataclass(frozen=True, slots=True)
class Pair(Answer):
    """Two documents that are near each other."""

    key: str
    """The key of the document that was indexed first."""
    other: str
    """The key of the other one."""
    distance: float
    """Their distance."""
    titles: tuple[str, str]
    """Their titles."""
    unknown_words: Both = ((), ())
    """Of each document, the words without a vector that the other lacks."""
    differences: Both = ((), ())
    """Of each document, the negations, numbers, quantities, dates and limiting words that the other lacks."""
    beginnings: tuple[str, str] = ("", "")
    """The titles; of a document without one, the beginning of its text."""

    @property
    def keys(self) -> tuple[str, str]:
        """Return both keys."""
        return self.key, self.other

    @property
    def differ(self) -> bool:
        """Return whether the documents differ in words without a vector."""
        return any(self.unknown_words)

    @classmethod
    def of(cls, one: "PairedDocument", other: "PairedDocument", distance: float) -> Self:
        """Return a pair of documents."""
        return cls(
            one.key,
            other.key,
            distance,
            (one.title, other.title),
            _apart(one.unknown_words, other.unknown_words),
            _unshared(one.stated, other.stated),
            (one.title or one.beginning, other.title or other.beginning),
        )


class PairedDocument(NamedTuple):
    """A document of a pair: its words without a vector, what it states, and the beginning of its text."""

    key: str
    title: str
    unknown_words: Sequence[str]
    stated: "Stated"
    beginning: str

    @property
    def characters(self) -> int:
        """Return the most characters that a pair has of it."""
        words = (self.key, self.title, self.title or self.beginning, *self.unknown_words, *self.stated.values())
        return sum(map(len, words))


def _unshared(one: "Stated", other: "Stated") -> Both:
    """Return what each of two documents states and the other does not, as it is written."""
    first, second = _apart(one, other)
    return tuple(one[name] for name in first), tuple(other[name] for name in second)


def _apart(one: Iterable[str], other: Iterable[str]) -> Both:
    """Return what each of two sets has and the other lacks."""
    first, second = set(one), set(other)
    return tuple(sorted(first - second)), tuple(sorted(second - first))


@dataclass(frozen=True, slots=True)
class Pairs(Answer):
    """The pairs of documents that were found; all others are proven to be farther."""

    pairs: tuple[Pair, ...]
    """The pairs, nearest first."""
    compared: int
    """The number of all pairs."""
    counts: StageCounts
    """How many pairs were compared, and how many each bound excluded."""
    ranked_by: Annotated[str, Key("ranking")]
    """The distance."""
    why_empty: Annotated[str | None, OPTIONAL] = None
    """Why no document passes the filter: the condition that none meets; None if any passes."""

    @classmethod
    def of(
        cls, found: "FoundPairs", documents: Mapping[int, PairedDocument], ranked_by: str, why_empty: str | None = None
    ) -> Self:
        """Return the pairs that were found, of `documents` by id."""
        ids = zip(found.first.tolist(), found.second.tolist(), found.distances.tolist(), strict=True)
        pairs = tuple(Pair.of(documents[one], documents[other], distance) for one, other, distance in ids)
        return cls(pairs, found.compared, found.counts, ranked_by, why_empty)

    @property
    def clusters(self) -> tuple[tuple[str, ...], ...]:
        """Return the keys of each group that the pairs connect, the largest group first, then in their order."""
        import numpy as np
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        number = {key: i for i, key in enumerate(dict.fromkeys(key for pair in self.pairs for key in pair.keys))}
        rows, columns = ([number[pair.keys[side]] for pair in self.pairs] for side in (0, 1))
        links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(number), len(number)))
        _, labels = connected_components(links, directed=False)
        groups = dict[int, list[str]]()
        for key, label in zip(number, labels.tolist(), strict=True):
            groups.setdefault(label, []).append(key)
        return tuple(map(tuple, sorted(groups.values(), key=len, reverse=True)))

    @property
    def unknown_words(self) -> dict[str, tuple[str, ...]]:
        """Return, by key, a document's words without a vector that another document of one of its pairs lacks."""
        words: dict[str, set[str]] = {}
        for pair in self.pairs:
            for key, own in zip(pair.keys, pair.unknown_words, strict=True):
                words.setdefault(key, set()).update(own)
        return {key: tuple(sorted(own)) for key, own in words.items()}


@dataclass(frozen=True, slots=True)
class Duplicate(Answer):
    """A document that is not kept, and the nearest kept one."""

    key: str
    """The key of the document."""
    title: str
    """Its title."""
    of: Annotated[str, Key("duplicate_of")]
    """The key of the kept document."""
    of_title: Annotated[str, Key("duplicate_of_title")]
    """The title of the kept document."""
    distance: float
    """Their distance."""
    unknown_words: Both = ((), ())
    """As in `Pair`."""
    differences: Both = ((), ())
    """As in `Pair`."""
    beginnings: tuple[str, str] = ("", "")
    """As in `Pair`."""
    flows: Annotated[tuple[Flow, ...], OPTIONAL] = ()
    """Which words move from the document to the kept one; empty unless they were requested."""

    @classmethod
    def of_pair(cls, pair: Pair) -> Self:
        """Return the first document of a pair beside the second one, which is kept."""
        differing = pair.unknown_words, pair.differences, pair.beginnings
        return cls(pair.key, pair.titles[0], pair.other, pair.titles[1], pair.distance, *differing)

    @property
    def differs(self) -> bool:
        """Return whether the documents differ in words without a vector."""
        return any(self.unknown_words)


@dataclass(frozen=True, slots=True)
class Deduplication(Answer):
    """Documents to keep, and those to remove, each of which is near a kept one.

    Documents that are not compared are in neither list: those that the filter excludes, those without words, and by WMD
    those of which no word has a vector, unless such words are far.
    """

    kept: tuple[str, ...]
    """The keys of the documents to keep, in the order of the choice; no two that state the same are near."""
    removed: tuple[Duplicate, ...]
    """The other documents, nearest first."""
    within: float
    """The largest distance of a removed document from a kept one."""
    compared: int
    """The number of all pairs."""
    counts: StageCounts
    """How many pairs were compared, and how many each bound excluded."""
    ranked_by: Annotated[str, Key("ranking")]
    """The distance."""
    why_empty: Annotated[str | None, OPTIONAL] = None
    """Why no document passes the filter; None if any passes."""
    changes: Annotated[Changes | None, OPTIONAL] = None
    """The changes of the collection; None: nothing was removed from it."""
    differing: Annotated[tuple[Duplicate, ...], OPTIONAL] = ()
    """Kept documents near an earlier kept one that states something else, such as a negation or another number."""

    @classmethod
    def of(cls, removals: Pairs, kept: Sequence[str], within: float, differing: Pairs) -> Self:
        """Return the result for pairs of a removed document and the kept one that it is a copy of."""
        removed, others = (tuple(map(Duplicate.of_pair, pairs.pairs)) for pairs in (removals, differing))
        about = removals.compared, removals.counts, removals.ranked_by, removals.why_empty
        return cls(tuple(kept), removed, within, *about, differing=others)

    def after(self, earlier: Self) -> Self:
        """Return both rounds of a removal as one, with the comparisons of the `earlier` one."""
        removed = (*earlier.removed, *self.removed)
        return replace(earlier, kept=self.kept, removed=removed, differing=self.differing)

    def with_changes(self, changes: Changes) -> Self:
        """Return the deduplication with the changes of a further removal."""
        before = self.changes.removed if self.changes else 0
        return replace(self, changes=replace(changes, removed=before + changes.removed))

    @property
    def groups(self) -> tuple[tuple[str, tuple[Duplicate, ...]], ...]:
        """Return each kept document that has copies, by its key, with these, nearest first; the largest group first."""
        groups = dict[str, list[Duplicate]]()
        for one in self.removed:
            groups.setdefault(one.of, []).append(one)
        found = ((key, tuple(groups[key])) for key in self.kept if key in groups)
        return tuple(sorted(found, key=lambda group: -len(group[1])))
