"""Mean reciprocal rank (MRR) of the default ranking on XQuAD's questions with typing errors, with and without spelling.

Errors are made in 70 % of the words of five letters or more: two neighbouring letters are exchanged, or any two.
Without marks, accents and other marks of letters are left out. The first 100 hits of a query count.
"""

import json
import random
import sys
from collections.abc import Iterable, Mapping
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Document, Part, Settings
from moverank.indexer.reading.inputs.judgments import read_qrels
from moverank.indexer.search.spellings import without_marks
from moverank.rerank.evaluation.measures import Judgments, join_run, reciprocal_rank
from tests.benchmarks.common import argument_parser, gzip_records, real, show_table
from tests.benchmarks.languages import first_keys

LANGUAGES = "en", "de", "es", "ru", "vi"
SHARE, LETTERS = 0.7, 5


def exchanged(text: str, rng: random.Random, *, neighbours: bool) -> str:
    """Return a text with two different letters exchanged in most of its longer words."""
    words = text.split(" ")
    for number, word in enumerate(words):
        places = [i for i, letter in enumerate(word) if letter.isalpha()]
        pairs = pairwise(places) if neighbours else combinations(places, 2)
        chosen = [(i, j) for i, j in pairs if word[i] != word[j]]
        if len(places) >= LETTERS and chosen and rng.random() < SHARE:
            i, j = rng.choice(chosen)
            words[number] = f"{word[:i]}{word[j]}{word[i + 1 : j]}{word[i]}{word[j + 1 :]}"
    return " ".join(words)


def questions_of(language: str, step: int) -> dict[str, str]:
    """Return each `step`-th question of a language, by its id."""
    lines = (real("data", "xquad", language) / "queries.jsonl").read_text("utf-8").splitlines()
    return {record["id"]: record["text"] for record in map(json.loads, lines[::step])}


def filled(path: Path, language: str) -> Collection:
    """Return a new collection of the paragraphs of a language."""
    collection = Collection.create(path, Settings(language=language))
    records = gzip_records(real("data", "xquad", language) / "docs.jsonl.gz")
    collection.index(Document(record["id"], "", (Part(record["text"]),)) for record in records)
    return collection


def mrr(collection: Collection, language: str, queries: Mapping[str, str], *, spelling: bool = True) -> float:
    """Return the mean reciprocal rank of the paragraphs of questions."""
    judged = Judgments(read_qrels(str(real("data", "xquad", language) / "qrels.tsv")))
    found = join_run(judged, {key: first_keys(collection, text, spelling=spelling) for key, text in queries.items()})
    return sum(reciprocal_rank(found[key]) for key in queries) / len(queries)


def kinds_of(queries: Mapping[str, str]) -> Iterable[tuple[str, dict[str, str]]]:
    """Yield the questions as they are, and with each kind of error, by its name."""
    yield "clean", dict(queries)
    for name, neighbours in (("neighbours exchanged", True), ("any two exchanged", False)):
        rng = random.Random(1)  # noqa: S311 - a sample that can be drawn again
        yield name, {key: exchanged(text, rng, neighbours=neighbours) for key, text in queries.items()}
    yield "without marks", {key: without_marks(text) for key, text in queries.items()}


def main() -> None:
    """Print a row for each language and kind of errors."""
    parser = argument_parser(__doc__)
    parser.add_argument("languages", nargs="*", default=LANGUAGES, metavar="LANGUAGE", help="en de es ru vi by default")
    parser.add_argument("--step", type=int, default=4, help="search for each N-th question")
    options = parser.parse_args()
    rows = []
    for language in options.languages:
        with TemporaryDirectory() as directory, filled(Path(directory) / language, language) as collection:
            for name, queries in kinds_of(questions_of(language, options.step)):
                figures = [mrr(collection, language, queries, spelling=spelling) for spelling in (True, False)]
                rows.append([language, name, *(f"{figure:.4f}" for figure in figures)])
    show_table(("language", "questions", "spelling", "as typed"), rows)


if __name__ == "__main__":
    main()
