"""Measures the mean average precision of scorers, encoders and WMD on four retrieval sets, and the time of a query.

A document is its text, preceded by its title unless the text begins with it. No word is stemmed; stop words are left
out. Ties keep the order of the file. The mean is over the queries that have a relevant document. Scorers rank the whole
collection by all words. Encoders, by their own metric, and the Word Mover's Distance use the words that have a vector;
the latter ranks only the `--depth` nearest documents, and the others count as not found. `--runs` writes the rankings
in the format of trec_eval.
"""

import statistics
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import numpy as np

from moverank import Embedding
from moverank.indexer.vectors.importing import import_vectors
from moverank.rerank.encoders.first_stages import ENCODERS, choose_encoder
from moverank.rerank.scorers import scorer_class
from moverank.rerank.testing.sample_counts import Counted, CountedSegment
from moverank.rerank.words.tokenizer import Tokenizer, stop_words
from tests.benchmarks.common import argument_parser, real, show, show_table, vectors, verdict
from tests.benchmarks.retrieval_bags import RetrievalBags
from tests.benchmarks.retrieval_sets import (
    SETS,
    Rankings,
    RetrievalSet,
    count_documents,
    order,
    word_vectors,
    write_trec,
)

BM25 = {"cranfield": 0.401, "cisi": 0.171, "med": 0.515, "scifact": 0.633}
"""Targets of plain BM25, within `ALLOWED`: each word of a query counts once, `k3=0`.

The default counts how often a word occurs in a query: it is better for long queries (cisi), and threads are long.
"""
ALLOWED = 0.02
VARIANTS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("bow", {}),
    ("bow", {"norm": "l2"}),
    ("tfidf", {}),
    ("tfidf", {"norm": "l2"}),
    ("bm25", {}),
    ("bm25", {"k3": "0"}),
    ("pl2", {}),
    ("translation", {}),
    ("translation", {"self": "0.5"}),
    ("translation", {"smoothing": "jelinek-mercer"}),
    ("translation", {"smoothing": "jelinek-mercer", "self": "0.5"}),
    ("interpolation", {}),
)
ENCODER_VARIANTS: tuple[tuple[str, Mapping[str, str]], ...] = (
    *((name, {}) for name in ENCODERS),
    ("centroid", {"idf": "yes"}),
    ("fisher", {"variances": "yes"}),
    ("lsi", {"inverse": "no"}),
)
KINDS = ("scorers", "encoders", "wmd")
SPEED_SET = "20news"
SPEED_QUERIES = 40


def ranked_by_scorers(retrieval_set: RetrievalSet, segment: CountedSegment) -> Iterator[tuple[str, Rankings]]:
    """Rank all documents, which are those of `segment`, by each scorer."""
    for name, options in VARIANTS:
        scorer = segment.fit(name, options)
        rankings = {}
        for query, counts in retrieval_set.judged_queries.items():
            rows = order(scorer.score(segment.query(counts)), ascending=scorer_class(name).ascending)
            rankings[query] = [retrieval_set.keys[row] for row in rows]
        yield label(name, options), rankings


def ranked_by_encoders(bags: RetrievalBags) -> Iterator[tuple[str, Rankings]]:
    """Rank all documents by each encoder."""
    for name, options in ENCODER_VARIANTS:
        encoder = choose_encoder(name, options).fit(bags.documents, options)
        yield f"encoder {label(name, options)}", bags.ranked_by_encoder(encoder)


def ranked_by_wmd(bags: RetrievalBags, depth: int) -> Iterator[tuple[str, Rankings]]:
    """Rank the nearest documents by Word Mover's Distance, words weighted by frequency and by tf-idf."""
    yield "wmd", bags.ranked_by_wmd(depth)
    yield "wmd tfidf", bags.with_idf().ranked_by_wmd(depth)


