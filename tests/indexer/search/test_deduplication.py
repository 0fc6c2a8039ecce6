"""Deduplication: a greedy choice over brute-force distances in each order, checked by a second program."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, CollectionError, Document, LockedError, UsageError
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.search.deduplication import deduplicated
from moverank.indexer.search.near_documents import Deduplication
from moverank.indexer.search.pair_search import FoundPairs
from moverank.indexer.values.pair_options import DedupeOptions
from moverank.rerank.ranking import StageCounts
from tests.indexer.world import WORDS, CollectionFactory, Twin, document, interrupt_at, pair_distances

pytestmark = pytest.mark.store

N = 120
WITHIN = 1.1

Distances = Mapping[frozenset[str], float]


def _documents() -> list[Document]:
    """Return texts of two to five words with dates, some without, or with several; one has no known word."""
    rng = np.random.default_rng(5)
    found = []
    for i in range(N):
        text = " ".join(rng.choice(WORDS, rng.integers(2, 6)))
        dates: list[Any] = [f"20{i % 23:02}-0{1 + i % 9}-11", f"20{i % 17:02}", None, ["2031", f"199{i % 10}"]]
        metadata = {"date": dates[i % 4], "votes": [7, "2", 3.5, -1, "many"][i % 5]}
        kept = {name: value for name, value in metadata.items() if value is not None}
        found.append(document(f"d{i}", text, label="good" if i % 3 else "bad", metadata=kept))
    return [*found, document("none", "zorp")]


@pytest.fixture(scope="module")
def filled(factory: CollectionFactory) -> Iterator[Collection]:
    with factory.filled(_documents()) as collection:
        yield collection


@pytest.fixture(scope="module")
def distances() -> Distances:
    """Return the distances of all pairs by POT."""
    return pair_distances(Twin.of(_documents()))


def _year(date: Any, *, last: bool) -> str | None:
    """Return the earliest or the last date of a document as text that sorts, by the first day of a year."""
    dates = [f"{one}-01-01" if len(one) == 4 else one for one in (date if isinstance(date, list) else [date]) if one]
    return (max if last else min)(dates, default=None)


def _number(value: Any) -> float | None:
    return None if value == "many" else float(value)


_LAST = (1, 0)
ORDERS: dict[str, Callable[[Document], Any]] = {
    "first": lambda _: 0,
    "longest": lambda each: -len(each.parts[0].text.split()),
    "oldest": lambda each: _dated(_year(each.metadata.get("date"), last=False), 1),
    "newest": lambda each: _dated(_year(each.metadata.get("date"), last=True), -1),
    "oldest:votes": lambda each: _valued(_number(each.metadata["votes"]), 1),
    "newest:votes": lambda each: _valued(_number(each.metadata["votes"]), -1),
}


def _dated(date: str | None, sign: int) -> tuple[int, float]:
    return _LAST if date is None else (0, sign * int(date.replace("-", "")))


def _valued(value: float | None, sign: int) -> tuple[int, float]:
    return _LAST if value is None else (0, sign * value)


def _greedy(order: Sequence[str], distances: Distances, within: float) -> tuple[list[str], dict[str, str]]:
    """Return the kept keys, and the nearest kept one of each other key."""
    kept: list[str] = []
    for key in order:
        if all(distances[frozenset((key, other))] > within for other in kept):
            kept.append(key)
    rest = [key for key in order if key not in kept]
    return kept, {key: min(kept, key=lambda other: distances[frozenset((key, other))]) for key in rest}


def check_guarantees(found: Deduplication, keys: set[str], distances: Distances, within: float) -> None:
    """Check that each removed document is within the distance of a kept one, and no two kept ones are."""
    removed = {one.key for one in found.removed}
    assert len(removed) == len(found.removed)
    assert removed.isdisjoint(found.kept)
    assert removed | set(found.kept) == keys
    assert all(distances[frozenset(pair)] > within for pair in combinations(found.kept, 2))
    for one in found.removed:
        near = min(distances[frozenset((one.key, other))] for other in found.kept)
        assert distances[frozenset((one.key, one.of))] == pytest.approx(near, abs=1e-7)
        assert one.distance == pytest.approx(near, abs=1e-7)
        assert one.distance <= within


@pytest.mark.slow
@pytest.mark.parametrize("preferred", [None, "label=bad"])
@pytest.mark.parametrize("keep", ORDERS)
def test_a_choice_is_that_of_brute_force(
    filled: Collection, distances: Distances, keep: str, preferred: str | None
) -> None:
    documents = _documents()[:-1]
    order = sorted(documents, key=lambda each: (bool(preferred) and each.label != "bad", ORDERS[keep](each)))
    for within in (0.0, 0.7, WITHIN):
        assert min(abs(distance - within) for distance in distances.values()) > 1e-6 or within == 0
        found = filled.dedupe(within, keep=keep, keep_where=preferred, rank="wmd", unknown="ignored")
        kept, copies = _greedy([each.key for each in order], distances, within + 1e-9)
        assert list(found.kept) == kept
        if within:
            assert {one.key: one.of for one in found.removed} == copies
        check_guarantees(found, {each.key for each in documents}, distances, within + (0 if within else 1e-9))
        removed = [one.distance for one in found.removed]
        assert removed == pytest.approx(sorted(removed), abs=1e-9)
        assert found.changes is None
        assert found.ranked_by == "wmd"


def test_groups_have_a_kept_document_each(filled: Collection) -> None:
    found = filled.dedupe(WITHIN, rank="wmd", unknown="ignored")
    sizes = [len(own) for _, own in found.groups]
    assert sizes == sorted(sizes, reverse=True)
    assert sorted(one.key for _, own in found.groups for one in own) == sorted(one.key for one in found.removed)
    assert all(one.of == key for key, own in found.groups for one in own)
    assert {key for key, _ in found.groups} <= set(found.kept)


@pytest.mark.slow
def test_a_filter_limits_the_documents_that_are_compared(filled: Collection, distances: Distances) -> None:
    found = filled.dedupe(WITHIN, rank="wmd", where="label=good", unknown="ignored")
    keys = {each.key for each in _documents() if each.label == "good"} - {"none"}
    check_guarantees(found, keys, distances, WITHIN)
    nothing = filled.dedupe(WITHIN, where="label=neither", unknown="ignored")
    assert (nothing.kept, nothing.removed) == ((), ())
    assert "no document passes the filter" in str(nothing.why_empty)


def test_flows_are_those_of_an_explanation(filled: Collection) -> None:
    found = filled.dedupe(0.7, rank="wmd", explained=True, unknown="ignored")
    assert found.removed
    for one in found.removed[-5:]:
        expected = filled.explain(similar=one.key, key=one.of, rank="wmd")
        assert one.flows == tuple(replace(flow, source_spans=(), target_spans=()) for flow in expected.flows)
        assert sum(flow.mass * flow.cost for flow in one.flows) == pytest.approx(one.distance, abs=1e-7)
    assert not any(one.flows for one in filled.dedupe(0.7, rank="wmd", unknown="ignored").removed)


def test_planted_copies_are_found(factory: CollectionFactory) -> None:
    """Copies with a word replaced, or sentences moved, are removed; texts of other words are not."""
    rng = np.random.default_rng(3)
    themes = [rng.choice(WORDS, 3, replace=False) for _ in range(12)]
    sentences = [[" ".join(rng.choice(theme, 8)) for _ in range(5)] for theme in themes]
    texts = {f"t{i}": ". ".join(own) for i, own in enumerate(sentences)}
    moved = {f"moved{i}": ". ".join(rng.permutation(own)) for i, own in enumerate(sentences)}
    edited = dict[str, str]()
    for i, own in enumerate(texts.values()):
        words = own.split(" ")
        for place in rng.choice(len(words), 2, replace=False):
            words[place] = str(rng.choice(WORDS))
        edited[f"edited{i}"] = " ".join(words)
    with factory.filled([document(key, text) for key, text in (texts | moved | edited).items()]) as collection:
        found = collection.dedupe(0.3)
        assert set(found.kept) == set(texts)
        assert {one.key: one.of for one in found.removed} == {
            f"{kind}{i}": f"t{i}" for kind in ("moved", "edited") for i in range(12)
        }
        assert {one.key for one in found.removed if one.distance == 0} == set(moved)


def test_what_is_removed_is_removed_in_one_revision(factory: CollectionFactory) -> None:
    with factory.filled(_documents()) as collection:
        expected, revision = collection.dedupe(0.7, unknown="ignored"), collection.revision
        assert collection.dedupe(0.7, remove=True, dry_run=True, unknown="ignored") == expected
        assert collection.revision == revision
        found = collection.dedupe(0.7, remove=True, unknown="ignored")
        assert found == replace(expected, changes=found.changes)
        assert found.changes
        assert (found.changes.removed, found.changes.revision) == (len(expected.removed), revision + 1)
        assert set(collection.keys()) == {*expected.kept, "none"}
        again = collection.dedupe(0.7, remove=True, unknown="ignored")
        assert (again.removed, again.changes, again.kept) == ((), None, expected.kept)
        with pytest.raises(UsageError, match="nothing was removed: that would be"):
            collection.dedupe(9.0, remove=True)
        assert len(collection) == len(expected.kept) + 1
        assert len(collection.dedupe(9.0, remove=True, confirmed=True, unknown="ignored").kept) == 1
        assert len(collection) == 2


def _edit(collection: Collection) -> None:
    collection.index([document("d7", "kiwi kiwi kiwi")])


def _title_weight(collection: Collection) -> None:
    collection.change_settings(title_weight=9)


@pytest.mark.parametrize("change", [_edit, _title_weight])
def test_nothing_is_removed_if_the_collection_was_changed_meanwhile(
    factory: CollectionFactory, change: Callable[[Collection], None]
) -> None:
    with factory.empty() as collection, Collection.open(collection.path) as other:
        collection.index(_documents())

        def progress(task: str, done: int, total: int | None, unit: str) -> None:
            if (task, done, unit) == ("Comparing", 50, "documents") and total:
                change(other)

        with pytest.raises(CollectionError, match="nothing was removed: the collection was changed"):
            collection.dedupe(0.7, remove=True, progress=progress)
        assert len(collection) == N + 1
        assert collection.dedupe(0.7, remove=True, unknown="ignored").changes


def test_a_writer_is_reported_before_the_comparison(factory: CollectionFactory) -> None:
    def progress(task: str, done: int, total: int | None, unit: str) -> None:
        pytest.fail(f"compared: {task}, {done}, {total}, {unit}")

    with (
        factory.filled(_documents()) as collection,
        locked(collection.path),
        pytest.raises(LockedError, match="is writing to"),
    ):
        collection.dedupe(0.7, remove=True, progress=progress)


def test_documents_that_are_not_compared_are_not_among_the_kept(factory: CollectionFactory) -> None:
    """One has no word with a vector, one has no word at all."""
    with factory.empty() as collection:
        collection.index(
            [document("a", "ant"), document("b", "kiwi"), document("code", "0x80070005"), document("c", "")]
        )
        assert collection.dedupe(0.1, rank="wmd", unknown="ignored").kept == ("a", "b")
        assert collection.dedupe(0.1, rank="wmd").kept == ("a", "b", "code")
        assert collection.dedupe(0.1, rank="wmd:mu=3+0.5*cover").kept == ("a", "b", "code")
        how = {"unknown": "ignored", "remove": True, "confirmed": True}
        assert len(collection.dedupe(99.0, rank="wmd", **how).removed) == 1  # type: ignore[arg-type]
        assert set(collection.keys()) == {"a", "code", "c"}


@pytest.mark.slow
def test_an_interrupted_run_continues(filled: Collection) -> None:
    expected, steps = filled.dedupe(WITHIN, unknown="ignored"), list[int]()
    with pytest.raises(KeyboardInterrupt):
        filled.dedupe(WITHIN, progress=interrupt_at(40, "Comparing", N, "documents"), unknown="ignored")

    def record(task: str, done: int, total: int | None, unit: str) -> None:
        _ = task, total, unit
        steps.append(done)

    assert filled.dedupe(WITHIN, progress=record, unknown="ignored") == expected
    assert steps[0] == 41


@pytest.mark.slow
def test_a_sum_takes_the_larger_of_both_totals(filled: Collection) -> None:
    """The totals by `pairs`, which has its own tests."""
    rank = "wmd:mu=3+0.5*cover"
    totals = {frozenset(pair.keys): pair.distance for pair in filled.pairs(k=99_999, rank=rank, where="key^=d1").pairs}
    within = float(np.quantile(list(totals.values()), 0.05)) + 1e-6
    found = filled.dedupe(within, rank=rank, where="key^=d1", unknown="ignored")
    check_guarantees(found, {key for pair in totals for key in pair}, totals, within)
    assert found.removed


def test_words_without_a_vector_are_named_or_far(factory: CollectionFactory) -> None:
    texts = {"a": "ant 0x80070005", "b": "ant 0x80070057", "c": "ant 0x80070057", "d": "kiwi"}
    with factory.filled([document(key, text) for key, text in texts.items()]) as collection:
        found = collection.dedupe(0.0, unknown="ignored", differing=True)  # a word with a digit is a name
        assert [(one.key, one.of, one.differs) for one in found.removed] == [("b", "a", True), ("c", "a", True)]
        assert found.removed[0].differences == (("0x80070057",), ("0x80070005",))
        assert found.removed[0].unknown_words == (("0x80070057",), ("0x80070005",))
        assert [one.key for one in collection.dedupe(0.0, unknown="ignored").removed] == ["c"]
        far = collection.dedupe(0.0)
        assert [(one.key, one.of, one.differs) for one in far.removed] == [("c", "b", False)]
        with pytest.raises(UsageError, match="flows move words that have a vector"):
            collection.dedupe(0.0, unknown="far", explained=True)
        assert collection.dedupe(0.0, explained=True, differing=True).removed[0].flows


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"within": -1.0}, "must be a number of 0 or more"),
        ({"within": None}, "must be a number of 0 or more, not None"),
        ({"keep": "best"}, r"keep is first, longest, oldest\[:FIELD\] or newest\[:FIELD\], not 'best'"),
        ({"keep": "first:date"}, "keep is first, longest"),
        ({"keep": "oldest:"}, "keep is first, longest"),
        ({"keep": 3}, "keep must be a string, not 3"),
        ({"keep": "newest:year"}, "no document has a date or a number in the field 'year': the fields are date, label"),
        ({"keep": "newest:label"}, "no document has a date or a number in the field 'label'"),
        ({"keep_where": "yaer>2000"}, "no document has a field 'yaer'"),
        ({"rank": "bm25"}, "a score is no distance"),
        ({"remove": 1}, "remove must be True or False"),
    ],
    ids=str,
)
def test_invalid_arguments_are_refused(filled: Collection, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        filled.dedupe(**{"within": 0.5, **options}, unknown="ignored")


@given(
    st.integers(1, 9),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 3)), max_size=30),
    st.randoms(),
)
def test_any_graph_has_a_maximal_independent_set(n: int, edges: list[tuple[int, int, int]], random: Any) -> None:
    """Ids have gaps, so that positions and ids differ."""
    pairs = {(min(i, j), max(i, j)): float(d) for i, j, d in edges if i != j and max(i, j) < n}
    first, second = (np.array([10 * pair[side] + 5 for pair in pairs], np.int64) for side in (0, 1))
    ids, order = 10 * np.arange(n) + 5, list(range(n))
    random.shuffle(order)
    found = FoundPairs(ids, first, second, np.array(list(pairs.values())), 0, StageCounts())
    removals, kept = deduplicated(found, np.array(order, np.intp))
    keys = {id_: str(id_) for id_ in ids.tolist()}
    far = {frozenset((keys[i], keys[j])): 9.0 for i, j in product(keys, keys) if i != j}
    distances = far | {frozenset((keys[10 * i + 5], keys[10 * j + 5])): d for (i, j), d in pairs.items()}
    expected, copies = _greedy([keys[10 * place + 5] for place in order], distances, 8.0)
    assert [keys[id_] for id_ in kept.tolist()] == expected
    rows = zip(removals.first.tolist(), removals.second.tolist(), removals.distances.tolist(), strict=True)
    assert {keys[one]: keys[of] for one, of, _ in rows} == copies


def test_the_order_is_parsed() -> None:
    found = DedupeOptions(within=0.0, keep="newest:author.born")
    assert (found.by, found.field, found.by_field) == ("newest", "author.born", True)
    assert DedupeOptions(within=0.0, keep="oldest").field == "date"
    assert not DedupeOptions(within=0.0).by_field
