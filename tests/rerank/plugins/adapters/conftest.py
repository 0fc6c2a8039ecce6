"""A ranker, a file of word vectors, and a collection of a small world."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from moverank import Collection, Document, Part, Reranker, Settings
from tests.rerank.plugins.adapters import small_world as world


@pytest.fixture(scope="session")
def vectors_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a word2vec text file of the words."""
    path = tmp_path_factory.mktemp("adapters") / "words.txt"
    vectors = world.embedding().vectors.tolist()
    rows = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip(world.WORDS, vectors, strict=True)]
    path.write_text(f"{len(rows)} {len(vectors[0])}\n" + "".join(rows))
    return path


@pytest.fixture
def ranker() -> Reranker:
    """Return a ranker of texts by the distance."""
    return Reranker(world.embedding(), rank="wmd")


@pytest.fixture(scope="session")
def collection_path(vectors_file: Path) -> Path:
    """Return the directory of a collection of the texts, with metadata, which ranks by the distance."""
    path = vectors_file.parent / "texts.index"
    settings = Settings(embedding=str(vectors_file), rank="wmd")
    with Collection.create(path, settings) as collection:
        collection.index(
            Document(key, f"The {key}", (Part(text),), label=key[0], metadata={"number": number}, title_counts=False)
            for number, (key, text) in enumerate(world.TEXTS.items())
        )
    return path


@pytest.fixture
def collection(collection_path: Path) -> Iterator[Collection]:
    """Return the open collection."""
    with Collection.open(collection_path) as opened:
        yield opened
