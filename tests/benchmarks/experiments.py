"""The experiments of the report: data, rows, and the figures of the papers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moverank.indexer.values.settings import default_rank
from tests.benchmarks.evaluation_runs import Run, bounds, knn, retrieval


@dataclass(frozen=True)
class Experiment:
    """One table: its function, the columns shown, and the paper's figure for each row."""

    name: str
    data: str
    """The data set; experiments of one data set must not run concurrently."""
    title: str
    run: Run
    columns: tuple[str, ...]
    paper: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Figures of rows which are not measured here, for the first column."""


CLASSIFIERS = (
    *("bow", "tfidf", "bm25", "lsi", "lda", "msda", "ccg", "fisher", "wcd", "rwmd", "wmd", "wmd:weights=tfidf"),
)
FILMS = (
    *("random", "bow", "tfidf", "bm25", "wcd", "rwmd", "wmd", "wmd:weights=tfidf", "pwmd", "pwmd:weights=tfidf"),
    *("bow:gamma=0.75", "tfidf:gamma=0.75", "bm25:gamma=0.75", "pwmd:proximity=empirical"),
    *("pwmd:weights=tfidf,proximity=empirical", "bm25:gamma=0.75,proximity=empirical"),
    "0.5*bm25:gamma=0.75+0.5*pwmd:weights=tfidf",
)
ENCODER = "all-MiniLM-L6-v2, cosine (not run here)"
IDF = "weights=tfidf,gamma=0.75"
PWMD = "pwmd:weights=tfidf"
CENTROID, FISHER, LSI = f"wcd:{IDF}", f"fisher:{IDF},dim=128", f"lsi:{IDF},inverse=no"
RANKED_BM25, TRANSLATION = "bm25:gamma=0.75", "translation:self=0.5,gamma=0.75"


def even(*methods: str) -> str:
    """Return the sum of methods with equal weights."""
    return "+".join(methods)


def weighted(one: str, other: str) -> tuple[str, ...]:
    """Return three sums of two methods with different weights."""
    return tuple(f"{share:g}*{one}+{1 - share:g}*{other}" for share in (0.25, 0.5, 0.75))


SUMS = (
    *weighted("bm25", PWMD),
    even("bm25", FISHER, CENTROID),
    even("bm25", PWMD, FISHER, CENTROID),
    even("bm25", PWMD, CENTROID, LSI),
    even("bm25", TRANSLATION, FISHER, CENTROID, LSI),
    even("bm25", RANKED_BM25, FISHER, CENTROID, LSI),
)
THREADS = (
    *("random", "bow", "tfidf", "bm25", RANKED_BM25, "pl2", "interpolation", TRANSLATION),
    *(CENTROID, FISHER, LSI, "wmd", "pwmd", PWMD),
    *SUMS,
    default_rank(0.75, stem="english"),
)
QUESTIONS = ("bow", "tfidf", "bm25", "wmd", "wmd:weights=tfidf", *weighted("bm25", "wmd:weights=tfidf"))
SITES = {"quantumcomputing": ("quantumcomputing", ".375"), "bicycles": ("bicycles_meta", ".372")}
"""The sites of Stack Exchange by their short names, with the sentence encoder's figure."""
TITLE_WEIGHT = 3
"""Title weight of forums: the best on the queries of train2 (`title_weights.py`)."""
FORUM: dict[str, Any] = {
    "title_weight": TITLE_WEIGHT,
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
            title_weight=TITLE_WEIGHT,
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
            title_weight=TITLE_WEIGHT,
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
            title_weight=TITLE_WEIGHT,
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
            knn(name, CLASSIFIERS),
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
        Experiment(f"{prefix}-{name}", name, f"{title}, {name}", bounds(name, table), columns)
        for prefix, title, table, columns in (
            ("bounds", "How tight the bounds are", 0, ("tightness", "true 10 in 10", "error")),
            ("depth", "Prefetch and prune with m candidates", 1, ("recall", "solved", "error")),
        )
        for name in ("twitter", "bbcsport")
    ),
)
