"""What a user gets: nDCG@10 of the default ranking without a file of word vectors, with one, and of BM25 with stems.

The p beside a figure is that of its difference from the default without a file, by Fisher's randomisation test over the
queries, and in the row `mean` over the sets. Collections are made as `moverank index` and `moverank threads` make them,
and kept in the directory --work. --set adds a set: a folder of `docs.jsonl.gz`, `queries.jsonl` and `qrels.tsv`.

--dims prints the same by the dimension of LSI, and what a rule of it gives that is chosen for each set on the others.
--cut prints it for samples of so many texts: half of them are relevant ones of random queries, as far as there are any,
and a query without a relevant text in the sample is left out; a query's figure is its mean over --samples.

--parts prints the table of `measured.md`, mean average precision of the first 100 hits. --leave-one-out
chooses the weights from a grid on the other sets for each set, with RWMD in the place of WMD; with --dims for learned
vectors, and the rule of their dimension, too. --readme prints the other
figures of README: the ten candidates of SemEval, and technical texts with vectors trained on them, which take a quarter
of an hour.
"""

import argparse
import csv
import gzip
import itertools
import json
import math
import random
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from moverank.indexer.values.settings import AUTO_EMBEDDING, default_rank
from moverank.indexer.vectors.lsi_training import LEAST, MOST
from moverank.rerank.evaluation.measures import Judgments, randomisation
from moverank.rerank.ranking import AUTO_RANK
from moverank.rerank.words.tokenizer import Tokenizer
from tests.benchmarks.common import argument_parser, gzip_records, real, show, show_table
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

NDCG, STEMS = "ndcg@10", "bm25:stem=english"
NO_FILE, FILE, BM25 = "no file", "file", "BM25, stems"
MEAN = "mean"
RULE = "5000 / words"
DEFAULT = {"mu": 20.0, "cover": 0.5, "bm25": 2.0, "cosine": 1.0}
WEIGHTS: Sequence[Mapping[str, Any]] = [
    dict(zip(DEFAULT, values, strict=True))
    for values in itertools.product(
        (0.0, 20.0, 50.0), (0.25, 0.5, 1.0), (1.0, 1.5, 2.0, 3.0, 4.0), (0.0, 0.5, 1.0, 1.5, 2.0)
    )
]
"""The weights that are tried: the share of the distance is 1."""
Figures = Mapping[str, NDArray[np.float64]]
"""Figures (q,) of the same queries by ranking."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Where the word vectors of a collection come from: the setting `embedding`, "" for the file, and its options."""

    embedding: str = ""
    options: tuple[str, ...] = ()


def _collection(work: Path, name: str, given: Vectors = Vectors()) -> Path:
    """Return the collection of a data set, made unless it is there; `name`: of a folder of the real data, or a path."""
    parts = [name.strip("/").replace("/", "-"), *filter(None, (given.embedding, *given.options))]
    choices = {"embedding": given.embedding, "train_options": given.options} if given.embedding else {}
    return usual_collection(work / "-".join(parts), documents_of(name), **choices)


def _is_forum(name: str) -> bool:
    return documents_of(name).name.startswith("threads")


def _without_self(name: str) -> bool:
    """Return whether the queries of a set are threads of it."""
    return Path(name).name.startswith("stackexchange")


