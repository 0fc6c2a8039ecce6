"""PyTerrier's measures of the adapters on Cranfield, compared with `moverank evaluate` to the fourth digit.

Four systems in one `pt.Experiment`: BM25 of a collection, its default ranking, and its 100 best by BM25 reranked, with
and without `% 10`. `moverank evaluate retrieval` measures the same rankings; reranking, by --candidates. Prints both,
and how many transport problems were solved for a query. Exits with 1 if any figure differs. Needs the extra pyterrier.
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Ranking, Settings
from moverank.indexer.reading import read_documents
from moverank.indexer.values.documents import TITLE_WEIGHT
from tests.benchmarks.common import any_missed, argument_parser, real, run, show, show_table, vectors, verdict

MEASURES = {"map": "AP", "ndcg@10": "nDCG@10", "p@10": "P@10"}
"""The names of the measures here and in PyTerrier."""
DEPTH = 100


class Counted:
    """A collection that adds up the transport problems that it solves for candidates."""

    def __init__(self, collection: Collection) -> None:
        self.collection, self.solved, self.queries = collection, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.collection, name)

    def rerank_many(self, *arguments: Any) -> Iterator[Ranking]:
        """See `Collection.rerank_many`."""
        for ranking in self.collection.rerank_many(*arguments):
            self.solved += ranking.counts.solved
            self.queries += 1
            yield ranking


def _collection(path: Path) -> Collection:
    if Collection.exists(path):
        return Collection.open(path)
    settings = Settings(embedding=str(vectors()), title_weight=TITLE_WEIGHT)
    collection = Collection.create(path, settings)
    collection.index(read_documents([str(real("data", "cranfield", "docs.jsonl.gz"))]))
    return collection


def _evaluated(path: Path, method: str, *options: str) -> dict[str, float]:
    """Return the measures by `moverank evaluate retrieval`."""
    folder = real("data", "cranfield")
    arguments = ["-i", str(path), "--qrels", str(folder / "qrels.tsv"), "--queries", str(folder / "queries.jsonl")]
    measures = [word for name in MEASURES for word in ("--measure", name)]
    printed = run("evaluate", "retrieval", *arguments, "--method", method, *measures, *options, "--json").objects[0]
    (row,) = [row for row in printed["rows"] if row["method"] == method]  # candidates have a row of their own
    return {name: row[name] for name in MEASURES}


def _topics() -> tuple[Any, Any]:
    """Return the queries and judgments as PyTerrier's frames."""
    import pandas as pd

    folder = real("data", "cranfield")
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = [(query["id"], query["text"]) for query in map(json.loads, lines)]
    judged = [line.split() for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()]
    qrels = [(qid, docno, int(label)) for qid, _, docno, label in judged]
    return pd.DataFrame(queries, columns=["qid", "query"]), pd.DataFrame(qrels, columns=["qid", "docno", "label"])


def _experiment(systems: Sequence[Any], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the measures of each system by `pt.Experiment`."""
    import ir_measures
    import pyterrier as pt

    wanted = [ir_measures.parse_measure(name) for name in MEASURES.values()]
    table = pt.Experiment(list(systems), *_topics(), wanted, names=list(names))
    return {
        row["name"]: {name: row[other] for name, other in MEASURES.items()} for row in table.to_dict(orient="records")
    }


def _first_of(run_file: Path, method: str, count: int) -> Path:
    """Write the first `count` lines of each query of a method to a run of its own; return its path."""
    name = "_".join(method.split())
    fields = [line.split() for line in run_file.read_text(encoding="utf-8").splitlines()]
    kept = [line for line in fields if line[5] == name and int(line[3]) <= count]
    path = run_file.with_suffix(f".{count}.trec")
    path.write_text("".join(f"{' '.join(line)}\n" for line in kept), encoding="utf-8")
    return path


def _rows(measured: dict[str, dict[str, float]], expected: dict[str, dict[str, float]]) -> Iterator[list[object]]:
    for system, figures in measured.items():
        for name, value in figures.items():
            other = expected[system][name]
            yield [system, name, f"{value:.4f}", f"{other:.4f}", verdict(f"{value:.4f}" == f"{other:.4f}")]


def _compare(work: Path) -> Iterable[list[object]]:
    from moverank.rerank.plugins.adapters.pyterrier import MoverankReranker, MoverankRetriever

    path, ranked, whole_run = (work / name for name in ("cranfield", "bm25.trec", "reranked.trec"))
    with _collection(path) as collection:
        default = collection.search("wing").ranked_by
        whole, cut = Counted(collection), Counted(collection)
        bm25 = MoverankRetriever(collection, rank="bm25", num_results=DEPTH)
        systems = {
            "bm25": bm25,
            "moverank": MoverankRetriever(collection, num_results=DEPTH),
            "bm25 >> moverank": bm25 >> MoverankReranker(collection=whole),
            "bm25 >> moverank % 10": bm25 >> MoverankReranker(collection=cut) % 10,
        }
        measured = _experiment(list(systems.values()), list(systems))
    candidates = ["--candidates", str(ranked)]
    expected = {
        "bm25": _evaluated(path, "bm25", "--cutoff", str(DEPTH), "--run", str(ranked)),
        "moverank": _evaluated(path, default, "--cutoff", str(DEPTH)),
        "bm25 >> moverank": _evaluated(path, default, *candidates, "--run", str(whole_run)),
    }
    cut_run = _first_of(whole_run, default, 10)  # candidates are never cut off
    expected["bm25 >> moverank % 10"] = _evaluated(path, default, "--candidates", str(cut_run))
    yield from _rows(measured, expected)
    solved = [counted.solved / counted.queries for counted in (whole, cut)]
    yield ["problems a query: all, % 10", "", *(f"{each:.2f}" for each in solved), verdict(solved[1] < solved[0])]


def main() -> int:
    """Print the table; return 1 if a figure differs."""
    parser = argument_parser(__doc__)
    parser.add_argument("--work", type=Path, help="directory for the collection; a temporary one by default")
    given = parser.parse_args().work
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # PyTerrier's own use of pandas
    with tempfile.TemporaryDirectory() as made:
        rows = list(_compare(given or Path(made)))
    show_table(["system", "measure", "pt.Experiment", "moverank evaluate", ""], rows)
    import pyterrier as pt

    show(f"Java was started: {pt.java.started()}")
    return int(any_missed(rows) or pt.java.started())


if __name__ == "__main__":
    sys.exit(main())
