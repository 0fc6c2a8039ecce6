"""Real texts with a training and a test part: the first are the documents, the second ask for them."""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moverank import Collection, Settings
from moverank.indexer.readers import read_documents
from moverank.indexer.readers.stop_word_file import choose_stop_words
from tests.benchmarks.common import real, vectors


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its key and its class."""

    id: str
    label: str
    text: str


def read(name: str, split: str) -> list[Text]:
    """Read one part ("train" or "test") of a data set."""
    with gzip.open(real("data", name, "docs.jsonl.gz"), "rt", encoding="utf-8") as file:
        records = map(json.loads, file)
        return [Text(r["id"], r["label"], r["text"]) for r in records if r["split"] == split]


def draw_queries(name: str, count: int, seed: int, words: Callable[[str], Sequence[str]]) -> list[Text]:
    """Draw texts of the test part that have a known word, which `words` finds; the same seed draws the same texts.

    Fewer are the first of more.
    """
    texts = read(name, "test")
    order = np.random.default_rng(seed).permutation(len(texts)).tolist()
    known = (texts[i] for i in order if words(texts[i].text))
    return [text for text, _ in zip(known, range(count), strict=False)]


def indexed(texts: Sequence[Text], place: Path, **choices: Any) -> Collection:
    """Index texts in a new collection with the default stop words and the real vectors, or with other choices."""
    file = place / "texts.jsonl"
    with file.open("w", encoding="utf-8") as written:
        written.writelines(json.dumps(asdict(text)) + "\n" for text in texts)
    settings = Settings(embedding=str(vectors()), stop_words=choose_stop_words(None), **choices)
    collection = Collection.create(place / "collection", settings)
    collection.index(read_documents([str(file)]))
    return collection
