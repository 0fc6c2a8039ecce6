"""Times `Reranker.rank` against its floor: 100 candidates of 100 words, one core, after loading, in turns.

The floor is what cannot be left out: one matrix product of the word vectors, one pass of bounds over all candidates,
and the exact distances of the ten nearest. Texts are the first 100 known words of documents of 20 Newsgroups. Then the
stages of a call, a batch by `rank_many`, and the default ranking of a collection, which also scores words.
"""

import os
import pickle
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import DocumentFrequencies, Embedding, Reranker
from moverank.indexer.reranking.pool import SearchPool
from moverank.indexer.reranking.reranker import _with_words
from moverank.indexer.reranking.texts import query_and_candidates
from moverank.indexer.search.counted_query import TextCounter
from moverank.indexer.search.phases import Search
from moverank.indexer.search.query import Query, QueryWords
from moverank.indexer.values.settings import default_rank
from moverank.indexer.values.word_factors import CorpusVocabulary
from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.runtime.thread_pool import single_threaded, single_threaded_blas
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN
from tests.benchmarks.common import argument_parser, gzip_records, real, show, show_table, vectors, verdict

WORDS, CANDIDATES, K, LARGEST = 100, 100, 10, 2.5


def read_texts(reranker: Reranker, count: int) -> list[str]:
    """Return `count` texts of exactly `WORDS` known words."""
    embedding, tokenizer = reranker._embedding, reranker._tokenizer  # noqa: SLF001 - its own splitting
    texts = []
    for record in gzip_records(real("data", "20news", "docs.jsonl.gz")):
        words = tokenizer.words(record["text"])
        known = [word for word, row in zip(words, embedding.find(words).tolist(), strict=True) if row != UNKNOWN]
        if len(known) >= WORDS:
            texts.append(" ".join(known[:WORDS]))
        if len(texts) == count:
            return texts
    raise SystemExit("there are not enough texts")


class Floor:
    """The bags of a query and of candidates over their own vocabulary, counted beforehand."""

    def __init__(self, embedding: Embedding, tokenizer: Tokenizer, query: str, candidates: list[str]) -> None:
        counter = TextCounter(tokenizer)
        from moverank.indexer.reranking.texts import candidate_documents

        asked, *texts = counter.count(candidate_documents([query, *candidates]))
        own, pool = query_and_candidates(CorpusVocabulary.of(counter.words, embedding, ()), asked, texts, 1.0)
        searched = SearchPool(_with_words(pool))
        from moverank.indexer.values.ranking_spec import own_ranking

        plain = Query(QueryWords.none(embedding.dim), K, None, own_ranking("wmd", 0.0, "tf"), bounded=False)
        parsed = searched.with_words(plain, own, 0)
        if parsed is None:
            raise SystemExit("the query has no word")
        part = searched.view.segments[0]
        self.bag: QueryBag = parsed.words.over(part.segment.word_ids)
        self.bags: Bags = part.bags(np.arange(len(part.segment.ids)), 0.0, "tf")
        self.vectors, self.norms = part.segment.vectors, part.norms
        found = nearest(self.bag, self.bags, self.vectors, K)
        self.rows = found.rows.tolist()

    def run(self) -> None:
        """Compute the product, one pass over all candidates, and the nearest ten exactly."""
        problem = Problem.of(self.bag, self.bags, self.vectors, self.norms)
        bounds.document_side(problem.bags, bounds.nearest_costs(problem.cost))
        bounds.one_pass_dual(problem, np.arange(len(self.bags)), np.inf)
        for row in self.rows:
            bag = self.bags[row]
            solve_bags(self.bag.bag, bag, self.bag.vectors, self.vectors[bag.words])


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """Return the mean time of a few calls."""
    began = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times


