from collections.abc import Callable

import numpy as np
import pytest

from moverank import Collection, Document
from moverank.indexer.evaluation.counted_texts import Texts
from tests.indexer.world import NO_VECTOR, WORDS, Twin, document


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
def indexed(make: Callable[..., Collection], documents: list[Document]) -> Collection:
    collection = make()
    collection.index(documents)
    return collection


@pytest.fixture
def pool(indexed: Collection) -> Texts:
    return indexed.corpus().documents
