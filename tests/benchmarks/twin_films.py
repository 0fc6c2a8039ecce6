"""Shows R-precision and recall on twin films (Trapp et al. 2017): WMD against P-WMD, exact search in the library.

220 films are threads whose parts are plot keywords ranked by votes; a query is the first film of each of 107 pairs, and
the only relevant document is its twin. A film without keywords finds nothing.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, NoKnownWords, Settings, UnknownKey
from moverank.indexer.readers import read_threads
from moverank.indexer.readers.stop_word_file import choose_stop_words
from tests.benchmarks.common import real, show, show_table, vectors, verdict

# R-precision: gamma, target (within 0.02), the paper's figure with other vectors.
FIGURES = ((0.0, 0.46, 0.459), (0.75, 0.54, 0.523))
CUTS = range(1, 11)


def judgments() -> dict[str, set[str]]:
    """Return the relevant films of each query."""
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in real("data", "twinfilms", "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, _, film, grade = line.split("\t")
        if int(grade) > 0:
            relevant[query].add(film)
    return relevant


def ranked(collection: Collection, key: str, gamma: float) -> list[str]:
    """Return the films nearest to one, nearest first."""
    try:
        return [hit.key for hit in collection.similar(key, k=CUTS[-1], exact=True, gamma=gamma).hits]
    except (NoKnownWords, UnknownKey):
        return []


def measured(collection: Collection, gamma: float) -> tuple[float, list[float]]:
    """Return R-precision and recall at each of `CUTS`, means over the queries."""
    relevant = judgments()
    precision, recall = 0.0, [0.0] * len(CUTS)
    for query, twins in relevant.items():
        found = ranked(collection, query, gamma)
        precision += len(twins.intersection(found[: len(twins)])) / len(twins)
        for i, cut in enumerate(CUTS):
            recall[i] += len(twins.intersection(found[:cut])) / len(twins)
    return precision / len(relevant), [total / len(relevant) for total in recall]


def main() -> None:
    """Print a row for each gamma."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", choices=("tf", "tfidf"), default="tf", help="word weights (tf, as in the paper)")
    weights = parser.parse_args().weights
    settings = Settings(embedding=str(vectors()), stop_words=choose_stop_words(None), weights=weights)
    rows: list[list[object]] = []
    with TemporaryDirectory() as place, Collection.create(Path(place, "films"), settings) as collection:
        changes = collection.index(read_threads([str(real("data", "twinfilms", "threads.jsonl.gz"))]))
        for gamma, target, paper in FIGURES:
            precision, recall = measured(collection, gamma)
            # The targets are for the paper's weights.
            aim = ["", ""] if weights != "tf" else [f"{target:.2f} +- 0.02", verdict(abs(precision - target) <= 0.02)]
            rows.append([gamma, f"{precision:.3f}", *aim, paper, *(f"{found:.3f}" for found in recall)])
    show(f"Twin films: {changes.added} films with keywords, {len(judgments())} queries, weights {weights}.")
    show_table(("gamma", "R-precision", "target", "", "paper", *(f"R@{cut}" for cut in CUTS)), rows)


if __name__ == "__main__":
    main()
