"""A query of 18,000 distinct words ends wherever it is stopped, in one of many portions, and is never wrong."""

from collections.abc import Iterator

import numpy as np
import pytest

from moverank import Collection, Document, OutOfTime, Part, Settings
from tests.rerank.stops import StopAfter

pytestmark = pytest.mark.slow

WORDS = 20_000
QUERY = " ".join(f"w{number}x" for number in range(1000, 19_000))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """A collection of 300 texts over a vocabulary of 20,000 words."""
    directory, rng = tmp_path_factory.mktemp("large"), np.random.default_rng(0)
    vectors = rng.standard_normal((WORDS, 8)).astype("<f4")
    with (directory / "vectors.bin").open("wb") as file:
        file.write(f"{WORDS} 8\n".encode())
        for number, vector in enumerate(vectors):
            file.write(f"w{number}x ".encode() + vector.tobytes() + b"\n")
    texts = [" ".join(f"w{number}x" for number in rng.integers(0, WORDS, 60)) for _ in range(300)]
    with Collection.create(directory / "large.index", Settings(embedding=str(directory / "vectors.bin"))) as collection:
        collection.index(Document(f"d{number}", parts=(Part(text),)) for number, text in enumerate(texts))
        yield collection


@pytest.mark.parametrize("rank", ["wmd", "rwmd", "wmd+0.5*bm25", "wcd"])
def test_a_long_query_ends_wherever_it_is_stopped(large: Collection, rank: str) -> None:
    ended = 0
    for polls in (0, 1, 5, 20, 80):
        stop = StopAfter(polls)
        try:
            found = large.search(QUERY, k=3, rank=rank, exact=True, stop=stop)
        except OutOfTime:
            ended += 1
            continue
        assert found.hits
        assert not found.certified or stop.calls <= polls or rank == "wcd"
    assert ended > 0 or rank == "wcd"


def test_a_short_query_has_hits_with_any_budget(large: Collection) -> None:
    found = large.search("w1x w2x w3x", k=3, rank="wmd", exact=True, budget=1e-9)
    assert len(found.hits) == 3
