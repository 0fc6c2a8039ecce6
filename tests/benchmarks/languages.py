"""Measures words of twelve languages: MRR of BM25 over the paragraphs of XQuAD, by language setting.

The rows are texts as in English, as in no language, and as in their own, with its stop words alone and with its stems.
"""

import gzip
import json
import sys
from pathlib import Path
from statistics import fmean

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Embedding, Reranker
from moverank.rerank.words.languages import CODES, language_of
from tests.benchmarks.common import argument_parser, real, show_table

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
COLUMNS = (("en", True), ("none", False), ("own", False), ("own", True))
"""Language settings, and whether BM25 counts stems."""


def reciprocal_ranks(code: str, language: str, *, stems: bool) -> float:
    """Return the MRR of the questions in the language `code`, whose paragraphs are found by the words of `language`."""
    folder = real("data", "xquad", code)
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        paragraphs = {one["id"]: one["text"] for one in map(json.loads, lines)}
    questions = {one["id"]: one["text"] for one in map(json.loads, (folder / "queries.jsonl").open(encoding="utf-8"))}
    rows = [line.split() for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()]
    answers = {question: paragraph for question, _, paragraph, _ in rows}
    stemmer = language_of(language).stemmer if stems else None
    reranker = Reranker(Embedding.of(["-"], [[1.0]]), language=language)
    rank = f"bm25:stem={stemmer}" if stemmer else "bm25"
    rankings = reranker.rank_many(list(questions.values()), [paragraphs] * len(questions), rank=rank)
    return fmean(
        1 / (1 + [hit.key for hit in ranking.hits].index(answers[question])) if not ranking.problem else 0.0
        for question, ranking in zip(questions, rankings, strict=True)
    )


def main() -> None:
    """Print a table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, help="codes (all twelve)")
    table = []
    for code in parser.parse_args().languages:
        figures = [
            reciprocal_ranks(code, code if language == "own" else language, stems=stems)
            if language != "own" or code in CODES
            else None
            for language, stems in COLUMNS
        ]
        table.append((code, *("-" if figure is None else f"{figure:.3f}" for figure in figures)))
    show_table(["MRR", "as English, stems", "none", "own stop words", "own stems"], table)


if __name__ == "__main__":
    main()
