"""Measures R-precision and recall on twin films (Trapp et al. 2017): exact search by WMD and by P-WMD.

220 films are threads whose parts are plot keywords ranked by votes; a query is the first film of each of 107 pairs, and
the only relevant document is its twin. A film without keywords has no hits.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, NoKnownWords, Settings, UnknownKey
from moverank.indexer.readers import read_threads
from moverank.indexer.readers.judgments import read_qrels
from moverank.indexer.readers.stop_word_file import choose_stop_words
from moverank.rerank.evaluation.judgments import Judgments, join_run
from moverank.rerank.evaluation.measures import evaluate_measures
from tests.benchmarks.common import argument_parser, real, show, show_table, vectors, verdict

# R-precision: gamma, target (within 0.02), the paper's figure with other vectors.
FIGURES = ((0.0, 0.46, 0.459), (0.75, 0.54, 0.523))
CUTS = range(1, 11)


def nearest_films(collection: Collection, key: str, gamma: float) -> list[str]:
    """Return the keys of the films nearest to one, nearest first."""
    try:
        return [hit.key for hit in collection.similar(key, k=CUTS[-1], exact=True, gamma=gamma).hits]
    except (NoKnownWords, UnknownKey):
        return []


def measure(collection: Collection, judgments: Judgments, gamma: float) -> tuple[float, list[float]]:
    """Return R-precision and recall at each of `CUTS`, means over the queries."""
    rankings = {query: nearest_films(collection, query, gamma) for query in judgments.queries}
    names = ["rprec", *(f"recall@{cut}" for cut in CUTS)]
    values = evaluate_measures(join_run(judgments, rankings).values(), names)
    precision, *recalls = (float(values[name].mean()) for name in names)
    return precision, recalls


def main() -> None:
    """Print a row for each gamma."""
    parser = argument_parser(__doc__)
    parser.add_argument("--weights", choices=("tf", "tfidf"), default="tf", help="word weights (tf, as in the paper)")
    weights = parser.parse_args().weights
    settings = Settings(embedding=str(vectors()), stop_words=choose_stop_words(None), weights=weights, rank="")
    judgments = Judgments(read_qrels(str(real("data", "twinfilms", "qrels.tsv"))))
    rows: list[list[object]] = []
    with TemporaryDirectory() as directory, Collection.create(Path(directory, "films"), settings) as collection:
        changes = collection.index(read_threads([str(real("data", "twinfilms", "threads.jsonl.gz"))]))
        for gamma, target, paper in FIGURES:
            precision, recalls = measure(collection, judgments, gamma)
            # The targets are for the paper's weights.
            cells = ["", ""] if weights != "tf" else [f"{target:.2f} +- 0.02", verdict(abs(precision - target) <= 0.02)]
            rows.append([gamma, f"{precision:.3f}", *cells, paper, *(f"{recall:.3f}" for recall in recalls)])
    show(f"Twin films: {changes.added} films with keywords, {len(judgments.queries)} queries, weights {weights}.")
    show_table(("gamma", "R-precision", "target", "", "paper", *(f"R@{cut}" for cut in CUTS)), rows)


if __name__ == "__main__":
    main()
