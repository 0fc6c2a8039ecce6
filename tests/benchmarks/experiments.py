"""The experiments of the report: data, rows, and what the papers say of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from moverank import Collection, Document, Rejection, Settings
from moverank.indexer.evaluation.experiments import evaluate_bounds, evaluate_knn, evaluate_retrieval
from moverank.indexer.evaluation.result_table import Table
from moverank.indexer.formatters.progress_bars import Bars
from moverank.indexer.readers import read_documents, read_threads
from moverank.indexer.readers.stop_word_file import choose_stop_words
from tests.benchmarks.common import real, vectors

Run = Callable[[Path, Bars], Table]


@dataclass(frozen=True)
class Experiment:
    """One table: what is run, which columns are shown, and the paper's figure for each row."""

    name: str
    data: str
    """The data set, whose collection no other experiment may use at the same time."""
    title: str
    run: Run
    columns: tuple[str, ...]
    paper: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Rows that were not measured here: the first column only."""


def collection(work: Path, name: str, *, questions: bool = False, titles: int = 1) -> Path:
    """Index a data set, if it is not there yet, and return its collection; of threads, only the `questions` perhaps.

    The words of `titles` count so often.
    """
    place, folder = work / (f"{name}-questions" if questions else name), real("data", name)
    if Collection.exists(place):
        return place
    settings = Settings(embedding=str(vectors()), stop_words=choose_stop_words(None), title_weight=titles)
    threads, documents = folder / "threads.jsonl.gz", folder / "docs.jsonl.gz"
    with Bars() as bars, Collection.create(place, settings) as made:
        read = read_threads([str(threads)]) if threads.exists() else read_documents([str(documents)])
        made.index(map(_question, read) if questions else read, progress=bars)
    return place


def _question(thread: Document | Rejection) -> Document | Rejection:
    """Leave out all posts but the first, which has the title in it."""
    return thread if isinstance(thread, Rejection) else replace(thread, parts=thread.parts[:1])


def retrieval(
    name: str,
    methods: tuple[str, ...],
    qrels: str = "qrels.tsv",
    *,
    questions: bool = False,
    titles: int = 1,
    **options: Any,
) -> Run:
    """Return what measures methods by the judged queries of a data set."""

    def run(work: Path, bars: Bars) -> Table:
        for key in ("queries", "candidates", "train"):
            if key in options:
                options[key] = str(real("data", name, Path(options[key]).name))
        index, judged = collection(work, name, questions=questions, titles=titles), str(real("data", name, qrels))
        return evaluate_retrieval(index, judged, methods=methods, progress=bars, **options)

    return run


def knn(name: str) -> Run:
    """Return what classifies the documents of a data set."""
    return lambda work, bars: evaluate_knn(collection(work, name), methods=CLASSIFIERS, progress=bars)


def bounds(name: str, which: int) -> Run:
    """Return what compares the bounds over a data set."""
    return lambda work, bars: evaluate_bounds(collection(work, name), queries=50, progress=bars)[which]


CLASSIFIERS = (
    *("bow", "tfidf", "bm25", "lsi", "lda", "msda", "ccg", "fisher", "wcd", "rwmd", "wmd", "wmd:weights=tfidf"),
)
FILMS = (
    *("random", "bow", "tfidf", "bm25", "wcd", "rwmd", "wmd", "wmd:weights=tfidf", "pwmd", "pwmd:weights=tfidf"),
    *("bow:gamma=0.75", "tfidf:gamma=0.75", "bm25:gamma=0.75", "pwmd:proximity=empirical"),
    *("pwmd:weights=tfidf,proximity=empirical", "bm25:gamma=0.75,proximity=empirical"),
    "0.5*bm25:gamma=0.75+0.5*pwmd:weights=tfidf",
    "0.5*bm25:gamma=0.75,proximity=empirical+0.5*pwmd:weights=tfidf,proximity=empirical",
)
ENCODER = "all-MiniLM-L6-v2, cosine (not run here)"
IDF = "weights=tfidf,gamma=0.75"
PWMD = "pwmd:weights=tfidf"
CENTROID, FISHER, LSI = f"wcd:{IDF}", f"fisher:{IDF},dim=128", f"lsi:{IDF},inverse=no"
RANKED_BM25, TRANSLATION = "bm25:gamma=0.75", "translation:self=0.5,gamma=0.75"


def even(*methods: str) -> str:
    """Blend methods by equal weights."""
    return "+".join(methods)


def shared(one: str, other: str) -> tuple[str, ...]:
    """Blend two methods by three shares."""
    return tuple(f"{share:g}*{one}+{1 - share:g}*{other}" for share in (0.25, 0.5, 0.75))


BLENDS = (
    *shared("bm25", PWMD),
    even("bm25", FISHER, CENTROID),
    even("bm25", PWMD, FISHER, CENTROID),
    even("bm25", PWMD, CENTROID, LSI),
    even("bm25", TRANSLATION, FISHER, CENTROID, LSI),
    even("bm25", RANKED_BM25, FISHER, CENTROID, LSI),
)
THREADS = (
    *("random", "bow", "tfidf", "bm25", RANKED_BM25, "pl2", "interpolation", TRANSLATION),
    *(CENTROID, FISHER, LSI, "wmd", "pwmd", PWMD),
    *BLENDS,
)
QUESTIONS = ("bow", "tfidf", "bm25", "wmd", "wmd:weights=tfidf", *shared("bm25", "wmd:weights=tfidf"))
SITES = {"quantumcomputing": ("quantumcomputing", ".375"), "bicycles": ("bicycles_meta", ".372")}
"""The sites of Stack Exchange by their short names, with the sentence encoder's figure."""
TITLES = 3
"""How often the words of a forum's titles count: the best on the queries of train2 (`title_weights.py`)."""
FORUM: dict[str, Any] = {
    "titles": TITLES,
    "queries": "queries.jsonl",
    "without_self": True,
    "folds": 2,
    "reference": "bm25",
}
RANKED = ("map", "mrr", "ndcg@10", "recall@10", "p")
KNN_ERRORS = ("error", "deviation", "k")

