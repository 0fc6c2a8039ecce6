"""Times `rank_vectors` against a loop of POT and against MaxSim, in turns, and compares the ten best.

Documents are sets of token vectors: the word vectors of the first 32 to 180 known words of documents of 20 Newsgroups,
each mixed with those of its neighbours, as a late-interaction model does, and scaled to length 1. Queries are 32 such
vectors of other documents. MaxSim is the sum over the query's vectors of the largest product; it is another measure,
timed for comparison.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import ot
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Ranking, Reranker, rank_vectors
from moverank.rerank.words.vocabulary import UNKNOWN
from tests.benchmarks.common import argument_parser, gzip_records, real, rotated, show, show_table, vectors

K, QUERY, LEAST, MOST = 10, 32, 32, 180
OWN = 0.6
"""The share of a token's own vector; the two neighbours have the rest."""

Tokens = NDArray[np.float32]


def read_tokens(count: int) -> list[Tokens]:
    """Return the token vectors (m, d) of `count` documents."""
    reranker = Reranker.load(vectors())
    embedding, tokenizer = reranker.embedding, reranker._tokenizer  # noqa: SLF001 - the same words
    found = []
    for record in gzip_records(real("data", "20news", "docs.jsonl.gz")):
        words = tokenizer.words(record["text"])[:MOST]
        rows = embedding.find(words)
        known = np.flatnonzero(rows != UNKNOWN)
        if len(known) >= LEAST:
            own = embedding.gather([words[i] for i in known.tolist()], rows[known])
            mixed = OWN * own + (1 - OWN) / 2 * (np.roll(own, 1, axis=0) + np.roll(own, -1, axis=0))
            found.append((mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32))
        if len(found) == count:
            return found
    raise SystemExit("there are not enough documents")


def pot_loop(query: Tokens, documents: list[Tokens]) -> NDArray[np.float64]:
    """Return all distances (n,) by POT, one after another."""
    own = np.full(len(query), 1 / len(query))
    return np.array(
        [
            ot.emd2(own, np.full(len(one), 1 / len(one)), cdist(query.astype(np.float64), one.astype(np.float64)))
            for one in documents
        ]
    )


def max_sim(query: Tokens, documents: list[Tokens]) -> NDArray[np.float32]:
    """Return the MaxSim (n,) of all documents by one product."""
    starts = np.cumsum([0, *(len(one) for one in documents)])[:-1]
    largest: NDArray[np.float32] = np.maximum.reduceat(np.concatenate(documents) @ query.T, starts, axis=0).sum(axis=1)
    return largest


def main() -> None:
    """Measure, and print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--queries", type=int, default=5)
    arguments = parser.parse_args()
    tokens = read_tokens(max(arguments.documents) + arguments.queries)
    queries = [one[:QUERY] for one in tokens[: arguments.queries]]
    rows = []
    for count in arguments.documents:
        documents = tokens[arguments.queries : arguments.queries + count]
        rank_vectors(queries[0], documents, k=K)  # compiles
        taken: dict[str, list[float]] = {"rank_vectors": [], "POT": [], "MaxSim": []}
        solved, error, equal, shared = [], 0.0, 0, []
        for turn, query in enumerate(queries):
            works: dict[str, Callable[[], object]] = {
                "rank_vectors": partial(rank_vectors, query, documents, k=K),
                "POT": partial(pot_loop, query, documents),
                "MaxSim": partial(max_sim, query, documents),
            }
            results = {}
            for name in rotated(list(works), turn):
                began = time.perf_counter()
                results[name] = works[name]()
                taken[name].append(time.perf_counter() - began)
            ranking, exact, similar = results["rank_vectors"], results["POT"], results["MaxSim"]
            if not isinstance(ranking, Ranking) or not isinstance(exact, np.ndarray):
                raise TypeError
            ten = [hit.candidate or 0 for hit in ranking.hits[:K]]
            solved.append(ranking.counts.solved)
            equal += ten == np.argsort(exact, kind="stable")[:K].tolist()
            error = max(error, *(abs(hit.distance - exact[hit.candidate or 0]) for hit in ranking.hits[:K]))
            shared.append(len(set(ten) & set(np.argsort(-np.asarray(similar))[:K].tolist())) / K)
        median = {name: statistics.median(values) for name, values in taken.items()}
        rows.append(
            [
                count,
                *(f"{median[name] * 1e3:.1f}" for name in median),
                f"{median['POT'] / median['rank_vectors']:.1f}",
                f"{statistics.mean(solved):.1f}",
                f"{equal} of {len(queries)}",
                f"{error:.0e}",
                f"{statistics.mean(shared):.2f}",
            ]
        )
    show(f"The {K} nearest sets of {LEAST} to {MOST} vectors, median milliseconds of {arguments.queries} queries")
    heads = ["documents", "rank_vectors", "POT loop", "MaxSim", "POT / rank_vectors", "solved", "equal lists"]
    show_table([*heads, "largest error", "ten in common with MaxSim"], rows)


if __name__ == "__main__":
    main()
