import numpy as np
import pytest

from moverank import Collection, Document
from moverank.indexer.evaluation import distance_matrix
from moverank.indexer.evaluation.corpus import Corpus, corpus_of
from moverank.indexer.reranking.counted_texts import Texts
from moverank.rerank.ranking import Distance
from tests.indexer.evaluation.ranked import QUERY
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
    collection = make_collection()
    collection.index(documents)
    return collection


@pytest.fixture
def pool(indexed: Collection) -> Texts:
    return corpus_of(indexed).documents


@pytest.fixture
def corpus(indexed: Collection) -> Corpus:
    return corpus_of(indexed, [("q1", QUERY), ("q2", "ant"), ("nothing", "zebra"), ("empty", "of the")])


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of distances of each job computed from now on."""
    counts = list[int]()
    solve = distance_matrix._solve  # noqa: SLF001 - counts what is computed

    def counting(
        inputs: distance_matrix.Inputs, distance: Distance, job: distance_matrix.Job
    ) -> distance_matrix.Solved:
        counts.append(len(job[1]))
        return solve(inputs, distance, job)

    monkeypatch.setattr(distance_matrix, "_solve", counting)
    return counts
