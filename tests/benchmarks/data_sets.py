"""Real texts with a training part and a test part: the former are the documents, the latter the queries."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moverank import Collection, Settings
from moverank.indexer.reading import read_documents
from tests.benchmarks.common import gzip_records, real, vectors


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its key and its class."""

    id: str
    label: str
    text: str


def read_split(name: str, split: str) -> list[Text]:
    """Read one part ("train" or "test") of the data set `name`."""
    records = gzip_records(real("data", name, "docs.jsonl.gz"))
    return [Text(record["id"], record["label"], record["text"]) for record in records if record["split"] == split]


def draw_queries(name: str, count: int, seed: int, words: Callable[[str], Sequence[str]]) -> list[Text]:
    """Draw `count` texts of the test part of a data set in which `words` finds a known word.

    The same `seed` draws the same texts, and a smaller `count` the first of them.
    """
    texts = read_split(name, "test")
    order = np.random.default_rng(seed).permutation(len(texts)).tolist()
    known = (texts[i] for i in order if words(texts[i].text))
    return [text for text, _ in zip(known, range(count), strict=False)]


def indexed(texts: Sequence[Text], directory: Path, **choices: Any) -> Collection:
    """Index texts in a new collection below `directory`, with the real vectors and the default stop words.

    `choices` are further settings.
    """
    file = directory / "texts.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(asdict(text)) + "\n" for text in texts)
    settings = Settings(embedding=str(vectors()), **({"rank": ""} | choices))
    collection = Collection.create(directory / "collection", settings)
    collection.index(read_documents([str(file)]))
    return collection
