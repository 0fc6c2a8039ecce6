"""Shows how many of the exact ten each encoder's candidates hold, and what its vectors cost.

The documents are the training part of 20 Newsgroups, the queries texts of its test part; both over the default stop
words, words weighted by their frequency. The exact ten by Word DistanceRanker's Distance are kept in `--cache` for the next run.
Candidates are found by brute force: what an approximate index loses is not the encoder's. `fit s` and `encode s` were
computed for all documents, in all threads, whatever else the machine did; `query ms` is the median of one query at a
time. An encoder's options follow its name: fisher:k=32,dim=32. To choose options, ask other queries than those of the
table: --skip 60.
"""

import argparse
import hashlib
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.encoders.encoder_registry import ENCODERS, choose
from moverank.rerank.reranker import nearest
from tests.benchmarks.common import show, show_table, verdict
from tests.benchmarks.real_texts import draw_queries, read
from tests.oracle import Oracle

K = 10
DEPTHS = (100, 500)
HEADS = ("encoder", "dim", "bytes", "fit s", "encode s", "query ms", *(f"recall at {depth}" for depth in DEPTHS))
TARGETS = {"fisher": (0.80, 0.94)}


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Documents, queries over a vocabulary of their own, and the rows (q, 10) of the exact ten of each."""

    documents: Documents
    queries: Documents
    exact: NDArray[np.int64]

    @classmethod
    def read(cls, queries: int, skip: int, seed: int, cache: Path) -> "Task":
        """Read the texts; find the exact ten of each query, or what an earlier run has found."""
        oracle = Oracle()
        asked = draw_queries("20news", skip + queries, seed, oracle.words)[skip:]
        stored = counted(oracle, [text.text for text in read("20news", "train")])
        wanted = counted(oracle, [text.text for text in asked])
        return cls(stored, wanted, exact_tens(stored, wanted, cache))


def counted(oracle: Oracle, texts: Sequence[str]) -> Documents:
    """Return the texts that have known words as documents over these words."""
    rows = [[oracle.keyed.key_to_index[word] for word in oracle.words(text)] for text in texts]
    known = [words for words in rows if words]
    used = np.unique(np.concatenate(known)).astype(np.int64)
    bags = [Bag.of(np.searchsorted(used, words), np.ones(len(words))) for words in known]
    lengths = np.array([len(words) for words in known], np.float64)
    return Documents(Bags.of(bags), lengths, used, np.array(oracle.keyed.vectors[used], np.float32))


def exact_tens(stored: Documents, wanted: Documents, cache: Path) -> NDArray[np.int64]:
    """Return the rows (q, 10) of the nearest documents to each query."""
    digest = hashlib.sha256()
    for documents in (stored, wanted):
        for array in (documents.bags.starts, documents.bags.words, documents.bags.weights, documents.vectors):
            digest.update(array.tobytes())
    kept = cache / f"{digest.hexdigest()}.npy"
    if kept.exists():
        return np.asarray(np.load(kept, allow_pickle=False))
    found = np.empty((len(wanted), K), np.int64)
    for row, query in enumerate(queries_of(stored, wanted)):
        found[row] = nearest(query, stored.bags, stored.vectors, K).rows
    cache.mkdir(parents=True, exist_ok=True)
    np.save(kept, found)
    return found


def queries_of(stored: Documents, wanted: Documents) -> list[QueryBag]:
    """Return documents as queries: a word keeps its place in the other vocabulary, or gets one beyond it."""
    places = np.searchsorted(stored.word_ids, wanted.word_ids)
    there = places < len(stored.word_ids)
    there[there] = stored.word_ids[places[there]] == wanted.word_ids[there]
    ids = np.where(there, places, len(stored.word_ids) + np.arange(len(places))).astype(np.int32)
    found = []
    for bag in wanted.bags:
        order = np.argsort(ids[bag.words])
        words = bag.words[order]
        found.append(QueryBag(Bag(ids[words], bag.weights[order]), wanted.vectors[words]))
    return found


def alone(documents: Documents, row: int) -> Documents:
    """Return one document over its own words only, as a search has it."""
    bag = documents.bags[row]
    own = Bags.of([Bag(np.arange(len(bag), dtype=np.int32), bag.weights)])
    return Documents(own, documents.lengths[row : row + 1], documents.word_ids[bag.words], documents.vectors[bag.words])


def recalls(encoder: Encoder, stored: NDArray[np.float32], asked: NDArray[np.float32], task: Task) -> list[float]:
    """Return which share of the exact ten is among the candidates, for each depth."""
    products = asked @ stored.T
    if encoder.metric == "l2":
        products -= 0.5 * np.square(stored).sum(axis=1)
    # Equal products keep the order of their rows.
    order = np.argsort(-products, axis=1, kind="stable")
    pairs = list(zip(order, task.exact, strict=True))
    return [statistics.fmean(len(np.intersect1d(row[:m], right)) / K for row, right in pairs) for m in DEPTHS]


def measured(task: Task, name: str, options: Mapping[str, str]) -> tuple[list[object], list[float]]:
    """Return the row of the table, and the recalls."""
    began = time.process_time()
    encoder = choose(name, options).fit(task.documents, options)
    fitted = time.process_time()
    stored = encoder.encode(task.documents)
    encoded = time.process_time()
    asked, seconds = [], []
    for row in range(len(task.queries)):
        query = alone(task.queries, row)
        start = time.perf_counter()
        asked.append(encoder.encode(query))
        seconds.append(time.perf_counter() - start)
    found = recalls(encoder, stored, np.concatenate(asked), task)
    times = f"{fitted - began:.1f}", f"{encoded - fitted:.1f}", f"{1000 * statistics.median(seconds):.1f}"
    return [encoder.dim, f"{stored.nbytes // len(stored):,}", *times, *(f"{share:.3f}" for share in found)], found


def parsed(typed: str) -> tuple[str, dict[str, str]]:
    """Split `fisher:k=32,dim=32`."""
    name, _, options = typed.partition(":")
    return name, dict(option.split("=", 1) for option in options.split(",") if option)


def main() -> None:
    """Print a row for each encoder; leave with 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoders", nargs="*", help=f"encoders and their options (fisher:variances=yes, {[*ENCODERS]})")
    parser.add_argument("--queries", type=int, default=60, help="texts of the test part (60)")
    parser.add_argument("--skip", type=int, default=0, help="leave out so many queries before them (0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir(), "moverank-exact-tens"))
    chosen = parser.parse_args()
    task = Task.read(chosen.queries, chosen.skip, chosen.seed, chosen.cache)
    show(f"20news: {len(task.documents):,} documents, {len(task.queries)} queries; share of the exact {K} found.")
    rows, missed = [], False
    for typed in chosen.encoders or [*ENCODERS, "centroid:idf=yes", "fisher:variances=yes", "lsi:inverse=no"]:
        name, options = parsed(typed)
        cells, found = measured(task, name, options)
        rows.append([typed, *cells])
        if name in TARGETS and not options:
            met = all(share >= least for share, least in zip(found, TARGETS[name], strict=True))
            rows[-1].append(verdict(met))
            missed |= not met
    show_table([*HEADS, "target"], [[*row, *[""] * (len(HEADS) + 1 - len(row))] for row in rows])
    for name, least in TARGETS.items():
        show(f"target of {name}: {' and '.join(f'{share:.2f} at {m}' for share, m in zip(least, DEPTHS, strict=True))}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