def user_figures(work: Path, name: str, qrels: str, rows: Mapping[str, Vectors]) -> dict[str, dict[str, float]]:
    """Return nDCG@10 by query of the default ranking with the vectors of each row, and of BM25 with stems."""
    folder, found = real("data", name), dict[str, dict[str, float]]()
    for label, given in rows.items():
        index = _collection(work, name, given)
        with tempfile.TemporaryDirectory() as directory, Bars() as bars:
            written = Path(directory, "queries.csv")
            RetrievalExperiment(
                qrels=str(folder / qrels),
                queries=str(folder / "queries.jsonl"),
                methods=(AUTO_RANK,) if BM25 in found else (AUTO_RANK, STEMS),
                measures=(NDCG,),
                cutoff=10,
                without_self=_without_self(name),
                per_query=written,
            ).run(index, bars)
            with written.open(encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    of_row = found.setdefault(label if row["method"] == AUTO_RANK else BM25, {})
                    of_row[row["query"]] = float(row[NDCG])
    return {label: found[label] for label in (*rows, BM25)}


def _arrays(figures: Mapping[str, Mapping[str, float]]) -> Figures:
    return {label: np.array(list(of_queries.values())) for label, of_queries in figures.items()}


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def show_figures(sets: Mapping[str, Figures], more: Mapping[str, Sequence[object]], heads: Sequence[str] = ()) -> None:
    """Print a row for each set: the cells `more`, with their `heads`, and its figures, with p against the first."""
    labels = list(next(iter(sets.values())))
    means = {label: np.array([of_set[label].mean() for of_set in sets.values()]) for label in labels}
    blank = [""] * len(heads)
    rows = []
    for title, of_set in [*sets.items(), (MEAN, means)]:
        cells = [title, *more.get(title, blank), _short(float(of_set[labels[0]].mean()))]
        for label in labels[1:]:
            p = randomisation(of_set[label], of_set[labels[0]])
            cells += [_short(float(of_set[label].mean())), f"{p:.3f}"]
        rows.append(cells)
    show_table(["set", *heads, labels[0], *(head for label in labels[1:] for head in (label, "p"))], rows)


def _length(name: str) -> tuple[int, float]:
    """Return the number of texts of a set, and the mean number of different words of one, without stop words."""
    tokenizer: Tokenizer = Settings().tokenizer
    counts = [len(tokenizer.count(_whole(record))) for record in gzip_records(documents_of(name))]
    return len(counts), float(np.mean(counts))


def _whole(record: Mapping[str, Any]) -> str:
    """Return title and texts of a document or thread."""
    posts = [post["text"] for post in record.get("comments", ())]
    return "\n".join([record.get("title", ""), record.get("text", ""), record.get("body", ""), *posts])


def default_table(work: Path, sets: Mapping[str, tuple[str, str]]) -> None:
    """Print the figures of each set without a file, with the file, and by BM25."""
    found, sizes = dict[str, Figures](), dict[str, Sequence[object]]()
    for title, (name, qrels) in sets.items():
        found[title] = _arrays(user_figures(work, name, qrels, {NO_FILE: Vectors(AUTO_EMBEDDING), FILE: Vectors()}))
        sizes[title] = (f"{_length(name)[0]:,}", len(found[title][BM25]))
        show(f"{title}: " + ", ".join(f"{label} {values.mean():.4f}" for label, values in found[title].items()))
    show_figures(found, sizes, ("texts", "queries"))


def dimensions(work: Path, sets: Mapping[str, tuple[str, str]], dims: Sequence[int]) -> None:
    """Print the figures by the dimension of LSI, and of the rules that are the best of the other sets."""
    rows = {str(dim): Vectors("lsi", (f"dim={dim}",)) for dim in dims} | {FILE: Vectors()}
    found, lengths = dict[str, Figures](), dict[str, tuple[int, float]]()
    for title, (name, qrels) in sets.items():
        found[title], lengths[title] = _arrays(user_figures(work, name, qrels, rows)), _length(name)
        show(f"{title}: " + ", ".join(f"{label} {values.mean():.4f}" for label, values in found[title].items()))
    cells = {title: (f"{texts:,}", f"{words:.0f}") for title, (texts, words) in lengths.items()}
    show_figures(found, cells, ("texts", "words"))
    means = {
        title: {label: float(values.mean()) for label, values in figures.items()} for title, figures in found.items()
    }
    rules = rules_of((words for _, words in lengths.values()), dims)
    table = [[of_set[rule[i]] for rule in rules.values()] for i, of_set in enumerate(means.values())]
    show_held_out(list(means), list(rules), np.array(table), list(rules).index(RULE))


def rules_of(words: Iterable[float], dims: Sequence[int]) -> dict[str, list[str]]:
    """Return the dimension of each set by each rule: one for all, or a number divided by the `words` of a text."""
    every = list(words)
    rules: dict[str, list[str]] = {str(dim): [str(dim)] * len(every) for dim in dims}
    for product in (1_250, 2_500, 5_000, 10_000, 20_000):
        wanted = [min(max(product / count, LEAST), MOST) for count in every]
        rules[f"{product} / words"] = [str(min(dims, key=lambda dim: abs(math.log(dim / w)))) for w in wanted]
    return rules


def cut_set(folder: Path, name: str, qrels: str, texts: int, seed: int) -> str | None:
    """Write a sample of a set to a folder of its name in `folder`; return its path, None if the set is no larger."""
    source, judged = documents_of(name), read_qrels(str(real("data", name, qrels)))
    chance = random.Random(seed)  # noqa: S311 - a sample
    records = {record["id"]: record for record in gzip_records(source)}
    if len(records) <= texts:
        return None
    kept: dict[str, None] = {}
    queries = list(judged)
    chance.shuffle(queries)
    for query in queries:
        relevant = [key for key, grade in judged[query].items() if grade > 0 and key in records]
        kept |= dict.fromkeys(relevant[: max(0, texts // 2 - len(kept))])
    others = [key for key in records if key not in kept]
    kept |= dict.fromkeys(chance.sample(others, texts - len(kept)))
    target = folder / Path(name).name
    target.mkdir(parents=True)
    with gzip.open(target / source.name, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(records[key]) + "\n" for key in records if key in kept)
    lines = ((query, key, grade) for query, grades in judged.items() for key, grade in grades.items() if key in kept)
    (target / "qrels.tsv").write_text("".join(f"{query}\t0\t{key}\t{grade}\n" for query, key, grade in lines), "utf-8")
    shutil.copy(real("data", name, "queries.jsonl"), target)
    return str(target)


def cuts(sets: Mapping[str, tuple[str, str]], sizes: Iterable[int], samples: int) -> None:
    """Print the figures of samples of the sets."""
    for texts in sizes:
        found, counts = dict[str, Figures](), dict[str, Sequence[object]]()
        for title, (name, qrels) in sets.items():
            several: dict[str, dict[str, list[float]]] = {}
            for seed in range(samples):
                with tempfile.TemporaryDirectory() as directory:
                    cut = cut_set(Path(directory, "data"), name, qrels, texts, seed)
                    if cut is None:
                        break
                    rows = {NO_FILE: Vectors(AUTO_EMBEDDING), FILE: Vectors()}
                    for label, of_queries in user_figures(Path(directory), cut, "qrels.tsv", rows).items():
                        for query, value in of_queries.items():
                            several.setdefault(label, {}).setdefault(query, []).append(value)
            if several:
                means = {label: {q: float(np.mean(v)) for q, v in each.items()} for label, each in several.items()}
                found[title] = _arrays(means)
                counts[title] = (len(found[title][BM25]),)
        show(f"{texts} texts")
        show_figures(found, counts, ("queries",))


def _methods(gamma: float) -> dict[str, str]:
    """Return the rows of the table and their rankings, for a collection with this gamma."""
    rank = default_rank(gamma, stem="english")
    return {
        "BM25": "bm25",
        BM25: STEMS,
        "(P-)WMD, tf-idf": "pwmd:weights=tfidf" if gamma else "wmd:weights=tfidf",
        "default without cosine": rank.rpartition("+")[0],
        "default": rank,
    }


def _tuner(work: Path, name: str, qrels: str, given: Vectors) -> Tuner:
    """Return what estimates the figures of settings on a data set."""
    index, folder = _collection(work, name, given), real("data", name)
    judgments = Judgments(read_qrels(str(folder / qrels)))
    texts = [query for query in read_queries(str(folder / "queries.jsonl")) if query[0] in judgments.queries]
    with Collection.open(index) as collection:
        corpus, own = corpus_of(collection, texts), collection.settings.ranking
    row_of = corpus.documents.row_of if _without_self(name) else {}
    own_rows = np.array([row_of.get(key, -1) for key in corpus.queries.keys], np.int64)
    with Bars() as bars:
        trial = Trial(corpus.documents, corpus.queries, own_rows, RowCache(), bars)
        return Tuner(trial, TuningGoal(judgments, NDCG, 10, sys.maxsize), own, cache=index / "evaluation")


def show_held_out(titles: Sequence[str], choices: Sequence[object], table: NDArray[np.float64], default: int) -> None:
    """Print, for each set, the choice that is best on the mean of the others, and its figure.

    `table` (sets, choices) are the figures; `default` is the column of the default.
    """
    held_out = []
    for number, title in enumerate(titles):
        best = int(np.delete(table, number, axis=0).mean(axis=0).argmax())
        held_out.append(table[number, best])
        show(f"{title}: {choices[best]} {table[number, best]:.4f}, the default {table[number, default]:.4f}")
    p = randomisation(np.array(held_out), table[:, default])
    show(f"mean {np.mean(held_out):.4f}, the default {table[:, default].mean():.4f}, p {p:.3f}")
    best = int(table.mean(axis=0).argmax())
    show(f"best on all: {choices[best]} {table[:, best].mean():.4f}")


def leave_one_out(work: Path, sets: Mapping[str, tuple[str, str]], dims: Sequence[int]) -> None:
    """Print, for each set, the weights that are best on the mean of the others, and their figures.

    With `dims`, vectors are learned, and the rule of their dimension is chosen, too: alone, and with the weights.
    """
    vectors = {str(dim): Vectors("lsi", (f"dim={dim}",)) for dim in dims} or {FILE: Vectors()}
    figures: dict[str, list[list[float]]] = {label: [] for label in vectors}
    for title, (name, qrels) in sets.items():
        for label, given in vectors.items():
            start = TriedRanking(PAPER_GAMMA if _is_forum(name) else 0.0, TITLE_WEIGHT, rule="english")
            tuner = _tuner(work, name, qrels, given)
            # A judged query without a text counts as 0, as in `evaluate`.
            figures[label].append([float(tuner.estimated(replace(start, **weights)).mean()) for weights in WEIGHTS])
            show(f"{title}, {label}: the default {figures[label][-1][WEIGHTS.index(DEFAULT)]:.4f}")
    rules = {FILE: [FILE] * len(sets)}
    if dims:
        rules = rules_of((_length(name)[1] for name, _ in sets.values()), dims)
    table = np.array([[figures[label][i] for i, label in enumerate(rule)] for rule in rules.values()])
    rule, weights = list(rules).index(RULE if dims else FILE), WEIGHTS.index(DEFAULT)
    show("weights")
    show_held_out(list(sets), WEIGHTS, table[rule], weights)
    if dims:
        show("rule of the dimension")
        show_held_out(list(sets), list(rules), table[:, :, weights].T, rule)
        show("rule and weights")
        both = list(itertools.product(rules, WEIGHTS))
        show_held_out(list(sets), both, table.swapaxes(0, 1).reshape(len(sets), -1), both.index((RULE, DEFAULT)))


def readme(work: Path) -> None:
    """Print the tables of README's other figures."""
    semeval = real("data", "semeval_cqa")
    technical = technical_texts(work / "technical")
    if not Collection.exists(work / "technical.index"):
        with Collection.create(work / "technical.index", Settings()) as collection:
            collection.index(read_documents([str(technical / "docs.jsonl.gz")]))
    options: dict[str, Any] = {"methods": ("bm25", STEMS, AUTO_RANK)}
    for title, index, folder, qrels, more in (
        (
            "SemEval dev, ten candidates; of 50 queries, those with a relevant one",
            _collection(work, "semeval_cqa"),
            semeval,
            "qrels_dev.tsv",
            {"measures": ("map",), "candidates": str(semeval / "candidates.tsv")},
        ),
        ("technical texts", work / "technical.index", technical, "qrels.tsv", {"measures": ("map", NDCG)}),
    ):
        with Bars() as bars:
            queries = str(folder / "queries.jsonl")
            table = RetrievalExperiment(qrels=str(folder / qrels), queries=queries, **options | more).run(index, bars)
        show(f"{title}: {table.facts}")
        heads = [name for name in table.rows[0] if name in ("method", "p", *more["measures"])]
        show_table(heads, [[str(row[name])[:20] for name in heads] for row in table.rows])


def parts(work: Path, ranks: Sequence[str]) -> None:
    """Print the figures of each set as soon as they are known, then the table as Markdown; `ranks` are further rows."""
    figures: dict[str, list[float]] = {}
    for title, (name, qrels) in SETS.items():
        index, folder = _collection(work, name), real("data", name)
        gamma = PAPER_GAMMA if _is_forum(name) else 0.0
        methods = _methods(gamma)
        methods |= {rank: rank.replace("WMD", "pwmd" if gamma else "wmd") for rank in ranks}
        with Bars() as bars:
            table = RetrievalExperiment(
                qrels=str(folder / qrels),
                queries=str(folder / "queries.jsonl"),
                methods=list(methods.values()),
                measures=("map",),
                without_self=_without_self(name),
            ).run(index, bars)
        for label, row in zip(methods, table.rows, strict=True):
            figures.setdefault(label, []).append(float(row["map"] or 0.0))
        show(f"{title}: " + ", ".join(f"{label} {values[-1]:.4f}" for label, values in figures.items()))
    show(f"| | {' | '.join(figures)} |")
    columns = [[*values, sum(values) / len(values)] for values in figures.values()]
    for title, *values in zip([*SETS, MEAN], *columns, strict=True):
        show(f"| {title} | {' | '.join(map(_short, values))} |")


def _arguments() -> argparse.Namespace:
    parser = argument_parser(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="directory of the collections")
    parser.add_argument("--set", action="append", default=[], metavar="FOLDER", help="a further set")
    parser.add_argument("--only", nargs="+", metavar="TITLE", help="only these sets")
    parser.add_argument("--dims", type=int, nargs="+", help="dimensions of LSI")
    parser.add_argument("--cut", type=int, nargs="+", metavar="TEXTS", help="numbers of texts")
    parser.add_argument("--samples", type=int, default=5, help="samples of each set for --cut")
    parser.add_argument("--parts", action="store_true", help="print the mean average precision of its parts")
    parser.add_argument("--rank", action="append", default=[], help="a further row of --parts; `WMD` is pwmd or wmd")
    parser.add_argument("--leave-one-out", action="store_true", help="choose the weights on the other sets")
    parser.add_argument("--readme", action="store_true", help="print README's other figures")
    return parser.parse_args()


def main() -> None:
    """Print what is chosen."""
    options = _arguments()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    sets = SETS | {"XQuAD en": ("xquad/en", "qrels.tsv")}
    sets |= {Path(folder).name: (str(Path(folder).resolve()), "qrels.tsv") for folder in options.set}
    sets = {title: named for title, named in sets.items() if not options.only or title in options.only}
    if options.readme:
        readme(work)
    elif options.leave_one_out:
        leave_one_out(work, sets, options.dims or ())
    elif options.parts:
        parts(work, options.rank)
    elif options.dims:
        dimensions(work, sets, options.dims)
    elif options.cut:
        cuts(sets, options.cut, options.samples)
    else:
        default_table(work, sets)


if __name__ == "__main__":
    main()
