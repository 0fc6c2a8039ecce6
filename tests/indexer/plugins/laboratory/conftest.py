import numpy as np
import pytest

from moverank import Collection, Document
from moverank.indexer.plugins.laboratory.corpus import Corpus, corpus_of
from moverank.indexer.reranking.texts import Texts
from tests.indexer.plugins.laboratory.ranked import QUERY
from tests.indexer.world import NO_VECTOR, WORDS, MakeCollection, Twin, document


@pytest.fixture
def documents() -> list[Document]:
    """Threads of known and unknown words, one of unknown ones only."""
    rng = np.random.default_rng(2)
    made = [
        document(f"d{i}", *(" ".join(rng.choice(WORDS, 4)) for _ in range(3)), label="ab"[i % 2]) for i in range(12)
    ]
    return [*made, document("odd", NO_VECTOR[0], "ant bee"), document("wordless", NO_VECTOR[0])]


@pytest.fixture
def twin(documents: list[Document]) -> Twin:
    twin = Twin()
    twin.add(documents)
    return twin


@pytest.fixture
def indexed(make_collection: MakeCollection, documents: list[Document]) -> Collection:
    return make_collection(documents)


@pytest.fixture
def pool(indexed: Collection) -> Texts:
    return corpus_of(indexed).documents


@pytest.fixture
def corpus(indexed: Collection) -> Corpus:
    return corpus_of(indexed, [("q1", QUERY), ("q2", "ant"), ("nothing", "zebra"), ("empty", "of the")])
