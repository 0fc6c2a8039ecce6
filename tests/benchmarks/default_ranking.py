"""Mean average precision of the first 100 hits by the default ranking, parts of it, and BM25, on eight judged sets.

Prints the table of the manual's page `ranking`. Collections are made as `moverank index` and `moverank threads` make
them, and kept in the directory --work. With --leave-one-out, the weights are chosen from a grid on the other sets for
each set, with RWMD in the place of WMD. With --readme, prints the other figures of README instead: nDCG@10 of SciFact,
the ten candidates of SemEval, and technical texts with vectors trained on them, which take a quarter of an hour.
"""

import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Settings
from moverank.indexer.formatters.progress import Bars
from moverank.indexer.plugins.laboratory.corpus import corpus_of
from moverank.indexer.plugins.laboratory.distances import RowCache
from moverank.indexer.plugins.laboratory.evaluating import RetrievalExperiment
from moverank.indexer.plugins.laboratory.trial import Trial
from moverank.indexer.plugins.laboratory.tuner import TriedRanking, Tuner, TuningGoal
from moverank.indexer.reading import read_documents
from moverank.indexer.reading.inputs.judgments import read_qrels
from moverank.indexer.reading.inputs.queries import read_queries
from moverank.indexer.values.documents import TITLE_WEIGHT
from moverank.indexer.values.ranking_spec import PAPER_GAMMA
from moverank.indexer.values.settings import default_rank
from moverank.rerank.evaluation.measures import Judgments
from tests.benchmarks.common import argument_parser, real, show, show_table
from tests.benchmarks.technical_texts import technical_texts
from tests.benchmarks.usual_collections import documents_of, usual_collection

SETS = {
    "cranfield": ("cranfield", "qrels.tsv"),
    "cisi": ("cisi", "qrels.tsv"),
    "med": ("med", "qrels.tsv"),
    "scifact": ("scifact", "qrels.tsv"),
    "SemEval dev": ("semeval_cqa", "qrels_dev.tsv"),
    "SemEval train2": ("semeval_cqa", "qrels_train2.tsv"),
    "quantumcomputing": ("stackexchange_quantumcomputing", "qrels.tsv"),
    "bicycles_meta": ("stackexchange_bicycles_meta", "qrels.tsv"),
}


def _collection(work: Path, name: str) -> Path:
    """Return the collection of a data set, made unless it is there."""
    return usual_collection(work / name, documents_of(name))


def _methods(gamma: float) -> dict[str, str]:
    """Return the rows of the table and their rankings, for a collection with this gamma."""
    rank = default_rank(gamma, stem="english")
    return {
        "BM25": "bm25",
        "BM25, stems": "bm25:stem=english",
        "(P-)WMD, tf-idf": "pwmd:weights=tfidf" if gamma else "wmd:weights=tfidf",
        "default without cosine": rank.rpartition("+")[0],
        "default": rank,
    }


def _tuner(work: Path, name: str, qrels: str) -> Tuner:
    """Return what estimates the figures of settings on a data set."""
    index, folder = _collection(work, name), real("data", name)
    judgments = Judgments(read_qrels(str(folder / qrels)))
    texts = [query for query in read_queries(str(folder / "queries.jsonl")) if query[0] in judgments.queries]
    with Collection.open(index) as collection:
        corpus, own = corpus_of(collection, texts), collection.settings.ranking
    row_of = corpus.documents.row_of if name.startswith("stackexchange") else {}
    own_rows = np.array([row_of.get(key, -1) for key in corpus.queries.keys], np.int64)
    with Bars() as bars:
        trial = Trial(corpus.documents, corpus.queries, own_rows, RowCache(), bars)
        return Tuner(trial, TuningGoal(judgments, "map", 100, sys.maxsize), own, cache=index / "evaluation")


