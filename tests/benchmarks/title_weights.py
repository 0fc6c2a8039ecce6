"""Measures the effect of the title weight in forums: MAP of each method by weight.

The weight for the report is chosen on the first set, the queries of SemEval's train2.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank.indexer.plugins.laboratory.evaluating import RetrievalExperiment
from tests.benchmarks.common import argument_parser, real, show, show_table
from tests.benchmarks.evaluation_runs import collection
from tests.benchmarks.experiments import CENTROID, FISHER, LSI, PWMD, RANKED_BM25, SUMS, TRANSLATION

SETS = (
    ("semeval_cqa", "qrels_train2.tsv"),
    ("semeval_cqa", "qrels_dev.tsv"),
    ("stackexchange_quantumcomputing", "qrels.tsv"),
    ("stackexchange_bicycles_meta", "qrels.tsv"),
)
METHODS = (
    *("bm25", RANKED_BM25, TRANSLATION, CENTROID, FISHER, LSI),
    *(one for one in SUMS if PWMD not in one),
)


def measured(name: str, qrels: str, weight: int) -> dict[str, float]:
    """Return the mean average precision of each method on a data set with one title weight."""
    with TemporaryDirectory() as directory:
        table = RetrievalExperiment(
            qrels=str(real("data", name, qrels)),
            queries=str(real("data", name, "queries.jsonl")),
            methods=METHODS,
            measures=("map",),
            without_self="stackexchange" in name,
        ).run(collection(Path(directory), name, title_weight=weight))
    return {str(row["method"]): float(row["map"] or 0) for row in table.rows}


def main() -> None:
    """Print a table for each set."""
    parser = argument_parser(__doc__)
    parser.add_argument("--weights", type=int, nargs="+", default=[1, 2, 3, 4], help="title weights (1 2 3 4)")
    weights = parser.parse_args().weights
    for name, qrels in SETS:
        by_weight = [measured(name, qrels, weight) for weight in weights]
        heads = [f"{name}, {qrels}", *(f"titles x{weight}" for weight in weights)]
        show_table(heads, [(method, *(f"{figures[method]:.3f}" for figures in by_weight)) for method in METHODS])
        show()


if __name__ == "__main__":
    main()