def stages(reranker: Reranker, query: str, texts: list[str]) -> list[tuple[str, float]]:
    """Return the time of each step of a call, the median of 15."""
    from moverank.indexer.reranking.texts import candidate_documents
    from moverank.indexer.values.ranking_spec import own_ranking

    steps: dict[str, list[float]] = {}

    def timed(name: str, began: float) -> float:
        now = time.perf_counter()
        steps.setdefault(name, []).append(now - began)
        return now

    ranking = own_ranking("wmd", 0.0, "tf")
    for _ in range(15):
        now = time.perf_counter()
        counter = TextCounter(reranker._tokenizer)  # noqa: SLF001 - its own steps
        asked, *others = counter.count(candidate_documents([query, *texts]))
        now = timed("split into words", now)
        words = CorpusVocabulary.of(counter.words, reranker._embedding, ())  # noqa: SLF001
        now = timed("look up vectors", now)
        own, pool = query_and_candidates(words, asked, others, 1.0)
        now = timed("count words", now)
        searched = SearchPool(_with_words(pool))
        plain = Query(QueryWords.none(reranker._embedding.dim), K, None, ranking, bounded=False, whole=True)  # noqa: SLF001
        parsed = searched.with_words(plain, own, 0)
        now = timed("weigh bags", now)
        if parsed:
            Search(searched.view, parsed).run()
        timed("rank", now)
    return [(name, statistics.median(values)) for name, values in steps.items()]


def main() -> None:
    """Measure, and print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--queries", type=int, default=5)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core
    reranker = Reranker.load(vectors())
    texts = read_texts(reranker, CANDIDATES + arguments.queries)
    queries, candidates = texts[: arguments.queries], texts[arguments.queries :]
    sums = Reranker(
        reranker._embedding,  # noqa: SLF001 - the same vectors
        rank=default_rank(0.0, stem="english"),
        frequencies=DocumentFrequencies.of(candidates),
    )
    rows = []
    with single_threaded(), single_threaded_blas():
        for number, query in enumerate(queries, start=1):
            floor = Floor(reranker._embedding, reranker._tokenizer, query, candidates)  # noqa: SLF001
            works: dict[str, Callable[[], object]] = {
                "floor": floor.run,
                "wmd": lambda query=query: reranker.rank(query, candidates, k=K),  # type: ignore[misc]
                "default": lambda query=query: sums.rank(query, candidates, k=K),  # type: ignore[misc]
            }
            for work in works.values():
                work()
            taken: dict[str, list[float]] = {name: [] for name in works}
            for turn in range(arguments.turns):
                for name in sorted(works, key=lambda name: (hash(name) + turn) % 3):
                    taken[name].append(seconds(works[name]))
            best = {name: statistics.median(values) for name, values in taken.items()}
            ratios = [
                statistics.median(own / least for own, least in zip(taken[name], taken["floor"], strict=True))
                for name in ("wmd", "default")
            ]
            figures = [f"{best[name] * 1e3:.1f}" for name in works] + [f"{ratio:.2f}" for ratio in ratios]
            rows.append([f"query {number}", *figures, verdict(ratios[0] <= LARGEST)])
    show(f"{CANDIDATES} candidates of {WORDS} words, one core: median milliseconds of {arguments.turns} turns")
    show_table(["", "floor", "wmd", "default", "wmd / floor", "default / floor", f"at most {LARGEST}"], rows)
    show()
    show("Steps of one call by wmd, median")
    show_table(
        ["step", "ms"], [(name, f"{value * 1e3:.2f}") for name, value in stages(reranker, queries[0], candidates)]
    )
    show()
    many = seconds(lambda: reranker.rank_many(queries * 4, [candidates] * (4 * len(queries)), k=K), 2)
    each = seconds(lambda: [reranker.rank(query, candidates, k=K) for query in queries * 4], 2)
    show(f"{4 * len(queries)} queries with the same candidates: rank_many / rank one by one = {many / each:.2f}")
    show(f"a pickled reranker: {len(pickle.dumps(reranker)) / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
