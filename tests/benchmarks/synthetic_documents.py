"""Synthetic documents of real words, for collections larger than any real set.

A document has half of the words, drawn at random, of each of two random documents of one class of 20 Newsgroups'
training part.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from moverank import Document, Part
from tests.benchmarks.data_sets import read_split


class SyntheticDocuments:
    """Generates texts; the same seed generates the same texts."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        by_class: dict[str, list[list[str]]] = defaultdict(list)
        for text in read_split("20news", "train"):
            by_class[text.label].append(text.text.split())
        self._classes = list(by_class.values())

    def texts(self, count: int) -> Iterator[str]:
        """Generate `count` texts."""
        for _ in range(count):
            documents = self._classes[self._rng.integers(len(self._classes))]
            pair = self._rng.choice(len(documents), 2, replace=False).tolist()
            yield " ".join(word for i in pair for word in self._half(documents[i]))

    def _half(self, words: list[str]) -> list[str]:
        drawn = self._rng.permutation(len(words))[: (len(words) + 1) // 2]
        return [words[i] for i in np.sort(drawn).tolist()]


def texts_as_documents(texts: Iterator[str]) -> Iterator[Document]:
    """Return texts as documents, with the keys synthetic-0, synthetic-1, ..."""
    return (Document(f"synthetic-{i}", "", (Part(text),)) for i, text in enumerate(texts))


def write_json_lines(path: Path, prefix: str, texts: Iterator[str]) -> Path:
    """Write texts to `path` as JSON lines, with the keys `prefix`-0, `prefix`-1, ..., and return the path."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"{prefix}-{i}", "text": text}) + "\n" for i, text in enumerate(texts))
    return path
