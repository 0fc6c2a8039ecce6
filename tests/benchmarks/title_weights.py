"""Shows what it is worth that the words of forums' titles count more than once: MAP by title weight.

The weight for the report is chosen on the first set, the queries of SemEval's train2.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank.indexer.evaluation.experiments import evaluate_retrieval
from tests.benchmarks.common import real, show, show_table
from tests.benchmarks.experiments import BLENDS, CENTROID, FISHER, LSI, PWMD, RANKED_BM25, TRANSLATION, collection

SETS = (
    ("semeval_cqa", "qrels_train2.tsv"),
    ("semeval_cqa", "qrels_dev.tsv"),
    ("stackexchange_quantumcomputing", "qrels.tsv"),
    ("stackexchange_bicycles_meta", "qrels.tsv"),
)
METHODS = (
    *("bm25", RANKED_BM25, TRANSLATION, CENTROID, FISHER, LSI),
    *(blend for blend in BLENDS if PWMD not in blend),
)


def measured(name: str, qrels: str, weight: int) -> dict[str, float]:
    """Return the mean average precision of every method where titles count so often."""
    with TemporaryDirectory() as work:
        table = evaluate_retrieval(
            collection(Path(work), name, titles=weight),
            str(real("data", name, qrels)),
            queries=str(real("data", name, "queries.jsonl")),
            methods=METHODS,
            measures=("map",),
            without_self="stackexchange" in name,
        )
    return {str(row["method"]): float(row["map"] or 0) for row in table.rows}


def main() -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=int, nargs="+", default=[1, 2, 3, 4])
    weights = parser.parse_args().weights
    for name, qrels in SETS:
        found = [measured(name, qrels, weight) for weight in weights]
        heads = [f"{name}, {qrels}", *(f"titles x{weight}" for weight in weights)]
        show_table(heads, [(method, *(f"{each[method]:.3f}" for each in found)) for method in METHODS])
        show()


if __name__ == "__main__":
    main()