def leave_one_out(work: Path) -> None:
    """Print, for each set, the weights that are best on the mean of the others, and their figures."""
    choices = itertools.product((0.0, 20.0), (0.25, 0.5, 1.0), (1.0, 1.5, 2.0, 3.0), (0.0, 0.5, 1.0, 1.5))
    grid: list[dict[str, Any]] = [
        {"mu": mu, "cover": cover, "bm25": bm25, "cosine": cosine} for mu, cover, bm25, cosine in choices
    ]
    figures = []
    for name, qrels in SETS.values():
        is_forum = (real("data", name) / "threads.jsonl.gz").exists()
        start = TriedRanking(PAPER_GAMMA if is_forum else 0.0, TITLE_WEIGHT)
        tuner = _tuner(work, name, qrels)
        # A judged query without a text counts as 0, as in `evaluate`.
        figures.append([float(tuner.estimated(replace(start, **choice)).mean()) for choice in grid])
    table, default = np.array(figures), grid.index({"mu": 20.0, "cover": 0.5, "bm25": 2.0, "cosine": 1.0})
    held_out = []
    for number, title in enumerate(SETS):
        best = int(np.delete(table, number, axis=0).mean(axis=0).argmax())
        held_out.append(table[number, best])
        show(f"{title}: {grid[best]} {table[number, best]:.4f}, the default {table[number, default]:.4f}")
    show(f"mean {np.mean(held_out):.4f}, the default {table[:, default].mean():.4f}")


def readme(work: Path) -> None:
    """Print the tables of README's other figures."""
    scifact, semeval = real("data", "scifact"), real("data", "semeval_cqa")
    technical = technical_texts(work / "technical")
    if not Collection.exists(work / "technical.index"):
        with Collection.create(work / "technical.index", Settings()) as collection:
            collection.index(read_documents([str(technical / "docs.jsonl.gz")]))
    options: dict[str, Any] = {"methods": ("bm25", "bm25:stem=english", "auto")}
    for title, index, folder, qrels, more in (
        ("SciFact", _collection(work, "scifact"), scifact, "qrels.tsv", {"measures": ("ndcg@10",)}),
        (
            "SemEval dev, ten candidates; of 50 queries, those with a relevant one",
            _collection(work, "semeval_cqa"),
            semeval,
            "qrels_dev.tsv",
            {"measures": ("map",), "candidates": str(semeval / "candidates.tsv")},
        ),
        ("technical texts", work / "technical.index", technical, "qrels.tsv", {"measures": ("map", "ndcg@10")}),
    ):
        with Bars() as bars:
            queries = str(folder / "queries.jsonl")
            table = RetrievalExperiment(qrels=str(folder / qrels), queries=queries, **options | more).run(index, bars)
        show(f"{title}: {table.facts}")
        heads = [name for name in table.rows[0] if name in ("method", "p", *more["measures"])]
        show_table(heads, [[str(row[name])[:20] for name in heads] for row in table.rows])


def main() -> None:
    """Print the figures of each set as soon as they are known, then the table as Markdown."""
    parser = argument_parser(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="directory of the collections")
    parser.add_argument("--rank", action="append", default=[], help="a further row; `WMD` is replaced by pwmd or wmd")
    parser.add_argument("--leave-one-out", action="store_true", help="choose the weights on the other sets")
    parser.add_argument("--readme", action="store_true", help="print README's other figures instead")
    options = parser.parse_args()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    if options.readme:
        readme(work)
        return
    if options.leave_one_out:
        leave_one_out(work)
        return
    figures: dict[str, list[float]] = {}
    for title, (name, qrels) in SETS.items():
        index, folder = _collection(work, name), real("data", name)
        gamma = PAPER_GAMMA if (folder / "threads.jsonl.gz").exists() else 0.0
        methods = _methods(gamma)
        methods |= {rank: rank.replace("WMD", "pwmd" if gamma else "wmd") for rank in options.rank}
        with Bars() as bars:
            table = RetrievalExperiment(
                qrels=str(folder / qrels),
                queries=str(folder / "queries.jsonl"),
                methods=list(methods.values()),
                measures=("map",),
                without_self=name.startswith("stackexchange"),
            ).run(index, bars)
        for label, row in zip(methods, table.rows, strict=True):
            figures.setdefault(label, []).append(float(row["map"] or 0.0))
        show(f"{title}: " + ", ".join(f"{label} {values[-1]:.4f}" for label, values in figures.items()))
    show(f"| | {' | '.join(figures)} |")
    columns = [[*values, sum(values) / len(values)] for values in figures.values()]
    for title, *values in zip([*SETS, "mean"], *columns, strict=True):
        show(f"| {title} | {' | '.join(f'{value:.3f}'.removeprefix('0') for value in values)} |")


if __name__ == "__main__":
    main()
