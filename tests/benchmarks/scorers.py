"""Shows the mean average precision of scorers, encoders and WMD on four judged sets, and how long a query takes.

A document is its text, with its title before it where the text does not begin with it already. No word is stemmed;
stop words are left out. Equal scores keep the order of the file. The mean is over the queries that have a relevant
document. Scorers rank the whole collection by all words. Encoders, by their own metric, and Word DistanceRanker's Distance know
the words that have a vector; of the latter only the `--depth` nearest documents are ranked, and the others found never.
With `--runs` the rankings are written as trec_eval reads them.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import numpy as np

from moverank import Embedding
from moverank.indexer.vectors import import_vectors
from moverank.rerank.encoders.encoder_registry import ENCODERS
from moverank.rerank.encoders.encoder_registry import choose as choose_encoder
from moverank.rerank.scorers import SCORERS
from moverank.rerank.words.tokenizer import Tokenizer, default_stop_words
from tests.benchmarks.common import real, show, show_table, vectors, verdict
from tests.benchmarks.embedded import EmbeddedSet
from tests.benchmarks.judged import SETS, JudgedSet, Rankings, order, read_documents, word_vectors, write_trec
from tests.rerank.scorers.counted import Counted

BM25 = {"cranfield": 0.401, "cisi": 0.171, "med": 0.515, "scifact": 0.633}
"""What plain BM25 has to reach, within `ALLOWED`: each word of a query once, `k3=0`.

The default counts how often a query says a word: that finds more with long queries (cisi), and threads are long.
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


def scored(judged: JudgedSet, collection: Counted) -> Iterator[tuple[str, Rankings]]:
    """Rank all documents by each scorer."""
    segment = collection.segment()
    for name, options in VARIANTS:
        scorer = segment.fit(name, options)
        found = {}
        for query in judged.relevant:
            scores = scorer.score(segment.query(judged.queries[query]))
            found[query] = [judged.keys[row] for row in order(scores, SCORERS[name].ascending).tolist()]
        yield label(name, options), found


def encoded(known: EmbeddedSet) -> Iterator[tuple[str, Rankings]]:
    """Rank all documents by each encoder."""
    for name, options in ENCODER_VARIANTS:
        encoder = choose_encoder(name, options).fit(known.documents, options)
        yield f"encoder {label(name, options)}", known.encoded(encoder)


def moved(known: EmbeddedSet, depth: int) -> Iterator[tuple[str, Rankings]]:
    """Rank the nearest documents by Word DistanceRanker's Distance, words weighted by frequency and by tf-idf."""
    yield "wmd", known.moved(depth)
    yield "wmd tfidf", known.with_idf().moved(depth)


def label(name: str, options: Mapping[str, str]) -> str:
    """Name a scorer or an encoder and its options."""
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def show_precision(
    sets: Sequence[str],
    embedding: Embedding,
    tokenizer: Tokenizer,
    kinds: Collection[str],
    depth: int,
    runs: Path | None,
) -> None:
    """Print a row for each ranker of these kinds, and whether BM25 is where it has to be."""
    show("Mean average precision, no stemming.")
    figures: dict[str, dict[str, float]] = {}
    for name in sets:
        judged = JudgedSet.read(real("data", name), tokenizer)
        known = EmbeddedSet.of(judged, embedding)
        show(
            f"{name}: {len(judged.documents)} documents, {len(known.keys)} of them with known words, "
            f"{len(judged.relevant)} queries with a relevant one"
        )
        found = [*scored(judged, judged.collection(embedding))] if "scorers" in kinds else []
        found += [*encoded(known)] if "encoders" in kinds else []
        found += [*moved(known, depth)] if "wmd" in kinds else []
        for each, rankings in found:
            figures.setdefault(each, {})[name] = judged.precision(rankings)
        if runs:
            write_trec(runs, name, judged, found)
    rows: list[list[object]] = []
    for each, by_set in figures.items():
        aim = ""
        if each == "bm25 k3=0":
            aim = " ".join(verdict(abs(by_set[name] - BM25[name]) <= ALLOWED) for name in sets)
        rows.append([each, *(f"{by_set[name]:.4f}" for name in sets), aim])
    rows.append(["target of bm25 k3=0", *(f"{BM25[name]:.3f}" for name in sets), f"within {ALLOWED}"])
    show_table(("ranked by", *sets, ""), rows)


def show_speed(embedding: Embedding, tokenizer: Tokenizer) -> None:
    """Print how long fitting and a query take, with whole documents as queries."""
    _, documents = read_documents(real("data", SPEED_SET, "docs.jsonl.gz"), tokenizer)
    places = np.random.default_rng(0).permutation(len(documents)).tolist()
    queries = [documents[place] for place in places if 80 <= len(documents[place]) <= 100][:SPEED_QUERIES]
    segment = Counted(documents, word_vectors(documents, embedding)).segment()
    asked, (counts, given) = [segment.query(query) for query in queries], (segment.counts, segment.statistics)
    rows: list[list[object]] = []
    for name, options in VARIANTS:
        began = time.process_time()
        scorer = SCORERS[name].fit(counts, given, options)
        fitted = time.process_time() - began
        # The first query may pay for what is done once.
        began = time.process_time()
        scorer.score(asked[0])
        first, seconds = time.process_time() - began, []
        for query in asked[1:]:
            began = time.process_time()
            scorer.score(query)
            seconds.append(time.process_time() - began)
        times = [f"{1000 * value:.1f}" for value in (fitted, first, statistics.median(seconds), max(seconds))]
        rows.append([label(name, options), *times])
    show()
    show(
        f"{SPEED_SET}: {len(documents)} documents, {len(counts.terms)} postings, {len(segment.terms)} terms; "
        f"{len(queries)} queries of 80 to 100 terms. Milliseconds of computing, by all threads together."
    )
    show_table(("scorer", "fit", "first query", "median query", "slowest query"), rows)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=("both", "precision", "speed"), default="both", help="what to measure")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS, help="what for the first table (all)")
    parser.add_argument("--by", nargs="*", choices=KINDS, default=KINDS, help="what ranks for the first table (all)")
    parser.add_argument("--depth", type=int, default=1000, help="how many documents WMD ranks (1000)")
    parser.add_argument("--runs", type=Path, help="write the rankings into this folder")
    chosen = parser.parse_args()
    tokenizer = Tokenizer(default_stop_words())
    with TemporaryDirectory() as place:
        embedding = import_vectors(str(vectors()), Path(place, "vectors"))
        if chosen.table != "speed":
            show_precision(chosen.sets, embedding, tokenizer, chosen.by, chosen.depth, chosen.runs)
        if chosen.table != "precision":
            show_speed(embedding, tokenizer)


if __name__ == "__main__":
    main()
