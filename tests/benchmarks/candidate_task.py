"""Documents and queries with the exact ten of each query, for measuring how many of these the candidates contain."""

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags, lookup
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.encoders.encoder import Documents
from tests.benchmarks.data_sets import draw_queries, read_split
from tests.benchmarks.synthetic_documents import SyntheticDocuments
from tests.oracle import Oracle

K = 10
DEPTHS = (100, 500)
CACHE = Path(tempfile.gettempdir(), "moverank-exact-tens")
"""The default directory of cached exact tens."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateTask:
    """Documents, queries over a vocabulary of their own, and the rows (q, 10) of the exact ten of each query."""

    documents: Documents
    queries: Documents
    exact: NDArray[np.int64]

    @classmethod
    def of(cls, queries: int, seed: int, cache: Path, *, skip: int = 0, synthetic: int = 0) -> "CandidateTask":
        """Read 20 Newsgroups, and find the exact ten of each query, or read them from the directory `cache`.

        `queries`: number of texts of the test part, drawn by `seed` after leaving out the first `skip`. `synthetic`:
        number of synthetic documents; 0 stands for the training part itself.
        """
        oracle = Oracle()
        if synthetic:
            texts = list(SyntheticDocuments(seed).texts(synthetic))
        else:
            texts = [text.text for text in read_split("20news", "train")]
        drawn = draw_queries("20news", skip + queries, seed, oracle.words)[skip:]
        documents, counted = count(oracle, texts), count(oracle, [text.text for text in drawn])
        return cls(documents, counted, exact_tens(documents, counted, cache))


def count(oracle: Oracle, texts: Sequence[str]) -> Documents:
    """Return the texts that have known words as documents over these words."""
    rows = [[oracle.keyed.key_to_index[word] for word in oracle.words(text)] for text in texts]
    known = [words for words in rows if words]
    used = np.unique(np.concatenate(known)).astype(np.int64)
    bags = [Bag.of(np.searchsorted(used, words), np.ones(len(words))) for words in known]
    lengths = np.array([len(words) for words in known], np.float64)
    return Documents(Bags.of(bags), lengths, used, np.array(oracle.keyed.vectors[used], np.float32))


def single(documents: Documents, row: int) -> Documents:
    """Return one document over its own words only, as a search encodes its query."""
    bag = documents.bags[row]
    own = Bags.of([Bag(np.arange(len(bag), dtype=np.int32), bag.weights)])
    return Documents(own, documents.lengths[row : row + 1], documents.word_ids[bag.words], documents.vectors[bag.words])


def exact_tens(documents: Documents, queries: Documents, cache: Path) -> NDArray[np.int64]:
    """Return the rows (q, 10) of the nearest documents of each query; they are cached in the directory `cache`."""
    digest = hashlib.sha256()
    for texts in (documents, queries):
        for array in (texts.bags.starts, texts.bags.words, texts.bags.weights, texts.vectors):
            digest.update(array.tobytes())
    file = cache / f"{digest.hexdigest()}.npy"
    if file.exists():
        return np.asarray(np.load(file, allow_pickle=False))
    exact = np.empty((len(queries), K), np.int64)
    for row, query in enumerate(query_bags(documents, queries)):
        exact[row] = nearest(query, documents.bags, documents.vectors, K).rows
    cache.mkdir(parents=True, exist_ok=True)
    np.save(file, exact)
    return exact


def query_bags(documents: Documents, queries: Documents) -> list[QueryBag]:
    """Return the queries over the vocabulary of the documents; words that it lacks get ids beyond it."""
    indices, present = lookup(queries.word_ids, documents.word_ids)
    beyond = len(documents.word_ids) + np.arange(len(indices))
    ids = np.where(present, indices, beyond).astype(np.int32)
    bags = []
    for bag in queries.bags:
        order = np.argsort(ids[bag.words])
        words = bag.words[order]
        bags.append(QueryBag(Bag(ids[words], bag.weights[order]), queries.vectors[words]))
    return bags


def recall(candidates: NDArray[np.int64], exact: NDArray[np.int64]) -> float:
    """Return the share of the exact ten (10,) that is among the candidates (m,)."""
    return len(np.intersect1d(candidates, exact)) / K


def parse_encoder(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the options of an encoder such as `fisher:k=32,dim=32`."""
    name, _, options = text.partition(":")
    return name, dict(option.split("=", 1) for option in options.split(",") if option)
