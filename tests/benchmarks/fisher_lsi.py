"""Compares Fisher vectors over LSI word vectors with LSI itself, as Clinchant & Perronnin 2013, table 2.

The word vectors of a set are trained on its documents by LSI (`moverank.indexer.vectors.lsi_training`), e dimensions.
LSI is the encoder of that name with e dimensions and `inverse=no`, the paper's V S; the Fisher vectors have K Gaussians
over all e dimensions. Mean average precision (%) as in scorers.py, over all words. A second table changes one choice at
a time. The paper's collections are others, and far larger: CLEF 2003, TREC-1 & 2 and ROBUST.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank.indexer.vectors.lsi_training import train_lsi
from moverank.rerank.encoders.first_stages import choose_encoder
from moverank.rerank.scorers.bow import Tfidf
from moverank.rerank.words.tokenizer import Tokenizer, stop_words
from tests.benchmarks.common import argument_parser, real, show, show_table
from tests.benchmarks.retrieval_bags import RetrievalBags
from tests.benchmarks.retrieval_sets import SETS, RetrievalSet, order

GAUSSIANS = (2, 4, 8, 16, 32)
DIMENSIONS = (10, 50, 200)
CHOICES_AT = (50, 16)
"""Dimensions and Gaussians of the second table."""
PAPER: tuple[tuple[object, ...], ...] = (
    ("CLEF 2003", 50, 16.4, 6.0, 8.6, 12.5, 16.5, 17.6, 16.8),
    ("CLEF 2003", 200, 16.4, 12.1, 18.2, 20.4, 22.9, 23.7, 21.9),
    ("TREC-1 & 2", 100, 12.4, 4.8, 7.2, 9.2, 10.4, 11.0, 10.8),
    ("TREC-1 & 2", 200, 12.4, 7.15, 8.9, 11.8, 12.3, 12.5, 12.3),
    ("ROBUST", 100, 12.6, 3.0, 4.5, 7.1, 8.1, 8.5, 9.1),
    ("ROBUST", 300, 12.6, 5.3, 6.8, 8.9, 10.0, 10.5, 10.5),
)
"""Collection, e, TF-IDF (table 3), LSI, and Fisher vectors by number of Gaussians."""


def trained(retrieval_set: RetrievalSet, dim: int, *, normalize: bool = True) -> RetrievalBags:
    """Return a set over word vectors of `dim` dimensions, trained on its own documents; `normalize`: to unit length."""
    counts = [{term: int(count) for term, count in document.items()} for document in retrieval_set.documents]
    with TemporaryDirectory() as directory:
        embedding = train_lsi(lambda: counts, Path(directory, "vectors"), dim=dim, normalize=normalize)
        return RetrievalBags.of(retrieval_set, embedding)


def measured(retrieval_set: RetrievalSet, bags: RetrievalBags, name: str, options: Mapping[str, object]) -> str:
    """Return the mean average precision of an encoder in percent; `bags` are those of the set."""
    texts = {key: str(value) for key, value in options.items()}
    encoder = choose_encoder(name, texts).fit(bags.documents, texts)
    return f"{100 * retrieval_set.mean_average_precision(bags.ranked_by_encoder(encoder)):.1f}"


def measured_tfidf(retrieval_set: RetrievalSet) -> str:
    """Return the mean average precision of the cosine of tf-idf vectors in percent."""
    segment = retrieval_set.counted(None).segment()
    scorer, rankings = segment.fit("tfidf", {"norm": "l2"}), {}
    for query, counts in retrieval_set.judged_queries.items():
        rows = order(scorer.score(segment.query(counts)), ascending=Tfidf.ascending)
        rankings[query] = [retrieval_set.keys[row] for row in rows]
    return f"{100 * retrieval_set.mean_average_precision(rankings):.1f}"


def show_sizes(sets: Mapping[str, RetrievalSet], dimensions: Sequence[int]) -> None:
    """Print LSI beside Fisher vectors of all sizes, and the figures of the paper."""
    heads = ("e", "tf-idf", "LSI", *(f"FV K={k}" for k in GAUSSIANS))
    show("Mean average precision in percent; FV over unit LSI word vectors, otherwise the defaults of moverank.")
    for name, retrieval_set in sets.items():
        rows: list[Sequence[object]] = []
        tfidf = measured_tfidf(retrieval_set)
        for dim in dimensions:
            bags = trained(retrieval_set, dim)
            lsi = measured(retrieval_set, bags, "lsi", {"dim": dim, "inverse": "no"})
            by_gaussians = [measured(retrieval_set, bags, "fisher", {"dim": dim, "k": k}) for k in GAUSSIANS]
            rows.append([name, dim, tfidf, lsi, *by_gaussians])
        show_table(("set", *heads), rows)
        show()
    show_table(("the paper's", *heads), PAPER)


def show_choices(sets: Mapping[str, RetrievalSet]) -> None:
    """Print the effect of each choice."""
    rows: dict[str, list[str]] = {}
    for name, retrieval_set in sets.items():
        for label, cell in measured_choices(name, retrieval_set).items():
            rows.setdefault(label, []).append(cell)
    dim, k = CHOICES_AT
    show()
    show(f"One choice at a time, e = {dim}, K = {k}.")
    show_table(("", *sets), [[label, *cells] for label, cells in rows.items()])


def measured_choices(name: str, retrieval_set: RetrievalSet) -> dict[str, str]:
    """Return the mean average precision of each choice on the set `name` in percent."""
    dim, k = CHOICES_AT
    bags = trained(retrieval_set, dim)
    weighted, raw = bags.with_idf(), trained(retrieval_set, dim, normalize=False)
    with_stop_words = RetrievalSet.read(real("data", name), Tokenizer(frozenset()))
    fisher: dict[str, object] = {"dim": dim, "k": k}
    lsi: dict[str, object] = {"dim": dim}
    rankers: dict[str, tuple[RetrievalBags, str, dict[str, object]]] = {
        "LSI, V S": (bags, "lsi", lsi | {"inverse": "no"}),
        "LSI, V": (bags, "lsi", lsi),
        "LSI, V S, without idf": (bags, "lsi", lsi | {"inverse": "no", "idf": "no"}),
        "centroid of the word vectors": (bags, "centroid", {}),
        "FV": (bags, "fisher", fisher),
        "FV, one Gaussian": (bags, "fisher", fisher | {"k": 1}),
        "FV, idf in the bags": (weighted, "fisher", fisher),
        "FV, mixture fitted to tokens": (bags, "fisher", fisher | {"frequency": 1}),
        "FV, no signed square root": (bags, "fisher", fisher | {"power": "no"}),
        "FV, with variances": (bags, "fisher", fisher | {"variances": "yes"}),
        "FV, half of the dimensions": (bags, "fisher", fisher | {"dim": dim // 2}),
        "FV, word vectors U S without normalisation": (raw, "fisher", fisher),
        "the same, fitted to tokens, no root": (raw, "fisher", fisher | {"frequency": 1, "power": "no"}),
    }
    cells = {label: measured(retrieval_set, *ranker) for label, ranker in rankers.items()}
    return cells | {
        "FV, with stop words": measured(with_stop_words, trained(with_stop_words, dim), "fisher", fisher),
    }


def main() -> None:
    """Print both tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS, help="retrieval sets (all)")
    parser.add_argument("--table", choices=("both", "sizes", "choices"), default="both", help="table to print (both)")
    parser.add_argument(
        "--dimensions", nargs="*", type=int, default=DIMENSIONS, help="e of the first table (10 50 200)"
    )
    arguments = parser.parse_args()
    tokenizer = Tokenizer(stop_words())
    sets = {name: RetrievalSet.read(real("data", name), tokenizer) for name in arguments.sets}
    if arguments.table != "choices":
        show_sizes(sets, arguments.dimensions)
    if arguments.table != "sizes":
        show_choices(sets)


if __name__ == "__main__":
    main()