EXPERIMENTS = (
    Experiment(
        "twinfilms",
        "twinfilms",
        "Twin films: which film is the other's twin",
        retrieval("twinfilms", FILMS, measures=("rprec", "map", "recall@5", "recall@10"), folds=0, reference="pwmd"),
        ("rprec", "map", "recall@5", "recall@10", "hubness", "p"),
        {"random": ".005", "bow": ".171", "tfidf": ".072", "wmd": ".459", "pwmd": ".523"},
        "R-precision of Trapp et al. 2017, table 3",
    ),
    Experiment(
        "semeval-candidates",
        "semeval_cqa",
        "SemEval-2016 3B, dev: the ten candidates ranked anew",
        retrieval(
            "semeval_cqa",
            THREADS,
            "qrels_dev.tsv",
            titles=TITLES,
            queries="queries.jsonl",
            candidates="candidates.tsv",
            reference="engine",
        ),
        RANKED,
    ),
    Experiment(
        "semeval-pool",
        "semeval_cqa",
        "SemEval-2016 3B, dev: the whole pool, whole threads",
        retrieval(
            "semeval_cqa",
            THREADS,
            "qrels_dev.tsv",
            titles=TITLES,
            queries="queries.jsonl",
            train="qrels_train2.tsv",
            reference="bm25",
        ),
        RANKED,
        elsewhere={ENCODER: ".508"},
    ),
    *(
        Experiment(
            name,
            f"stackexchange_{site}",
            f"Duplicates and links, {site}",
            retrieval(f"stackexchange_{site}", THREADS, **FORUM),
            RANKED,
            elsewhere={ENCODER: figure},
        )
        for name, (site, figure) in SITES.items()
    ),
    Experiment(
        "semeval-questions",
        "semeval_cqa",
        "SemEval-2016 3B, dev: the whole pool, title and body of the question only",
        retrieval(
            "semeval_cqa",
            QUESTIONS,
            "qrels_dev.tsv",
            questions=True,
            titles=TITLES,
            queries="queries.jsonl",
            reference="bm25",
        ),
        RANKED,
    ),
    *(
        Experiment(
            f"{name}-questions",
            f"stackexchange_{site}",
            f"Duplicates and links, {name}: title and body of the question only",
            retrieval(f"stackexchange_{site}", QUESTIONS, questions=True, **FORUM),
            RANKED,
        )
        for name, (site, _) in SITES.items()
    ),
    *(
        Experiment(
            f"knn-{name}",
            name,
            f"kNN classification of {name}",
            knn(name),
            KNN_ERRORS,
            paper,
            "errors of Kusner et al. 2015, table 2 (other word vectors)",
        )
        for name, paper in (
            ("twitter", {"wmd": ".283"}),
            ("bbcsport", {"wmd": ".050"}),
            ("r8", {"wmd": ".035"}),
            ("classic", {"wmd": ".030"}),
            ("20news", {}),
        )
    ),
    *(
        Experiment(
            f"bounds-{name}",
            name,
            f"How tight the bounds are, {name}",
            bounds(name, 0),
            ("tightness", "true 10 in 10", "error"),
        )
        for name in ("twitter", "bbcsport")
    ),
    *(
        Experiment(
            f"depth-{name}",
            name,
            f"Prefetch and prune with m candidates, {name}",
            bounds(name, 1),
            ("recall", "solved", "error"),
        )
        for name in ("twitter", "bbcsport")
    ),
)
