"""`evaluate knn`: how often each method's nearest neighbours tell a document's label."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.method import Method, Trial, distances_of
from moverank.indexer.evaluation.near_duplicates import find_duplicates
from moverank.indexer.evaluation.rankers import nearest_of
from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.progress import Progress, silent
from moverank.rerank.evaluation.knn import KS, KnnError, choose_k, error
from moverank.rerank.evaluation.splits import Split
from moverank.rerank.runtime.threads import single_threaded, single_threaded_blas, thread_pool


@dataclass(frozen=True, slots=True, eq=False)
class Classified:
    """Documents that have a label, with the labels' numbers (n,), and how they are split."""

    texts: Texts
    labels: NDArray[np.int64]
    names: tuple[str, ...]
    splits: Sequence[Split]

    @classmethod
    def of(cls, texts: Texts, splits: Sequence[Split]) -> "Classified":
        """Give the labels numbers; UsageError where a document has none, or all have the same."""
        names = tuple(sorted({label for label in texts.labels if label is not None}))
        if len(names) < 2 or None in texts.labels:
            raise UsageError("classification needs documents of at least two labels: index them with a label field")
        number = {name: i for i, name in enumerate(names)}
        labels = np.array([number[label] for label in texts.labels if label is not None], np.int64)
        return cls(texts, labels, names, splits)


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """Where neighbours are found: what is kept of earlier runs, and who is told how far it is."""

    kept: DistanceCache
    progress: Progress


def classification(methods: Sequence[Method], data: Classified, bench: Bench, k: int | None = None) -> Table:
    """Classify the test part of every split by the neighbours in its training part.

    Where no k is given, the one with the smallest error when 80 % of the training part classify the rest (Kusner et
    al. 2015, section 5.2) is chosen for each method and split. Whoever has no neighbour is classified wrongly.
    """
    rows: list[dict[str, Value]] = []
    for method, found in zip(methods, _all_tried(methods, data, bench, k), strict=True):
        several = KnnError(tuple(wrong for wrong, _ in found), tuple(chosen for _, chosen in found))
        row: dict[str, Value] = {"method": method.label, "error": several.mean, "deviation": several.deviation}
        rows.append(row | {"k": " ".join(map(str, several.ks))})
    twice = find_duplicates(data.texts)
    facts = {
        "documents": len(data.texts),
        "labels": len(data.names),
        "splits": len(data.splits),
        "train": len(data.splits[0].train),
        "test": len(data.splits[0].test),
        **twice.facts(),
    }
    return Table("knn", tuple(rows), facts, tuple(twice.notes(clean=False)), lower=("error",))


def _all_tried(
    methods: Sequence[Method], data: Classified, bench: Bench, k: int | None
) -> list[list[tuple[float, int]]]:
    """Try every method on every split: side by side those that would leave the other cores idle."""
    waiting = {
        (method.label, place): thread_pool().submit(_tried_on_one_core, method, data, split, bench.kept, k)
        for method in methods
        if not method.uses_all_cores
        for place, split in enumerate(data.splits)
    }
    try:
        for done, one in enumerate(waiting.values(), 1):
            one.result()
            bench.progress("Trying methods side by side", done, len(waiting), "splits")
    except BaseException:
        for one in waiting.values():
            one.cancel()
        raise

    def tried(method: Method, place: int) -> tuple[float, int]:
        known = waiting.get((method.label, place))
        return known.result() if known else _tried(method, data, data.splits[place], bench, k)

    return [[tried(method, place) for place in range(len(data.splits))] for method in methods]


def _tried_on_one_core(
    method: Method, data: Classified, split: Split, kept: DistanceCache, k: int | None
) -> tuple[float, int]:
    with single_threaded(), single_threaded_blas():
        return _tried(method, data, split, Bench(kept, silent), k)


def _tried(method: Method, data: Classified, split: Split, bench: Bench, k: int | None) -> tuple[float, int]:
    """Return the error on the test part, and the k that voted."""
    labels = len(data.names)
    if k is None:
        inner = split.halved()
        votes = _votes(method, data, inner, bench, KS[-1])
        k = choose_k(votes, data.labels[inner.test], labels)
    votes = _votes(method, data, split, bench, k)
    return error(votes, data.labels[split.test], min(k, votes.shape[1]), labels), k


def _votes(method: Method, data: Classified, split: Split, bench: Bench, most: int) -> NDArray[np.int64]:
    """Return the labels (m, most) of the neighbours of each test document, nearest first; -1 where there is none."""
    pool, questions = data.texts.take(split.train), data.texts.take(split.test)
    most = min(most, len(pool))
    if method.parts or method.proximity:
        trial = Trial(pool, questions, np.full(len(questions), -1, np.int64), bench.kept, bench.progress)
        places = nearest_of(iter(distances_of(method, trial)), len(questions), most)
    else:
        places = method.ranker(pool, bench.kept).nearest(questions, most, bench.progress)
    return np.where(places >= 0, data.labels[split.train][places], -1)