def label(name: str, options: Mapping[str, str]) -> str:
    """Return the name of a scorer or an encoder with its options."""
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def show_precision(
    sets: Sequence[str],
    embedding: Embedding,
    tokenizer: Tokenizer,
    kinds: Collection[str],
    depth: int,
    runs: Path | None,
) -> None:
    """Print the mean average precision of each ranker, and whether BM25 meets its targets.

    `kinds`: some of `KINDS`. `depth`: number of documents that WMD ranks. `runs`: a folder for the rankings, or None.
    """
    show("Mean average precision, no stemming.")
    figures: dict[str, dict[str, float]] = {}
    for name in sets:
        retrieval_set = RetrievalSet.read(real("data", name), tokenizer)
        bags = RetrievalBags.of(retrieval_set, embedding)
        show(
            f"{name}: {len(retrieval_set.documents)} documents, {len(bags.keys)} of them with known words, "
            f"{len(retrieval_set.judgments.queries)} queries with a relevant one"
        )
        rankers: list[tuple[str, Rankings]] = []
        if "scorers" in kinds:
            rankers += ranked_by_scorers(retrieval_set, retrieval_set.counted(embedding).segment())
        if "encoders" in kinds:
            rankers += ranked_by_encoders(bags)
        if "wmd" in kinds:
            rankers += ranked_by_wmd(bags, depth)
        for ranker, rankings in rankers:
            figures.setdefault(ranker, {})[name] = retrieval_set.mean_average_precision(rankings)
        if runs:
            write_trec(runs, name, retrieval_set.judgments, rankers)
    rows: list[list[object]] = []
    for ranker, by_set in figures.items():
        verdicts = ""
        if ranker == "bm25 k3=0":
            verdicts = " ".join(verdict(abs(by_set[name] - BM25[name]) <= ALLOWED) for name in sets)
        rows.append([ranker, *(f"{by_set[name]:.4f}" for name in sets), verdicts])
    rows.append(["target of bm25 k3=0", *(f"{BM25[name]:.3f}" for name in sets), f"within {ALLOWED}"])
    show_table(("ranked by", *sets, ""), rows)


def show_speed(embedding: Embedding, tokenizer: Tokenizer) -> None:
    """Print the CPU time of fitting and of a query, with whole documents as queries."""
    _, documents = count_documents(real("data", SPEED_SET, "docs.jsonl.gz"), tokenizer)
    shuffled = [documents[row] for row in np.random.default_rng(0).permutation(len(documents)).tolist()]
    texts = [document for document in shuffled if 80 <= len(document) <= 100][:SPEED_QUERIES]
    segment = Counted(documents, word_vectors(documents, embedding)).segment()
    queries, counts, statistic = [segment.query(text) for text in texts], segment.counts, segment.statistics
    rows: list[list[object]] = []
    for name, options in VARIANTS:
        began = time.process_time()
        scorer = scorer_class(name).fit(counts, statistic, options)
        fitted = time.process_time() - began
        # The first query may compute what is then cached.
        began = time.process_time()
        scorer.score(queries[0])
        first, seconds = time.process_time() - began, []
        for query in queries[1:]:
            began = time.process_time()
            scorer.score(query)
            seconds.append(time.process_time() - began)
        times = [f"{1000 * value:.1f}" for value in (fitted, first, statistics.median(seconds), max(seconds))]
        rows.append([label(name, options), *times])
    show()
    show(
        f"{SPEED_SET}: {len(documents)} documents, {len(counts.terms)} postings, {len(segment.terms)} terms; "
        f"{len(queries)} queries of 80 to 100 terms. Milliseconds of CPU time, all threads added up."
    )
    show_table(("scorer", "fit", "first query", "median query", "slowest query"), rows)


def main() -> None:
    """Print both tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--table", choices=("both", "precision", "speed"), default="both", help="table to print (both)")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS, help="sets of the precision table (all)")
    parser.add_argument("--by", nargs="*", choices=KINDS, default=KINDS, help="rankers of the precision table (all)")
    parser.add_argument("--depth", type=int, default=1000, help="number of documents that WMD ranks (1000)")
    parser.add_argument("--runs", type=Path, help="folder to write the rankings to")
    arguments = parser.parse_args()
    tokenizer = Tokenizer(stop_words())
    with TemporaryDirectory() as directory:
        embedding = import_vectors(str(vectors()), Path(directory, "vectors"))
        if arguments.table != "speed":
            show_precision(arguments.sets, embedding, tokenizer, arguments.by, arguments.depth, arguments.runs)
        if arguments.table != "precision":
            show_speed(embedding, tokenizer)


if __name__ == "__main__":
    main()
